---@meta
-- Written by `make doc` from the options' schema.
-- luacheck: no max line length

---@class gemini_bridge.Config
---@field autostart? "idle"|boolean Start the bridge as soon as Neovim has started, or a second later, when it is idle, instead of with :GeminiStart or when :Gemini needs it.
---@field host? "private"|"shared" Where the Node part runs: a process of its own, or the standard Node host, after :UpdateRemotePlugins.
---@field node? string The Node program (version 20 or later) that runs the private host.
---@field server? gemini_bridge.Config.server
---@field log? gemini_bridge.Config.log
---@field clis? any|any The CLIs that find this editor, beside Gemini CLI, Qwen Code and LLxprt Code: see gemini-bridge-clis. Experimental.
---@field extension? "ask"|"auto"|false Whether :Gemini links the extension in a CLI that cannot tell Neovim what it changes without it: after a question, without one, or never. See gemini-bridge-extension.
---@field context? gemini_bridge.Config.context
---@field workspace? string[]|function Directories that are open beside Neovim's current ones.
---@field trust? boolean|function Whether the CLI may trust the workspace. Unset, the CLI's own folder trust decides.
---@field diff? gemini_bridge.Config.diff
---@field gate? boolean|any Have each connected Gemini CLI ask before every edit, in every approval mode, as :GeminiGate does; by name those that are like it. Experimental.
---@field notify? gemini_bridge.Config.notify
---@field terminal? gemini_bridge.Config.terminal
---@field prompts? any Prompts of your own for the CLI, each a slash command there, see gemini-bridge-prompts. Experimental.
---@field tools? gemini_bridge.Config.tools
---@field send? gemini_bridge.Config.send

---@class gemini_bridge.Config.server
---@field max_sessions? integer How many CLIs can be connected at once; one more is told to try again later.
---@field grace? integer How long a CLI whose connection broke may take to come back (milliseconds). Then its reviews close.
---@field body_limit? integer The largest request that is read, and so the largest proposal (bytes).

---@class gemini_bridge.Config.log
---@field level? "debug"|"info"|"warn"|"error" How much goes into the log file.

---@class gemini_bridge.Config.context
---@field exclude? string[] Files of which neither name nor text is shared: patterns as in a `.gitignore`. A list replaces the default.

---@class gemini_bridge.Config.diff
---@field layout? "auto"|"vertical"|"horizontal"|"tab"|"inline" How a review is shown: side by side, one above the other, in a tab page of its own, or as there is room; or in one window, where deleted lines are virtual ones.
---@field write_accepts? boolean Accept with `:w` and its like. Otherwise only :GeminiAccept does.
---@field winbar? boolean Show file, hunks and keys above the windows of a review and of :GeminiHistory.
---@field keys? gemini_bridge.Config.diff.keys

---@class gemini_bridge.Config.notify
---@field desktop? boolean Have the terminal show a notification (OSC 9) when an agent waits or is done while Neovim has no focus.

---@class gemini_bridge.Config.diff.keys
---@field accept? string|false Accept, as :GeminiAccept does.
---@field reject? string|false Reject, as :GeminiReject does.
---@field keep? string|false Keep the hunk at the cursor.
---@field drop? string|false Drop the hunk at the cursor.
---@field undo? string|false Undo the last kept or dropped hunk.
---@field next? string|false Go to the next hunk.
---@field prev? string|false Go to the previous hunk.
---@field help? string|false Show these keys.

---@class gemini_bridge.Config.terminal
---@field cli? string The CLI that :Gemini runs, by its name in the option `clis`.
---@field cmd? string[] The program that :Gemini runs for that CLI, and its arguments. Without it the CLI's own.
---@field connect? boolean Have Gemini CLI connect without a question when it is started in a terminal of Neovim's, unless its own settings say otherwise. See gemini-bridge-connect. Experimental.
---@field reconnect? boolean Type `/ide enable` into the empty prompt of a CLI in a terminal of Neovim's that says "Disconnected" since the bridge crashed or was stopped for more than a second. Experimental.
---@field position? "right"|"left"|"top"|"bottom"|"float"|"tab" Where :Gemini opens its window.
---@field size? number Width, or height at the top and bottom: below 1 a share of the editor, else columns or lines. Without it 0.4 beside, 0.3 above or below, 0.8 for a float.
---@field cwd? string|function Where the program starts, or a function that returns it. Without it the current directory.
---@field env? table<string, string> Variables for the program, beside those that lead it to the bridge.
---@field provider? "native"|"snacks"|"tmux"|function What opens the terminal: Neovim's own windows, snacks.nvim, the tmux that Neovim is in, or a function, see gemini-bridge-provider.
---@field auto_close? boolean Close the window when the program ends without an error.

---@class gemini_bridge.Config.tools
---@field offered? string[] Which tools Neovim offers to the model, by their names. Without it all, see gemini-bridge-tools. Experimental.
---@field trust? boolean Have Gemini CLI call the tools that only read without asking, in Neovim's terminals. Takes effect for root alone; other users add the plugin's extension/read-only.toml to the CLI's setting `policyPaths`. Experimental.
---@field max_items? integer How many diagnostics, places or symbols the model is told of at once. Experimental.
---@field max_text? integer How much text the model is told at once (UTF-16 units). Experimental.
---@field timeout? integer How long language servers may take to answer the model (milliseconds). Experimental.

---@class gemini_bridge.Config.send
---@field focus? boolean Go to the CLI's terminal after :GeminiSend and :GeminiAdd.
