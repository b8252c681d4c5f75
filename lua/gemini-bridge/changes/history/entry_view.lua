--- Shows a history entry: the new text with highlighted changes, and the old lines as virtual lines.
local compare = require("gemini-bridge.changes.page.compare")
local groups = require("gemini-bridge.changes.history.groups")
local hunks = require("gemini-bridge.difference.hunks")
local key_actions = require("gemini-bridge.editor.key_actions")
local layout = require("gemini-bridge.changes.page.layout")
local old_lines = require("gemini-bridge.difference.old_lines")
local path = require("gemini-bridge.disk.path")
local signs = require("gemini-bridge.changes.signs")
local text_buffer = require("gemini-bridge.difference.text_buffer")
local winbar_text = require("gemini-bridge.editor.winbar_text")

local M = {}

---@class gemini_bridge.HistoryTexts: gemini_bridge.replies.history_texts
---@field problem? string Reason why the texts are not known.

---@param texts gemini_bridge.HistoryTexts
---@return boolean
local function is_deletion(texts)
  return #texts.after == 0 and #texts.before > 0
end

---@param entry gemini_bridge.HistoryEntry
---@param texts gemini_bridge.HistoryTexts
---@return integer buf
local function create_buffer(entry, texts)
  local lines = is_deletion(texts) and texts.before or texts.after
  if texts.problem then
    lines = { (texts.problem:gsub("^%l", string.upper)) }
  end
  local time = os.date("%H:%M:%S", entry.at)
  local name = ("gemini-history://%s %s (%s)"):format(path.display(entry.path), time, entry.id:sub(1, 8))
  return text_buffer(name, lines, not texts.problem and entry.path or nil)
end

--- Marks the changed lines of a history entry. Shows old lines only if no second window shows the earlier text.
---@param win integer
---@param texts gemini_bridge.HistoryTexts
function M.mark(win, texts)
  local buf = vim.api.nvim_win_get_buf(win)
  old_lines.hide(buf)
  local found = is_deletion(texts) and {} or hunks.compare(texts.before, texts.after)
  signs.place(buf, { hunks = found })
  if not compare.is_open(win) then
    old_lines.show(buf, found, texts.before)
  end
end

--- Shows a history entry in a window.
---@param win integer
---@param entry gemini_bridge.HistoryEntry
---@param texts gemini_bridge.HistoryTexts
---@return integer buf
function M.show(win, entry, texts)
  signs.place(vim.api.nvim_win_get_buf(win), nil)
  local buf = create_buffer(entry, texts)
  layout.set_buffer(win, buf)
  M.mark(win, texts)
  local first = signs.list(buf)[1]
  if first then
    vim.api.nvim_win_set_cursor(win, { first.first, 0 })
  end
  return buf
end

--- Shows a winbar with the file name, the kind of history entry and key hints.
---@param win integer
---@param entry gemini_bridge.HistoryEntry
---@param texts gemini_bridge.HistoryTexts
function M.set_bar(win, entry, texts)
  local hints = { { "help", "keys" } }
  if groups.was_written(entry) then
    table.insert(hints, 1, { "undo", "undo" })
  end
  winbar_text.show(win, {
    path.part(entry.path),
    { text = " · " .. groups.kind(entry), rank = 5 },
    { text = is_deletion(texts) and " (deleted)" or "", rank = 4 },
    { text = (" by %s at %s"):format(entry.cli, os.date("%H:%M:%S", entry.at)), rank = 2 },
    key_actions.hints(hints),
  })
end

return M
