--- Stores a record for each review until the decision is delivered to the CLI. Only this file changes the state of a
--- record.
local diff_hunks = require("gemini-bridge.review.diff_hunks")
local path = require("gemini-bridge.disk.path")
local proposal = require("gemini-bridge.review.proposal")
local text = require("gemini-bridge.review.text")

local M = {}

--- State of a review. Reviews in the states "waiting", "shown" and "parked" are pending.
---@alias gemini_bridge.ReviewState
---| "waiting" Shown as soon as a tab page has room.
---| "shown" Has windows.
---| "parked" Hidden until the user asks for the review.
---| "decided" Ended by a decision that the CLI has not received yet.
---| "closed" Ended without a decision. The edits of the user are not saved yet.
---| "handed" Ended. The CLI has received an edited text. The file on disk does not contain this text yet.

---@class gemini_bridge.Review
---@field id integer
---@field filePath string Path as spelled by the CLI.
---@field client string Name of the CLI's terminal or MCP client.
---@field label string Name of the CLI in messages.
---@field state gemini_bridge.ReviewState
---@field proposed string Text that the CLI proposes, without the user's edits.
---@field text_id string Id by which the Node host knows the proposed text.
---@field decision? gemini_bridge.Decision
---@field position? { number: integer, count: integer } Shown as "2 of 5". nil if only one review is pending.
---@field was_announced? boolean True after GeminiDiffOpened was fired.
---@field stale boolean True if the file or its buffer has changed after the proposal was made.
---@field has_lost_characters? boolean See |lost_characters.found()|. For the winbar.
---@field version? string Version of the file when the review opened, see |path.version()|.
---@field baseline? gemini_bridge.Baseline Content of the user's buffer of the file when the review opened.
---@field is_replaced? boolean True if the CLI has replaced a text that the user had seen or edited.
---@field replaced string[] Texts that the user edited before the CLI replaced the proposal.
---@field is_users? boolean True if the proposed text contains earlier edits of the user.
---@field handed? gemini_bridge.HandedText Set from the end of a review until its edited text is on disk or saved.
---@field make fun() Creates the buffers and their listeners. Called again if a script has deleted the buffers.
---@field buffers? gemini_bridge.ReviewBuffers nil until Neovim allows new buffers.
---@field written? table Value of |text.state()| for the unedited proposal. nil before the buffer contains the text.
---@field read? { buf: integer, state: table, content: string } Cache. Valid while |text.state()| equals `state`.
---@field unloaded? string Copy of the edited text. Needed if the proposal buffer is unloaded.
---@field view? gemini_bridge.View Windows of the review.
---@field hunks gemini_bridge.Hunk[]
---@field newline? gemini_bridge.FinalNewline nil for a new text of the CLI.
---@field reverts (fun(): boolean)[] Functions that each revert one keep or undo of a hunk. The latest comes last.
---@field counted? integer[] 'changedtick' of both buffers at the last count of hunks.
---@field group? integer Id of the autocommand group.
---@field stops fun()[] Functions that remove the listeners.

--- Final newline of a proposal whose file ends differently.
---@class gemini_bridge.FinalNewline
---@field follows boolean True if dropping the last hunk also restores the original final newline.
---@field endofline boolean Value of 'endofline' that the user has not changed.

---@class gemini_bridge.Baseline
---@field bytes string
---@field was_modified boolean

--- Edited text that the CLI gets or has got, and must write.
---@class gemini_bridge.HandedText
---@field content string
---@field version string Version of the file when the review ended, see |path.version()|.
---@field checked? string Version of the file when it was last compared with the text.
---@field ended_at integer Time at which the review ended, see |vim.uv.now()|.

--- Decision as sent to the Node host: event name and data.
---@class gemini_bridge.Decision
---@field [1] "diff_accepted"|"diff_rejected"
---@field [2] { id: integer, content?: string, version?: string }

---@type table<integer, gemini_bridge.Review>
local records = {}
--- Pending reviews, oldest first.
---@type gemini_bridge.Review[]
local pending = {}
--- Number of reviews that ended while other reviews were pending. Needed for "2 of 5". Reset when no review is pending.
local ended = 0

--- Returns the pending reviews, oldest first.
---@return gemini_bridge.Review[]
function M.pending()
  return pending
end

---@param review gemini_bridge.Review
---@return boolean
function M.is_pending(review)
  return vim.list_contains({ "waiting", "shown", "parked" }, review.state)
end

--- Returns a review if it is pending.
---@param id integer
---@return gemini_bridge.Review?
function M.get(id)
  local review = records[id]
  return review and M.is_pending(review) and review or nil
end

local function update_positions()
  local count = ended + #pending
  for index, review in ipairs(pending) do
    review.position = count > 1 and { number = ended + index, count = count } or nil
  end
end

---@param review gemini_bridge.Review
function M.add(review)
  records[review.id] = review
  pending = vim.list_extend({ unpack(pending) }, { review })
  update_positions()
end

--- Changes the state of a pending review. Does nothing after the review has ended.
---@param review gemini_bridge.Review
---@param state "waiting"|"shown"|"parked"
function M.move(review, state)
  if M.is_pending(review) then
    review.state = state
  end
end

--- Returns true if a text of a review is not only the work of the CLI.
---@param review gemini_bridge.Review
---@param content string
---@return boolean
function M.is_edited(review, content)
  return review.is_users or content ~= review.proposed
