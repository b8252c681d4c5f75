--- Tells when a file on disk changes. Costs nothing while it does not.
local channel = require("gemini-bridge.bridge.channel")

local M = {}

--- How long a directory must have been still (milliseconds): most writes are first seen half done.
local SETTLE = 30
--- How often a file is looked at where the system has no room for another watch (milliseconds).
local POLL_INTERVAL = 2000

local poll_told = false

---@param path string
---@return string directory The nearest that exists.
local function existing_parent(path)
  local directory = vim.fs.dirname(path)
  while not vim.uv.fs_stat(directory) and directory ~= "/" do
    directory = vim.fs.dirname(directory)
  end
  return directory
end

---@param stat uv.fs_stat.result? Of a file that is not there: nil.
---@return string version Another one when the file has been written or replaced.
local function version_of(stat)
  return stat and ("%d.%d %d %d"):format(stat.mtime.sec, stat.mtime.nsec, stat.size, stat.ino) or "none"
end

--- Looks at a file now and then. What it is like now is asked for at once: |uv_fs_poll_t| has it asked by another
--- thread, and never tells of what is written before that thread gets to it.
---@param path string
---@param changed fun()
---@return uv.uv_timer_t
local function poll(path, changed)
  if not poll_told then
    poll_told = true
    local text = "the system has no room to watch more files (see fs.inotify in sysctl): they are polled"
    channel.notify("log", { level = "warn", text = text })
  end
  local last = version_of(vim.uv.fs_stat(path))
  local timer = assert(vim.uv.new_timer())
  local function look()
    vim.uv.fs_stat(path, function(_, stat)
      local version = version_of(stat)
      if version ~= last then
        last = version
        changed()
      end
      -- Only now: a disk that does not answer takes no more than one of libuv's threads.
      if not timer:is_closing() then
        timer:start(POLL_INTERVAL, 0, look)
      end
    end)
  end
  timer:start(POLL_INTERVAL, 0, look)
  return timer
end

--- Watches the directory, not the file: one that is replaced or not there yet is seen, too.
---@param path string Absolute, without symbolic links.
---@param changed fun() Called when something has happened to the file.
---@return fun() stop May run twice.
function M.start(path, changed)
  local name = vim.fs.basename(path)
  local timer = assert(vim.uv.new_timer())
  local handle ---@type (uv.uv_fs_event_t|uv.uv_timer_t)?
  local watched ---@type string?
  local arm

  local function settled()
    if timer:is_closing() then
      return
    end
    arm()
    changed()
  end

  local function soon()
    if not timer:is_closing() then
      timer:start(SETTLE, 0, vim.schedule_wrap(settled))
    end
  end

  function arm()
    local directory = existing_parent(path)
    if directory == watched then
      return
    end
    if handle then
      handle:close()
    end
    watched = directory
    local event = assert(vim.uv.new_fs_event())
    local is_parent = directory == vim.fs.dirname(path)
    local itself = vim.fs.basename(directory)
    local ok = event:start(directory, {}, function(problem, entry)
      if problem then
        return
      elseif entry == itself then
        watched = nil -- the directory has moved: another may take its place
      elseif is_parent and entry and entry ~= name then
        return
      end
      soon()
    end)
    if not ok then
      event:close()
    end
    handle = ok and event or poll(path, soon)
  end

  arm()
  return function()
    if not timer:is_closing() then
      timer:close()
      if handle then
        handle:close()
      end
    end
  end
end

return M
