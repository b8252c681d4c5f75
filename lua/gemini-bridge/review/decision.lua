--- Ends reviews. Sends the decision to the Node host at once, and closes the windows as soon as Neovim allows changes.
local await_write = require("gemini-bridge.review.await_write")
local channel = require("gemini-bridge.bridge.channel")
local config = require("gemini-bridge.config")
local lost_characters = require("gemini-bridge.review.lost_characters")
local drafts = require("gemini-bridge.review.drafts")
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

--- Fires GeminiDiffOpened once for each review: after opening, or just before the event for the decision.
---@param review gemini_bridge.Review
function M.announce(review)
  if not review.was_announced then
    review.was_announced = true
    emit("Opened", review)
  end
end

--- Saves the edits that the CLI does not get, after a review has ended without a decision.
---@param review gemini_bridge.Review
local function keep_edits(review)
  for _, edits in ipairs(records.edits(review)) do
    local command = saved_texts.keep({ filePath = review.filePath, content = edits })
    if command then
      local name = path.display(review.filePath, 24)
      notify(("The review of %s has ended. Open your edits with %s"):format(name, command), "warn")
    end
  end
  records.hand_over(review)
  await_write.follow()
end

--- Returns true while the user is typing in the proposal: in a mode other than Normal mode, or in the middle of a
--- command.
---@param review gemini_bridge.Review
local function is_typing(review)
  return review.buffers ~= nil
    and vim.api.nvim_get_current_buf() == review.buffers.proposal
    and (vim.api.nvim_get_mode().mode ~= "n" or vim.fn.state("o") ~= "")
end

