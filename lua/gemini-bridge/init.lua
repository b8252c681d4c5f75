--- Defines the public Lua API.
local M = {}

--- Checks the argument of a public function. Raises an error for an invalid argument.
---@generic T: table
---@param name string Name of the function.
---@param opts? T
---@return T
local function checked(name, opts)
  return require("gemini-bridge.config.arguments")(name, opts)
end

--- Timeout for the end of the host. The host is killed after 1500 ms.
local DEACTIVATE_TIMEOUT_MS = 2000

--- True after the first call of `start`, `stop` or `restart`.
local is_used = false

--- Number of calls of `setup` with options. A later call replaces the autostart of an earlier call.
local setups = 0

--- Sets the user's options. Only needed to change defaults.
---@param opts? gemini_bridge.Config See |gemini-bridge-options|.
function M.setup(opts)
  if not package.loaded["gemini-bridge.config"] and (opts == nil or vim.deep_equal(opts, {})) then
    return -- the defaults apply, and autostart is off
  end
  local problems = require("gemini-bridge.config").set(opts)
  if #problems > 0 then
    require("gemini-bridge.notify")(table.concat(problems, "; "), "warn")
  end
  -- Updates only modules that are already loaded. Loading them here would slow down the start of Neovim.
  for _, name in ipairs({ "context.workspace", "context.snapshot_debounce", "turns.gate" }) do
    local running = package.loaded["gemini-bridge." .. name]
    if running then
      running.refresh()
    end
  end
  setups = setups + 1
  local this, when = setups, require("gemini-bridge.config").get().autostart
  if when then
    require("gemini-bridge.host.autostart")(when == "idle", function()
      -- Meanwhile, the user may have started or stopped the bridge, or may have called `setup` again.
      if not is_used and this == setups then
        M.start()
      end
    end)
  end
end

--- Loads the modules for the host's calls in the next tick, while Node is starting. Otherwise, the first call would
--- load them, and would delay the user's keys for some 20 ms. Each function that may start the bridge calls this
--- function.
local function load_calls()
  if not package.loaded["gemini-bridge.calls"] then
    vim.schedule(function()
      require("gemini-bridge.calls")
    end)
  end
end

--- Starts the bridge and returns immediately. Fires the |User| event GeminiStarted when the bridge runs. Shows a
--- message if the start fails.
function M.start()
  is_used = true
  require("gemini-bridge.host.lifecycle").start()
  load_calls()
end

--- Stops the bridge. Ends the open reviews.
function M.stop()
  is_used = true
  require("gemini-bridge.host.lifecycle").stop()
end

--- Stops the bridge, and starts it again after the old host has ended. Reviews stay open.
function M.restart()
  is_used = true
  require("gemini-bridge.host.lifecycle").restart()
  load_calls()
end

--- Stops the bridge, and waits until the host has ended and all reviews are closed. lazy.nvim calls this function
--- before it reloads the plugin. Otherwise, the host would go on without the modules that serve it.
function M.deactivate()
  M.stop()
  vim.wait(DEACTIVATE_TIMEOUT_MS, function()
    return require("gemini-bridge.bridge.status").get().state == "stopped"
  end, 10)
  vim.g.loaded_gemini_bridge = nil -- plugin/gemini-bridge.lua defines the commands again
end

---@class gemini_bridge.Status
---@field state "stopped"|"starting"|"running"|"stopping"
---@field port? integer
---@field pid? integer Process id of the Node host.
---@field discovery_file? string The discovery file that CLIs read first.
---@field workspace string[]
---@field clients gemini_bridge.ConnectedCli[]
---@field diffs { filePath: string, client: string }[]

---@class gemini_bridge.ConnectedCli
---@field id string Session id.
---@field name string
---@field version string
---@field cli string Name of the CLI in the option `clis`.
---@field activity "idle"|"working"|"waiting"
---@field hooks boolean True after the first hook of that CLI.

