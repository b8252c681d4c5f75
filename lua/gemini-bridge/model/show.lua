--- Shows files and quickfix lists to the user when the model asks, without moving the focus. Also reads the quickfix
--- list for the model.
local documents = require("gemini-bridge.model.documents")
local disk = require("gemini-bridge.disk.path")
local choose_window = require("gemini-bridge.review.window.choose_window")
local focus = require("gemini-bridge.editor.focus_and_mode")
local swapfile = require("gemini-bridge.disk.swapfile")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Value in the `context` of the model's quickfix list, to recognize the list.
local CONTEXT = "gemini-bridge"

--- Maximum number of quickfix entries to read for each requested entry. More than one may be needed, because entries
--- without a file are skipped.
local CHECKED_PER_ITEM = 3

--- Shows a buffer and returns its window. Never replaces the buffer of the current window.
---@param buf integer
---@return integer win
local function window_for(buf)
  local win = choose_window.borrow(vim.api.nvim_get_current_tabpage(), buf)
  if win then
    if vim.api.nvim_win_get_buf(win) ~= buf then
      window.show(win, buf)
    end
    return win
  end
  local base = choose_window.base(vim.api.nvim_get_current_tabpage())
  win = window.open(buf, { win = base.win, split = base.split })
  if not base.ordinary then
    window.make_plain(win)
  end
  return win
end

---@param params gemini_bridge.questions.open_file
---@param answer gemini_bridge.Answer
function M.open_file(params, answer)
  local buf = disk.buffer(params.path) or vim.fn.bufadd(params.path)
  if not vim.api.nvim_buf_is_loaded(buf) then
    swapfile.load_without(buf)
    swapfile.turn_on(buf)
  end
  vim.bo[buf].buflisted = true
  documents.hand_over(buf)
  local win = window_for(buf)
  local lines = vim.api.nvim_buf_line_count(buf)
  local is_users = win == vim.api.nvim_get_current_win()
  if params.line and not is_users then
    local line = math.min(params.line, lines)
    local top = line - math.floor(vim.api.nvim_win_get_height(win) / 2)
    window.set_view(win, { lnum = line, col = 0, topline = math.max(top, 1) })
  end
  answer({ lines = lines, isUsers = is_users })
end

---@param params { limit: integer }
---@param answer gemini_bridge.Answer
function M.quickfix(params, answer)
  local list = vim.fn.getqflist({ title = true, size = true, id = 0 })
  local items = {}
  for i = 1, math.min(list.size, CHECKED_PER_ITEM * params.limit) do
    if #items == params.limit then
      break
    end
    -- Reads one entry at a time. To read all entries at once would copy the whole list, which may be very long.
    local entry = vim.fn.getqflist({ id = list.id, idx = i, items = true }).items[1]
    local path = entry.bufnr > 0 and vim.api.nvim_buf_get_name(entry.bufnr) or ""
    if entry.valid == 1 and path:sub(1, 1) == "/" and disk.is_utf8(path) then
      items[#items + 1] = { path = path, line = entry.lnum, text = entry.text }
    end
  end
  answer({ title = list.title, total = list.size, items = items })
end

---@param params gemini_bridge.questions.set_quickfix
---@param answer gemini_bridge.Answer
function M.set_quickfix(params, answer)
  local items = vim.tbl_map(function(item)
    return { filename = item.path, lnum = item.line, col = 1, text = item.text }
  end, params.items)
  -- Reuses the model's last list. Neovim keeps only ten lists, so a new list for each call would remove the user's
  -- own lists.
  local is_ours = vim.fn.getqflist({ nr = "$", context = true }).context == CONTEXT
  vim.fn.setqflist({}, is_ours and "r" or " ", {
    nr = "$", -- adds the list at the end, because Neovim would remove all later lists
    title = params.title,
    items = items,
    context = CONTEXT,
  })
  vim.cmd(("silent %dchistory"):format(vim.fn.getqflist({ nr = "$" }).nr))
  -- Many users open the quickfix window by an autocommand for this event, and `:cwindow` would take the focus.
  focus.stay(vim.api.nvim_exec_autocmds, "QuickFixCmdPost", { pattern = "gemini", modeline = false })
  answer({ total = #items })
end

return M
