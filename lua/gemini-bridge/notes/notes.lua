--- Manages the notes that the user writes on lines of files. A note stays until it is sent to a CLI or deleted.
--- Stores notes for a week in a file that several Neovims share: the last edit of a note wins.
local config = require("gemini-bridge.config")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local patterns = require("gemini-bridge.config.patterns")
local scheduler = require("gemini-bridge.editor.scheduler")
local store = require("gemini-bridge.disk.store")

local M = {}

local NAME = "gemini-bridge-notes"
local MAX_AGE_S = 7 * 24 * 60 * 60
--- Maximum number of notes and maximum total size. The oldest notes are removed first.
local MAX_NOTES, MAX_SIZE_BYTES = 500, 1024 * 1024

---@class gemini_bridge.Note
---@field id string
---@field path string Absolute.
---@field first integer First line, 1-based.
---@field last integer
---@field text string
---@field at integer Time of the last edit (Unix seconds).

local namespace = vim.api.nvim_create_namespace("gemini-bridge.notes")
--- Contains an extmark while the user writes a note, because lines may move meanwhile.
local asked_namespace = vim.api.nvim_create_namespace("gemini-bridge.notes.asked")

local by_id = {} ---@type table<string, gemini_bridge.Note>
--- Ids of all notes that this Neovim has read from the file or written to it. Deleted notes stay in this list.
local known = {} ---@type table<string, true>
--- Id of the extmark of each note, by buffer.
local marks = {} ---@type table<integer, table<string, integer>>
local is_loaded = false
local last_id = 0

--- Returns all notes, sorted by file and line. The line numbers are current only after `follow_marks`.
---@return gemini_bridge.Note[]
local function sorted()
  local all = vim.tbl_values(by_id)
  table.sort(all, function(a, b)
    if a.path ~= b.path then
      return a.path < b.path
    end
    return a.first < b.first or a.first == b.first and a.id < b.id
  end)
  return all
end

--- Updates the line numbers of notes from the extmarks in a buffer. Extmarks follow the user's edits.
---@param buf integer
local function follow_marks(buf)
  for id, mark in pairs(vim.api.nvim_buf_is_loaded(buf) and marks[buf] or {}) do
    local row, _, details =
      unpack(vim.api.nvim_buf_get_extmark_by_id(buf, namespace, mark, { details = true }))
    if row and by_id[id] then
      by_id[id].first, by_id[id].last = row + 1, math.max(details.end_row, row) + 1
    end
  end
end

---@param value any
---@return boolean
local function is_note(value)
  local function is_line(line)
    return type(line) == "number" and line >= 1 and line % 1 == 0
  end
  return type(value) == "table"
    and type(value.id) == "string"
    and type(value.path) == "string"
    and value.path:sub(1, 1) == "/"
    and is_line(value.first)
    and is_line(value.last)
    and type(value.text) == "string"
    and type(value.at) == "number"
end

---@param note gemini_bridge.Note
---@return boolean
local function is_recent(note)
  return note.at >= os.time() - MAX_AGE_S
end

--- Returns whether a note is in the file. Another Neovim may have deleted the note.
---@param id string
---@return boolean
local function is_stored(id)
  return vim.iter(store.read_list(NAME, is_note)):any(function(note)
    return note.id == id
  end)
end

--- Takes over what other Neovims have changed since this Neovim has read or written the file.
---@param stored table<string, gemini_bridge.Note> Notes in the file, by id.
local function take_over(stored)
  -- Without a file, all notes were deleted. A file without any note is damaged.
  local is_damaged = next(stored) == nil and store.time(NAME) ~= nil
  for id, note in pairs(by_id) do
    local found = stored[id]
    if found and found.at > note.at then
      by_id[id] = found
    elseif not found and known[id] and not is_damaged then
      by_id[id] = nil
    end
  end
end

--- Writes the notes of this Neovim to the file. Keeps what other Neovims have changed in the file.
local function save()
  local all, stored = {}, {}
  for _, note in ipairs(store.read_list(NAME, is_note)) do
    stored[note.id] = note
    all[#all + 1] = not known[note.id] and is_recent(note) and note or nil
  end
  M.list() -- updates the line numbers
  take_over(stored)
  vim.list_extend(all, sorted())
  table.sort(all, function(a, b)
    return a.at > b.at or a.at == b.at and a.id > b.id
  end)
  local kept = store.fitting(all, MAX_NOTES, MAX_SIZE_BYTES, function(note)
    return #note.text + #note.path
  end)
  local is_kept, problem = {}, nil
  for _, note in ipairs(kept) do
    is_kept[note.id] = true
  end
  if #kept == 0 then
    store.delete(NAME)
  else
    problem = store.write(NAME, kept)
  end
  if problem then
    return notify("The notes were not saved: " .. problem, "warn")
  end
  for id in pairs(by_id) do
    known[id] = is_kept[id]
  end
end

--- Shows the notes of the file that a buffer contains.
---@param buf integer
local function place(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  marks[buf] = nil
  if name:sub(1, 1) ~= "/" or vim.bo[buf].buftype ~= "" then
    return
  end
  local real, last = path.real(name), vim.api.nvim_buf_line_count(buf)
  for _, note in ipairs(sorted()) do
    if note.path == real then
      marks[buf] = marks[buf] or {}
      local row = math.min(note.first, last) - 1
      marks[buf][note.id] = vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
        end_row = math.min(note.last, last) - 1,
        end_col = 0,
        end_right_gravity = true,
        sign_text = "✎",
        sign_hl_group = "DiagnosticInfo",
        virt_text = { { " ✎ " .. vim.fn.strtrans((note.text:gsub("%s+", " "))), "DiagnosticInfo" } },
        priority = 5000, -- above the sign of a change
      })
    end
  end
