--- Collects the parts of a prompt: files, lines, diagnostics and excerpts.
local disk = require("gemini-bridge.disk.path")

local M = {}

--- Maximum number of diagnostics or quickfix entries in a prompt.
local MAX_NOTES = 100

local SEVERITIES = { "error", "warning", "info", "hint" }

---@param text string
---@return string
local function one_line(text)
  return vim.trim((text:gsub("%s+", " ")))
end

--- Returns the file of the current buffer. In a proposal, returns the file that the proposal would change.
---@return string? path
---@return string? problem
local function file_here()
  local review = vim.b.gemini_diff
  if review then
    return review.filePath
  end
  local path = vim.api.nvim_buf_get_name(0)
  if vim.bo.buftype ~= "" or path == "" then
    return nil, "This buffer has no file."
  elseif not vim.uv.fs_stat(path) then
    return nil, "This file is not on disk yet: write it first, so that the CLI can read it."
  end
  if vim.bo.modified then
    require("gemini-bridge.notify")(
      "The CLI reads the file without your unsaved changes: write the file to include them.",
      "warn"
    )
  end
  return path
end

---@param items vim.quickfix.entry[]
---@return gemini_bridge.Item[]
local function from_list(items)
  local found = {}
  for _, entry in ipairs(items) do
    local path = entry.bufnr > 0 and vim.api.nvim_buf_get_name(entry.bufnr) or ""
    if path ~= "" and #found < MAX_NOTES then
      local note = one_line(entry.text or "")
      found[#found + 1] = {
        path = path,
        first = entry.lnum > 0 and entry.lnum or nil,
        last = entry.end_lnum and entry.end_lnum > entry.lnum and entry.end_lnum or nil,
        note = note ~= "" and note or nil,
      }
    end
  end
  return found
end

---@param lines? [integer, integer]
---@return integer first
---@return integer last
local function lines_or_cursor(lines)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  return lines and lines[1] or line, lines and lines[2] or line
end

--- Returns the entries in the window of a quickfix or location list.
---@param lines? [integer, integer]
local function list_window(lines)
  local info = vim.fn.getwininfo(vim.api.nvim_get_current_win())[1]
  local all = info.loclist == 1 and vim.fn.getloclist(0) or vim.fn.getqflist()
  local first, last = lines_or_cursor(lines)
  return from_list(vim.list_slice(all, first, last))
end

---@param excerpt? gemini_bridge.Excerpt
---@return gemini_bridge.Item[]
local function as_items(excerpt)
  return excerpt and { { path = "", excerpt = excerpt } } or {}
end

--- Returns an excerpt of a buffer without a file. For a terminal, the excerpt is its last output.
---@param lines? [integer, integer]
local function excerpt_here(lines)
  local excerpt, buf = require("gemini-bridge.prompt.excerpt"), vim.api.nvim_get_current_buf()
  if vim.b.gemini_terminal then
    return nil
  elseif vim.bo.buftype == "terminal" and not lines then
    return as_items(excerpt.of_terminal(buf))
  end
  return as_items(excerpt.of_buffer(buf, lines))
end

local sources = {}

--- Returns the current file, the entries of an explorer or of a list window, or the text of a buffer without a file.
--- While sharing is paused, adds nothing to the user's own text, unless the user has selected lines.
---@param opts gemini_bridge.SendOptions
function sources.here(opts)
  local is_added = (opts.text or "") ~= "" and not opts.lines
  if is_added and require("gemini-bridge.context.consent").is_paused() then
    require("gemini-bridge.notify")(
      "The prompt refers to no file, because sharing is paused: select lines to send their reference."
    )
    return {}
  end
  if vim.bo.buftype == "quickfix" then
    return list_window(opts.lines)
  end
  local entries, problem = require("gemini-bridge.prompt.explorer").entries(lines_or_cursor(opts.lines))
  if entries then
    return vim.tbl_map(function(path)
      return { path = path }
    end, entries), problem
  end
  local path
  path, problem = file_here()
  if path then
    local lines = opts.lines or {}
    return { { path = path, first = lines[1], last = lines[2] } }
  elseif (opts.text or "") ~= "" and not opts.lines then
    -- The user's text may stand alone, without a reference to a file.
    return {}
  end
  return excerpt_here(opts.lines), problem
