--- The last prompts, kept in a file that only the user can read.
local M = {}

--- So many are kept, while they are not larger than this together (bytes); the newest one always is.
local MAX_PROMPTS, MAX_SIZE = 50, 1024 * 1024

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

--- Writes beside the file and renames, so that another Neovim never reads half of it.
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
    require("gemini-bridge.notify")("The prompt is not among the last ones: " .. problem, "warn")
  end
end

--- The last prompts, the newest first.
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

--- Adds a prompt. One that is there already becomes the newest.
---@param text string
function M.add(text)
  text = vim.trim(text)
  if text == "" then
    return
  end
  local prompts, size = { { text = text, time = os.time() } }, #text
  for _, prompt in ipairs(M.list()) do
    size = size + #prompt.text
    if prompt.text ~= text and #prompts < MAX_PROMPTS and size <= MAX_SIZE then
      prompts[#prompts + 1] = prompt
    end
  end
  write(prompts)
end

return M
