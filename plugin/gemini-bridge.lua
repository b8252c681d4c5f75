-- Commands and <Plug> maps only: nothing is required until one of them is used.
if vim.g.loaded_gemini_bridge then
  return
end
vim.g.loaded_gemini_bridge = true

---@param name string Of a function.
---@param module? string The one that has it, "gemini-bridge.commands" by default.
local function lazy(name, module)
  return function(...)
    return require(module or "gemini-bridge.commands")[name](...)
  end
end

--- A command, and a <Plug> map for it. No loop, and no helper of Neovim's that has one: LuaJIT begins to compile it,
--- which takes as much time of each start as all the rest here.
---@param name string
---@param run fun(args: table)
---@param opts vim.api.keyset.user_command
local function command(name, run, opts)
  vim.api.nvim_create_user_command(name, run, opts)
  -- <Cmd> keeps the mode, so that a selection is still one when the command looks at it.
  local plug, keys, map = "<Plug>(" .. name .. ")", "<Cmd>" .. name .. "<CR>", { desc = opts.desc }
  vim.api.nvim_set_keymap("", plug, keys, map)
  vim.api.nvim_set_keymap("t", plug, keys, map)
end

local diff = lazy("complete_diffs")
-- "bar" where a "|" can be no part of a path or a text.
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
  range = true, -- which ":" in Visual mode puts there
  complete = lazy("complete_terminal"),
})
command("GeminiSend", lazy("send"), {
  desc = "Type a prompt with what is here into Gemini CLI",
  nargs = "*",
  bang = true,
  range = true,
  complete = lazy("complete_send"),
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
  complete = lazy("complete_files"),
})
command("GeminiSelect", lazy("select"), {
  desc = "Pin a selection for Gemini CLI, or drop it",
  bang = true,
  range = true,
  bar = true,
})
command("GeminiShare", lazy("share"), {
  desc = "Pause or resume what Gemini CLI is told",
  nargs = 1,
  complete = lazy("complete_share"),
  bar = true,
})
command("GeminiGate", lazy("run", "gemini-bridge.turns.gate_command"), {
  desc = "Have Gemini CLI ask before every edit, or not",
  nargs = "*",
  complete = lazy("complete", "gemini-bridge.turns.gate_command"),
  bar = true,
})
command("GeminiEnv", lazy("env"), {
  desc = "Print and copy what leads a CLI elsewhere to this Neovim",
  nargs = "?",
  complete = lazy("complete_env"),
  bar = true,
})
command("GeminiDoctor", lazy("doctor"), {
  desc = "Say why a CLI does not connect",
  nargs = "?",
  complete = lazy("complete_doctor"),
  bar = true,
})
command("GeminiBuild", lazy("build"), { desc = "Build the Node part of the bridge", bar = true })

command("GeminiExtension", lazy("extension"), {
  desc = "Install or remove the extension of a CLI",
  nargs = "+",
  complete = lazy("complete_extension"),
  bar = true,
})

---@param desc string
local function on_changes(desc)
  return { desc = desc, nargs = "?", bang = true, range = true, complete = lazy("complete_changes") }
end

command("GeminiChanges", lazy("changes"), { desc = "List what CLIs changed without a review", bar = true })
command("GeminiHistory", lazy("history"), { desc = "Show what CLIs proposed and wrote", bar = true })
command("GeminiKeep", lazy("keep"), on_changes("Keep what a CLI changed"))
command("GeminiUndo", lazy("undo"), on_changes("Undo what a CLI changed"))

---@param name string
---@param run string Name of the function in gemini-bridge.commands.
---@param desc string
local function plug(name, run, desc)
  local map = { callback = lazy(run), desc = desc }
  vim.api.nvim_set_keymap("", ("<Plug>(gemini-%s)"):format(name), "", map)
end

plug("next-change", "go_to_next", "Go to the next change of a CLI's")
plug("prev-change", "go_to_previous", "Go to the previous change of a CLI's")
plug("old-lines", "toggle_old", "Show what stood there before a CLI's changes")
