--- Defines position, size and options of terminal windows.
local M = {}

---@class gemini_bridge.Place
---@field position "right"|"left"|"top"|"bottom"|"float"|"tab"
---@field size? number See the option `terminal.size`.

local SPLITS = { right = "right", left = "left", top = "above", bottom = "below" }

---@param size number
---@param total integer Columns or lines.
---@return integer
local function cells(size, total)
  local wanted = math.floor(size < 1 and size * total or size)
  return math.max(1, math.min(wanted, total - 2))
end

--- Returns the configuration of a split or a floating window.
---@param place gemini_bridge.Place
---@return vim.api.keyset.win_config
function M.config(place)
  if place.position == "float" then
    local width, height = cells(place.size or 0.8, vim.o.columns), cells(place.size or 0.8, vim.o.lines - 2)
    return {
      relative = "editor",
      width = width,
      height = height,
      col = math.floor((vim.o.columns - width) / 2) - 1,
      row = math.floor((vim.o.lines - height) / 2) - 1,
      border = "rounded",
    }
  end
  local config = { split = SPLITS[place.position], win = -1 }
  if place.position == "top" or place.position == "bottom" then
    config.height = cells(place.size or 0.3, vim.o.lines)
  else
    config.width = cells(place.size or 0.4, vim.o.columns)
  end
  return config
end

--- Sets the options of a terminal window.
---@param win integer
---@param place gemini_bridge.Place
function M.dress(win, place)
  local wo = vim.wo[win][0]
  wo.number, wo.relativenumber, wo.list, wo.spell, wo.cursorline = false, false, false, false, false
  wo.signcolumn, wo.foldcolumn, wo.statuscolumn, wo.colorcolumn = "no", "0", "", ""
  vim.w[win].gemini_terminal = place.position
  wo.winfixwidth = place.position == "right" or place.position == "left"
  wo.winfixheight = place.position == "top" or place.position == "bottom"
end

--- Resets the options of a terminal's window before the window shows a file.
---@param win integer
function M.undress(win)
  local wo = vim.wo[win][0]
  wo.winfixbuf, wo.winfixwidth, wo.winfixheight = false, false, false
  vim.w[win].gemini_terminal = nil
end

return M
