--- Opens the windows of a review without moving the focus.
local close_windows = require("gemini-bridge.review.window.close_windows")
local focus = require("gemini-bridge.editor.focus_and_mode")
local choose_window = require("gemini-bridge.review.window.choose_window")
local restore_layout = require("gemini-bridge.review.window.restore_layout")
local side_by_side = require("gemini-bridge.difference.side_by_side")
local window = require("gemini-bridge.editor.window")

local M = {}

---@class gemini_bridge.View
---@field tab integer
---@field original? integer Window of the original text. nil if the proposal is shown alone.
---@field proposal integer Window of the proposal.
---@field are_halves? boolean True if both windows had the same size before the last change of the screen size.
---@field inline boolean True if the proposal is shown alone, with removed lines as virtual lines.
---@field buffers gemini_bridge.ReviewBuffers
---@field made integer[] Windows that the review has opened.
---@field borrowed? gemini_bridge.Borrowed Window of the user that shows the original text during the review.
---@field origin integer Window that had the focus before the review, in its tab page or where the user came from.
---@field visited? boolean True if a window of the review had the focus at least once.
---@field end_move? fun() Ends the focus change that began when the user closed the proposal window.
---@field before gemini_bridge.Layout Layout before the review.
---@field shown gemini_bridge.Layout Layout right after the review was shown.
---@field chosen table<integer, { width?: integer, height?: integer }> Window sizes set by the user during the review.
---@field stop_sizes fun() Stops recording window sizes.
---@field show_lines fun() Shows virtual lines in the original text again.

---@class gemini_bridge.Borrowed
---@field win integer
---@field buf integer Buffer in this window before the review.
---@field options table<string, any> Window options before the review.
---@field view vim.fn.winsaveview.ret Scroll position before the review.

---@param view gemini_bridge.View
---@param win integer
local function borrow(view, win)
  view.borrowed = {
    win = win,
    buf = vim.api.nvim_win_get_buf(win),
    options = vim.tbl_extend("error", side_by_side.options(win), window.options(win, { winbar = "" })),
    view = view.before.windows[win].view,
  }
  if view.borrowed.buf ~= view.buffers.original then
    window.show(win, view.buffers.original)
  end
  return win
end

--- Shows the original text in a window of the user or in a new window.
---@param view gemini_bridge.View
---@param layout string
---@return integer win
local function open_original(view, layout)
  local buf = view.buffers.original
  if layout == "tab" or choose_window.is_bound(view.tab) then
    local win
    view.tab, win = window.open_tab(buf)
    window.make_plain(win)
    view.made = { win }
    return win
  end
  local win = choose_window.borrow(view.tab, buf)
  if win then
    return borrow(view, win)
  end
  local base = choose_window.base(view.tab)
  win = window.open(buf, { win = base.win, split = base.split })
  view.made = { win }
  if not base.ordinary then
    window.make_plain(win)
  end
  return win
end

--- Opens one window for the original text and one window for the proposal.
---@param view gemini_bridge.View
---@param layout string
local function open_pair(view, layout)
  view.original = open_original(view, layout)
  view.proposal = window.open(view.buffers.proposal, choose_window.half(layout, view.original))
  table.insert(view.made, 1, view.proposal)
  for _, win in ipairs({ view.original, view.proposal }) do
    side_by_side.start(win)
    window.set(win, { winbar = "" })
  end
  view.show_lines = side_by_side.hide_virtual_lines(view.buffers.original)
end

--- Opens the proposal in one window, without a window for the original text.
---@param view gemini_bridge.View
---@param layout string
local function open_alone(view, layout)
  local base = choose_window.base(view.tab)
  if layout == "tab" then
    view.tab, view.proposal = window.open_tab(view.buffers.proposal)
  else
    view.proposal = window.open(view.buffers.proposal, choose_window.half(layout, base.win))
  end
  view.made = { view.proposal }
  if layout == "tab" or not base.ordinary then
    window.make_plain(view.proposal)
  end
  -- A closed fold would hide the proposal. Neovim 0.10 would hang if removed lines are shown above a closed fold.
  window.set(view.proposal, { foldenable = false })
end

--- Shows a review. Shows texts with very long lines in one window. If there is no room, closes the windows that were
--- already opened, and raises an error.
---@param buffers gemini_bridge.ReviewBuffers
---@param layout "auto"|"vertical"|"horizontal"|"tab"|"inline"
---@param tab integer Tab page of the user in which, or from which, the review opens.
---@return gemini_bridge.View
function M.open(buffers, layout, tab)
  local directory = vim.fn.getcwd()
  layout = side_by_side.is_possible(buffers.original, buffers.proposal) and layout or "inline"
  local view = { ---@type gemini_bridge.View
    tab = tab,
    origin = vim.api.nvim_tabpage_get_win(tab),
    before = restore_layout.save(tab),
    buffers = buffers,
    made = {},
    inline = layout == "inline" and not buffers.new,
    chosen = {},
    stop_sizes = function() end,
    show_lines = function() end,
  }
  view.shown = view.before
  local end_move = focus.begin_move()
  local open = (buffers.new or layout == "inline") and open_alone or open_pair
  local ok, problem = pcall(open, view, layout)
  window.stay_in(directory)
  end_move()
  if not ok then
    close_windows.close(view)
    error(problem, 0)
  end
  -- Resets 'eventignorewin'. With the value "all", the autocommands for `:w` and `:q` would not run.
  if vim.fn.exists("+eventignorewin") == 1 then
    window.set(view.proposal, { eventignorewin = "" })
  end
  return view
