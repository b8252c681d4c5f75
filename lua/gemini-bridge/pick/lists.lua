--- Defines the lists that a picker can show: unreviewed changes, the history of changes, and past prompts.
local path = require("gemini-bridge.disk.path")

local M = {}

---@class gemini_bridge.PickItem
---@field text string Line in the list.
---@field path? string File that the picker may open.
---@field line? integer Line in the file, 1-based.
---@field preview fun(): string[]
---@field choose fun()

---@class gemini_bridge.PickList
---@field title string
---@field syntax string Value of 'syntax' for previews.
---@field items fun(): gemini_bridge.PickItem[]?, string? Returns the items, or nil and the reason for an empty list.

--- Maximum length of a line in the list (characters).
local MAX_LINE_LENGTH = 200
--- Limits for previews: number of unchanged lines around a hunk, and maximum number of lines of the hunk.
local CONTEXT_LINES, MAX_HUNK_LINES = 3, 200

---@param text string
---@return string # One line without control characters.
local function one_line(text)
  return vim.fn.strtrans(vim.fn.strcharpart(vim.trim((text:gsub("%s+", " "))), 0, MAX_LINE_LENGTH))
end

---@param cli string
---@param prompt string
---@return string
local function author(cli, prompt)
  return one_line(prompt ~= "" and ("%s: %s"):format(cli, prompt) or cli)
end

--- Returns a preview of a changed file: the new lines of each hunk, without the removed lines.
---@param change gemini_bridge.Change
---@return string[]
local function hunks_of(change)
  local shown = { ("%s by %s, +%d -%d"):format(change.status, change.cli, change.added, change.removed) }
  local bytes = change.status ~= "deleted" and path.bytes(change.path)
  local lines = bytes and vim.split(bytes, "\r?\n") or {}
  for _, hunk in ipairs(change.hunks) do
    shown[#shown + 1] = ("@@ line %d: +%d -%d @@"):format(math.max(hunk.line, 1), hunk.count, hunk.removed)
    local last = hunk.line + math.min(hunk.count, MAX_HUNK_LINES) - 1
    for line = math.max(hunk.line - CONTEXT_LINES, 1), math.min(last + CONTEXT_LINES, #lines) do
      local is_new = hunk.count > 0 and line >= hunk.line and line <= last
      shown[#shown + 1] = (is_new and "+" or " ") .. lines[line]:gsub("\n", " ")
    end
  end
  return shown
end

--- Lists the unreviewed changes.
---@return gemini_bridge.PickItem[]?, string?
local function changed_files()
  local all = require("gemini-bridge.changes.changes").all()
  if #all == 0 then
    return nil, "No unreviewed changes."
  end
  return vim.tbl_map(function(change)
    local counts = ("+%d -%d"):format(change.added, change.removed)
    local words = { path.display(change.path), counts, author(change.cli, change.prompt) }
    return {
      text = table.concat(words, "  "),
      path = change.path,
      line = math.max(change.hunks[1] and change.hunks[1].line or 1, 1),
      preview = function()
        return hunks_of(change)
      end,
      choose = function()
        require("gemini-bridge.changes.navigation").open(change.path)
      end,
    }
  end, all)
end

--- Lists the entries of the history.
---@return gemini_bridge.PickItem[]?, string?
local function past_entries()
  local entries = require("gemini-bridge.changes.history.entries").wait()
  local kind = require("gemini-bridge.changes.history.groups").kind
  if not entries then
    return nil, "The bridge is not running: run :GeminiStart."
  elseif #entries == 0 then
    return nil, "No proposals or changes in the open directories in the last 24 hours."
  end
  return vim.tbl_map(function(entry)
    local time = os.date("%H:%M:%S", entry.at)
    local name = path.display(entry.path)
    local words = { time, ("%-8s"):format(kind(entry)), name, author(entry.cli, entry.prompt) }
    return {
      text = table.concat(words, "  "),
      path = entry.path,
      preview = function()
        local title = ("%s, %s by %s at %s"):format(name, kind(entry), entry.cli, time)
        return { title, "", one_line(entry.prompt) }
      end,
      choose = function()
        require("gemini-bridge.changes.history.page").open(entry.id)
      end,
    }
  end, entries)
end

--- Lists the last prompts of the user.
---@return gemini_bridge.PickItem[]?, string?
local function past_prompts()
  local prompts = require("gemini-bridge.prompt.history").list()
  if #prompts == 0 then
    return nil, "There are no prompts yet."
  end
  return vim.tbl_map(function(prompt)
    return {
      text = ("%s  %s"):format(os.date("%d %b %H:%M", prompt.time), one_line(prompt.text)),
      preview = function()
        return vim.split(prompt.text, "\n")
      end,
      choose = function()
        require("gemini-bridge.prompt.composer").restore(prompt.text)
      end,
    }
  end, prompts)
end

---@type table<string, gemini_bridge.PickList>
M.lists = {
  changes = { title = "Gemini changes", syntax = "diff", items = changed_files },
  history = { title = "Gemini history", syntax = "markdown", items = past_entries },
  prompts = { title = "Gemini prompts", syntax = "markdown", items = past_prompts },
}

return M
