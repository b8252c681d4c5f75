--- Detects changes of a file during its review. The host watches the disk and reports stale reviews. This module tells
--- the host about the user's edits, and checks the disk once more when the user decides.
local channel = require("gemini-bridge.bridge.channel")
local hunk_updates = require("gemini-bridge.review.hunk_updates")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local records = require("gemini-bridge.review.records")
local scheduler = require("gemini-bridge.editor.scheduler")
local text = require("gemini-bridge.review.text")

local M = {}

--- Debounce delay after the user's last edit, before the buffer is compared. Comparing at each edit would be too slow.
local COMPARE_DELAY_MS = 200

--- Maximum size of a text that is read at once, before the host gets its answer. A longer text is read one tick later.
local MAX_BLOCKING_BYTES = 256 * 1024

--- Watches the user's own buffer of the file. Does nothing if the review shows a copy instead.
---@param review gemini_bridge.Review
---@return fun() stop Idempotent.
function M.watch(review)
  local buf = review.buffers.original
  if review.buffers.copied then
    return function() end
  end
  local tick, was_modified = vim.api.nvim_buf_get_changedtick(buf), vim.bo[buf].modified
  local edited, is_stopped = false, false
  local cancel = function() end

  local function compare()
    if not (records.is_pending(review) and vim.api.nvim_buf_is_loaded(buf)) then
      return
    end
    -- An unmodified buffer does not count as edited: the host notices when its file changes on disk. The baseline is
    -- missing if the user edited a long text before it was read. Then, any modified buffer counts as edited.
    local first = review.baseline
    local now = vim.bo[buf].modified and (not first or text.read(buf) ~= first.bytes)
    if now ~= edited then
      edited = now
      channel.notify("original_changed", { id = review.id, edited = now })
    end
  end

  local function read()
    if vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_changedtick(buf) == tick then
      review.baseline =
        { buf = buf, state = text.state(buf), bytes = text.read(buf), was_modified = was_modified }
    end
  end
  if vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) <= MAX_BLOCKING_BYTES then
    read()
  else
    scheduler.next(read)
  end

  local function changed()
    cancel()
    if is_stopped then
      return true
    end
    cancel = scheduler.after(COMPARE_DELAY_MS, compare)
  end
  vim.api.nvim_buf_attach(buf, false, { on_lines = changed, on_reload = changed })
  vim.api.nvim_create_autocmd("BufModifiedSet", {
    group = review.group,
    buffer = buf,
    callback = function()
      hunk_updates.update(review)
    end,
  })
  return function()
    is_stopped = true
    cancel()
  end
end

--- Returns the text that the file had when the review opened, if known.
---@param review gemini_bridge.Review
---@return string?
local function text_at_opening(review)
  local buffers, first = review.buffers, review.baseline
  if buffers and buffers.copied and not buffers.new then
    return text.read(buffers.original)
  end
  return first and not first.was_modified and first.bytes or nil
end

--- Whether the file has changed since the review opened. Checks the disk itself, because the host may not have seen the
--- last write yet. Rewriting the file with the same text does not count.
---@param review gemini_bridge.Review
---@return boolean
function M.has_changed(review)
  local now = path.version(review.filePath)
  if review.stale or now == review.version then
    return review.stale
  end
  local bytes = path.bytes(path.real(review.filePath))
  if bytes == nil or bytes ~= text_at_opening(review) then
    return true
  end
  review.version = now
  return false
end

--- Handles the host's report that a review is stale, or no longer stale. Tells the user once.
---@param review gemini_bridge.Review
---@param stale boolean
function M.update(review, stale)
  if stale and not review.stale then
    notify(("%s has changed: the proposal is stale."):format(path.display(review.filePath, 32)), "warn")
  end
  review.stale = stale
  scheduler.now(function()
    if not records.is_pending(review) or not review.buffers then
      return
    end
    if review.buffers.copied and vim.api.nvim_buf_is_loaded(review.buffers.original) then
      text.write(review.buffers.original, path.bytes(path.real(review.filePath)) or "")
    end
    hunk_updates.update(review)
  end)
end

return M
