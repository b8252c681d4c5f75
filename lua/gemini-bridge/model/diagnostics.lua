--- Selects the most severe diagnostics of files, and sends only these diagnostics to the host. A workspace may have
--- 100,000 diagnostics. Therefore the work pauses regularly, so that the editor can handle keys.
local disk = require("gemini-bridge.disk.path")
local published = require("gemini-bridge.model.published_diagnostics")
local snapshot = require("gemini-bridge.context.snapshot")
local work_slices = require("gemini-bridge.model.work_slices")
local workspace_diagnostics = require("gemini-bridge.model.workspace_diagnostics")

local M = {}

--- Number of diagnostics that are processed without a pause.
local SLICE_LENGTH = 500

--- Converts a byte column to a 1-based column in UTF-16 units.
---@param line string?
---@param col integer 0-based.
---@return integer
local function character(line, col)
  if not line or col <= 0 then
    return math.max(col, 0) + 1
  end
  return snapshot.utf16_length(line:sub(1, col)) + 1
end

---@param value any
---@return string|integer?
local function code_of(value)
  local kind = type(value)
  return (kind == "string" or kind == "number") and value or nil
end

--- A diagnostic, and the file that contains the diagnostic.
---@class gemini_bridge.FileProblem
---@field path string
---@field order integer Index of the file in the request.
---@field buf? integer Buffer of the file, if the file is loaded.
---@field severity integer
---@field diagnostic gemini_bridge.Problem

---@param problem gemini_bridge.FileProblem
local function describe(problem)
  local path, buf, diagnostic = problem.path, problem.buf, problem.diagnostic
  local is_loaded = buf and vim.api.nvim_buf_is_loaded(buf)
  local line = is_loaded and vim.api.nvim_buf_get_lines(buf, diagnostic.lnum, diagnostic.lnum + 1, false)[1]
    or nil
  -- To convert Neovim's byte column, the text must be loaded. Without the text, uses the column that the server sent,
  -- which usually counts UTF-16 units.
  local exact = not is_loaded and vim.tbl_get(diagnostic, "user_data", "lsp", "range", "start", "character")
  return {
    path = path,
    line = diagnostic.lnum + 1,
    character = type(exact) == "number" and exact + 1 or character(line, diagnostic.col),
    severity = problem.severity,
    message = tostring(diagnostic.message),
    code = code_of(diagnostic.code),
    source = type(diagnostic.source) == "string" and diagnostic.source or nil,
  }
end

---@param a gemini_bridge.FileProblem
---@param b gemini_bridge.FileProblem
local function is_before(a, b)
  if a.order ~= b.order then
    return a.order < b.order
  end
  local first, second = a.diagnostic, b.diagnostic
  return first.lnum < second.lnum or first.lnum == second.lnum and first.col < second.col
end

--- Inserts a diagnostic into a sorted list. Faster than sorting at the end, because most language servers send
--- diagnostics in order.
---@param first gemini_bridge.FileProblem[]
---@param problem gemini_bridge.FileProblem
---@param room integer Maximum length of the list.
local function insert(first, problem, room)
  local at = #first + 1
  while at > 1 and is_before(problem, first[at - 1]) do
    at = at - 1
  end
  if at <= room then
    table.insert(first, at, problem)
    first[room + 1] = nil
  end
end

--- Some of the diagnostics of one file: the part of `list` that starts at the index `from`.
---@class gemini_bridge.ProblemSlice
---@field path string
---@field order integer
---@field buf? integer
---@field list gemini_bridge.Problem[]
---@field from integer

---@param params { paths: string[], unopened: string[] }
---@param done fun(problem?: string, slices: gemini_bridge.ProblemSlice[])
local function slices_of(params, done)
  local slices, order = {}, 0
  local elsewhere = params.unopened[1] and workspace_diagnostics.lists() or {}
  work_slices.each(vim.list_extend(vim.list_extend({}, params.paths), params.unopened), function(path)
    order = order + 1
    local buf = not elsewhere[path] and disk.buffer(path) or nil
    for _, list in pairs(elsewhere[path] or buf and published.lists(buf) or {}) do
      for from = 1, #list, SLICE_LENGTH do
        slices[#slices + 1] = { path = path, order = order, buf = buf, list = list, from = from }
      end
    end
  end, function(problem)
    done(problem, slices)
  end)
end

--- Answers with the most severe diagnostics.
---@param params gemini_bridge.questions.diagnostics
---@param answer gemini_bridge.Answer
function M.list(params, answer)
  local counts, files, items = { 0, 0, 0, 0 }, {}, {}
  ---@type gemini_bridge.FileProblem[][]
  local first = { {}, {}, {}, {} }
  local function finish(problem)
    if problem then
      return answer(nil, problem)
    end
    answer({ items = items, counts = counts, files = vim.tbl_count(files) })
  end
  slices_of(params, function(failure, slices)
    work_slices.each(failure and {} or slices, function(slice)
      for i = slice.from, math.min(slice.from + SLICE_LENGTH - 1, #slice.list) do
        local diagnostic = slice.list[i]
        local severity = counts[diagnostic.severity] and diagnostic.severity or 1
        counts[severity] = counts[severity] + 1
        if severity <= params.severity then
          files[slice.path] = true
          insert(first[severity], {
            path = slice.path,
            order = slice.order,
            buf = slice.buf,
            severity = severity,
            diagnostic = diagnostic,
          }, params.limit)
        end
      end
    end, function(problem)
      local shown = vim.iter(first):flatten():take(params.limit):totable()
      work_slices.each(shown, function(each)
        items[#items + 1] = describe(each)
      end, function(late)
        finish(failure or problem or late)
      end)
    end)
  end)
end

return M
