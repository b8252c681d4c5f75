--- Prepares the start of a CLI: command line, directory and environment.
local clis = require("gemini-bridge.config.clis")
local config = require("gemini-bridge.config")

local M = {}

---@class gemini_bridge.TerminalSpec
---@field name string
---@field cli string Name of the CLI.
---@field cmd string[]
---@field count integer Number of words of the program itself.
---@field cwd string Absolute.
---@field env table<string, string> Variables that lead the CLI to this bridge; empty until the bridge runs.

--- Returns the directory for the program.
---@return string # Absolute path.
function M.cwd()
  local wanted = config.get().terminal.cwd
  if type(wanted) == "function" then
    wanted = wanted()
  end
  return vim.fs.normalize(vim.fn.fnamemodify(wanted or vim.fn.getcwd(), ":p"))
end

--- Arguments that choose an approval mode. If the user has passed one of these, the CLI's default arguments are left
--- out.
local APPROVING = { "--yolo", "-y", "--dangerously-skip-permissions" }

--- Builds the command line of a CLI. Leaves out the default arguments if the user's arguments override them.
---@param cli gemini_bridge.Cli
---@param args string[]
---@return string[] command
---@return integer count Number of words of the program itself.
local function command(cli, args)
  local cmd = clis.command(cli)
  local defaults = cli.args or {}
  local is_overridden = vim.iter(vim.list_extend(vim.list_slice(cmd), args)):any(function(argument)
    return vim.list_contains(APPROVING, argument) or argument:match("^[^=]*") == defaults[1]
  end)
  return vim.iter({ cmd, is_overridden and {} or defaults, args }):flatten():totable(), #cmd
end

--- Returns the command line without the user's arguments.
---@param name? string Name of the CLI. Default: the option `terminal.cli`.
---@return string[]
function M.command(name)
  local cli = clis.get(name or config.get().terminal.cli)
  return cli and (command(cli, {})) or config.get().terminal.cmd or { "gemini" }
end

--- Returns the message for a missing program. The message fits into one line of 80 columns.
---@param program string
---@param cli gemini_bridge.Cli
---@return string
local function missing(program, cli)
  local known = require("gemini-bridge.config.cli_option").find(cli.name)
  if known and known.cmd[1] == program then
    return ("%s not found: npm install -g %s"):format(program, known.package)
  end
  local option = cli.name == config.get().terminal.cli and config.get().terminal.cmd and "terminal.cmd"
  return ("%s cannot be run: check the option %s"):format(program, option or ("clis.%s.cmd"):format(cli.name))
end

--- Returns what a terminal runs: a command line, made from the options and `args`. Also returns the directory.
---@param name string
---@param args string[]
---@param cli_name? string
---@return gemini_bridge.TerminalSpec? spec
---@return string? problem The reason if the program cannot run.
function M.spec(name, args, cli_name)
  local cli, problem = clis.get(cli_name or config.get().terminal.cli)
  if not cli then
    return nil, problem
  end
  local cmd, count = command(cli, args)
  if vim.fn.executable(cmd[1]) == 0 then
    return nil, missing(cmd[1], cli)
  end
  local cwd = M.cwd()
  if vim.fn.isdirectory(cwd) == 0 then
    return nil, ("terminal.cwd: %s is not a directory"):format(cwd)
  end
  return {
    name = name,
    cli = cli.name,
    cmd = cmd,
    count = count,
    cwd = cwd,
    env = {},
  }
end

--- Runs the program as a child of a shell. Without `exit $?`, the program would be the shell's last command, and the
--- shell would replace itself by the program.
local SHELL = { "sh", "-c", '"$@"; exit $?', "sh" }

--- Providers that run the program as a descendant of Neovim. A CLI can then find Neovim's process among its ancestors.
local OWN_PROVIDERS = { "native", "snacks" }

--- Adds arguments directly after the program, so that the user's arguments come last and take precedence. Does not add
--- an option that the user has passed.
---@param spec gemini_bridge.TerminalSpec
---@param arguments string[]
local function add_arguments(spec, arguments)
  local own = vim.tbl_map(function(word)
    return word:match("^[^=]*")
  end, spec.cmd)
  local cmd = vim.list_slice(spec.cmd, 1, spec.count)
  for _, argument in ipairs(arguments) do
    if not vim.list_contains(own, argument:match("^[^=]*")) then
      cmd[#cmd + 1] = argument
    end
  end
  spec.cmd = vim.list_extend(cmd, spec.cmd, spec.count + 1)
end

--- Adds the arguments and variables by which the program finds the running bridge.
---@param spec gemini_bridge.TerminalSpec
function M.complete(spec)
  local environment = require("gemini-bridge.host.environment")
  local env = environment.of_bridge()
  add_arguments(spec, environment.arguments(spec.cli))
  local needs = (clis.get(spec.cli) or {}).byProcess
  if needs and vim.list_contains(OWN_PROVIDERS, config.get().terminal.provider) then
    spec.cmd = vim.list_extend(vim.list_slice(SHELL), spec.cmd)
  elseif needs then
    env = vim.tbl_extend("force", env, needs)
  end
  env = vim.tbl_extend("force", env, environment.variables(spec.cli))
  -- Sets both variables, because a tmux pane may have other values than Neovim: the program is found by PATH, and the
  -- discovery file by TMPDIR.
  env.PATH, env.TMPDIR = vim.env.PATH, vim.env.TMPDIR
  -- If a desktop has started Neovim, SHLVL is not set. The bash of each hook would then take itself for a remote login
  -- and read ~/.bashrc, and the CLI would show what ~/.bashrc prints.
  env.SHLVL = vim.env.SHLVL or "1"
  local own = environment.of_clis(config.get().terminal.env)
  spec.env = require("gemini-bridge.terminal.external_editor").environment(vim.tbl_extend("force", env, own))
end

--- Tells the host about a started program, so that the host can find out whether the CLI will connect.
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
