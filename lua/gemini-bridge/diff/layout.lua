--- What a tab page looked like before a review, and how to make it look so again.
local place = require("gemini-bridge.diff.place")

local M = {}

---@class gemini_bridge.Layout
---@field tab integer
---@field tree table |winlayout()|
---@field screen integer[] Columns and lines.
---@field windows table<integer, { buf: integer, width: integer, height: integer, view: vim.fn.winsaveview.ret }>

---@param tab integer
local function tree(tab)
  return vim.fn.winlayout(vim.api.nvim_tabpage_get_number(tab))
end

---@param tab integer
---@return gemini_bridge.Layout
function M.save(tab)
  local layout = { tab = tab, tree = tree(tab), screen = { vim.o.columns, vim.o.lines }, windows = {} }
  for _, win in ipairs(place.windows(tab)) do
    layout.windows[win] = {
      buf = vim.api.nvim_win_get_buf(win),
      width = vim.api.nvim_win_get_width(win),
      height = vim.api.nvim_win_get_height(win),
      view = vim.api.nvim_win_call(win, vim.fn.winsaveview),
    }
  end
  return layout
end

--- Gives every window its size back, if the user has left the layout as it was.
---@param layout gemini_bridge.Layout
---@param settled gemini_bridge.Layout How it looked once the review was shown.
---@param ended gemini_bridge.Layout How it looked when the review was decided.
function M.restore(layout, settled, ended)
  if not (vim.api.nvim_tabpage_is_valid(layout.tab) and vim.deep_equal(tree(layout.tab), layout.tree)) then
    return
  end
  local function resized(win)
    local was, is = settled.windows[win], ended.windows[win]
    return was and is and (was.width ~= is.width or was.height ~= is.height)
  end
  local untouched = vim.deep_equal({ vim.o.columns, vim.o.lines }, layout.screen)
    and not vim.iter(vim.tbl_keys(layout.windows)):any(resized)
  local order = place.windows(layout.tab)
  -- Within the tab page, or the frames of another are measured; twice, as one size moves the next.
  vim.api.nvim_win_call(order[1], function()
    for _ = 1, untouched and 2 or 0 do
      for _, win in ipairs(order) do
        vim.api.nvim_win_set_width(win, layout.windows[win].width)
        vim.api.nvim_win_set_height(win, layout.windows[win].height)
      end
    end
  end)
  for win, before in pairs(layout.windows) do
    local same_buffer = vim.api.nvim_win_get_buf(win) == before.buf
    local was, is = settled.windows[win], ended.windows[win]
    if
      same_buffer
      and was
      and is
      and vim.deep_equal(was.view, is.view)
      and vim.bo[before.buf].buftype ~= "terminal"
    then
      M.set_view(win, before.view)
    end
  end
end

---@param win integer
---@param view vim.fn.winsaveview.ret
function M.set_view(win, view)
  vim.api.nvim_win_call(win, function()
    vim.fn.winrestview(view)
  end)
end

return M
