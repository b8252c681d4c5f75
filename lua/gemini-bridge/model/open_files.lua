--- Answers questions about open files: their list, their text, and the selection.
local buffers = require("gemini-bridge.context.buffers")
local disk = require("gemini-bridge.disk.path")
local documents = require("gemini-bridge.model.documents")
local snapshot = require("gemini-bridge.context.snapshot")

local M = {}

--- Number of lines to read at once. Low, because lines may be very long.
local CHUNK_LINES = 256
--- Maximum length of a line in an answer (bytes). Longer lines are truncated.
local MAX_LINE_LENGTH = 2048

---@param answer gemini_bridge.Answer
function M.buffers(_, answer)
  local found = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_is_loaded(buf) and buffers.file(buf)
    if path then
      found[#found + 1] = {
        path = path,
        filetype = vim.bo[buf].filetype,
        lines = vim.api.nvim_buf_line_count(buf),
        modified = vim.bo[buf].modified,
        visible = vim.fn.bufwinid(buf) ~= -1,
        servers = vim.tbl_map(function(client)
          return client.name
        end, vim.lsp.get_clients({ bufnr = buf })),
      }
    end
  end
  answer({ buffers = found })
end

--- Returns as many complete lines as fit. If the first line does not fit, returns the beginning of that line.
---@param buf integer
---@param from integer 1-based.
---@param to integer
---@param room integer Bytes.
---@return string[]
---@return boolean is_cut True if the end of the line is missing.
local function lines_within(buf, from, to, room)
  local lines = {}
  for first = from, to, CHUNK_LINES do
    for _, line in
      ipairs(vim.api.nvim_buf_get_lines(buf, first - 1, math.min(first + CHUNK_LINES - 1, to), false))
    do
      room = room - #line - 1
      if room < 0 and #lines > 0 then
        return lines, false
      elseif room < 0 then
        local start = line:sub(1, room + #line + 1)
        return { start }, start ~= line
      end
      lines[#lines + 1] = line
    end
  end
  return lines, false
end

--- Answers with the beginning of each requested line.
---@param params gemini_bridge.questions.lines Line numbers are 1-based.
---@param answer gemini_bridge.Answer
function M.lines(params, answer)
  local buf = disk.buffer(params.path)
  answer({
    loaded = buf ~= nil,
    lines = buf and vim.tbl_map(function(number)
      local line = vim.api.nvim_buf_get_lines(buf, number - 1, number, false)[1] or ""
      return line:sub(1, MAX_LINE_LENGTH)
    end, params.numbers) or {},
  })
end

---@param params gemini_bridge.questions.read
---@param answer gemini_bridge.Answer
function M.read(params, answer)
  local buf = documents.current(params.path)
  if not buf then
    return answer({ loaded = false, lines = {} })
  end
  local total = vim.api.nvim_buf_line_count(buf)
  local to = params.to < 0 and total or math.min(params.to, total)
  local lines, is_cut = lines_within(buf, params.from, to, params.units)
  answer({
    loaded = true,
    lines = lines,
    isCut = is_cut,
    total = total,
    modified = vim.bo[buf].modified,
  })
end

---@param params { units: integer }
---@param answer gemini_bridge.Answer
function M.selection(params, answer)
  local active = snapshot.active(params.units)
  answer(active and {
    path = buffers.file(active.bufnr),
    line = active.line,
    character = active.character,
    text = active.selection,
  } or vim.empty_dict())
end

return M
