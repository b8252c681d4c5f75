--- One place that prompts go to, and what is known of its screen.
local clis = require("gemini-bridge.config.clis")
local screens = require("gemini-bridge.prompt.screens")
local task = require("gemini-bridge.prompt.task")

local M = {}

--- A terminal says nothing about who reads it, and what is typed too early is echoed or lost. A program whose screen is
--- not known listens when it has settled: it shows something and stays the same for so long, or never rests for so long
--- (milliseconds).
local QUIET, RESTLESS = 1000, 20000

--- What many CLIs show instead of a long paste, without blanks: "[Pasted Text: 12 lines]", "[Pasted Content …]".
local PASTE = "[Pasted"

---@class gemini_bridge.Lane
---@field target gemini_bridge.Target
---@field prompts gemini_bridge.Prompt[] Those on their way, oldest first.
---@field drawing? gemini_bridge.Drawing Of the CLI, as soon as it is known.
---@field ours? string What its prompt shows while it holds nothing but what came from here.
---@field settled? boolean
---@field last? string The screen of a program that is not known, as it was.
---@field since? { any: integer, same: integer } When it first showed something, and when what it shows now.
local Lane = {}
Lane.__index = Lane

---@param text string
---@param part string
---@return integer
local function count(text, part)
  local _, found = text:gsub(vim.pesc(part), "")
  return found
end

---@param target gemini_bridge.Target
---@param program string Name of the program.
---@return gemini_bridge.Lane
function M.new(target, program)
  local cli = clis.of_program(program)
  local drawing = screens.drawings[cli and cli.like or program]
  return setmetatable({ target = target, prompts = {}, drawing = drawing }, Lane)
end

--- Reads the screen of a program that is not known.
---@param lines string[]
---@return gemini_bridge.Reading # "empty" when it seems to listen; its text is the whole screen.
function Lane:guess(lines)
  local text, now = screens.bare(table.concat(lines, "\n")), vim.uv.now()
  if text ~= self.last then
    self.last = text
    self.since = text ~= "" and { any = self.since and self.since.any or now, same = now } or nil
  end
  local since = self.since
  self.settled = self.settled or since and (now - since.same >= QUIET or now - since.any >= RESTLESS)
  -- Only the bridge can tell whether a question is open.
  local is_asking = #require("gemini-bridge.review.reviews").list() > 0
  return { state = is_asking and "question" or self.settled and "empty" or "absent", text = text }
end

--- Looks at the screen, within a task.
---@return gemini_bridge.Reading? # Nothing when the CLI is gone.
function Lane:look()
  local lines = task.await(self.target.screen)
  if not lines then
    return
  end
  self.drawing = self.drawing or screens.recognize(lines)
  if require("gemini-bridge.terminal.external_editor").is_open() then
    return { state = "elsewhere", text = "" }
  end
  if self.drawing then
    return screens.read(lines, self.drawing)
  end
  return self:guess(lines)
end

--- Whether the prompt may be typed now.
---@param reading gemini_bridge.Reading
---@param prompt gemini_bridge.Prompt
---@return boolean
function Lane:is_free(reading, prompt)
  if reading.state == "typed" then
    return not prompt.submit or self:is_ours(reading)
  end
  return reading.state == "empty"
end

--- Whether nobody else has typed into the CLI's prompt.
---@param reading gemini_bridge.Reading
---@return boolean
function Lane:is_ours(reading)
  return reading.state == "empty" or reading.text == self.ours
end

--- Whether more of a text is to be seen than before it was typed.
---@param reading gemini_bridge.Reading
---@param before gemini_bridge.Reading
---@param tail string The text's end, without blanks.
---@return boolean
function M.shows(reading, before, tail)
  return tail == ""
    or vim.iter({ tail, PASTE }):any(function(part)
      return count(reading.text, part) > count(before.text, part)
    end)
end

return M
