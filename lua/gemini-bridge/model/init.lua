--- Answers what the model asks: src/contract/questions.ts has the shapes. Nothing here waits: a question of language
--- servers is answered by a later event.
local changed = require("gemini-bridge.model.changed")
local documents = require("gemini-bridge.model.documents")
local edits = require("gemini-bridge.model.edits")
local problems = require("gemini-bridge.model.problems")
local scheduler = require("gemini-bridge.editor.scheduler")
local servers = require("gemini-bridge.model.servers")
local settle = require("gemini-bridge.model.settle")
local show = require("gemini-bridge.model.show")
local unopened = require("gemini-bridge.model.unopened")
local opened = require("gemini-bridge.model.opened")

local M = {}

---@alias gemini_bridge.Answer fun(result?: table, problem?: string)

---@param params { method: string }
---@param answer gemini_bridge.Answer
local function list_servers(params, answer)
  answer({ servers = servers.describe(servers.knowing(params.method)) })
end

---@param answer gemini_bridge.Answer
local function list_changes(_, answer)
  local changes = vim.tbl_map(function(change)
    return { path = change.path, status = change.status, added = change.added, removed = change.removed }
  end, require("gemini-bridge.changes.look").list())
  answer({ changes = changes })
end

---@type table<string, fun(params: table, answer: gemini_bridge.Answer)>
local questions = {
  buffers = opened.buffers,
  read = opened.read,
  lines = opened.lines,
  selection = opened.selection,
  diagnostics = problems.diagnostics,
  unopened = unopened.ask,
  document = documents.ask,
  servers = list_servers,
  request = servers.request,
  settle = settle.ask,
  quickfix = show.quickfix,
  changes = list_changes,
  open_file = show.open_file,
  set_quickfix = show.set_quickfix,
  edit_context = edits.context,
  preview_edits = edits.preview,
  apply_edit = edits.apply,
  finish_edit = edits.finish,
  tell_written = edits.tell_written,
}

--- What the user lets the model see.
---@return { paused: boolean, exclude: string[], directories: string[] }
function M.consent()
  local consent = require("gemini-bridge.context.consent").settings()
  return {
    paused = consent.paused,
    exclude = consent.exclude,
    directories = require("gemini-bridge.context.workspace").get().directories,
  }
end

--- Tells the host of changes, or stops.
M.watch = changed.watch

--- Begins to answer a question.
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
  local ok, problem = pcall(question, asked.params, answer)
  if not ok then
    answer(nil, scheduler.reason(problem))
  end
end

--- Lets go of what was read for the model. May run twice.
function M.close()
  unopened.forget()
  changed.watch({ on = false, selection = false })
  documents.close()
end

return M
