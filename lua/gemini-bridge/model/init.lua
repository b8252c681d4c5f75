--- Answers questions that the MCP server asks for the model. src/contract/questions.ts declares their types. Never
--- blocks: an answer that depends on a language server is sent later.
local updates = require("gemini-bridge.model.resource_updates")
local documents = require("gemini-bridge.model.documents")
local edits = require("gemini-bridge.model.edits")
local diagnostics = require("gemini-bridge.model.diagnostics")
local scheduler = require("gemini-bridge.editor.scheduler")
local language_servers = require("gemini-bridge.model.language_servers")
local fresh_diagnostics = require("gemini-bridge.model.fresh_diagnostics")
local show = require("gemini-bridge.model.show")
local workspace_diagnostics = require("gemini-bridge.model.workspace_diagnostics")
local open_files = require("gemini-bridge.model.open_files")

local M = {}

---@param params { method: string }
---@param answer gemini_bridge.Answer
local function list_servers(params, answer)
  answer({ servers = language_servers.describe(language_servers.supporting(params.method)) })
end

---@param answer gemini_bridge.Answer
local function list_changes(_, answer)
  local changes = vim.tbl_map(function(change)
    return { path = change.path, status = change.status, added = change.added, removed = change.removed }
  end, require("gemini-bridge.changes.navigation").list())
  answer({ changes = changes })
end

--- Answers with the user's settings for what the model may read.
---@param answer gemini_bridge.Answer
local function consent(_, answer)
  local settings = require("gemini-bridge.context.consent").settings()
  if settings.paused then
    require("gemini-bridge.context.snapshot_debounce").ask()
  end
  answer({
    paused = settings.paused,
    exclude = settings.exclude,
    directories = require("gemini-bridge.context.workspace").get().directories,
  })
end

--- Returns a handler that changes windows, buffers or lists. It waits until Neovim allows changes.
---@param change fun(params: table, answer: gemini_bridge.Answer)
---@return fun(params: table, answer: gemini_bridge.Answer)
local function changing(change)
  return function(params, answer)
    scheduler.now(function()
      local ok, problem = pcall(change, params, answer)
      if not ok then
        -- Keeps the sentence before an error of Neovim, which `scheduler.reason` would remove.
        answer(nil, tostring(problem))
      end
    end)
  end
end

--- The handlers of the host's requests, by name.
---@type table<string, fun(params: table, answer: gemini_bridge.Answer)>
M.questions = {
  consent = consent,
  buffers = open_files.buffers,
  read = open_files.read,
  lines = open_files.lines,
  selection = open_files.selection,
  diagnostics = diagnostics.list,
  unopened = workspace_diagnostics.ask,
  document = documents.ask,
  servers = list_servers,
  request = language_servers.request,
  settle = fresh_diagnostics.ask,
  quickfix = show.quickfix,
  changes = list_changes,
  open_file = changing(show.open_file),
  set_quickfix = changing(show.set_quickfix),
  preview_edits = edits.preview,
  apply_edit = changing(edits.apply),
  finish_edit = changing(edits.finish),
  tell_written = edits.tell_written,
}

M.watch = updates.watch

--- Ends all work for the model, and unloads the files that were loaded for the model. Idempotent.
function M.close()
  workspace_diagnostics.forget()
  updates.watch({ on = false, selection = false })
  documents.close()
end

return M
