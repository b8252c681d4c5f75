--- Collects the data that a host receives when it attaches: options, workspace, and the state of the previous host.
local M = {}

--- Id of this Neovim process. Includes the time, because another process may later get the same process id.
local INSTANCE = ("%d-%d"):format(vim.fn.getpid(), os.time())

--- Returns the fields of a CLI that the host needs. Leaves out fields that only terminals use.
---@param cli gemini_bridge.Cli
---@return gemini_bridge.BootCli
local function for_host(cli)
  return {
    name = cli.name,
    like = cli.like,
    cmd = cli.cmd,
    label = cli.label,
    directory = cli.directory,
    file = cli.file,
    env = cli.env,
    settings = cli.settings,
  }
end

--- Limits of the host. Tests set lower ones.
M.limits = {
  --- Number of connected CLIs. Further CLIs are told to try again later.
  clients = 256,
  --- Time for a CLI to reconnect before its reviews are closed (milliseconds).
  reconnect_ms = 30000,
  --- Size of a request, and therefore of a proposal.
  request_bytes = 64 * 1024 * 1024,
  --- Number of diagnostics, places or symbols in one answer to the model.
  answer_items = 100,
  --- Length of the text in one answer to the model (UTF-16 units).
  answer_units = 40000,
  --- Waiting time for language servers when the model asks (milliseconds).
  language_server_ms = 10000,
}

---@return gemini_bridge.Boot
function M.make()
  local options = require("gemini-bridge.config").get()
  local parent = vim.uv.os_getppid()
  return {
    editor = {
      -- Id of the process that a CLI in :terminal treats as its editor. Usually, this process is the parent of this
      -- Neovim. In a container, the parent may be init. The CLI then treats this Neovim as its editor.
      idePid = parent > 1 and parent or vim.fn.getpid(),
      pid = vim.fn.getpid(),
      instance = INSTANCE,
    },
    paths = {
      log = M.log_file(),
      state = vim.fs.joinpath(vim.fn.stdpath("state"), "gemini-bridge"),
      hook = require("gemini-bridge.host.bundle").root .. "/extension/hooks/hook.sh",
    },
    workspace = require("gemini-bridge.context.workspace").get(),
    sharing = {
      paused = require("gemini-bridge.context.consent").is_paused(),
      exclude = options.context.exclude,
    },
    gate = require("gemini-bridge.turns.gate").get(),
    options = {
      logLevel = options.log.level,
      connect = options.terminal.connect,
      tellAgent = options.changes.tell_agent,
      tools = options.tools.offered or nil,
      prompts = options.prompts,
    },
    clis = vim.tbl_map(for_host, require("gemini-bridge.config.clis").all()),
    server = {
      maxSessions = M.limits.clients,
      grace = M.limits.reconnect_ms,
      bodyLimit = M.limits.request_bytes,
    },
    answers = {
      items = M.limits.answer_items,
      units = M.limits.answer_units,
      timeout = M.limits.language_server_ms,
    },
    notes = require("gemini-bridge.notes.notes").load(),
    reviews = {
      lastId = require("gemini-bridge.review.requests").last_id(),
      decisions = vim.tbl_map(function(review)
        return review.decision
      end, require("gemini-bridge.review.records").decided()),
    },
    previous = require("gemini-bridge.bridge.memory").previous(),
  }
end

---@return string # Path of the host's log.
function M.log_file()
  return vim.fs.joinpath(vim.fn.stdpath("log"), "gemini-bridge.log")
end

return M
