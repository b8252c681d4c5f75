--- A file that changes under its review. The host looks at the disk and says what is stale; here it is told of the
--- user's own edits of the file, and what it says is shown.
local channel = require("gemini-bridge.bridge.channel")
local follow = require("gemini-bridge.review.follow")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local queue = require("gemini-bridge.review.queue")
local safely = require("gemini-bridge.editor.safely")
local text = require("gemini-bridge.review.text")
local turn = require("gemini-bridge.editor.turn")

local M = {}

--- How long nobody has typed in the user's own buffer when it is read again, which takes long for a long text
--- (milliseconds).
local PAUSE = 200

--- A longer text is not read before the request is answered (bytes).
local LONG = 256 * 1024

--- Follows the user's own buffer of the file, if the review shows it.
---@param review gemini_bridge.Review
---@return fun() stop May run twice.
function M.watch(review)
  local buf = review.buffers.original
  if review.buffers.copied then
    return function() end
  end
  local tick, was_modified = vim.api.nvim_buf_get_changedtick(buf), vim.bo[buf].modified
  local edited = false
  local timer = assert(vim.uv.new_timer())

  local function compare()
    if not (queue.has(review) and vim.api.nvim_buf_is_loaded(buf)) then
      return
    end
    -- An unmodified buffer holds what is on disk, also after it was read again, and the host watches the disk. For a
    -- long text that was edited before it was read, nothing tells when it is the same again.
    local now = vim.bo[buf].modified and (not review.shown or text.read(buf) ~= review.shown.bytes)
    if now ~= edited then
      edited = now
      channel.notify("original_changed", { id = review.id, edited = now })
    end
  end

  local function read()
    if vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_changedtick(buf) == tick then
      review.shown =
        { buf = buf, state = text.state(buf), bytes = text.read(buf), was_modified = was_modified }
    end
  end
  if vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) <= LONG then
    read()
  else
    turn.next(read)
  end

  local function changed()
    if timer:is_closing() then
      return true
    end
    timer:start(PAUSE, 0, vim.schedule_wrap(compare))
  end
  vim.api.nvim_buf_attach(buf, false, { on_lines = changed, on_reload = changed })
  vim.api.nvim_create_autocmd("BufModifiedSet", {
    group = review.group,
    buffer = buf,
    callback = function()
      follow.update(review)
    end,
  })
  return function()
    if not timer:is_closing() then
      timer:close()
    end
  end
end

--- The text of the file on disk when the review opened, as far as it is at hand.
---@param review gemini_bridge.Review
---@return string?
local function text_at_first(review)
  local buffers, shown = review.buffers, review.shown
  if buffers and buffers.copied and not buffers.new then
    return text.read(buffers.original)
  end
  return shown and not shown.was_modified and shown.bytes or nil
end

--- Whether the file has changed since the review opened, right now: the host may not have seen the last write yet. A
--- file that was written with the same text has not changed.
---@param review gemini_bridge.Review
---@return boolean
function M.has_changed(review)
  local now = path.version(review.filePath)
  if review.stale or now == review.version then
    return review.stale
  end
  local bytes = path.bytes(path.real(review.filePath))
  if bytes == nil or bytes ~= text_at_first(review) then
    return true
  end
  review.version = now
  return false
end

--- The file on disk is another one, or what the host says of it. Told once; the winbar says it for as long as it is so.
---@param review gemini_bridge.Review
---@param stale boolean
function M.update(review, stale)
  if stale and not review.stale then
    notify(("%s has changed: the proposal is stale."):format(path.display(review.filePath, 32)), "warn")
  end
  review.stale = stale
  safely.run(function()
    if not queue.has(review) or not review.buffers then
      return
    end
    if review.buffers.copied then
      text.write(review.buffers.original, path.bytes(path.real(review.filePath)) or "")
    end
    follow.update(review)
  end)
end

return M
