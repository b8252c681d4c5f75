--- Defines the keys of the review page.
local actions = require("gemini-bridge.changes.page.actions")
local appearance = require("gemini-bridge.changes.page.appearance")
local keymap = require("gemini-bridge.changes.page.keymap")
local page = require("gemini-bridge.changes.page.page")
local tree_view = require("gemini-bridge.changes.page.tree_view")

local M = {}

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
  { "switch", tree_view.switch, "Go to the file, or back to the tree" },
  { "close", page.close, "Close the page" },
}

local keys = keymap.define("gemini-changes", ACTIONS, appearance.legend, function()
  local shown = page.get()
  if shown then
    page.ensure_shown(shown)
  end
  return shown
end)

---@param shown gemini_bridge.Page
---@return fun() detach
local function attach(shown)
  local detach = keymap.attach(keys, shown, actions.choice(shown))
  vim.api.nvim_create_autocmd("BufModifiedSet", {
    group = shown.group,
    callback = function(args)
      if vim.bo[args.buf].modified then
        actions.note_edit()
      end
    end,
  })
  return function()
    detach()
    actions.note_edit()
  end
end

--- Opens the page, or moves the focus to it.
---@param name? string Path of a file to go to.
function M.open(name)
  page.open(attach, name)
end

return M
