--- The CLIs that this editor serves: their programs, as the option `clis` changes them. How each finds this editor is
--- the host's to know: src/profiles/profiles.ts.
local option = require("gemini-bridge.config.cli_option")

local M = {}

---@class gemini_bridge.Cli
---@field name string
---@field like string The known one that it is a descendant of.
---@field label string What the user knows it as.
---@field cmd string[]
---@field args string[] Arguments for `:Gemini`, unless the user gives others for the same.
---@field folder string What its folder in the home directory is called.
---@field byProcess? table<string, string> See |gemini_bridge.Profile|.
---@field directory? string
---@field settings? string
---@field file? string
---@field env? string

---@param base gemini_bridge.Profile
---@param changes table
---@return string
local function folder(base, changes)
  local file = changes.settings or changes.directory
  return file and vim.fs.basename(vim.fs.dirname(file)) or base.settings.folder
end

--- Those that are served: the known ones first, then the user's by name.
---@return gemini_bridge.Cli[]
function M.all()
  local options, list = require("gemini-bridge.config").get().clis, {}
  local names = vim.tbl_map(function(profile)
    return profile.name
  end, option.known())
  for name in vim.spairs(options) do
    if not option.find(name) then
      names[#names + 1] = name
    end
  end
  for _, name in ipairs(names) do
    local changes = options[name]
    if changes ~= false then
      changes = changes or {}
      local base = assert(option.find(changes.like or name))
      local is_known = base.name == name
      list[#list + 1] = vim.tbl_extend("force", {
        name = name,
        like = base.name,
        label = is_known and base.label or name,
        cmd = is_known and base.cmd or { name },
        args = base.args,
        byProcess = base.byProcess,
        folder = folder(base, changes),
      }, changes)
    end
  end
  return list
end

--- The one that a program is.
---@param program string
---@return gemini_bridge.Cli?
function M.of_program(program)
  return vim.iter(M.all()):find(function(cli)
    return vim.fs.basename(cli.cmd[1]) == program
  end)
end

---@param name string
---@return gemini_bridge.Cli?
---@return string? problem There is none of that name.
function M.get(name)
  local names = {}
  for _, cli in ipairs(M.all()) do
    if cli.name == name then
      return cli
    end
    names[#names + 1] = cli.name
  end
  return nil, ("there is no CLI of the name %s, but %s"):format(name, table.concat(names, ", "))
end

return M
