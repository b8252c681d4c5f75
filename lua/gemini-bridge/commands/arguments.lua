--- The arguments of commands.
local M = {}

--- For the completion of commands.
---@param candidates string[]
---@param lead string
---@return string[]
function M.starting_with(candidates, lead)
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates)
end

--- What was typed behind the command, if anything.
---@param args vim.api.keyset.create_user_command.command_args
---@return string?
function M.given(args)
  return args.args ~= "" and args.args or nil
end

--- The lines that are meant.
---@param args vim.api.keyset.create_user_command.command_args
---@return [integer, integer]? lines First and last, 1-based: the range, or the selection.
function M.lines(args)
  if args.range > 0 then
    return { args.line1, args.line2 }
  end
  local mode = vim.api.nvim_get_mode().mode
  if mode:match("^[vV\22]") then
    local from, to = vim.fn.line("v"), vim.fn.line(".")
    return { math.min(from, to), math.max(from, to) }
  end
end

return M
