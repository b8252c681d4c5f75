--- Starts the host: in a private Node process, or in Neovim's standard Node host (`host = "shared"`).
local bundle = require("gemini-bridge.host.bundle")
local config = require("gemini-bridge.config")

local M = {}

--- Maximum number of lines of standard error that are kept, to report why a process ended.
local MAX_STDERR_LINES = 40

--- Polling interval for the standard host.
local WATCH_INTERVAL_MS = 500

--- The file that both kinds of host load: the entry of the remote plugin.
local entry = bundle.root .. "/rplugin/node/gemini-bridge/index.js"

--- Returns in a few words why a process ended.
---@param code integer Exit code; 128 plus the number of the signal for a killed process.
---@param stderr string[]
---@return string
local function exit_reason(code, stderr)
  for _, line in ipairs(stderr) do
    -- Returns this line, because V8 prints only addresses after it.
    if vim.startswith(line, "FATAL ERROR") then
      return line
    end
  end
  if code > 128 then
    return ("killed by signal %d"):format(code - 128)
  end
  for i = #stderr, 1, -1 do
    local line = vim.trim(stderr[i])
    if line ~= "" then
      return line
    end
  end
  return ("exit code %d"):format(code)
end

---@param on_exit fun(reason: string)
---@return integer? job
---@return string? problem
local function spawn_private(on_exit)
  local stderr = {}
  local node = config.get().node
  local ok, job = pcall(vim.fn.jobstart, { node, entry }, {
    rpc = true,
    -- Not Neovim's current directory, because it may have been deleted, and Node cannot start in a deleted directory.
    cwd = bundle.root,
    -- Makes glibc return freed memory to the system. Otherwise a review of 10 MB would leave 50 MB behind. Other C
    -- libraries ignore these variables.
    env = { MALLOC_ARENA_MAX = "1", MALLOC_MMAP_THRESHOLD_ = "131072" },
    on_stderr = function(_, lines)
      vim.list_extend(stderr, lines)
      if #stderr > MAX_STDERR_LINES then
        stderr = vim.list_slice(stderr, #stderr - MAX_STDERR_LINES / 2)
      end
    end,
    on_exit = vim.schedule_wrap(function(_, code)
      on_exit(exit_reason(code, stderr))
    end),
  })
  if ok and job > 0 then
    return job
  end
  -- The advice comes last, because a narrow window shows only the start and the end of a message.
  return nil, ("cannot run %s; set the option node, or install Node 20 or later"):format(node)
end

---@param start integer
---@return string? problem
local function spawn_shared(start)
  -- Calls the function without checking exists(): Neovim defines the function only when it is first called.
  local ok, err = pcall(vim.fn.GeminiBridgeStart, start)
  if not ok and tostring(err):find("E117", 1, true) then
    return "host = 'shared' needs the npm package neovim, :UpdateRemotePlugins and a restart; see :GeminiDoctor"
  end
  if not ok then
    return "the standard Node host has ended; restart Neovim, or set host = 'private'"
  end
end

--- Polls whether the standard host is running, because its end fires no event.
---@param pid integer
---@param on_exit fun() Called once.
---@return fun() stop Idempotent.
function M.watch(pid, on_exit)
  local timer = assert(vim.uv.new_timer())
  local function stop()
    if not timer:is_closing() then
      timer:close()
    end
  end
  timer:start(WATCH_INTERVAL_MS, WATCH_INTERVAL_MS, function()
    -- Any error means that the host has ended, even EPERM: the process id then belongs to a process of another user.
    if vim.uv.kill(pid, 0) ~= 0 then
      stop()
      vim.schedule(on_exit)
    end
  end)
  return stop
end

--- Starts a host, which then attaches by itself.
---@param start integer Number of the start, which the standard host sends with each call.
---@param on_exit fun(reason: string) Called once when a private process ends. See `M.watch` for the standard host.
---@return integer? job The job of a private process.
---@return string? problem Why the host could not be started, as a sentence.
function M.spawn(start, on_exit)
  local problem = bundle.problem()
  if problem then
    return nil, problem
  end
  if config.get().host == "shared" then
    return nil, spawn_shared(start)
  end
  return spawn_private(on_exit)
end

return M
