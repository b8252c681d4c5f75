--- `:GeminiHistory`: what was proposed and written, to be looked at and taken back.
local channel = require("gemini-bridge.bridge.channel")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local window = require("gemini-bridge.editor.window")

local M = {}

---@class gemini_bridge.HistoryEntry
---@field id string
---@field at integer Unix seconds.
---@field cli string
---@field prompt string
---@field path string
---@field kind "proposed"|"accepted"|"edited"|"rejected"|"written"

--- Asks for the list.
function M.open()
  if not channel.is_open() then
    return notify("The bridge does not run: :GeminiStart", "warn")
  end
  channel.notify(
    "history_asked",
    { directories = require("gemini-bridge.context.workspace").get().directories }
  )
end

---@param entry gemini_bridge.HistoryEntry
---@return string
local function line(entry)
  local by = entry.prompt ~= "" and ("%s: %s"):format(entry.cli, entry.prompt) or entry.cli
  return ("%s  %-8s  %s  %s"):format(
    os.date("%H:%M:%S", entry.at),
    entry.kind,
    path.display(entry.path),
    vim.fn.strtrans(by)
  )
end

--- The host's answer: the user chooses. Not in the host's call, which waits for its end.
---@param params { entries: gemini_bridge.HistoryEntry[] }
function M.choose(params)
  if #params.entries == 0 then
    return notify("No CLI has proposed or written anything here since yesterday")
  end
  vim.schedule(function()
    vim.ui.select(params.entries, { prompt = "What CLIs did", format_item = line }, function(entry)
      if entry then
        channel.notify("history_opened", { id = entry.id })
      end
    end)
  end)
end

---@param entry gemini_bridge.HistoryEntry
---@param side "before"|"after"
---@param lines string[]
---@return integer buf
local function text_buffer(entry, side, lines)
  local name = ("gemini-history://%s/%s/%s"):format(entry.id, side, entry.path:gsub("^/", ""))
  local existing = vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
    return vim.api.nvim_buf_get_name(buf) == name
  end)
  if existing then
    return existing
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.api.nvim_buf_set_name(buf, name)
  vim.bo[buf].modeline = false
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = "wipe"
  vim.b[buf].gemini_history = { id = entry.id, path = entry.path, kind = entry.kind }
  return buf
end

--- Shows an entry as a diff in a tab page of its own.
---@param params { entry: gemini_bridge.HistoryEntry, before: string[], after: string[] }
function M.show(params)
  vim.schedule(function()
    local entry = params.entry
    local before = text_buffer(entry, "before", params.before)
    local after = text_buffer(entry, "after", params.after)
    local tab, right = window.open_tab(after)
    local left = window.open(before, { split = "left", win = right })
    for _, win in ipairs({ left, right }) do
      window.make_plain(win)
      window.set(
        win,
        { diff = true, scrollbind = true, cursorbind = true, foldmethod = "diff", wrap = false }
      )
    end
    local file_type = vim.filetype.match({ filename = entry.path }) or ""
    for _, buf in ipairs({ before, after }) do
      vim.bo[buf].syntax = file_type
    end
    vim.api.nvim_set_current_tabpage(tab)
    vim.api.nvim_set_current_win(right)
  end)
end

--- Takes the entry back that the current buffer shows.
---@return boolean done False in any other buffer.
function M.take_back()
  local entry = vim.b.gemini_history
  if not entry then
    return false
  elseif entry.kind == "proposed" or entry.kind == "rejected" then
    notify("This was not written: there is nothing to take back", "warn")
    return true
  end
  local buf = path.buffer(entry.path)
  if buf and vim.bo[buf].modified then
    notify(
      ("%s has unsaved changes: save or discard them first"):format(path.display(entry.path, 40)),
      "warn"
    )
  else
    channel.notify("history_taken_back", { id = entry.id })
  end
  return true
end

return M
