--- Lists changed files, moves the cursor between changes, and shows old lines.
local changes = require("gemini-bridge.changes.changes")
local clis = require("gemini-bridge.config.clis")
local config = require("gemini-bridge.config")
local deleted = require("gemini-bridge.changes.deleted")
local go_to_line = require("gemini-bridge.difference.go_to_line")
local group_by_turn = require("gemini-bridge.changes.group_by_turn")
local hunks = require("gemini-bridge.difference.hunks")
local link = require("gemini-bridge.extension.link")
local notify = require("gemini-bridge.notify")
local old_lines = require("gemini-bridge.difference.old_lines")
local reviews = require("gemini-bridge.review.requests")
local scheduler = require("gemini-bridge.editor.scheduler")
local signs = require("gemini-bridge.changes.signs")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Delay between a change and the update of the quickfix list. A decision may change thousands of files.
local REFILL_DELAY_MS = 50

--- Id of the newest quickfix list of changes.
local list_id ---@type integer?

---@param hunk gemini_bridge.ChangeHunk
---@return gemini_bridge.ChangedRange
local function range_of(hunk)
  local first, last = hunks.range(hunk)
  return { first = first, last = last, conflict = hunk.conflict }
end

--- Returns the changed files for scripts.
---@return gemini_bridge.ChangedFile[]
function M.list()
  return vim.tbl_map(function(change)
    return {
      path = change.path,
      status = change.status,
      added = change.added,
      removed = change.removed,
      hunks = #change.hunks,
      ranges = vim.tbl_map(range_of, change.hunks),
      cli = change.cli,
    }
  end, changes.all())
end

--- Returns a quickfix entry for each undecided hunk of a file, or one entry for a file without hunks. The entry
--- contains hunk id and path as user data.
---@param change gemini_bridge.Change
---@return vim.quickfix.entry[]
local function entries_of(change)
  local is_deleted = change.status == "deleted"
  local reason = change.fixed or change.together
  reason = reason and ", " .. reason or ""
  local by = change.prompt ~= "" and ("%s: %s"):format(change.cli, change.prompt) or change.cli
  ---@param range gemini_bridge.ChangedRange
  ---@param id integer
  ---@param words string
  local function entry(range, id, words)
    return {
      filename = not is_deleted and change.path or nil,
      bufnr = is_deleted and deleted.buffer(change) or nil,
      lnum = range.first,
      end_lnum = range.last,
      text = ("%s%s%s | %s"):format(change.status, words, reason, vim.fn.strtrans(by)),
      user_data = ("%d %s"):format(id, change.path),
      valid = 1,
    }
  end
  if #change.hunks == 0 then
    return { entry({ first = 1, last = 1, conflict = false }, 0, "") }
  end
  return vim.tbl_map(function(hunk)
    local conflict = hunk.conflict and ", conflict" or ""
    return entry(range_of(hunk), hunk.id, (", +%d -%d%s"):format(hunk.count, hunk.removed, conflict))
  end, change.hunks)
end

--- Returns the connected CLIs whose hooks have not reported anything, each with the reason.
---@return string[]
local function untracked()
  return vim
    .iter(status.get().clients)
    :filter(function(client)
      return not client.hooks
    end)
    :map(function(client)
      local cli = clis.get(client.cli)
      return cli and ("%s (%s)"):format(status.name(client), (link.missing_hooks(cli)))
    end)
    :totable()
end

--- Returns a message that says why no changes are listed. Changes are tracked only for CLIs that send hooks.
---@return string
local function nothing_listed()
  local now, others = status.get(), untracked()
  if now.state ~= "running" then
    return "No unreviewed changes. The bridge is stopped: run :GeminiStart to track changes."
  end
  local text = now.hooks and "No unreviewed changes."
    or "No changes are listed, because no CLI has reported its edits to Neovim yet."
  if #others > 0 then
    return ("%s Changes by these CLIs are not listed: %s"):format(text, table.concat(others, "; "))
  end
  local cli = not now.hooks and clis.get(config.get().terminal.cli)
  local is_missing = cli and link.is_possible(cli) and link.state(cli) ~= "installed"
  return is_missing and text .. " Run :GeminiExtension install, then start the CLI." or text
end

--- Opens the review page or moves the focus to the page. Without changes and without a decision to revert, tells the
--- user why the list is empty.
---@param name? string Path of a file to go to.
function M.open(name)
  local is_empty = #changes.all() == 0 and #reviews.list() == 0
  local incomplete = changes.incomplete()
  vim.iter(incomplete):each(function(sentence)
    notify(sentence, "warn")
  end)
  if not is_empty or changes.has_decided() or require("gemini-bridge.changes.page.changes_tab").is_open() then
    require("gemini-bridge.notes.notes").load()
    require("gemini-bridge.changes.page.changes_tab").open(name)
  elseif #incomplete == 0 then
    notify(nothing_listed())
  end
end

--- Returns the quickfix entries of all undecided hunks, and the reasons why changes may be missing.
---@return vim.quickfix.entry[]
local function all_entries()
  local items = {}
  for _, turn in ipairs(group_by_turn(changes.all())) do
    vim.list_extend(items, vim.iter(turn.items):map(entries_of):flatten():totable())
  end
  for _, sentence in ipairs(changes.incomplete()) do
    items[#items + 1] = { text = sentence, valid = 0 }
  end
  return items
end

--- Opens a quickfix list of all undecided hunks.
function M.open_quickfix()
  local items = all_entries()
  if #items == 0 then
    return notify(nothing_listed())
  end
  vim.fn.setqflist({}, " ", { title = "Gemini changes", items = items })
  list_id = vim.fn.getqflist({ id = 0 }).id
  vim.cmd("botright copen")
end

--- Fills the quickfix list again after changes. Keeps the current entry. If the user has decided on its hunk, the next
--- entry becomes current.
local refill_quickfix = scheduler.coalesce(function()
  local list = vim.fn.getqflist({ id = list_id, items = 0, idx = 0 })
  if list.id == 0 then
    return -- Neovim keeps only the last ten lists
  end
  local earlier, items, idx = {}, all_entries(), 1
  for position = 1, list.idx - 1 do
    earlier[tostring(list.items[position].user_data)] = true
  end
  for position, item in ipairs(items) do
    idx = earlier[tostring(item.user_data)] and math.min(position + 1, #items) or idx
  end
  vim.fn.setqflist({}, "r", { id = list.id, items = items, idx = idx })
end, REFILL_DELAY_MS)

changes.listen(function(name)
  if name and list_id then
    refill_quickfix()
  end
end)

--- Goes to the next or previous hunk of the current buffer. Wraps around.
---@param direction 1|-1
function M.jump(direction)
  local buf, line = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
  local list = signs.list(buf)
  local found = hunks.next(list, line, direction)
    or hunks.next(list, direction == 1 and 0 or math.huge, direction)
  if not found then
    return notify("No unreviewed changes in this file.")
  end
  vim.cmd("normal! m'")
  go_to_line(0, found.first)
end

--- Shows or hides the old lines of the current buffer.
function M.toggle_old()
  local buf = vim.api.nvim_get_current_buf()
  local change = changes.of_buffer(buf)
  if not old_lines.hide(buf) and change then
    signs.show_old(buf, change.path)
  end
end

return M
