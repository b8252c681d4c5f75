--- Keeps the last prompts in a file that only the user can read.
local M = {}

--- Maximum number and total size of prompts. The newest one is always kept.
local MAX_PROMPTS, MAX_SIZE_BYTES = 50, 1024 * 1024

---@class gemini_bridge.PastPrompt
---@field text string
---@field time integer Seconds since 1970.

---@return string
local function path()
  return vim.fs.joinpath(vim.fn.stdpath("state"), "gemini-bridge-prompts.json")
end

---@param value any
---@return boolean
local function is_prompt(value)
  return type(value) == "table" and type(value.text) == "string" and type(value.time) == "number"
end

--- Writes a draft and renames it, so that another Neovim never reads an incomplete file.
---@param prompts gemini_bridge.PastPrompt[]
local function write(prompts)
  vim.fn.mkdir(vim.fs.dirname(path()), "p")
  local aside = ("%s.%d"):format(path(), vim.fn.getpid())
  vim.uv.fs_unlink(aside)
  local file, problem = vim.uv.fs_open(aside, "wx", tonumber("600", 8))
  if file then
    vim.uv.fs_write(file, vim.json.encode(prompts))
    vim.uv.fs_close(file)
    problem = select(2, vim.uv.fs_rename(aside, path()))
  end
  if problem then
    require("gemini-bridge.notify")("The prompt could not be saved for :GeminiPrompt!: " .. problem, "warn")
  end
end

--- Returns the last prompts, newest first.
---@return gemini_bridge.PastPrompt[]
function M.list()
  local ok, prompts = pcall(function()
    return vim.json.decode(table.concat(vim.fn.readfile(path()), "\n"))
  end)
  if not ok or type(prompts) ~= "table" or not vim.islist(prompts) then
    return {}
  end
  return vim.tbl_filter(is_prompt, prompts)
end

--- Adds a prompt as the newest, and removes an older one with the same text.
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
