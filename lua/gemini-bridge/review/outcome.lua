--- How a review ends: once, whatever happens first.
local channel = require("gemini-bridge.bridge.channel")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local pending = require("gemini-bridge.review.queue")
local reload = require("gemini-bridge.disk.reload")
local status = require("gemini-bridge.bridge.status")
local text = require("gemini-bridge.review.text")
local view = require("gemini-bridge.review.window.view")

local M = {}

---@param what "Opened"|"Accepted"|"Rejected"|"Closed"
---@param review gemini_bridge.Review
local function emit(what, review)
  status.emit("GeminiDiff" .. what, { id = review.id, filePath = review.filePath, client = review.client })
end

--- Tells who wants to know that a review is there: once, and before its outcome.
---@param review gemini_bridge.Review
function M.opened(review)
  if not review.told then
    review.told = true
    emit("Opened", review)
  end
end

--- Takes a review out of those that are pending and tells who wants to know. The windows stay for `dismiss`.
---@param review gemini_bridge.Review
---@param outcome "Accepted"|"Rejected"|"Closed"
---@param event? "diff_accepted"|"diff_rejected"|"diff_closed" For the host.
---@param content? string
---@return boolean first False when it had ended before.
local function settle(review, outcome, event, content)
  if not pending.remove(review) then
    return false
  end
  if event then
    channel.decide(event, { id = review.id, content = content })
  end
  M.opened(review)
  emit(outcome, review)
  return true
end

--- Takes a review that has ended off the screen and frees what it used.
---@param review gemini_bridge.Review
---@param decided boolean By the user.
function M.dismiss(review, decided)
  review.stop()
  if review.view then
    view.close(review.view, decided)
    review.view = nil
  end
  local buffers = review.buffers
  for _, buf in ipairs({ buffers.proposal, buffers.copied and buffers.original or nil }) do
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
  -- Not in this tick: the mode in which the user goes on is entered at the end of it.
  vim.schedule(pending.show_next)
end

--- What the proposal holds now.
---@param review gemini_bridge.Review
---@return string
function M.content(review)
  review.refresh()
  local buf = review.buffers.proposal
  -- To read a text again that is at hand takes 2 ms for each MB.
  return vim.deep_equal(text.state(buf), review.written) and review.proposed or text.read(buf)
end

--- The user accepts what the proposal holds now. The windows stay for `dismiss`.
---@param review gemini_bridge.Review
---@param force? boolean Although the file's buffer has unsaved changes.
---@return boolean accepted
function M.accept(review, force)
  local content = M.content(review)
  if content == "" and review.proposed ~= "" then
    notify("Gemini CLI cannot take an empty file: the review stays open.", "warn")
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
  if unsaved and open then
    reload.give_up_changes(open)
  end
  return settle(review, "Accepted", "diff_accepted", content)
end

--- The user rejects. The windows stay for `dismiss`.
---@param review gemini_bridge.Review
---@return boolean first
function M.reject(review)
  return settle(review, "Rejected", "diff_rejected")
end

--- Ends a review without a decision.
---@param review gemini_bridge.Review
---@param event? "diff_closed" For a host that does not know yet.
function M.close(review, event)
  if settle(review, "Closed", event) then
    M.dismiss(review, false)
  end
end

return M
