--- Shows the earlier text of the item at the right of the page: as virtual lines in the newer text, or in a second
--- window in diff mode beside or above the newer text.
local layout = require("gemini-bridge.changes.page.layout")
local notify = require("gemini-bridge.notify")
local old_lines = require("gemini-bridge.difference.old_lines")
local path = require("gemini-bridge.disk.path")
local side_by_side = require("gemini-bridge.difference.side_by_side")
local signs = require("gemini-bridge.changes.signs")
local text_buffer = require("gemini-bridge.difference.text_buffer")
local winbar_text = require("gemini-bridge.editor.winbar_text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Minimum width of a window for a side-by-side comparison. A narrower window gets the earlier text above.
local MIN_COLUMNS = 100

---@class gemini_bridge.Comparison
---@field right integer Window of the newer text.
---@field buf integer Buffer of the newer text.
---@field left? integer Window of the earlier text. nil until the host has sent the text.
---@field options? table<string, any> Window options before the comparison.
---@field show_lines? fun() Shows virtual lines in the newer text again.

local open ---@type gemini_bridge.Comparison?
--- Buffer that contains the highlights and the old lines of the page.
local marked ---@type integer?

---@param shown gemini_bridge.PageLayout
---@return boolean
function M.is_compared(shown)
  return open ~= nil and open.right == shown.right
end

--- Removes the highlights and old lines of the page.
function M.unmark()
  if marked and vim.api.nvim_buf_is_valid(marked) then
    old_lines.hide(marked)
  end
  marked = nil
end

--- Shows the highlights of changed lines and the old lines, or hides them during a comparison.
---@param shown gemini_bridge.Page
---@param item gemini_bridge.TreeItem The item at the right.
function M.mark(shown, item)
  local buf = shown.right_buf
  if marked ~= buf or M.is_compared(shown) then
    M.unmark()
  end
  -- If old lines are shown, `signs.place` has updated them.
  if M.is_compared(shown) or old_lines.are_shown(buf) or #signs.list(buf) == 0 then
    return
  end
  marked = buf
  shown.tab.earlier(item, function(lines)
    if lines and marked == buf and vim.api.nvim_buf_is_loaded(buf) then
      old_lines.show(buf, signs.list(buf), lines)
    end
  end)
end

--- Shows the newer text as before the comparison.
---@param shown gemini_bridge.Comparison
local function reset(shown)
  shown.show_lines()
  if vim.api.nvim_win_is_valid(shown.right) then
    window.set(shown.right, shown.options)
    if shown.options.foldmethod == "manual" and vim.api.nvim_win_get_buf(shown.right) == shown.buf then
      vim.api.nvim_win_call(shown.right, function()
        vim.cmd("normal! zE") -- the folds of the comparison have become manual folds
      end)
    end
  end
end

--- Closes the comparison with the text in a window, if any.
---@param right integer
function M.close(right)
  local shown = open
  if not shown or shown.right ~= right then
    return
  end
  open = nil
  if shown.left then
    reset(shown)
    if vim.api.nvim_win_is_valid(shown.left) then
      window.close(shown.left)
    end
  end
end

--- Opens the window of the earlier text.
---@param asked gemini_bridge.Comparison
---@param name string Path of the file.
---@param lines string[] The earlier text.
local function compare(asked, name, lines)
  local right = asked.right
  local buf = text_buffer("gemini-changes://before/" .. path.display(name), lines, name)
  if not side_by_side.is_possible(buf, asked.buf) then
    window.delete_buffer(buf)
    open = nil
    return notify("Lines of more than 1 MB cannot be compared side by side.", "warn")
  end
  local is_wide = vim.api.nvim_win_get_width(right) >= MIN_COLUMNS
  local left = window.open(buf, { split = is_wide and "left" or "above", win = right })
  window.make_plain(left)
  old_lines.hide(asked.buf) -- the host may have sent old lines after the request for the earlier text
  -- Shows a winbar in both windows, so that corresponding lines have the same height.
  winbar_text.show(left, { path.part(name), { text = " · before", rank = 1 } })
  side_by_side.start(left, true)
  asked.left = left
  asked.options = side_by_side.options(right, true)
  asked.show_lines = side_by_side.hide_virtual_lines(asked.buf)
  side_by_side.start(right, true)
  side_by_side.align(left, right)
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      -- Does not close the window, because the window is closing already.
      if open == asked then
        open = nil
        reset(asked)
      end
    end,
  })
end

--- Shows or hides the earlier text beside the newer text, or tells the user why the earlier text is unknown.
---@param shown gemini_bridge.Page
---@param item? gemini_bridge.TreeItem The item at the right.
function M.toggle(shown, item)
  if not item or not layout.shows_own(shown) then
    return notify("There is no earlier text to compare with.", "warn")
  elseif M.is_compared(shown) then
    M.close(shown.right)
    return M.mark(shown, item)
  end
  local asked = { right = shown.right, buf = shown.right_buf }
  open = asked
  M.mark(shown, item)
  shown.tab.earlier(item, function(lines, problem)
    if open ~= asked or not vim.api.nvim_win_is_valid(asked.right) then
      return
    elseif lines and not problem then
      return compare(asked, item.path, lines)
    end
    open = nil
    local text = "%s cannot be compared with its earlier text: %s"
    notify(text:format(vim.fs.basename(item.path), problem), "warn")
    M.mark(shown, item)
  end)
end

return M
