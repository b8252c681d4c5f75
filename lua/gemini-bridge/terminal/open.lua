--- Opens terminals that run a CLI, and shows and hides them.
local clis = require("gemini-bridge.config.clis")
local config = require("gemini-bridge.config")
local launch = require("gemini-bridge.terminal.launch")
local notify = require("gemini-bridge.notify")
local providers = require("gemini-bridge.terminal.providers")
local safely = require("gemini-bridge.editor.safely")
local status = require("gemini-bridge.bridge.status")
local terminals = require("gemini-bridge.terminal.terminals")

local M = {}

--- How long a start of the bridge is waited for (milliseconds).
local START_TIMEOUT = 10000

local group = vim.api.nvim_create_augroup("gemini-bridge.terminal.open", {})

--- Runs `done` when the bridge runs, or with the reason why it does not. The reason is empty if the user knows it.
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
        finish(status.get().error and "" or "the bridge was stopped")
      end
    end),
  })
  vim.defer_fn(function()
    finish(("the bridge did not start within %d s"):format(START_TIMEOUT / 1000))
  end, START_TIMEOUT)
  require("gemini-bridge.host").start()
end

--- Runs the program, or says why it cannot and leaves nothing behind.
---@param terminal gemini_bridge.Terminal
---@param spec gemini_bridge.TerminalSpec
---@param obstacle? string Empty if the user knows it: a second message would hide the first.
local function run(terminal, spec, obstacle)
  local view = terminal.view
  if not obstacle then
    launch.complete(spec)
    obstacle = view:start(spec)
  end
  if obstacle then
    terminals.forget(terminal)
    view:close()
    if obstacle ~= "" then
      notify(("%s was not started: %s"):format(terminal.cmd[1], obstacle), "error")
    end
    return
  end
  launch.started(spec, terminal.cmd[1])
  if view.buf then
    terminals.take_buffer(terminal, view.buf)
  elseif view.pane then
    terminals.take_pane(terminal, view.pane, view.pid)
  else
    -- Where nobody sees it: nothing to toggle.
    terminals.forget(terminal)
  end
end

---@class gemini_bridge.TerminalOptions
---@field cli? string Which CLI; without it that of the option `terminal.cli`.
---@field name? string Which terminal; without it the one with these arguments, or the one used last.
---@field args? string[] More arguments for a program that is started.
---@field new? boolean Start another one.
---@field focus? boolean Default true.

--- Opens a terminal and runs the CLI in it as soon as the bridge runs.
---@param opts gemini_bridge.TerminalOptions
---@return gemini_bridge.Terminal? # Nothing when it cannot run; the user has been told why.
function M.open(opts)
  local usual = opts.cli or config.get().terminal.cli
  local name = opts.new and terminals.free_name(opts.name or usual) or opts.name or terminals.free_name(usual)
  local args = opts.args or {}
  local spec, problem = launch.spec(name, args, opts.cli)
  if not spec then
    notify(problem, "error")
    return
  end
  local view = providers.view()
  local terminal = { name = name, cli = spec.cli, cmd = spec.cmd, args = args, cwd = spec.cwd, view = view }
  local ok, failure = pcall(view.show, view, opts.focus ~= false)
  if not ok then
    safely.run(function()
      view:close()
    end)
    notify(("%s has no window: %s"):format(spec.cmd[1], failure), "error")
    return
  end
  terminals.add(terminal)
  local cli = assert(clis.get(spec.cli))
  require("gemini-bridge.extension.offer").before_start(cli, spec.cmd[1], function()
    with_bridge(function(obstacle)
      safely.run(function()
        run(terminal, spec, obstacle)
      end)
    end)
  end)
  return terminal
end

--- Goes on with what a Neovim before this one has left running.
local function take_over()
  for name, view in vim.spairs(providers.left_behind()) do
    if not terminals.get(name) then
      view:claim(name, launch.cwd())
      terminals.add({
        name = name,
        cli = config.get().terminal.cli,
        cmd = launch.command(),
        args = {},
        cwd = launch.cwd(),
        view = view,
        pane = view.pane,
        pid = view.pid,
      })
      notify(("%s was started by an earlier Neovim: type /ide enable in it, and it connects."):format(name))
    end
  end
end

---@param opts gemini_bridge.TerminalOptions
local function toggle(opts)
  take_over()
  local terminal
  if opts.new then
    terminal = nil
  elseif opts.name then
    terminal = terminals.get(opts.name)
  elseif #(opts.args or {}) > 0 then
    terminal = vim.iter(terminals.list()):find(function(candidate)
      return vim.deep_equal(candidate.args, opts.args) and candidate.cli == (opts.cli or candidate.cli)
    end)
  else
    terminal = terminals.last(opts.cli)
  end
  if not terminal then
    M.open(opts)
    return
  end
  terminals.use(terminal)
  if terminal.view:focused() then
    terminal.view:hide()
  else
    terminal.view:show(opts.focus ~= false)
  end
end

--- Shows and focuses a terminal, hides it when it has the focus, opens it when there is none: as soon as Neovim allows
--- it, which in the command-line window is when that closes.
---@param opts? gemini_bridge.TerminalOptions
function M.toggle(opts)
  safely.run(function()
    toggle(opts or {})
  end)
end

return M
