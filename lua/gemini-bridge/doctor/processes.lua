--- What this system tells about processes. Linux tells it in /proc, macOS through ps and lsof.
local M = {}

--- Programs of the system that take longer hang (milliseconds).
local TIMEOUT = 3000

--- The CLI looks for one of these above itself, and no further up than this.
local SHELLS = { "zsh", "bash", "sh", "tcsh", "csh", "ksh", "fish", "dash" }
local MAX_DEPTH = 32

---@param ... string
---@return string output Empty when the program fails or is missing.
local function run(...)
  local ok, process = pcall(vim.system, { ... }, { text = true })
  local result = ok and process:wait(TIMEOUT) or nil
  return result and result.code == 0 and result.stdout or ""
end

---@param path string
---@return string?
local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a") or nil
  if file then
    file:close()
  end
  return text
end

---@class gemini_bridge.Process
---@field parent integer 0 for a process that is not there.
---@field name string As the CLI takes it: the last part of the command line's first word.
---@field command string

--- Asked in the words of the CLI (Gemini CLI 0.61.0, `getProcessInfo`), to be told what it is told.
---@param pid integer
---@return gemini_bridge.Process
function M.info(pid)
  local parent, command = run("ps", "-o", "ppid=,command=", "-p", tostring(pid)):match("^%s*(%d+)%s*(.-)%s*$")
  return {
    parent = tonumber(parent) or 0,
    name = vim.fs.basename((command or ""):match("^[^ ]*")),
    command = command or "",
  }
end

--- The process that a CLI takes for its editor: from itself upwards to the first shell, and from there to
--- that shell's grandparent; without a shell, the topmost process (`getIdeProcessInfoForUnix`).
---@param pid integer Of the CLI.
---@return integer
function M.ide_pid(pid)
  local current = pid
  for _ = 1, MAX_DEPTH do
    local process = M.info(current)
    if vim.list_contains(SHELLS, process.name) then
      return M.above(process.parent)
    elseif process.parent <= 1 then
      break
    end
    current = process.parent
  end
  return current
end

--- The end of that walk from a shell below `pid`: its parent, unless that is init.
---@param pid integer
---@return integer
function M.above(pid)
  local parent = M.info(pid).parent
  return parent > 1 and parent or pid
end

--- The processes that run a program, by its name or as a script of Node's. Of one that started itself anew, as
--- Gemini CLI does, only the first.
---@param name string Such as "gemini".
---@return { pid: integer, command: string }[]
function M.find(name)
  local found, parents = {}, {} ---@type table<integer, string>, table<integer, integer>
  for line in run("ps", "-A", "-ww", "-o", "pid=,ppid=,command="):gmatch("[^\n]+") do
    local pid, parent, command = line:match("^%s*(%d+)%s+(%d+)%s+(.*)$")
    local words = vim.tbl_map(vim.fs.basename, vim.split(command or "", "%s+"))
    if words[1] == name or words[1] == "node" and vim.list_contains(words, name) then
      found[tonumber(pid)], parents[tonumber(pid)] = command, tonumber(parent)
    end
  end
  local list = {}
  for pid, command in vim.spairs(found) do
    if not found[parents[pid]] then
      list[#list + 1] = { pid = pid, command = command }
    end
  end
  return list
end

--- The environment of a process as `ps` prints it: one line, the command first. What looks like a variable inside
--- a value cuts that value short.
---@param pid integer
---@return table<string, string>
function M.printed_environment(pid)
  local environment = {}
  local text = run("ps", "eww", "-o", "command=", "-p", tostring(pid))
  for name, rest in text:gmatch("%s([%a_][%w_]*)=()") do
    environment[name] = text:match("^(.-)%s+[%a_][%w_]*=", rest) or vim.trim(text:sub(rest))
  end
  return environment
end

--- The environment a process was started with.
---@param pid integer
---@return table<string, string>? environment `nil` when it cannot be read.
function M.environment(pid)
  local text = read(("/proc/%d/environ"):format(pid))
  local environment = text and {} or M.printed_environment(pid)
  for name, value in (text or ""):gmatch("([^=%z]+)=([^%z]*)") do
    environment[name] = value
  end
  return next(environment) and environment or nil
end

---@param pid integer
---@return string? directory
function M.directory(pid)
  return vim.uv.fs_readlink(("/proc/%d/cwd"):format(pid))
    or run("lsof", "-a", "-p", tostring(pid), "-d", "cwd", "-Fn"):match("\nn([^\n]+)")
end

--- How long a process has been running, in seconds.
---@param pid integer
---@return integer?
function M.age(pid)
  local days, hours, minutes, seconds =
    run("ps", "-o", "etime=", "-p", tostring(pid)):match("(%d*)%-?(%d*):?(%d%d):(%d%d)%s*$")
  if not seconds then
    return
  end
  -- "[[dd-]hh:]mm:ss": without days, what stands first are the hours.
  if hours == "" then
    days, hours = "", days
  end
  local function number(text)
    return tonumber(text) or 0
  end
  return ((number(days) * 24 + number(hours)) * 60 + number(minutes)) * 60 + number(seconds)
end

--- The inodes of a process's established connections to a port of any machine.
---@param pid integer
---@param port integer
---@return table<string, true>
local function connections(pid, port)
  local inodes = {}
  for _, family in ipairs({ "tcp", "tcp6" }) do
    local wanted = ("%%x+:%%x+ %%x+:%04X 01 "):format(port)
    for line in (read(("/proc/%d/net/%s"):format(pid, family)) or ""):gmatch("[^\n]+") do
      if line:find(wanted) then
        inodes[vim.split(vim.trim(line), "%s+")[10]] = true
      end
    end
  end
  return inodes
end

--- Whether a process, or one below it, is connected to a port of this machine.
---@param pid integer
---@param port integer
---@return boolean
function M.is_connected(pid, port)
  for _, child in ipairs(vim.api.nvim_get_proc_children(pid)) do
    if M.is_connected(child, port) then
      return true
    end
  end
  if vim.fn.has("linux") == 0 then
    local id, address = tostring(pid), "-iTCP:" .. port
    return run("lsof", "-nP", "-a", "-p", id, address, "-sTCP:ESTABLISHED") ~= ""
  end
  local inodes = connections(pid, port)
  local directory = ("/proc/%d/fd"):format(pid)
  for name in vim.fs.dir(directory) do
    local target = vim.uv.fs_readlink(directory .. "/" .. name) or ""
    if inodes[target:match("^socket:%[(%d+)%]$")] then
      return true
    end
  end
  return false
end

return M
