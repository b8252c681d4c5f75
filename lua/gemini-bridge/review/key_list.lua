--- `g?` in a proposal: what can be done there, in a float that goes with the next move.
local config = require("gemini-bridge.config")

local M = {}

--- What is no key of the plugin's, and works in a proposal all the same.
local COMMANDS = {
  { ":w", "Accept the proposal as it stands" },
  { ":q", "Reject the proposal" },
  { "do, dp", "Take this hunk from the other side, put it there" },
  { "u", "Undo an edit" },
}

---@param actions table<string, { desc: string }> By the name of their key.
---@return string[]
local function lines(actions)
  local rows = {}
  for _, name in ipairs({ "accept", "reject", "keep", "drop", "undo", "next", "prev", "help" }) do
    local key = config.get().diff.keys[name]
    if key then
      rows[#rows + 1] = { key, actions[name].desc }
    end
  end
  for _, command in ipairs(COMMANDS) do
    if command[1] ~= ":w" or config.get().diff.write_accepts then
      rows[#rows + 1] = command
    end
  end
  local width = 0
  for _, row in ipairs(rows) do
    width = math.max(width, vim.fn.strdisplaywidth(row[1]))
  end
  return vim.tbl_map(function(row)
    return row[1] .. (" "):rep(width - vim.fn.strdisplaywidth(row[1]) + 2) .. row[2]
  end, rows)
end

---@param actions table<string, { desc: string }>
function M.show(actions)
  vim.lsp.util.open_floating_preview(lines(actions), "", {
    border = "rounded",
    focus_id = "gemini-bridge.keys",
    wrap = false,
  })
end

return M
