--- The schema of the options: defaults, validation and the reference in the help.

local checks = require("gemini-bridge.config.checks")
local cli_option = require("gemini-bridge.config.cli_option")
local declare = require("gemini-bridge.config.option")

local a, any, integer, one_of = checks.a, checks.any, checks.integer, checks.one_of

local stable, experimental = declare.stable, declare.experimental

local KEY = "a key as in mappings, or false for none"

---@type gemini_bridge.Option[]
return {
  stable(
    "autostart",
    false,
    "Start the bridge as soon as Neovim has started, or a second later, when it is idle, instead of with "
      .. "|:GeminiStart| or when |:Gemini| needs it.",
    any((one_of("idle")), (a("boolean"))),
    '"idle" or a boolean'
  ),
  stable(
    "host",
    "private",
    "Where the Node part runs: a process of its own, or the standard Node host, after |:UpdateRemotePlugins|.",
    one_of("private", "shared")
  ),
  stable("node", "node", "The Node program (version 20 or later) that runs the private host.", a("string")),
  stable(
    "server.max_sessions",
    256,
    "How many CLIs can be connected at once; one more is told to try again later.",
    integer(1)
  ),
  stable(
    "server.grace",
    30000,
    "How long a CLI whose connection broke may take to come back (milliseconds). Then its reviews close.",
    integer(0)
  ),
  stable(
    "server.body_limit",
    64 * 1024 * 1024,
    "The largest request that is read, and so the largest proposal (bytes).",
    integer(1024)
  ),
  stable("log.level", "info", "How much goes into the log file.", one_of("debug", "info", "warn", "error")),
  experimental(
    "clis",
    {},
    "The CLIs that find this editor, beside Gemini CLI, Qwen Code and LLxprt Code: see |gemini-bridge-clis|.",
    cli_option.check,
    "a table by name: false, or a table as in |gemini-bridge-clis|",
    cli_option.sort_out
  ),
  stable(
    "extension",
    "ask",
    "Whether |:Gemini| links the extension in a CLI that cannot tell Neovim what it changes without it: after a "
      .. "question, without one, or never. See |gemini-bridge-extension|.",
    any((one_of("ask", "auto")), function(value)
      return value == false
    end),
    '"ask", "auto" or false'
  ),
  stable(
    "context.exclude",
    {
      ".env*",
      "*.pem",
      "*.key",
      "*.p12",
      "*.pfx",
      "*.ppk",
      "id_rsa",
      "id_dsa",
      "id_ecdsa*",
      "id_ed25519*",
      "*.kdbx",
    },
    "Files of which neither name nor text is shared: patterns as in a `.gitignore`. A list replaces the default.",
    checks.strings,
    "a list of patterns"
  ),
  stable(
    "workspace",
    {},
    "Directories that are open beside Neovim's current ones.",
    any(checks.strings, (a("function"))),
    "a list of directories, or a function that returns one"
  ),
  stable(
    "trust",
    nil,
    "Whether the CLI may trust the workspace. Unset, the CLI's own folder trust decides.",
    any(a("boolean"), (a("function"))),
    "true, false, or a function of the list of directories"
  ),
  stable(
    "diff.layout",
    "auto",
    "How a review is shown: side by side, one above the other, in a tab page of its own, or as there is room; or "
      .. "in one window, where deleted lines are virtual ones.",
    one_of("auto", "vertical", "horizontal", "tab", "inline")
  ),
  stable(
    "diff.write_accepts",
    true,
    "Accept with `:w` and its like. Otherwise only |:GeminiAccept| does.",
    a("boolean")
  ),
  experimental(
    "gate",
    false,
    "Have each connected Gemini CLI ask before every edit, in every approval mode, as |:GeminiGate| does; by name "
      .. "those that are like it.",
    checks.is_gate,
    "true, false or a table of them by CLI"
  ),
  stable(
    "notify.desktop",
    false,
    "Have the terminal show a notification (OSC 9) when an agent waits or is done while Neovim has no focus.",
    a("boolean")
  ),
  stable(
    "diff.winbar",
    true,
    "Show file, hunks and keys above the windows of a review and of |:GeminiHistory|.",
    a("boolean")
  ),
  stable("diff.keys.accept", "<LocalLeader>a", "Accept, as |:GeminiAccept| does.", checks.is_key, KEY),
  stable("diff.keys.reject", "<LocalLeader>r", "Reject, as |:GeminiReject| does.", checks.is_key, KEY),
  stable("diff.keys.keep", "<LocalLeader>k", "Keep the hunk at the cursor.", checks.is_key, KEY),
  stable("diff.keys.drop", "<LocalLeader>d", "Drop the hunk at the cursor.", checks.is_key, KEY),
  stable("diff.keys.undo", "<LocalLeader>u", "Undo the last kept or dropped hunk.", checks.is_key, KEY),
  stable("diff.keys.next", "]h", "Go to the next hunk.", checks.is_key, KEY),
  stable("diff.keys.prev", "[h", "Go to the previous hunk.", checks.is_key, KEY),
  stable("diff.keys.help", "g?", "Show these keys.", checks.is_key, KEY),
  stable(
    "terminal.cli",
    "gemini",
    "The CLI that |:Gemini| runs, by its name in the option `clis`.",
    a("string")
  ),
  stable(
    "terminal.cmd",
    nil,
    "The program that |:Gemini| runs for that CLI, and its arguments. Without it the CLI's own.",
    checks.is_command,
    "a list of strings that starts with a program"
  ),
  experimental(
    "terminal.connect",
    true,
    "Have Gemini CLI connect without a question when it is started in a terminal of Neovim's, unless its own "
      .. "settings say otherwise. See |gemini-bridge-connect|.",
    a("boolean")
  ),
  experimental(
    "terminal.reconnect",
    true,
    'Type `/ide enable` into the empty prompt of a CLI in a terminal of Neovim\'s that says "Disconnected" since '
      .. "the bridge crashed or was stopped for more than a second.",
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
    "Width, or height at the top and bottom: below 1 a share of the editor, else columns or lines. "
      .. "Without it 0.4 beside, 0.3 above or below, 0.8 for a float.",
    function(value)
      return type(value) == "number" and value > 0
    end,
    "a number greater than 0"
  ),
  stable(
    "terminal.cwd",
    nil,
    "Where the program starts, or a function that returns it. Without it the current directory.",
    any(a("string"), (a("function"))),
    "a directory or a function"
  ),
  stable(
    "terminal.env",
    {},
    "Variables for the program, beside those that lead it to the bridge.",
    checks.is_environment,
    "a table of strings by name"
  ),
  stable(
    "terminal.provider",
    "native",
    "What opens the terminal: Neovim's own windows, snacks.nvim, the tmux that Neovim is in, or a function, see "
      .. "|gemini-bridge-provider|.",
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
    "Prompts of your own for the CLI, each a slash command there, see |gemini-bridge-prompts|.",
    checks.is_prompts,
    "a table of { description, text } by name"
  ),
  experimental(
    "tools.offered",
    nil,
    "Which tools Neovim offers to the model, by their names. Without it all, see |gemini-bridge-tools|.",
    checks.strings,
    "a list of names"
  ),
  experimental(
    "tools.trust",
    false,
    "Have Gemini CLI call the tools that only read without asking, in Neovim's terminals. Takes effect for root alone; "
      .. "other users add the plugin's extension/read-only.toml to the CLI's setting `policyPaths`.",
    a("boolean")
  ),
  experimental(
    "tools.max_items",
    100,
    "How many diagnostics, places or symbols the model is told of at once.",
    integer(1)
  ),
  experimental(
    "tools.max_text",
    40000,
    "How much text the model is told at once (UTF-16 units).",
    integer(1)
  ),
  experimental(
    "tools.timeout",
    10000,
    "How long language servers may take to answer the model (milliseconds).",
    integer(1)
  ),
  stable("send.focus", false, "Go to the CLI's terminal after |:GeminiSend| and |:GeminiAdd|.", a("boolean")),
}
