--- Shows texts in a winbar. In a narrow window, leaves out the least important texts.
local config = require("gemini-bridge.config")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Default minimum width of a part with a `shorten` function, in screen cells.
local MIN_CELLS = 8
--- Highest `rank` that a part can have.
local MAX_RANK = 9

---@class gemini_bridge.BarPart
---@field text? string
---@field shorten? fun(width?: integer): string Used instead of `text`. Returns a text of at most this width.
---@field min? integer Minimum width for `shorten`, in screen cells.
---@field rank? integer Parts with a low rank are left out first. Parts without a rank always stay.

---@param parts gemini_bridge.BarPart[]
---@param width? integer Width for the part with a `shorten` function. nil leaves out this part.
---@return string
local function join(parts, width)
  return (" %s "):format(vim
    .iter(parts)
    :map(function(part)
      return part.text or width and part.shorten(width) or ""
    end)
    :join(""))
end

--- Joins parts into a text that fits the width. If there is too little room, first shortens the part with a `shorten`
--- function, then leaves out parts in the order of their rank.
---@param parts gemini_bridge.BarPart[]
---@param width integer Width of the window in screen cells.
---@return string # Value for 'winbar'.
local function fit(parts, width)
  local flexible = vim.iter(parts):find(function(part)
    return part.shorten
  end)
  local shortest = flexible
      and math.min(vim.fn.strdisplaywidth(flexible.shorten()), flexible.min or MIN_CELLS)
    or 0
  local function room()
    return width - vim.fn.strdisplaywidth(join(parts))
  end
  for rank = 1, MAX_RANK do
    if room() < shortest then
      parts = vim.tbl_filter(function(part)
        return part.rank ~= rank
      end, parts)
    end
  end
  return (join(parts, math.max(room(), MIN_CELLS)):gsub("%%", "%%%%"))
end

--- Shows a winbar, unless the option `diff.winbar` is off.
---@param win integer
---@param parts gemini_bridge.BarPart[]
function M.show(win, parts)
  -- Sets no winbar in a window of one row. Neovim would enlarge the window and later not give the rows back.
  local has_room = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_height(win) > 1
  if has_room and config.get().diff.winbar then
    window.set_winbar(win, fit(parts, vim.api.nvim_win_get_width(win)))
  end
end

return M
