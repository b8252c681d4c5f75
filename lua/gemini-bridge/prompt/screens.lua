--- Reads the screens of CLIs: whether the prompt accepts text, what is typed in it, and what else has the keyboard.
local M = {}

--- How a CLI draws its screen, as Lua patterns for single lines.
---@class gemini_bridge.Drawing
---@field prompt string The first line of the prompt. Captures the sign before the text.
---@field other string[] The first line of prompts that accept no message: of a shell or a search.
---@field placeholders string[] The text of an empty prompt.
---@field message string The first line of a sent message. Questions above it are closed.
---@field question string A choice that Enter would select.
---@field elsewhere? string Shown while keys do not go to the prompt.

--- The state of a screen.
---@class gemini_bridge.Reading
---@field state "empty"|"typed"|"menu"|"question"|"elsewhere"|"absent" "menu": a list of completions is open below the
---text. "absent": there is no prompt.
---@field text string The text in the prompt, without blanks.
---@field height? integer Number of lines of the prompt, including blank ones. nil if it is empty or ends the screen.

--- By known CLI. Gemini CLI 0.61.0: `InputPrompt`, `BaseSelectionList`, `FocusHint`. Qwen Code 0.24.4 is translated to
--- many languages, but always draws two more blanks before the placeholder.
---@type table<string, gemini_bridge.Drawing>
M.drawings = {
  gemini = {
    prompt = "^ ?([>*]) ",
    other = { "^ ?! ", "^ ?%(r:%) " },
    placeholders = {
      "^ +Type your message or ",
      "^ +Press 'Esc' for NORMAL mode%.",
      "^ +Press 'i' for INSERT mode%.",
    },
    message = "^ ?[>*] ",
    question = "^│ +● +%d+%. ",
    elsewhere = " to unfocus%)",
  },
  qwen = {
    prompt = "^([>*]) ",
    other = { "^! ", "^%(r:%) " },
    placeholders = { "^   ?%S" },
    message = "^  > ",
    question = "^ +› +%d+%. ",
  },
}

--- Maximum number of lines below the prompt, a rule and the footer. More lines are a menu.
local MAX_FOOTER_LINES = 5

--- Characters of rules and of the edges of a coloured background.
local RULES = { "─", "▀", "▄" }

--- Removes what a screen may add or drop in a text: blanks and borders from wrapping, control characters, and a cursor
--- drawn as a zero-width blank.
---@param text string
---@return string
function M.bare(text)
  for _, mark in ipairs({ "[%s%c|]", "│", "▌", "┃", "\226\128\139" }) do
    text = text:gsub(mark, "")
  end
  return text
end

---@param line string
---@return boolean
local function is_rule(line)
  return vim.iter(RULES):any(function(rule)
    return vim.startswith(line, rule)
  end)
end

---@param text string
---@param patterns string[]
---@return boolean
local function matches(text, patterns)
  return vim.iter(patterns):any(function(pattern)
    return text:find(pattern) ~= nil
  end)
end

--- Returns the last line that matches one of the patterns, at or above a line.
---@param lines string[]
---@param from integer 1-based.
---@param patterns string[]
---@return integer # 0 without a match.
local function last(lines, from, patterns)
  for index = from, 1, -1 do
    if matches(lines[index], patterns) then
      return index
    end
  end
  return 0
end

--- Reads the text in the prompt. Its further lines are indented by the width of the sign. A line without indent is
--- output below a sent message, so that there is no prompt.
---@param lines string[]
---@param at integer The first line of the prompt.
---@param drawing gemini_bridge.Drawing
---@return gemini_bridge.Reading
local function typed(lines, at, drawing)
  local text, below, inside = { (lines[at]:gsub(drawing.prompt, "", 1)) }, 0, true
  local height ---@type integer?
  for index = at + 1, #lines do
    local line = lines[index]
    if line:find("%S") then
      inside = inside and line:find("^  +%S") ~= nil
      if inside then
        text[#text + 1] = line
      else
        below, height = below + 1, height or index - at
        if not (line:find("^ ") or is_rule(line)) then
          return { state = "absent", text = "" }
        end
      end
    end
  end
  local shown = M.bare(table.concat(text))
  if shown == "" then
    return { state = "empty", text = "" }
  end
  return { state = below > MAX_FOOTER_LINES and "menu" or "typed", text = shown, height = height }
end

--- Reads a screen.
---@param lines string[] From top to bottom.
---@param drawing gemini_bridge.Drawing
---@return gemini_bridge.Reading
function M.read(lines, drawing)
  local at = last(lines, #lines, vim.list_extend({ drawing.prompt }, drawing.other))
  -- A question may also be above the prompt.
  for index = last(lines, at - 1, { drawing.message }) + 1, #lines do
    if matches(lines[index], { drawing.question }) then
      return { state = "question", text = "" }
    elseif matches(lines[index], { drawing.elsewhere }) then
      return { state = "elsewhere", text = "" }
    end
  end
  if at == 0 then
    return { state = "absent", text = "" }
  elseif matches(lines[at], drawing.other) then
    return { state = "elsewhere", text = "" }
  elseif matches(lines[at]:gsub(drawing.prompt, "", 1), drawing.placeholders) then
    return { state = "empty", text = "" }
  end
  return typed(lines, at, drawing)
end

--- Recognizes a CLI by an empty prompt or a question.
---@param lines string[]
---@return gemini_bridge.Drawing?
function M.recognize(lines)
  for _, name in ipairs({ "gemini", "qwen" }) do
    local state = M.read(lines, M.drawings[name]).state
    if state == "empty" or state == "question" then
      return M.drawings[name]
    end
  end
end

return M
