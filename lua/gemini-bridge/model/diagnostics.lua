--- Selects the most severe diagnostics of files. The work is done in short slices, and only the selected ones are sent,
--- because there may be a hundred thousand.
local disk = require("gemini-bridge.disk.path")
local published = require("gemini-bridge.model.published_diagnostics")
local snapshot = require("gemini-bridge.context.snapshot")
local work_slices = require("gemini-bridge.model.work_slices")
local workspace_diagnostics = require("gemini-bridge.model.workspace_diagnostics")

local M = {}

--- Number of diagnostics in a slice of the work.
local SLICE_LENGTH = 500

--- Converts a byte column to a 1-based character in UTF-16 units.
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

--- A diagnostic and its file.
---@class gemini_bridge.FileProblem
---@field path string
---@field order integer Index of the file in the question.
---@field buf? integer If the file is loaded.
---@field severity integer
---@field one gemini_bridge.Problem

---@param problem gemini_bridge.FileProblem
local function describe(problem)
  local path, buf, one = problem.path, problem.buf, problem.one
  local is_loaded = buf and vim.api.nvim_buf_is_loaded(buf)
  local line = is_loaded and vim.api.nvim_buf_get_lines(buf, one.lnum, one.lnum + 1, false)[1] or nil
  -- The server's column, usually in UTF-16 units. Neovim's own column counts bytes.
  local exact = not is_loaded and vim.tbl_get(one, "user_data", "lsp", "range", "start", "character")
  return {
    path = path,
    line = one.lnum + 1,
    character = type(exact) == "number" and exact + 1 or character(line, one.col),
    severity = problem.severity,
    message = tostring(one.message),
    code = code_of(one.code),
    source = type(one.source) == "string" and one.source or nil,
  }
end

---@param a gemini_bridge.FileProblem
---@param b gemini_bridge.FileProblem
local function is_before(a, b)
  if a.order ~= b.order then
    return a.order < b.order
  end
  return a.one.lnum < b.one.lnum or a.one.lnum == b.one.lnum and a.one.col < b.one.col
end

--- Inserts a diagnostic into the sorted list of the first ones. This is faster than sorting, because language servers
--- usually send diagnostics in order.
---@param first gemini_bridge.FileProblem[]
---@param problem gemini_bridge.FileProblem
---@param room integer
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

--- A slice of a list of diagnostics.
---@class gemini_bridge.ProblemSlice
---@field path string
---@field order integer
---@field buf? integer
---@field list gemini_bridge.Problem[]
---@field from integer

---@param params { paths: string[], unopened: string[] }
---@param done fun(problem?: string, pieces: gemini_bridge.ProblemSlice[])
local function pieces_of(params, done)
  local pieces, order = {}, 0
  local elsewhere = params.unopened[1] and workspace_diagnostics.lists() or {}
  work_slices.each(vim.list_extend(vim.list_extend({}, params.paths), params.unopened), function(path)
    order = order + 1
    local buf = not elsewhere[path] and disk.buffer(path) or nil
    for _, list in pairs(elsewhere[path] or buf and published.lists(buf) or {}) do
      for from = 1, #list, SLICE_LENGTH do
        pieces[#pieces + 1] = { path = path, order = order, buf = buf, list = list, from = from }
      end
    end
  end, function(problem)
    done(problem, pieces)
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
  pieces_of(params, function(failure, pieces)
    work_slices.each(failure and {} or pieces, function(piece)
      for i = piece.from, math.min(piece.from + SLICE_LENGTH - 1, #piece.list) do
        local one = piece.list[i]
        local severity = counts[one.severity] and one.severity or 1
        counts[severity] = counts[severity] + 1
        if severity <= params.severity then
          files[piece.path] = true
          insert(first[severity], {
            path = piece.path,
            order = piece.order,
            buf = piece.buf,
            severity = severity,
            one = one,
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
