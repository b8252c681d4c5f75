--- What CLIs draw: whether their prompt takes a text, what is typed in it, or what else has the keyboard.
local M = {}

--- How a CLI draws; Lua patterns of single lines.
---@class gemini_bridge.Drawing
---@field prompt string The first line of its prompt; captures the sign in front of what is typed.
---@field other string[] The same of prompts that take no message: of a shell, of a search.
---@field placeholders string[] What is there while nothing is typed.
---@field message string A message that was sent before: what stands above is over.
---@field question string A choice that Enter would take.
---@field elsewhere? string Said while keys go to something else than the prompt.

--- What the screen says.
---@class gemini_bridge.Reading
---@field state "empty"|"typed"|"menu"|"question"|"elsewhere"|"absent" "menu" when a list of completions is open below
---what is typed; "absent" when there is no prompt.
---@field text string What is typed in the prompt, without blanks; "" where there is none.
---@field height? integer Lines of the prompt, blank ones too; none where nothing is typed, or nothing stands below.

--- By the CLI that others descend from. Gemini CLI 0.61.0: `InputPrompt`, `BaseSelectionList`, `FocusHint`. Qwen Code
--- 0.24.4 speaks many languages, but its placeholder is always set off by two more blanks.
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

--- Below the prompt there are at most so many lines, a rule and the footer; more are a menu.
local FOOTER = 5

--- What rules and the edges of a coloured background are drawn with.
local RULES = { "─", "▀", "▄" }

--- A text as it is compared: control characters do not get through, wrapping adds blanks and borders, and a cursor may
--- be a blank of no width.
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

--- The last line that matches one of the patterns, at or above a line.
---@param lines string[]
---@param from integer 1-based.
---@param patterns string[]
---@return integer # 0 when there is none.
local function last(lines, from, patterns)
  for index = from, 1, -1 do
    if matches(lines[index], patterns) then
      return index
    end
  end
  return 0
end

--- What is typed. Further lines of a text are indented by as much as the sign takes; what the CLI prints below a
--- message that was sent begins at the edge.
---@param lines string[]
---@param at integer The prompt's first line.
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
  return { state = below > FOOTER and "menu" or "typed", text = shown, height = height }
end

--- Reads a screen.
---@param lines string[] From top to bottom.
---@param drawing gemini_bridge.Drawing
---@return gemini_bridge.Reading
function M.read(lines, drawing)
  local at = last(lines, #lines, vim.list_extend({ drawing.prompt }, drawing.other))
  -- A question may stand above the prompt, too.
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

--- The CLI that a screen is of, known by an empty prompt or a question.
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
