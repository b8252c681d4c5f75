--- Keeps texts that the user typed into a proposal whose review ended without a decision: in a buffer, and over the end
--- of Neovim in a file that only the user can read.
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local safely = require("gemini-bridge.editor.safely")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

local MAX_AGE_S = 7 * 24 * 3600
local MAX_SIZE_BYTES = 8 * 1024 * 1024

---@class gemini_bridge.KeptText
---@field path string Absolute path of the file that the proposal was for.
---@field text string
---@field time integer Seconds since 1970.

--- Buffers that hold kept texts, with the file that each was for.
---@type table<integer, string>
local buffers = {}

---@return string
local function store()
  return vim.fs.joinpath(vim.fn.stdpath("state"), "gemini-bridge-kept.json")
end

---@return gemini_bridge.KeptText[]
local function read()
  local ok, texts = pcall(function()
    return vim.json.decode(path.bytes(store()) or "[]")
  end)
  if not ok or type(texts) ~= "table" or not vim.islist(texts) then
    return {}
  end
  return vim.tbl_filter(function(kept)
    return type(kept) == "table"
      and type(kept.path) == "string"
      and type(kept.text) == "string"
      and type(kept.time) == "number"
      and os.time() - kept.time < MAX_AGE_S
  end, texts)
end

--- Writes beside the file and renames, so that another Neovim never reads half of it.
---@param texts gemini_bridge.KeptText[] The newest first. The oldest go when there are too many.
local function write(texts)
  local size = 0
  texts = vim.tbl_filter(function(kept)
    size = size + #kept.text
    return size <= MAX_SIZE_BYTES
  end, texts)
  vim.fn.mkdir(vim.fs.dirname(store()), "p")
  local aside = ("%s.%d"):format(store(), vim.fn.getpid())
  vim.uv.fs_unlink(aside)
  local file = vim.uv.fs_open(aside, "wx", tonumber("600", 8))
  if file then
    vim.uv.fs_write(file, vim.json.encode(texts))
    vim.uv.fs_close(file)
    vim.uv.fs_rename(aside, store())
  end
end

--- Saves the kept texts that are still in buffers, and `more`.
---@param more gemini_bridge.KeptText[]
local function save(more)
  for buf, file in pairs(buffers) do
    if vim.api.nvim_buf_is_loaded(buf) then
      table.insert(more, 1, { path = file, text = text.read(buf), time = os.time() })
    end
  end
  if #more > 0 then
    write(vim.list_extend(more, read()))
  end
end

--- Puts a text into a new listed buffer that no window shows. Only when buffers may be touched.
---@param file string Absolute path of the file that the text was meant for.
---@param content string
---@return integer buf
function M.keep(file, content)
  local buf = window.create_buffer(true, true)
  text.write(buf, content)
  window.set_name(buf, ("gemini://kept/%d/%s"):format(buf, path.relative(file)))
  buffers[buf] = file
  return buf
end

--- Saves texts over the end of Neovim.
---@param edited fun(): { filePath: string, content: string }[] The edited proposals that are pending then.
function M.save_on_exit(edited)
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("gemini-bridge.kept", {}),
    callback = function()
      save(vim.tbl_map(function(proposal)
        return { path = proposal.filePath, text = proposal.content, time = os.time() }
      end, edited()))
    end,
  })
end

--- Puts the texts that were saved for files below the current directory back into buffers, and tells the user.
function M.restore()
  local texts = read()
  if #texts == 0 then
    return
  end
  safely.run(function()
    local cwd, others, names = vim.fn.getcwd(), {}, {}
    for _, kept in ipairs(texts) do
      if path.is_below(kept.path, cwd) then
        local buf = M.keep(kept.path, kept.text)
        names[#names + 1] = ("%s in buffer %d"):format(path.display(kept.path, 24), buf)
      else
        others[#others + 1] = kept
      end
    end
    if #names > 0 then
      write(others)
      notify(("Your edits of a proposal from before Neovim ended: %s"):format(table.concat(names, ", ")))
    end
  end)
end

return M
