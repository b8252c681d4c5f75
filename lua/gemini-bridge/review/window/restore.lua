--- What a tab page looked like before a review, and how to make it look so again.
local place = require("gemini-bridge.review.window.place")
local window = require("gemini-bridge.editor.window")

local M = {}

---@class gemini_bridge.Layout
---@field tab integer
---@field tree table |winlayout()|
---@field screen integer[] Columns and lines.
---@field windows table<integer, gemini_bridge.LayoutWindow>

---@class gemini_bridge.LayoutWindow
---@field buf integer
---@field width integer
---@field height integer
---@field view vim.fn.winsaveview.ret

---@param tab integer
local function tree(tab)
  return vim.fn.winlayout(vim.api.nvim_tabpage_get_number(tab))
end

---@param win integer
---@return gemini_bridge.LayoutWindow
function M.window(win)
  return {
    buf = vim.api.nvim_win_get_buf(win),
    width = vim.api.nvim_win_get_width(win),
    height = vim.api.nvim_win_get_height(win),
    view = window.view(win),
  }
end

---@param tab integer
---@return gemini_bridge.Layout
function M.save(tab)
  local layout = { tab = tab, tree = tree(tab), screen = { vim.o.columns, vim.o.lines }, windows = {} }
  for _, win in ipairs(place.windows(tab)) do
    layout.windows[win] = M.window(win)
  end
  return layout
end

--- A size that has not changed while the review was shown is again what it was before; others are the user's choice.
---@param before gemini_bridge.Layout
---@param shown gemini_bridge.Layout
---@param ended gemini_bridge.Layout
local function restore_sizes(before, shown, ended)
  local order = place.windows(before.tab)
  local function size(win, dimension)
    local was, is = shown.windows[win], ended.windows[win]
    local chosen = was and is and was[dimension] ~= is[dimension]
    return chosen and is[dimension] or before.windows[win][dimension]
  end
  -- Within the tab page, or the frames of another are measured; twice, as one size moves the next.
  vim.api.nvim_win_call(order[1], function()
    for _ = 1, 2 do
      for _, win in ipairs(order) do
        vim.api.nvim_win_set_width(win, size(win, "width"))
        vim.api.nvim_win_set_height(win, size(win, "height"))
      end
    end
  end)
end

--- Gives every window its size and its view back, except where the user has changed them meanwhile.
---@param before gemini_bridge.Layout
---@param shown gemini_bridge.Layout How it looked once the review was shown.
---@param ended gemini_bridge.Layout How it looked when the review was decided.
function M.restore(before, shown, ended)
  if not vim.api.nvim_tabpage_is_valid(before.tab) or not vim.deep_equal(tree(before.tab), before.tree) then
    return
  end
  if vim.deep_equal(ended.screen, before.screen) then
    restore_sizes(before, shown, ended)
  end
  for win, was in pairs(before.windows) do
    local at_first, at_last = shown.windows[win], ended.windows[win]
    local same = at_first and at_last and vim.deep_equal(at_first.view, at_last.view)
    local is_terminal = vim.bo[was.buf].buftype == "terminal"
    if same and vim.api.nvim_win_get_buf(win) == was.buf and not is_terminal then
      window.set_view(win, was.view)
    end
  end
end

return M
