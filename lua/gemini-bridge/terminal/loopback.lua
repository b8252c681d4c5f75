--- Returns the environment variables with which a CLI reaches 127.0.0.1 even with a proxy or in a container.
local M = {}

local LOOPBACK = { "127.0.0.1", "localhost" }

--- Adds the local hosts to a list for NO_PROXY.
---@param value? string
---@return string
local function with_loopback(value)
  local hosts = vim.split(value or "", "[%s,]+", { trimempty = true })
  if vim.tbl_contains(hosts, "*") then
    return "*"
  end
  for _, host in ipairs(LOOPBACK) do
    if not vim.tbl_contains(hosts, host) then
      hosts[#hosts + 1] = host
    end
  end
  return table.concat(hosts, ",")
end

--- Returns the variables for a CLI on this machine.
---@param extra? table<string, string> The user's variables, which take precedence.
---@return table<string, string>
function M.get(extra)
  local env = extra or {}
  local function value(name)
    return env[name] or vim.env[name]
  end
  local additions = {
    -- Clients read either of these and ignore the other.
    NO_PROXY = with_loopback(value("NO_PROXY") or value("no_proxy")),
    no_proxy = with_loopback(value("no_proxy") or value("NO_PROXY")),
  }
  local said = require("gemini-bridge.host.environment").of_clis()
  return vim.tbl_extend("force", said, env, additions)
end

return M
