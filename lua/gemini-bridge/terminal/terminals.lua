--- Manages the list of terminals in which CLIs run.
local channel = require("gemini-bridge.bridge.channel")
local config = require("gemini-bridge.config")
local process = require("gemini-bridge.terminal.process_tree")
local scheduler = require("gemini-bridge.editor.scheduler")
local status = require("gemini-bridge.bridge.status")

local M = {}

---@class gemini_bridge.Terminal
---@field name string
---@field cli string Name of the CLI.
---@field cmd string[] The program and its arguments.
---@field args string[] Arguments that the user added to the configured command.
---@field cwd string
---@field view gemini_bridge.Provided
---@field buf? integer The terminal's buffer, if the program runs in a buffer.
---@field pane? string Id of the tmux pane, if the program runs in a pane.
---@field pid? integer Process id. Set together with `buf` or `pane`.
---@field guard? integer Job of the guard process. See |guard()| in process_tree.lua.
---@field lost? boolean True if the CLI was connected to a host process that has crashed.

---@type gemini_bridge.Terminal[] Open terminals, oldest first.
local terminals = {}
---@type gemini_bridge.Terminal? The last used terminal.
local last
--- Views that stay open after their programs have ended, by terminal name. A new terminal with the same name closes the
--- old view.
---@type table<string, gemini_bridge.Provided>
local remains = {}

-- Keeps the autocommands of a module that lazy.nvim has unloaded. When Neovim exits, they end the CLIs of that module.
local group = vim.api.nvim_create_augroup("gemini-bridge.terminal", { clear = false })

vim.api.nvim_create_autocmd("VimLeavePre", {
  group = group,
  callback = function()
    local pids = {}
    for _, terminal in ipairs(terminals) do
      if terminal.guard then
        vim.fn.jobstop(terminal.guard)
        vim.list_extend(pids, process.tree(terminal.pid))
      end
    end
    process.finish(pids, true)
  end,
})

--- Sends the list to the host, so that the host can match connected CLIs to terminals.
local function tell()
  local open = vim.tbl_map(function(terminal)
    return {
      name = terminal.name,
      pid = terminal.pid,
      buf = terminal.buf,
      pane = terminal.pane,
      cli = terminal.cli,
      cmd = terminal.cmd,
      cwd = terminal.cwd,
      lost = terminal.lost or false,
    }
  end, terminals)
  if channel.notify("terminals", { terminals = open }) then
    for _, terminal in ipairs(terminals) do
      terminal.lost = false
    end
  end
end

vim.api.nvim_create_autocmd("User", { group = group, pattern = "GeminiStarted", callback = tell })
vim.api.nvim_create_autocmd("User", {
  group = group,
  pattern = "GeminiDisconnected",
  callback = function(args)
    -- Sets the field `lost` only if the connection has ended because the host process has crashed. If the host process
    -- still runs, the CLI itself has closed the connection.
    if status.get().state == "running" or args.data.interrupted then
      return
    end
    -- If the terminal of the CLI is not known, sets the field for all terminals that run this kind of CLI.
    local name, cli = args.data.terminal, args.data.cli
    for _, terminal in ipairs(terminals) do
      terminal.lost = terminal.lost or terminal.name == name or not name and terminal.cli == cli
    end
  end,
})

