--- Stores notes for a week in a file that only the user can read. Several Neovims share this file. Each Neovim replaces
--- only the notes that it has read or written.
local notify = require("gemini-bridge.notify")
local private_file = require("gemini-bridge.disk.private_file")

local M = {}

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

---@return string
local function file()
  return vim.fs.joinpath(vim.fn.stdpath("state"), "gemini-bridge-notes.json")
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

--- Returns the stored notes that are at most a week old.
---@return gemini_bridge.Note[]
function M.read()
  local oldest = os.time() - MAX_AGE_S
  return private_file.read_list(file(), function(note)
    return is_note(note) and note.at >= oldest
  end)
end

--- Replaces the notes of this Neovim in the file. Keeps the notes of other Neovims.
---@param known table<string, true> Ids of all notes that this Neovim has read or written, also of deleted notes.
---@param notes gemini_bridge.Note[] All notes of this Neovim that still exist.
function M.write(known, notes)
  local all = vim.tbl_filter(function(note)
    return not known[note.id]
  end, M.read())
  vim.list_extend(all, notes)
  table.sort(all, function(a, b)
    return a.at > b.at or a.at == b.at and a.id > b.id
  end)
  local kept, size = {}, 0
  for _, note in ipairs(all) do
    size = size + #note.text + #note.path
    kept[#kept + 1] = #kept < MAX_NOTES and size <= MAX_SIZE_BYTES and note or nil
  end
  local problem
  if #kept == 0 then
    vim.uv.fs_unlink(file())
  else
    problem = private_file.write(file(), vim.json.encode(kept))
  end
  if problem then
    notify("The notes were not saved: " .. problem, "warn")
  end
end

return M
