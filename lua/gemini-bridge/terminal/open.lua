--- Opens, shows and hides the terminals in which CLIs run.
local clis = require("gemini-bridge.config.clis")
local config = require("gemini-bridge.config")
local launch = require("gemini-bridge.terminal.launch")
local notify = require("gemini-bridge.notify")
local providers = require("gemini-bridge.terminal.providers")
local scheduler = require("gemini-bridge.editor.scheduler")
local status = require("gemini-bridge.bridge.status")
local terminals = require("gemini-bridge.terminal.terminals")

local M = {}

--- Timeout for the start of the bridge (milliseconds).
local START_TIMEOUT_MS = 10000

local group = vim.api.nvim_create_augroup("gemini-bridge.terminal.open", {})

--- Starts the bridge, and calls `done` when the bridge runs or has failed. `problem` is the reason of a failure, or ""
--- if the user was already told.
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
    callback = function()
      scheduler.next(function()
        local state = status.get().state
        if state == "running" then
          finish()
        elseif state == "stopped" then
          finish(status.get().error and "" or "the bridge was stopped")
        end
      end)
    end,
  })
  scheduler.after(START_TIMEOUT_MS, function()
    finish(("the bridge did not start within %d s"):format(START_TIMEOUT_MS / 1000))
  end)
  require("gemini-bridge.host.lifecycle").start()
end

--- Runs the program. On failure, tells the user and closes the view.
---@param terminal gemini_bridge.Terminal
---@param spec gemini_bridge.TerminalSpec
---@param obstacle? string Reason why the program cannot run, or "" if the user was already told.
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
  launch.started(spec, terminal.cmd)
  if view.buf then
    terminals.take_buffer(terminal, view.buf)
  elseif view.pane then
    terminals.take_pane(terminal, view.pane, view.pid)
  else
    -- A program outside Neovim and tmux can be neither shown nor hidden, so its terminal is not listed.
    terminals.forget(terminal)
  end
end

---@class gemini_bridge.TerminalOptions
---@field cli? string Name of the CLI. Default: the option `terminal.cli`.
---@field name? string Name of the terminal. Default: a terminal with the same arguments, or the last used terminal.
---@field args? string[] Additional arguments for a new program.
---@field new? boolean Whether to start another terminal.
---@field focus? boolean Whether to move the focus to the terminal. Default: true.

--- Opens a terminal, starts the bridge, and runs the CLI in the terminal.
---@param opts gemini_bridge.TerminalOptions
---@return gemini_bridge.Terminal? # nil on failure. The user was told the reason.
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
    scheduler.now(function()
      view:close()
    end)
    notify(("No window can be opened for %s: %s"):format(spec.cmd[1], scheduler.reason(failure)), "error")
    return
  end
  terminals.add(terminal)
  local cli = assert(clis.get(spec.cli))
  require("gemini-bridge.extension.offer").before_start(cli, spec.cmd[1], function()
    with_bridge(function(obstacle)
      scheduler.now(function()
        run(terminal, spec, obstacle)
      end)
    end)
  end)
  return terminal
end

--- Adds terminals for running programs that an earlier Neovim has started.
local function take_over()
  for name, view in vim.spairs(providers.left_behind()) do
    if not terminals.get(name) then
      view:claim(name, launch.cwd())
      terminals.add({
        name = name,
        cli = view.cli,
        cmd = launch.command(view.cli),
        args = {},
        cwd = launch.cwd(),
        view = view,
        pane = view.pane,
        pid = view.pid,
      })
      local text =
        "The CLI in %s was started by an earlier Neovim. To connect the CLI to this Neovim, type /ide enable there."
      notify(text:format(name))
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

--- Toggles a terminal: creates the terminal if it does not exist, hides it if it has the focus, otherwise shows and
--- focuses it. Waits while Neovim does not allow changes of windows, as in the command-line window.
---@param opts gemini_bridge.TerminalOptions
function M.toggle(opts)
  scheduler.now(function()
    toggle(opts)
  end)
end

return M
