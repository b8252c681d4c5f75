--- What a CLI is started with.
local config = require("gemini-bridge.config")

local M = {}

---@class gemini_bridge.TerminalSpec
---@field name string
---@field cmd string[]
---@field cwd string Absolute.
---@field env table<string, string> All that leads to this bridge; empty until the bridge runs.

--- Where the program starts.
---@return string # Absolute.
function M.cwd()
  local wanted = config.get().terminal.cwd
  if type(wanted) == "function" then
    wanted = wanted()
  end
  return vim.fs.normalize(vim.fn.fnamemodify(wanted or vim.fn.getcwd(), ":p"))
end

--- The options and more arguments, as what to run.
---@param name string
---@param args string[]
---@return gemini_bridge.TerminalSpec? spec
---@return string? problem Why it cannot run.
function M.spec(name, args)
  local options = config.get().terminal
  if vim.fn.executable(options.cmd[1]) == 0 then
    return nil, ("%s cannot be run: install it, or set the option terminal.cmd"):format(options.cmd[1])
  end
  local cwd = M.cwd()
  if vim.fn.isdirectory(cwd) == 0 then
    return nil, ("terminal.cwd: %s is no directory"):format(cwd)
  end
  return {
    name = name,
    cmd = vim.list_extend(vim.deepcopy(options.cmd), args),
    cwd = cwd,
    env = {},
  }
end

--- Adds what leads the program to this bridge, which runs, also a program that is no child of Neovim's.
---@param spec gemini_bridge.TerminalSpec
function M.complete(spec)
  local env = require("gemini-bridge.host.environment").of_bridge()
  -- Where the program is found, and where it looks for the discovery file.
  env.PATH, env.TMPDIR = vim.env.PATH, vim.env.TMPDIR
  local own = require("gemini-bridge.terminal.loopback").get(config.get().terminal.env)
  spec.env = require("gemini-bridge.terminal.external_editor").environment(vim.tbl_extend("force", env, own))
end

--- Tells the host, which knows whether this CLI will connect.
---@param spec gemini_bridge.TerminalSpec
function M.started(spec)
  require("gemini-bridge.terminal.enable")
  require("gemini-bridge.bridge.channel").notify("cli_started", {
    terminal = spec.name,
    program = spec.cmd[1],
    cwd = spec.cwd,
    env = vim.tbl_extend("force", vim.fn.environ(), spec.env),
  })
end

return M
