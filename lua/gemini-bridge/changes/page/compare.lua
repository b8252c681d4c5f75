--- Compares the earlier text of a file with the newer text: opens a window in diff mode beside or above the newer text.
local channel = require("gemini-bridge.bridge.channel")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local signs = require("gemini-bridge.changes.signs")
local virtual_lines = require("gemini-bridge.editor.virtual_lines")
local winbar_text = require("gemini-bridge.editor.winbar_text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Minimum width of a window for a side-by-side comparison. A narrower window gets the earlier text above.
local MIN_COLUMNS = 100

--- Window options of a comparison. Set directly instead of by |:diffthis|, which would also change the global option
--- 'scrollopt'.
local COMPARED = {
  diff = true,
  scrollbind = true,
  cursorbind = true,
  wrap = false,
  foldmethod = "diff",
  foldenable = true,
  foldlevel = 0,
  foldcolumn = "2",
}

---@class gemini_bridge.Comparison
---@field path string
---@field right integer
---@field buf? integer
---@field left? integer
---@field options? table<string, any> Window options before the comparison.
---@field show_lines? fun() Shows virtual lines in the newer text again.

local open ---@type gemini_bridge.Comparison?

---@param right integer Window of the newer text.
---@return boolean
function M.is_open(right)
  return open ~= nil and open.right == right
end

--- Closes the comparison.
---@param right? integer Window of the newer text. Default: any window.
function M.close(right)
  local shown = open
  if right and not M.is_open(right) then
    return
  end
  open = nil
  if not shown or not shown.left then
    return
  end
  shown.show_lines()
  if vim.api.nvim_win_is_valid(shown.right) then
    window.set(shown.right, shown.options)
    if shown.options.foldmethod == "manual" and vim.api.nvim_win_get_buf(shown.right) == shown.buf then
      vim.api.nvim_win_call(shown.right, function()
        vim.cmd("normal! zE") -- the folds of the comparison have become manual folds
      end)
    end
  end
  if vim.api.nvim_win_is_valid(shown.left) then
    window.close(shown.left)
  end
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

--- Scrolls the window of the earlier text to the lines that correspond to the visible newer lines. Neovim itself would
--- align both windows only at the next scroll.
---@param left integer
---@param right integer
---@param lines string[] The earlier text.
local function align(left, right, lines)
  local to_left =
    signs.line_map(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(right), 0, -1, true), lines)
  local view = window.view(right)
  local function earlier(line)
    return math.max(math.min(to_left(line), #lines), 1)
  end
  window.set_view(left, { topline = earlier(view.topline), lnum = earlier(view.lnum), col = 0 })
end

--- Opens the window of the earlier text.
---@param right integer Window of the newer text.
---@param name string Path of the file.
---@param lines string[] The earlier text.
function M.show(right, name, lines)
  M.close()
  local is_wide = vim.api.nvim_win_get_width(right) >= MIN_COLUMNS
  local buf = create(name, lines)
  local left = window.open(buf, { split = is_wide and "left" or "above", win = right })
  local shown_buf, options = vim.api.nvim_win_get_buf(right), window.options(right, COMPARED)
  open = { path = name, right = right, buf = shown_buf, left = left, options = options }
  open.show_lines = virtual_lines.hide(shown_buf)
  window.make_plain(left)
  signs.hide_old(shown_buf) -- the host may have sent old lines after the request for the earlier text
  -- Shows a winbar in both windows, so that corresponding lines have the same height.
  winbar_text.show(left, { path.part(name), { text = " · before", rank = 1 } })
  window.set(left, COMPARED)
  window.set(right, COMPARED)
  align(left, right, lines)
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      M.close()
    end,
  })
end

--- Requests the text before the first undecided change from the Node host. `M.answered` shows the comparison.
---@param right integer Window of the file.
---@param name string Path of the file.
function M.ask(right, name)
  M.close()
  open = { path = name, right = right }
  channel.notify("change_before_asked", { path = name })
end

--- Shows the current text beside the earlier text, or tells the user why the earlier text is unknown.
---@param params gemini_bridge.calls.change_before
function M.answered(params)
  local shown = open
  if not shown or shown.path ~= params.path or shown.left or not vim.api.nvim_win_is_valid(shown.right) then
    return
  elseif params.problem then
    open = nil
    return notify(
      ("%s cannot be compared with its earlier text: %s"):format(vim.fs.basename(params.path), params.problem),
      "warn"
    )
  end
  M.show(shown.right, params.path, params.lines)
end

return M
