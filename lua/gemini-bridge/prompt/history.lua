--- Stores the last prompts in a file that only the user can read.
local private_file = require("gemini-bridge.disk.private_file")

local M = {}

--- Maximum number of prompts, and maximum total size. The newest prompt is kept even if it is larger.
local MAX_PROMPTS, MAX_SIZE_BYTES = 50, 1024 * 1024

---@class gemini_bridge.PastPrompt
---@field text string
---@field time integer Seconds since 1970.

local PATH = vim.fs.joinpath(vim.fn.stdpath("state"), "gemini-bridge-prompts.json")

---@param value any
---@return boolean
local function is_prompt(value)
  return type(value) == "table" and type(value.text) == "string" and type(value.time) == "number"
end

--- Saves the prompts.
---@param prompts gemini_bridge.PastPrompt[]
local function write(prompts)
  local problem = private_file.write(PATH, vim.json.encode(prompts))
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
  return private_file.read_list(PATH, is_prompt)
end

--- Adds the newest prompt. Removes an older prompt with the same text.
---@param text string
function M.add(text)
  text = vim.trim(text)
  if text == "" then
    return
  end
  local prompts, size = { { text = text, time = os.time() } }, #text
  for _, prompt in ipairs(M.list()) do
    size = size + #prompt.text
    if prompt.text ~= text and #prompts < MAX_PROMPTS and size <= MAX_SIZE_BYTES then
      prompts[#prompts + 1] = prompt
    end
  end
  write(prompts)
end

return M
