--- The extension of Gemini CLI and its kin: the CLI itself links the plugin's folder, and takes the link away.
local notify = require("gemini-bridge.notify")

local M = {}

local NAME = "gemini-bridge"
--- A CLI takes seconds to start (milliseconds).
local TIMEOUT = 60000

local root = vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)):match("^(.*)/lua/gemini%-bridge/")
--- With folder trust on, linking trusts the current directory: it must be this one and no other.
local folder = root .. "/extension"

--- By what they descend from: how a CLI that has extensions is made to ask nothing.
---@type table<string, { consent: string[], stdin?: string }>
local KINDS = {
  gemini = { consent = { "--consent" } },
  qwen = { consent = {}, stdin = "y\n" },
}

---@param name string
---@return gemini_bridge.Cli? cli
---@return string? problem
local function cli_named(name)
  local cli = require("gemini-bridge.config.clis").get(name)
  if not cli or not KINDS[cli.like] then
    return nil, ("%s has no extensions, or is none of the CLIs here"):format(name)
  elseif vim.fn.executable(cli.cmd[1]) == 0 then
    return nil, ("%s cannot be run: install it"):format(cli.cmd[1])
  end
  return cli
end

--- Runs the CLI's own command for extensions.
---@param cli gemini_bridge.Cli
---@param args string[]
---@param done fun(ok: boolean, output: string)
local function run(cli, args, done)
  local cmd = vim.list_extend({ cli.cmd[1], "extensions" }, args)
  local options = { cwd = folder, stdin = KINDS[cli.like].stdin, text = true, timeout = TIMEOUT }
  vim.system(
    cmd,
    options,
    vim.schedule_wrap(function(result)
      done(result.code == 0, vim.trim((result.stdout or "") .. (result.stderr or "")))
    end)
  )
end

--- The CLI does not remove a link whose folder is gone, and warns of it at each start.
---@param cli gemini_bridge.Cli
---@return boolean removed
local function remove_dead_link(cli)
  local store = vim.fs.joinpath(vim.env.HOME, cli.folder, "extensions", NAME)
  local record = vim.fs.joinpath(store, cli.folder .. "-extension-install.json")
  local file = io.open(record, "rb")
  local ok, link = pcall(vim.json.decode, file and file:read("*a") or "")
  if file then
    file:close()
  end
  local is_dead = ok
    and type(link) == "table"
    and link.type == "link"
    and not vim.uv.fs_stat(tostring(link.source))
  -- A folder that holds more than the record of a link stays.
  return is_dead and vim.uv.fs_unlink(record) ~= nil and vim.uv.fs_rmdir(store) ~= nil
end

---@param output string
---@return string
local function last_line(output)
  return output:match("[^\n]*$")
end

--- Links the extension. The user is told the outcome.
---@param name string Of the CLI.
function M.install(name)
  local cli, problem = cli_named(name)
  if not cli then
    return notify(problem, "error")
  end
  notify(("Installing the extension in %s"):format(name))
  -- It links nothing twice, and an older link may lead elsewhere.
  run(cli, { "uninstall", NAME }, function()
    remove_dead_link(cli)
    local args = vim.list_extend({ "link", folder }, KINDS[cli.like].consent)
    run(cli, args, function(ok, output)
      if ok then
        notify(("The extension is installed in %s: start it again to have it"):format(name))
      else
        notify(("The extension was not installed in %s: %s"):format(name, last_line(output)), "error")
      end
    end)
  end)
end

--- Takes the link away. The user is told the outcome.
---@param name string Of the CLI.
function M.remove(name)
  local cli, problem = cli_named(name)
  if not cli then
    return notify(problem, "error")
  end
  run(cli, { "uninstall", NAME }, function(ok, output)
    if ok or remove_dead_link(cli) then
      notify(("The extension is removed from %s"):format(name))
    else
      notify(("The extension was not removed from %s: %s"):format(name, last_line(output)), "error")
    end
  end)
end

return M
