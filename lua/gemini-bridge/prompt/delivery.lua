--- Types one prompt into a CLI: waits until the CLI accepts input, checks that the text has arrived, then presses
--- Enter.
local lanes = require("gemini-bridge.prompt.lane")
local notify = require("gemini-bridge.notify")
local reference = require("gemini-bridge.prompt.reference")
local safely = require("gemini-bridge.editor.safely")
local screens = require("gemini-bridge.prompt.screens")
local task = require("gemini-bridge.prompt.task")

local M = {}

--- Polling interval for the screen, at first and after a while.
local POLL_MS, SLOW_POLL_MS = 50, 500
--- Timeout for a text to appear. A known CLI gets longer, because it may be busy: typing too early again would enter
--- the text twice.
local TIMEOUT_MS, KNOWN_TIMEOUT_MS = 3000, 20000
--- A text has arrived after it was shown unchanged for this time. Gemini CLI 0.61.0 treats Enter as a line break for
--- 40 ms after a paste.
local STABLE_MS = 150
--- Cells of the message line that are left for the name of the plugin.
local MESSAGE_MARGIN = 16
--- Delay before a message about a state that usually ends by itself.
local NOTICE_DELAY_MS = 1000
--- Number of characters at the end of a text by which it is recognized on the screen.
local TAIL_LENGTH = 20

--- The reasons for waiting, by the state of the screen.
local REASONS = {
  question = "you answer the question in %s",
  typed = "you send or delete your text in %s",
  menu = "you close the menu in %s",
  elsewhere = "%s accepts a prompt again (Esc leaves its shell mode and its search)",
  absent = "%s shows its prompt",
}

local HINT = " (:GeminiSend --cancel)"

---@class gemini_bridge.Prompt
---@field items gemini_bridge.Item[]
---@field text string The text of the user; may be empty.
---@field submit? boolean Whether to press Enter.
---@field waits? string The reason for waiting, after "waits until".
---@field said? table<string, true> The reasons that were reported to the user.
---@field taken_back? boolean Whether the user has cancelled the prompt.

--- Sets the reason for waiting, and reports it once.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@param state string
---@param since integer
local function wait_for(lane, prompt, state, since)
  prompt.waits = REASONS[state]:format(lane.target.name)
  prompt.said = prompt.said or {}
  local passes = state == "absent" or state == "menu"
  if not prompt.said[state] and (not passes or vim.uv.now() - since >= NOTICE_DELAY_MS) then
    prompt.said[state] = true
    local text = ("The prompt waits until %s"):format(prompt.waits)
    notify(text .. (#text + #HINT < vim.v.echospace - MESSAGE_MARGIN and HINT or ""))
  end
end

--- Polls the screen until `look` returns a result. Must run in a task.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@param look fun(reading: gemini_bridge.Reading): any? Any result but nil ends the polling.
---@return any? # nil if the CLI has ended or the prompt was cancelled.
local function watch(lane, prompt, look)
  local interval = POLL_MS
  while true do
    local reading = lane:look()
    if not reading or prompt.taken_back then
      return
    end
    local result = look(reading)
    if result ~= nil then
      return result
    end
    task.sleep(math.floor(interval))
    interval = math.min(interval * 1.1, SLOW_POLL_MS)
  end
end

---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@return gemini_bridge.Reading? # The screen when the CLI accepts the prompt.
local function until_free(lane, prompt)
  local since = vim.uv.now()
  return watch(lane, prompt, function(reading)
    if not lane:is_free(reading, prompt) then
      wait_for(lane, prompt, reading.state, since)
    elseif safely.is_safe() then
      -- Otherwise nothing can be put into a terminal's buffer.
      prompt.waits = nil
      return reading
    end
  end)
end

--- Waits until a typed text is shown. If a question opens meanwhile, waits for its answer: the CLI keeps text that
--- arrived before the question, and drops text that arrived later.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@param before gemini_bridge.Reading
---@param text string
---@return "shown"|"dropped"|"lost"|nil outcome nil if the CLI has ended or the prompt was cancelled.
---@return gemini_bridge.Reading? reading The last screen.
local function until_shown(lane, prompt, before, text)
  local tail = screens.bare(text)
  tail = vim.fn.strcharpart(tail, math.max(0, vim.fn.strchars(tail) - TAIL_LENGTH))
  local since, was_interrupted = vim.uv.now(), false
  local shown ---@type { text: string, since: integer }?
  local last
  local outcome = watch(lane, prompt, function(reading)
    local now = vim.uv.now()
    last = reading
    if reading.state == "question" or reading.state == "elsewhere" or reading.state == "absent" then
      wait_for(lane, prompt, reading.state, since)
      since, shown, was_interrupted = now, nil, true
    elseif lanes.shows(reading, before, tail) then
      -- Only the prompt of a known CLI can be read without the rest of the screen, which may keep changing.
      if not shown or lane.drawing and shown.text ~= reading.text then
        shown = { text = reading.text, since = now }
      end
      return now - shown.since >= STABLE_MS and "shown" or nil
    elseif now - since > (lane.drawing and not was_interrupted and KNOWN_TIMEOUT_MS or TIMEOUT_MS) then
      return was_interrupted and reading.text == before.text and "dropped" or "lost"
    end
  end)
  prompt.waits = nil
  return outcome, last
end

--- Presses Enter and checks that the text is sent. A busy CLI may treat Enter as a line break of the paste, which makes
--- its prompt one line taller. Only then Enter is pressed again.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@param shown gemini_bridge.Reading
---@return string? problem
local function enter(lane, prompt, shown)
  lane.target.enter()
  if not lane.drawing then
    return
  end
  local deadline = vim.uv.now() + TIMEOUT_MS
  local height, is_taller = shown.height, false
  local stays = watch(lane, prompt, function(reading)
    if reading.state ~= shown.state or reading.text ~= shown.text then
      return false
    end
    local was_taller = is_taller
    is_taller = height ~= nil and reading.height == height + 1
    -- Seen twice in a row, so that a half-drawn screen does not count.
    if is_taller and was_taller then
      height, is_taller = reading.height, false
      lane.target.enter()
    end
    return vim.uv.now() > deadline or nil
  end)
  return stays and ("The prompt is typed but not sent: press Enter in %s."):format(lane.target.name) or nil
end

--- Types a prompt. Never answers a question of the CLI, and never sends text that the user typed there. Must run in a
--- task.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@return boolean is_there Whether the text is in the CLI, sent or not.
---@return string? problem
function M.deliver(lane, prompt)
  while true do
    local before = until_free(lane, prompt)
    if not before then
      return false
    end
    local is_ours = lane:is_ours(before)
    -- The space ends a reference, so that the CLI offers no completions for it.
    local text = reference.prompt(prompt.items, lane.target.cwd, prompt.text) .. " "
    local problem = task.await(function(done)
      lane.target.paste((is_ours and "" or " ") .. text, done)
    end)
    if problem then
      return false, problem
    end
    local outcome, last = until_shown(lane, prompt, before, text)
    if outcome == "shown" then
      lane.ours = not prompt.submit and is_ours and last.text or nil
      return true, prompt.submit and enter(lane, prompt, last) or nil
    elseif outcome ~= "dropped" then
      local what = prompt.submit and "%s does not show the prompt, so Enter was not pressed."
        or "%s does not show the prompt."
      return false, outcome and what:format(lane.target.name)
    end
  end
end

return M
