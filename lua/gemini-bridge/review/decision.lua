--- Ends reviews: tells the host about the decision at once, and closes the windows as soon as Neovim allows it.
local channel = require("gemini-bridge.bridge.channel")
local saved_texts = require("gemini-bridge.review.saved_texts")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local proposal = require("gemini-bridge.review.proposal")
local records = require("gemini-bridge.review.records")
local reload = require("gemini-bridge.disk.reload")
local scheduler = require("gemini-bridge.editor.scheduler")
local screen = require("gemini-bridge.review.screen")
local next_review = require("gemini-bridge.review.next_review")
local staleness = require("gemini-bridge.review.staleness")
local status = require("gemini-bridge.bridge.status")

local M = {}

---@param what "Opened"|"Accepted"|"Rejected"|"Closed"
---@param review gemini_bridge.Review
local function emit(what, review)
  local data = { id = review.id, filePath = review.filePath, client = review.client }
  status.emit("GeminiDiff" .. what, data)
end

--- Fires GeminiDiffOpened once for each review: when it has opened, or at the latest before the event for its outcome.
---@param review gemini_bridge.Review
function M.announce(review)
  if not review.was_announced then
    review.was_announced = true
    emit("Opened", review)
  end
end

--- Saves the user's edits of a closed review.
---@param review gemini_bridge.Review
local function keep_edits(review)
  for _, edits in ipairs(records.edits(review)) do
    local command = saved_texts.keep(review.filePath, edits)
    local name = path.display(review.filePath, 24)
    notify(("The review of %s has ended. Your edits are kept: %s"):format(name, command), "warn")
  end
  records.remove(review)
end

--- Whether the user's next keys are meant for the proposal: its buffer is the current one, and the user is not in
--- Normal mode, or has typed only the beginning of a command, such as an operator or a register.
---@param review gemini_bridge.Review
local function is_typing(review)
  return review.buffers ~= nil
    and vim.api.nvim_get_current_buf() == review.buffers.proposal
    and (vim.api.nvim_get_mode().mode ~= "n" or vim.fn.state("o") ~= "")
end

--- Runs a step when the next keys are no longer meant for the proposal.
---@param review gemini_bridge.Review
---@param step fun()
local function after_typing(review, step)
  local listener ---@type integer?
  listener = vim.api.nvim_create_autocmd({ "SafeState", "BufEnter" }, {
    callback = function()
      -- Schedules nothing while the user is typing: a scheduled function makes Neovim fire SafeState again, so that
      -- this would repeat endlessly.
      if is_typing(review) then
        return
      end
      scheduler.next(function()
        if listener and not is_typing(review) then
          vim.api.nvim_del_autocmd(listener)
          listener = nil
          step()
        end
      end)
    end,
  })
end

--- Closes the windows of an ended review, frees its buffers and listeners, and goes on to the next review.
---@param review gemini_bridge.Review
local function dismiss(review)
  if review.state == "closed" then
    scheduler.attempt(keep_edits, review)
  end
  proposal.stop_listeners(review)
  local was_inside = screen.close(review)
  proposal.delete_buffers(review)
  -- Waits for the next tick, because Neovim may still be leaving another mode now.
  scheduler.next(function()
    screen.show_waiting()
    if was_inside and review.decision then
      next_review.continue(review)
    end
  end)
end

--- Ends a review.
---@param review gemini_bridge.Review
---@param outcome "Accepted"|"Rejected"|"Closed"
---@param run fun(step: fun()) `scheduler.now` or `scheduler.next`: when to close the windows and buffers.
---@param decision? gemini_bridge.Decision
---@return boolean first False if the review had ended before.
local function finish(review, outcome, run, decision)
  if not records.finish(review, decision) then
    return false
  end
  if decision then
    local event, payload = unpack(decision)
    if payload.content == review.proposed then
      payload = { id = review.id, textId = review.text_id, version = payload.version }
    end
    channel.notify(event, payload)
  end
  M.announce(review)
  emit(outcome, review)
  local function step()
    dismiss(review)
  end
  if outcome == "Closed" and is_typing(review) then
    -- Closes the window only when the user is no longer typing. Otherwise, the next keys would act as commands in
    -- another window.
    after_typing(review, step)
    local name = path.display(review.filePath, 24)
    notify(("The review of %s has ended. Press <Esc>: the proposal then closes."):format(name))
    return true
  end
  local buf = review.buffers and review.buffers.proposal or -1
  if run == scheduler.next and vim.api.nvim_buf_is_valid(buf) then
    -- Makes the proposal unmodifiable until it closes. Its text has already been read for the decision, so that changes
    -- by keys that are still queued would be lost.
    scheduler.attempt(vim.api.nvim_set_option_value, "modifiable", false, { buf = buf })
  end
  run(step)
  return true
