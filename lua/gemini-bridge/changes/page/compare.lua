--- Compares the earlier text of a file with the newer text: opens a window in diff mode beside or above the newer text.
local notify = require("gemini-bridge.notify")
local old_lines = require("gemini-bridge.difference.old_lines")
local path = require("gemini-bridge.disk.path")
local request = require("gemini-bridge.bridge.request")
local side_by_side = require("gemini-bridge.difference.side_by_side")
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

---@param right integer Window of the newer text.
---@return boolean
function M.is_open(right)
  return open ~= nil and open.right == right
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
  reset(shown)
  if vim.api.nvim_win_is_valid(shown.left) then
    window.close(shown.left)
  end
end

--- Opens the window of the earlier text.
---@param right integer Window of the newer text.
---@param name string Path of the file.
---@param lines string[] The earlier text.
function M.show(right, name, lines)
  M.close()
  local is_wide = vim.api.nvim_win_get_width(right) >= MIN_COLUMNS
  local buf = text_buffer("gemini-changes://before/" .. path.display(name), lines, name)
  local shown_buf = vim.api.nvim_win_get_buf(right)
  if not side_by_side.is_possible(buf, shown_buf) then
    window.delete_buffer(buf)
    return notify("Lines of more than 1 MB cannot be compared side by side.", "warn")
  end
  local left = window.open(buf, { split = is_wide and "left" or "above", win = right })
  window.make_plain(left)
  old_lines.hide(shown_buf) -- the host may have sent old lines after the request for the earlier text
  -- Shows a winbar in both windows, so that corresponding lines have the same height.
  winbar_text.show(left, { path.part(name), { text = " · before", rank = 1 } })
  side_by_side.start(left, true)
  open = {
    right = right,
    buf = shown_buf,
    left = left,
    options = side_by_side.options(right, true),
    show_lines = side_by_side.hide_virtual_lines(shown_buf),
  }
  side_by_side.start(right, true)
  side_by_side.align(left, right)
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      -- Does not close the window, because the window is closing already.
      local shown = open
      if shown and shown.left == left then
        open = nil
        reset(shown)
      end
    end,
  })
end

--- Shows the text before the first undecided change, or tells the user why this text is unknown.
---@param right integer Window of the file.
---@param name string Path of the file.
function M.ask(right, name)
  M.close()
  local asked = { right = right, buf = vim.api.nvim_win_get_buf(right) }
  open = asked
  request.send("earlier_text", { path = name }, function(found, problem)
    problem = problem or found.problem
    if open ~= asked or not vim.api.nvim_win_is_valid(right) then
      return
    elseif not problem then
      return M.show(right, name, found.lines)
    end
    open = nil
    local text = "%s cannot be compared with its earlier text: %s"
    notify(text:format(vim.fs.basename(name), problem), "warn")
  end)
end

return M