end

local function place_all()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      place(buf)
    end
  end
end

local function listen()
  local group = vim.api.nvim_create_augroup("gemini-bridge.notes", {})
  if next(by_id) == nil then
    return
  end
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufFilePost" }, {
    group = group,
    callback = function(args)
      -- Skips the unloaded buffer that |:saveas| creates for the old name.
      if vim.api.nvim_buf_is_loaded(args.buf) then
        place(args.buf)
      end
    end,
  })
  -- Saves the line numbers of the notes. A reload or unload of the buffer would delete their extmarks. After |:file|,
  -- the extmarks would follow the edits of another file.
  vim.api.nvim_create_autocmd({ "BufReadPre", "BufFilePre", "BufUnload" }, {
    group = group,
    callback = function(args)
      follow_marks(args.buf)
      marks[args.buf] = nil
    end,
  })
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = group,
    callback = save,
  })
end

local function update()
  save()
  listen()
  scheduler.now(place_all)
end

--- Loads the notes that an earlier Neovim stored for files below the current directory. Later calls have no effect.
---@return integer count Number of loaded notes. 0 for later calls.
function M.load()
  if is_loaded then
    return 0
  end
  is_loaded = true
  local cwd = vim.fn.getcwd()
  for _, note in ipairs(store.read_list(NAME, is_note)) do
    if is_recent(note) and path.is_below(note.path, cwd) then
      by_id[note.id], known[note.id] = note, true
    end
  end
  if next(by_id) then
    listen()
    scheduler.now(place_all)
  end
  return vim.tbl_count(by_id)
end

--- Returns all notes, sorted by file and line, with current line numbers.
---@return gemini_bridge.Note[]
function M.list()
  M.load()
  for buf in pairs(marks) do
    follow_marks(buf)
  end
  return sorted()
end

--- Deletes notes, also from the file on disk.
---@param ids string[]
function M.remove(ids)
  for _, id in ipairs(ids) do
    by_id[id] = nil
  end
  update()
end

--- Returns the reason why a buffer cannot have notes. Returns nil if notes are possible.
---@param buf integer
---@return string?
local function obstacle(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= "" or name:sub(1, 1) ~= "/" then
    return "This buffer cannot have notes, because it has no file."
  elseif patterns.match(config.get().context.exclude, path.relative(name)) then
    return "This file cannot have notes, because your option context.exclude hides it from CLIs."
  end
end

--- Marks lines of a buffer while the user writes a note on these lines.
---@param buf integer
---@param lines [integer, integer] First and last line, 1-based.
---@return fun(): [integer, integer] take Removes the mark. Returns the current lines, or the earlier lines if the
--- buffer was unloaded meanwhile.
local function hold(buf, lines)
  local count = vim.api.nvim_buf_line_count(buf)
  local mark = vim.api.nvim_buf_set_extmark(buf, asked_namespace, math.min(lines[1], count) - 1, 0, {
    end_row = math.min(lines[2], count) - 1,
    end_col = 0,
    end_right_gravity = true,
  })
  return function()
    if not vim.api.nvim_buf_is_valid(buf) then
      return lines
    end
    local row, _, details =
      unpack(vim.api.nvim_buf_get_extmark_by_id(buf, asked_namespace, mark, { details = true }))
    vim.api.nvim_buf_del_extmark(buf, asked_namespace, mark)
    return row and { row + 1, math.max(details.end_row, row) + 1 } or lines
  end
end

--- Asks the user for a note on lines of the current buffer. Edits the note that these lines already have. An empty text
--- deletes the note.
---@param lines [integer, integer] First and last line, 1-based.
function M.edit(lines)
  local buf = vim.api.nvim_get_current_buf()
  local problem = obstacle(buf)
  if problem then
    return notify(problem, "warn")
  end
  local name = path.real(vim.api.nvim_buf_get_name(buf))
  local existing = vim.iter(M.list()):find(function(note)
    return note.path == name and note.first <= lines[2] and note.last >= lines[1]
  end)
  local take_lines = hold(buf, lines)
  -- Ignores errors: in Neovim's own `vim.ui.input`, CTRL-C raises an error, which only means that the user has
  -- cancelled.
  local ok = pcall(vim.ui.input, {
    prompt = existing and "Note (leave empty to delete): " or "Note: ",
    default = existing and existing.text,
  }, function(text)
    local current = take_lines()
    if not text or not existing and vim.trim(text) == "" then
      return
    elseif vim.trim(text) == "" then
      return M.remove({ existing.id })
    end
    last_id = last_id + 1
    -- A deleted note gets a new id, because the Neovim that has deleted the note would delete its id again.
    local id = existing and is_stored(existing.id) and existing.id
      or ("%d.%d.%d"):format(os.time(), vim.fn.getpid(), last_id)
    by_id[existing and existing.id or id] = nil
    by_id[id] = {
      id = id,
      path = name,
      first = existing and existing.first or current[1],
      last = existing and existing.last or current[2],
      text = vim.trim(text),
      at = os.time(),
    }
    update()
  end)
  if not ok then
    take_lines()
  end
end

return M
