--- One step of the plugin's own in a proposal, which can be taken back without anything that the user did.
local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.steps")

---@param buf integer
---@return integer
local function state(buf)
  return vim.api.nvim_buf_call(buf, vim.fn.undotree).seq_cur
end

--- Notes that lines have just been put in the place of others.
---@param buf integer
---@param first integer Row of the first, 0-based.
---@param before string[] What was there.
---@param lines string[] What is there now.
---@return fun(): boolean undo False when the user's edits stand in its way.
function M.taken(buf, first, before, lines)
  local taken = state(buf)
  -- The line above stays when these are edited; above the first there is none.
  local above = first > 0
    and vim.api.nvim_buf_set_extmark(buf, namespace, first - 1, 0, { right_gravity = false })

  ---@param expected string[]
  ---@param row integer
  local function holds(expected, row)
    return vim.deep_equal(vim.api.nvim_buf_get_lines(buf, row, row + #expected, false), expected)
  end

  return function()
    if state(buf) == taken then
      vim.cmd.undo({ mods = { silent = true } })
      return true
    end
    local row = above and vim.api.nvim_buf_get_extmark_by_id(buf, namespace, above, {})[1] + 1 or 0
    if holds(before, row) and not (#before < #lines and holds(lines, row)) then
      return true -- the user's own undo has been faster
    elseif not holds(lines, row) then
      return false
    end
    vim.api.nvim_buf_set_lines(buf, row, row + #lines, true, before)
    return true
  end
end

return M
