--- The two windows of a review: opened and closed without moving the focus, by handle.
local config = require("gemini-bridge.config")
local layout = require("gemini-bridge.diff.layout")
local place = require("gemini-bridge.diff.place")

local M = {}

---@class gemini_bridge.View
---@field tab integer
---@field original integer Window.
---@field proposal integer Window.
---@field buffers integer[] Of the original and of the proposal.
---@field made integer[] The windows, of the two, that did not exist before.
---@field borrowed? { win: integer, buf: integer, options: table<string, any>, view: table }
---@field origin { win: integer, mode: string } Where the user was.
---@field before gemini_bridge.Layout
---@field settled gemini_bridge.Layout

--- Options of a window in a review. 'foldmethod' stays: "diff" would destroy manual folds.
local DIFF = { diff = true, scrollbind = true, cursorbind = true, foldenable = false, wrap = false }

---@param win integer
---@param options table<string, any>
local function set_local(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

---@param win integer
---@param names table<string, any>
local function get_local(win, names)
  local values = {}
  for name in pairs(names) do
    values[name] = vim.api.nvim_get_option_value(name, { win = win, scope = "local" })
  end
  return values
end

--- Options that a window split off from a terminal or a list should not inherit.
local PLAIN = {
  "number",
  "relativenumber",
  "signcolumn",
  "foldcolumn",
  "statuscolumn",
  "cursorline",
  "list",
  "spell",
  "winhighlight",
  "winfixbuf",
  "winfixwidth",
  "winfixheight",
}

---@param win integer
local function make_plain(win)
  for _, name in ipairs(PLAIN) do
    local value = vim.api.nvim_get_option_value(name, { scope = "global" })
    vim.api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

--- Shows a buffer in a window that need not have the focus. Quietly: to the user nothing is entered or left.
---@param win integer
---@param buf integer
local function show_buffer(win, buf)
  vim.api.nvim_win_call(win, function()
    vim.cmd(("noautocmd keepalt keepjumps hide buffer %d"):format(buf))
  end)
end

---@return { win: integer, mode: string }
function M.here()
  return { win = vim.api.nvim_get_current_win(), mode = vim.api.nvim_get_mode().mode }
end

---@param buf integer
---@return integer tab, integer win
local function open_tab(buf)
  local tab, win
  vim.api.nvim_win_call(vim.api.nvim_get_current_win(), function()
    vim.cmd(("noautocmd keepalt $tab sbuffer %d"):format(buf))
    tab, win = vim.api.nvim_get_current_tabpage(), vim.api.nvim_get_current_win()
  end)
  return tab, win
end

--- Shows a review. Raises when there is no room or Neovim allows no window now.
---@param original integer Buffer.
---@param proposal integer Buffer.
---@param tab integer
---@return gemini_bridge.View
function M.open(original, proposal, tab)
  local kind = config.get().diff.layout
  local view = {
    origin = M.here(),
    before = layout.save(tab),
    buffers = { original, proposal },
    made = {},
  }
  local win = kind ~= "tab" and not place.has_diff(tab) and place.borrow(tab, original) or nil
  if win then
    view.borrowed = {
      win = win,
      buf = vim.api.nvim_win_get_buf(win),
      options = get_local(win, DIFF),
      view = view.before.windows[win].view,
    }
    if view.borrowed.buf ~= original then
      show_buffer(win, original)
    end
  elseif kind == "tab" or place.has_diff(tab) then
    tab, win = open_tab(original)
    make_plain(win)
    view.made = { win }
  else
    local base = place.base(tab)
    win = vim.api.nvim_open_win(original, false, { win = base.win, split = base.split })
    view.made = { win }
    if not base.ordinary then
      make_plain(win)
    end
  end
  view.tab, view.original = tab, win
  local halves = place.halves(kind, win)
  halves.win = win
  view.proposal = vim.api.nvim_open_win(proposal, false, halves)
  table.insert(view.made, 1, view.proposal)
  set_local(view.original, DIFF)
  set_local(view.proposal, DIFF)
  view.settled = layout.save(tab)
  return view
end

---@param win integer
local function is_last(win)
  local tab = vim.api.nvim_win_get_tabpage(win)
  return #place.windows(tab) == 1
end

--- Where a window that cannot be closed goes.
---@param view gemini_bridge.View
---@return integer buf
local function fallback(view)
  local buf = view.borrowed and view.borrowed.buf
  return buf and vim.api.nvim_buf_is_valid(buf) and buf or vim.api.nvim_create_buf(true, false)
end

---@param view gemini_bridge.View
local function give_back(view)
  local borrowed = view.borrowed
  if not (borrowed and vim.api.nvim_win_is_valid(borrowed.win)) then
    return
  end
  set_local(borrowed.win, borrowed.options)
  if
    vim.api.nvim_win_get_buf(borrowed.win) == view.buffers[1] and vim.api.nvim_buf_is_valid(borrowed.buf)
  then
    if borrowed.buf ~= view.buffers[1] then
      show_buffer(borrowed.win, borrowed.buf)
      set_local(borrowed.win, borrowed.options)
      layout.set_view(borrowed.win, borrowed.view)
    end
  end
end

--- Closes what the review opened and leaves what has become the user's.
---@param view gemini_bridge.View
local function close_windows(view)
  for _, win in ipairs(view.made) do
    if vim.api.nvim_win_is_valid(win) then
      set_local(win, { diff = false, scrollbind = false, cursorbind = false })
      local ours = vim.list_contains(view.buffers, vim.api.nvim_win_get_buf(win))
      if ours and is_last(win) and view.tab == view.before.tab then
        show_buffer(win, fallback(view))
      elseif ours then
        vim.api.nvim_win_close(win, true)
      end
    end
  end
  for _, win in ipairs(vim.fn.win_findbuf(view.buffers[2])) do
    set_local(win, { diff = false, scrollbind = false, cursorbind = false })
    show_buffer(win, fallback(view))
  end
end

--- Takes the review off the screen; everything is then as it was before, but for what the user changed meanwhile.
---@param view gemini_bridge.View
function M.close(view)
  local ended = vim.api.nvim_tabpage_is_valid(view.tab) and layout.save(view.before.tab) or view.settled
  local left = vim.list_contains(view.made, vim.api.nvim_get_current_win())
  if left then
    if vim.startswith(vim.api.nvim_get_mode().mode, "i") then
      vim.cmd.stopinsert()
    end
    if vim.api.nvim_win_is_valid(view.origin.win) then
      vim.api.nvim_set_current_win(view.origin.win)
    end
  end
  give_back(view)
  close_windows(view)
  layout.restore(view.before, view.settled, ended)
  if left and vim.api.nvim_get_current_win() == view.origin.win and vim.startswith(view.origin.mode, "t") then
    vim.cmd.startinsert()
  end
end

return M
