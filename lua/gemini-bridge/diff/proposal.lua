--- The buffers of a review: the proposal, and a copy of the file when no buffer holds it.
local path = require("gemini-bridge.diff.path")
local text = require("gemini-bridge.diff.text")

local M = {}

--- A larger text has no file type: highlighting may parse all of it at once, which stops Neovim for seconds (bytes).
local MAX_HIGHLIGHTED = 1024 * 1024

--- Set again after the file type's plugins have run, which may think that this is a file.
---@param buf integer
---@param options table<string, any>
local function set_options(buf, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { buf = buf })
  end
end

--- By the path alone; a modeline in the text has no say.
---@param buf integer
---@param file string
local function set_filetype(buf, file)
  local ok, filetype = pcall(vim.filetype.match, { filename = file, buf = buf })
  local open = path.buffer(file)
  filetype = ok and filetype or open and vim.bo[open].filetype
  if filetype and filetype ~= "" then
    pcall(vim.api.nvim_set_option_value, "filetype", filetype, { buf = buf })
  end
end

---@param name string
---@param file string
---@param bytes string
---@param options table<string, any>
local function create(name, file, bytes, options)
  local buf = vim.api.nvim_create_buf(false, true)
  options = vim.tbl_extend("error", options, {
    bufhidden = "hide",
    swapfile = false,
    undofile = false,
    modeline = false,
    modifiable = true,
    readonly = false,
  })
  set_options(buf, options)
  -- Without undo, or the first `u` would empty the buffer.
  local levels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  text.write(buf, bytes)
  vim.bo[buf].undolevels = levels
  vim.api.nvim_buf_set_name(buf, name)
  if #bytes <= MAX_HIGHLIGHTED then
    set_filetype(buf, file)
  end
  set_options(buf, options)
  return buf
end

--- @param id integer
--- @param file string Absolute path.
--- @param bytes string
--- @return integer buf
function M.create(id, file, bytes)
  local buf = create(("gemini://%d/%s"):format(id, file), file, bytes, { buftype = "acwrite" })
  vim.b[buf].gemini_diff = { filePath = file, role = "proposal" }
  return buf
end

--- The buffer that the proposal is compared with: the user's own when the file is open, else a copy of what is on
--- disk, as loading the file would bring swap file questions and other plugins into play.
---@param id integer
---@param file string Absolute path.
---@return integer buf, boolean is_copy
function M.original(id, file)
  local buf = path.buffer(file)
  if buf then
    return buf, false
  end
  local bytes = path.bytes(file) or ""
  return create(("gemini-original://%d/%s"):format(id, file), file, bytes, { buftype = "nofile" }), true
end

return M