end

--- Returns the difference between the sizes of both windows, and the function that moves the line between them. Returns
--- nil if the proposal is not next to the original text.
---@param view gemini_bridge.View
---@return integer? cells, fun(win: integer, offset: integer)? move
local function imbalance(view)
  local first, second = view.original, view.proposal
  if not first or not vim.api.nvim_win_is_valid(first) or not vim.api.nvim_win_is_valid(second) then
    return
  end
  local a, b = vim.api.nvim_win_get_position(first), vim.api.nvim_win_get_position(second)
  if a[1] == b[1] and b[2] == a[2] + vim.api.nvim_win_get_width(first) + 1 then
    return vim.api.nvim_win_get_width(second) - vim.api.nvim_win_get_width(first), vim.fn.win_move_separator
  elseif a[2] == b[2] and b[1] > a[1] then
    return vim.api.nvim_win_get_height(second) - vim.api.nvim_win_get_height(first),
      vim.fn.win_move_statusline
  end
end

--- Records whether both windows are halves. Called after the user or a plugin has resized windows.
---@param view gemini_bridge.View
function M.note_halves(view)
  local cells = imbalance(view)
  view.are_halves = cells ~= nil and math.abs(cells) <= 1
end

--- Makes both windows halves again after the screen was resized, because Neovim resizes only one of them. Keeps sizes
--- that the user has chosen.
---@param view gemini_bridge.View
function M.halve(view)
  local cells, move = imbalance(view)
  if view.are_halves and cells and move and view.tab == vim.api.nvim_get_current_tabpage() then
    move(view.original, math.floor(cells / 2))
  end
end

--- Records the layout with the windows of the review. From then on, records which windows the user resizes. Must be
--- called after all window sizes are set.
---@param view gemini_bridge.View
function M.note_layout(view)
  view.shown = restore_layout.save(view.before.tab)
  view.stop_sizes()
  M.note_halves(view)
  view.chosen, view.stop_sizes = restore_layout.follow_sizes(view.shown, function(win)
    return win == view.original or win == view.proposal
  end)
end

--- Scrolls both windows of a review to corresponding lines. Does not scroll a window that has the focus, or the window
--- behind a float that has the focus: when the float closes, the user's next keys reach the cursor of that window.
---@param view gemini_bridge.View
---@param original integer Line in the original text, 1-based.
---@param proposal integer Line in the proposal, 1-based.
function M.scroll_to(view, original, proposal)
  if not vim.api.nvim_win_is_valid(view.proposal) then
    return
  end
  local above = math.floor(vim.api.nvim_win_get_height(view.proposal) / 2)
  local topline = math.max(proposal - above, 1)
  local in_use = choose_window.in_use(view.before.tab)
  in_use[view.proposal] = view.proposal == vim.api.nvim_get_current_win() or nil
  for win, line in pairs({ [view.original or 0] = original, [view.proposal] = proposal }) do
    if win > 0 and not in_use[win] and vim.api.nvim_win_is_valid(win) then
      local top = math.max(line - (proposal - topline), 1)
      window.set_view(win, { lnum = math.max(line, 1), col = 0, topline = top, topfill = 0, leftcol = 0 })
      -- Records the new scroll position of this window only, because the user may have scrolled other windows.
      view.shown.windows[win] = view.shown.windows[win] and restore_layout.window(win)
    end
  end
end

--- Records the scroll position of the user's window of the original text when the user leaves that window. Afterwards,
--- the window scrolls with the proposal.
---@param view gemini_bridge.View
function M.note_borrowed(view)
  local borrowed = view.borrowed
  if
    borrowed
    and borrowed.win == vim.api.nvim_get_current_win()
    and borrowed.buf == view.buffers.original
  then
    local left = window.view(borrowed.win)
    local shown = view.shown.windows[borrowed.win]
    -- Neovim scrolls a window that becomes smaller. If the user has not scrolled it since, keeps the earlier position.
    if shown and left.topline == shown.view.topline then
      left.topline = borrowed.view.topline
    end
    left.topfill = borrowed.view.topfill -- filler lines exist only in diff mode
    borrowed.view = left
  end
end

--- Sets the diff options again after file type plugins have run.
---@param view gemini_bridge.View
function M.align(view)
  if not view.original then
    return
  end
  for win, buf in pairs({ [view.original] = view.buffers.original, [view.proposal] = view.buffers.proposal }) do
    if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf then
      side_by_side.start(win)
    end
  end
end

return M
