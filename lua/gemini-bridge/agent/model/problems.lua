--- Diagnostics of the files that are loaded.
local disk = require("gemini-bridge.disk.path")

local M = {}

--- The character that a byte column is at, 1-based, in UTF-16 units.
---@param line string?
---@param col integer 0-based.
---@return integer
local function character(line, col)
  if not line or col <= 0 then
    return math.max(col, 0) + 1
  end
  local before = line:sub(1, col)
  if vim.fn.has("nvim-0.11") == 1 then
    return vim.str_utfindex(before, "utf-16") + 1
  end
  local _, units = vim.str_utfindex(before)
  return units + 1
end

---@param value any
---@return string|integer?
local function code_of(value)
  local kind = type(value)
  return (kind == "string" or kind == "number") and value or nil
end

---@param path string
---@param buf integer
---@param diagnostic vim.Diagnostic
local function describe(path, buf, diagnostic)
  local line = vim.api.nvim_buf_get_lines(buf, diagnostic.lnum, diagnostic.lnum + 1, false)[1]
  return {
    path = path,
    line = diagnostic.lnum + 1,
    character = character(line, diagnostic.col),
    severity = diagnostic.severity,
    message = tostring(diagnostic.message),
    code = code_of(diagnostic.code),
    source = type(diagnostic.source) == "string" and diagnostic.source or nil,
  }
end

--- The diagnostics themselves, only to be looked at. Neovim copies all that it is asked for, which takes 30 ms for
--- 10,000: in this moment alone it does not.
---@param buf integer
---@param opts vim.diagnostic.GetOpts
---@return vim.Diagnostic[]
local function peek(buf, opts)
  local copy = vim.deepcopy
  vim.deepcopy = function(value) ---@diagnostic disable-line: duplicate-set-field
    return value
  end
  local ok, found = pcall(vim.diagnostic.get, buf, opts)
  vim.deepcopy = copy
  return ok and found or vim.diagnostic.get(buf, opts)
end

---@param a vim.Diagnostic
---@param b vim.Diagnostic
local function is_before(a, b)
  return a.lnum < b.lnum or a.lnum == b.lnum and a.col < b.col
end

--- The first of a list, in order. To sort it all takes longer, and language servers list them in order as a rule.
---@param found vim.Diagnostic[]
---@param room integer
---@return vim.Diagnostic[]
local function first_of(found, room)
  local first = {}
  for _, one in ipairs(found) do
    local at = #first + 1
    while at > 1 and is_before(one, first[at - 1]) do
      at = at - 1
    end
    if at <= room then
      table.insert(first, at, one)
      first[room + 1] = nil
    end
  end
  return first
end

--- The gravest first.
---@param params { paths: string[], severity: integer, limit: integer }
---@param answer gemini_bridge.Answer
function M.diagnostics(params, answer)
  local items, counts, loaded = {}, { 0, 0, 0, 0 }, {}
  for _, path in ipairs(params.paths) do
    local buf = disk.buffer(path)
    if buf then
      loaded[#loaded + 1] = { path, buf }
      for severity, count in pairs(vim.diagnostic.count(buf)) do
        counts[severity] = counts[severity] + count
      end
    end
  end
  for severity = 1, params.severity do
    for _, file in ipairs(#items < params.limit and counts[severity] > 0 and loaded or {}) do
      local path, buf = unpack(file)
      local room = params.limit - #items
      for _, one in ipairs(room > 0 and first_of(peek(buf, { severity = severity }), room) or {}) do
        items[#items + 1] = describe(path, buf, one)
      end
    end
  end
  answer({ items = items, counts = counts })
end

return M
