--- Starts, watches and restarts the Node host.
local channel = require("gemini-bridge.bridge.channel")
local notify = require("gemini-bridge.notify")
local process = require("gemini-bridge.host.process")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Maximum number of consecutive restarts.
local MAX_RESTARTS = 5
--- Delay before the first restart. Doubles with each further restart.
local FIRST_DELAY_MS = 100
--- Time after which a running host counts as healthy. The number of restarts is then reset.
local HEALTHY_AFTER_MS = 60000
--- Time for a host to exit before it is killed.
local STOP_TIMEOUT_MS = 1500

---@class gemini_bridge.Host
---@field start integer Number of the start. A shared host can serve several starts, one after the other.
---@field job? integer Job of the private Node process.
---@field is_shared? boolean True if the standard Node host was asked to start the bridge.
---@field unwatch? fun() Stops polling the shared host. No event fires when the shared host ends.
---@field stopping boolean True if a stop was requested.
---@field keeps_reviews? boolean True if the next host continues the open reviews.
---@field started_at number Time of the start (milliseconds).

---@type gemini_bridge.Host?
local host
local starts = 0
local restarts = 0
--- Whether to start again when the previous host has ended.
local start_again = false

--- Maximum size of a discovery file of this plugin. Larger files are not read.
local MAX_SIZE_BYTES = 1000000

--- Returns whether a discovery file contains one of the bridge's tokens. If not, another editor may have written the
--- file.
---@param path string
---@return boolean
local function is_ours(path)
  local found = vim.uv.fs_lstat(path)
  -- Checks the type first, because opening a named pipe would block forever.
  local is_small = found and found.type == "file" and found.size <= MAX_SIZE_BYTES
  local text = is_small and require("gemini-bridge.disk.path").bytes(path) or ""
  return vim.iter(pairs(status.get().tokens or {})):any(function(_, token)
    return text:find(token, 1, true) ~= nil
  end)
end

--- Deletes the discovery files of a host that has ended or was killed. Idempotent.
local function remove_discovery_files()
  for _, path in ipairs(status.get().discoveryFiles or {}) do
    if is_ours(path) then
      vim.uv.fs_unlink(path)
    end
    -- Deletes the temporary file that remains if the host was killed during a write.
    vim.uv.fs_unlink(vim.fs.joinpath(vim.fs.dirname(path), ("." .. vim.fs.basename(path) .. ".tmp")))
  end
end

--- Functions that other modules have passed to `when_ended`.
---@type fun()[]
local listeners = {}

--- Calls a function whenever the host has ended, and when Neovim exits. The function must be idempotent.
---@param act fun()
function M.when_ended(act)
  listeners[#listeners + 1] = act
end

local function tell_listeners()
  vim.iter(listeners):each(function(act)
    act()
  end)
end

--- Removes everything that must not exist without a host. Idempotent.
local function clean_up()
  remove_discovery_files()
  require("gemini-bridge.host.environment").restore()
  require("gemini-bridge.context.snapshot_debounce").unsubscribe()
  tell_listeners()
end

--- Cleans up after the bridge has stopped, if there is no automatic restart.
---@param problem? string
---@param keeps_reviews? boolean True if the next host continues the open reviews.
local function stopped(problem, keeps_reviews)
  if not keeps_reviews then
    require("gemini-bridge.review.requests").close_all("stopped")
    require("gemini-bridge.review.decision").abandon()
    require("gemini-bridge.bridge.memory").forget_reviews()
  end
  tell_listeners()
  require("gemini-bridge.context.workspace").unwatch()
  require("gemini-bridge.disk.checktime").stop()
  require("gemini-bridge.context.snapshot_debounce").untrack()
  require("gemini-bridge.changes.changes").clear()
  require("gemini-bridge.model.published_diagnostics").untrack()
  -- If the module was never loaded, there is nothing to close.
  if package.loaded["gemini-bridge.model"] then
    require("gemini-bridge.model").close()
  end
  restarts = 0
  status.set({ state = "stopped", workspace = {}, clients = {}, error = problem })
end

--- Tells the user why the bridge cannot be started.
---@param problem string
local function failed(problem)
  stopped(problem)
  notify("The bridge did not start: " .. problem, "error")
end

--- Restarts the bridge after a crash.
---@param last gemini_bridge.HostStatus
---@param ended gemini_bridge.Host
---@param reason string
---@param start_problem? string Reason for a host that has not run.
local function recover(last, ended, reason, start_problem)
  if last.state ~= "running" and restarts == 0 then
    return failed(start_problem or reason)
  end
  if vim.uv.now() - ended.started_at > HEALTHY_AFTER_MS then
    restarts = 0
  end
  restarts = restarts + 1
  if restarts > MAX_RESTARTS then
    stopped(reason)
    notify(
      "The bridge has crashed repeatedly and stays stopped. :GeminiLog shows why, :GeminiStart tries again.",
      "error"
    )
    return
  end
  if restarts == 1 then
    notify(("The bridge has crashed (%s) and is being restarted."):format(reason), "warn")
  end
  local waiting = { state = "starting", workspace = {}, clients = {} }
  status.set(waiting)
  vim.defer_fn(function()
    -- A different status means that the user has stopped or restarted the bridge during the delay.
    if status.get() == waiting then
      M.spawn()
    end
  end, FIRST_DELAY_MS * 2 ^ (restarts - 1))
end

---@param ended gemini_bridge.Host
---@param reason string
---@param start_problem? string Reason for a host that has not run.
local function on_end(ended, reason, start_problem)
  if host ~= ended then
    return
  end
  host = nil
  channel.set(nil)
  require("gemini-bridge.bridge.request").host_ended()
  require("gemini-bridge.bridge.memory").host_ended(ended.stopping)
  if ended.unwatch then
    ended.unwatch()
  end
  local last = status.get()
  clean_up()
  if vim.v.exiting ~= vim.NIL then
    -- Neovim ends the host's process on exit. This is not a crash.
    return
  end
  if not ended.stopping then
    return recover(last, ended, reason, start_problem)
  end
  stopped(last.error, start_again and ended.keeps_reviews)
  if start_again then
    start_again = false
    M.start()
  end
end

--- Starts a host. The host reports its status later.
function M.spawn()
  starts = starts + 1
  local this = { start = starts, stopping = false, started_at = vim.uv.now() }
  local job, problem = process.spawn(starts, function(reason, start_problem)
    on_end(this, reason, start_problem)
  end)
  if problem then
    return failed(problem)
  end
  this.job, this.is_shared = job, not job
  host = this
end

--- Starts the bridge and returns immediately. If the bridge is already running, only writes the discovery files again.
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
  require("gemini-bridge.context.snapshot_debounce").track()
  require("gemini-bridge.disk.checktime").listen()
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("gemini-bridge.host", {}),
    -- Deletes the discovery files even if the host hangs and cannot delete them itself.
    callback = clean_up,
  })
