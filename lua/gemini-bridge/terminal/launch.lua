--- What a CLI is started with.
local config = require("gemini-bridge.config")

local M = {}

---@class gemini_bridge.TerminalSpec
---@field name string
---@field cmd string[]
---@field cwd string Absolute.
---@field env table<string, string> Beside Neovim's own environment.

local reminded = false

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
    env = require("gemini-bridge.terminal.loopback").get(options.env),
  }
end

--- Tells the user once what to do when Gemini CLI would not even try to connect.
---@param spec gemini_bridge.TerminalSpec
function M.remind(spec)
  if reminded or vim.fs.basename(spec.cmd[1]) ~= "gemini" then
    return
  end
  local env = vim.tbl_extend("force", vim.fn.environ(), spec.env)
  if not require("gemini-bridge.doctor.settings").ide_enabled(env, spec.cwd) then
    reminded = true
    require("gemini-bridge.notify")(
      "Gemini CLI does not connect to editors yet: type /ide enable in it, once."
    )
  end
end

return M
