--- The variables that lead a CLI started inside this Neovim to this bridge.
local M = {}

--- What each variable was before, `false` for one that was not set.
---@type table<string, string|false>
local before = {}

---@param name string
local function remember(name)
  if before[name] == nil then
    before[name] = vim.env[name] or false
  end
end

--- Sets variables for the time the bridge runs.
---@param params { set: table<string, string>, unset: string[] }
function M.set(params)
  for name, value in pairs(params.set) do
    remember(name)
    vim.env[name] = value
  end
  for _, name in ipairs(params.unset) do
    remember(name)
    vim.env[name] = nil
  end
end

--- Puts back what was there. May run twice.
function M.restore()
  for name, value in pairs(before) do
    vim.env[name] = value or nil
  end
  before = {}
end

return M