--- Removes a terminal from the list.
---@param terminal gemini_bridge.Terminal
function M.forget(terminal)
  terminals = vim.tbl_filter(function(other)
    return other ~= terminal
  end, terminals)
  if last == terminal then
    last = terminals[#terminals]
  end
  tell()
end

--- Returns the terminals whose programs are running. tmux does not report the end of a pane, so ended panes are removed
--- here.
---@return gemini_bridge.Terminal[]
local function alive()
  for _, terminal in ipairs(terminals) do
    if terminal.pane and not terminal.view:is_alive() then
      M.forget(terminal)
      remains[terminal.name] = terminal.view
    end
  end
  return terminals
end

--- Called after a program has ended or its buffer was deleted.
---@param terminal gemini_bridge.Terminal
---@param code integer
local function on_close(terminal, code)
  M.forget(terminal)
  vim.fn.jobstop(terminal.guard)
  process.finish(process.tree(terminal.pid), vim.v.exiting ~= vim.NIL)
  if code == 0 and config.get().terminal.auto_close then
    scheduler.next(function()
      terminal.view:close()
    end)
  else
    remains[terminal.name] = terminal.view
  end
end

--- Adds a terminal to the list, as the last used terminal.
---@param terminal gemini_bridge.Terminal
function M.add(terminal)
  if remains[terminal.name] then
    remains[terminal.name]:close()
    remains[terminal.name] = nil
  end
  terminals[#terminals + 1] = terminal
  last = terminal
  tell()
end

--- First character of the title that Gemini CLI sets while it waits for a prompt (0.61.0, `computeTerminalTitle`). If
--- `ui.dynamicWindowTitle` is off, the title is never set.
local READY_TITLE = "◇"

--- Tells the host when the CLI starts to wait for a prompt. Needed because no hook reports that the user has stopped
--- the CLI with Esc.
---@param terminal gemini_bridge.Terminal
local function watch_title(terminal)
  local buf = terminal.buf
  -- Only Vim script can watch the variables of a buffer. The temporary variable `gemini_titled` passes the Lua function
  -- to Vim script.
  vim.b[buf].gemini_titled = function(_, _, change)
    local function is_ready(title)
      return vim.startswith(title or "", READY_TITLE)
    end
    if is_ready(change.new) and not is_ready(change.old) then
      scheduler.next(function()
        channel.notify("terminal_ready", { terminal = terminal.name })
      end)
    end
  end
  local watch = "call dictwatcheradd(getbufvar(%d, ''), 'term_title', getbufvar(%d, 'gemini_titled'))"
  vim.api.nvim_exec2(watch:format(buf, buf), {})
  vim.b[buf].gemini_titled = nil
end

--- Records the buffer and the process of a started program, and watches both.
---@param terminal gemini_bridge.Terminal
---@param buf integer
function M.take_buffer(terminal, buf)
  terminal.buf = buf
  terminal.pid = vim.fn.jobpid(vim.bo[buf].channel)
  terminal.guard = process.guard(terminal.pid)
  vim.b[buf].gemini_terminal = terminal.name
  if vim.bo[buf].filetype == "" then
    vim.bo[buf].filetype = "gemini_terminal"
  end
  tell()
  require("gemini-bridge.terminal.follow_output").attach(buf)
  require("gemini-bridge.terminal.typed_keys").watch(buf)
  require("gemini-bridge.terminal.hide_float").watch(buf)
  if terminal.cli == "gemini" then
    require("gemini-bridge.terminal.refused_login").watch(buf)
  end
  watch_title(terminal)
  vim.api.nvim_create_autocmd("TermClose", {
    group = group,
    buffer = buf,
    once = true,
    callback = function()
      on_close(terminal, vim.v.event.status)
    end,
  })
end

--- Records the tmux pane and the process of a started program.
---@param terminal gemini_bridge.Terminal
---@param pane string
---@param pid integer
function M.take_pane(terminal, pane, pid)
  terminal.pane, terminal.pid = pane, pid
  tell()
  if terminal.cli == "gemini" then
    require("gemini-bridge.terminal.refused_login").watch_pane(pane)
  end
end

--- Marks a terminal as the last used terminal.
---@param terminal gemini_bridge.Terminal
function M.use(terminal)
  last = terminal
end

---@param base string
---@return string # `base`, or a free name such as `base-2`.
function M.free_name(base)
  local name, number = base, 1
  while M.get(name) do
    number = number + 1
    name = ("%s-%d"):format(base, number)
  end
  return name
end

---@param name string
---@return gemini_bridge.Terminal?
function M.get(name)
  return vim.iter(alive()):find(function(terminal)
    return terminal.name == name
  end)
end

--- Returns the terminal that was used last.
---@param cli? string Name of a CLI. If the last used terminal runs another CLI, returns the newest terminal that runs
--- the CLI with this name.
---@return gemini_bridge.Terminal?
function M.last(cli)
  local running = alive()
  if not cli or last and last.cli == cli then
    return last
  end
  return vim.iter(running):rfind(function(terminal)
    return terminal.cli == cli
  end)
end

--- Returns the open terminals, oldest first.
---@return gemini_bridge.Terminal[]
function M.list()
  return vim.list_slice(alive())
end

return M