end

--- Ends a review. Without a decision, the review counts as closed.
---@param review gemini_bridge.Review
---@param decision? gemini_bridge.Decision Kept until it is delivered, even if the Node host crashes.
---@param content? string Text that the CLI gets.
---@return boolean first False if the review had already ended.
function M.finish(review, decision, content)
  if not M.is_pending(review) then
    return false
  end
  review.state, review.decision = decision and "decided" or "closed", decision
  if content and M.is_edited(review, content) then
    local version = path.version(review.filePath)
    review.handed = { content = content, version = version, ended_at = vim.uv.now() }
  end
  -- Creates a new list, because callers may be iterating over the old list.
  pending = vim.tbl_filter(M.is_pending, pending)
  ended = #pending > 0 and ended + 1 or 0
  update_positions()
  return true
end

--- Records that the CLI has received the outcome of an ended review. The record stays until the CLI has written an
--- edited text.
---@param review gemini_bridge.Review
function M.hand_over(review)
  if review.handed then
    review.state = "handed"
  else
    records[review.id] = nil
  end
end

--- Records that the edited text of an ended review is on disk or saved.
---@param review gemini_bridge.Review
function M.let_go(review)
  review.handed = nil
  if review.state == "handed" then
    records[review.id] = nil
  end
end

--- Returns the ended reviews whose edited texts are neither on disk nor saved.
---@return gemini_bridge.Review[]
function M.handed()
  return vim.tbl_filter(function(review)
    return review.handed ~= nil and review.state ~= "closed"
  end, vim.tbl_values(records))
end

--- Removes the record of an edited text, because a new review shows this text.
---@param file string
---@param content string
---@return boolean found
function M.take_handed(file, content)
  for _, review in ipairs(M.handed()) do
    if review.state == "handed" and review.filePath == file and review.handed.content == content then
      M.let_go(review)
      return true
    end
  end
  return false
end

--- Settles a decided review. The Node host has delivered the decision or has given up.
---@param id integer
---@param is_delivered boolean
---@return gemini_bridge.Review?
function M.settle(id, is_delivered)
  local review = records[id]
  if not (review and review.state == "decided") then
    return
  elseif is_delivered then
    M.hand_over(review)
  else
    records[id] = nil
  end
  return review
end

--- Returns the reviews with undelivered decisions, oldest first.
---@return gemini_bridge.Review[]
function M.decided()
  local decided = vim.tbl_filter(function(review)
    return review.state == "decided"
  end, vim.tbl_values(records))
  table.sort(decided, function(a, b)
    return a.id < b.id
  end)
  return decided
end

--- Returns the current text of the proposal. Uses cached texts where possible, because |unsaved()| calls this function
--- every second.
---@param review gemini_bridge.Review
---@return string
function M.content(review)
  if not review.written then
    return review.proposed
  end
  -- Uses the stored copy if the buffer was deleted. The buffer then no longer contains the user's text, even if
  -- `:edit #` has loaded the buffer again.
  if not proposal.is_loaded(review.buffers) then
    return review.unloaded or review.proposed
  end
  local buf = review.buffers.proposal
  diff_hunks.follow_newline(review)
  local state, read = text.state(buf), review.read
  if vim.deep_equal(state, review.written) then
    return review.proposed
  end
  if not (read and read.buf == buf and vim.deep_equal(read.state, state)) then
    read = { buf = buf, state = state, content = text.read(buf) }
    review.read = read
  end
  return read.content
end

--- Copies the edited text of a proposal from its buffer. Needed if a signal ends Neovim: all buffers are unloaded
--- before the first autocommand runs.
---@param review gemini_bridge.Review
function M.copy_edits(review)
  local content = M.content(review)
  review.unloaded = content ~= review.proposed and content or nil
end

--- Returns the edited texts of a review that the CLI does not get: the current text, and earlier texts that the CLI has
--- replaced. After a decision, the user does not need these texts.
---@param review gemini_bridge.Review
---@return string[]
function M.edits(review)
  if review.state == "decided" or review.state == "handed" then
    return {}
  end
  local content = M.content(review)
  local texts = vim.tbl_filter(function(replaced)
    return replaced ~= content
  end, review.replaced)
  texts[#texts + 1] = content
  return vim.tbl_filter(function(edited)
    return M.is_edited(review, edited) and not (review.handed and edited == review.handed.content)
  end, texts)
end

--- Returns the edited text that the CLI gets or has got.
---@param review gemini_bridge.Review Has a text in `handed`.
---@return gemini_bridge.Draft
function M.handed_draft(review)
  local handed = review.handed --[[@as gemini_bridge.HandedText]]
  return { filePath = review.filePath, content = handed.content, version = handed.version }
end

--- Returns all edited texts that would be lost if Neovim exited now. Includes texts that CLIs have not written yet, and
--- ended reviews in which the user is still typing.
---@return gemini_bridge.Draft[]
function M.unsaved()
  local texts = {}
  for _, review in vim.spairs(records) do
    for _, content in ipairs(M.edits(review)) do
      texts[#texts + 1] = { filePath = review.filePath, content = content }
    end
    if review.handed then
      texts[#texts + 1] = M.handed_draft(review)
    end
  end
  return texts
end

return M
