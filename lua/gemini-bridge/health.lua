--- `:checkhealth gemini-bridge` and `:GeminiDoctor`: why a CLI does not connect, and what to do about it.
local M = {}

--- The running CLI that was asked about.
---@type integer?
local target

---@param version? string
local function check_version(version)
  local program = require("gemini-bridge.doctor.program")
  if not version then
    vim.health.warn("its release is unknown")
    return
  end
  local verdict = program.judge(version)
  local text = ("Gemini CLI %s"):format(version)
  if verdict == "older" then
    vim.health.error(
      text .. " is too old for editors other than VS Code",
      "npm install -g @google/gemini-cli@latest"
    )
  elseif verdict == "newer" then
    vim.health.info(("%s; the newest that was tested is %s"):format(text, program.NEWEST))
  else
    vim.health.ok(text)
  end
end

--- What a CLI would meet that the user starts in `:terminal`, in the current directory.
---@param bridge gemini_bridge.HostStatus
local function check_future(bridge)
  local program = require("gemini-bridge.doctor.program")
  local name = program.name()
  if vim.fn.executable(name) == 0 then
    vim.health.warn(name .. " is not on PATH", "npm install -g @google/gemini-cli")
  else
    check_version(program.version(name))
  end
  require("gemini-bridge.doctor.connection").check({
    env = vim.fn.environ(),
    cwd = vim.fn.getcwd(),
    ide_pid = require("gemini-bridge.doctor.processes").above(vim.fn.getpid()),
  }, bridge)
end

--- What a running CLI meets.
---@param pid integer
---@param bridge gemini_bridge.HostStatus
local function check_running(pid, bridge)
  local processes = require("gemini-bridge.doctor.processes")
  local process = processes.info(pid)
  if process.command == "" then
    vim.health.error(("There is no process %d"):format(pid), "pgrep -fl gemini")
    return
  end
  vim.health.info(process.command)
  local env, cwd = processes.environment(pid), processes.directory(pid)
  if not env or not cwd then
    vim.health.error("Its environment cannot be read", "ask as the user who runs it")
    return
  end
  check_version(require("gemini-bridge.doctor.program").version_of_command(process.command))
  if bridge.state == "running" and processes.is_connected(pid, bridge.port) then
    vim.health.ok("It is connected to this Neovim")
  elseif bridge.state == "running" then
    local age, host_age = processes.age(pid), processes.age(bridge.pid)
    vim.health.warn(
      "It is not connected to this Neovim",
      age
          and host_age
          and age > host_age
          and "it is older than the bridge: type `/ide enable` in it; if that is refused, start it again"
        or "when all below is well, type `/ide enable` in it"
    )
  end
  require("gemini-bridge.doctor.connection").check({
    env = env,
    cwd = cwd,
    ide_pid = tonumber(env.GEMINI_CLI_IDE_PID) or processes.ide_pid(pid),
  }, bridge)
end

--- All CLIs of this machine.
---@param bridge gemini_bridge.HostStatus
local function list_running(bridge)
  local processes = require("gemini-bridge.doctor.processes")
  local running = processes.find(vim.fs.basename(require("gemini-bridge.doctor.program").name()))
  if #running == 0 then
    vim.health.info("none")
  end
  for _, cli in ipairs(running) do
    local text = ("process %d: %s"):format(cli.pid, cli.command)
    if bridge.state == "running" and processes.is_connected(cli.pid, bridge.port) then
      vim.health.ok(text .. ", connected to this Neovim")
    else
      vim.health.info(("%s, not connected to this Neovim; why: :GeminiDoctor %d"):format(text, cli.pid))
    end
  end
end

--- Called by `:checkhealth`.
function M.check()
  local bridge = require("gemini-bridge.bridge.status").get()
  local pid = target
  target = nil
  if pid then
    vim.health.start(("Gemini CLI, process %d"):format(pid))
    check_running(pid, bridge)
  end
  vim.health.start("Installation")
  require("gemini-bridge.doctor.bridge").check_installation()
  vim.health.start("Bridge")
  require("gemini-bridge.doctor.bridge").check(bridge)
  vim.health.start("Running CLIs")
  list_running(bridge)
  vim.health.start("A CLI started in :terminal")
  check_future(bridge)
end

--- Shows the report, which starts with a given CLI when there is one.
---@param pid? integer Of a running CLI.
function M.doctor(pid)
  target = pid
  vim.cmd.checkhealth("gemini-bridge")
end

return M
