--- Parses Ex commands in command lines and `<Cmd>` mappings.
local M = {}

--- Parses all commands of a command line. Replaces each user command with the commands in its definition.
---@param line string
---@return vim.api.keyset.cmd_parsed[]
function M.commands(line)
  local ok, command = pcall(vim.api.nvim_parse_cmd, line, {})
  if not ok then
    return {}
  end
  local own = vim.api.nvim_buf_get_commands(0, {})[command.cmd] or vim.api.nvim_get_commands({})[command.cmd]
  local commands = { command }
  if own then
    commands = own.definition ~= line and M.commands((own.definition:gsub("<[^<>]*>", ""))) or {}
  end
  local rest = command.nextcmd or ""
  return rest ~= "" and rest ~= line and vim.list_extend(commands, M.commands(rest)) or commands
end

--- Parses the commands of a `<Cmd>` mapping. Typed command lines are parsed at CmdlineLeave, which does not fire for
--- `<Cmd>` mappings.
---@param typed string Keys as typed, before |keytrans()|.
---@param mode string Mode in which the keys were typed.
---@return vim.api.keyset.cmd_parsed[]
function M.mapped_commands(typed, mode)
  local map = vim.fn.maparg(vim.fn.keytrans(typed), mode:sub(1, 1):lower(), false, true)
  local commands = {}
  for line in (map.rhs or ""):gmatch("<[Cc][Mm][Dd]>(.-)<[Cc][Rr]>") do
    vim.list_extend(commands, M.commands(vim.api.nvim_replace_termcodes(line, true, true, true)))
  end
  return commands
end

return M
