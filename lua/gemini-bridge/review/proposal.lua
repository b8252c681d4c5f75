--- The buffers of a review: the proposal, and a copy of the file when no buffer holds it.
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- A larger text has no file type: highlighting may parse all of it at once, which stops Neovim for seconds (bytes).
local MAX_HIGHLIGHTED = 1024 * 1024

--- What none of these is subject to.
local OPTIONS = {
  bufhidden = "hide",
  swapfile = false,
  undofile = false,
  modeline = false,
  readonly = false,
}

---@param buf integer
---@param options table<string, any>
local function set_options(buf, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { buf = buf })
  end
end

--- Deletes a buffer that has the name of a new one: a session that was saved during a review brings such a buffer back.
---@param name string
local function delete_restored(name)
  if vim.fn.bufexists(name) == 1 then
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_get_name(buf) == name then
        window.delete_buffer(buf)
      end
    end
  end
end

---@param name string
---@param bytes string
---@param buftype "acwrite"|"nofile"
local function create(name, bytes, buftype)
  local buf = window.create_buffer(false, true)
  set_options(buf, OPTIONS)
  vim.bo[buf].buftype = buftype
  -- Without undo, or the first `u` would empty the buffer.
  local levels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  text.write(buf, bytes)
  vim.bo[buf].undolevels = levels
  delete_restored(name)
  window.set_name(buf, name)
  return buf
end

---@param id integer
---@param file string Absolute path.
---@param bytes string
---@return integer buf
local function create_proposal(id, file, bytes)
  local buf = create(("gemini://%d/%s"):format(id, path.relative(file)), bytes, "acwrite")
  vim.b[buf].gemini_diff = { filePath = file, role = "proposal" }
  return buf
end

--- A copy of the file on disk, as loading the file would bring swap file questions and other plugins into play. Nobody
--- would get what is typed there, so nothing can be.
---@param id integer
---@param file string Absolute path.
---@return integer buf
local function copy(id, file)
  local buf =
    create(("gemini-original://%d/%s"):format(id, path.relative(file)), path.bytes(file) or "", "nofile")
  vim.bo[buf].modifiable = false
  return buf
end

---@class gemini_bridge.ReviewBuffers
---@field proposal integer
---@field original integer What it is compared with: the user's own buffer when the file is open, else a copy.
---@field copied boolean Whether it is a copy.
---@field new boolean The file does not exist: there is nothing to compare with.

--- The buffers of a review.
---@param review gemini_bridge.Review
---@return gemini_bridge.ReviewBuffers
function M.buffers(review)
  local id, file = review.id, review.filePath
  local open = path.buffer(file)
  return {
    proposal = create_proposal(id, file, review.proposed),
    original = open or copy(id, file),
    copied = not open,
    new = not open and not vim.uv.fs_lstat(file),
  }
end

--- The type of a review's file: that of the user's own buffer, else by the path. A modeline in the proposal has no say.
---@param review gemini_bridge.Review
---@return string # Empty when there is none.
local function filetype(review)
  local buffers = review.buffers
  local own = buffers.copied and "" or vim.bo[buffers.original].filetype
  if own ~= "" then
    return own -- a user may have chosen it, and to look for it takes Neovim half a millisecond
  end
  local ok, found = pcall(vim.filetype.match, { filename = review.filePath, buf = buffers.proposal })
  return ok and found or ""
end

---@param buf integer
---@param name string A file type, or "" for none.
local function set_filetype(buf, name)
  if name == "" or vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) > MAX_HIGHLIGHTED then
    return
  end
  local buftype, modifiable = vim.bo[buf].buftype, vim.bo[buf].modifiable
  scheduler.attempt(vim.api.nvim_set_option_value, "filetype", name, { buf = buf })
  -- Once more: a file type's plugins may think that this is a file.
  set_options(buf, OPTIONS)
  vim.bo[buf].buftype, vim.bo[buf].modifiable = buftype, modifiable
end

--- Whether the proposal's buffer is as it was created. |:bdelete| unloads it, and forgets its variables and options.
---@param buffers gemini_bridge.ReviewBuffers
---@return boolean
function M.is_whole(buffers)
  local buf = buffers.proposal
  return vim.api.nvim_buf_is_loaded(buf) and vim.b[buf].gemini_diff ~= nil
end

--- Compares with a copy when the user has wiped the file's buffer meanwhile.
---@param review gemini_bridge.Review
function M.mend(review)
  local buffers = review.buffers
  if vim.api.nvim_buf_is_loaded(buffers.original) then
    return
  end
  if buffers.copied then
    window.delete_buffer(buffers.original)
  end
  buffers.original, buffers.copied, review.counted = copy(review.id, review.filePath), true, nil
  set_filetype(buffers.original, vim.bo[buffers.proposal].filetype)
end

--- Gives the buffers of a review the type of their file.
---@param review gemini_bridge.Review
function M.set_filetypes(review)
  local name = filetype(review)
  set_filetype(review.buffers.proposal, name)
  if review.buffers.copied then
    set_filetype(review.buffers.original, name)
  end
end

return M
