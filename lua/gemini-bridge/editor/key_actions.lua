--- Gives actions of reviews and pages their <Plug> mappings, and lists their keys. An action has a key from the option
--- `keys` or a fixed key, or a key for the tree of a page only, or both.
local config = require("gemini-bridge.config")
local key_list = require("gemini-bridge.editor.key_list")

local M = {}

---@class gemini_bridge.KeyAction
---@field [1] string Name of the <Plug> mapping, and of the action in the option `keys`.
---@field [2] fun(shown: any, with: any) Function that gets the review or page and the field `with`.
---@field [3] string Description.
---@field with? "keep"|"undo"|1|-1 Second argument of the function.
---@field key? string Fixed key. Default: the key in the option `keys`, if any.
---@field tree? string Key that works only in the tree.
---@field visual? boolean True if the keys also work in Visual mode.

---@class gemini_bridge.Keymap
---@field prefix string First part of the names of <Plug> mappings.
---@field actions gemini_bridge.KeyAction[]

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

---@param action gemini_bridge.KeyAction
---@return string|false|nil
local function key_of(action)
  return action.key or config.get().keys[action[1]]
end

---@param actions gemini_bridge.KeyAction[]
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

--- Defines the <Plug> mappings of reviews or of a page.
---@param prefix string First part of the names.
---@param actions gemini_bridge.KeyAction[]
---@param legend fun(): [string, string][] Returns further rows for the list of keys.
---@param get fun(): any Returns the review or page, or nil if there is none.
---@return gemini_bridge.Keymap
function M.define(prefix, actions, legend, get)
  actions = vim.list_extend({}, actions)
  local function help()
    show_help(actions, legend())
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

--- Returns the keys of all actions.
---@param keymap gemini_bridge.Keymap
---@param is_tree? boolean True adds the keys that work only in the tree.
---@return gemini_bridge.HeldKey[]
function M.keys(keymap, is_tree)
  local keys = {}
  for _, action in ipairs(keymap.actions) do
    local plug = ("<Plug>(%s-%s)"):format(keymap.prefix, action[1])
    for _, lhs in ipairs({ key_of(action) or "", is_tree and action.tree or "" }) do
      for _, mode in ipairs(lhs ~= "" and { "n", action.visual and "x" } or {}) do
        keys[#keys + 1] = { mode = mode, lhs = lhs, plug = plug, desc = action[3] }
      end
    end
  end
  return keys
end

return M
