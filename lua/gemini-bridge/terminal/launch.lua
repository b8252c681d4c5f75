--- Prepares the start of a CLI: command line, directory and environment.
local clis = require("gemini-bridge.config.clis")
local config = require("gemini-bridge.config")

local M = {}

---@class gemini_bridge.TerminalSpec
---@field name string
---@field cli string Name of the CLI.
---@field cmd string[]
---@field count integer Number of words of the program, without arguments.
---@field cwd string Absolute.
---@field env table<string, string> Variables by which the CLI finds this bridge. Empty until the bridge runs.

--- Returns the directory in which the CLI is started.
---@return string # Absolute path.
function M.cwd()
  local wanted = config.get().terminal.cwd
  if type(wanted) == "function" then
    wanted = wanted()
  end
  return vim.fs.normalize(vim.fn.fnamemodify(wanted or vim.fn.getcwd(), ":p"), { expand_env = false })
end

--- Arguments that choose an approval mode. If the user passes one of these arguments, the default arguments are left
--- out.
local APPROVING = { "--yolo", "-y", "--dangerously-skip-permissions" }

--- Builds the command line of a CLI. Leaves out the default arguments if an argument of the user overrides them.
---@param cli gemini_bridge.Cli
---@param args string[]
---@return string[] command
---@return integer count Number of words of the program, without arguments.
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

--- Returns the message for a missing program, in at most 80 columns.
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

--- Builds the specification of a terminal from the options and the user's arguments.
---@param name string
---@param args string[]
---@param cli_name? string
---@return gemini_bridge.TerminalSpec? spec
---@return string? problem The reason why the program cannot run.
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
    return nil, ("The option terminal.cwd names %s, which is not a directory"):format(cwd)
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

--- Runs the program as a child of a shell. `exit $?` prevents the shell from replacing itself with the program.
local SHELL = { "sh", "-c", '"$@"; exit $?', "sh" }

--- Providers that run the program as a descendant of Neovim, so that a CLI can find Neovim among its ancestors.
local OWN_PROVIDERS = { "native", "snacks" }

--- Inserts arguments directly after the program, so that later arguments of the user take precedence. Does not
--- insert an option that the user has passed.
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

--- Adds the arguments and environment variables by which the CLI finds the running bridge.
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
  -- In a tmux pane, both variables may differ from Neovim's. PATH is needed to find the program, TMPDIR to find the
  -- discovery file.
  env.PATH, env.TMPDIR = vim.env.PATH, vim.env.TMPDIR
  -- If Neovim was started from a desktop, SHLVL is not set. Without SHLVL, bash behaves as in a remote login: each hook
  -- would read ~/.bashrc, and the CLI would show the output.
  env.SHLVL = vim.env.SHLVL or "1"
  local own = environment.of_clis(config.get().terminal.env)
  spec.env = require("gemini-bridge.terminal.external_editor").environment(vim.tbl_extend("force", env, own))
end

--- Reports a started program to the host, which then checks whether the CLI connects.
---@param spec gemini_bridge.TerminalSpec
---@param cmd string[] The command line that the user has configured.
function M.started(spec, cmd)
  require("gemini-bridge.bridge.channel").notify("cli_started", {
    terminal = spec.name,
    cli = spec.cli,
    cmd = cmd,
    cwd = spec.cwd,
    env = vim.tbl_extend("force", vim.fn.environ(), spec.env),
  })
end

return M
