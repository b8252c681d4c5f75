--- Shows desktop notifications while Neovim is not focused, through the terminal (OSC 9), which also works over SSH.
local config = require("gemini-bridge.config")

local M = {}

--- Maximum length of a name in a notification (characters).
local MAX_NAME_LENGTH = 60

local SENTENCES = { waiting = "%s waits for you in %s", ended = "%s has finished in %s" }

local has_focus = true

vim.api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
  group = vim.api.nvim_create_augroup("gemini-bridge.desktop", {}),
  callback = function(event)
    has_focus = event.event == "FocusGained"
  end,
})

--- Removes characters that a terminal would treat as the end of the text or as a command.
---@param name string
---@return string
local function plain(name)
  return (vim.fn.strcharpart(vim.fn.strtrans(name), 0, MAX_NAME_LENGTH):gsub("%c", "?"))
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

--- Notifies that an agent waits or has finished, if the option is set and Neovim is not focused.
---@param turn gemini_bridge.Turn
function M.say(turn)
  if has_focus or not config.get().notify.desktop then
    return
  end
  local name, project = plain(turn.terminal or turn.cli), plain(vim.fs.basename(turn.cwd))
  send("\27]9;" .. SENTENCES[turn.kind]:format(name, project) .. "\7")
end

return M
