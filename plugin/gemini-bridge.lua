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

---@param name string
---@param run string|fun(args: table) The name of the function in gemini-bridge.commands, or one.
---@param desc string
---@param opts? vim.api.keyset.user_command
local function command(name, run, desc, opts)
  opts = vim.tbl_extend("force", opts or {}, { desc = desc })
  vim.api.nvim_create_user_command(name, type(run) == "string" and lazy(run) or run, opts)
  -- <Cmd> keeps the mode, so that a selection is still one when the command looks at it.
  local plug, keys, map = "<Plug>(" .. name .. ")", "<Cmd>" .. name .. "<CR>", { desc = desc }
  for _, mode in ipairs({ "", "t" }) do -- the first is several; more calls would take time of each start
    vim.api.nvim_set_keymap(mode, plug, keys, map)
  end
end

local diff = lazy("complete_diffs")
-- "bar" where a "|" can be no part of a path or a text.
command("GeminiStart", "start", "Start the bridge to Gemini CLI", { bar = true })
command("GeminiStop", "stop", "Stop the bridge to Gemini CLI", { bar = true })
command("GeminiRestart", "restart", "Restart the bridge to Gemini CLI", { bar = true })
command("GeminiStatus", "status", "Show the state of the bridge to Gemini CLI", { bar = true })
command("GeminiLog", "log", "Open the log of the bridge to Gemini CLI", { bar = true })
command("GeminiAccept", "accept", "Accept a proposed change", { nargs = "?", bang = true, complete = diff })
command("GeminiReject", "reject", "Reject a proposed change", { nargs = "?", complete = diff })
command("GeminiReview", "review", "Go to a proposed change", { nargs = "?", complete = diff })
command("Gemini", "terminal", "Open, focus or hide Gemini CLI", {
  nargs = "*",
  bang = true,
  range = true, -- which ":" in Visual mode puts there
  complete = lazy("complete_terminal"),
})
command("GeminiSend", "send", "Type a prompt with what is here into Gemini CLI", {
  nargs = "*",
  bang = true,
  range = true,
  complete = lazy("complete_send"),
})
command("GeminiPrompt", "prompt", "Write a prompt for Gemini CLI in a buffer", {
  nargs = "*",
  bang = true,
  range = true,
})
command("GeminiAdd", "add", "Type references to files into Gemini CLI", {
  nargs = "*",
  range = true,
  complete = lazy("complete_files"),
})
command("GeminiSelect", "select", "Pin a selection for Gemini CLI, or drop it", {
  bang = true,
  range = true,
  bar = true,
})
command("GeminiShare", "share", "Pause or resume what Gemini CLI is told", {
  nargs = 1,
  complete = lazy("complete_share"),
  bar = true,
})
command(
  "GeminiGate",
  lazy("run", "gemini-bridge.agent.gate_command"),
  "Have Gemini CLI ask before every edit, or not",
  {
    nargs = "*",
    complete = lazy("complete", "gemini-bridge.agent.gate_command"),
    bar = true,
  }
)
command("GeminiEnv", "env", "Print and copy what leads a CLI elsewhere to this Neovim", {
  nargs = "?",
  complete = lazy("complete_env"),
  bar = true,
})
command("GeminiDoctor", "doctor", "Say why a CLI does not connect", {
  nargs = "?",
  complete = lazy("complete_doctor"),
  bar = true,
})
command("GeminiBuild", "build", "Build the Node part of the bridge", { bar = true })

local extending = "gemini-bridge.commands.extending"
command("GeminiExtension", lazy("run", extending), "Install or remove the extension of a CLI", {
  nargs = "+",
  complete = lazy("complete", extending),
  bar = true,
})

local changing = "gemini-bridge.commands.changing"
local change = { nargs = "?", bang = true, range = true, complete = lazy("complete", changing) }
command("GeminiChanges", lazy("list", changing), "List what CLIs changed without a review", { bar = true })
command("GeminiHistory", lazy("history", changing), "Show what CLIs proposed and wrote", { bar = true })
command("GeminiKeep", lazy("keep", changing), "Keep what a CLI changed", change)
command("GeminiUndo", lazy("undo", changing), "Undo what a CLI changed", change)

---@param name string
---@param run string Name of the function in gemini-bridge.commands.changing.
---@param desc string
local function plug(name, run, desc)
  local map = { callback = lazy(run, changing), desc = desc }
  vim.api.nvim_set_keymap("", ("<Plug>(gemini-%s)"):format(name), "", map)
end

plug("next-change", "go_to_next", "Go to the next change of a CLI's")
plug("prev-change", "go_to_previous", "Go to the previous change of a CLI's")
plug("old-lines", "toggle_old", "Show what stood there before a CLI's changes")
