--- Detects changes of a file during its review. The Node host watches the disk. This module reports the user's edits to
--- the host, and checks the disk once more when the user decides.
local channel = require("gemini-bridge.bridge.channel")
local hunk_updates = require("gemini-bridge.review.hunk_updates")
local modified_event = require("gemini-bridge.editor.modified_event")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local records = require("gemini-bridge.review.records")
local reload = require("gemini-bridge.disk.reload")
local scheduler = require("gemini-bridge.editor.scheduler")
local text = require("gemini-bridge.review.text")

local M = {}

--- Debounce delay between the user's last edit and the comparison with the text at opening.
local COMPARE_DELAY_MS = 200

--- Maximum size of a text that is read before the Node host gets its answer. A longer text is read in the next tick.
local MAX_BLOCKING_BYTES = 256 * 1024

--- Watches the user's buffer of the file. Does nothing if the review shows a copy of the file.
---@param review gemini_bridge.Review
---@return fun() stop Idempotent.
function M.watch(review)
  local buf = review.buffers.original
  if review.buffers.copied then
    return function() end
  end
  local tick, was_modified = vim.api.nvim_buf_get_changedtick(buf), vim.bo[buf].modified
  local edited, is_stopped = false, false
  local stop_expecting = reload.expect(buf)
  local cancel = function() end

  local function compare()
    if not (records.is_pending(review) and vim.api.nvim_buf_is_loaded(buf)) then
      return
    end
    -- Ignores an unmodified buffer, because the Node host detects changes on disk. A missing baseline means that the
    -- user has edited a long text before the plugin has read it. Then every modified buffer counts as edited.
    local first = review.baseline
    local now = vim.bo[buf].modified and (not first or text.read(buf) ~= first.bytes)
    if now ~= edited then
      edited = now
      channel.notify("original_changed", { id = review.id, edited = now })
    end
  end

  local function read()
    if vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_changedtick(buf) == tick then
      review.baseline = { bytes = text.read(buf), was_modified = was_modified }
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
  modified_event.listen({ group = review.group, buffer = buf }, function()
    hunk_updates.update(review)
  end)
  return function()
    is_stopped = true
    cancel()
    stop_expecting()
  end
end

--- Returns the text of the file when the review opened. Returns nil if this text is unknown.
---@param review gemini_bridge.Review
---@return string?
local function text_at_opening(review)
  local buffers, first = review.buffers, review.baseline
  if buffers and buffers.copied and not buffers.new then
    return text.read(buffers.original)
  end
  return first and not first.was_modified and first.bytes or nil
end

--- Returns true if the file has changed since the review opened. Checks the disk, because the Node host may not have
--- seen the last write yet. Ignores a write of the same text.
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

--- Returns the warning about a file that has changed during its review.
---@param review gemini_bridge.Review
---@return string
function M.warning(review)
  return ("%s has changed since the proposal was made: compare again, then accept with :GeminiAccept!"):format(
    path.display(review.filePath, 24)
  )
end

--- Handles the report of the Node host that a proposal is stale or no longer stale. Warns the user once.
---@param review gemini_bridge.Review
---@param stale boolean
function M.update(review, stale)
  if stale and not review.stale then
    notify(M.warning(review), "warn")
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
