--- Types one prompt: waits until the CLI's prompt takes it, sees that it has arrived, and only then presses Enter.
local lanes = require("gemini-bridge.prompt.lane")
local notify = require("gemini-bridge.notify")
local reference = require("gemini-bridge.prompt.reference")
local screens = require("gemini-bridge.prompt.screens")
local task = require("gemini-bridge.prompt.task")

local M = {}

--- How often the screen is looked at: at first, and when that takes long (milliseconds).
local INTERVAL, SLOW = 50, 500
--- How long a text may take to appear (milliseconds). A CLI that is known and busy gets longer: what is typed again too
--- soon is there twice.
local TIMEOUT, LONG = 3000, 20000
--- What is seen this long is there (milliseconds). Gemini CLI 0.61.0 takes Enter for a line break for 40 ms after a
--- paste.
local PAUSE = 150
--- So much of a line a message leaves to what is put before it.
local MARGIN = 16
--- What comes and goes by itself is not worth a word until it has lasted this long (milliseconds).
local PATIENCE = 1000
--- So much of a text's end is looked for.
local TAIL = 20

--- What a prompt waits for, by what the screen says of the CLI.
local REASONS = {
  question = "the question of %s is answered",
  typed = "what you typed in %s is sent or deleted",
  menu = "the menu of %s is closed",
  elsewhere = "%s listens to its prompt again",
  absent = "%s shows its prompt",
}

local HINT = " (:GeminiSend --cancel)"

---@class gemini_bridge.Prompt
---@field items gemini_bridge.Item[]
---@field text string What to say; may be empty.
---@field submit? boolean Press Enter.
---@field waits? string What it waits for.
---@field said? table<string, true> What of that the user has been told.
---@field taken_back? boolean

--- Remembers what a prompt waits for, and says it once.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@param state string
---@param since integer
local function wait_for(lane, prompt, state, since)
  prompt.waits = REASONS[state]:format(lane.target.name)
  prompt.said = prompt.said or {}
  local passes = state == "absent" or state == "menu"
  if not prompt.said[state] and (not passes or vim.uv.now() - since >= PATIENCE) then
    prompt.said[state] = true
    local text = ("The prompt waits until %s"):format(prompt.waits)
    notify(text .. (#text + #HINT < vim.v.echospace - MARGIN and HINT or ""))
  end
end

--- Looks at the screen until it is as wanted, within a task.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@param look fun(reading: gemini_bridge.Reading): any? A result ends it.
---@return any? # Nothing when the CLI is gone or the prompt was taken back.
local function watch(lane, prompt, look)
  local interval = INTERVAL
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
    interval = math.min(interval * 1.1, SLOW)
  end
end

---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@return gemini_bridge.Reading? # The screen when the prompt may be typed.
local function until_free(lane, prompt)
  local since = vim.uv.now()
  return watch(lane, prompt, function(reading)
    if lane:is_free(reading, prompt) then
      prompt.waits = nil
      return reading
    end
    wait_for(lane, prompt, reading.state, since)
  end)
end

--- Waits until a text that was typed is seen. While a question is open its answer is waited for: the CLI keeps what
--- had arrived before, and drops what came later.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@param before gemini_bridge.Reading
---@param text string
---@return "shown"|"dropped"|"lost"|nil outcome Nothing when the CLI is gone or the prompt was taken back.
---@return gemini_bridge.Reading? reading As it stands then.
local function until_shown(lane, prompt, before, text)
  local tail = screens.bare(text)
  tail = vim.fn.strcharpart(tail, math.max(0, vim.fn.strchars(tail) - TAIL))
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
      -- Only the prompt of a CLI that is known comes to rest.
      if not shown or lane.drawing and shown.text ~= reading.text then
        shown = { text = reading.text, since = now }
      end
      return now - shown.since >= PAUSE and "shown" or nil
    elseif now - since > (lane.drawing and not was_interrupted and LONG or TIMEOUT) then
      return was_interrupted and reading.text == before.text and "dropped" or "lost"
    end
  end)
  prompt.waits = nil
  return outcome, last
end

--- Presses Enter and sees that the text goes. A CLI that has much to do may still take it for a line break of the
--- paste, which makes its prompt a line taller: then, and only then, it is pressed again.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@param shown gemini_bridge.Reading
---@return string? problem
local function enter(lane, prompt, shown)
  lane.target.enter()
  if not lane.drawing then
    return
  end
  local deadline = vim.uv.now() + TIMEOUT
  local height, is_taller = shown.height, false
  local stays = watch(lane, prompt, function(reading)
    if reading.state ~= shown.state or reading.text ~= shown.text then
      return false
    end
    local was_taller = is_taller
    is_taller = height ~= nil and reading.height == height + 1
    -- Seen twice, it is no screen that is half drawn.
    if is_taller and was_taller then
      height, is_taller = reading.height, false
      lane.target.enter()
    end
    return vim.uv.now() > deadline or nil
  end)
  return stays and ("The prompt is typed, but %s did not take Enter."):format(lane.target.name) or nil
end

--- Types a prompt, within a task. Nothing that is asked is answered, and nothing that the user has typed is sent.
---@param lane gemini_bridge.Lane
---@param prompt gemini_bridge.Prompt
---@return boolean is_there Whether the CLI has the text, sent or not.
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
      local what = prompt.submit and "%s did not take the prompt: Enter was not pressed."
        or "%s does not show the prompt."
      return false, outcome and what:format(lane.target.name)
    end
  end
end

return M
