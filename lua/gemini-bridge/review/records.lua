--- Stores one record for each review, until its outcome is delivered. Only this file changes the state of a record.
local diff_hunks = require("gemini-bridge.review.diff_hunks")
local proposal = require("gemini-bridge.review.proposal")
local text = require("gemini-bridge.review.text")

local M = {}

--- State of a review. Waiting, shown and parked reviews are pending.
---@alias gemini_bridge.ReviewState
---| "waiting" Is shown when a tab page has room.
---| "shown" Has windows.
---| "parked" Has no window until the user asks for the review.
---| "decided" The host has not delivered the decision yet.
---| "closed" Ended without a decision. The user's edits are not saved yet.

---@class gemini_bridge.Review
---@field id integer
---@field filePath string As the CLI spells it.
---@field client string
---@field label string Name of the CLI for the user.
---@field state gemini_bridge.ReviewState
---@field proposed string Text as proposed by the CLI.
---@field text_id string Id of the proposed text in the host.
---@field decision? gemini_bridge.Decision
---@field position? { number: integer, count: integer } "2 of 5", while several are pending.
---@field was_announced? boolean GeminiDiffOpened has been fired.
---@field stale boolean The file or its buffer has changed since the proposal came.
---@field version? string Version of the file when the review opened, see |path.version()|.
---@field baseline? gemini_bridge.Baseline The user's buffer of the file when the review opened.
---@field is_replaced? boolean The CLI has replaced a text that the user had already seen.
---@field replaced string[] Texts edited by the user and then replaced by the CLI.
---@field delivered? string Text that the CLI or the host has received at the end.
---@field make fun() Creates the buffers and their listeners. Called again if the buffers were deleted.
---@field buffers? gemini_bridge.ReviewBuffers Absent until buffers can be created.
---@field written? table |text.state()| of the proposal's buffer with the unedited text; nil before the buffer has it.
---@field read? { buf: integer, state: table, content: string } The edited text as last read, and |text.state()| then.
---@field unloaded? string Copy of the user's text, in case the buffer is unloaded.
---@field view? gemini_bridge.View Windows of the review.
---@field hunks gemini_bridge.Hunk[]
---@field newline_follows? boolean Whether the final newline belongs to the last hunk.
---@field counted? integer[] 'changedtick' of both buffers when the hunks were counted.
---@field group? integer Autocommands of the buffers.
---@field stops fun()[] Functions that remove the buffers' listeners.

---@class gemini_bridge.Baseline
---@field buf integer
---@field state table See |text.state()|.
---@field bytes string
---@field was_modified boolean

--- A decision as it is sent to the host: event and data.
---@class gemini_bridge.Decision
---@field [1] "diff_accepted"|"diff_rejected"
---@field [2] { id: integer, content?: string, version?: string }

---@type table<integer, gemini_bridge.Review>
local records = {}
--- Pending reviews, oldest first.
---@type gemini_bridge.Review[]
local pending = {}
--- Number of reviews that have ended while others were still pending. Starts at 0 again when none is pending.
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

--- Returns a pending review.
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

--- Moves a pending review to another pending state.
---@param review gemini_bridge.Review
---@param state "waiting"|"shown"|"parked"
function M.move(review, state)
  if M.is_pending(review) then
    review.state = state
  end
end

--- Ends a review, with the user's decision or without.
---@param review gemini_bridge.Review
---@param decision? gemini_bridge.Decision Kept until the host has delivered it, even if the host crashes.
---@return boolean first False if the review had ended before.
function M.finish(review, decision)
  if not M.is_pending(review) then
    return false
  end
  review.state, review.decision = decision and "decided" or "closed", decision
  -- Creates a new list, because callers may be iterating over the old one.
  pending = vim.tbl_filter(M.is_pending, pending)
  ended = #pending > 0 and ended + 1 or 0
  update_positions()
  return true
end

--- Removes a closed review after the user's edits were saved.
---@param review gemini_bridge.Review
function M.remove(review)
  records[review.id] = nil
end

--- Removes a decided review after the host has delivered the decision or has given up.
---@param id integer
---@return gemini_bridge.Review?
function M.settle(id)
  local review = records[id]
  if review and review.state == "decided" then
    records[id] = nil
    return review
  end
end

--- Returns the decided reviews, oldest first.
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

--- Returns the current text of the proposal. Does not read the buffer if it was not edited, or has not changed since it
--- was last read: while there are edits, |unsaved()| runs every second.
---@param review gemini_bridge.Review
---@return string
function M.content(review)
  if not review.written then
    return review.proposed
  end
  -- If the buffer was deleted, it no longer has the user's text, even if `:edit #` has loaded it again.
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

--- Copies an edited text from its buffer, because the buffer may be unloaded without warning: if a signal ends Neovim,
--- all buffers are unloaded before the first autocommand.
---@param review gemini_bridge.Review
function M.copy_edits(review)
  local content = M.content(review)
  review.unloaded = content ~= review.proposed and content or nil
end

--- Returns the texts that the user has edited and that would be lost with this review: the current text, and earlier
--- ones that the CLI has replaced. After a decision: only the accepted text.
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

--- Returns the texts edited by the user that would be lost if Neovim exited now. This includes reviews that have ended,
--- but are still open because the user is typing, and decisions that were not delivered.
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
