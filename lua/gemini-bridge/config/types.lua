---@meta
-- Written by `make doc` from the options' schema.
-- luacheck: no max line length

---@class gemini_bridge.Config
---@field autostart? "idle"|boolean When to start the bridge: when Neovim starts (true), a second after that ("idle"), or only when :GeminiStart or :Gemini is used (false). Waits for a UI. Does not start the bridge for manual pages, commit messages, the output of a program (`nvim -`), and in VS Code.
---@field host? "private"|"shared" Where the bridge runs: in its own Node process ("private"), or in Neovim's standard Node host ("shared"), which needs :UpdateRemotePlugins. The shared host runs until Neovim ends: after an update of the plugin, restart Neovim, because :GeminiRestart does not load the new version.
---@field node? string The Node program for the private host, version 20 or later.
---@field log? gemini_bridge.Config.log
---@field clis? any Changes the settings of a CLI, adds a CLI, or disables a CLI (false). See gemini-bridge-clis. Experimental.
---@field extension? "ask"|"auto"|false What :Gemini does if a CLI needs the extension: ask you whether to install it ("ask"), install it without asking ("auto"), or nothing (false). See gemini-bridge-extension.
---@field context? gemini_bridge.Config.context
---@field workspace? string[]|function Directories that belong to the workspace in addition to Neovim's current directories. See gemini-bridge-workspace.
---@field trust? boolean|function Whether the CLI may trust the workspace. Unset: the CLI's own folder trust decides. See gemini-bridge-trust.
---@field diff? gemini_bridge.Config.diff
---@field gate? boolean|any Make every connected Gemini CLI and Claude Code ask before each edit, in every approval mode. A table sets this for single CLIs: { claude = true }. See gemini-bridge-gate. Experimental.
---@field notify? gemini_bridge.Config.notify
---@field changes? gemini_bridge.Config.changes
---@field keys? gemini_bridge.Config.keys
---@field terminal? gemini_bridge.Config.terminal
---@field prompts? any Your own prompts, which become slash commands in the CLI. See gemini-bridge-prompts. Experimental.
---@field tools? gemini_bridge.Config.tools

---@class gemini_bridge.Config.log
---@field level? "debug"|"info"|"warn"|"error" Minimum level of the entries in the log file.

---@class gemini_bridge.Config.context
---@field exclude? string[] Patterns, as in a `.gitignore`, of files whose names and contents are never shared. Your list replaces the default.
---@field share? "ask"|boolean Whether Neovim shares open files, cursor, selection and diagnostics before you say so: yes (true), only after :GeminiShare on (false), or only if you answer a question when the first CLI connects ("ask"). See gemini-bridge-privacy.

---@class gemini_bridge.Config.diff
---@field layout? "auto"|"vertical"|"horizontal"|"tab"|"inline" Layout of a review: side by side ("vertical"), one above the other ("horizontal"), in its own tab page ("tab"), or only the proposal, with deleted lines as virtual lines ("inline"). "auto" chooses by the available space.
---@field write_accepts? boolean Whether `:w`, `:wq` and similar commands accept a proposal. If false, only :GeminiAccept does.
---@field winbar? boolean Show file, hunks and keys above the windows of a review, and of the pages of :GeminiChanges and :GeminiHistory.

---@class gemini_bridge.Config.notify
---@field desktop? boolean While Neovim is not focused, show a desktop notification when an agent waits for you or has finished. The terminal must support OSC 9. See gemini-bridge-tmux-notifications.

---@class gemini_bridge.Config.changes
---@field tell_agent? boolean Tell the agent with its next prompt, once, which of its changes you have undone. See gemini-bridge-tell-agent. Experimental.

---@class gemini_bridge.Config.keys
---@field accept? string|false Accept the proposal, like :GeminiAccept. The keys `keys.*` apply in a proposal and on the page of :GeminiChanges, see gemini-bridge-hunks and gemini-bridge-page.
---@field reject? string|false Reject the proposal, like :GeminiReject.
---@field next? string|false Go to the next hunk.
---@field prev? string|false Go to the previous hunk.
---@field keep? string|false Keep the hunk or the selected lines.
---@field undo? string|false Undo the hunk or the selected lines.
---@field revert? string|false Revert the last keep or undo.
---@field help? string|false Show the keys.

---@class gemini_bridge.Config.terminal
---@field cli? string Name of the CLI that :Gemini runs: one of gemini-bridge-clis.
---@field cmd? string[] Program and arguments that :Gemini runs for the CLI of `terminal.cli`. Unset: the usual program, such as { "gemini" }.
---@field connect? boolean Connect each Gemini CLI in a terminal of Neovim without asking, unless the settings of the CLI say otherwise. See gemini-bridge-connect. Experimental.
---@field position? "right"|"left"|"top"|"bottom"|"float"|"tab" Where :Gemini opens its window.
---@field size? number Width of the window, or its height at the top or bottom. A number below 1 is a share of the editor's size, other numbers are columns or lines. Unset: 0.4 at a side, 0.3 at the top or bottom, 0.8 for a float.
---@field cwd? string|function Directory in which the program starts, or a function that returns it. Unset: the current directory.
---@field env? table<string, string> Environment variables for the program, in addition to those of the bridge.
---@field provider? "native"|"snacks"|"tmux"|function What opens the terminal: Neovim itself ("native"), snacks.nvim, the tmux in which Neovim runs, or a function. See gemini-bridge-provider.
---@field auto_close? boolean Close the window when the program ends without an error.

---@class gemini_bridge.Config.tools
---@field offered? string[] Names of the tools that are offered to the model. Unset: all. See gemini-bridge-tools. Experimental.