end

--- Stops the bridge, or cancels a start. Returns immediately.
---@param keeps_reviews? boolean True if the bridge starts again at once, and the next host continues the open reviews.
function M.stop(keeps_reviews)
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
  host.stopping, host.keeps_reviews = true, keeps_reviews
  require("gemini-bridge.bridge.memory").host_ended(true)
  status.set(vim.tbl_extend("force", status.get(), { state = "stopping" }))
  if not keeps_reviews then
    -- Saves the user's edits before the host ends the reviews of its CLIs.
    require("gemini-bridge.review.requests").close_all("stopped")
  end
  local this = host
  if channel.is_open() then
    channel.notify("stop", { keepsReviews = keeps_reviews or false })
  elseif this.job then
    vim.fn.jobstop(this.job)
  end
  vim.defer_fn(function()
    if host == this and this.job then
      vim.fn.jobstop(this.job)
    elseif host == this then
      on_end(this, "stopped")
    end
  end, STOP_TIMEOUT_MS)
end

--- Stops the bridge, and starts it again after the old host has ended. Keeps the reviews open.
function M.restart()
  M.stop(true)
  M.start()
end

--- Returns whether a host belongs to the latest start. Calls of other hosts must be refused.
---@param start integer Number of the start that the host serves.
---@return boolean
function M.is_current(start)
  return host ~= nil and host.start == start
end

--- Handles a host that attaches: returns the boot data. Raises an error if the user has stopped the bridge.
---@param params gemini_bridge.calls.attach
function M.attached(params)
  if host and host.stopping then
    error("the bridge was stopped", 0)
  end
  host = host or { start = starts, stopping = false, started_at = vim.uv.now() }
  channel.set(params.channel or host.job, host.is_shared)
  if not host.job then
    local this = host
    host.unwatch = process.watch(params.pid, function()
      on_end(this, "the standard Node host has ended")
    end)
  end
  require("gemini-bridge.context.workspace").watch(require("gemini-bridge.context.snapshot_debounce").refresh)
  require("gemini-bridge.context.snapshot_debounce").track()
  require("gemini-bridge.model.published_diagnostics").track()
  require("gemini-bridge.changes.changes").clear() -- the host sends all changes again
  return require("gemini-bridge.host.boot").make()
end

--- Handles a new status of the bridge. Tells the user if a start has failed.
---@param new gemini_bridge.HostStatus
function M.on_status(new)
  if new.state ~= "stopped" then
    -- A host that was asked to stop may still report "starting" or "running". Ignores such a state.
    new.state = host and host.stopping and "stopping" or new.state
    local is_new = new.state == "running" and status.get().state ~= "running"
    status.set(new)
    if is_new then
      require("gemini-bridge.bridge.memory").host_runs()
      require("gemini-bridge.review.saved_texts").restore()
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
  -- The state becomes "stopped" after the cleanup in `on_end`. For a private host, `on_end` runs when the process
  -- exits.
  status.set(vim.tbl_extend("force", status.get(), { state = "stopping", error = new.error }))
  if not host.job then
    on_end(host, "stopped")
  end
end

return M
