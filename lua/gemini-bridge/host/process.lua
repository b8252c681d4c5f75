--- The Node process that serves this Neovim: a private one, or the standard host.
local config = require("gemini-bridge.config")

local M = {}

--- Lines of standard error that are kept, to say why a process ended.
local MAX_STDERR = 40

--- Between two looks at the standard host (milliseconds).
local WATCH_INTERVAL = 500

local root = vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)):match("^(.*)/lua/gemini%-bridge/")
--- The remote plugin's entry: the same file in both kinds of host.
local entry = root .. "/rplugin/node/gemini-bridge/index.js"

--- Why a process ended, in a few words.
---@param code integer Exit code; 128 and the signal's number for one that was killed.
---@param stderr string[]
---@return string
local function exit_reason(code, stderr)
  for _, line in ipairs(stderr) do
    -- V8 prints a page of addresses below this line.
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
    -- Node cannot start in a directory that has been deleted, which Neovim's may be.
    cwd = root,
    -- What was freed goes back to the system, also below what is in use: a review of 10 MB would leave 50 MB. These are
    -- glibc's; no other C library knows them.
    env = { MALLOC_ARENA_MAX = "1", MALLOC_MMAP_THRESHOLD_ = "131072" },
    on_stderr = function(_, lines)
      vim.list_extend(stderr, lines)
      if #stderr > MAX_STDERR then
        stderr = vim.list_slice(stderr, #stderr - MAX_STDERR / 2)
      end
    end,
    on_exit = vim.schedule_wrap(function(_, code)
      on_exit(exit_reason(code, stderr))
    end),
  })
  if ok and job > 0 then
    return job
  end
  -- The end stays visible in a narrow window.
  return nil, ("cannot run %s; set the option node, or install Node 20 or later"):format(node)
end

---@param start integer
---@return string? problem
local function spawn_shared(start)
  -- Not asked with exists(): the manifest defines the function when it is first called.
  local ok, err = pcall(vim.fn.GeminiBridgeStart, start)
  if not ok and tostring(err):find("E117", 1, true) then
    return "host = 'shared' needs the npm package neovim, :UpdateRemotePlugins and a restart; see :GeminiDoctor"
  end
  if not ok then
    return "the standard Node host has ended; restart Neovim, or set host = 'private'"
  end
end

--- Looks now and then whether the standard host lives: no event tells of its end.
---@param pid integer
---@param on_exit fun() Called once.
---@return fun() stop May run twice.
function M.watch(pid, on_exit)
  local timer = assert(vim.uv.new_timer())
  local function stop()
    if not timer:is_closing() then
      timer:close()
    end
  end
  timer:start(WATCH_INTERVAL, WATCH_INTERVAL, function()
    -- EPERM is an end, too: another user's process has got the number.
    if vim.uv.kill(pid, 0) ~= 0 then
      stop()
      vim.schedule(on_exit)
    end
  end)
  return stop
end

--- Starts a host. It attaches by itself, or `on_exit` is called, later and once.
---@param start integer The standard host says it with each call, as it may still be busy with an earlier start.
---@param on_exit fun(reason: string) Never called for the standard host: no event tells of its end.
---@return integer? job The process, when it is a private one.
---@return string? problem Why there is none, a sentence.
function M.spawn(start, on_exit)
  local problem = require("gemini-bridge.host.bundle").problem()
  if problem then
    return nil, problem
  end
  if config.get().host == "shared" then
    return nil, spawn_shared(start)
  end
  return spawn_private(on_exit)
end

return M
