--- What a CLI is started with.
local config = require("gemini-bridge.config")

local M = {}

---@class gemini_bridge.TerminalSpec
---@field name string
---@field cmd string[]
---@field cwd string Absolute.
---@field env table<string, string> Beside Neovim's own environment; empty until the bridge runs.

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
  local wanted = options.cwd
  if type(wanted) == "function" then
    wanted = wanted()
  end
  local cwd = vim.fs.normalize(vim.fn.fnamemodify(wanted or vim.fn.getcwd(), ":p"))
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

--- What the program needs to get through to the bridge, which runs.
---@param spec gemini_bridge.TerminalSpec
function M.complete(spec)
  spec.env = require("gemini-bridge.terminal.loopback").get(config.get().terminal.env)
end

--- Tells the host, which knows whether this CLI will connect.
---@param spec gemini_bridge.TerminalSpec
function M.started(spec)
  require("gemini-bridge.bridge.channel").notify("cli_started", {
    program = spec.cmd[1],
    cwd = spec.cwd,
    env = vim.tbl_extend("force", vim.fn.environ(), spec.env),
  })
end

return M
