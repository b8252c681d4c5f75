--- What agents are doing, as the host tells it: `User` events, and a progress message where Neovim has such.
local desktop = require("gemini-bridge.turns.desktop")
local safely = require("gemini-bridge.editor.safely")
local status = require("gemini-bridge.bridge.status")

local M = {}

---@class gemini_bridge.Turn
---@field kind "started"|"waiting"|"resumed"|"ended"
---@field cli string The name of its profile.
---@field session string The CLI's own session.
---@field cwd string
---@field id? string Of the connected client, in `status()`.
---@field terminal? string The terminal of `:Gemini` that it runs in, as far as known.
---@field prompt? string At the start.
---@field tool? { kind: "edit"|"shell"|"other", name: string, filePath?: string, command?: string } While it waits.

local EVENTS = { started = "GeminiTurnStarted", waiting = "GeminiWaiting", ended = "GeminiTurnEnded" }

--- Of a progress message; the first is what the user reads.
local PROGRESS = {
  started = { "working", "running" },
  resumed = { "working", "running" },
  waiting = { "waits for you", "running" },
  ended = { "done", "success" },
}

--- It is one line and not in the history: a turn is no news a minute later.
---@param turn gemini_bridge.Turn
local function show_progress(turn)
  local text, state = unpack(PROGRESS[turn.kind])
  vim.api.nvim_echo({ { text } }, false, {
    id = ("gemini-bridge.%s.%s"):format(turn.cli, turn.session),
    kind = "progress",
    source = "gemini-bridge",
    status = state,
    title = turn.terminal or turn.cli,
  })
end

--- Takes a change of an agent's turn.
---@param turn gemini_bridge.Turn
function M.changed(turn)
  if vim.fn.has("nvim-0.12") == 1 and not vim.api.nvim_get_mode().mode:find("^[cr]") then
    safely.attempt(show_progress, turn)
  end
  if not EVENTS[turn.kind] then
    return
  end
  local data = vim.deepcopy(turn)
  data.kind = nil
  status.emit(EVENTS[turn.kind], data)
  if turn.kind ~= "started" then
    desktop.say(turn)
  end
end

return M
