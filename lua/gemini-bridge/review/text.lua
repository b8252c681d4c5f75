--- Converts the text of a proposal to a buffer and back, byte for byte.
---
--- If each LF follows a CR, sets 'fileformat' to "dos" and removes the CRs from the lines. Comparing a CRLF file with
--- an LF proposal then shows only differences in the text. In other texts, CRs stay in the lines.
local window = require("gemini-bridge.editor.window")

local M = {}

local BOM = "\239\187\191"

---@class gemini_bridge.Text
---@field lines string[] Lines without line breaks. Empty for an empty text.
---@field fileformat "unix"|"dos"
---@field endofline boolean
---@field bomb boolean

--- Splits bytes into lines. Detects line breaks and byte order mark.
---@param bytes string
---@return gemini_bridge.Text
function M.decode(bytes)
  local bomb = vim.startswith(bytes, BOM)
  if bomb then
    bytes = bytes:sub(#BOM + 1)
  end
  local dos = bytes:find("\r\n", 1, true) ~= nil and not bytes:find("[^\r]\n") and bytes:sub(1, 1) ~= "\n"
  local lines = bytes == "" and {} or vim.split(bytes, dos and "\r\n" or "\n", { plain = true })
  local endofline = bytes == "" or lines[#lines] == ""
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  return { lines = lines, fileformat = dos and "dos" or "unix", endofline = endofline, bomb = bomb }
end

--- Returns true if the text is empty or its last line ends with a line break.
---@param bytes string
---@return boolean
function M.ends_a_line(bytes)
  return bytes == "" or bytes == BOM or vim.endswith(bytes, "\n")
end

--- Returns the bytes that `:w` would write without 'fixendofline'.
---@param buf integer
---@return string
function M.read(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local options = vim.bo[buf]
  local bom = options.bomb and BOM or ""
  if window.is_empty(buf) then
    return bom
  end
  local newline = ({ unix = "\n", dos = "\r\n", mac = "\r" })[options.fileformat]
  return bom .. table.concat(lines, newline) .. (options.endofline and newline or "")
end

--- Replaces the text of a buffer, even of an unmodifiable buffer. Undo restores the earlier text.
---@param buf integer
---@param bytes string
function M.write(buf, bytes)
  local text = M.decode(bytes)
  local options = vim.bo[buf]
  local modifiable = options.modifiable
  options.modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, text.lines)
  options.fileformat = text.fileformat
  options.fixendofline = false
  options.endofline = text.endofline
  options.bomb = text.bomb
  options.modified = false
  options.modifiable = modifiable
end

--- Sets the text of a new buffer without an undo step. Otherwise, the user's `u` would empty the buffer.
---@param buf integer
---@param bytes string
function M.fill(buf, bytes)
  local levels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  M.write(buf, bytes)
  vim.bo[buf].undolevels = levels
end

--- Returns a value that changes with each change of the buffer's bytes.
---@param buf integer
---@return table
function M.state(buf)
  local options = vim.bo[buf]
  return { vim.b[buf].changedtick, options.fileformat, options.endofline, options.bomb }
end

return M
