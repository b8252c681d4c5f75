--- Creates the buffers of a review: the proposal, and a copy of the file if the file is not open in a buffer.
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Maximum size of a text that gets a file type. Highlighting a longer text may block Neovim for seconds.
local MAX_HIGHLIGHTED_BYTES = 1024 * 1024

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

---@param name string
---@param bytes string
---@param buftype "acwrite"|"nofile"
local function create(name, bytes, buftype)
  local buf = window.create_buffer(false, true)
  set_options(buf, OPTIONS)
  vim.bo[buf].buftype = buftype
  text.fill(buf, bytes)
  window.delete_restored(name)
  window.set_name(buf, name)
  return buf
end

--- Creates a buffer with a copy of the file. Does not load the file itself, because loading it could make Neovim ask
--- about a swap file, and would run other plugins. The copy is not modifiable, because edits would have no effect.
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
---@field original integer The user's buffer of the file if it is open, else a copy of the file.
---@field copied boolean `original` is a copy of the file.
---@field new boolean The file does not exist: there is nothing to compare.

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

--- Returns the file type of the user's buffer of the file. If there is none, returns the file type that Neovim detects.
--- Ignores a modeline in the proposal.
---@param review gemini_bridge.Review
---@return string # Empty if there is none.
local function filetype(review)
  local buffers = review.buffers
  local is_open = not buffers.copied and vim.api.nvim_buf_is_valid(buffers.original)
  local own = is_open and vim.bo[buffers.original].filetype or ""
  if own ~= "" then
    return own -- the user may have set it, and detection is slow (0.5 ms)
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
  scheduler.attempt(vim.api.nvim_set_option_value, "filetype", name, { buf = buf })
  -- Sets the options again, because file type plugins may have changed them.
  set_options(buf, OPTIONS)
  vim.bo[buf].buftype, vim.bo[buf].modifiable = buftype, modifiable
end

--- Whether the proposal's buffer still has its text. |:bdelete| removes the text, and it stays lost even if the buffer
--- is loaded again. Recognizes this by the buffer's variables, which |:bdelete| clears, too.
---@param buffers gemini_bridge.ReviewBuffers
---@return boolean
function M.is_loaded(buffers)
  local buf = buffers.proposal
  return vim.api.nvim_buf_is_loaded(buf) and vim.b[buf].gemini_diff ~= nil
end

--- Ends the listeners of a review's buffers.
---@param review gemini_bridge.Review
function M.stop_listeners(review)
  for _, stop in ipairs(review.stops) do
    scheduler.attempt(stop)
  end
  review.stops = {}
end

--- Deletes the buffers of a review, except the user's own.
---@param review gemini_bridge.Review
function M.delete_buffers(review)
  local buffers = review.buffers
  if buffers then
    scheduler.attempt(window.delete_buffer, buffers.proposal)
    scheduler.attempt(window.delete_buffer, buffers.copied and buffers.original or -1)
  end
end

--- If the user has unloaded or wiped the buffer of the original text, replaces that buffer with a copy of the file.
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

--- Sets the file type of both buffers.
---@param review gemini_bridge.Review
function M.set_filetypes(review)
  local name = filetype(review)
  set_filetype(review.buffers.proposal, name)
  if review.buffers.copied then
    set_filetype(review.buffers.original, name)
  end
end

return M
