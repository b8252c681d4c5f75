--- The two windows of a review, opened without moving the focus.
local compare = require("gemini-bridge.review.window.compare")
local leave = require("gemini-bridge.review.window.leave")
local origin = require("gemini-bridge.editor.origin")
local place = require("gemini-bridge.review.window.place")
local restore = require("gemini-bridge.review.window.restore")
local window = require("gemini-bridge.editor.window")

local M = {}

---@class gemini_bridge.View
---@field tab integer
---@field original? integer Window; none where the proposal is shown alone.
---@field proposal integer Window.
---@field inline boolean The proposal is shown alone, with what it removes.
---@field buffers gemini_bridge.ReviewBuffers
---@field made integer[] Those of the two windows that did not exist before.
---@field borrowed? gemini_bridge.Borrowed The user's window that shows the original meanwhile.
---@field origin integer Window in which the user was.
---@field visited? boolean The user has been led to it.
---@field arrive? fun() Ends the passage that began when Neovim closed the window that the user was in.
---@field before gemini_bridge.Layout
---@field shown gemini_bridge.Layout
---@field chosen table<integer, { width?: integer, height?: integer }> Sizes that the user gave their windows meanwhile.
---@field stop_sizes fun()

---@class gemini_bridge.Borrowed
---@field win integer
---@field buf integer What it showed.
---@field options table<string, any>
---@field view vim.fn.winsaveview.ret

---@param view gemini_bridge.View
---@param win integer
local function borrow(view, win)
  view.borrowed = {
    win = win,
    buf = vim.api.nvim_win_get_buf(win),
    options = compare.options(win),
    view = view.before.windows[win].view,
  }
  if view.borrowed.buf ~= view.buffers.original then
    window.show(win, view.buffers.original)
  end
  return win
end

--- Opens the window for the original.
---@param view gemini_bridge.View
---@param layout string
---@return integer win
local function open_original(view, layout)
  local buf = view.buffers.original
  if layout == "tab" or place.is_bound(view.tab) then
    local win
    view.tab, win = window.open_tab(buf)
    window.make_plain(win)
    view.made = { win }
    return win
  end
  local win = place.borrow(view.tab, buf)
  if win then
    return borrow(view, win)
  end
  local base = place.base(view.tab)
  win = window.open(buf, { win = base.win, split = base.split })
  view.made = { win }
  if not base.ordinary then
    window.make_plain(win)
  end
  return win
end

--- Opens the two windows.
---@param view gemini_bridge.View
---@param layout string
local function open_pair(view, layout)
  view.original = open_original(view, layout)
  view.proposal = window.open(view.buffers.proposal, place.half(layout, view.original))
  table.insert(view.made, 1, view.proposal)
  compare.start(view.original)
  compare.start(view.proposal)
end

--- Opens the proposal alone.
---@param view gemini_bridge.View
---@param layout string
local function open_alone(view, layout)
  local base = place.base(view.tab)
  if layout == "tab" then
    view.tab, view.proposal = window.open_tab(view.buffers.proposal)
  else
    view.proposal = window.open(view.buffers.proposal, place.half(layout, base.win))
  end
  view.made = { view.proposal }
  if layout == "tab" or not base.ordinary then
    window.make_plain(view.proposal)
  end
end

--- Shows a review. Raises, and leaves nothing behind, when there is no room.
---@param buffers gemini_bridge.ReviewBuffers
---@param layout "auto"|"vertical"|"horizontal"|"tab"|"inline"
---@return gemini_bridge.View
function M.open(buffers, layout)
  local tab = vim.api.nvim_get_current_tabpage()
  local view = { ---@type gemini_bridge.View
    tab = tab,
    origin = vim.api.nvim_get_current_win(),
    before = restore.save(tab),
    buffers = buffers,
    made = {},
    inline = layout == "inline" and not buffers.new,
    chosen = {},
    stop_sizes = function() end,
  }
  view.shown = view.before
  local arrive = origin.pass()
  local open = (buffers.new or layout == "inline") and open_alone or open_pair
  local ok, problem = pcall(open, view, layout)
  arrive()
  if not ok then
    leave.close(view)
    error(problem, 0)
  end
  return view
end

--- Notes how it looks, once all is there that changes a window's size.
---@param view gemini_bridge.View
function M.note_layout(view)
  view.shown = restore.save(view.before.tab)
  view.stop_sizes()
  view.chosen, view.stop_sizes = restore.follow_sizes(view.shown, function(win)
    return win == view.original or win == view.proposal
  end)
end

--- Scrolls both windows to the same place, except one that the user is in.
---@param view gemini_bridge.View
---@param original integer 1-based line.
---@param proposal integer 1-based line.
function M.scroll_to(view, original, proposal)
  if not vim.api.nvim_win_is_valid(view.proposal) then
    return
  end
  local above = math.floor(vim.api.nvim_win_get_height(view.proposal) / 2)
  local topline = math.max(proposal - above, 1)
  local current = vim.api.nvim_get_current_win()
  for win, line in pairs({ [view.original or 0] = original, [view.proposal] = proposal }) do
    if win > 0 and win ~= current and vim.api.nvim_win_is_valid(win) then
      local top = math.max(line - (proposal - topline), 1)
      window.set_view(win, { lnum = math.max(line, 1), col = 0, topline = top, topfill = 0, leftcol = 0 })
      -- Of these windows only: in another one the user may have moved since the review was shown.
      view.shown.windows[win] = view.shown.windows[win] and restore.window(win)
    end
  end
end

--- The file's own window follows the proposal's cursor: where the user leaves it counts.
---@param view gemini_bridge.View
function M.note_borrowed(view)
  local borrowed = view.borrowed
  if
    borrowed
    and borrowed.win == vim.api.nvim_get_current_win()
    and borrowed.buf == view.buffers.original
  then
    borrowed.view = window.view(borrowed.win)
  end
end

--- Takes what a file type's plugins have set in the windows back to what a comparison needs.
---@param view gemini_bridge.View
function M.align(view)
  if not view.original then
    return
  end
  for win, buf in pairs({ [view.original] = view.buffers.original, [view.proposal] = view.buffers.proposal }) do
    if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf then
      compare.insist(win)
    end
  end
end

return M
