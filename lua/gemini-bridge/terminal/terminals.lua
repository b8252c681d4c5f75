--- The terminals that run a CLI: which there are; opens, toggles and ends them.
local config = require("gemini-bridge.config")
local notify = require("gemini-bridge.notify")
local process = require("gemini-bridge.terminal.process_tree")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- How long a start of the bridge is waited for (milliseconds).
local START_TIMEOUT = 10000

---@class gemini_bridge.Terminal
---@field name string
---@field args string[] What the CLI got beside the configured command.
---@field cwd string
---@field view table See terminal/providers.lua.
---@field buf? integer Set while the program runs in a buffer.
---@field pid? integer
---@field guard? integer See |process.guard()|.

---@type gemini_bridge.Terminal[] Oldest first; those that ended are gone.
local terminals = {}
---@type gemini_bridge.Terminal? The one used last.
local last
--- Views of programs that ended with an error, shown until the next one of that name.
---@type table<string, table>
local remains = {}

local group = vim.api.nvim_create_augroup("gemini-bridge.terminal", {})

vim.api.nvim_create_autocmd("VimLeavePre", {
  group = group,
  callback = function()
    local pids = {}
    for _, terminal in ipairs(terminals) do
      if terminal.pid then
        vim.fn.jobstop(terminal.guard)
        vim.list_extend(pids, process.tree(terminal.pid))
      end
    end
    process.finish(pids, true)
  end,
})

---@param terminal gemini_bridge.Terminal
local function forget(terminal)
  terminals = vim.tbl_filter(function(other)
    return other ~= terminal
  end, terminals)
  if last == terminal then
    last = terminals[#terminals]
  end
end

--- The program has ended, or its buffer is being closed under it.
---@param terminal gemini_bridge.Terminal
---@param code integer
local function on_close(terminal, code)
  forget(terminal)
  vim.fn.jobstop(terminal.guard)
  process.finish(process.tree(terminal.pid), vim.v.exiting ~= vim.NIL)
  if code == 0 and config.get().terminal.auto_close then
    vim.schedule(function()
      terminal.view:close()
    end)
  else
    remains[terminal.name] = terminal.view
  end
end

---@param terminal gemini_bridge.Terminal
local function watch(terminal)
  vim.api.nvim_create_autocmd("TermClose", {
    group = group,
    buffer = terminal.buf,
    once = true,
    callback = function()
      on_close(terminal, vim.v.event.status)
    end,
  })
end

--- Runs `done` when the bridge runs, or with what prevents it.
---@param done fun(problem?: string)
local function with_bridge(done)
  if status.get().state == "running" then
    return done()
  end
  local listener
  local function finish(problem)
    if listener then
      vim.api.nvim_del_autocmd(listener)
      listener = nil
      done(problem)
    end
  end
  listener = vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = { "GeminiStarted", "GeminiStopped" },
    callback = vim.schedule_wrap(function()
      local state = status.get().state
      if state == "running" then
        finish()
      elseif state == "stopped" then
        finish("the bridge did not start")
      end
    end),
  })
  vim.defer_fn(function()
    finish(("the bridge did not start within %d s"):format(START_TIMEOUT / 1000))
  end, START_TIMEOUT)
  require("gemini-bridge.host").start()
end

---@param base string
---@return string # `base`, or `base-2` and so on when that is taken.
local function free_name(base)
  local name, number = base, 1
  while M.get(name) do
    number = number + 1
    name = ("%s-%d"):format(base, number)
  end
  return name
end

---@class gemini_bridge.TerminalOptions
---@field name? string Which terminal; without it the one with these arguments, or the one used last.
---@field args? string[] More arguments for a program that is started.
---@field new? boolean Start another one.
---@field focus? boolean Default true.

--- Opens a terminal and runs the CLI in it as soon as the bridge runs.
---@param opts gemini_bridge.TerminalOptions
---@return gemini_bridge.Terminal? # Nothing when it cannot run; the user has been told why.
function M.open(opts)
  local launch = require("gemini-bridge.terminal.launch")
  local name = opts.new and free_name(opts.name or "gemini") or opts.name or free_name("gemini")
  local args = opts.args or {}
  local spec, problem = launch.spec(name, args)
  if not spec then
    notify(problem, "error")
    return
  end
  if remains[name] then
    remains[name]:close()
    remains[name] = nil
  end
  local view = require("gemini-bridge.terminal.providers").view()
  local terminal = { name = name, args = args, cwd = spec.cwd, view = view }
  terminals[#terminals + 1] = terminal
  last = terminal
  view:show(opts.focus ~= false)
  with_bridge(function(obstacle)
    local buf
    if not obstacle then
      launch.complete(spec)
      buf, obstacle = view:start(spec)
    end
    if obstacle then
      forget(terminal)
      view:close()
      notify(("%s was not started: %s"):format(spec.cmd[1], obstacle), "error")
      return
    end
    launch.started(spec)
    if buf then
      terminal.buf = buf
      terminal.pid = vim.fn.jobpid(vim.bo[buf].channel)
      terminal.guard = process.guard(terminal.pid)
      vim.b[buf].gemini_terminal = name
      if vim.bo[buf].filetype == "" then
        vim.bo[buf].filetype = "gemini_terminal"
      end
      watch(terminal)
    else
      -- Outside of Neovim: nothing to toggle.
      forget(terminal)
    end
  end)
  return terminal
end

--- Shows and focuses a terminal, hides it when it has the focus, opens it when there is none.
---@param opts? gemini_bridge.TerminalOptions
function M.toggle(opts)
  opts = opts or {}
  local terminal
  if opts.new then
    terminal = nil
  elseif opts.name then
    terminal = M.get(opts.name)
  elseif #(opts.args or {}) > 0 then
    terminal = vim.iter(terminals):find(function(candidate)
      return vim.deep_equal(candidate.args, opts.args)
    end)
  else
    terminal = last
  end
  if not terminal then
    M.open(opts)
    return
  end
  last = terminal
  if terminal.view:focused() then
    terminal.view:hide()
  else
    terminal.view:show(opts.focus ~= false)
  end
end

---@param name string
---@return gemini_bridge.Terminal?
function M.get(name)
  return vim.iter(terminals):find(function(terminal)
    return terminal.name == name
  end)
end

--- The terminal used last, of those that run or are about to.
---@return gemini_bridge.Terminal?
function M.last()
  return last
end

--- Those that run or are about to, oldest first.
---@return gemini_bridge.Terminal[]
function M.list()
  return vim.list_slice(terminals)
end

return M
