--- Shows the file of the review page beside its text from before the first undecided change.
local channel = require("gemini-bridge.bridge.channel")
local config = require("gemini-bridge.config")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local winbar_text = require("gemini-bridge.editor.winbar_text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Minimum width of the file's window for two columns. Below it, the earlier text is shown above the file.
local MIN_COLUMNS = 100

---@type { path: string, right: integer, left?: integer }?
local open

---@return boolean
function M.is_open()
  return open ~= nil
end

--- Closes the comparison.
function M.close()
  local shown = open
  open = nil
  if not shown or not shown.left then
    return
  end
  if vim.api.nvim_win_is_valid(shown.right) then
    vim.api.nvim_win_call(shown.right, vim.cmd.diffoff)
  end
  if vim.api.nvim_win_is_valid(shown.left) then
    window.close(shown.left)
  end
end

--- Asks the host for the earlier text.
---@param right integer The file's window.
---@param name string
---@return boolean asked
function M.open(right, name)
  open = { path = name, right = right }
  return channel.notify("change_before_asked", { path = name })
end

---@param name string
---@param lines string[]
---@return integer buf
local function create(name, lines)
  local buf = window.create_buffer(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  pcall(window.set_name, buf, ("gemini-changes://before/%s"):format(path.display(name)))
  local options = vim.bo[buf]
  options.modeline, options.modifiable, options.bufhidden = false, false, "wipe"
  options.syntax = vim.filetype.match({ filename = name }) or ""
  return buf
end

--- Handles the host's answer with the earlier text.
---@param params gemini_bridge.calls.change_before
function M.answered(params)
  local shown = open
  if not shown or shown.path ~= params.path or shown.left or not vim.api.nvim_win_is_valid(shown.right) then
    return
  end
  if params.problem then
    open = nil
    return notify(("The earlier text is not known: %s"):format(params.problem), "warn")
  end
  local is_wide = vim.api.nvim_win_get_width(shown.right) >= MIN_COLUMNS
  local buf = create(params.path, params.lines)
  shown.left = window.open(buf, { split = is_wide and "left" or "above", win = shown.right })
  window.make_plain(shown.left)
  if config.get().diff.winbar then
    -- Without a winbar, the lines of the two windows would not be side by side.
    local parts = { path.part(params.path), { text = " · before", rank = 1 } }
    pcall(window.set, shown.left, { winbar = winbar_text.fit(parts, vim.api.nvim_win_get_width(shown.left)) })
  end
  for _, win in ipairs({ shown.left, shown.right }) do
    vim.api.nvim_win_call(win, vim.cmd.diffthis)
  end
  vim.api.nvim_create_autocmd("BufWipeout", { buffer = buf, once = true, callback = M.close })
end

return M
