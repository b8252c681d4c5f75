--- The editor's turns: what one does at a stretch, before it draws and looks at its keys again.
local M = {}

---@type fun()[]
local waiting = {}

--- Runs something in the next turn, in the order of the calls and before anything that arrives after this turn: an
--- idle handle, unlike a timer, is called before messages are read.
---@param run fun()
function M.next(run)
  waiting[#waiting + 1] = run
  if #waiting > 1 then
    return
  end
  local idle = assert(vim.uv.new_idle())
  idle:start(function()
    idle:close()
    local due = waiting
    waiting = {}
    for _, next_run in ipairs(due) do
      vim.schedule(next_run) -- each on its own: an error in one keeps no other from running
    end
  end)
end

return M
