--- Ends a program and all its descendants.
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

--- Delay between SIGTERM and SIGKILL (milliseconds).
local KILL_DELAY_MS = 1000

--- Script for `sh` that waits until its standard input is closed, and then ends a process, its descendants and its
--- process group. The group includes descendants whose parent has already ended. `ps` runs only once, so that the list
--- contains no processes that the script starts later.
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

--- Returns a process and all its descendants, parents first.
---@param pid integer
---@return integer[]
function M.tree(pid)
  local pids = { pid }
  for _, child in ipairs(vim.api.nvim_get_proc_children(pid)) do
    vim.list_extend(pids, M.tree(child))
  end
  return pids
end

--- Returns whether a process is a zombie. Always false without /proc.
---@param pid integer
---@return boolean
local function is_zombie(pid)
  local stat = io.open(("/proc/%d/stat"):format(pid))
  if not stat then
    return false
  end
  local text = stat:read("*a") or ""
  stat:close()
  return text:find("%) Z [^)]*$") ~= nil
end

--- Returns whether a process exists and is not a zombie.
---@param pid integer
---@return boolean
function M.is_alive(pid)
  return vim.uv.kill(pid, 0) == 0 and not is_zombie(pid)
end

--- Starts a guard process. If Neovim is killed, the guard ends a program and the program's descendants.
---@param pid integer Leader of a process group, as every program in a terminal is.
---@return integer job Stop this job when the program has ended.
function M.guard(pid)
  return vim.fn.jobstart({ "sh", "-c", M.GUARD, "sh", tostring(pid) })
end

---@param pids integer[]
---@param signal string
local function send(pids, signal)
  for _, pid in ipairs(pids) do
    vim.uv.kill(pid, signal)
  end
end

--- Ends processes with SIGTERM, then with SIGKILL. To close the terminal is not enough: Gemini CLI ignores the hangup
--- signal, and its children have their own process groups.
---@param pids integer[] Result of |tree()|, which must be called before the root process ends.
---@param wait? boolean Whether to wait until the processes have ended. Used when Neovim exits.
function M.finish(pids, wait)
  send(pids, "sigterm")
  if wait then
    vim.wait(KILL_DELAY_MS, function()
      return not vim.iter(pids):any(M.is_alive)
    end, 10)
    send(vim.tbl_filter(M.is_alive, pids), "sigkill")
  else
    scheduler.after(KILL_DELAY_MS, function()
      send(vim.tbl_filter(M.is_alive, pids), "sigkill")
    end)
  end
end

return M
