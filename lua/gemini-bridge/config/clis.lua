--- The CLIs that this editor serves: their programs, as the option `clis` changes them. How each finds this editor is
--- the host's to know: src/ide/profiles.ts.
local option = require("gemini-bridge.config.cli_option")

local M = {}

---@class gemini_bridge.Cli
---@field name string
---@field like string The known one that it is a descendant of.
---@field cmd string[]
---@field args? string[] Arguments for `:Gemini`, unless the user gives others for the same.
---@field label? string
---@field directory? string
---@field file? string
---@field env? string

--- Those that are served: the known ones first, then the user's by name.
---@return gemini_bridge.Cli[]
function M.all()
  local options, list = require("gemini-bridge.config").get().clis, {}
  local names = vim.tbl_map(function(cli)
    return cli.name
  end, option.KNOWN)
  for name in vim.spairs(options) do
    if not option.known(name) then
      names[#names + 1] = name
    end
  end
  for _, name in ipairs(names) do
    local changes = options[name]
    if changes ~= false then
      changes = changes or {}
      local base = option.known(changes.like or name)
      list[#list + 1] = vim.tbl_extend("force", {
        name = name,
        like = base.like,
        cmd = base.name == name and base.cmd or { name },
        args = base.args,
      }, changes)
    end
  end
  return list
end

---@param name string
---@return gemini_bridge.Cli?
function M.get(name)
  return vim.iter(M.all()):find(function(cli)
    return cli.name == name
  end)
end

return M
