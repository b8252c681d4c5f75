--- Functions that wait without keeping the editor from anything: coroutines, resumed by callbacks.
local M = {}

--- Runs a function that may call the others here.
---@param run fun()
function M.start(run)
  assert(coroutine.resume(coroutine.create(run)))
end

--- Calls a function and waits until it calls back.
---@param call fun(done: fun(...))
---@return ... # What it calls back with.
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
