--- The moments at which windows and buffers may be touched. At others Neovim refuses it (text lock: an `<expr>` mapping
--- waits for a key; the command-line window), or goes on with lines that it has read before (the question of `:s///c`).
local notify = require("gemini-bridge.notify")

local M = {}

--- Terminal mode has no SafeState: there it is asked now and then, for as long as something waits (milliseconds).
local INTERVAL = 50

--- In the order in which they are to run.
---@type fun()[]
local waiting = {}
local listener ---@type integer?
local timer ---@type uv.uv_timer_t?

---@return boolean
function M.is_safe()
  if vim.fn.getcmdwintype() ~= "" or vim.startswith(vim.api.nvim_get_mode().mode, "r") then
    return false
  end
  -- Nothing tells of the text lock. It is looked at before the window is, and no window has this number.
  local _, refused = pcall(vim.api.nvim_win_close, -1, false)
  return not tostring(refused):find("E565", 1, true)
end

--- The sentence of an error, without the place in the code.
---@param problem any
---@return string
function M.reason(problem)
  local line = tostring(problem):match("^[^\n]*")
  return line:match("E%d+: .*") or (line:gsub("^.-%.lua:%d+: ", ""))
end

--- Runs a step of something that must go on whatever happens in it, such as a user's autocommand that fails.
---@param step fun(...): any
---@param ... any
---@return boolean ok
function M.attempt(step, ...)
  local ok, problem = pcall(step, ...)
  if not ok then
    notify("An autocommand or an option got in the way: " .. M.reason(problem), "warn")
  end
  return ok
end

local function stop_listening()
  if listener then
    vim.api.nvim_del_autocmd(listener)
    listener = nil
  end
  if timer then
    timer:close()
    timer = nil
  end
end

local function run_waiting()
  while waiting[1] and M.is_safe() do
    M.attempt(table.remove(waiting, 1))
  end
  if not waiting[1] then
    stop_listening()
  end
end

local function listen()
  if listener then
    return
  end
  local soon = vim.schedule_wrap(run_waiting)
  listener = vim.api.nvim_create_autocmd("SafeState", { callback = soon })
  timer = assert(vim.uv.new_timer())
  timer:start(
    INTERVAL,
    INTERVAL,
    vim.schedule_wrap(function()
      if vim.startswith(vim.api.nvim_get_mode().mode, "t") then
        run_waiting()
      end
    end)
  )
end

--- Touches windows and buffers as soon as that is safe: now, or when Neovim next waits for the user. What was asked for
--- first runs first, and no failure of one keeps the next from running.
---@param act fun()
function M.run(act)
  if #waiting == 0 and M.is_safe() then
    M.attempt(act)
    return
  end
  waiting[#waiting + 1] = act
  listen()
end

return M
