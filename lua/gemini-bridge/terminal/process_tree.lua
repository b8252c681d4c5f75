--- Ends programs together with everything they started.
local M = {}

--- Time to end in an orderly way, in milliseconds.
local GRACE = 1000

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

--- A process and all below it, parents first.
---@param pid integer
---@return integer[]
function M.tree(pid)
  local pids = { pid }
  for _, child in ipairs(vim.api.nvim_get_proc_children(pid)) do
    vim.list_extend(pids, M.tree(child))
  end
  return pids
end

--- Whether a process has ended and nobody has collected it yet. Unknown where there is no /proc.
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

--- Whether it exists and is not a zombie, which nobody may ever come to collect.
---@param pid integer
---@return boolean
function M.is_alive(pid)
  return vim.uv.kill(pid, 0) == 0 and not is_zombie(pid)
end

--- Ends a program and its children when Neovim is killed and can do nothing itself.
---@param pid integer Leader of its process group, as every program in a terminal is.
---@return integer job To be stopped when the program has ended.
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

--- Asks processes to end and kills those that do not. Closing the terminal alone is not enough: Gemini CLI ignores the
--- hangup, and what it runs is in process groups of its own.
---@param pids integer[] From |tree()|, taken while the root was alive: orphans belong to nobody's tree.
---@param wait? boolean Return when it is done, for the end of Neovim; else at once.
function M.finish(pids, wait)
  send(pids, "sigterm")
  if wait then
    vim.wait(GRACE, function()
      return not vim.iter(pids):any(M.is_alive)
    end, 10)
    send(vim.tbl_filter(M.is_alive, pids), "sigkill")
  else
    vim.defer_fn(function()
      send(vim.tbl_filter(M.is_alive, pids), "sigkill")
    end, GRACE)
  end
end

return M
