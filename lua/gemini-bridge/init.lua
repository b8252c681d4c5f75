--- Neovim as a first-class IDE for Gemini CLI: the public API.
local M = {}

--- By then Neovim's start is over, other plugins' too (milliseconds).
local SETTLED = 1000

--- Starts the bridge when Neovim waits for the user, unless the user has started or stopped it meanwhile.
local function start_when_idle()
  vim.defer_fn(function()
    if not package.loaded["gemini-bridge.host"] then
      M.start()
    end
  end, SETTLED)
end

--- Takes the user's options. Needed only to change a default.
---@param opts? gemini_bridge.Config See |gemini-bridge-options|.
function M.setup(opts)
  if not package.loaded["gemini-bridge.config"] and (opts == nil or vim.deep_equal(opts, {})) then
    return -- the defaults are in force, and nothing starts by itself
  end
  local problems = require("gemini-bridge.config").set(opts)
  if #problems > 0 then
    require("gemini-bridge.notify")(table.concat(problems, "; "), "warn")
  end
  -- Only what runs already has to hear of it: loading more here would slow down Neovim's start.
  for _, name in ipairs({ "context.workspace", "context.subscription" }) do
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

--- Starts the bridge. Returns at once; the outcome comes as |User| GeminiStarted or a message.
function M.start()
  require("gemini-bridge.host").start()
end

--- Stops the bridge. Reviews close without a decision.
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
---@field discovery_file? string The one that the first CLI reads.
---@field workspace string[]
---@field clients gemini_bridge.ClientInfo[] `hooks` is true once a hook of that CLI was received.
---@field diffs { filePath: string, client: string }[]

--- What is going on, without a round trip to the host.
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
  }
end

---@class gemini_bridge.DecisionOptions
---@field path? string Which proposal, when several are open: its file.
---@field force? boolean Accept although the file's buffer has unsaved changes.

--- Accepts a pending proposal as it stands in its buffer.
---@param opts? gemini_bridge.DecisionOptions
function M.accept(opts)
  require("gemini-bridge.review.reviews").accept(opts or {})
end

--- Rejects a pending proposal.
---@param opts? gemini_bridge.DecisionOptions
function M.reject(opts)
  require("gemini-bridge.review.reviews").reject(opts or {})
end

--- Goes to a pending proposal.
---@param opts? gemini_bridge.DecisionOptions
function M.review(opts)
  require("gemini-bridge.review.reviews").review(opts or {})
end

--- The pending proposals.
---@return { filePath: string, client: string }[]
function M.diffs()
  return vim.tbl_map(function(diff)
    return { filePath = diff.filePath, client = diff.client }
  end, require("gemini-bridge.review.reviews").list())
end

---@class gemini_bridge.ChangedFile
---@field path string
---@field status "modified"|"added"|"deleted"
---@field added integer Lines.
---@field removed integer Lines.
---@field hunks integer How many.
---@field ranges gemini_bridge.ChangedRange[] Where they are.
---@field cli string Profile of the CLI that changed it last.

---@class gemini_bridge.ChangedRange
---@field first integer Line of the file on disk, 1-based; of a removal the line above it.
---@field last integer
---@field conflict boolean The user has edited it since, so that it cannot be undone.

--- The files that CLIs changed without a review, until that is kept or undone. Experimental.
---@return gemini_bridge.ChangedFile[]
function M.changes()
  return require("gemini-bridge.changes.look").list()
end

--- Keeps changes of CLIs: those at the cursor, unless `opts` says otherwise. Experimental.
---@param opts? gemini_bridge.ChangeOptions
function M.keep(opts)
  require("gemini-bridge.changes.decide").keep(opts or {})
end

--- Undoes changes of CLIs: those at the cursor, unless `opts` says otherwise. Experimental.
---@param opts? gemini_bridge.ChangeOptions
function M.undo(opts)
  require("gemini-bridge.changes.decide").undo(opts or {})
end

--- What CLIs proposed and wrote since yesterday in the directories that are open, by turn, the newest first. Asks the
--- host, for a second at most. Experimental.
---@return gemini_bridge.HistoryTurn[]? turns nil when there is no host, or it does not answer.
function M.history()
  return require("gemini-bridge.changes.past").list()
end

--- Opens the CLI's terminal, focuses it, or hides it when it has the focus.
---@param opts? gemini_bridge.TerminalOptions
function M.terminal(opts)
  require("gemini-bridge.terminal.open").toggle(opts)
end

--- Types a prompt into the CLI's terminal.
---@param opts? gemini_bridge.SendOptions
function M.send(opts)
  require("gemini-bridge.prompt.outbox").send(opts or {})
end

--- A few words for a status line; empty while stopped.
---@return string
function M.statusline()
  return require("gemini-bridge.report.statusline").text()
end

--- What connected CLIs are told now, and what is kept from them.
---@return gemini_bridge.Shared
function M.shared()
  return require("gemini-bridge.context.consent").shared()
end

return M
