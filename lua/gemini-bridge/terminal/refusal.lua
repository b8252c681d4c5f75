--- Recognizes on the screen of Gemini CLI that Google refuses the account, and tells the user what to do.
local notify = require("gemini-bridge.notify")

local M = {}

--- Shown by a refused login, without blanks and borders. src/doctor/account.ts looks for the same.
local REFUSAL = "nolongersupportedforGeminiCodeAssistforindividuals"
--- Number of lines that hold the sentence, even in a narrow terminal, and how long changes are collected (ms).
local SCREEN_LINES, DELAY_MS = 60, 500

---@param buf integer
---@return boolean
local function is_refused(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, -1 - SCREEN_LINES, -1, false)
  local text = table.concat(lines):gsub("%s", ""):gsub("│", "")
  return text:find(REFUSAL, 1, true) ~= nil
end

--- Watches a terminal until the message was given once.
---@param buf integer
function M.watch(buf)
  local is_waiting, is_told = false, false
  local function look()
    is_waiting = false
    if not is_told and vim.api.nvim_buf_is_valid(buf) and is_refused(buf) then
      is_told = true
      notify(
        "Google ended Gemini CLI for personal accounts: "
          .. "choose an API key or Vertex AI (/auth), or run :Gemini cli=qwen",
        "warn"
      )
    end
  end
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function()
      if not is_told and not is_waiting then
        is_waiting = true
        vim.defer_fn(look, DELAY_MS)
      end
      return is_told
    end,
  })
end

return M
