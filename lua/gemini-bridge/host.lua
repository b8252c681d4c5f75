--- Starts, watches and restarts the Node host; the only file that talks to it.
local config = require("gemini-bridge.config")
local notify = require("gemini-bridge.notify")
local status = require("gemini-bridge.status")

local M = {}

--- A crashed host is started again this often in a row.
local MAX_RESTARTS = 5
--- First pause before a restart in milliseconds; it doubles each time.
local FIRST_PAUSE = 100
--- A host that has run this long counts as healthy again (milliseconds).
local HEALTHY_AFTER = 60000
--- A host that does not end by itself within this time is killed (milliseconds).
local STOP_GRACE = 1500

---@class gemini_bridge.Host
---@field job? integer The private process.
---@field channel? integer Where events go: set when the host has attached.
---@field stopping boolean The end was asked for.
---@field started_at number Milliseconds.

---@type gemini_bridge.Host?
local host
local restarts = 0
--- A start that was asked for while the host before was still ending.
local start_again = false

local root =
  vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))))
--- The remote plugin's entry: the same file in both kinds of host.
local entry = root .. "/rplugin/node/gemini-bridge/index.js"

--- Everything that must not outlive a host, whatever way it ended. May run twice.
local function clean_up()
  local file = status.get().discoveryFile
  if file then
    vim.uv.fs_unlink(file)
  end
  require("gemini-bridge.environment").restore()
  require("gemini-bridge.context").unsubscribe()
end

--- Everything that outlives a host that crashed, but not the bridge.
---@param problem? string
local function stay_down(problem)
  require("gemini-bridge.diff").close_all("stopped")
  require("gemini-bridge.workspace").unwatch()
  require("gemini-bridge.context").untrack()
  status.set({ state = "stopped", workspace = {}, clients = {}, error = problem })
end

---@param ended gemini_bridge.Host
---@param reason string
local function on_end(ended, reason)
  if host ~= ended then
    return
  end
  host = nil
  local last = status.get()
  clean_up()
  if ended.stopping then
    stay_down(last.error)
    if start_again then
      start_again = false
      M.start()
    end
    return
  end
  M.recover(last, ended, reason)
end

--- Brings a crashed host back on the port and token that connected CLIs know.
---@param last gemini_bridge.HostStatus
---@param ended gemini_bridge.Host
---@param reason string
function M.recover(last, ended, reason)
  local ran = vim.uv.now() - ended.started_at
  if last.state ~= "running" and restarts == 0 then
    stay_down(reason)
    notify(
      ("The bridge did not start: %s. See :GeminiLog and :checkhealth gemini-bridge."):format(reason),
      "error"
    )
    return
  end
  if ran > HEALTHY_AFTER then
    restarts = 0
  end
  restarts = restarts + 1
  if restarts > MAX_RESTARTS then
    restarts = 0
    stay_down(reason)
    notify("The bridge keeps failing and was stopped. See :GeminiLog, then :GeminiStart.", "error")
    return
  end
  if restarts == 1 then
    notify(("The bridge's host ended unexpectedly (%s); starting it again."):format(reason), "warn")
  end
  status.set({ state = "starting", workspace = {}, clients = {}, port = last.port, token = last.token })
  local pause = FIRST_PAUSE * 2 ^ (restarts - 1)
  vim.defer_fn(function()
    if not host and status.get().state == "starting" then
      M.spawn()
    end
  end, pause)
end

--- Why the last lines of the host's standard error say it ended.
---@param code integer
---@param stderr string[]
local function exit_reason(code, stderr)
  for i = #stderr, 1, -1 do
    local line = vim.trim(stderr[i])
    if line ~= "" then
      return line
    end
  end
  return ("exit code %d"):format(code)
end