---@param review gemini_bridge.Review
---@param step fun()
local function after_typing(review, step)
  local listener ---@type integer?
  listener = vim.api.nvim_create_autocmd({ "SafeState", "BufEnter" }, {
    callback = function()
      -- Schedules nothing while the user is typing. Each scheduled function makes SafeState fire again, so this
      -- listener would run without end.
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

--- Closes the windows of an ended review, deletes its buffers and listeners, and shows the next review.
---@param review gemini_bridge.Review
local function dismiss(review)
  if review.state == "closed" then
    scheduler.attempt(keep_edits, review)
  end
  proposal.stop_listeners(review)
  local was_inside = screen.close(review)
  proposal.delete_buffers(review)
  -- Waits for the next tick, because Neovim may still be leaving Insert or Visual mode.
  scheduler.next(function()
    screen.show_waiting()
    if was_inside and review.decision then
      next_review.continue(review)
    end
  end)
end

--- Ends a review and closes its windows. If the CLI has ended the review and the user is in Insert mode, waits until
--- the user presses <Esc>.
---@param review gemini_bridge.Review
---@param outcome "Accepted"|"Rejected"|"Closed"
---@param close_when "now"|"next" When to close windows and buffers: now, or in the next tick.
---@param decision? gemini_bridge.Decision
---@param content? string Text that the CLI gets.
---@return boolean first False if the review had already ended.
local function finish(review, outcome, close_when, decision, content)
  if not records.finish(review, decision, content) then
    return false
  end
  if decision then
    local event, payload = unpack(decision)
    if payload.content == review.proposed then
      payload = { id = review.id, textId = review.text_id, version = payload.version }
    end
    channel.notify(event, payload)
  end
  if review.handed then
    drafts.follow()
    await_write.follow()
  end
  M.announce(review)
  emit(outcome, review)
  local function step()
    dismiss(review)
  end
  if outcome == "Closed" and is_typing(review) then
    -- Keeps the window open until the user stops typing. Otherwise, the next keys would act as commands in another
    -- window.
    after_typing(review, step)
    local name = path.display(review.filePath, 24)
    notify(("The review of %s has ended. Its windows close when you press <Esc>."):format(name))
    return true
  end
  local buf = review.buffers and review.buffers.proposal or -1
  if close_when == "next" and vim.api.nvim_buf_is_valid(buf) then
    -- Makes the proposal unmodifiable until the window closes, because the text was already sent: later edits would be
    -- lost.
    scheduler.attempt(vim.api.nvim_set_option_value, "modifiable", false, { buf = buf })
  end
  scheduler[close_when](step)
  return true
end

--- Returns the reason why a proposal cannot be accepted now. Returns nil if the user may accept.
---@param review gemini_bridge.Review
---@return string? problem
local function obstacle(review)
  local name = path.display(review.filePath, 24)
  local open = path.buffer(review.filePath)
  if open and vim.bo[open].modified then
    return ("%s has unsaved changes: save them first, or discard them with :GeminiAccept!"):format(name)
  elseif staleness.has_changed(review) then
    return staleness.warning(review)
  elseif lost_characters.found(review) then
    return lost_characters.warning(review)
  elseif review.is_replaced then
    review.is_replaced = false -- the user may accept the next time
    return ("The CLI has replaced the proposal for %s: check the new text, then accept again."):format(name)
  end
end

--- Marks the proposals of other CLIs for the same file as stale, because the accepted text will replace the file.
---@param accepted gemini_bridge.Review
local function outdate_others(accepted)
  for _, review in ipairs(records.pending()) do
    if path.is_same(review.filePath, accepted.filePath) then
      staleness.update(review, true)
    end
  end
end

--- Accepts the current text of the proposal.
---@param review gemini_bridge.Review
---@param close_when "now"|"next" "next" if a running command still uses the buffer.
---@param force? boolean Accepts in spite of an |obstacle()|, and discards unsaved changes of the file.
---@return boolean accepted
function M.accept(review, close_when, force)
  local content = records.content(review)
  local problem
  if content == "" and review.proposed ~= "" then
    problem = ("Not accepted, because %s cannot receive an empty text: add text, or use :GeminiReject."):format(
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
  -- Sends the version of the file that the user has compared. The Node host must not overwrite a later version.
  local payload = { id = review.id, content = content, version = path.version(review.filePath) }
  local is_first = finish(review, "Accepted", close_when, { "diff_accepted", payload }, content)
  if is_first then
    outdate_others(review)
  end
  return is_first
end

--- Accepts a proposal after the user has typed `:w` or a similar command.
---@param review gemini_bridge.Review
---@param close_when "now"|"next" See |decision.accept()|.
---@param force? boolean
---@return boolean accepted
function M.accept_by_write(review, close_when, force)
  if not config.get().diff.write_accepts then
    notify(
      ":w does not accept a proposal, because your option diff.write_accepts is off: use :GeminiAccept.",
      "warn"
    )
    return false
  end
  return M.accept(review, close_when, force)
end

--- Rejects a proposal.
---@param review gemini_bridge.Review
---@param close_when "now"|"next" "next" if a running command still uses the buffer.
---@return boolean first
function M.reject(review, close_when)
  return finish(review, "Rejected", close_when, { "diff_rejected", { id = review.id } })
end

--- Ends a review without a decision.
---@param review gemini_bridge.Review
---@param content? string Text that the CLI gets. All other edited texts are saved.
---@return boolean first
function M.close(review, content)
  return finish(review, "Closed", "now", nil, content)
end

--- Tells the user that the CLI did not receive a decision. Saves the accepted text.
---@param review gemini_bridge.Review
---@param problem? string Reason without a full stop. Default: the CLI is gone.
local function report_lost(review, problem)
  local name, content = path.display(review.filePath, 20), review.decision[2].content
  if not content then
    return notify(
      ("%s has disconnected and did not receive your rejection of %s."):format(review.label, name),
      "warn"
    )
  end
  -- Saves the text at once, because Neovim may exit before it allows changes.
  local command = saved_texts.keep({ filePath = review.filePath, content = content })
  if command then
    local reason = problem or ("%s has disconnected"):format(review.label)
    notify(("%s. Open the accepted text of %s with %s"):format(reason, name, command), "warn")
  end
end

--- Handles the report of the Node host that a decision was delivered or cannot be delivered.
---@param params gemini_bridge.calls.decision_settled
function M.settled(params)
  local review = records.settle(params.id, params.delivered)
  if review and not params.delivered then
    report_lost(review, params.problem)
  end
end

--- Reports all undelivered decisions as lost, because the bridge has stopped.
function M.abandon()
  for _, review in ipairs(records.decided()) do
    records.settle(review.id, false)
    report_lost(review)
  end
end

return M
