--- Long work in short pieces: between them the editor takes keys and draws.
local M = {}

--- A piece (milliseconds).
local PIECE = 2
--- To the next one: what is scheduled without a timer comes before the user's keys (milliseconds).
local PAUSE = 1

--- Does something with each item of a list, the first of them at once.
---@generic T
---@param items T[]
---@param act fun(item: T)
---@param done fun(problem?: string) Called once; `problem` is the error that has ended it.
function M.each(items, act, done)
  local next_item = 1
  local function work()
    local deadline = vim.uv.hrtime() + PIECE * 1e6
    while items[next_item] ~= nil do
      local ok, problem = pcall(act, items[next_item])
      if not ok then
        return done(tostring(problem))
      end
      next_item = next_item + 1
      if vim.uv.hrtime() >= deadline then
        return vim.defer_fn(work, PAUSE)
      end
    end
    done()
  end
  work()
end

return M
