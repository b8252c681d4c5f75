--- Defines the keys that both tabs of the page have, and maps the keys of a tab: in the tree, and in the window of the
--- text while it has the focus.
local earlier_text = require("gemini-bridge.changes.page.earlier_text")
local focus = require("gemini-bridge.editor.focus_and_mode")
local go_to = require("gemini-bridge.changes.page.go_to")
local held_keys = require("gemini-bridge.editor.held_keys")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")
local key_actions = require("gemini-bridge.editor.key_actions")
local layout = require("gemini-bridge.changes.page.layout")
local notify = require("gemini-bridge.notify")
local page = require("gemini-bridge.changes.page.page")
local tree_view = require("gemini-bridge.changes.page.tree_view")

local M = {}

--- Tells the user that navigation has found nothing.
---@param shown gemini_bridge.Page
local function tell_end(shown)
  notify(go_to.closed_group(shown) and shown.tab.closed_left or shown.tab.nothing_left)
end

---@param shown gemini_bridge.Page
---@param direction 1|-1
local function step(shown, direction)
  for _ = 1, vim.v.count1 do
    if not go_to.hunk(shown, direction) then
      return tell_end(shown)
    end
  end
end

---@param shown gemini_bridge.Page
---@param direction 1|-1
local function step_item(shown, direction)
  if not go_to.item(shown, direction) then
    tell_end(shown)
  end
end

--- Shows the item under the cursor of the tree, or goes to its text. Opens or closes a folder.
---@param shown gemini_bridge.Page
local function open_node(shown)
  local node = tree_view.nodes_at(shown)[1]
  if not node or not tree_view.has_focus(shown) then
    return
  elseif not node.item then
    shown.is_open[node.key] = not node.is_open
    page.draw(shown)
  elseif shown.tab.enter and shown.tab.enter(shown, node.item) then
    return
  elseif shown.current ~= node.item.id or not layout.shows_own(shown) then
    page.show(shown, node)
  else
    focus.go(shown.right)
  end
end

---@param shown gemini_bridge.Page
local function toggle_compare(shown)
  earlier_text.toggle(shown, page.item(shown))
end

---@type gemini_bridge.KeyAction[]
local FIRST = {
  { "open", open_node, "Show the text, open or close the folder", tree = "<CR>" },
  { "next", step, "Next hunk, in any file", with = 1, tree = "<Tab>" },
  { "prev", step, "Previous hunk", with = -1, tree = "<S-Tab>" },
  { "next-file", step_item, "Next file", with = 1, key = "]f" },
  { "prev-file", step_item, "Previous file", with = -1, key = "[f" },
  { "compare", toggle_compare, "Show or hide the earlier text", key = "<LocalLeader>d", tree = "d" },
}
---@type gemini_bridge.KeyAction[]
local LAST = {
  { "switch", tree_view.switch, "Go to the text, or back to the tree", key = "<LocalLeader>t" },
  { "close", page.close, "Close the page", key = "q" },
}

--- Defines the <Plug> mappings of a tab.
---@param tab gemini_bridge.PageTab
---@param actions gemini_bridge.KeyAction[] Further actions.
---@param legend [string, string][] Rows below the list of keys.
---@return gemini_bridge.Keymap
function M.define(tab, actions, legend)
  local all = vim.iter({ FIRST, actions, LAST }):flatten():totable()
  return key_actions.define("gemini-" .. tab.name, all, function()
    return legend
  end, function()
    local shown = page.get(tab)
    local node = shown and shown.by_id[shown.current]
    -- Shows the text again after the user has closed its window.
    if shown and node and not layout.shows_own(shown) then
      page.show(shown, node)
    end
    return shown
  end)
end

--- Maps keys in the text window of a page while the window has the focus.
---@param keymap gemini_bridge.Keymap
---@param shown gemini_bridge.Page
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
  vim.api.nvim_create_autocmd({ "WinEnter", "BufEnter" }, { group = shown.tab_group, callback = enter })
  vim.api.nvim_create_autocmd({ "WinLeave", "BufLeave" }, { group = shown.tab_group, callback = leave })
  return leave
end

--- Maps the keys of a tab. Lets `:GeminiKeep` and `:GeminiUndo` find the user's choice on the page.
---@param keymap gemini_bridge.Keymap
---@param shown gemini_bridge.Page
---@param choice gemini_bridge.PageChoice
---@return fun() stop
function M.attach(keymap, shown, choice)
  local release_tree = held_keys.hold(shown.buf, key_actions.keys(keymap, true))
  keep_and_undo.set_page(shown.tab_page, choice)
  local stop = follow_focus(keymap, shown)
  return function()
    stop()
    release_tree()
    keep_and_undo.set_page(shown.tab_page, nil)
  end
end

return M