end

--- Returns the last output of a terminal.
function sources.output()
  local excerpt = require("gemini-bridge.prompt.excerpt")
  local buf = excerpt.last_terminal()
  return as_items(buf and excerpt.of_terminal(buf)), "There is no terminal output to send."
end

--- Returns the diagnostics of the current file.
---@param opts gemini_bridge.SendOptions
function sources.diagnostics(opts)
  local path, problem = file_here()
  if not path then
    return nil, problem
  end
  local items = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    local first, last = diagnostic.lnum + 1, (diagnostic.end_lnum or diagnostic.lnum) + 1
    local wanted = not opts.lines or (first <= opts.lines[2] and last >= opts.lines[1])
    if wanted and #items < MAX_NOTES then
      local origin = diagnostic.source and (" (%s)"):format(one_line(diagnostic.source)) or ""
      local note = ("%s: %s%s"):format(SEVERITIES[diagnostic.severity], one_line(diagnostic.message), origin)
      items[#items + 1] = { path = path, first = first, last = last, note = note }
    end
  end
  table.sort(items, function(a, b)
    return a.first < b.first
  end)
  if #items == 0 then
    return nil, "There are no diagnostics here."
  end
  return items
end

--- Returns the entries of the quickfix list.
function sources.quickfix()
  local items = from_list(vim.fn.getqflist())
  if #items == 0 then
    return nil, "The quickfix list has no entries with files."
  end
  return items
end

--- Returns lines of a file. Reads the file's buffer if it is loaded, otherwise the disk.
---@param path string
---@param first integer
---@param last integer
---@return string[]
local function lines_of(path, first, last)
  local buf = disk.buffer(path)
  if buf then
    return vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  end
  local text = disk.bytes(path) or ""
  return vim.list_slice(vim.split(text, "\r?\n"), first, last)
end

--- Returns the parts of a prompt for the user's notes on lines of files.
function sources.notes()
  local items = vim.tbl_map(function(note)
    return {
      path = note.path,
      first = note.first,
      last = note.last,
      note = note.text,
      quote = lines_of(note.path, note.first, note.last),
      note_id = note.id,
    }
  end, require("gemini-bridge.notes.notes").list())
  if #items == 0 then
    return nil, "There are no notes. Add one with <Plug>(gemini-note)."
  end
  return items
end

function sources.nothing()
  return {}
end

--- Returns the files that the user has named.
---@param names string[]
local function files(names)
  local items = {}
  for _, name in ipairs(names) do
    local path = vim.fs.normalize(vim.fn.fnamemodify(name, ":p"), { expand_env = false })
    if not vim.uv.fs_stat(path) then
      return nil, ("There is no file %s."):format(name)
    end
    items[#items + 1] = { path = path }
  end
  return items
end

--- Returns the parts of a prompt, as selected by the options.
---@param opts gemini_bridge.SendOptions
---@return gemini_bridge.Item[]? items
---@return string? problem The reason why there are no items.
function M.items(opts)
  local items, problem
  if opts.files then
    items, problem = files(opts.files)
  else
    items, problem = sources[opts.source or "here"](opts)
  end
  for _, item in ipairs(items or {}) do
    if require("gemini-bridge.terminal.shell_words").has_control(item.path) then
      local reason = "A path with a control character cannot be sent: %s. Rename the file first."
      return nil, reason:format(disk.display(item.path, 24))
    elseif not disk.is_utf8(item.path) then
      return nil,
        ("A path that is not UTF-8 cannot be sent: %s. Rename the file first."):format(
          disk.display(item.path, 24)
        )
    end
  end
  return items, problem
end

return M
