--- The selection that the user has pinned.
local region = require("gemini-bridge.context.region")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.selection.pins")

--- Pinned regions by buffer; marks follow the text.
---@type table<integer, { region: gemini_bridge.Region, first: integer, last: integer }>
local pins = {}
--- What is pinned in a buffer, as far as it is still there.
---@param buf integer
---@return gemini_bridge.Region?
function M.region(buf)
  local pin = pins[buf]
  if not pin then
    return nil
  end
  local function place(mark)
    local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, mark, {})
    return { at[1], at[2] }
  end
  local first, last = place(pin.first), place(pin.last)
  -- The mark of a line that was deleted is at the start of the one after it, if there is one.
  if last[2] == 0 and pin.region.last[2] > 0 then
    last[1] = last[1] - 1
    last[2] = #(vim.api.nvim_buf_get_lines(buf, last[1], last[1] + 1, false)[1] or "")
  end
  if last[1] < first[1] or last[1] == first[1] and last[2] <= first[2] then
    return nil
  end
  return vim.tbl_extend("force", pin.region, { first = first, last = last })
end

--- Pins a region, in place of what was pinned before.
---@param selected gemini_bridge.Region
function M.set(selected)
  M.clear()
  local function mark(at, right_gravity)
    return vim.api.nvim_buf_set_extmark(
      selected.buf,
      namespace,
      at[1],
      at[2],
      { right_gravity = right_gravity }
    )
  end
  selected.last = { region.finish(selected) }
  selected.through = nil
  pins[selected.buf] =
    { region = selected, first = mark(selected.first, true), last = mark(selected.last, false) }
end

--- May run twice.
function M.clear()
  for buf in pairs(pins) do
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    end
  end
  pins = {}
end

return M
