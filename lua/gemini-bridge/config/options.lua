--- Declares all options, with their defaults, checks, and texts for the help.
local checks = require("gemini-bridge.config.checks")
local cli_option = require("gemini-bridge.config.cli_option")
local patterns = require("gemini-bridge.config.patterns")

local a, any, one_of = checks.a, checks.any, checks.one_of

---@class gemini_bridge.Option
---@field [1] string Name with dots, such as `diff.layout`.
---@field default any
---@field check fun(value: any): boolean
---@field expects string Description of valid values, for messages and the help.
---@field doc string
---@field sort_out? fun(value: any): any, string[] Returns the valid part of a value, and problems with the rest.
---@field experimental? true Set if the option may change in any release, see |gemini-bridge-stability|.

---@param name string
---@param default any
---@param doc string
---@param check fun(value: any): boolean
---@param expects string
---@param sort_out? fun(value: any): any, string[]
---@return gemini_bridge.Option
local function stable(name, default, doc, check, expects, sort_out)
  return { name, default = default, check = check, expects = expects, doc = doc, sort_out = sort_out }
end

---@param ... any Arguments of `stable`.
---@return gemini_bridge.Option
local function experimental(...)
  local option = stable(...)
  option.experimental = true
  return option
end

---@param name string
---@param default string
---@param doc string
---@return gemini_bridge.Option
local function key(name, default, doc)
  return stable(name, default, doc, checks.is_key, "a key as in mappings, or false for none")
end

