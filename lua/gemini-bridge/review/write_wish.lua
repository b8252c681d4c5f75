--- What a command line or a mapping writes, if it writes the current buffer under its own name.
local M = {}

---@class gemini_bridge.Wish
---@field bang boolean

--- Commands that accept, by their full names.
local WRITES = { write = true, wq = true, xit = true, exit = true, update = true }

--- Whether arguments name nothing but the buffer itself: `%` and its kin, after any `++opt`.
---@param args string
local function is_own_name(args)
  local name = args:gsub("%+%+%S+%s*", "")
  return name == "" or name == vim.api.nvim_buf_get_name(0) or name:find("^%%[:%l]*$") ~= nil
end

--- What a command line writes: the first command of it that writes.
---@param line string
---@return gemini_bridge.Wish?
function M.of_line(line)
  local ok, command = pcall(vim.api.nvim_parse_cmd, line, {})
  if not ok then
    return
  end
  local own = vim.api.nvim_buf_get_commands(0, {})[command.cmd] or vim.api.nvim_get_commands({})[command.cmd]
  local wish
  if own then
    wish = own.definition ~= line and M.of_line((own.definition:gsub("<[^>]*>", ""))) or nil
  elseif WRITES[command.cmd] and is_own_name(table.concat(command.args or {}, " ")) then
    wish = { bang = command.bang }
  end
  local rest = command.nextcmd or ""
  return wish or rest ~= "" and rest ~= line and M.of_line(rest) or nil
end

--- What a mapping with `<Cmd>` writes: it leaves no command line to be seen.
---@param typed string Raw keys.
---@param mode string In which they were typed.
---@return gemini_bridge.Wish?
function M.of_mapping(typed, mode)
  local map = vim.fn.maparg(vim.fn.keytrans(typed), mode:sub(1, 1):lower(), false, true)
  for line in (map.rhs or ""):gmatch("<[Cc][Mm][Dd]>(.-)<[Cc][Rr]>") do
    local wish = M.of_line(vim.api.nvim_replace_termcodes(line, true, true, true))
    if wish then
      return wish
    end
  end
end

return M
