--- Runs functions that wait without blocking the editor: coroutines that callbacks resume.
local M = {}

--- Runs a function as a task, in which `await` and `sleep` can be called.
---@param run fun()
function M.start(run)
  assert(coroutine.resume(coroutine.create(run)))
end

--- Calls a function and waits until it calls back.
---@param call fun(done: fun(...))
---@return ... # The arguments of the callback.
function M.await(call)
  local routine = coroutine.running()
  local results ---@type { n: integer }?
  local waiting = false
  call(function(...)
    results = { n = select("#", ...), ... }
    if waiting then
      assert(coroutine.resume(routine))
    end
  end)
  if not results then
    waiting = true
    coroutine.yield()
  end
  return unpack(results, 1, results.n)
end

---@param milliseconds integer
function M.sleep(milliseconds)
  M.await(function(done)
    vim.defer_fn(done, milliseconds)
  end)
end

return M
