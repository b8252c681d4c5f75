--- Reports when agents start, wait and finish: by `User` events, a progress message and desktop notifications.
local config = require("gemini-bridge.config")
local scheduler = require("gemini-bridge.editor.scheduler")
local status = require("gemini-bridge.bridge.status")

local M = {}

local EVENTS = { started = "GeminiTurnStarted", waiting = "GeminiWaiting", ended = "GeminiTurnEnded" }

--- Text and status of the progress message for each kind of event.
local PROGRESS = {
  started = { "working", "running" },
  resumed = { "working", "running" },
  waiting = { "waits for you", "running" },
  ended = { "done", "success" },
}

--- The last turn of each progress message that shows "running", by id of the message.
local running = {} ---@type table<string, gemini_bridge.Turn>

--- Shows the progress message. Does not add it to the message history.
---@param turn gemini_bridge.Turn
local function show_progress(turn)
  local text, state = unpack(PROGRESS[turn.kind])
  local id = ("gemini-bridge.%s.%s"):format(turn.cli, turn.session)
  running[id] = state == "running" and turn or nil
  vim.api.nvim_echo({ { text } }, false, {
    id = id,
    kind = "progress",
    source = "gemini-bridge",
    status = state,
    title = turn.terminal or turn.cli,
  })
end

-- Neovim 0.12 also draws progress in the terminal's tab bar, and leaves it there when Neovim exits.
vim.api.nvim_create_autocmd("VimLeavePre", {
  group = vim.api.nvim_create_augroup("gemini-bridge.progress", {}),
  callback = function()
    for _, turn in pairs(vim.tbl_extend("force", running, {})) do
      pcall(show_progress, vim.tbl_extend("force", turn, { kind = "ended" }))
    end
  end,
})

--- Maximum length of a name in a desktop notification (characters).
local MAX_NAME_LENGTH = 60

local SENTENCES = { waiting = "%s waits for you in %s", ended = "%s has finished in %s" }

local has_focus = true

vim.api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
  group = vim.api.nvim_create_augroup("gemini-bridge.desktop", {}),
  callback = function(event)
    has_focus = event.event == "FocusGained"
  end,
})

--- Shortens a name. Replaces characters that the terminal would interpret as control characters.
---@param name string
---@return string
local function plain(name)
  return (vim.fn.strcharpart(vim.fn.strtrans(name), 0, MAX_NAME_LENGTH):gsub("%c", "?"))
end

--- Sends an escape sequence to the terminal in which Neovim runs. Works over SSH, too. tmux drops a sequence that it
--- does not know, unless the sequence is wrapped.
---@param sequence string
local function send(sequence)
  if vim.env.TMUX then
    sequence = "\27Ptmux;" .. sequence:gsub("\27", "\27\27") .. "\27\\"
  end
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

--- Sends a desktop notification (OSC 9) that an agent waits or has finished. Sends nothing while Neovim has the focus
--- or the option `notify.desktop` is off.
---@param turn gemini_bridge.Turn
local function notify_desktop(turn)
  if has_focus or not config.get().notify.desktop then
    return
  end
  local name, project = plain(turn.terminal or turn.cli), plain(vim.fs.basename(turn.cwd))
  send("\27]9;" .. SENTENCES[turn.kind]:format(name, project) .. "\7")
end

--- Handles a report that an agent has started, waits, goes on or has finished.
---@param turn gemini_bridge.Turn
function M.changed(turn)
  if vim.fn.has("nvim-0.12") == 1 and not vim.api.nvim_get_mode().mode:find("^[cr]") then
    scheduler.attempt(show_progress, turn)
  end
  if not EVENTS[turn.kind] then
    return
  end
  local data = vim.deepcopy(turn)
  data.kind = nil
  status.emit(EVENTS[turn.kind], data)
  if turn.kind ~= "started" then
    notify_desktop(turn)
  end
end

return M
