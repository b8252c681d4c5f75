--- The reviews that are not decided, in the order in which they came, and which of them is shown next.
local config = require("gemini-bridge.config")
local inline = require("gemini-bridge.review.inline")
local leave = require("gemini-bridge.review.window.leave")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local proposal = require("gemini-bridge.review.proposal")
local safely = require("gemini-bridge.editor.safely")
local view = require("gemini-bridge.review.window.view")
local winbar = require("gemini-bridge.review.window.winbar")

local M = {}

---@class gemini_bridge.Review
---@field id integer
---@field filePath string As the CLI spells it.
---@field client string
---@field label string What its CLI is known as.
---@field proposed string The text as it came.
---@field text_id string What the host knows it by.
---@field group integer Autocommands that end with it.
---@field buffers? gemini_bridge.ReviewBuffers Once buffers could be made.
---@field written? table The state of the proposal's buffer when it was given the text as it came.
---@field shown? { buf: integer, state: table, bytes: string, was_modified: boolean } First text of the user's buffer.
---@field version? string Of the file on disk when the review opened.
---@field is_replaced? boolean The CLI has put another text in the place of one that the user had seen.
---@field edited? string Text of a proposal whose buffer was deleted.
---@field hunks gemini_bridge.Hunk[]
---@field counted? integer[] The state of both texts for which the hunks were counted, which takes long for long ones.
---@field told? boolean GeminiDiffOpened has been fired.
---@field stale boolean File or buffer have changed since the proposal came.
---@field parked boolean The user has put something else into its window.
---@field view? gemini_bridge.View While it is on the screen.
---@field stops fun()[] What ends with it.
---@field position? { number: integer, count: integer } While several are to be decided: "2 of 5".
---@field dismissed fun(review: gemini_bridge.Review, place: integer, in_series: boolean) Once it is off the screen.

---@type gemini_bridge.Review[]
local reviews = {}
--- Number of reviews that have ended since the queue was empty.
local ended = 0

---@return gemini_bridge.Review[]
function M.all()
  return reviews
end

--- Numbers the reviews, and shows the numbers above those that are on the screen.
local function number()
  local count = ended + #reviews
  for index, review in ipairs(reviews) do
    review.position = count > 1 and { number = ended + index, count = count } or nil
  end
  safely.run(function()
    for _, review in ipairs(reviews) do
      winbar.update(review)
    end
  end)
end

---@param review gemini_bridge.Review
function M.add(review)
  reviews[#reviews + 1] = review
  number()
end

---@param review gemini_bridge.Review
---@return integer? place It had in the queue, 1-based. nil when it was removed before.
function M.remove(review)
  local place = vim.iter(ipairs(reviews)):find(function(_, other)
    return other == review
  end)
  if place then
    -- A copy: others iterate over the list while reviews end.
    reviews = vim.list_slice(reviews)
    table.remove(reviews, place)
    ended = #reviews == 0 and 0 or ended + 1
    number()
  end
  return place
end

---@param review gemini_bridge.Review
---@return boolean
function M.has(review)
  return vim.list_contains(reviews, review)
end

---@param id integer
---@return gemini_bridge.Review?
function M.get(id)
  return vim.iter(reviews):find(function(review)
    return review.id == id
  end)
end

--- Takes a review off the screen, which stays pending. |:GeminiReview| brings it back.
---@param review gemini_bridge.Review
function M.park(review)
  review.parked = true
  if review.view then
    safely.attempt(leave.close, review.view)
    review.view = nil
  end
end

--- The windows of a review while it is on the screen. A window may close without an event, as under |:noautocmd|.
---@param review gemini_bridge.Review
---@return gemini_bridge.View?
function M.view(review)
  if review.view and #vim.fn.win_findbuf(review.buffers.proposal) == 0 then
    M.park(review)
  end
  return review.view
end

--- Whether a review is shown in the current tab page. Two pairs of windows would be compared with each other.
local function is_taken()
  local tab = vim.api.nvim_get_current_tabpage()
  return config.get().diff.layout ~= "tab"
    and vim.iter(reviews):any(function(review)
      local shown = M.view(review)
      return shown ~= nil and shown.tab == tab
    end)
end

--- Puts a review on the screen. Not while windows must not be touched, see |safely.run()|.
---@param review gemini_bridge.Review
---@return boolean shown
function M.show(review)
  if not review.buffers then
    return false
  end
  proposal.mend(review)
  local ok, opened = pcall(view.open, review.buffers, config.get().diff.layout)
  if not ok then
    -- Where windows are small there may be room for no more of them.
    ok, opened = pcall(view.open, review.buffers, "tab")
  end
  if not ok then
    notify(("The review of %s cannot be shown: %s"):format(path.display(review.filePath, 24), opened), "warn")
    return false
  end
  review.view, review.parked = opened, false
  winbar.update(review)
  view.note_layout(opened)
  M.scroll_to_first_hunk(review)
  return true
end

--- Scrolls a review that is on the screen to what it changes, as far as that has been counted.
---@param review gemini_bridge.Review
function M.scroll_to_first_hunk(review)
  local first = review.hunks[1]
  if first and review.view then
    view.scroll_to(review.view, first.original_from, first.from)
    inline.scroll_to_first_hunk(review)
  end
end

local function show_waiting()
  for _, review in ipairs(reviews) do
    if not M.view(review) and not review.parked and not is_taken() then
      safely.attempt(M.show, review)
    end
  end
end

--- Shows reviews that wait, one in a tab page, as soon as windows may be touched.
function M.show_next()
  safely.run(show_waiting)
end

return M
