--- Runs steps that change windows, buffers or text, as soon as Neovim allows changes. Neovim refuses changes under text
--- lock (as in an `<expr>` mapping that waits for a key) and in the command-line window. While `:s///c` asks for
--- confirmation, changes would be lost, because Neovim then writes back lines that it has read before.
local notify = require("gemini-bridge.notify")

local M = {}

--- Polling interval in Terminal mode, where SafeState does not fire.
local POLL_INTERVAL_MS = 50

---@type fun()[]
local waiting = {}
local listener ---@type integer?
local timer ---@type uv.uv_timer_t?

--- Whether Neovim allows changes of windows, buffers and text now.
---@return boolean
function M.is_safe()
  if vim.fn.getcmdwintype() ~= "" or vim.startswith(vim.api.nvim_get_mode().mode, "r") then
    return false
  end
  -- Neovim has no function that reports text lock. nvim_win_close() fails for the invalid window -1 in any case, but
  -- with E565 only under text lock.
  local _, refused = pcall(vim.api.nvim_win_close, -1, false)
  return not tostring(refused):find("E565", 1, true)
end

--- Returns the message of an error without its position in the code.
---@param problem any
---@return string
function M.reason(problem)
  local line = tostring(problem):match("^[^\n]*")
  return line:match("E%d+: .*") or (line:gsub("^.-%.lua:%d+: ", ""))
end

--- Runs a step that may trigger the user's autocommands. If the step raises an error, shows it in a message, so that
--- the caller can continue.
---@param step fun(...): any
---@param ... any
---@return boolean ok
function M.attempt(step, ...)
  local ok, problem = pcall(step, ...)
  if not ok then
    notify("An autocommand or an option caused an error: " .. M.reason(problem), "warn")
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
  listener = vim.api.nvim_create_autocmd("SafeState", {
    callback = function()
      -- Schedules `run_waiting` only if it can run steps: a scheduled function makes Neovim fire SafeState again, so
      -- that scheduling it in the command-line window would repeat endlessly.
      if M.is_safe() then
        vim.schedule(run_waiting)
      end
    end,
  })
  timer = assert(vim.uv.new_timer())
  timer:start(
    POLL_INTERVAL_MS,
    POLL_INTERVAL_MS,
    vim.schedule_wrap(function()
      if vim.startswith(vim.api.nvim_get_mode().mode, "t") then
        run_waiting()
      end
    end)
  )
end

--- Runs a step at once if Neovim allows changes, otherwise as soon as it does. Steps run in the order of the calls.
---@param step fun()
function M.now(step)
  if #waiting == 0 and M.is_safe() then
    M.attempt(step)
    return
  end
  waiting[#waiting + 1] = step
  listen()
end

--- Runs a step like |now()|, but only after the current command, callback or request has ended. The step still runs
--- before the next message of the host and the next key of the user.
---@param step fun()
function M.next(step)
  vim.schedule(function()
    M.now(step)
  end)
end

--- Runs a step like |now()|, but after a delay.
---@param delay_ms integer
---@param step fun()
---@return fun() cancel Idempotent. May also be called after the step.
function M.after(delay_ms, step)
  local is_cancelled = false
  vim.defer_fn(function()
    if not is_cancelled then
      M.now(function()
        if not is_cancelled then
          step()
        end
      end)
    end
  end, delay_ms)
  return function()
    is_cancelled = true
  end
end

--- Returns a function that runs a step after a delay. Further calls during the delay have no effect, so that the step
--- runs only once.
---@param step fun()
---@param delay_ms? integer Default: in the next tick.
---@return fun()
function M.coalesce(step, delay_ms)
  local is_due = false
  local function run()
    is_due = false
    step()
  end
  return function()
    if is_due then
      return
    end
    is_due = true
    if delay_ms then
      M.after(delay_ms, run)
    else
      M.next(run)
    end
  end
end

return M
