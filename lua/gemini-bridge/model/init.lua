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

---@alias gemini_bridge.Answer fun(result?: table, problem?: string)

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

---@type table<string, fun(params: table, answer: gemini_bridge.Answer)>
local questions = {
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
  open_file = show.open_file,
  set_quickfix = show.set_quickfix,
  preview_edits = edits.preview,
  apply_edit = edits.apply,
  finish_edit = edits.finish,
  tell_written = edits.tell_written,
}

--- Questions that change windows, buffers or lists. They wait until Neovim allows changes.
local CHANGING = { "open_file", "set_quickfix", "apply_edit", "finish_edit" }

M.watch = updates.watch

--- Answers a question, now or later.
---@param asked { id: integer, question: string, params: table }
function M.ask(asked)
  local is_answered = false
  local function answer(result, problem)
    if is_answered then
      return
    end
    is_answered = true
    require("gemini-bridge.bridge.channel").notify(
      "answered",
      { id = asked.id, result = result, error = problem }
    )
  end
  local question = questions[asked.question]
  if not question then
    return answer(nil, ("unknown question %s"):format(asked.question))
  end
  local is_changing = vim.list_contains(CHANGING, asked.question)
  local function run()
    local ok, problem = pcall(question, asked.params, answer)
    if not ok then
      -- Keeps the sentence before an error of Neovim, which `reason` would remove.
      answer(nil, is_changing and tostring(problem) or scheduler.reason(problem))
    end
  end
  if is_changing then
    scheduler.now(run)
  else
    run()
  end
end

--- Ends all work for the model, and unloads the files that were loaded for the model. Idempotent.
function M.close()
  workspace_diagnostics.forget()
  updates.watch({ on = false, selection = false })
  documents.close()
end

return M
