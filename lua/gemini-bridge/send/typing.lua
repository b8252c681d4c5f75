--- Types a prompt, and presses Enter only when the program has taken the text.
local M = {}

--- How often and how long the screen is looked at (milliseconds).
local INTERVAL, TIMEOUT = 50, 3000
--- Gemini CLI 0.61.0 takes Enter for a line break for 40 ms after a paste (milliseconds).
local PAUSE = 150
--- So much of the text's end is looked for, without blanks, for the program wraps it.
local TAIL = 20
--- What Gemini CLI shows instead of a long paste.
local PLACEHOLDER = "[PastedText:"

---@param text string
---@return string
local function bare(text)
  return (text:gsub("[%s│▌┃|]", ""))
end

---@param screen string
---@param text string
---@return integer # How often it is there.
local function count(screen, text)
  local _, found = bare(screen):gsub(vim.pesc(text), "")
  return found
end

---@param target gemini_bridge.Target
---@param before string The screen before the paste.
---@param text string
---@param done fun(shown: boolean)
local function when_shown(target, before, text, done)
  local tail = bare(text)
  tail = vim.fn.strcharpart(tail, math.max(0, vim.fn.strchars(tail) - TAIL))
  local deadline = vim.uv.now() + TIMEOUT
  local function look()
    target.screen(function(screen)
      if
        count(screen, tail) > count(before, tail)
        or count(screen, PLACEHOLDER) > count(before, PLACEHOLDER)
      then
        done(true)
      elseif vim.uv.now() > deadline then
        done(false)
      else
        vim.defer_fn(look, INTERVAL)
      end
    end)
  end
  look()
end

--- Pastes a text and, when asked, presses Enter. Enter is kept back when the text does not appear: then something else
--- than the prompt has the keyboard, a question perhaps, to which Enter would be an answer.
---@param target gemini_bridge.Target
---@param text string
---@param submit? boolean
---@param done fun(problem?: string)
function M.type(target, text, submit, done)
  target.screen(function(before)
    target.paste(text, function(problem)
      if problem or not submit then
        return done(problem)
      end
      when_shown(target, before, text, function(shown)
        if not shown then
          return done("The CLI did not take the prompt: Enter was not pressed.")
        end
        vim.defer_fn(function()
          target.enter()
          done()
        end, PAUSE)
      end)
    end)
  end)
end

return M
