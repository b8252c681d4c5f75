--- Lists the CLIs that can connect: the CLIs in profiles.json, with the changes and additions of the option `clis`.
--- src/profiles/profiles.ts describes how each CLI finds this editor.
local option = require("gemini-bridge.config.cli_option")

local M = {}

---@class gemini_bridge.Cli
---@field name string
---@field like string The known CLI from which this CLI is derived. A known CLI has its own name here.
---@field label string Name to show to the user.
---@field cmd string[]
---@field args string[] See |gemini_bridge.Profile|.
---@field home string The folder of the CLI's own files. May contain `${NAME:-default}` and `~`.
---@field folder string The last part of `home`, such as `.gemini`.
---@field gate? string See |gemini_bridge.Profile|.
---@field byProcess? table<string, string> See |gemini_bridge.Profile|.
---@field directory? string
---@field settings? string
---@field file? string
---@field env? string

---@param base gemini_bridge.Profile
---@param changes table
---@return string home
---@return string folder
local function own_folder(base, changes)
  local file = changes.settings or changes.directory
  if not file or vim.startswith(file, "{tmp}") then
    return vim.fs.dirname(base.settings.files[1]), base.settings.folder
  end
  local home = vim.fs.dirname(file)
  return home, vim.fs.basename(home)
end

--- Returns all CLIs: first the known CLIs, then the CLIs that the user has added. The added CLIs are sorted by name.
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
      local home, folder = own_folder(base, changes)
      list[#list + 1] = vim.tbl_extend("force", {
        name = name,
        like = base.name,
        label = is_known and base.label or name,
        cmd = is_known and base.cmd or { name },
        args = base.args,
        gate = base.gate,
        byProcess = base.byProcess,
        home = home,
        folder = folder,
      }, changes)
    end
  end
  return list
end

--- Returns the program with which `:Gemini` starts a CLI, and the program's first arguments.
---@param cli gemini_bridge.Cli
---@return string[]
function M.command(cli)
  local terminal = require("gemini-bridge.config").get().terminal
  return terminal.cmd and cli.name == terminal.cli and terminal.cmd or cli.cmd
end

---@param name string
---@return gemini_bridge.Cli?
---@return string? problem Message, if the name is unknown.
function M.get(name)
  local names = {}
  for _, cli in ipairs(M.all()) do
    if cli.name == name then
      return cli
    end
    names[#names + 1] = cli.name
  end
  return nil, ("Unknown CLI '%s'. Known: %s."):format(name, table.concat(names, ", "))
end

return M
