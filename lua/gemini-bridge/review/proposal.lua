--- Creates the buffers of a review: the proposal, and a copy of the file if no buffer contains the file.
local own_filetype = require("gemini-bridge.editor.own_filetype")
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Maximum size of a text that gets a file type. Highlighting a longer text could block Neovim for seconds.
local MAX_HIGHLIGHTED_BYTES = 1024 * 1024

local OPTIONS = {
  bufhidden = "hide",
  swapfile = false,
  undofile = false,
  modeline = false,
  modifiable = true,
  readonly = false,
}

---@param buf integer
local function set_options(buf)
  for name, value in pairs(OPTIONS) do
    vim.api.nvim_set_option_value(name, value, { buf = buf })
  end
end

---@param name string
---@param bytes string
---@param buftype "acwrite"|"nofile"
local function create(name, bytes, buftype)
  local buf = window.create_buffer(false, true)
  set_options(buf)
  vim.bo[buf].buftype = buftype
  text.fill(buf, bytes)
  window.delete_restored(name)
  window.set_name(buf, name)
  return buf
end

--- Creates a buffer with a copy of the file. Loading the file itself could raise Neovim's question about a swap file,
--- and would trigger other plugins. The copy is not modifiable, because edits of the copy would be lost.
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
---@field original integer The user's buffer of the file, or a copy of the file if no buffer contains the file.
---@field copied boolean True if `original` is a copy of the file.
---@field new boolean True if the file does not exist yet.

--- Creates the buffers of a review.
---@param review gemini_bridge.Review
---@return gemini_bridge.ReviewBuffers
function M.buffers(review)
  local id, file = review.id, review.filePath
  local open = path.buffer(file)
  local proposal = create(("gemini://%d/%s"):format(id, path.relative(file)), review.proposed, "acwrite")
  vim.b[proposal].gemini_diff = { filePath = file, role = "proposal" }
  return {
    proposal = proposal,
    original = open or copy(id, file),
    copied = not open,
    new = not open and not vim.uv.fs_lstat(file),
  }
end

--- Returns the file type for a proposal: the file type of the user's buffer, or else the file type that Neovim detects.
--- Ignores modelines.
---@param review gemini_bridge.Review
---@return string # Empty if the file type is unknown.
local function filetype(review)
  local buffers = review.buffers
  local is_open = not buffers.copied and vim.api.nvim_buf_is_valid(buffers.original)
  local own = is_open and vim.bo[buffers.original].filetype or ""
  if own ~= "" then
    return own -- the user may have set it; detection is slow (0.5 ms)
  end
  local ok, found = pcall(vim.filetype.match, { filename = review.filePath, buf = buffers.proposal })
  return ok and found or ""
end

---@param buf integer
---@param name string A file type, or "" for none.
local function set_filetype(buf, name)
  if
    name == "" or vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) > MAX_HIGHLIGHTED_BYTES
  then
    return
  end
  local buftype, modifiable = vim.bo[buf].buftype, vim.bo[buf].modifiable
  own_filetype.set(buf, name)
  -- Sets the options again, because file type plugins may have changed them.
  set_options(buf)
  vim.bo[buf].buftype, vim.bo[buf].modifiable = buftype, modifiable
end

--- Returns true if the proposal buffer still has its text. |:bdelete| removes text and buffer variables, so a missing
--- variable shows that the text is lost. Loading the buffer again does not restore the text.
---@param buffers gemini_bridge.ReviewBuffers
---@return boolean
function M.is_loaded(buffers)
  local buf = buffers.proposal
  return vim.api.nvim_buf_is_loaded(buf) and vim.b[buf].gemini_diff ~= nil
end

--- Removes all listeners of a review.
---@param review gemini_bridge.Review
function M.stop_listeners(review)
  for _, stop in ipairs(review.stops) do
    scheduler.attempt(stop)
  end
  review.stops = {}
end

--- Deletes the buffers of a review. Keeps the user's own buffer of the file.
---@param review gemini_bridge.Review
function M.delete_buffers(review)
  local buffers = review.buffers
  if buffers then
    scheduler.attempt(window.delete_buffer, buffers.proposal)
    scheduler.attempt(window.delete_buffer, buffers.copied and buffers.original or -1)
  end
end

--- Replaces the original buffer of a review with a copy of the file if the user has unloaded or wiped that buffer.
---@param review gemini_bridge.Review
function M.replace_wiped_original(review)
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

--- Sets the file type of the proposal and of the copy of the file.
---@param review gemini_bridge.Review
function M.set_filetypes(review)
  local name = filetype(review)
  set_filetype(review.buffers.proposal, name)
  if review.buffers.copied then
    set_filetype(review.buffers.original, name)
  end
end

return M
