--- What differs between operating systems: the only file in Lua that knows one from another.
local M = {}

---@alias gemini_bridge.System "linux"|"mac"|"windows"

--- The system that Neovim runs on; any Unix that is neither is like macOS.
---@type gemini_bridge.System
M.here = vim.fn.has("win32") == 1 and "windows" or vim.fn.has("linux") == 1 and "linux" or "mac"

---@class gemini_bridge.RunningProcess
---@field ppid integer
---@field words string[] Its command line.

local CIM =
  "Get-CimInstance Win32_Process | Select-Object ProcessId,ParentProcessId,CommandLine | ConvertTo-Json -Compress"

--- The command that lists all processes with their command lines.
---@param system gemini_bridge.System
---@return string[]
function M.list_command(system)
  if system == "windows" then
    return { "powershell", "-NoProfile", "-NonInteractive", "-Command", CIM }
  end
  return { "ps", "-A", "-ww", "-o", "pid=,ppid=,args=" }
end

---@param output string
---@return table<integer, gemini_bridge.RunningProcess>
local function parse_windows(output)
  local ok, told = pcall(vim.json.decode, output, { luanil = { object = true } })
  local found = {}
  if not ok or type(told) ~= "table" then
    return found
  end
  -- PowerShell writes one object alone where there is but one.
  local function is_process(each)
    return type(each) == "table" and type(each.ProcessId) == "number"
  end
  for _, each in ipairs(vim.tbl_filter(is_process, is_process(told) and { told } or told)) do
    -- What stands in double quotes is not taken apart.
    local line = (each.CommandLine or ""):gsub('"([^"]*)"', function(text)
      return (text:gsub(" ", "\1"))
    end)
    local words = vim.tbl_map(function(word)
      return (word:gsub("\1", " "))
    end, vim.split(line, "%s+", { trimempty = true }))
    found[each.ProcessId] = { ppid = each.ParentProcessId or 0, words = words }
  end
  return found
end

--- What that command has printed.
---@param system gemini_bridge.System
---@param output string
---@return table<integer, gemini_bridge.RunningProcess> # By process id.
function M.parse_list(system, output)
  if system == "windows" then
    return parse_windows(output)
  end
  local found = {}
  for pid, ppid, args in output:gmatch("(%d+)%s+(%d+)%s+([^\n]*)") do
    found[tonumber(pid)] = { ppid = tonumber(ppid), words = vim.split(args, "%s+") }
  end
  return found
end

--- A script for `sh` that waits for the end of its standard input, then ends a process, all below it and its process
--- group. The group contains the processes that a hangup has orphaned. The list of processes is read once: the script
--- itself may be below that process, and would follow its own children for ever.
M.GUARD = [[
trap '' HUP INT
read -r _
processes=$(ps -A -o pid=,ppid=)
tree() {
  echo "$1"
  echo "$processes" | while read -r pid ppid; do
    if [ "$ppid" = "$1" ]; then tree "$pid"; fi
  done
}
pids=$(tree "$1" | grep -vx "$$")
kill -TERM $pids "-$1"
sleep 1
kill -KILL $pids "-$1"
]]

--- The command that ends a process and all below it when its own standard input ends.
---@param system gemini_bridge.System
---@param pid integer
---@return string[]
function M.guard_command(system, pid)
  if system == "windows" then
    return { "cmd.exe", "/d", "/c", ("more >nul & taskkill /t /f /pid %d"):format(pid) }
  end
  return { "sh", "-c", M.GUARD, "sh", tostring(pid) }
end

--- Whether a process has ended and nobody has collected it yet.
---@param pid integer
---@return boolean
function M.is_zombie(pid)
  local stat = M.here == "linux" and io.open(("/proc/%d/stat"):format(pid))
  if not stat then
    return false
  end
  local text = stat:read("*a") or ""
  stat:close()
  return text:find("%) Z [^)]*$") ~= nil
end

--- The directory that a process is in.
---@param pid integer
---@return string? # Nothing where the system does not tell at once.
function M.directory_of(pid)
  return M.here == "linux" and vim.uv.fs_readlink(("/proc/%d/cwd"):format(pid)) or nil
end

return M
