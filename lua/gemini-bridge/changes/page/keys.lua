--- Maps the keys of the review page. All are <Plug> mappings. Keys of the option `changes.keys` work in both
--- windows, the others in the tree. In the file's window, they are mapped while it has the focus.
local actions = require("gemini-bridge.changes.page.actions")
local config = require("gemini-bridge.config")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")
local appearance = require("gemini-bridge.changes.page.appearance")
local key_list = require("gemini-bridge.editor.key_list")
local page = require("gemini-bridge.changes.page.page")

local M = {}

---@class gemini_bridge.PageAction
---@field [1] string Name of the <Plug> mapping and, with "_", in the option `changes.keys`.
---@field [2] fun(shown: gemini_bridge.Page)
---@field [3] string Description.
---@field tree? string Key in the tree.
---@field visual? boolean Whether it is also mapped in Visual mode.

---@type gemini_bridge.PageAction[]
local ACTIONS = {
  { "open", actions.open_node, "Show the file, open or close the folder", tree = "<CR>" },
  { "next", actions.step(1), "Next undecided hunk, in any file", tree = "<Tab>" },
  { "prev", actions.step(-1), "Previous undecided hunk", tree = "<S-Tab>" },
  { "next-file", actions.step_file(1), "Next file" },
  { "prev-file", actions.step_file(-1), "Previous file" },
  { "keep", actions.on_hunk("keep"), "Keep the hunk or the selected lines", tree = "s", visual = true },
  { "undo", actions.on_hunk("undo"), "Undo the hunk or the selected lines", tree = "x", visual = true },
  { "keep-file", actions.on_nodes("keep"), "Keep the file, folder or turn", tree = "S", visual = true },
  { "undo-file", actions.on_nodes("undo"), "Undo the file, folder or turn", tree = "X", visual = true },
  { "keep-turn", actions.on_turn("keep"), "Keep the turn", tree = "gs" },
  { "undo-turn", actions.on_turn("undo"), "Undo the turn", tree = "gx" },
  { "keep-all", actions.on_all("keep"), "Keep all", tree = "gS" },
  { "undo-all", actions.on_all("undo"), "Undo all", tree = "gX" },
  { "revert", actions.revert, "Revert the last decision" },
  { "compare", actions.toggle_compare, "Show or hide the earlier text side by side", tree = "d" },
  { "note", actions.note, "Write a note on the line or the selected lines", visual = true },
  { "send-notes", actions.send_notes, "Send all notes to the CLI", tree = "gn" },
  { "switch", actions.switch, "Go to the file, or back to the tree" },
  { "close", page.close, "Close the page" },
}

local function show_help()
  local rows, keys = {}, config.get().changes.keys
  for _, action in ipairs(ACTIONS) do
    local everywhere = keys[action[1]:gsub("-", "_")]
    local names = { everywhere and key_list.name(everywhere), action.tree }
    if action.tree and not everywhere then
      names = { action.tree }
    end
    if #names > 0 then
      rows[#rows + 1] = { table.concat(names, ", "), action[3] }
    end
  end
  key_list.show(vim.list_extend(rows, appearance.legend))
end

ACTIONS[#ACTIONS + 1] = { "help", show_help, "Show these keys" }

for _, action in ipairs(ACTIONS) do
  local plug = ("<Plug>(gemini-changes-%s)"):format(action[1])
  vim.keymap.set(action.visual and { "n", "x" } or "n", plug, function()
    local shown = page.get()
    if shown then
      action[2](shown)
    end
  end, { desc = action[3] })
end

---@param lhs string
---@param action gemini_bridge.PageAction
---@param buf integer
---@return fun() restore
local function map(lhs, action, buf)
  local plug = ("<Plug>(gemini-changes-%s)"):format(action[1])
  local restores = {}
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
  return function()
    vim.iter(restores):each(function(restore)
      restore()
    end)
  end
end

---@param buf integer
---@param is_tree boolean
---@return fun() unmap
local function map_all(buf, is_tree)
  local keys, restores = config.get().changes.keys, {}
  for _, action in ipairs(ACTIONS) do
    local everywhere = keys[action[1]:gsub("-", "_")]
    if everywhere then
      restores[#restores + 1] = map(everywhere, action, buf)
    end
    if is_tree and action.tree then
      restores[#restores + 1] = map(action.tree, action, buf)
    end
  end
  return function()
    if vim.api.nvim_buf_is_valid(buf) then
      vim.iter(restores):each(function(restore)
        restore()
      end)
    end
  end
end

--- Maps the keys in the file's window while it has the focus.
---@param shown gemini_bridge.Page
---@return fun() stop
local function follow_focus(shown)
  local unmap ---@type fun()?
  local function leave()
    if unmap then
      unmap()
      unmap = nil
    end
  end
  local function enter()
    leave()
    if vim.api.nvim_get_current_win() == shown.right and vim.bo.buftype ~= "terminal" then
      unmap = map_all(vim.api.nvim_get_current_buf(), false)
    end
  end
  local group = vim.api.nvim_create_augroup("gemini-bridge.changes.page.keys", {})
  vim.api.nvim_create_autocmd({ "WinEnter", "BufEnter" }, { group = group, callback = enter })
  vim.api.nvim_create_autocmd({ "WinLeave", "BufLeave" }, { group = group, callback = leave })
  vim.api.nvim_create_autocmd("BufModifiedSet", {
    group = group,
    callback = function(args)
      if vim.bo[args.buf].modified then
        actions.note_edit()
      end
    end,
  })
  return function()
    leave()
    vim.api.nvim_del_augroup_by_id(group)
  end
end

page.on_open(function(shown)
  map_all(shown.buf, true)
  keep_and_undo.set_page(actions.choice(shown))
  local stop = follow_focus(shown)
  return function()
    stop()
    keep_and_undo.set_page(nil)
    actions.note_edit()
  end
end)

M.open = page.open

return M
