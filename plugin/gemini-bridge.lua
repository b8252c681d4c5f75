-- Defines the commands and <Plug> mappings. Modules are loaded when the user runs a command or a mapping.
if vim.g.loaded_gemini_bridge then
  return
end
vim.g.loaded_gemini_bridge = true

--- Returns a function that loads a module and calls a function of that module.
---@param name string Name of the function.
---@param module? string Module of the function. Default: "gemini-bridge.commands".
local function lazy(name, module)
  return function(...)
    return require(module or "gemini-bridge.commands")[name](...)
  end
end

--- Returns a function for completion that loads a module, and calls a function of that module to list the candidates.
---@param name string Name of the function.
---@param module? string Module of the function. Default: "gemini-bridge.commands".
local function candidates(name, module)
  return function(lead, line)
    return vim.tbl_filter(function(candidate)
      return vim.startswith(candidate, lead)
    end, lazy(name, module)(lead, line))
  end
end

--- Defines a command and its <Plug> mapping. To start fast, this file runs no loop and no Lua function with a loop.
--- LuaJIT would compile a loop, which takes as long as all other work of this file.
---@param name string
---@param run fun(args: table)
---@param opts vim.api.keyset.user_command
local function command(name, run, opts)
  vim.api.nvim_create_user_command(name, run, opts)
  -- `<Cmd>` does not leave Visual mode, so the command can read the selection.
  local plug, keys, map = "<Plug>(" .. name .. ")", "<Cmd>" .. name .. "<CR>", { desc = opts.desc }
  vim.api.nvim_set_keymap("", plug, keys, map)
  vim.api.nvim_set_keymap("t", plug, keys, map)
end

local diff = candidates("complete_diffs")
-- Commands without "bar" take a path or a text, and both may contain "|".
command("GeminiStart", lazy("start"), { desc = "Start the bridge to Gemini CLI", bar = true })
command("GeminiStop", lazy("stop"), { desc = "Stop the bridge to Gemini CLI", bar = true })
command("GeminiRestart", lazy("restart"), { desc = "Restart the bridge to Gemini CLI", bar = true })
command("GeminiStatus", lazy("status"), { desc = "Show the state of the bridge to Gemini CLI", bar = true })
command("GeminiLog", lazy("log"), { desc = "Open the log of the bridge to Gemini CLI", bar = true })
command(
  "GeminiAccept",
  lazy("accept"),
  { desc = "Accept a proposed change", nargs = "?", bang = true, complete = diff }
)
command("GeminiReject", lazy("reject"), { desc = "Reject a proposed change", nargs = "?", complete = diff })
command("GeminiReview", lazy("review"), { desc = "Go to a proposed change", nargs = "?", complete = diff })
command("Gemini", lazy("terminal"), {
  desc = "Open, focus or hide Gemini CLI",
  nargs = "*",
  bang = true,
  range = true, -- in Visual mode, ":" inserts a range
  complete = candidates("complete_terminal"),
})
command("GeminiSend", lazy("send"), {
  desc = "Type a prompt with references into Gemini CLI",
  nargs = "*",
  bang = true,
  range = true,
  complete = candidates("complete_send"),
})
command("GeminiPrompt", lazy("prompt"), {
  desc = "Write a prompt for Gemini CLI in a buffer",
  nargs = "*",
  bang = true,
  range = true,
})
command("GeminiAdd", lazy("add"), {
  desc = "Type references to files into Gemini CLI",
  nargs = "*",
  range = true,
  complete = lazy("complete", "gemini-bridge.prompt.expand"),
})
command("GeminiSelect", lazy("select"), {
  desc = "Pin or unpin a selection for Gemini CLI",
  bang = true,
  range = true,
  bar = true,
})
command("GeminiShare", lazy("share"), {
  desc = "Pause or resume sharing with Gemini CLI",
  nargs = "?",
  complete = candidates("complete_share"),
  bar = true,
})
command("GeminiGate", lazy("run", "gemini-bridge.turns.gate_command"), {
  desc = "Make Gemini CLI ask before every edit",
  nargs = "*",
  complete = candidates("complete", "gemini-bridge.turns.gate_command"),
  bar = true,
})
command("GeminiEnv", lazy("env"), {
  desc = "Print and copy the lines that connect a CLI in another terminal",
  nargs = "?",
  complete = candidates("complete_env"),
  bar = true,
})
command("GeminiDoctor", lazy("doctor"), {
  desc = "Find out why a CLI does not connect",
  nargs = "?",
  complete = candidates("running", "gemini-bridge.report.doctor"),
  bar = true,
})
command("GeminiBuild", lazy("build"), { desc = "Build the Node part of the bridge", bar = true })

command("GeminiExtension", lazy("extension"), {
  desc = "Install or remove the extension of a CLI",
  nargs = "*",
  complete = candidates("complete_extension"),
  bar = true,
})

local names = vim.api.nvim_create_augroup("gemini-bridge.buffer-names", {})
-- Opens texts that this Neovim or an earlier Neovim has saved for the user.
vim.api.nvim_create_autocmd("BufReadCmd", {
  group = names,
  pattern = "gemini://kept/*",
  callback = lazy("read", "gemini-bridge.review.saved_texts"),
})
vim.api.nvim_create_autocmd("SessionLoadPost", { group = names, callback = lazy("clean_session") })

---@param desc string
local function on_changes(desc)
  return { desc = desc, nargs = "?", bang = true, range = true, complete = candidates("complete_changes") }
end

command(
  "GeminiChanges",
  lazy("changes"),
  { desc = "Review what CLIs changed without asking", bang = true, bar = true }
)
command("GeminiHistory", lazy("history"), { desc = "Show what CLIs proposed and wrote", bar = true })
command("GeminiKeep", lazy("keep"), on_changes("Keep what a CLI changed"))
command("GeminiUndo", lazy("undo"), on_changes("Undo what a CLI changed"))

---@param name string
---@param desc string
---@param run string Name of a function.
---@param module? string Module of the function. Default: "gemini-bridge.commands".
---@param argument? any Argument of the function.
local function plug(name, desc, run, module, argument)
  local function callback()
    lazy(run, module)(argument)
  end
  vim.api.nvim_set_keymap("", ("<Plug>(gemini-%s)"):format(name), "", { callback = callback, desc = desc })
end

local navigation = "gemini-bridge.changes.navigation"
plug("next-change", "Go to the next change of a CLI", "jump", navigation, 1)
plug("prev-change", "Go to the previous change of a CLI", "jump", navigation, -1)
plug("old-lines", "Show or hide the old lines of a CLI's changes", "toggle_old", navigation)
plug("note", "Write a note on lines for a CLI", "note")
