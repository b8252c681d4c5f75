--- Splits long work into short slices. Between two slices, the editor handles keys and redraws.
local M = {}

--- Maximum duration of a slice.
local SLICE_MS = 2
--- Pause between two slices. The pause needs a timer, because Neovim runs scheduled functions before it handles keys.
local PAUSE_MS = 1

--- Calls a function with each item of a list, in slices.
---@generic T
---@param items T[]
---@param act fun(item: T)
---@param done fun(problem?: string) Called once. `problem` is the error of the item that failed.
---@param run? fun(slice: fun()) Runs a slice, for example as soon as Neovim allows changes. Default: runs it at once.
function M.each(items, act, done, run)
  run = run or function(slice)
    slice()
  end
  local next_item = 1
  local function work()
    local deadline = vim.uv.hrtime() + SLICE_MS * 1e6
    while items[next_item] ~= nil do
      local ok, problem = pcall(act, items[next_item])
      if not ok then
        return done(tostring(problem))
      end
      next_item = next_item + 1
      if vim.uv.hrtime() >= deadline then
        return vim.defer_fn(function()
          run(work)
        end, PAUSE_MS)
      end
    end
    done()
  end
  run(work)
end

return M
