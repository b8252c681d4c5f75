--- The terminals that run a CLI: which there are, and what their end means.
local channel = require("gemini-bridge.bridge.channel")
local config = require("gemini-bridge.config")
local process = require("gemini-bridge.terminal.process_tree")
local safely = require("gemini-bridge.editor.safely")
local status = require("gemini-bridge.bridge.status")

local M = {}

---@class gemini_bridge.Terminal
---@field name string
---@field cli string Which CLI runs in it.
---@field cmd string[] The program and its arguments.
---@field args string[] What the CLI got beside the configured command.
---@field cwd string
---@field view gemini_bridge.Provided
---@field buf? integer Set while the program runs in a buffer.
---@field pane? string Set while it runs in a pane of tmux: its id.
---@field pid? integer Set with one of these.
---@field guard? integer See |process.guard()|.
---@field lost? boolean Its CLI was connected to a host that has ended.

---@type gemini_bridge.Terminal[] Oldest first; those that ended are gone.
local terminals = {}
---@type gemini_bridge.Terminal? The one used last.
local last
--- Views of programs that ended with an error, shown until the next one of that name.
---@type table<string, gemini_bridge.Provided>
local remains = {}

local group = vim.api.nvim_create_augroup("gemini-bridge.terminal", {})

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

--- Tells the host, which finds out which CLI runs in which.
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
    -- One that leaves while the host runs has lost nothing.
    if status.get().state == "running" or args.data.interrupted then
      return
    end
    -- Which one it runs in may not be known yet: any of this CLI's, then.
    local name, cli = args.data.terminal, args.data.cli
    for _, terminal in ipairs(terminals) do
      terminal.lost = terminal.lost or terminal.name == name or not name and terminal.cli == cli
    end
  end,
})

--- Takes a terminal off the list.
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

--- The terminals whose programs run. A pane reports neither the end of its program nor its own.
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

--- The program has ended, or its buffer is being closed under it.
---@param terminal gemini_bridge.Terminal
---@param code integer
local function on_close(terminal, code)
  M.forget(terminal)
  vim.fn.jobstop(terminal.guard)
  process.finish(process.tree(terminal.pid), vim.v.exiting ~= vim.NIL)
  if code == 0 and config.get().terminal.auto_close then
    vim.schedule(function()
      safely.run(function()
        terminal.view:close()
      end)
    end)
  else
    remains[terminal.name] = terminal.view
  end
end

--- Puts a terminal on the list, as the one used last.
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

--- Takes the buffer in which a terminal's program now runs.
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
  require("gemini-bridge.terminal.tail").attach(buf)
  require("gemini-bridge.terminal.aside").watch(buf)
  if terminal.cli == "gemini" then
    require("gemini-bridge.terminal.refusal").watch(buf)
  end
  require("gemini-bridge.terminal.title").watch(buf, function()
    channel.notify("terminal_ready", { terminal = terminal.name })
  end)
  vim.api.nvim_create_autocmd("TermClose", {
    group = group,
    buffer = buf,
    once = true,
    callback = function()
      on_close(terminal, vim.v.event.status)
    end,
  })
end

--- Takes the pane in which a terminal's program now runs.
---@param terminal gemini_bridge.Terminal
---@param pane string
---@param pid integer
function M.take_pane(terminal, pane, pid)
  terminal.pane, terminal.pid = pane, pid
  tell()
  if terminal.cli == "gemini" then
    require("gemini-bridge.terminal.refusal").watch_pane(pane)
  end
end

--- The terminal is the one that the user uses now.
---@param terminal gemini_bridge.Terminal
function M.use(terminal)
  last = terminal
end

---@param base string
---@return string # `base`, or `base-2` and so on when that is taken.
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

--- The terminal used last, of those that run or are about to.
---@param cli? string Of this CLI only: its newest, when another's was used last.
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

--- Those that run or are about to, oldest first.
---@return gemini_bridge.Terminal[]
function M.list()
  return vim.list_slice(alive())
end

return M
