--- Stores the last prompts.
local store = require("gemini-bridge.disk.store")

local M = {}

--- Maximum number of prompts, and maximum total size. The newest prompt is kept even if it is larger.
local MAX_PROMPTS, MAX_SIZE_BYTES = 50, 1024 * 1024

---@class gemini_bridge.PastPrompt
---@field text string
---@field time integer Seconds since 1970.

local NAME = "gemini-bridge-prompts"

---@param value any
---@return boolean
local function is_prompt(value)
  return type(value) == "table" and type(value.text) == "string" and type(value.time) == "number"
end

--- Saves the prompts.
---@param prompts gemini_bridge.PastPrompt[]
local function write(prompts)
  local problem = store.write(NAME, prompts)
  if problem then
    require("gemini-bridge.notify")(
      "The prompt was not saved, and :GeminiPrompt! cannot restore it: " .. problem,
      "warn"
    )
  end
end

--- Returns the last prompts, newest first.
---@return gemini_bridge.PastPrompt[]
function M.list()
  return store.read_list(NAME, is_prompt)
end

--- Adds the newest prompt. Removes an older prompt with the same text.
---@param text string
function M.add(text)
  text = vim.trim(text)
  if text == "" then
    return
  end
  local prompts = vim.tbl_filter(function(prompt)
    return prompt.text ~= text
  end, M.list())
  table.insert(prompts, 1, { text = text, time = os.time() })
  write(store.fitting(prompts, MAX_PROMPTS, MAX_SIZE_BYTES, function(prompt)
    return #prompt.text
  end))
end

return M
