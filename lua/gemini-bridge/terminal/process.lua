--- Ends programs together with everything they started.
local M = {}

--- Time to end in an orderly way, in milliseconds.
local GRACE = 1000

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

--- Whether it exists and is not a zombie, which nobody may ever come to collect.
---@param pid integer
---@return boolean
local function is_alive(pid)
  if vim.uv.kill(pid, 0) ~= 0 then
    return false
  end
  local stat = io.open(("/proc/%d/stat"):format(pid))
  if not stat then
    return true
  end
  local text = stat:read("*a") or ""
  stat:close()
  return not text:find("%) Z [^)]*$")
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
      return not vim.iter(pids):any(is_alive)
    end, 10)
    send(vim.tbl_filter(is_alive, pids), "sigkill")
  else
    vim.defer_fn(function()
      send(vim.tbl_filter(is_alive, pids), "sigkill")
    end, GRACE)
  end
end

return M
