--- Maps keys on the review page and the history page: in the tree, and in the window of the text while it has the
--- focus.
local held_keys = require("gemini-bridge.editor.held_keys")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")
local key_actions = require("gemini-bridge.editor.key_actions")
local layout = require("gemini-bridge.changes.page.layout")

local M = {}

--- Maps keys in the text window of a page while the window has the focus.
---@param keymap gemini_bridge.Keymap
---@param shown gemini_bridge.PageLayout
---@return fun() stop
local function follow_focus(keymap, shown)
  local release ---@type fun()?
  local function leave()
    if release then
      release()
      release = nil
    end
  end
  local function enter()
    leave()
    if vim.api.nvim_get_current_win() == shown.right and layout.shows_own(shown) then
      release = held_keys.hold(vim.api.nvim_get_current_buf(), key_actions.keys(keymap))
    end
  end
  vim.api.nvim_create_autocmd({ "WinEnter", "BufEnter" }, { group = shown.group, callback = enter })
  vim.api.nvim_create_autocmd({ "WinLeave", "BufLeave" }, { group = shown.group, callback = leave })
  return leave
end

--- Maps the keys of an open page. Lets `:GeminiKeep` and `:GeminiUndo` find the user's choice on the page.
---@param keymap gemini_bridge.Keymap
---@param shown gemini_bridge.PageLayout
---@param choice gemini_bridge.PageChoice
---@return fun() stop
function M.attach(keymap, shown, choice)
  local release_tree = held_keys.hold(shown.buf, key_actions.keys(keymap, true))
  keep_and_undo.set_page(shown.tab, choice)
  local stop = follow_focus(keymap, shown)
  return function()
    stop()
    release_tree()
    keep_and_undo.set_page(shown.tab, nil)
  end
end

return M
