--- Notifications of the desktop, for a user who works elsewhere while an agent does: by the terminal that Neovim is in
--- (OSC 9), which also works over SSH.
local config = require("gemini-bridge.config")

local M = {}

--- More of a name than a notification shows (characters).
local MAX_NAME = 60

local SENTENCES = { waiting = "%s waits for you in %s", ended = "%s is done in %s" }

local has_focus = true

vim.api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
  group = vim.api.nvim_create_augroup("gemini-bridge.desktop", {}),
  callback = function(event)
    has_focus = event.event == "FocusGained"
  end,
})

--- Without what a terminal would take for the end of the text, or for a command.
---@param name string
---@return string
local function plain(name)
  return (vim.fn.strcharpart(vim.fn.strtrans(name), 0, MAX_NAME):gsub("%c", "?"))
end

---@param sequence string
local function send(sequence)
  if vim.api.nvim_ui_send then
    return vim.api.nvim_ui_send(sequence)
  end
  local is_terminal = vim.iter(vim.api.nvim_list_uis()):any(function(ui)
    return ui.stdout_tty
  end)
  if is_terminal then
    vim.api.nvim_chan_send(vim.v.stderr, sequence)
  end
end

--- Says that an agent waits or is done, if the user wants to be told and Neovim has not the focus.
---@param turn gemini_bridge.Turn
function M.say(turn)
  if has_focus or not config.get().notify.desktop then
    return
  end
  local name, project = plain(turn.terminal or turn.cli), plain(vim.fs.basename(turn.cwd))
  send("\27]9;" .. SENTENCES[turn.kind]:format(name, project) .. "\7")
end

return M
