--- Takes a review off the screen. Every step runs, whatever fails in another.
local compare = require("gemini-bridge.review.window.compare")
local origin = require("gemini-bridge.editor.origin")
local place = require("gemini-bridge.review.window.place")
local restore = require("gemini-bridge.review.window.restore")
local scheduler = require("gemini-bridge.editor.scheduler")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Puts back what a borrowed window showed, unless the user has put something else there.
---@param view gemini_bridge.View
local function give_back(view)
  local borrowed = view.borrowed
  if not (borrowed and vim.api.nvim_win_is_valid(borrowed.win)) then
    return
  end
  window.set(borrowed.win, borrowed.options)
  local shown = vim.api.nvim_win_get_buf(borrowed.win)
  if shown == view.buffers.original and shown ~= borrowed.buf and vim.api.nvim_buf_is_valid(borrowed.buf) then
    window.show(borrowed.win, borrowed.buf)
    window.set(borrowed.win, borrowed.options)
  end
end

--- Takes the options of the comparison from a window that is not part of it.
---@param borrowed? gemini_bridge.Borrowed
---@param win integer
function M.make_ordinary(borrowed, win)
  if borrowed then
    window.set(win, borrowed.options)
  else
    compare.stop(win)
  end
end

--- Gives up the window of the original after the user has put another buffer into it. Neovim keeps the options of a
--- comparison for the time when the file is shown there again.
---@param view gemini_bridge.View
function M.release_original(view)
  local win = view.original --[[@as integer]]
  local borrowed = view.borrowed
  M.make_ordinary(borrowed, win)
  view.original, view.borrowed = nil, nil
  if vim.api.nvim_win_is_valid(view.proposal) then
    compare.stop(view.proposal)
  end
  vim.api.nvim_create_autocmd("BufWinEnter", {
    buffer = view.buffers.original,
    callback = function()
      if not vim.api.nvim_win_is_valid(win) then
        return true
      elseif vim.api.nvim_get_current_win() == win then
        M.make_ordinary(borrowed, win)
        return true
      end
    end,
  })
end

--- Scrolls a borrowed window back, for the proposal has taken it along; not when the user is in it.
---@param view gemini_bridge.View
---@param here integer The window that has the focus.
local function scroll_back(view, here)
  local borrowed = view.borrowed
  if
    borrowed
    and borrowed.win ~= here
    and vim.api.nvim_win_is_valid(borrowed.win)
    and vim.api.nvim_win_get_buf(borrowed.win) == borrowed.buf
  then
    window.set_view(borrowed.win, borrowed.view)
  end
end

--- What a window that must not be closed shows from now on.
---@param view gemini_bridge.View
---@return integer buf
local function replacement(view)
  local before = view.before.windows[view.origin]
  for _, buf in ipairs({ view.borrowed and view.borrowed.buf or 0, before and before.buf or 0 }) do
    if buf > 0 and vim.api.nvim_buf_is_valid(buf) then
      return buf
    end
  end
  return window.create_buffer(true, false)
end

--- Whether Neovim would end with the proposal's window.
---@param view gemini_bridge.View
---@return boolean
function M.is_alone(view)
  local tabs = vim.api.nvim_list_tabpages()
  return #tabs == 1 and vim.deep_equal(place.windows(tabs[1]), vim.fn.win_findbuf(view.buffers.proposal))
end

--- Opens a window for what comes after the review.
---@param view gemini_bridge.View
---@return integer win
function M.add_window(view)
  local beside = vim.fn.win_findbuf(view.buffers.proposal)[1]
  return window.open(replacement(view), { win = beside, split = "above" })
end

---@param view gemini_bridge.View
---@param win integer
local function shows_ours(view, win)
  local buf = vim.api.nvim_win_get_buf(win)
  return buf == view.buffers.original or buf == view.buffers.proposal
end

--- Closes a window of the review, unless it is the last of a tab page that was there before.
---@param view gemini_bridge.View
---@param win integer
local function close_window(view, win)
  compare.stop(win)
  local tab = vim.api.nvim_win_get_tabpage(win)
  local is_ours = tab ~= view.before.tab and #vim.api.nvim_list_tabpages() > 1
  if is_ours or #place.windows(tab) > 1 then
    window.close(win)
  else
    window.show(win, replacement(view))
  end
end

--- Closes what the review opened and leaves what has become the user's.
---@param view gemini_bridge.View
local function close_windows(view)
  for _, win in ipairs(view.made) do
    if vim.api.nvim_win_is_valid(win) and shows_ours(view, win) then
      scheduler.attempt(close_window, view, win)
    elseif vim.api.nvim_win_is_valid(win) then
      scheduler.attempt(compare.stop, win)
    end
  end
  -- Windows that the user has split off go only with a tab page that shows nothing else.
  for _, buf in ipairs({ view.buffers.proposal, view.buffers.copied and view.buffers.original or nil }) do
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      if #place.windows(vim.api.nvim_win_get_tabpage(win)) == 1 then
        scheduler.attempt(close_window, view, win)
      else
        scheduler.attempt(compare.stop, win)
        scheduler.attempt(window.show, win, replacement(view))
      end
    end
  end
end

--- Closes the windows of a review and restores the layout, except what the user has changed meanwhile. A user in one of
--- these windows goes back to the window before, in Normal mode. May run twice.
---@param view gemini_bridge.View
---@return boolean was_inside Whether the user was in one of the windows.
function M.close(view)
  view.stop_sizes()
  local is_open = vim.api.nvim_tabpage_is_valid(view.before.tab)
  local ended = is_open and restore.save(view.before.tab) or view.shown
  local here = vim.api.nvim_get_current_win()
  local was_inside = view.arrive ~= nil or vim.list_contains(view.made, here) and shows_ours(view, here)
  local arrive = origin.pass()
  if was_inside and vim.api.nvim_win_is_valid(view.origin) then
    -- First, or closing the window would choose where the focus goes.
    scheduler.attempt(origin.go, view.origin)
  end
  local directory = vim.fn.getcwd()
  scheduler.attempt(give_back, view)
  close_windows(view)
  scheduler.attempt(window.stay_in, directory)
  if is_open then
    scheduler.attempt(restore.restore, view.before, view.shown, ended, view.chosen)
  end
  scheduler.attempt(scroll_back, view, here)
  arrive()
  if view.arrive then
    view.arrive()
  end
  return was_inside
end

return M
