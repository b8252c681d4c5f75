--- The variables that lead a CLI started inside this Neovim to this bridge.
local M = {}

--- What each variable was before, `false` for one that was not set.
---@type table<string, string|false>
local before = {}

--- Variables of the CLIs in Neovim's terminals alone.
---@type table<string, string>
local clis = {}

---@param name string
local function remember(name)
  if before[name] == nil then
    before[name] = vim.env[name] or false
  end
end

--- Sets variables for the time the bridge runs.
---@param params { set: table<string, string>, unset: string[], clis: table<string, string> }
function M.set(params)
  clis = params.clis
  for name, value in pairs(params.set) do
    remember(name)
    vim.env[name] = value
  end
  for _, name in ipairs(params.unset) do
    remember(name)
    vim.env[name] = nil
  end
end

--- What a CLI in a terminal of Neovim's needs beside Neovim's own environment.
---@return table<string, string>
function M.of_clis()
  return clis
end

--- The variables and what they hold while the bridge runs: "" for one that must not lead elsewhere.
---@return table<string, string>
function M.of_bridge()
  local values = {}
  for name in pairs(before) do
    values[name] = vim.env[name] or ""
  end
  return values
end

--- Puts back what was there. May run twice.
function M.restore()
  for name, value in pairs(before) do
    vim.env[name] = value or nil
  end
  before, clis = {}, {}
end

return M
