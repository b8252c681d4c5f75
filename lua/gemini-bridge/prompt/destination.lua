--- Where a prompt goes: the terminal of `:Gemini` that was used last, a CLI that the user started elsewhere, or a new
--- one.
local config = require("gemini-bridge.config")
local outside = require("gemini-bridge.prompt.outside")
local target = require("gemini-bridge.prompt.target")
local task = require("gemini-bridge.prompt.task")

local M = {}

--- A CLI that was opened outside of Neovim is looked for so often and so long (milliseconds).
local INTERVAL, TIMEOUT = 1000, 30000

local function terminals()
  return require("gemini-bridge.terminal.terminals")
end

--- The program of a terminal, or of the CLI that `:Gemini` would run.
---@param terminal? gemini_bridge.Terminal
---@return string
local function program(terminal)
  local cmd = terminal and terminal.cmd or require("gemini-bridge.terminal.launch").command()
  return vim.fs.basename(cmd[1])
end

--- Those of all CLIs, that of `:Gemini` first.
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

--- A terminal of `:Gemini`, also before its program runs. When its provider opened it outside of Neovim, it is looked
--- for there.
---@param terminal gemini_bridge.Terminal
---@return gemini_bridge.Target
local function own(terminal)
  local inner ---@type gemini_bridge.Target?
  local deadline ---@type integer?

  --- Nothing yet, or nothing any more.
  ---@param done fun(lines?: string[])
  local function look_outside(done)
    deadline = deadline or vim.uv.now() + TIMEOUT
    outside.find({ program(terminal) }, function(found)
      inner = found
      if found or vim.uv.now() > deadline then
        return done(found and {})
      end
      vim.defer_fn(function()
        done({})
      end, INTERVAL)
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

--- The directory that the next prompt's references are spelled from, as far as it is known.
---@return string
function M.directory()
  local last = terminals().last()
  return last and last.cwd or vim.fn.getcwd()
end

--- Finds it, within a task.
---@return gemini_bridge.Target? # Nothing when no CLI can be started; the user has been told why.
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
    or require("gemini-bridge.terminal.open").open({ focus = config.get().send.focus })
  return opened and own(opened), program()
end

return M
