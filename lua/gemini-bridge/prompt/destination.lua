--- Chooses the CLI for a prompt: the last used terminal of `:Gemini`, a CLI that the user started elsewhere, or a new
--- terminal.
local config = require("gemini-bridge.config")
local outside = require("gemini-bridge.prompt.outside")
local safely = require("gemini-bridge.editor.safely")
local target = require("gemini-bridge.prompt.target")
local task = require("gemini-bridge.prompt.task")

local M = {}

--- Polling interval and timeout for finding a CLI that a provider opens outside Neovim.
local POLL_MS, TIMEOUT_MS = 1000, 30000

local function terminals()
  return require("gemini-bridge.terminal.terminals")
end

--- Returns the program of a terminal, or the one that `:Gemini` would run.
---@param terminal? gemini_bridge.Terminal
---@return string
local function program(terminal)
  local cmd = terminal and terminal.cmd or require("gemini-bridge.terminal.launch").command()
  return vim.fs.basename(cmd[1])
end

--- Returns the programs of all CLIs, the one of `:Gemini` first.
---@return string[]
local function programs()
  local names = { program() }
  for _, cli in ipairs(require("gemini-bridge.config.clis").all()) do
    local name = vim.fs.basename(cli.cmd[1])
    if not vim.list_contains(names, name) then
      names[#names + 1] = name
    end
  end
  return names
end

--- Creates the target for a terminal of `:Gemini`, whose program may not run yet. A terminal that its provider opened
--- outside Neovim is searched for there.
---@param terminal gemini_bridge.Terminal
---@return gemini_bridge.Target
local function own(terminal)
  local inner ---@type gemini_bridge.Target?
  local deadline ---@type integer?

  --- Searches for the program. Calls back with an empty screen until it is found, and with nil after the timeout.
  ---@param done fun(lines?: string[])
  local function look_outside(done)
    deadline = deadline or vim.uv.now() + TIMEOUT_MS
    outside.find({ program(terminal) }, function(found)
      inner = found
      if found or vim.uv.now() > deadline then
        return done(found and {})
      end
      vim.defer_fn(function()
        done({})
      end, POLL_MS)
    end)
  end

  return {
    key = terminal,
    name = terminal.name,
    cwd = terminal.cwd,
    paste = function(...)
      inner.paste(...)
    end,
    enter = function()
      inner.enter()
    end,
    screen = function(done)
      local is_listed = vim.list_contains(terminals().list(), terminal)
      if terminal.buf and not inner then
        inner = target.buffer(terminal.buf, terminal.cwd)
      elseif terminal.pane and not inner then
        inner = target.pane(terminal.pane, terminal.cwd)
      end
      if inner and (is_listed or not (terminal.buf or terminal.pane)) then
        inner.screen(done)
      elseif inner then
        done()
      elseif is_listed then
        done({})
      else
        look_outside(done)
      end
    end,
    focus = function()
      terminal.view:show(true)
    end,
  }
end

--- Returns the directory to which references in the next prompt are probably relative.
---@return string
function M.directory()
  local last = terminals().last()
  return last and last.cwd or vim.fn.getcwd()
end

--- Finds or starts the CLI for a prompt. Must run in a task.
---@return gemini_bridge.Target? # nil if no CLI could be started; the reason was reported to the user.
---@return string program
function M.find()
  local last = terminals().last()
  if last then
    return own(last), program(last)
  end
  local found, found_program = task.await(function(done)
    outside.find(programs(), done)
  end)
  if found then
    return found, found_program
  end
  local opened = terminals().last()
    or task.await(function(done)
      safely.run(function()
        local open = require("gemini-bridge.terminal.open").open
        local ok, terminal = pcall(open, { focus = config.get().send.focus })
        done(ok and terminal or nil)
      end)
    end)
  return opened and own(opened), program()
end

return M
