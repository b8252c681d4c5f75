--- Queues prompts for CLIs and delivers them in order. The text of an undelivered prompt goes to the prompt history.
local delivery = require("gemini-bridge.prompt.delivery")
local destination = require("gemini-bridge.prompt.destination")
local history = require("gemini-bridge.prompt.history")
local lane = require("gemini-bridge.prompt.lane")
local notify = require("gemini-bridge.notify")
local reference = require("gemini-bridge.prompt.reference")
local safely = require("gemini-bridge.editor.safely")
local task = require("gemini-bridge.prompt.task")

local M = {}

--- Prompts without a CLI yet.
---@type gemini_bridge.Prompt[]
local homeless = {}

--- By the key of the target. Lanes are kept, because the state of a screen also matters for the next prompt.
---@type table<any, gemini_bridge.Lane>
local lanes = {}

---@param prompt gemini_bridge.Prompt
---@param cwd? string The CLI's directory, if known.
---@return string
local function text_of(prompt, cwd)
  return reference.prompt(prompt.items, cwd or vim.fn.getcwd(), prompt.text)
end

--- Saves the texts of undelivered prompts in the history.
---@param prompts gemini_bridge.Prompt[]
---@param cwd? string
---@param why string
local function keep(prompts, cwd, why)
  for _, prompt in ipairs(prompts) do
    if not prompt.taken_back then
      history.add(text_of(prompt, cwd))
      notify(why .. " Get it back with :GeminiPrompt!", "warn")
    end
  end
end

--- Delivers the prompts of a lane. Must run in a task.
---@param here gemini_bridge.Lane
local function work(here)
  while here.prompts[1] do
    local prompt = here.prompts[1]
    local ok, is_there, problem = pcall(delivery.deliver, here, prompt)
    if not ok then
      is_there, problem = false, "The prompt was not sent: " .. safely.reason(is_there)
    end
    table.remove(here.prompts, 1)
    if is_there and problem then
      notify(problem, "warn")
    elseif not is_there then
      keep(
        { prompt },
        here.target.cwd,
        problem or ("The prompt was not sent: %s has ended."):format(here.target.name)
      )
    end
  end
end

---@param target gemini_bridge.Target
---@param program string
---@param prompts gemini_bridge.Prompt[]
local function enqueue(target, program, prompts)
  local here = lanes[target.key] or lane.new(target, program)
  lanes[target.key] = here
  local was_idle = #here.prompts == 0
  for _, prompt in ipairs(prompts) do
    prompt.waits = "the earlier prompts are delivered"
  end
  vim.list_extend(here.prompts, prompts)
  if was_idle then
    work(here)
  end
end

--- Queues a prompt.
---@param prompt gemini_bridge.Prompt
function M.add(prompt)
  prompt.waits = "a CLI is found"
  homeless[#homeless + 1] = prompt
  if #homeless > 1 then
    return
  end
  task.start(function()
    local target, program = destination.find()
    local found = homeless
    homeless = {}
    if not target then
      return keep(found, nil, "The prompt was not sent: no CLI is running.")
    end
    if require("gemini-bridge.config").get().send.focus then
      safely.run(target.focus)
    end
    enqueue(target, program, found)
  end)
end

---@param visit fun(prompt: gemini_bridge.Prompt, target?: gemini_bridge.Target)
local function each(visit)
  for _, here in pairs(lanes) do
    for _, prompt in ipairs(here.prompts) do
      visit(prompt, here.target)
    end
  end
  for _, prompt in ipairs(homeless) do
    visit(prompt)
  end
end

--- Returns the waiting prompts.
---@return { text: string, name?: string, waits?: string }[] # Text, name of the CLI, and reason for waiting.
function M.list()
  local waiting = {}
  each(function(prompt, target)
    waiting[#waiting + 1] = {
      text = text_of(prompt, target and target.cwd),
      name = target and target.name,
      waits = prompt.waits,
    }
  end)
  return waiting
end

--- Cancels all waiting prompts. Their text goes into the unnamed register and the prompt history.
function M.cancel()
  local texts = {}
  each(function(prompt, target)
    prompt.taken_back = true
    texts[#texts + 1] = text_of(prompt, target and target.cwd)
    history.add(texts[#texts])
  end)
  if #texts == 0 then
    return notify("No prompts are waiting.")
  end
  vim.fn.setreg('"', table.concat(texts, "\n"))
  notify(('%d %s cancelled. Register " has the text.'):format(#texts, #texts == 1 and "prompt" or "prompts"))
end

return M
