--- Searches the screen of Gemini CLI for the message that Google refuses the account, and then tells the user how to
--- continue.
local notify = require("gemini-bridge.notify")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

--- Part of the message of Google, without blanks and borders. src/doctor/account.ts contains the same text.
local REFUSAL = "nolongersupportedforGeminiCodeAssistforindividuals"
--- Number of lines to search at the end of the terminal. Enough for the whole message in a narrow terminal.
local SCREEN_LINES = 60
--- Debounce delay for changes of the screen.
local DELAY_MS = 500
--- Interval and number of reads of a tmux pane. Polling is needed because tmux does not report changes. The reads cover
--- the first minute, in which the CLI signs in.
local PANE_INTERVAL_MS, PANE_READS = 2000, 30

--- If the screen shows a refused login, tells the user how to continue.
---@param lines string[]
---@return boolean is_refused
local function check(lines)
  local text = table.concat(lines):gsub("%s", ""):gsub("│", "")
  local is_refused = text:find(REFUSAL, 1, true) ~= nil
  if is_refused then
    notify(
      "Google ended Gemini CLI for personal accounts: "
        .. "choose an API key or Vertex AI (/auth), or run :Gemini cli=qwen",
      "warn"
    )
  end
  return is_refused
end

--- Searches a terminal after each change, until the message is found.
---@param buf integer
function M.watch(buf)
  local is_told = false
  local look = scheduler.coalesce(function()
    if not is_told and vim.api.nvim_buf_is_valid(buf) then
      is_told = check(vim.api.nvim_buf_get_lines(buf, -1 - SCREEN_LINES, -1, false))
    end
  end, DELAY_MS)
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function()
      look()
      return is_told
    end,
  })
end

--- Polls a tmux pane for a minute. Stops when the message is found or the pane is closed.
---@param pane string Id of the pane.
---@param reads? integer Number of remaining reads. Default: all.
function M.watch_pane(pane, reads)
  reads = reads or PANE_READS
  scheduler.after(PANE_INTERVAL_MS, function()
    vim.system({ "tmux", "capture-pane", "-p", "-t", pane }, { text = true }, function(result)
      if result.code == 0 and reads > 1 then
        scheduler.next(function()
          if not check(vim.split(result.stdout, "\n")) then
            M.watch_pane(pane, reads - 1)
          end
        end)
      end
    end)
  end)
end

return M
