--- Finds or loads the buffer of a file for the page. Creates a notice for a large or missing file.
local deleted = require("gemini-bridge.changes.deleted")
local path = require("gemini-bridge.disk.path")
local swapfile = require("gemini-bridge.disk.swapfile")
local text_buffer = require("gemini-bridge.difference.text_buffer")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Maximum size of a file that the page loads without a question.
local MAX_SIZE_BYTES = 1024 * 1024

--- Unlisted buffers that only the page has loaded. Deleted when the page closes, unless the user has changed the
--- buffer.
local loaded = {} ---@type table<integer, true>
--- Paths of large files that the user has chosen to load.
local wanted = {} ---@type table<string, true>
local notice ---@type integer? Buffer for a text in place of a file.
---@param text string
---@return integer buf
local function notice_buffer(text)
  notice = text_buffer(nil, { text })
  return notice
end

---@param name string
---@return integer buf
local function load(name)
  local buf = path.buffer(name)
  if not buf then
    buf = vim.fn.bufadd(path.relative(name)) -- same name in the status line as after `:edit`
    swapfile.load_without(buf)
    swapfile.turn_on(buf)
    if not vim.bo[buf].buflisted then
      loaded[buf] = true
    end
  end
  return buf
end

--- Returns the buffer for a file: the file itself, the last text of a deleted file, or a notice.
---@param file gemini_bridge.PageFile
---@return integer buf
function M.buffer(file)
  if file.change and file.change.status == "deleted" then
    return deleted.buffer(file.change)
  end
  local stat = vim.uv.fs_stat(file.path)
  if not stat then
    return notice_buffer(path.display(file.path) .. " does not exist.")
  elseif stat.type ~= "file" then
    return notice_buffer(path.display(file.path) .. " is not a regular file.")
  elseif stat.size > MAX_SIZE_BYTES and not wanted[file.path] and not path.buffer(file.path) then
    local text = "%s is large (%.1f MB). Press Enter again to load it."
    return notice_buffer(text:format(path.display(file.path), stat.size / 1024 / 1024))
  end
  return load(file.path)
end

--- Allows the next `M.buffer` to load a large file.
---@param name string
function M.want(name)
  wanted[name] = true
end

--- Returns true if a buffer is a notice in place of a file.
---@param buf integer
---@return boolean
function M.is_notice(buf)
  return buf == notice
end

--- If the user has changed a buffer that the page has loaded, keeps this buffer when the page closes.
---@param buf integer
function M.keep(buf)
  if loaded[buf] and vim.bo[buf].modified then
    loaded[buf] = nil
    vim.bo[buf].buflisted = true
  end
end

--- Resets the state when the page closes. Deletes buffers that only the page has loaded.
function M.clear()
  for buf in pairs(loaded) do
    local is_idle = vim.api.nvim_buf_is_valid(buf)
      and not vim.bo[buf].modified
      and not vim.bo[buf].buflisted
      and #vim.fn.win_findbuf(buf) == 0
    if is_idle then
      window.delete_buffer(buf)
    end
  end
  loaded, wanted, notice = {}, {}, nil
end

return M
