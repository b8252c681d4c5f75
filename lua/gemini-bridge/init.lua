--- The public Lua API.
local M = {}

--- Delay after Neovim's start, so that other plugins can finish their own start first.
local AUTOSTART_DELAY_MS = 1000

--- Starts the bridge some time after Neovim's start, unless the user has started or stopped it meanwhile.
local function start_when_idle()
  vim.defer_fn(function()
    if not package.loaded["gemini-bridge.host"] then
      M.start()
    end
  end, AUTOSTART_DELAY_MS)
end

--- Sets the user's options. Calling it is only necessary to change a default.
---@param opts? gemini_bridge.Config See |gemini-bridge-options|.
function M.setup(opts)
  if not package.loaded["gemini-bridge.config"] and (opts == nil or vim.deep_equal(opts, {})) then
    return -- the defaults apply, and autostart is off
  end
  local problems = require("gemini-bridge.config").set(opts)
  if #problems > 0 then
    require("gemini-bridge.notify")(table.concat(problems, "; "), "warn")
  end
  -- Only updates loaded modules: loading them here would slow down Neovim's start.
  for _, name in ipairs({ "context.workspace", "context.snapshot_debounce" }) do
    local running = package.loaded["gemini-bridge." .. name]
    if running then
      running.refresh()
    end
  end
  local autostart = require("gemini-bridge.config").get().autostart
  if not autostart then
    return
  end
  local start = autostart == "idle" and start_when_idle or M.start
  if vim.v.vim_did_enter == 1 then
    start()
  else
    vim.api.nvim_create_autocmd("VimEnter", { once = true, callback = start })
  end
end

--- Starts the bridge and returns at once. When the bridge runs, the |User| event GeminiStarted fires. If the start
--- fails, a message is shown.
function M.start()
  require("gemini-bridge.host").start()
end

--- Stops the bridge. Reviews end without a decision.
function M.stop()
  require("gemini-bridge.host").stop()
end

--- Stops the bridge and starts it again.
function M.restart()
  require("gemini-bridge.host").restart()
end

---@class gemini_bridge.Status
---@field state "stopped"|"starting"|"running"|"stopping"
---@field version? string Version of the plugin.
---@field port? integer
---@field pid? integer Process id of the Node host.
---@field discovery_file? string The discovery file that the first CLI reads.
---@field workspace string[]
---@field clients gemini_bridge.ClientInfo[] `hooks` is true once a hook of that CLI was received.
---@field diffs { filePath: string, client: string }[]
---@field changes { files: integer, hunks: integer } Number of changes that are neither kept nor undone.

--- Returns the last known status of the bridge, without asking the host.
---@return gemini_bridge.Status
function M.status()
  local now = require("gemini-bridge.bridge.status").get()
  return {
    state = now.state,
    version = now.version,
    port = now.port,
    pid = now.pid,
    discovery_file = (now.discoveryFiles or {})[1],
    workspace = vim.deepcopy(now.workspace),
    clients = vim.deepcopy(now.clients),
    diffs = M.diffs(),
    changes = require("gemini-bridge.changes.changes").count(),
  }
end

---@class gemini_bridge.DecisionOptions
---@field path? string File of the proposal. Default: the proposal in the current window. Without one, asks the user.
---@field force? boolean Accept even if the proposal is stale or the file has unsaved changes.

--- Accepts a pending proposal with the current text of its buffer.
---@param opts? gemini_bridge.DecisionOptions
function M.accept(opts)
  require("gemini-bridge.review.requests").accept(opts or {})
end

--- Rejects a pending proposal.
---@param opts? gemini_bridge.DecisionOptions
function M.reject(opts)
  require("gemini-bridge.review.requests").reject(opts or {})
end

--- Moves the focus to a pending proposal.
---@param opts? gemini_bridge.DecisionOptions
function M.review(opts)
  require("gemini-bridge.review.requests").review(opts or {})
end

--- Returns the pending proposals.
---@return { filePath: string, client: string }[]
function M.diffs()
  return vim.tbl_map(function(diff)
    return { filePath = diff.filePath, client = diff.client }
  end, require("gemini-bridge.review.requests").list())
end

---@class gemini_bridge.ChangedFile
---@field path string
---@field status "modified"|"added"|"deleted"
---@field added integer Lines.
---@field removed integer Lines.
---@field hunks integer Number of hunks.
---@field ranges gemini_bridge.ChangedRange[] Lines of the hunks.
---@field cli string Name of the CLI that changed the file last.

---@class gemini_bridge.ChangedRange
---@field first integer Line of the file on disk, 1-based. For a removal, the line above it.
---@field last integer
---@field conflict boolean Whether the user has edited these lines since. If so, they cannot be undone.

--- Returns the files with unreviewed changes of CLIs, that is, changes that are neither kept nor undone yet.
--- Experimental.
---@return gemini_bridge.ChangedFile[]
function M.changes()
  return require("gemini-bridge.changes.navigation").list()
end

--- Keeps changes of CLIs. Default: the change at the cursor. Experimental.
---@param opts? gemini_bridge.ChangeOptions
function M.keep(opts)
  require("gemini-bridge.changes.keep_and_undo").keep(opts or {})
end

--- Undoes changes of CLIs. Default: the change at the cursor. Experimental.
---@param opts? gemini_bridge.ChangeOptions
function M.undo(opts)
  require("gemini-bridge.changes.keep_and_undo").undo(opts or {})
end

--- Returns what CLIs have proposed and changed since yesterday in the open directories, grouped by turn, newest first.
--- Waits at most one second for the host. Experimental.
---@return gemini_bridge.HistoryTurn[]? turns nil if there is no host or it does not answer.
function M.history()
  return require("gemini-bridge.changes.history.entries").by_turn()
end

--- Shows unreviewed changes, the history or past prompts in a picker, and opens the item that the user chooses.
--- Experimental.
---@param list "changes"|"history"|"prompts"
---@param opts? gemini_bridge.PickOptions
function M.pick(list, opts)
  require("gemini-bridge.pick.pickers").pick(list, opts)
end

--- Opens the CLI's terminal. If it is open already, focuses it; if it has the focus, hides it.
---@param opts? gemini_bridge.TerminalOptions
function M.terminal(opts)
  require("gemini-bridge.terminal.open").toggle(opts)
end

--- Types a prompt into the CLI's terminal.
---@param opts? gemini_bridge.SendOptions
function M.send(opts)
  require("gemini-bridge.prompt.outbox").send(opts or {})
end

--- Returns a short text for status lines. Empty while the bridge is stopped.
---@return string
function M.statusline()
  return require("gemini-bridge.report.statusline").text()
end

--- Returns which data the connected CLIs receive now. The field `excluded` names the active file if that file is not
--- shared.
---@return gemini_bridge.Shared
function M.shared()
  return require("gemini-bridge.context.consent").shared()
end

return M
