--- Variables that a CLI needs beside those that lead it to the bridge.
local M = {}

local LOOPBACK = { "127.0.0.1", "localhost" }

---@param value? string What the variable holds.
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

--- What a CLI on this machine needs: no proxy between it and the bridge, and what the host has said beside.
---@param extra? table<string, string> The user's own, which win.
---@return table<string, string>
function M.get(extra)
  local env = extra or {}
  local function value(name)
    return env[name] or vim.env[name]
  end
  local additions = {
    -- Clients read one or the other, and either one hides the other.
    NO_PROXY = with_loopback(value("NO_PROXY") or value("no_proxy")),
    no_proxy = with_loopback(value("no_proxy") or value("NO_PROXY")),
  }
  local said = require("gemini-bridge.host.environment").of_clis()
  return vim.tbl_extend("force", said, env, additions)
end

return M