---@type gemini_bridge.Option[]
return {
  stable(
    "autostart",
    false,
    'When to start the bridge: when Neovim starts (true), a second after that ("idle"), or only when '
      .. "|:GeminiStart| or |:Gemini| is used (false). Waits for a UI. Does not start the bridge for manual pages, "
      .. "commit messages, the output of a program (`nvim -`), and in VS Code.",
    any((one_of("idle")), (a("boolean"))),
    '"idle" or a boolean'
  ),
  stable(
    "host",
    "private",
    'Where the bridge runs: in its own Node process ("private"), or in Neovim\'s standard Node host ("shared"), which '
      .. "needs |:UpdateRemotePlugins|. The shared host runs until Neovim ends: after an update of the plugin, restart "
      .. "Neovim, because |:GeminiRestart| does not load the new version.",
    one_of("private", "shared")
  ),
  stable("node", "node", "The Node program for the private host, version 20 or later.", a("string")),
  stable(
    "log.level",
    "info",
    "Minimum level of the entries in the log file.",
    one_of("debug", "info", "warn", "error")
  ),
  experimental(
    "clis",
    {},
    "Changes the settings of a CLI, adds a CLI, or disables a CLI (false). See |gemini-bridge-clis|.",
    cli_option.check,
    "a table of CLIs by name",
    cli_option.sort_out
  ),
  stable(
    "extension",
    "ask",
    'What |:Gemini| does if a CLI needs the extension: ask you whether to install it ("ask"), install it without '
      .. 'asking ("auto"), or nothing (false). See |gemini-bridge-extension|.',
    any((one_of("ask", "auto")), function(value)
      return value == false
    end),
    '"ask", "auto" or false'
  ),
  stable(
    "context.exclude",
    {
      ".env*",
      "*.env",
      ".netrc",
      ".npmrc",
      ".pypirc",
      ".git-credentials",
      ".pgpass",
      ".aws/credentials",
      ".ssh/*",
      "*.tfvars",
      "*.tfstate",
      "*.pem",
      "*.key",
      "*.p12",
      "*.pfx",
      "*.ppk",
      "id_rsa*",
      "id_dsa*",
      "id_ecdsa*",
      "id_ed25519*",
      "*.kdbx",
    },
    "Patterns, as in a `.gitignore`, of files whose names and contents are never shared. Your list replaces the "
      .. "default.",
    checks.strings,
    "a list of patterns",
    patterns.sort_out("context.exclude")
  ),
  stable(
    "context.share",
    true,
    "Whether Neovim shares open files, cursor, selection and diagnostics before you say so: yes (true), only after "
      .. '|:GeminiShare| on (false), or only if you answer a question when the first CLI connects ("ask"). '
      .. "See |gemini-bridge-privacy|.",
    function()
      return true -- sort_out_share replaces invalid values
    end,
    '"ask" or a boolean',
    checks.sort_out_share
  ),
  stable(
    "workspace",
    {},
    "Directories that belong to the workspace in addition to Neovim's current directories. "
      .. "See |gemini-bridge-workspace|.",
    any(checks.strings, (a("function"))),
    "a list of directories, or a function that returns such a list"
  ),
  stable(
    "trust",
    nil,
    "Whether the CLI may trust the workspace. Unset: the CLI's own folder trust decides. See |gemini-bridge-trust|.",
    any(a("boolean"), (a("function"))),
    "true, false, or a function that gets the list of directories"
  ),
  stable(
    "diff.layout",
    "auto",
    'Layout of a review: side by side ("vertical"), one above the other ("horizontal"), in its own tab page ("tab"), '
      .. 'or only the proposal, with deleted lines as virtual lines ("inline"). "auto" chooses by the available space.',
    one_of("auto", "vertical", "horizontal", "tab", "inline")
  ),
  stable(
    "diff.write_accepts",
    true,
    "Whether `:w`, `:wq` and similar commands accept a proposal. If false, only |:GeminiAccept| does.",
    a("boolean")
  ),
  stable(
    "diff.winbar",
    true,
    "Show file, hunks and keys above the windows of a review, and of the pages of |:GeminiChanges| and "
      .. "|:GeminiHistory|.",
    a("boolean")
  ),
  experimental(
    "gate",
    false,
    "Make every connected Gemini CLI and Claude Code ask before each edit, in every approval mode. A table sets this "
      .. "for single CLIs: { claude = true }. See |gemini-bridge-gate|.",
    checks.is_gate,
    "true, false, or a table with true or false for each CLI"
  ),
  stable(
    "notify.desktop",
    false,
    "While Neovim is not focused, show a desktop notification when an agent waits for you or has finished. The "
      .. "terminal must support OSC 9. See |gemini-bridge-tmux-notifications|.",
    a("boolean")
  ),
  experimental(
    "changes.tell_agent",
    true,
    "Tell the agent with its next prompt, once, which of its changes you have undone. See |gemini-bridge-tell-agent|.",
    a("boolean")
  ),
  key(
    "keys.accept",
    "<LocalLeader>a",
    "Accept the proposal, like |:GeminiAccept|. The keys `keys.*` apply in a proposal and on the page of "
      .. "|:GeminiChanges|, see |gemini-bridge-hunks| and |gemini-bridge-page|."
  ),
  key("keys.reject", "<LocalLeader>r", "Reject the proposal, like |:GeminiReject|."),
  key("keys.next", "]h", "Go to the next hunk."),
  key("keys.prev", "[h", "Go to the previous hunk."),
  key("keys.keep", "<LocalLeader>s", "Keep the hunk or the selected lines."),
  key("keys.undo", "<LocalLeader>x", "Undo the hunk or the selected lines."),
  key("keys.revert", "<LocalLeader>u", "Revert the last keep or undo."),
  key("keys.help", "g?", "Show the keys."),
  stable(
    "terminal.cli",
    "gemini",
    "Name of the CLI that |:Gemini| runs: one of |gemini-bridge-clis|.",
    a("string")
  ),
  stable(
    "terminal.cmd",
    nil,
    "Program and arguments that |:Gemini| runs for the CLI of `terminal.cli`. Unset: the usual program, such as "
      .. '{ "gemini" }.',
    checks.is_command,
    "a list of strings that starts with a program"
  ),
  experimental(
    "terminal.connect",
    true,
    "Connect each Gemini CLI in a terminal of Neovim without asking, unless the settings of the CLI say otherwise. "
      .. "See |gemini-bridge-connect|.",
    a("boolean")
  ),
  stable(
    "terminal.position",
    "right",
    "Where |:Gemini| opens its window.",
    one_of("right", "left", "top", "bottom", "float", "tab")
  ),
  stable(
    "terminal.size",
    nil,
    "Width of the window, or its height at the top or bottom. A number below 1 is a share of the editor's size, other "
      .. "numbers are columns or lines. Unset: 0.4 at a side, 0.3 at the top or bottom, 0.8 for a float.",
    function(value)
      return type(value) == "number" and value > 0
    end,
    "a number greater than 0"
  ),
  stable(
    "terminal.cwd",
    nil,
    "Directory in which the program starts, or a function that returns it. Unset: the current directory.",
    any(a("string"), (a("function"))),
    "a directory or a function"
  ),
  stable(
    "terminal.env",
    {},
    "Environment variables for the program, in addition to those of the bridge.",
    checks.is_environment,
    "a table of strings by name"
  ),
  stable(
    "terminal.provider",
    "native",
    'What opens the terminal: Neovim itself ("native"), snacks.nvim, the tmux in which Neovim runs, or a function. '
      .. "See |gemini-bridge-provider|.",
    any(one_of("native", "snacks", "tmux"), (a("function"))),
    '"native", "snacks", "tmux" or a function'
  ),
  stable(
    "terminal.auto_close",
    true,
    "Close the window when the program ends without an error.",
    a("boolean")
  ),
  experimental(
    "prompts",
    {},
    "Your own prompts, which become slash commands in the CLI. See |gemini-bridge-prompts|.",
    checks.is_prompts,
    "a table with { description, text } for each name"
  ),
  experimental(
    "tools.offered",
    nil,
    "Names of the tools that are offered to the model. Unset: all. See |gemini-bridge-tools|.",
    checks.strings,
    "a list of names",
    checks.sort_out_tools
  ),
}
