--- Starts, watches and restarts the Node host.
local channel = require("gemini-bridge.bridge.channel")
local notify = require("gemini-bridge.notify")
local process = require("gemini-bridge.host.process")
local status = require("gemini-bridge.bridge.status")

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
---@field start integer Which start it belongs to: the standard host serves one after the other.
---@field job? integer The private process.
---@field unwatch? fun() Of the standard host, which cannot be waited for.
---@field stopping boolean The end was asked for.
---@field started_at number Milliseconds.

---@type gemini_bridge.Host?
local host
local starts = 0
local restarts = 0
--- A start that was asked for while the host before was still ending.
local start_again = false

--- Everything that must not outlive a host, whatever way it ended. May run twice.
local function clean_up()
  require("gemini-bridge.host.discovery").remove()
  require("gemini-bridge.host.environment").restore()
  require("gemini-bridge.context.subscription").unsubscribe()
end

--- The bridge has stopped for good: nothing of it stays.
---@param problem? string
local function stopped(problem)
  require("gemini-bridge.review.reviews").close_all("stopped")
  require("gemini-bridge.review.lost").abandon()
  require("gemini-bridge.context.workspace").unwatch()
  require("gemini-bridge.context.subscription").untrack()
  require("gemini-bridge.changes.changes").clear()
  require("gemini-bridge.model.published").untrack()
  -- Where nobody has asked for the model, it is not loaded only to be closed.
  if package.loaded["gemini-bridge.model"] then
    require("gemini-bridge.model").close()
  end
  restarts = 0
  status.set({ state = "stopped", workspace = {}, clients = {}, error = problem })
end

---@param problem string
local function failed(problem)
  stopped(problem)
  notify("The bridge did not start: " .. problem, "error")
end

--- Starts a host in the place of one that crashed.
---@param last gemini_bridge.HostStatus
---@param ended gemini_bridge.Host
---@param reason string
local function recover(last, ended, reason)
  if last.state ~= "running" and restarts == 0 then
    return failed(("%s. See :GeminiLog and :checkhealth gemini-bridge."):format(reason))
  end
  if vim.uv.now() - ended.started_at > HEALTHY_AFTER then
    restarts = 0
  end
  restarts = restarts + 1
  if restarts > MAX_RESTARTS then
    stopped(reason)
    notify("The bridge keeps failing: see :GeminiLog, then :GeminiStart", "error")
    return
  end
  if restarts == 1 then
    notify(("Gemini's host ended unexpectedly (%s); restarting"):format(reason), "warn")
  end
  local waiting = { state = "starting", workspace = {}, clients = {} }
  status.set(waiting)
  vim.defer_fn(function()
    -- Unless the user has stopped the bridge meanwhile, or stopped and started it.
    if status.get() == waiting then
      M.spawn()
    end
  end, FIRST_PAUSE * 2 ^ (restarts - 1))
end

---@param ended gemini_bridge.Host
---@param reason string
local function on_end(ended, reason)
  if host ~= ended then
    return
  end
  host = nil
  channel.set(nil)
  if ended.unwatch then
    ended.unwatch()
  end
  local last = status.get()
  clean_up()
  if vim.v.exiting ~= vim.NIL then
    -- Neovim ends its processes when it ends.
    return
  end
  if not ended.stopping then
    return recover(last, ended, reason)
  end
  stopped(last.error)
  if start_again then
    start_again = false
    M.start()
  end
end

--- Starts a host process. Answers nothing: the outcome comes as a status.
function M.spawn()
  starts = starts + 1
  local this = { start = starts, stopping = false, started_at = vim.uv.now() }
  local job, problem = process.spawn(starts, function(reason)
    on_end(this, reason)
  end)
  if problem then
    return failed(problem)
  end
  this.job = job
  host = this
end

--- Starts the bridge. Returns at once; one that runs already makes itself known to CLIs again.
function M.start()
  if host and host.stopping then
    start_again = true
    return
  end
  if host or status.get().state == "starting" then
    channel.notify("announce", vim.empty_dict())
    return
  end
  status.set({ state = "starting", workspace = {}, clients = {} })
  M.spawn()
  if not host then
    return
  end
  require("gemini-bridge.context.subscription").track()
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("gemini-bridge.host", {}),
    -- A host that hangs would leave its file behind.
    callback = clean_up,
  })
end

--- Stops the bridge. Returns at once; cancels a start that is under way.
function M.stop()
  start_again = false
  if not host then
    if status.get().state ~= "stopped" then
      stopped()
    end
    return
  end
  if host.stopping then
    return
  end
  host.stopping = true
  status.set(vim.tbl_extend("force", status.get(), { state = "stopping" }))
  local this = host
  if channel.is_open() then
    channel.notify("stop", vim.empty_dict())
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

--- Whether a start is the one that the user wants: what an earlier one still says counts no more.
---@param start integer
---@return boolean
function M.is_current(start)
  return host ~= nil and host.start == start
end

--- A host has attached: tells it what it needs to know. Raises when it has been stopped meanwhile.
---@param params { channel?: integer, pid: integer }
function M.attached(params)
  if host and host.stopping then
    error("the bridge was stopped", 0)
  end
  host = host or { start = starts, stopping = false, started_at = vim.uv.now() }
  channel.set(params.channel or host.job)
  if not host.job then
    local this = host
    host.unwatch = process.watch(params.pid, function()
      on_end(this, "the standard Node host is gone")
    end)
  end
  require("gemini-bridge.context.workspace").watch(require("gemini-bridge.context.subscription").refresh)
  require("gemini-bridge.context.subscription").track()
  require("gemini-bridge.model.published").track()
  require("gemini-bridge.changes.changes").clear() -- the host tells anew what is changed
  return require("gemini-bridge.host.boot").make()
end

---@param new gemini_bridge.HostStatus
function M.on_status(new)
  if new.state ~= "stopped" then
    -- A stop that is under way is known here first.
    new.state = host and host.stopping and "stopping" or new.state
    local is_new = new.state == "running" and status.get().state ~= "running"
    status.set(new)
    if is_new then
      require("gemini-bridge.review.kept").restore()
    end
    return
  end
  if new.error and not (host and host.stopping) then
    notify("The bridge did not start: " .. new.error, "error")
  end
  if not host then
    return
  end
  host.stopping = true
  -- A private host is about to exit: "stopped" is said then, when everything is undone.
  status.set(vim.tbl_extend("force", status.get(), { state = "stopping", error = new.error }))
  if not host.job then
    on_end(host, "stopped")
  end
end

return M
