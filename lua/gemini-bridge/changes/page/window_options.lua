--- Sets the window options of a page, and resets them in windows that no longer belong to the page.
local window = require("gemini-bridge.editor.window")

local M = {}

--- Values that window options get when a window no longer belongs to a page of the plugin.
local ORDINARY = { winbar = "", diff = false, scrollbind = false, cursorbind = false }

--- Resets the window options that a page has set.
---@param win integer
function M.reset(win)
  if vim.api.nvim_win_is_valid(win) then
    vim.w[win].gemini_page = nil
    window.make_plain(win)
    window.set(win, ORDINARY)
    window.set(win, { wrap = vim.go.wrap, foldenable = vim.go.foldenable, foldmethod = vim.go.foldmethod })
  end
end

---@param win integer
function M.set_tree(win)
  window.make_plain(win)
  window.set(win, {
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    statuscolumn = "",
    wrap = false,
    list = false,
    spell = false,
    cursorline = true,
    winfixwidth = true,
  })
end

--- Returns true if a window has inherited the options of the page's right window.
---@param win integer
---@param right integer
---@return boolean
function M.is_copy(win, right)
  local options = vim.wo[win]
  return vim.api.nvim_win_is_valid(right) and options.cursorline and options.winbar == vim.wo[right].winbar
end

--- Resets window options the next time that a window shows this buffer, and when the right window shows this buffer
--- again. Otherwise, the options of the page would return, because Neovim stores window options for each buffer and
--- window. Resets nothing if the page itself shows the buffer.
---@param right integer
---@param buf integer
function M.reset_later(right, buf)
  local is_first = true
  vim.api.nvim_create_autocmd("BufWinEnter", {
    buffer = buf,
    callback = function()
      local win = vim.api.nvim_get_current_win()
      if (is_first or win == right) and not vim.w[win].gemini_page then
        M.reset(win)
      end
      is_first = false
      return win == right or not vim.api.nvim_win_is_valid(right)
    end,
  })
end

return M