--- Returns the last known status of the bridge. Does not wait for the host.
---@return gemini_bridge.Status
function M.status()
  local now = require("gemini-bridge.bridge.status").get()
  return {
    state = now.state,
    port = now.port,
    pid = now.pid,
    discovery_file = (now.discoveryFiles or {})[1],
    workspace = vim.deepcopy(now.workspace),
    clients = vim.tbl_map(function(client)
      return {
        id = client.id,
        name = client.name,
        version = client.version,
        cli = client.cli,
        activity = client.activity,
        hooks = client.hooks,
      }
    end, now.clients),
    diffs = M.diffs(),
  }
end

---@class gemini_bridge.DecisionOptions
---@field path? string File of the proposal. Default: the proposal in the current window, or else the user's choice.
---@field force? boolean Whether to accept although the proposal is stale or the file has unsaved changes.

---@class gemini_bridge.RejectOptions: gemini_bridge.DecisionOptions
---@field reason? string

--- Accepts a pending proposal with the current text of its buffer.
---@param opts? gemini_bridge.DecisionOptions
function M.accept(opts)
  require("gemini-bridge.review.requests").accept(checked("accept", opts))
end

--- Rejects a pending proposal. Sends the reason, if any, to the CLI as its next prompt.
---@param opts? gemini_bridge.RejectOptions
function M.reject(opts)
  opts = checked("reject", opts)
  require("gemini-bridge.review.requests").reject(opts, function(client)
    if opts.reason then
      require("gemini-bridge.prompt.outbox").send_reason(client, opts.reason)
    end
  end)
end

--- Moves the focus to a pending proposal.
---@param opts? gemini_bridge.DecisionOptions
function M.review(opts)
  require("gemini-bridge.review.requests").review(checked("review", opts))
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
---@field added integer Number of added lines.
---@field removed integer Number of removed lines.
---@field hunks integer Number of hunks.
---@field ranges gemini_bridge.ChangedRange[] Lines of the hunks.
---@field cli string Name of the CLI that was the last to change the file.

---@class gemini_bridge.ChangedRange
---@field first integer Line of the file on disk, 1-based. If lines were only removed, the line above them.
---@field last integer
---@field conflict boolean True if the user has edited these lines after the CLI. Such a change cannot be undone.

--- Returns the files with unreviewed changes of CLIs: changes that are neither kept nor undone. Experimental.
---@return gemini_bridge.ChangedFile[]
function M.changes()
  return require("gemini-bridge.changes.navigation").list()
end

--- Keeps changes of CLIs. Default: the change at the cursor. Experimental.
---@param opts? gemini_bridge.ChangeOptions
function M.keep(opts)
  require("gemini-bridge.changes.keep_and_undo").keep(checked("keep", opts))
end

--- Undoes changes of CLIs. Default: the change at the cursor. Experimental.
---@param opts? gemini_bridge.ChangeOptions
function M.undo(opts)
  require("gemini-bridge.changes.keep_and_undo").undo(checked("undo", opts))
end

--- Returns the proposals and changes of CLIs in the open directories, of the last 24 hours: grouped by turn, newest
--- first. Waits at most one second for the host. Experimental.
---@return gemini_bridge.HistoryTurn[]? turns nil if no host runs or the host does not answer.
function M.history()
  return require("gemini-bridge.changes.history.entries").list()
end

--- Toggles the CLI's terminal: opens a closed terminal, focuses an open one, and hides a focused one.
---@param opts? gemini_bridge.TerminalOptions
function M.terminal(opts)
  require("gemini-bridge.terminal.open").toggle(checked("terminal", opts))
  load_calls()
end

--- Types a prompt into the CLI's terminal.
---@param opts? gemini_bridge.SendOptions
function M.send(opts)
  require("gemini-bridge.prompt.outbox").send(checked("send", opts))
  load_calls()
end

--- Returns a short text for status lines. Empty if the bridge is stopped.
---@return string
function M.statusline()
  return require("gemini-bridge.report.statusline").text()
end

--- Returns which data the connected CLIs receive now. If the active file is not shared, the field `excluded` names that
--- file.
---@return gemini_bridge.Shared
function M.shared()
  return require("gemini-bridge.context.consent").shared()
end

return M
