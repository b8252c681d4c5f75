--- What a CLI is started with.
local clis = require("gemini-bridge.config.clis")
local config = require("gemini-bridge.config")

local M = {}

---@class gemini_bridge.TerminalSpec
---@field name string
---@field cli string Which CLI it is.
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

--- A CLI's command line. The user's arguments take the place of ours for the same.
---@param cli gemini_bridge.Cli
---@param args string[]
---@return string[]
local function command(cli, args)
  local options = config.get().terminal
  local cmd = vim.deepcopy(options.cmd and cli.name == options.cli and options.cmd or cli.cmd)
  local ours = cli.args or {}
  local is_said = vim.iter(vim.list_extend(vim.list_slice(cmd), args)):any(function(argument)
    return argument == "--yolo" or argument == "-y" or argument:match("^[^=]*") == ours[1]
  end)
  return vim.iter({ cmd, is_said and {} or ours, args }):flatten():totable()
end

--- The command line without the user's arguments.
---@param name? string Of the CLI; without it that of the option.
---@return string[]
function M.command(name)
  local cli = clis.get(name or config.get().terminal.cli)
  return cli and command(cli, {}) or config.get().terminal.cmd or { "gemini" }
end

--- The message for a program that cannot be run. It fits into one line of 80 columns.
---@param program string
---@param cli gemini_bridge.Cli
---@return string
local function missing(program, cli)
  local known = clis.known(cli.name)
  if known and known.cmd[1] == program then
    return ("%s not found: npm install -g %s"):format(program, known.package)
  end
  local option = cli.name == config.get().terminal.cli and config.get().terminal.cmd and "terminal.cmd"
  return ("%s cannot be run: check the option %s"):format(program, option or ("clis.%s.cmd"):format(cli.name))
end

--- The options and more arguments, as what to run.
---@param name string
---@param args string[]
---@param cli_name? string
---@return gemini_bridge.TerminalSpec? spec
---@return string? problem Why it cannot run.
function M.spec(name, args, cli_name)
  local cli, problem = clis.get(cli_name or config.get().terminal.cli)
  if not cli then
    return nil, problem
  end
  local cmd = command(cli, args)
  if vim.fn.executable(cmd[1]) == 0 then
    return nil, missing(cmd[1], cli)
  end
  local cwd = M.cwd()
  if vim.fn.isdirectory(cwd) == 0 then
    return nil, ("terminal.cwd: %s is no directory"):format(cwd)
  end
  return {
    name = name,
    cli = cli.name,
    cmd = cmd,
    cwd = cwd,
    env = {},
  }
end

--- Stays above the program, whose process would else be the shell's own.
local SHELL = { "sh", "-c", '"$@"; exit $?', "sh" }

--- Those that run it below this Neovim, where a CLI can find Neovim's process.
local BELOW = { "native", "snacks" }

--- Adds what leads the program to this bridge, which runs, also a program that is no child of Neovim's.
---@param spec gemini_bridge.TerminalSpec
function M.complete(spec)
  local env = require("gemini-bridge.host.environment").of_bridge()
  local needs = (clis.get(spec.cli) or {}).byProcess
  if needs and vim.list_contains(BELOW, config.get().terminal.provider) then
    spec.cmd = vim.list_extend(vim.list_slice(SHELL), spec.cmd)
  elseif needs then
    env = vim.tbl_extend("force", env, needs)
  end
  -- Where the program is found, and where it looks for the discovery file.
  env.PATH, env.TMPDIR = vim.env.PATH, vim.env.TMPDIR
  -- Without it, as in a Neovim that a desktop has started, bash takes each hook for a login from afar: it reads the
  -- user's ~/.bashrc, whose words the CLI would show.
  env.SHLVL = vim.env.SHLVL or "1"
  local own = require("gemini-bridge.terminal.loopback").get(config.get().terminal.env)
  spec.env = require("gemini-bridge.terminal.external_editor").environment(vim.tbl_extend("force", env, own))
end

--- Tells the host, which knows whether this CLI will connect.
---@param spec gemini_bridge.TerminalSpec
---@param program string
function M.started(spec, program)
  require("gemini-bridge.bridge.channel").notify("cli_started", {
    terminal = spec.name,
    cli = spec.cli,
    program = program,
    cwd = spec.cwd,
    env = vim.tbl_extend("force", vim.fn.environ(), spec.env),
  })
end

return M
