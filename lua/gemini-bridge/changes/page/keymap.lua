--- Maps keys on the review page and the history page. Keys of the option `changes.keys` work in both windows of the
--- page. All other keys work only in the tree.
local config = require("gemini-bridge.config")
local key_list = require("gemini-bridge.editor.key_list")
local layout = require("gemini-bridge.changes.page.layout")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")

local M = {}

---@class gemini_bridge.PageAction
---@field [1] string Name of the <Plug> mapping. The name in the option `changes.keys` has "_" in place of "-".
---@field [2] fun(shown: any, with: any) Function that gets the page and the field `with`.
---@field [3] string Description.
---@field with? "keep"|"undo"|1|-1 Second argument of the function.
---@field tree? string Key that works only in the tree.
---@field visual? boolean True if the keys also work in Visual mode.

---@class gemini_bridge.Keymap
---@field prefix string First part of the names of <Plug> mappings.
---@field actions gemini_bridge.PageAction[]

--- Returns key hints as a part of a winbar. Leaves out keys that the user has disabled.
---@param hints [string, string][] Pairs of a name in the option `changes.keys` and the word to show.
---@param rank? integer Rank of the part, see |gemini_bridge.BarPart|. Default: 1.
---@return gemini_bridge.BarPart
function M.hints(hints, rank)
  local keys, words = config.get().changes.keys, {}
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
local function configured(action)
  return config.get().changes.keys[action[1]:gsub("-", "_")]
end

---@param actions gemini_bridge.PageAction[]
---@param legend [string, string][]
local function show_help(actions, legend)
  local rows = {}
  for _, action in ipairs(actions) do
    local key = configured(action)
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

---@param lhs string
---@param plug string
---@param action gemini_bridge.PageAction
---@param buf integer
---@param restores fun()[] Gets functions that restore the earlier mappings.
local function map(lhs, plug, action, buf, restores)
  for _, mode in ipairs(action.visual and { "n", "x" } or { "n" }) do
    local before = vim.api.nvim_buf_call(buf, function()
      return vim.fn.maparg(lhs, mode, false, true)
    end)
    vim.keymap.set(mode, lhs, plug, { buffer = buf, remap = true, nowait = true, desc = action[3] })
    restores[#restores + 1] = function()
      pcall(vim.keymap.del, mode, lhs, { buffer = buf })
      if before.buffer == 1 then
        vim.api.nvim_buf_call(buf, function()
          vim.fn.mapset(mode, false, before)
        end)
      end
    end
  end
end

---@param keymap gemini_bridge.Keymap
---@param buf integer
---@param is_tree boolean
---@return fun() unmap
local function map_all(keymap, buf, is_tree)
  local restores = {}
  for _, action in ipairs(keymap.actions) do
    local plug = ("<Plug>(%s-%s)"):format(keymap.prefix, action[1])
    local everywhere = configured(action)
    if everywhere then
      map(everywhere, plug, action, buf, restores)
    end
    if is_tree and action.tree then
      map(action.tree, plug, action, buf, restores)
    end
  end
  return function()
    for _, restore in ipairs(vim.api.nvim_buf_is_valid(buf) and restores or {}) do
      restore()
    end
  end
end

--- Maps keys in the text window of a page while the window has the focus.
---@param keymap gemini_bridge.Keymap
---@param shown gemini_bridge.PageLayout
---@return fun() stop
local function follow_focus(keymap, shown)
  local unmap ---@type fun()?
  local function leave()
    if unmap then
      unmap()
      unmap = nil
    end
  end
  local function enter()
    leave()
    if vim.api.nvim_get_current_win() == shown.right and layout.shows_own(shown) then
      unmap = map_all(keymap, vim.api.nvim_get_current_buf(), false)
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
  map_all(keymap, shown.buf, true)
  keep_and_undo.set_page(shown.tab, choice)
  local stop = follow_focus(keymap, shown)
  return function()
    stop()
    keep_and_undo.set_page(shown.tab, nil)
  end
end

return M
