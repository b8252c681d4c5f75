--- Tracks one CLI that receives prompts: the waiting prompts and the state of its screen.
local clis = require("gemini-bridge.config.clis")
local screens = require("gemini-bridge.prompt.screens")
local task = require("gemini-bridge.prompt.task")

local M = {}

--- An unknown program is ready when its screen has been unchanged for QUIET_MS, or has shown something for
--- MAX_START_MS. Text that is typed earlier may be echoed or lost.
local QUIET_MS, MAX_START_MS = 1000, 20000

--- Shown by many CLIs instead of a long paste, without blanks: "[Pasted Text: 12 lines]", "[Pasted Content …]".
local PASTE = "[Pasted"

---@class gemini_bridge.Lane
---@field target gemini_bridge.Target
---@field prompts gemini_bridge.Prompt[] Waiting prompts, oldest first.
---@field drawing? gemini_bridge.Drawing How the CLI draws its screen, if it is a known one.
---@field ours? string The text in the CLI's prompt, if all of it was typed from here.
---@field settled? boolean Whether an unknown program is ready.
---@field last? string The last screen of an unknown program.
---@field since? { any: integer, same: integer } When something was first shown, and when the last screen was first
---shown.
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

--- Reads the screen of an unknown program.
---@param lines string[]
---@return gemini_bridge.Reading # "empty" if the program seems to be ready. The text is the whole screen.
function Lane:guess(lines)
  local text, now = screens.bare(table.concat(lines, "\n")), vim.uv.now()
  if text ~= self.last then
    self.last = text
    self.since = text ~= "" and { any = self.since and self.since.any or now, same = now } or nil
  end
  local since = self.since
  self.settled = self.settled or since and (now - since.same >= QUIET_MS or now - since.any >= MAX_START_MS)
  -- Whether a question is open is only known from the open reviews.
  local is_asking = #require("gemini-bridge.review.reviews").list() > 0
  return { state = is_asking and "question" or self.settled and "empty" or "absent", text = text }
end

--- Reads the screen. Must run in a task.
---@return gemini_bridge.Reading? # nil if the CLI has ended.
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

--- Whether a prompt can be typed now.
---@param reading gemini_bridge.Reading
---@param prompt gemini_bridge.Prompt
---@return boolean
function Lane:is_free(reading, prompt)
  if reading.state == "typed" then
    return not prompt.submit or self:is_ours(reading)
  end
  return reading.state == "empty"
end

--- Whether the user has not typed anything into the CLI's prompt.
---@param reading gemini_bridge.Reading
---@return boolean
function Lane:is_ours(reading)
  return reading.state == "empty" or reading.text == self.ours
end

--- Whether the end of a text occurs more often on the screen than before the text was typed.
---@param reading gemini_bridge.Reading
---@param before gemini_bridge.Reading
---@param tail string The end of the text, without blanks.
---@return boolean
function M.shows(reading, before, tail)
  return tail == ""
    or vim.iter({ tail, PASTE }):any(function(part)
      return count(reading.text, part) > count(before.text, part)
    end)
end

return M
