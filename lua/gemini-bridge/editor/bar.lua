--- Texts for winbars that fit their windows: where there is little room, whole parts are left out.
local M = {}

--- Room that is left to a text that can be shortened (screen cells).
local MIN_CELLS = 8
--- The highest rank of a part.
local MAX_RANK = 9

---@class gemini_bridge.BarPart
---@field text? string
---@field shorten? fun(width?: integer): string Gives a text that takes the room that the others leave, as of a path.
---@field rank? integer The part with the lowest rank is left out first; one without a rank never.

---@param parts gemini_bridge.BarPart[]
---@param width? integer Of the part that can be shortened; without it that part is left out.
---@return string
local function join(parts, width)
  return (" %s "):format(vim
    .iter(parts)
    :map(function(part)
      return part.text or width and part.shorten(width) or ""
    end)
    :join(""))
end

--- Joins the parts. One of them can be shortened, which is done first; then parts are left out.
---@param parts gemini_bridge.BarPart[]
---@param width integer Of the window, in screen cells.
---@return string # For 'winbar'.
function M.fit(parts, width)
  local flexible = vim.iter(parts):find(function(part)
    return part.shorten
  end)
  local shortest = math.min(vim.fn.strdisplaywidth(flexible.shorten()), MIN_CELLS)
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

return M
