--- Shows and hides reviews. Each tab page shows at most one review. Other reviews wait until there is room.
local config = require("gemini-bridge.config")
local hunk_updates = require("gemini-bridge.review.hunk_updates")
local choose_window = require("gemini-bridge.review.window.choose_window")
local close_windows = require("gemini-bridge.review.window.close_windows")
local notify = require("gemini-bridge.notify")
local focus = require("gemini-bridge.editor.focus_and_mode")
local old_lines = require("gemini-bridge.difference.old_lines")
local path = require("gemini-bridge.disk.path")
local proposal = require("gemini-bridge.review.proposal")
local records = require("gemini-bridge.review.records")
local scheduler = require("gemini-bridge.editor.scheduler")
local open_windows = require("gemini-bridge.review.window.open_windows")
local winbar = require("gemini-bridge.review.window.winbar")

local M = {}

--- Closes the windows of a review.
---@param review gemini_bridge.Review
---@return boolean was_inside True if one of these windows had the focus.
function M.close(review)
  local shown, was_inside = review.view, false
  review.view = nil
  if shown then
    scheduler.attempt(function()
      was_inside = close_windows.close(shown)
    end)
  end
  return was_inside
end

--- Hides a pending review. |:GeminiReview| shows the review again.
---@param review gemini_bridge.Review
function M.park(review)
  records.move(review, "parked")
  M.close(review)
end

--- Returns the windows of a review, or nil. Closing the windows by |:noautocmd| fires no event, so this function then
--- also records that the review is hidden.
---@param review gemini_bridge.Review
---@return gemini_bridge.View?
local function windows(review)
  if review.view and #vim.fn.win_findbuf(review.buffers.proposal) == 0 then
    M.park(review)
  end
  return review.view
end

--- Returns the tab page for a review. With the layout `tab`, the review opens a new tab page from there.
---@param review gemini_bridge.Review
---@return integer
local function tab_of(review)
  if config.get().diff.layout == "tab" then
    return vim.api.nvim_get_current_tabpage()
  end
  return choose_window.tab(review.buffers and review.buffers.original or -1, review.client)
end

--- Returns true if the tab page for a review already shows a review. The second review must wait, because Neovim would
--- compare the windows of both reviews with each other. With the layout `tab`, always returns false, because each
--- review opens a new tab page.
---@param review gemini_bridge.Review
local function is_taken(review)
  local tab = tab_of(review)
  return config.get().diff.layout ~= "tab"
    and vim.iter(records.pending()):any(function(other)
      local shown = windows(other)
      return shown ~= nil and shown.tab == tab
    end)
end

--- Scrolls the windows of a review to its first hunk. Does nothing before the hunks are counted.
---@param review gemini_bridge.Review
function M.scroll_to_first_hunk(review)
  local first, view = review.hunks[1], review.view
  if not first or not view then
    return
  end
  open_windows.scroll_to(view, first.old, first.line)
  local win = view.proposal
  if view.inline and win ~= vim.api.nvim_get_current_win() and vim.api.nvim_win_is_valid(win) then
    old_lines.scroll_to(win, first)
  end
end

--- Opens the windows of a review.
---@param review gemini_bridge.Review
local function show(review)
  if not review.buffers or not proposal.is_loaded(review.buffers) then
    review.make()
  end
  proposal.replace_wiped_original(review)
  local tab = tab_of(review)
  local ok, opened = pcall(open_windows.open, review.buffers, config.get().diff.layout, tab)
  if not ok then
    -- Tries a new tab page, because the tab page may have no room.
    ok, opened = pcall(open_windows.open, review.buffers, "tab", tab)
  end
  if not ok then
    local name, reason = path.display(review.filePath, 24), scheduler.reason(opened)
    notify(("The review of %s cannot be shown (%s). :GeminiReview tries again."):format(name, reason), "warn")
    return
  end
  review.view = opened
  records.move(review, "shown")
  winbar.update(review)
  open_windows.note_layout(opened)
  M.scroll_to_first_hunk(review)
end

--- Shows all waiting reviews for which their tab page has room.
function M.show_waiting()
  scheduler.now(function()
    for _, review in ipairs(records.pending()) do
      windows(review)
      if review.state == "waiting" and not is_taken(review) then
        scheduler.attempt(show, review)
      end
    end
    for _, review in ipairs(records.pending()) do
      winbar.update(review)
    end
  end)
end

--- Moves the focus to the proposal of a review. Opens the windows first if necessary.
---@param review gemini_bridge.Review
function M.enter(review)
  scheduler.now(function()
    if not records.is_pending(review) then
      return
    end
    if not windows(review) then
      show(review)
    end
    local shown, here = review.view, vim.api.nvim_get_current_win()
    if not shown or here == shown.proposal then
      return
    end
    -- The user may have split the proposal window and closed the first half. Uses the other half then.
    local win = vim.api.nvim_win_is_valid(shown.proposal) and shown.proposal
      or vim.fn.win_findbuf(review.buffers.proposal)[1]
    if not vim.list_contains(shown.made, here) then
      shown.origin = here
    end
    focus.stay_in(win)
    hunk_updates.update(review)
    local first = review.hunks[1]
    if first and not shown.visited then
      vim.api.nvim_win_set_cursor(win, { first.first, 0 })
    end
    shown.visited = true
  end)
end

return M