end

--- Returns the reason why a proposal cannot be accepted now, if there is one.
---@param review gemini_bridge.Review
---@return string? problem
local function obstacle(review)
  local name = path.display(review.filePath, 24)
  local open = path.buffer(review.filePath)
  if open and vim.bo[open].modified then
    return ("%s has unsaved changes: save them first, or discard them with :GeminiAccept!"):format(name)
  elseif staleness.has_changed(review) then
    return ("%s has changed since the proposal was made: compare again, then accept with :GeminiAccept!"):format(
      name
    )
  elseif review.is_replaced then
    review.is_replaced = false -- the user may accept the next time
    return ("The proposal for %s was replaced: check it, then accept again."):format(name)
  end
end

--- Accepts the current text of the proposal.
---@param review gemini_bridge.Review
---@param run fun(step: fun()) `scheduler.now`, or `scheduler.next` while a command still uses the buffer.
---@param force? boolean Accepts a stale proposal, and discards unsaved changes of the file.
---@return boolean accepted
function M.accept(review, run, force)
  local content = records.content(review)
  local problem
  if content == "" and review.proposed ~= "" then
    problem = ("%s cannot receive an empty text, so it was not accepted. Add text, or use :GeminiReject."):format(
      review.label
    )
  elseif not force then
    problem = obstacle(review)
  end
  if problem then
    notify(problem, "warn")
    return false
  end
  local open = path.buffer(review.filePath)
  if open and vim.bo[open].modified then
    reload.give_up_changes(open)
  end
  -- Sends the version of the file that the user's decision is about, because the host must not overwrite a later
  -- version.
  local payload = { id = review.id, content = content, version = path.version(review.filePath) }
  return finish(review, "Accepted", run, { "diff_accepted", payload })
end

--- Rejects a proposal.
---@param review gemini_bridge.Review
---@param run fun(step: fun())
---@return boolean first
function M.reject(review, run)
  return finish(review, "Rejected", run, { "diff_rejected", { id = review.id } })
end

--- Ends a review without a decision.
---@param review gemini_bridge.Review
---@param delivered? string Text that the CLI or the host receives. Other edits are saved.
---@return boolean first
function M.close(review, delivered)
  review.delivered = delivered
  return finish(review, "Closed", scheduler.now)
end

--- Tells the user that a decision was not delivered, and saves the accepted text.
---@param review gemini_bridge.Review
---@param problem? string Reason why the accepted text was not written, without a full stop.
local function report_lost(review, problem)
  local name, content = path.display(review.filePath, 20), review.decision[2].content
  if not content then
    return notify(("%s is gone and did not receive your rejection of %s."):format(review.label, name), "warn")
  end
  scheduler.now(function()
    local command = saved_texts.keep(review.filePath, content)
    local reason = problem or ("%s is gone"):format(review.label)
    notify(("%s. The text of %s that you accepted is kept: %s"):format(reason, name, command), "warn")
  end)
end

--- Called when the host reports that a decision was delivered or cannot be delivered.
---@param params gemini_bridge.calls.decision_settled
function M.settled(params)
  local review = records.settle(params.id)
  if review and not params.delivered then
    report_lost(review, params.problem)
  end
end

--- Called when the bridge has stopped: reports all undelivered decisions as lost.
function M.abandon()
  for _, review in ipairs(records.decided()) do
    records.settle(review.id)
    report_lost(review)
  end
end

return M
