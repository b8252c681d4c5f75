--- Sets the environment variables by which CLIs in this Neovim find the bridge.
local M = {}

--- The original value of each variable. `false` if the variable was not set.
---@type table<string, string|false>
local before = {}

local NOTHING = { set = {}, unset = {}, clis = {}, arguments = {}, variables = {} }

--- The host's last request.
---@type gemini_bridge.calls.set_environment
local requested = NOTHING

---@param name string
local function remember(name)
  if before[name] == nil then
    before[name] = vim.env[name] or false
  end
end

--- Sets and removes environment variables as the host requests. `M.restore` reverts these changes.
---@param params gemini_bridge.calls.set_environment
function M.set(params)
  requested = params
  for name, value in pairs(params.set) do
    remember(name)
    vim.env[name] = value
  end
  for _, name in ipairs(params.unset) do
    remember(name)
    vim.env[name] = nil
  end
end

local LOOPBACK = { "127.0.0.1", "localhost" }

--- Adds 127.0.0.1 and localhost to a value of NO_PROXY.
---@param value? string
---@return string
local function with_loopback(value)
  local hosts = vim.split(value or "", "[%s,]+", { trimempty = true })
  if vim.list_contains(hosts, "*") then
    return "*"
  end
  for _, host in ipairs(LOOPBACK) do
    if not vim.list_contains(hosts, host) then
      hosts[#hosts + 1] = host
    end
  end
  return table.concat(hosts, ",")
end

--- Returns the variables for CLIs on this machine, in addition to Neovim's own environment. With these variables, a CLI
--- reaches 127.0.0.1 even with a proxy or in a container.
---@param own? table<string, string> The user's variables, which take precedence.
---@return table<string, string>
function M.of_clis(own)
  own = own or {}
  local function value(name)
    return own[name] or vim.env[name]
  end
  return vim.tbl_extend("force", requested.clis, own, {
    -- Sets both variables, because some HTTP clients read only NO_PROXY, and others read only no_proxy.
    NO_PROXY = with_loopback(value("NO_PROXY") or value("no_proxy")),
    no_proxy = with_loopback(value("no_proxy") or value("NO_PROXY")),
  })
end

--- Returns the arguments that `:Gemini` adds for a CLI while the bridge runs.
---@param cli string
---@return string[]
function M.arguments(cli)
  return requested.arguments[cli] or {}
end

--- Returns the variables that `:Gemini` sets for a CLI while the bridge runs. Leaves out variables that the user has
--- already set in Neovim's environment.
---@param cli string
---@return table<string, string>
function M.variables(cli)
  local found = {}
  for name, value in pairs(requested.variables[cli] or {}) do
    if before[name] ~= nil or not vim.env[name] then
      found[name] = value
    end
  end
  return found
end

--- Returns the current values of the variables that the running bridge has set or removed. A removed variable has the
--- value "".
---@return table<string, string>
function M.of_bridge()
  local values = {}
  for name in pairs(before) do
    values[name] = vim.env[name] or ""
  end
  return values
end

--- Restores the original values. Idempotent.
function M.restore()
  for name, value in pairs(before) do
    vim.env[name] = value or nil
  end
  before, requested = {}, NOTHING
end

return M
