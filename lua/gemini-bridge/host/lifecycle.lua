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
--- A host that has run for this time counts as healthy: if it ends, restarts are counted from 0 again.
local HEALTHY_AFTER_MS = 60000
--- Time for a host to end by itself before it is killed.
local STOP_TIMEOUT_MS = 1500

---@class gemini_bridge.Host
---@field start integer Number of the start. The shared host serves several starts in turn.
---@field job? integer Job of the private process.
---@field unwatch? fun() Stops polling the shared host, whose end fires no event.
---@field stopping boolean Whether a stop was requested.
---@field started_at number Milliseconds.

---@type gemini_bridge.Host?
local host
local starts = 0
local restarts = 0
--- Whether a start was requested while the previous host was ending.
local start_again = false

--- Maximum size of a discovery file. A larger file is not from this plugin.
local MAX_SIZE_BYTES = 1000000

--- Whether a discovery file belongs to this bridge, that is, contains one of its tokens. A file without a process id in
--- its name may belong to another editor.
---@param path string
---@return boolean
local function is_ours(path)
  local found = vim.uv.fs_lstat(path)
  -- Checks the type, because reading a named pipe would block forever.
  local file = found and found.type == "file" and found.size <= MAX_SIZE_BYTES and io.open(path, "rb")
  if not file then
    return false
  end
  local text = file:read("*a") or ""
  file:close()
  return vim.iter(pairs(status.get().tokens or {})):any(function(_, token)
    return text:find(token, 1, true) ~= nil
  end)
end

--- Deletes the discovery files of a host that can no longer delete them itself. Idempotent.
local function remove_discovery_files()
  for _, path in ipairs(status.get().discoveryFiles or {}) do
    if is_ours(path) then
      vim.uv.fs_unlink(path)
    end
    -- Removes the temporary file that is left if the host was killed while writing the discovery file.
    vim.uv.fs_unlink(vim.fs.joinpath(vim.fs.dirname(path), ("." .. vim.fs.basename(path) .. ".tmp")))
  end
end

--- Called when the host has ended: saves the texts of undelivered prompts. Idempotent.
local function abandon_prompts()
  -- If the module is not loaded, there are no prompts.
  local outbox = package.loaded["gemini-bridge.prompt.outbox"]
  if outbox then
    outbox.abandon()
  end
end

--- Removes everything that must not outlive a host. Idempotent.
local function clean_up()
  remove_discovery_files()
  require("gemini-bridge.host.environment").restore()
  require("gemini-bridge.context.snapshot_debounce").unsubscribe()
  abandon_prompts()
end

--- Cleans up when the bridge has stopped and is not restarted automatically.
---@param problem? string
local function stopped(problem)
  require("gemini-bridge.review.requests").close_all("stopped")
  require("gemini-bridge.review.decision").abandon()
  require("gemini-bridge.bridge.memory").forget_reviews()
  abandon_prompts()
  require("gemini-bridge.context.workspace").unwatch()
  require("gemini-bridge.context.snapshot_debounce").untrack()
  require("gemini-bridge.changes.changes").clear()
  require("gemini-bridge.model.published_diagnostics").untrack()
  -- If the module is not loaded, there is nothing to close.
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

--- Restarts the host after a crash.
---@param last gemini_bridge.HostStatus
---@param ended gemini_bridge.Host
---@param reason string
local function recover(last, ended, reason)
  if last.state ~= "running" and restarts == 0 then
    return failed(("%s. See :GeminiLog and :checkhealth gemini-bridge."):format(reason))
  end
  if vim.uv.now() - ended.started_at > HEALTHY_AFTER_MS then
    restarts = 0
  end
  restarts = restarts + 1
  if restarts > MAX_RESTARTS then
    stopped(reason)
    notify("The bridge keeps failing and was stopped: see :GeminiLog, then run :GeminiStart", "error")
    return
  end
  if restarts == 1 then
    notify(("The bridge ended unexpectedly (%s); restarting"):format(reason), "warn")
  end
  local waiting = { state = "starting", workspace = {}, clients = {} }
  status.set(waiting)
  vim.defer_fn(function()
    -- If the status has been replaced, the user has stopped or restarted the bridge meanwhile.
    if status.get() == waiting then
      M.spawn()
    end
  end, FIRST_DELAY_MS * 2 ^ (restarts - 1))
end

---@param ended gemini_bridge.Host
---@param reason string
local function on_end(ended, reason)
  if host ~= ended then
    return
  end
  host = nil
  channel.set(nil)
  require("gemini-bridge.bridge.memory").host_ended()
  if ended.unwatch then
    ended.unwatch()
  end
  local last = status.get()
  clean_up()
  if vim.v.exiting ~= vim.NIL then
    -- Neovim is exiting, and so has ended the host's process: this is no crash.
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

--- Starts a host, which reports its status later.
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

--- Starts the bridge. Returns at once. A running bridge only writes its discovery files again.
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
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("gemini-bridge.host", {}),
    -- Cleans up in any case, because a host that hangs cannot remove its discovery files itself.
    callback = clean_up,
  })
end

--- Stops the bridge, or cancels its start. Returns at once.
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
  end, STOP_TIMEOUT_MS)
end

--- Whether a start is the latest one. The caller refuses calls that belong to earlier starts.
---@param start integer
---@return boolean
function M.is_current(start)
  return host ~= nil and host.start == start
end

--- Called when a host has attached. Raises an error if the bridge was stopped meanwhile.
---@param params gemini_bridge.calls.attach
function M.attached(params)
  if host and host.stopping then
    error("the bridge was stopped", 0)
  end
  host = host or { start = starts, stopping = false, started_at = vim.uv.now() }
  channel.set(params.channel or host.job)
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

---@param new gemini_bridge.HostStatus
function M.on_status(new)
  if new.state ~= "stopped" then
    -- After a stop was requested, the host may still report that it is starting or running: the state stays "stopping".
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
  -- The state becomes "stopped" only after the cleanup in `on_end`, which for a private host runs when its process
  -- exits.
  status.set(vim.tbl_extend("force", status.get(), { state = "stopping", error = new.error }))
  if not host.job then
    on_end(host, "stopped")
  end
end

return M
