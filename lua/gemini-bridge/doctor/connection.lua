--- Whether a CLI finds this bridge and gets through to it: each condition that the CLI sets, in its order.
local container = require("gemini-bridge.doctor.container")
local discovery = require("gemini-bridge.doctor.discovery")
local settings = require("gemini-bridge.doctor.settings")

local M = {}

--- A CLI, or one that could be started.
---@class gemini_bridge.Cli
---@field env table<string, string>
---@field cwd string
---@field ide_pid integer The process that it takes for its editor.

---@param cli gemini_bridge.Cli
local function check_settings(cli)
  local enabled, file, problems = settings.ide_enabled(cli.env, cli.cwd)
  for _, problem in ipairs(problems) do
    vim.health.error(problem, "correct that file: the CLI does not start with it")
  end
  if enabled then
    vim.health.ok("IDE mode is on in " .. file)
  elseif file then
    vim.health.error("IDE mode is off in " .. file, "type `/ide enable` in the CLI, or set ide.enabled there")
  else
    vim.health.error("IDE mode is off, as by default", "type `/ide enable` in the CLI, once")
  end
end

--- Where it looks for discovery files, against where the bridge's is.
---@param cli gemini_bridge.Cli
---@param bridge gemini_bridge.HostStatus
---@return gemini_bridge.Discovery[]? files
local function check_directory(cli, bridge)
  local looks = discovery.temporary_directory(cli.env)
  local lies = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(bridge.discoveryFile)))
  if vim.uv.fs_realpath(looks) == vim.uv.fs_realpath(lies) then
    vim.health.ok("looks for editors in " .. looks)
    return discovery.files(looks)
  end
  vim.health.error(
    ("looks for editors in %s, but this bridge is announced in %s"):format(looks, lies),
    ("start it with TMPDIR=%s, or start Neovim with TMPDIR=%s"):format(lies, looks)
  )
end

--- Which editor it takes.
---@param cli gemini_bridge.Cli
---@param bridge gemini_bridge.HostStatus
---@param files gemini_bridge.Discovery[]
local function check_choice(cli, bridge, files)
  local choice = discovery.chosen(files, {
    ide_pid = cli.ide_pid,
    cwd = cli.cwd,
    port = cli.env.GEMINI_CLI_IDE_SERVER_PORT,
  })
  if choice and choice.port == bridge.port then
    vim.health.ok("takes this Neovim among the editors that it finds")
  elseif choice then
    local name = vim.tbl_get(choice, "content", "ideInfo", "displayName") or "an editor"
    vim.health.error(
      ("takes another editor: %s, process %d, port %d"):format(name, choice.pid, choice.port),
      "start it by :Gemini, or in a shell with the lines of :GeminiEnv"
    )
  end
  local own = vim.iter(files):find(function(file)
    return file.port == bridge.port
  end)
  if own and own.pid ~= cli.ide_pid then
    vim.health.info(
      ("takes process %d for its editor, this one is %d: a CLI of 0.30 or older does not find it"):format(
        cli.ide_pid,
        own.pid
      )
    )
  end
end

---@param cli gemini_bridge.Cli
---@param bridge gemini_bridge.HostStatus
local function check_workspace(cli, bridge)
  local workspace = table.concat(bridge.workspace, ":")
  if discovery.holds(workspace, cli.cwd) then
    vim.health.ok(cli.cwd .. " is in the workspace")
  else
    vim.health.error(
      ("runs in %s, which is outside the workspace %s"):format(cli.cwd, workspace),
      ("start it in there, or :cd %s"):format(cli.cwd)
    )
  end
end

---@param cli gemini_bridge.Cli
local function check_network(cli)
  if container.is_inside() then
    local set = vim.iter(container.DIAL_LOOPBACK):find(function(name)
      return cli.env[name] ~= nil and cli.env[name] ~= ""
    end)
    if set then
      vim.health.ok(("in a container, %s makes it dial 127.0.0.1"):format(set))
    else
      vim.health.error(
        "in a container it dials host.docker.internal instead of 127.0.0.1",
        "start it by :Gemini, or with REMOTE_CONTAINERS=true (a CLI of 0.30 or older: outside)"
      )
    end
  end
  for _, name in ipairs({ "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY" }) do
    if cli.env[name] and cli.env[name] ~= "" then
      vim.health.info(("%s is set; the CLI goes around it to reach 127.0.0.1"):format(name))
    end
  end
end

--- Reports on everything between a CLI and this bridge.
---@param cli gemini_bridge.Cli
---@param bridge gemini_bridge.HostStatus
function M.check(cli, bridge)
  if bridge.state == "running" then
    local files = check_directory(cli, bridge)
    if files then
      check_choice(cli, bridge, files)
    end
    check_workspace(cli, bridge)
  end
  check_network(cli)
  check_settings(cli)
end

return M
