--- Offers to install the extension before the start of a CLI. Asks only for CLIs that need the extension for their
--- hooks. The question must open before `:Gemini` returns. A later question would receive keys that the user has typed
--- for the CLI. Therefore Lua decides, without asking the host.
local choose = require("gemini-bridge.editor.choose")
local config = require("gemini-bridge.config")
local link = require("gemini-bridge.extension.link")
local notify = require("gemini-bridge.notify")
local status = require("gemini-bridge.bridge.status")
local store = require("gemini-bridge.disk.store")

local M = {}

local INSTALL, NOT_NOW, NEVER = "Install the extension", "Not now", "Never"

--- CLIs for which the user has answered "Not now" in this Neovim process.
---@type table<string, true>
local postponed = {}

--- Callbacks that start a CLI, by name of the CLI. They wait until the user has answered and the extension is linked.
---@type table<string, fun()[]>
local waiting = {}

--- The stored list of the CLIs for which the user has answered "Never".
local NAME = "gemini-bridge-no-extension"

---@return string[]
local function never()
  return store.read_list(NAME, function(name)
    return type(name) == "string"
  end)
end

--- Saves the CLIs for which the user has answered "Never".
---@param names string[]
local function write_never(names)
  local problem
  if #names == 0 then
    store.delete(NAME)
  else
    problem = store.write(NAME, names)
  end
  if problem then
    notify("Your answer was not saved: " .. problem, "warn")
  end
end

--- Forgets the user's earlier answer "Never" or "Not now".
---@param name string Name of the CLI.
function M.forget_answer(name)
  postponed[name] = nil
  local names = never()
  local others = vim.tbl_filter(function(other)
    return other ~= name
  end, names)
  if #others < #names then
    write_never(others)
  end
end

--- Returns whether a CLI can get hooks and tools only from the extension. Gemini CLI can also get both from a file with
--- system defaults, but only for root: Gemini CLI 0.60 and later ignores the file if other users may change it. For
--- CLIs derived from Gemini CLI, the path of this file is not known.
---@param cli gemini_bridge.Cli
---@return boolean
function M.needs_extension(cli)
  local has_defaults = cli.name == "gemini"
    and vim.uv.getuid() == 0
    and config.get().terminal.connect
    and not (status.get().obstacles or {}).gemini
  return cli.like == "gemini" and not has_defaults
end

--- Asks the user whether to install the extension.
---@param cli gemini_bridge.Cli
---@param go fun()
local function ask(cli, go)
  local question = ("Let %s tell Neovim what it changes? This links an extension."):format(cli.label)
  choose({ INSTALL, NOT_NOW, NEVER }, { prompt = question }, function(choice)
    if choice == INSTALL then
      return link.create(cli, go)
    elseif choice == NEVER then
      local names = never()
      write_never(vim.list_extend(names, { cli.name }))
    else
      postponed[cli.name] = true
    end
    go()
  end)
end

--- CLIs about whose link the user was warned in this Neovim process.
---@type table<string, true>
local warned = {}

--- Warns the user once if a CLI uses the extension of another copy of the plugin, which may have another version.
---@param cli gemini_bridge.Cli
local function warn_about_other_copy(cli)
  local other = not warned[cli.name] and link.other_copy(cli)
  if other then
    warned[cli.name] = true
    local text =
      "%s uses the extension of another copy of this plugin (%s). To link this copy: :GeminiExtension install %s"
    notify(text:format(cli.label, other, cli.name), "warn")
  end
end

--- Runs a step for a CLI. After the step, calls `go`, and all callbacks for this CLI that were added during the step.
---@param step fun(cli: gemini_bridge.Cli, go: fun())
---@param cli gemini_bridge.Cli
---@param go fun()
local function run_once(step, cli, go)
  waiting[cli.name] = { go }
  step(cli, function()
    local starts = waiting[cli.name]
    waiting[cli.name] = nil
    for _, start in ipairs(starts) do
      start()
    end
  end)
end

--- Asks the user about the extension, or links the extension, if necessary (option `extension`). Then calls `go`.
---@param cli gemini_bridge.Cli
---@param program string Program of the CLI's command line.
---@param go fun() Called once.
function M.before_start(cli, program, go)
  local option = config.get().extension
  local is_other = program ~= link.program(cli)[1]
  if option == false or is_other or vim.list_contains(never(), cli.name) then
    return go()
  end
  if waiting[cli.name] then
    table.insert(waiting[cli.name], go)
    return
  end
  local state = link.state(cli)
  if state == "gone" then
    return run_once(link.create, cli, go)
  elseif state == "installed" then
    warn_about_other_copy(cli)
    return go()
  elseif not M.needs_extension(cli) then
    return go()
  elseif option == "auto" then
    return run_once(link.create, cli, go)
  elseif postponed[cli.name] or #vim.api.nvim_list_uis() == 0 then
    return go()
  end
  run_once(ask, cli, go)
end

return M