local function spawn_private()
  local stderr = {}
  local this = { stopping = false, started_at = vim.uv.now() }
  local ok, job = pcall(vim.fn.jobstart, { config.get().node, entry }, {
    rpc = true,
    on_stderr = function(_, lines)
      vim.list_extend(stderr, lines)
      if #stderr > 40 then
        stderr = vim.list_slice(stderr, #stderr - 20)
      end
    end,
    on_exit = vim.schedule_wrap(function(_, code)
      on_end(this, exit_reason(code, stderr))
    end),
  })
  if not ok or job <= 0 then
    return nil, ("cannot run %s; install Node 20 or later, or set the option node"):format(config.get().node)
  end
  this.job = job
  return this
end

local function spawn_shared()
  if vim.fn.exists("*GeminiBridgeStart") == 0 then
    return nil, "host = 'shared' needs :UpdateRemotePlugins and a restart of Neovim"
  end
  local this = { stopping = false, started_at = vim.uv.now() }
  local ok, err = pcall(vim.fn.GeminiBridgeStart)
  if not ok then
    return nil, tostring(err)
  end
  return this
end

--- Starts a host process. Answers nothing: the outcome comes as a status.
function M.spawn()
  local spawn = config.get().host == "shared" and spawn_shared or spawn_private
  local started, problem = spawn()
  if not started then
    status.set({ state = "stopped", workspace = {}, clients = {}, error = problem })
    notify("The bridge did not start: " .. problem, "error")
    return
  end
  host = started
end

--- Starts the bridge. Returns at once; does nothing when it runs already.
function M.start()
  if host and host.stopping then
    start_again = true
    return
  end
  if host or status.get().state == "starting" then
    return
  end
  restarts = 0
  status.set({ state = "starting", workspace = {}, clients = {} })
  M.spawn()
end

--- Stops the bridge. Returns at once; cancels a start that is under way.
function M.stop()
  start_again = false
  if not host then
    if status.get().state ~= "stopped" then
      stay_down()
    end
    return
  end
  if host.stopping then
    return
  end
  host.stopping = true
  status.set(vim.tbl_extend("force", status.get(), { state = "stopping" }))
  local this = host
  if this.channel then
    M.notify("stop", vim.empty_dict())
  elseif this.job then
    vim.fn.jobstop(this.job)
  end
  vim.defer_fn(function()
    if host == this and this.job then
      vim.fn.jobstop(this.job)
    elseif host == this then
      on_end(this, "stopped")
    end
  end, STOP_GRACE)
end

--- Stops the bridge and starts it again as soon as it has ended.
function M.restart()
  M.stop()
  M.start()
end

--- Sends an event to the host. One that cannot be sent is dropped: the end of
--- the host is noticed and handled elsewhere.
---@param event string
---@param payload table
---@return boolean sent
function M.notify(event, payload)
  if not (host and host.channel) then
    return false
  end
  if host.job or config.get().host ~= "shared" then
    return (pcall(vim.rpcnotify, host.channel, "gemini_bridge", event, payload))
  end
  local this = host
  local ok, err = pcall(vim.fn.GeminiBridgeEvent, event, payload)
  if not ok then
    -- The standard host has no exit event: a call that fails is how its death shows (E475).
    vim.schedule(function()
      on_end(this, tostring(err))
    end)
  end
  return ok
end

--- A host has attached: tells it what it needs to know.
---@param params { channel: integer, pid: integer }
function M.attached(params)
  host = host or { stopping = false, started_at = vim.uv.now() }
  host.channel = params.channel
  require("gemini-bridge.workspace").watch()
  require("gemini-bridge.context").track()
  local last = status.get()
  return {
    -- The CLI takes the grandparent of the shell in :terminal, which is the parent of this process.
    idePid = vim.uv.os_getppid(),
    logFile = M.log_file(),
    logLevel = config.get().log.level,
    workspace = require("gemini-bridge.workspace").get(),
    port = last.port,
    token = last.token,
    lastDiffId = require("gemini-bridge.diff").last_id(),
  }
end

---@param new gemini_bridge.HostStatus
function M.on_status(new)
  local failed = new.state == "stopped" and new.error
  if host and new.state == "stopped" then
    host.stopping = true
  end
  status.set(new)
  if failed then
    notify("The bridge did not start: " .. new.error, "error")
  end
  if new.state == "stopped" and host and not host.job then
    on_end(host, "stopped")
  end
end

--- @return string # Where the host writes its log.
function M.log_file()
  return vim.fs.joinpath(vim.fn.stdpath("log"), "gemini-bridge.log")
end

return M
