--- Formats references to files in prompts. Gemini CLI reads the format `@path`, followed by a space.
local M = {}

--- A part of a prompt: a file, or an excerpt of a buffer without a file.
---@class gemini_bridge.Item
---@field excerpt? gemini_bridge.Excerpt
---@field path string Absolute. "" for an excerpt.
---@field first? integer First line, 1-based.
---@field last? integer Last line, 1-based.
---@field note? string A note about these lines.
---@field quote? string[] Text of these lines. Quoted before the note.
---@field note_id? string Id of the note.

--- Escapes a path with backslashes, as `escapePath` of Gemini CLI 0.61.0 does. Also escapes commas, which end a
--- reference (`parseAllAtCommands`), and a final dot, which the CLI treats as the end of a sentence.
---@param path string
---@param quotes? boolean Whether to write `@"a path"` instead. Needed for CLIs without escapes.
---@return string
function M.spelled(path, quotes)
  if quotes then
    local is_plain = path:find("^[%w_./+~@,\128-\255-]*[%w_/\128-\255]$")
    return is_plain and path or ('"%s"'):format(path)
  end
  path = path:gsub("[ \t()%[%]{};|*?$`'\"#&<>!~\\,]", "\\%0"):gsub("%.$", "\\.")
  return path
end

--- Returns the directory to which references in the next prompt are relative. Only a guess until the CLI is known.
---@return string
function M.directory()
  local last = require("gemini-bridge.terminal.terminals").last()
  return last and last.cwd or vim.fn.getcwd()
end

---@param path string Absolute.
---@param cwd string The CLI's directory.
---@return string # Relative to `cwd` if the path is below that directory.
local function shortened(path, cwd)
  local root = (cwd:match("^(.*[^/])") or "") .. "/"
  return vim.startswith(path, root) and path ~= root and path:sub(#root + 1) or path
end

---@param item gemini_bridge.Item
---@return string?
local function lines_of(item)
  if not item.first then
    return
  end
  if not item.last or item.last == item.first then
    return tostring(item.first)
  end
  return ("%d-%d"):format(item.first, item.last)
end

---@param ranges string[]
---@return string
local function in_words(ranges)
  local several = #ranges > 1 or ranges[1]:find("-", 1, true)
  return (several and "lines " or "line ") .. table.concat(ranges, ", ")
end

--- Maximum number of lines that are quoted before a note.
local MAX_QUOTED_LINES = 20

--- Quotes lines. Escapes each `@`, because Gemini CLI replaces `@path` by the content of that file.
---@param lines string[]
---@return string
local function quoted(lines)
  local shown = vim.tbl_map(function(line)
    -- Replaces tabs, because a CLI would treat a tab as the Tab key.
    return "> " .. line:gsub("\t", "    "):gsub("@", "\\@")
  end, vim.list_slice(lines, 1, MAX_QUOTED_LINES))
  if #lines > MAX_QUOTED_LINES then
    shown[#shown + 1] = ("> (%d more lines)"):format(#lines - MAX_QUOTED_LINES)
  end
  return table.concat(shown, "\n")
end

---@param group gemini_bridge.Item[] All parts of the prompt that refer to the same file.
---@param cwd string
---@param quotes? boolean
---@return string text
---@return boolean has_notes
local function describe(group, cwd, quotes)
  if group[1].excerpt then
    return require("gemini-bridge.prompt.excerpt").fenced(group[1].excerpt), true
  end
  local reference = "@" .. M.spelled(shortened(group[1].path, cwd), quotes)
  local ranges, notes = {}, {}
  for _, item in ipairs(group) do
    local range = lines_of(item)
    ranges[#ranges + 1] = range
    if item.note then
      local where = range and in_words({ range }) .. ":" or ""
      local text = item.quote and "\n" .. quoted(item.quote) .. "\n" or " "
      notes[#notes + 1] = vim.trim(where .. text .. item.note)
    end
  end
  if #notes > 0 then
    return reference .. "\n" .. table.concat(notes, "\n"), true
  elseif #ranges > 0 then
    return ("%s (%s)"):format(reference, in_words(ranges)), false
  end
  return reference, false
end

--- Builds a prompt that mentions each file only once, in the given order.
---@param items gemini_bridge.Item[]
---@param cwd string The CLI's directory.
---@param text string The user's text, or "".
---@param quotes? boolean See `M.spelled`.
---@return string
function M.prompt(items, cwd, text, quotes)
  local groups, order = {}, {}
  for _, item in ipairs(items) do
    if not groups[item.path] then
      groups[item.path] = {}
      order[#order + 1] = item.path
    end
    table.insert(groups[item.path], item)
  end
  local parts, on_lines = {}, false
  for _, path in ipairs(order) do
    local part, has_notes = describe(groups[path], cwd, quotes)
    parts[#parts + 1] = part
    on_lines = on_lines or has_notes
  end
  if text ~= "" then
    parts[#parts + 1] = text
  end
  return table.concat(parts, on_lines and "\n" or " ")
end

return M
