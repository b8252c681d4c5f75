--- Maps keys on the review page and the history page. An action has a key for both windows of the page, from the option
--- `keys` or fixed, or a key for the tree only, or both.
local config = require("gemini-bridge.config")
local held_keys = require("gemini-bridge.editor.held_keys")
local key_list = require("gemini-bridge.editor.key_list")
local layout = require("gemini-bridge.changes.page.layout")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")

local M = {}

---@class gemini_bridge.PageAction
---@field [1] string Name of the <Plug> mapping, and of the action in the option `keys`.
---@field [2] fun(shown: any, with: any) Function that gets the page and the field `with`.
---@field [3] string Description.
---@field with? "keep"|"undo"|1|-1 Second argument of the function.
---@field key? string Fixed key. Default: the key in the option `keys`, if any.
---@field tree? string Key that works only in the tree.
---@field visual? boolean True if the keys also work in Visual mode.

---@class gemini_bridge.Keymap
---@field prefix string First part of the names of <Plug> mappings.
---@field actions gemini_bridge.PageAction[]

--- Returns key hints as a part of a winbar. Leaves out keys that the user has disabled.
---@param hints [string, string][] Pairs of a name in the option `keys` and the word to show.
---@param rank? integer Rank of the part, see |gemini_bridge.BarPart|. Default: 1.
---@return gemini_bridge.BarPart
function M.hints(hints, rank)
  local keys, words = config.get().keys, {}
  for _, hint in ipairs(hints) do
    local key = keys[hint[1]]
    if key then
      words[#words + 1] = ("%s %s"):format(key_list.name(key), hint[2])
    end
  end
  return { text = #words > 0 and " · " .. table.concat(words, ", ") or "", rank = rank or 1 }
end

---@param action gemini_bridge.PageAction
---@return string|false|nil
local function key_of(action)
  return action.key or config.get().keys[action[1]]
end

---@param actions gemini_bridge.PageAction[]
---@param legend [string, string][]
local function show_help(actions, legend)
  local rows = {}
  for _, action in ipairs(actions) do
    local key = key_of(action)
    local names = { key and key_list.name(key) or nil }
    names[#names + 1] = action.tree
    if #names > 0 then
      rows[#rows + 1] = { table.concat(names, ", "), action[3] }
    end
  end
  key_list.show(vim.list_extend(rows, legend))
end

--- Defines the <Plug> mappings of the review page or the history page.
---@param prefix string
---@param actions gemini_bridge.PageAction[]
---@param legend [string, string][] Pairs of icon and meaning for the list of keys.
---@param get fun(): gemini_bridge.PageLayout? Returns the page, or nil if the page is closed.
---@return gemini_bridge.Keymap
function M.define(prefix, actions, legend, get)
  actions = vim.list_extend({}, actions)
  local function help()
    show_help(actions, legend)
  end
  actions[#actions + 1] = { "help", help, "Show these keys" }
  for _, action in ipairs(actions) do
    local plug = ("<Plug>(%s-%s)"):format(prefix, action[1])
    vim.keymap.set(action.visual and { "n", "x" } or "n", plug, function()
      -- Users expect the key that closes the page to close only the list of keys if the list covers the page.
      local is_done = action[1] == "close" and key_list.close()
      local shown = not is_done and get()
      if shown then
        action[2](shown, action.with)
      end
    end, { desc = action[3] })
  end
  return { prefix = prefix, actions = actions }
end

---@param keymap gemini_bridge.Keymap
---@param buf integer
---@param is_tree boolean
---@return fun() release
local function map_all(keymap, buf, is_tree)
  local held = {} ---@type gemini_bridge.HeldKey[]
  for _, action in ipairs(keymap.actions) do
    local plug = ("<Plug>(%s-%s)"):format(keymap.prefix, action[1])
    for _, lhs in ipairs({ key_of(action) or "", is_tree and action.tree or "" }) do
      for _, mode in ipairs(lhs ~= "" and { "n", action.visual and "x" } or {}) do
        held[#held + 1] = { mode = mode, lhs = lhs, plug = plug, desc = action[3] }
      end
    end
  end
  return held_keys.hold(buf, held)
end

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
      release = map_all(keymap, vim.api.nvim_get_current_buf(), false)
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
  local release_tree = map_all(keymap, shown.buf, true)
  keep_and_undo.set_page(shown.tab, choice)
  local stop = follow_focus(keymap, shown)
  return function()
    stop()
    release_tree()
    keep_and_undo.set_page(shown.tab, nil)
  end
end

return M
