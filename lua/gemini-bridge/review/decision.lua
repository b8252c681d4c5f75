--- How a review ends: once, whatever happens first. It is settled and told at once, and taken off the screen as soon as
--- windows may be touched.
local channel = require("gemini-bridge.bridge.channel")
local kept = require("gemini-bridge.review.kept")
local leave = require("gemini-bridge.review.window.leave")
local newline = require("gemini-bridge.review.newline")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local queue = require("gemini-bridge.review.queue")
local reload = require("gemini-bridge.disk.reload")
local safely = require("gemini-bridge.editor.safely")
local stale = require("gemini-bridge.review.stale")
local status = require("gemini-bridge.bridge.status")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

---@alias gemini_bridge.When "now"|"after" At once, or after the command that is under way and has the buffer in use.

---@param what "Opened"|"Accepted"|"Rejected"|"Closed"
---@param review gemini_bridge.Review
local function emit(what, review)
  local data = { id = review.id, filePath = review.filePath, client = review.client }
  status.emit("GeminiDiff" .. what, data)
end

--- Tells who wants to know that a review is there: once, and before its outcome.
---@param review gemini_bridge.Review
function M.opened(review)
  if not review.told then
    review.told = true
    emit("Opened", review)
  end
end

--- What the proposal holds now. Nothing is redrawn for it.
---@param review gemini_bridge.Review
---@return string
function M.content(review)
  local buf = review.buffers and review.buffers.proposal
  if not buf or not review.written or not vim.api.nvim_buf_is_loaded(buf) then
    return review.edited or review.proposed
  end
  newline.follow(review)
  -- To read a long text again that is at hand takes time.
  return vim.deep_equal(text.state(buf), review.written) and review.proposed or text.read(buf)
end

--- Keeps edits of the user that nobody else has. Before the buffers go.
---@param review gemini_bridge.Review
---@param told? string The text that the CLI or the host was given at the end.
local function keep_edits(review, told)
  local content = M.content(review)
  if content == review.proposed or content == told then
    return
  end
  local buf = kept.keep(review.filePath, content)
  local name = path.display(review.filePath, 24)
  notify(("The review of %s has ended. Your edits are kept in buffer %d."):format(name, buf), "warn")
end

--- Whether the user is typing into a proposal.
---@param review gemini_bridge.Review
local function is_typing(review)
  return review.buffers ~= nil
    and vim.api.nvim_get_current_buf() == review.buffers.proposal
    and vim.api.nvim_get_mode().mode:find("^[iR]") ~= nil
end

--- Takes a review that has ended off the screen and frees what it used.
---@param review gemini_bridge.Review
---@param place integer Its former place in the queue.
---@param is_decided boolean Whether the user decided it.
local function dismiss(review, place, is_decided)
  for _, stop in ipairs(review.stops) do
    safely.attempt(stop)
  end
  local was_inside = false
  if review.view then
    safely.attempt(function()
      was_inside = leave.close(review.view)
    end)
    review.view = nil
  end
  local buffers = review.buffers
  if buffers then
    safely.attempt(window.delete_buffer, buffers.proposal)
    safely.attempt(window.delete_buffer, buffers.copied and buffers.original or -1)
  end
  -- Not in this tick: Normal mode is entered at the end of it.
  vim.schedule(function()
    review.dismissed(review, place, is_decided and was_inside)
  end)
end

---@param review gemini_bridge.Review
---@param outcome "Accepted"|"Rejected"|"Closed"
---@param when gemini_bridge.When
---@param event? "diff_accepted"|"diff_rejected" For the host.
---@param content? string Of the proposal: accepted, or told to whoever closes the review.
---@return boolean first False when it had ended before.
local function conclude(review, outcome, when, event, content)
  local place = queue.remove(review)
  if not place then
    return false
  end
  if event then
    local text_id = content == review.proposed and review.text_id or nil
    -- The decision is about the file as it is now: a later version of it must not be overwritten.
    local version = event == "diff_accepted" and path.version(review.filePath) or nil
    local payload = { id = review.id, content = content, version = version }
    channel.decide(event, payload, review.label, text_id)
  end
  M.opened(review)
  emit(outcome, review)
  local function off_the_screen()
    safely.run(function()
      if outcome == "Closed" then
        safely.attempt(keep_edits, review, content)
      end
      dismiss(review, place, outcome ~= "Closed")
    end)
  end
  if outcome == "Closed" and is_typing(review) then
    -- The next keys belong to this text: in another window they would be commands.
    vim.api.nvim_create_autocmd("InsertLeave", {
      buffer = review.buffers.proposal,
      once = true,
      callback = vim.schedule_wrap(off_the_screen),
    })
    notify(
      ("The review of %s has ended; leave Insert mode to close it."):format(path.display(review.filePath, 24))
    )
    return true
  elseif when == "now" then
    off_the_screen()
    return true
  end
  local buf = review.buffers.proposal
  if vim.api.nvim_buf_is_valid(buf) then
    -- Keys that were typed ahead would change a text that is no longer read.
    safely.attempt(vim.api.nvim_set_option_value, "modifiable", false, { buf = buf })
  end
  vim.schedule(off_the_screen)
  return true
end

--- The user accepts what the proposal holds now.
---@param review gemini_bridge.Review
---@param when gemini_bridge.When
---@param force? boolean Although the file's buffer has unsaved changes.
---@return boolean accepted
function M.accept(review, when, force)
  local content = M.content(review)
  if content == "" and review.proposed ~= "" then
    notify(("%s cannot take an empty file: the review stays open."):format(review.label), "warn")
    return false
  end
  local open = path.buffer(review.filePath)
  local unsaved = open ~= nil and vim.bo[open].modified
  if unsaved and not force then
    notify(
      ("%s has unsaved changes: save or discard them first, or :GeminiAccept!"):format(
        path.display(review.filePath, 24)
      ),
      "warn"
    )
    return false
  end
  local name = path.display(review.filePath, 24)
  if not force and stale.has_changed(review) then
    notify(("%s has changed since it was proposed: compare again, or :GeminiAccept!"):format(name), "warn")
    return false
  elseif not force and review.is_replaced then
    -- Told once: whoever accepts after this has been told to look.
    review.is_replaced = false
    notify(("%s has another proposed text now: look at it, then accept again."):format(name), "warn")
    return false
  end
  if unsaved and open then
    reload.give_up_changes(open)
  end
  return conclude(review, "Accepted", when, "diff_accepted", content)
end

--- The user rejects.
---@param review gemini_bridge.Review
---@param when gemini_bridge.When
---@return boolean first
function M.reject(review, when)
  return conclude(review, "Rejected", when, "diff_rejected")
end

--- Ends a review without a decision. Edits that nobody is told of are kept in a buffer.
---@param review gemini_bridge.Review
---@param told? string The text that the CLI or the host is given.
---@return boolean first
function M.close(review, told)
  return conclude(review, "Closed", "now", nil, told)
end

return M
