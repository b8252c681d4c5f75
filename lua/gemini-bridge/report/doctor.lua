--- Runs the doctor and shows its report. The doctor is a Node program that finds out why a CLI does not connect. If the
--- doctor cannot run, shows the reason.
local build = require("gemini-bridge.host.build")
local bundle = require("gemini-bridge.host.bundle")
local config = require("gemini-bridge.config")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Timeout for the doctor. The doctor runs other programs, which have their own timeouts.
local DOCTOR_TIMEOUT_MS = 30000

--- Number of lines to read at the end of a terminal. Enough to include the CLI's prompt.
local SCREEN_LINES = 60

local program = bundle.root .. "/dist/doctor.cjs"

--- Returns whether the remote plugin is registered, which the option `host = "shared"` needs. Neovim defines the
--- function of a remote plugin only at its first call. Until then, only the autocommand exists.
local function is_registered()
  return vim.fn.exists("#FuncUndefined#GeminiBridgeStart") == 1 or vim.fn.exists("*GeminiBridgeStart") == 1
end

local function terminals()
  local list = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local ok, pid = pcall(vim.fn.jobpid, vim.bo[buf].channel)
    if ok and vim.bo[buf].buftype == "terminal" then
      list[#list + 1] = { pid = pid, lines = vim.api.nvim_buf_get_lines(buf, -1 - SCREEN_LINES, -1, false) }
    end
  end
  return list
end

--- Returns the data about this Neovim that the doctor needs: `Facts` in src/doctor/contract.ts.
local function facts()
  local options, bridge, version = config.get(), vim.deepcopy(status.get()), vim.version()
  bridge.tokens = nil
  local registered ---@type boolean?
  if options.host == "shared" then
    registered = is_registered()
  end
  return {
    version = ("%d.%d.%d"):format(version.major, version.minor, version.patch),
    pid = vim.fn.getpid(),
    cwd = vim.fn.getcwd(),
    clis = vim.tbl_map(function(cli)
      local cmd = require("gemini-bridge.terminal.launch").command(cli.name)
      return vim.tbl_extend("force", cli, { cmd = cmd })
    end, require("gemini-bridge.config.clis").all()),
    isStale = bundle.state() == "stale",
    terminals = terminals(),
    isRegistered = registered,
    bridge = bridge,
  }
end

local UNBUILT = {
  missing = "The Node part is not built yet",
  stale = "The Node part was updated but not rebuilt",
}

--- Returns the reason why Node cannot run, and waits for the answer of Node.
---@return string?
local function node_problem()
  local answered, problem = false, nil
  build.node_version(config.get().node, function(_, reason)
    answered, problem = true, reason
  end)
  vim.wait(DOCTOR_TIMEOUT_MS, function()
    return answered
  end, 5)
  return problem
end

--- Reports why the doctor has written no report.
---@param output string The error output of the doctor.
local function report_failure(output)
  local state = bundle.state()
  if state ~= "current" and bundle.is_release then
    return vim.health.error("dist/gemini-bridge.cjs is missing", "install the plugin again")
  elseif state ~= "current" then
    vim.health.error(UNBUILT[state], ":GeminiBuild")
  end
  local problem = node_problem()
  local obstacle = not problem and state ~= "current" and build.npm_problem(config.get().node)
  if problem then
    vim.health.error(problem, build.NODE_ADVICE)
  elseif obstacle then
    vim.health.error("The Node part cannot be built: " .. obstacle)
  elseif state == "current" then
    local lines = vim.split(vim.trim(output), "\n", { plain = true })
    local reason = vim.iter(lines):find(function(line)
      return line:find("Error", 1, true)
    end) or lines[#lines]
    vim.health.error(
      "The doctor failed: " .. (reason ~= "" and reason or "there was no answer"),
      ("run `%s %s` in a shell to see the details"):format(config.get().node, program)
    )
  end
end

--- Runs the doctor and waits for its result. Blocks, because |:checkhealth| is synchronous.
---@param ... string Arguments of the doctor.
---@return string? output
---@return string problem Error output, or the reason why the doctor could not run.
local function run(...)
  local command = { config.get().node, program, "--neovim", ... }
  -- Does not use Neovim's current directory: it may have been deleted, and Node could then not start.
  local options = { cwd = bundle.root, stdin = vim.json.encode(facts()), text = true }
  local ok, process = pcall(vim.system, command, options)
  if not ok then
    return nil, tostring(process)
  end
  -- After the timeout, the doctor is killed, and its output is ignored.
  local result = process:wait(DOCTOR_TIMEOUT_MS) or { code = 124, signal = 9 }
  if result.code > 1 or result.signal ~= 0 then
    return nil, result.stderr or ""
  end
  return result.stdout, result.stderr or ""
end

local LEVELS = { "ok", "info", "warn", "error" }

---@param section any
local function show(section)
  if type(section) ~= "table" or type(section.title) ~= "string" or type(section.items) ~= "table" then
    return
  end
  vim.health.start(section.title)
  for _, item in ipairs(section.items) do
    if type(item) == "table" and vim.list_contains(LEVELS, item.level) and type(item.text) == "string" then
      vim.health[item.level](item.text, type(item.advice) == "string" and item.advice or nil)
    end
  end
end

--- Writes the report into the buffer of |:checkhealth|.
---@param pid? integer Process id of the CLI whose section comes first.
function M.report(pid)
  local output, problem = run("--json", pid and tostring(pid))
  local ok, report = pcall(vim.json.decode, output or "", { luanil = { object = true } })
  if ok and type(report) == "table" and type(report.sections) == "table" then
    vim.iter(report.sections):each(show)
    return
  end
  vim.health.start("Installation")
  report_failure(problem)
end

--- Returns the process ids of the running CLIs, for completion.
---@return string[]
function M.running()
  local pids = {}
  for line in vim.gsplit(run("--list") or "", "\n", { plain = true }) do
    pids[#pids + 1] = line:match("^(%d+) ")
  end
  return pids
end

return M
