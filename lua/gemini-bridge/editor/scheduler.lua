--- Runs steps that change windows, buffers or text, as soon as Neovim allows changes. Neovim refuses changes in the
--- command-line window and under |textlock| (for example in an `<expr>` mapping). Steps also wait while `:s///c` asks
--- for confirmation, because Neovim would overwrite changed lines with its own copy. They also wait while an operator
--- waits for its motion or a completion is active: if a step inserted lines above the cursor, the operator or the
--- completion would delete these lines. They wait for the end of an insertion in a block, because Neovim then repeats
--- the inserted text at fixed lines and columns. And they wait in Ex mode, where |:read| also removes an empty line.
--- SafeState does not fire in these states either, except during an insertion in a block.
local notify = require("gemini-bridge.notify")

local M = {}

--- Polling interval in Terminal mode, where SafeState does not fire.
local POLL_INTERVAL_MS = 50

---@type fun()[]
local waiting = {}
local listener ---@type integer?
local timer ---@type uv.uv_timer_t?

--- Returns true if a completion is active, an operator waits for its motion, or the user inserts text in a block.
---@param mode string
---@return boolean
local function is_halfway(mode)
  if not mode:find("^[iR]") then
    return vim.fn.state("o") ~= ""
  end
  -- In Insert mode, an operator still counts as pending for |state()|, although its motion is complete. Of these
  -- operators, only `I`, `A`, and `c` in a block insert the text in several lines.
  -- |visualmode()| also remembers an earlier block, which `cw` elsewhere does not change. `c` in a block begins in the
  -- first line of the block.
  local in_block = vim.v.operator:find("^[IA]$")
    or vim.v.operator == "c" and vim.fn.visualmode() == "\22" and vim.fn.line("'[") == vim.fn.line("'<")
  return vim.fn.state("a") ~= "" or in_block and vim.fn.state("o") ~= "" or false
end

--- Returns true if Neovim allows changes of windows, buffers and text now.
---@return boolean
function M.is_safe()
  local mode = vim.api.nvim_get_mode().mode
  if vim.fn.win_gettype() == "command" or mode:find("^r") or mode:find("^cv") or is_halfway(mode) then
    return false
  end
  -- No function reports |textlock|, but an error shows it. Closing the invalid window -1 always fails, and the error is
  -- E565 only under |textlock|.
  local _, refused = pcall(vim.api.nvim_win_close, -1, false)
  return not tostring(refused):find("E565", 1, true)
end

--- Returns the message of a Lua error without file name and line number.
---@param problem any
---@return string
function M.reason(problem)
  local line = tostring(problem):match("^[^\n]*")
  return line:match("E%d+: .*") or (line:gsub("^.-%.lua:%d+: ", ""))
end

--- Runs a step that may trigger the user's autocommands. Shows an error of the step as a message and lets the caller
--- continue.
---@param step fun(...): any
---@param ... any
---@return boolean ok
function M.attempt(step, ...)
  local ok, problem = pcall(step, ...)
  if not ok then
    notify(
      "This error probably comes from an autocommand or from a function in your options: "
        .. M.reason(problem),
      "warn"
    )
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
      -- Schedules nothing in the command-line window. Each scheduled function makes SafeState fire again, so this
      -- listener would run without end.
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

--- Runs a step as soon as Neovim allows changes: at once if possible. Steps run in the order of the calls.
---@param step fun()
function M.now(step)
  if #waiting == 0 and M.is_safe() then
    M.attempt(step)
    return
  end
  waiting[#waiting + 1] = step
  listen()
end

--- Runs a step like |now()|, but only after the current command, callback or request has ended. The step runs before
--- the next message of the Node host and before the user's next key.
---@param step fun()
function M.next(step)
  vim.schedule(function()
    M.now(step)
  end)
end

--- Runs a step like |now()|, but after a delay.
---@param delay_ms integer
---@param step fun()
---@return fun() cancel Idempotent. May be called after the step has run.
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

--- Returns a function that runs a step after a delay. During the delay, further calls have no effect.
---@param step fun()
---@param delay_ms? integer Default: until the next tick.
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
