--- The reviews that are not decided, and which of them are on the screen.
local config = require("gemini-bridge.config")
local view = require("gemini-bridge.review.window.view")
local winbar = require("gemini-bridge.review.window.winbar")

local M = {}

---@class gemini_bridge.Review
---@field id integer
---@field filePath string As the CLI spells it.
---@field client string
---@field proposed string The text as it came.
---@field written table The state of the proposal's buffer when it was given that text.
---@field buffers { original: integer, proposal: integer, copied: boolean }
---@field hunks gemini_bridge.Hunk[]
---@field counted? integer[] The state of both texts for which the hunks were counted, which takes long for long ones.
---@field told? boolean GeminiDiffOpened has been fired.
---@field stale boolean File or buffer have changed since the proposal came.
---@field parked boolean The user has put something else into its window.
---@field view? gemini_bridge.View While it is on the screen.
---@field refresh fun() Brings hunks and winbar up to date.
---@field stop fun() Ends everything that watches it.

--- In the order in which they came.
---@type gemini_bridge.Review[]
local reviews = {}

---@return gemini_bridge.Review[]
function M.all()
  return reviews
end

---@param review gemini_bridge.Review
function M.add(review)
  reviews[#reviews + 1] = review
end

---@param review gemini_bridge.Review
---@return boolean removed False when it was decided before.
function M.remove(review)
  local count = #reviews
  reviews = vim.tbl_filter(function(other)
    return other ~= review
  end, reviews)
  return #reviews < count
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

--- Whether a review is shown in the current tab page. Two pairs of windows would be compared with each other.
local function is_taken()
  local tab = vim.api.nvim_get_current_tabpage()
  return config.get().diff.layout ~= "tab"
    and vim.iter(reviews):any(function(review)
      return review.view ~= nil and review.view.tab == tab
    end)
end

--- Tries again when Neovim allows windows again: in the command-line window and in expressions it does not.
local function retry()
  vim.api.nvim_create_autocmd({ "CmdwinLeave", "CmdlineLeave" }, {
    group = vim.api.nvim_create_augroup("gemini-bridge.pending", {}),
    once = true,
    callback = vim.schedule_wrap(M.show_next),
  })
end

--- Scrolls a review that is on the screen to what it changes, as far as that has been counted.
---@param review gemini_bridge.Review
function M.scroll_to_first_hunk(review)
  local first = review.hunks[1]
  if first and review.view and vim.api.nvim_win_is_valid(review.view.proposal) then
    view.scroll_to(review.view, first.original_from, first.from)
  end
end

---@param review gemini_bridge.Review
---@return boolean shown
function M.show(review)
  local ok, opened = false, nil
  if vim.fn.getcmdwintype() == "" then
    ok, opened = pcall(view.open, review.buffers, config.get().diff.layout)
    if not ok then
      -- Where windows are small there may be room for no more of them.
      ok, opened = pcall(view.open, review.buffers, "tab")
    end
  end
  if not ok then
    retry()
    return false
  end
  review.view, review.parked = opened, false
  if review.counted then
    review.refresh()
  else
    winbar.update(review)
  end
  view.note_layout(opened)
  M.scroll_to_first_hunk(review)
  return true
end

--- Shows reviews that wait, one in a tab page.
function M.show_next()
  for _, review in ipairs(reviews) do
    if not review.view and not review.parked and not is_taken() and not M.show(review) then
      return
    end
  end
end

return M
