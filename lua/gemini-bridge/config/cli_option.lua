--- The value of the option `clis`: the CLIs that are known, and what may be changed of them.
local M = {}

---@type gemini_bridge.Cli[]
M.KNOWN = {
  { name = "gemini", like = "gemini", cmd = { "gemini" } },
  -- Otherwise it asks nobody since 0.21, so that no review ever opens.
  { name = "qwen", like = "qwen", cmd = { "qwen" }, args = { "--approval-mode", "default" } },
  { name = "llxprt", like = "llxprt", cmd = { "llxprt" } },
}

local FIELDS = { like = "string", cmd = "table", args = "table", label = "string" }
for _, name in ipairs({ "directory", "file", "env" }) do
  FIELDS[name] = "string"
end

---@param name string?
---@return gemini_bridge.Cli?
function M.known(name)
  return vim.iter(M.KNOWN):find(function(cli)
    return cli.name == name
  end)
end

---@param list any
---@return boolean
local function is_list_of_strings(list)
  return vim.islist(list) and vim.iter(list):all(function(item)
    return type(item) == "string"
  end)
end

---@param name any
---@param cli any
---@return boolean
local function is_valid(name, cli)
  if cli == false then
    return type(name) == "string"
  elseif type(name) ~= "string" or not name:find("^[%w_-]+$") or type(cli) ~= "table" then
    return false
  end
  for field, value in pairs(cli) do
    if type(value) ~= FIELDS[field] or type(value) == "table" and not is_list_of_strings(value) then
      return false
    end
  end
  local directory, file = cli.directory or "~/", cli.file or "{port}"
  return M.known(cli.like or name) ~= nil
    and (not cli.cmd or (cli.cmd[1] or "") ~= "")
    and (vim.startswith(directory, "~/") or vim.startswith(directory, "/"))
    and file:find("{port}", 1, true) ~= nil
    and not file:find("/", 1, true)
    and (cli.env or "A"):find("^[%u_][%u%d_]*$") ~= nil
end

--- Whether a value is one for the option `clis`.
---@param value any
---@return boolean
function M.check(value)
  return type(value) == "table" and vim.iter(pairs(value)):all(is_valid)
end

return M
