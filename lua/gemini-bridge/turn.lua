--- The editor's turns: what one does at a stretch, before it draws and looks at its keys again.
local M = {}

--- Runs something in the next turn: before anything that arrives after this one, for an idle handle, unlike a timer,
--- has its turn before messages are read.
---@param run fun()
function M.next(run)
  local idle = assert(vim.uv.new_idle())
  idle:start(function()
    idle:close()
    vim.schedule(run)
  end)
end

return M
