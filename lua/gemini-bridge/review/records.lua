--- Stores a record for each review until the decision is delivered to the CLI. Only this file changes the state of a
--- record.
local diff_hunks = require("gemini-bridge.review.diff_hunks")
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
---@field delivered? string Final text that the CLI or the Node host already has.
---@field make fun() Creates the buffers and their listeners. Called again if a script has deleted the buffers.
---@field buffers? gemini_bridge.ReviewBuffers nil until Neovim allows new buffers.
---@field written? table Value of |text.state()| for the unedited proposal. nil before the buffer contains the text.
---@field read? { buf: integer, state: table, content: string } Cache. Valid while |text.state()| equals `state`.
---@field unloaded? string Copy of the edited text. Needed if the proposal buffer is unloaded.
---@field view? gemini_bridge.View Windows of the review.
---@field hunks gemini_bridge.Hunk[]
---@field newline? gemini_bridge.FinalNewline nil for a new text of the CLI.
---@field counted? integer[] 'changedtick' of both buffers at the last count of hunks.
---@field group? integer Id of the autocommand group.
---@field stops fun()[] Functions that remove the listeners.

--- Final newline of a proposal whose file ends differently.
---@class gemini_bridge.FinalNewline
---@field follows boolean True if dropping the last hunk also restores the original final newline.
---@field endofline boolean Value of 'endofline' that the user has not changed.

---@class gemini_bridge.Baseline
---@field buf integer
---@field state table See |text.state()|.
---@field bytes string
---@field was_modified boolean

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
  return review.state ~= "decided" and review.state ~= "closed"
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

--- Ends a review. Without a decision, the review counts as closed.
---@param review gemini_bridge.Review
---@param decision? gemini_bridge.Decision Kept until it is delivered, even if the Node host crashes.
---@return boolean first False if the review had already ended.
function M.finish(review, decision)
  if not M.is_pending(review) then
    return false
  end
  review.state, review.decision = decision and "decided" or "closed", decision
  -- Creates a new list, because callers may be iterating over the old list.
  pending = vim.tbl_filter(M.is_pending, pending)
  ended = #pending > 0 and ended + 1 or 0
  update_positions()
  return true
end

--- Removes the record of a closed review. The caller has saved the user's edits.
---@param review gemini_bridge.Review
function M.remove(review)
  records[review.id] = nil
end

--- Removes the record of a decided review. The Node host has delivered the decision or has given up.
---@param id integer
---@return gemini_bridge.Review?
function M.settle(id)
  local review = records[id]
  if review and review.state == "decided" then
    records[id] = nil
    return review
  end
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

--- Returns the edited texts that would be lost with this review: the current text, and earlier texts that the CLI has
--- replaced. After a decision, returns only the accepted text.
---@param review gemini_bridge.Review
---@return string[]
function M.edits(review)
  if review.state == "decided" then
    local accepted = review.decision[2].content
    return accepted ~= review.proposed and { accepted } or {}
  end
  local content = M.content(review)
  local texts = vim.tbl_filter(function(replaced)
    return replaced ~= content
  end, review.replaced)
  texts[#texts + 1] = content
  return vim.tbl_filter(function(edited)
    return edited ~= review.proposed and edited ~= review.delivered
  end, texts)
end

--- Returns all edited texts that would be lost if Neovim exited now. Includes undelivered decisions, and ended reviews
--- in which the user is still typing.
---@return gemini_bridge.Draft[]
function M.unsaved()
  local texts = {}
  for _, review in vim.spairs(records) do
    for _, content in ipairs(M.edits(review)) do
      texts[#texts + 1] = { filePath = review.filePath, content = content }
    end
  end
  return texts
end

return M
