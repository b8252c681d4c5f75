--- Starts the host in a private Node process, or in Neovim's standard Node host (`host = "shared"`).
local bundle = require("gemini-bridge.host.bundle")
local config = require("gemini-bridge.config")

local M = {}

--- Maximum number of lines of standard error to keep. The lines are used to report why a process ended.
local MAX_STDERR_LINES = 40
--- Maximum number of these lines in a message about a failed start.
local MAX_STDERR_SHOWN = 5

--- Interval for polling whether the standard Node host is running.
local WATCH_INTERVAL_MS = 500

--- The file that both kinds of host load: the entry of the Node remote plugin.
local entry = bundle.root .. "/rplugin/node/gemini-bridge/index.js"

--- Returns the reason why a process ended, in a few words.
---@param code integer Exit code. For a killed process, 128 plus the number of the signal.
---@param stderr string[]
---@return string
local function exit_reason(code, stderr)
  -- Prefers the line of a fatal error to the last line, because V8 prints only addresses after such an error.
  local fatal = vim.iter(stderr):find(function(line)
    return vim.startswith(line, "FATAL ERROR")
  end)
  if fatal or code > 128 then
    return fatal or ("killed by signal %d"):format(code - 128)
  end
  local last = vim.iter(stderr):map(vim.trim):rfind(function(line)
    return line ~= ""
  end)
  return last or ("exit code %d"):format(code)
end

--- Returns the reason why the program of the option `node` ended before the host ran. The program may be a script of a
--- version manager, which prints several lines and looks for a version in the working directory.
---@param node string
---@param reason string
---@param stderr string[]
---@return string
local function start_problem(node, reason, stderr)
  local lines = vim.iter(stderr):map(vim.trim):filter(function(line)
    return line ~= "" and not vim.startswith(line, "at ")
  end)
  local text = table.concat(lines:take(MAX_STDERR_SHOWN):totable(), " ")
  local message = "%s (%s, run in %s). Set the option node to another program, or see :GeminiLog and "
    .. ":checkhealth gemini-bridge."
  return message:format(text ~= "" and text or reason, vim.fn.exepath(node), bundle.root)
end

---@param on_exit fun(reason: string, start_problem: string)
---@return integer? job
---@return string? problem
local function spawn_private(on_exit)
  local stderr = {}
  local node = config.get().node
  -- Limits the memory for new objects. Otherwise the host would need 120 MB instead of 95 MB after 500 reviews.
  local ok, job = pcall(vim.fn.jobstart, { node, "--max-semi-space-size=4", entry }, {
    rpc = true,
    -- Does not use Neovim's current directory: it may have been deleted, and Node could then not start.
    cwd = bundle.root,
    -- Makes glibc return freed memory to the system. Otherwise a review of 10 MB would leave 50 MB allocated. Other C
    -- libraries ignore these variables.
    env = { MALLOC_ARENA_MAX = "1", MALLOC_MMAP_THRESHOLD_ = "131072" },
    on_stderr = function(_, lines)
      vim.list_extend(stderr, lines)
      if #stderr > MAX_STDERR_LINES then
        stderr = vim.list_slice(stderr, #stderr - MAX_STDERR_LINES / 2)
      end
    end,
    on_exit = vim.schedule_wrap(function(_, code)
      local reason = exit_reason(code, stderr)
      on_exit(reason, start_problem(node, reason, stderr))
    end),
  })
  if ok and job > 0 then
    return job
  end
  -- The advice is at the end, because a narrow window shows only the start and the end of a message.
  return nil, ("cannot run %s; set the option node, or install Node 20 or later"):format(node)
end

---@param start integer
---@return string? problem
local function spawn_shared(start)
  -- Does not check exists(): Neovim defines the function of a remote plugin only at its first call.
  local ok, err = pcall(vim.fn.GeminiBridgeStart, start)
  if not ok and tostring(err):find("E117", 1, true) then
    return "host = 'shared' needs the npm package neovim, :UpdateRemotePlugins and a restart; see :GeminiDoctor"
  end
  if not ok then
    return "the standard Node host has ended; restart Neovim, or set host = 'private'"
  end
end

--- Polls whether the standard Node host is running. Needed, because no event fires when that host ends.
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
    -- Any error means that the host has ended. With EPERM, the process id already belongs to a process of another user.
    if vim.uv.kill(pid, 0) ~= 0 then
      stop()
      vim.schedule(on_exit)
    end
  end)
  return stop
end

--- Starts a host. The host attaches to Neovim by itself.
---@param start integer Number of the start. The standard Node host sends the number with each call.
---@param on_exit fun(reason: string, start_problem: string) Called once when a private process ends. The second text
--- says why the process has not even started the host. Never called for the standard Node host.
---@return integer? job The job of a private process.
---@return string? problem The reason why the host could not start, as a sentence.
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
