--- Shows an entry of the history as a diff in its own tab page.
local winbar_text = require("gemini-bridge.editor.winbar_text")
local channel = require("gemini-bridge.bridge.channel")
local config = require("gemini-bridge.config")
local key_list = require("gemini-bridge.editor.key_list")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local window = require("gemini-bridge.editor.window")

local M = {}

---@alias gemini_bridge.Side "before"|"after"

--- Whether the entry was written to the file. Other proposals cannot be undone.
---@param entry gemini_bridge.HistoryEntry
local function was_written(entry)
  return entry.kind ~= "proposed" and entry.kind ~= "rejected"
end

--- Returns the window that already shows an entry.
---@param entry gemini_bridge.HistoryEntry
---@return integer?
local function find_window(entry)
  return vim.iter(vim.api.nvim_list_wins()):find(function(win)
    local shown = vim.b[vim.api.nvim_win_get_buf(win)].gemini_history
    return shown and shown.id == entry.id
  end)
end

--- Names a buffer after the file, the side and the time.
---@param buf integer
---@param entry gemini_bridge.HistoryEntry
---@param side gemini_bridge.Side
local function set_name(buf, entry, side)
  local file, time = path.display(entry.path), os.date("%H:%M:%S", entry.at)
  local name = ("gemini-history://%s %s %s"):format(file, side, time)
  if not pcall(window.set_name, buf, name) then
    -- Another entry of the same second has this name.
    window.set_name(buf, ("%s (%d)"):format(name, buf))
  end
end

---@param entry gemini_bridge.HistoryEntry
---@param side gemini_bridge.Side
---@param lines string[]
---@return integer buf
local function text_buffer(entry, side, lines)
  local buf = window.create_buffer(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  set_name(buf, entry, side)
  vim.bo[buf].modeline = false
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = "wipe"
  vim.b[buf].gemini_history = { id = entry.id, path = entry.path, kind = entry.kind }
  return buf
end

---@param entry gemini_bridge.HistoryEntry
---@param side gemini_bridge.Side
---@return gemini_bridge.BarPart[]
local function bar_parts(entry, side)
  if side == "before" then
    return { path.part(entry.path), { text = " · before", rank = 2 } }
  end
  local help_key = config.get().diff.keys.help
  return {
    path.part(entry.path),
    { text = " · " .. entry.kind, rank = 5 },
    { text = (" by %s at %s"):format(entry.cli, os.date("%H:%M:%S", entry.at)), rank = 2 },
    { text = was_written(entry) and " · :GeminiUndo undoes it" or "", rank = 3 },
    { text = " · q closes", rank = 4 },
    { text = help_key and (", %s keys"):format(key_list.name(help_key)) or "", rank = 1 },
  }
end

--- Shows winbars above the windows of an entry while its buffers exist.
---@param entry gemini_bridge.HistoryEntry
---@param buffers table<gemini_bridge.Side, integer>
local function show_bars(entry, buffers)
  if not config.get().diff.winbar then
    return
  end
  local function update()
    for side, buf in pairs(buffers) do
      for _, win in ipairs(vim.fn.win_findbuf(buf)) do
        local text = winbar_text.fit(bar_parts(entry, side), vim.api.nvim_win_get_width(win))
        -- A window with a single line has no room for a winbar.
        pcall(window.set, win, { winbar = text })
      end
    end
  end
  local group = vim.api.nvim_create_augroup("gemini-bridge.history." .. entry.id, {})
  vim.api.nvim_create_autocmd("WinResized", { group = group, callback = update })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = buffers.after,
    callback = function()
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end,
  })
  update()
end

---@param tab integer
---@param origin integer Tab page that had the focus before.
local function close(tab, origin)
  if not vim.api.nvim_tabpage_is_valid(tab) then
    return
  elseif #vim.api.nvim_list_tabpages() == 1 then
    return notify("This is the only tab page: open a file here, or :qall.", "warn")
  end
  vim.cmd.tabclose(vim.api.nvim_tabpage_get_number(tab))
  if vim.api.nvim_tabpage_is_valid(origin) then
    vim.api.nvim_set_current_tabpage(origin)
  end
end

---@param entry gemini_bridge.HistoryEntry
---@param buffers table<gemini_bridge.Side, integer>
---@param tab integer
---@param origin integer Tab page that had the focus before.
local function map_keys(entry, buffers, tab, origin)
  local help_key = config.get().diff.keys.help
  local rows = { { "]c, [c", "Next and previous hunk" }, { "q", "Close" } }
  if was_written(entry) then
    table.insert(rows, 1, { ":GeminiUndo", "Undo this change" })
  end
  if help_key then
    rows[#rows + 1] = { key_list.name(help_key), "Show these keys" }
  end
  for _, buf in pairs(buffers) do
    vim.keymap.set("n", "q", function()
      close(tab, origin)
    end, { buffer = buf, desc = "Close" })
    if help_key then
      vim.keymap.set("n", help_key, function()
        key_list.show(rows)
      end, { buffer = buf, desc = "Show these keys" })
    end
  end
end

--- Shows an entry, or moves the focus to the window that shows it.
---@param entry gemini_bridge.HistoryEntry
---@param before string[]
---@param after string[]
function M.open(entry, before, after)
  local existing = find_window(entry)
  if existing then
    return vim.api.nvim_set_current_win(existing)
  end
  local origin = vim.api.nvim_get_current_tabpage()
  local buffers = {
    before = text_buffer(entry, "before", before),
    after = text_buffer(entry, "after", after),
  }
  local tab, right = window.open_tab(buffers.after)
  local left = window.open(buffers.before, { split = "left", win = right })
  for _, win in ipairs({ left, right }) do
    window.make_plain(win)
    window.set(win, { diff = true, scrollbind = true, cursorbind = true, foldmethod = "diff", wrap = false })
  end
  local file_type = vim.filetype.match({ filename = entry.path }) or ""
  for _, buf in pairs(buffers) do
    vim.bo[buf].syntax = file_type
  end
  show_bars(entry, buffers)
  map_keys(entry, buffers, tab, origin)
  vim.api.nvim_set_current_tabpage(tab)
  vim.api.nvim_set_current_win(right)
end

--- Undoes the entry that the current buffer shows.
---@return boolean done False if the buffer shows no entry.
function M.take_back()
  local entry = vim.b.gemini_history
  if not entry then
    return false
  elseif not was_written(entry) then
    notify("This proposal was not written: there is nothing to undo", "warn")
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
