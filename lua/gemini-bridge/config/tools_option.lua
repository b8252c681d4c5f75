--- Checks the tool names in the option `tools.offered`.
local M = {}

--- Names of the tools in src/model/tools.
local TOOLS = {
  "diagnostics",
  "symbols",
  "workspace_symbols",
  "definition",
  "references",
  "implementations",
  "hover",
  "buffers",
  "read_buffer",
  "selection",
  "open_file",
  "quickfix",
  "rename",
  "code_actions",
  "apply_code_action",
  "format",
}

--- Separates names of existing tools from unknown names.
---@param names string[]
---@return string[] known
---@return string[] problems
function M.sort_out(names)
  local known, unknown = {}, {}
  for _, name in ipairs(names) do
    table.insert(vim.list_contains(TOOLS, name) and known or unknown, name)
  end
  if #unknown == 0 then
    return known, {}
  end
  local text = "option tools.offered: unknown %s. Known: %s"
  return known, { text:format(table.concat(unknown, ", "), table.concat(TOOLS, ", ")) }
end

return M
