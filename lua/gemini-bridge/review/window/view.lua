--- The two windows of a review: opened and closed without moving the focus.
local focus = require("gemini-bridge.editor.origin")
local layout = require("gemini-bridge.review.window.restore")
local place = require("gemini-bridge.review.window.place")
local window = require("gemini-bridge.editor.window")

local M = {}

---@class gemini_bridge.View
---@field tab integer
---@field original integer Window.
---@field proposal integer Window.
---@field buffers { original: integer, proposal: integer, copied: boolean } `copied`: the original goes, too.
---@field made integer[] Those of the two windows that did not exist before.
---@field borrowed? gemini_bridge.Borrowed The user's window that shows the original meanwhile.
---@field origin gemini_bridge.Origin Where the user was.
---@field visited? boolean The user has been led to it.
---@field left? boolean The user was in the proposal when Neovim closed it.
---@field before gemini_bridge.Layout
---@field shown gemini_bridge.Layout

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
    options = window.options(win),
    view = view.before.windows[win].view,
  }
  if view.borrowed.buf ~= view.buffers.original then
    window.show(win, view.buffers.original)
  end
  return win
end

--- Opens the window for the original.
---@param view gemini_bridge.View
---@param kind string
---@return integer win
local function open_original(view, kind)
  local buf = view.buffers.original
  if kind == "tab" or place.is_bound(view.tab) then
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
  win = vim.api.nvim_open_win(buf, false, { win = base.win, split = base.split })
  view.made = { win }
  if not base.ordinary then
    window.make_plain(win)
  end
  return win
end

--- Notes how it looks, once all is there that changes a window's size.
---@param view gemini_bridge.View
function M.note_layout(view)
  view.shown = layout.save(view.before.tab)
end

--- Scrolls both windows to the same place, except one that the user is in.
---@param view gemini_bridge.View
---@param original integer 1-based line.
---@param proposal integer 1-based line.
function M.scroll_to(view, original, proposal)
  local above = math.floor(vim.api.nvim_win_get_height(view.proposal) / 2)
  local topline = math.max(proposal - above, 1)
  local current = vim.api.nvim_get_current_win()
  for win, line in pairs({ [view.original] = original, [view.proposal] = proposal }) do
    if win ~= current and vim.api.nvim_win_is_valid(win) then
      local top = math.max(line - (proposal - topline), 1)
      window.set_view(win, { lnum = math.max(line, 1), col = 0, topline = top, topfill = 0, leftcol = 0 })
      -- Of these windows only: in another one the user may have moved since the review was shown.
      view.shown.windows[win] = view.shown.windows[win] and layout.window(win)
    end
  end
end

--- Shows a review. Raises, and leaves nothing behind, when Neovim has no room or allows no window now.
---@param buffers { original: integer, proposal: integer, copied: boolean }
---@param kind "auto"|"vertical"|"horizontal"|"tab"
---@return gemini_bridge.View
function M.open(buffers, kind)
  local tab = vim.api.nvim_get_current_tabpage()
  local view = { ---@type gemini_bridge.View
    tab = tab,
    origin = focus.here(),
    before = layout.save(tab),
    buffers = buffers,
    made = {},
  }
  view.shown = view.before
  local ok, problem = pcall(function()
    view.original = open_original(view, kind)
    local half = place.half(kind, view.original)
    view.proposal = vim.api.nvim_open_win(buffers.proposal, false, half)
    table.insert(view.made, 1, view.proposal)
    window.compare(view.original)
    window.compare(view.proposal)
  end)
  if not ok then
    M.close(view)
    error(problem, 0)
  end
  return view
end

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
  local before = view.before.windows[view.origin.win]
  for _, buf in ipairs({ view.borrowed and view.borrowed.buf or 0, before and before.buf or 0 }) do
    if buf > 0 and vim.api.nvim_buf_is_valid(buf) then
      return buf
    end
  end
  return vim.api.nvim_create_buf(true, false)
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
  return vim.api.nvim_open_win(replacement(view), false, { win = beside, split = "above" })
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
  window.stop_comparing(win)
  local tab = vim.api.nvim_win_get_tabpage(win)
  local is_ours = tab ~= view.before.tab and #vim.api.nvim_list_tabpages() > 1
  if is_ours or #place.windows(tab) > 1 then
    vim.api.nvim_win_close(win, true)
  else
    window.show(win, replacement(view))
  end
end

--- Closes what the review opened and leaves what has become the user's.
---@param view gemini_bridge.View
local function close_windows(view)
  local directory = vim.fn.getcwd()
  for _, win in ipairs(view.made) do
    if vim.api.nvim_win_is_valid(win) and shows_ours(view, win) then
      close_window(view, win)
    elseif vim.api.nvim_win_is_valid(win) then
      window.stop_comparing(win)
    end
  end
  -- Windows that the user has split off go only with a tab page that shows nothing else.
  for _, buf in ipairs({ view.buffers.proposal, view.buffers.copied and view.buffers.original or nil }) do
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      if #place.windows(vim.api.nvim_win_get_tabpage(win)) == 1 then
        close_window(view, win)
      else
        window.stop_comparing(win)
        window.show(win, replacement(view))
      end
    end
  end
  window.stay_in(directory)
end

--- Takes the review off the screen; everything is then as it was before, but for what the user changed meanwhile.
---@param view gemini_bridge.View
---@param decided? boolean The user decided, and is where they want to be.
function M.close(view, decided)
  local is_open = vim.api.nvim_tabpage_is_valid(view.before.tab)
  local ended = is_open and layout.save(view.before.tab) or view.shown
  local here = focus.here()
  if view.left or vim.list_contains(view.made, here.win) and shows_ours(view, here.win) then
    -- First, or closing the window would choose where the focus goes.
    focus.back(view.origin)
  elseif decided and here.win == view.origin.win and here.mode == "nt" then
    focus.resume(view.origin)
  end
  give_back(view)
  close_windows(view)
  if is_open then
    layout.restore(view.before, view.shown, ended)
  end
  scroll_back(view, here.win)
end

return M
