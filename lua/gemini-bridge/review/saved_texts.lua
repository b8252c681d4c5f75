--- Saves the user's texts when their reviews end: each in a buffer, and all in a file that only the user can read.
--- `:edit` with the name of the buffer restores a text for a week, also in a later Neovim.
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local private_file = require("gemini-bridge.disk.private_file")
local scheduler = require("gemini-bridge.editor.scheduler")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

local MAX_AGE_S = 7 * 24 * 3600
--- Maximum total size of the saved texts. The newest is kept even if it is larger.
local MAX_SIZE_BYTES = 8 * 1024 * 1024

local PREFIX = "gemini://kept/"

---@class gemini_bridge.KeptText
---@field id integer Part of the buffer's name.
---@field path string Absolute path of the file that the text was for.
---@field text string
---@field time integer Seconds since 1970.
---@field deleted? boolean The user has deleted the buffer: `restore` must not open it again.

--- Texts saved by this Neovim, by id. Available even if the file cannot be written.
---@type table<integer, gemini_bridge.KeptText>
local own = {}

---@return string
local function store()
  return vim.fs.joinpath(vim.fn.stdpath("state"), "gemini-bridge-kept.json")
end

---@param kept any
---@return boolean
local function is_valid(kept)
  return type(kept) == "table"
    and type(kept.id) == "number"
    and type(kept.path) == "string"
    and type(kept.text) == "string"
    and type(kept.time) == "number"
    and os.time() - kept.time < MAX_AGE_S
end

--- Returns all saved texts, newest first: those of this Neovim and those in the file.
---@return gemini_bridge.KeptText[]
local function all()
  local saved = private_file.read_list(store(), function(kept)
    return is_valid(kept) and not own[kept.id]
  end)
  local texts = vim.list_extend(vim.tbl_values(own), saved)
  table.sort(texts, function(a, b)
    return a.id > b.id
  end)
  return texts
end

local function save()
  local size = 0
  local texts = vim.tbl_filter(function(kept)
    size = size + #kept.text
    return size <= MAX_SIZE_BYTES or size == #kept.text
  end, all())
  private_file.write(store(), vim.json.encode(texts))
end

--- Updates a saved text from its buffer, which the user may have edited.
---@param kept gemini_bridge.KeptText
---@param buf integer
local function take_edits(kept, buf)
  local now = text.read(buf)
  if now ~= kept.text then
    kept.text, kept.time = now, os.time()
  end
end

--- Fills a buffer with a saved text.
---@param buf integer
---@param kept gemini_bridge.KeptText
local function fill(buf, kept)
  own[kept.id], kept.deleted = kept, nil
  local options = vim.bo[buf]
  options.buftype, options.bufhidden, options.swapfile, options.buflisted = "nofile", "hide", false, true
  text.fill(buf, kept.text)
  vim.api.nvim_create_autocmd("BufUnload", {
    group = vim.api.nvim_create_augroup("gemini-bridge.kept." .. buf, {}),
    buffer = buf,
    once = true,
    callback = function()
      if vim.v.exiting == vim.NIL then
        take_edits(kept, buf)
        kept.deleted = true
        save()
      end
    end,
  })
end

---@param kept gemini_bridge.KeptText
---@return string
local function buffer_name(kept)
  -- Only the id identifies the text. Replaces characters that |:edit| would expand in the name of the file.
  return PREFIX .. kept.id .. "/" .. vim.fs.basename(kept.path):gsub("[^%w._\128-\255-]", "_")
end

---@param file string Absolute path of the file that the text was for.
---@param content string
---@return gemini_bridge.KeptText
local function add(file, content)
  local newest = all()[1]
  local kept = { id = newest and newest.id + 1 or 1, path = file, text = content, time = os.time() }
  own[kept.id] = kept
  return kept
end

--- Loads a text into a new hidden buffer.
---@param kept gemini_bridge.KeptText
---@return string command Command that shows the buffer in a window.
local function open(kept)
  local name = buffer_name(kept)
  if vim.fn.bufexists(name) == 0 then
    local buf = window.create_buffer(true, true)
    window.set_name(buf, name)
    fill(buf, kept)
  end
  return ":edit " .. name
end

--- Saves a text. Call only while buffers may be changed.
---@param file string Absolute path of the file that the text was for.
---@param content string
---@return string command Command that shows the text.
function M.keep(file, content)
  local kept = add(file, content)
  save()
  return open(kept)
end

--- Fills a buffer that has the name of a saved text (BufReadCmd).
---@param args { buf: integer, match: string }
function M.read(args)
  local id = tonumber(args.match:match("^gemini://kept/(%d+)"))
  local kept = vim.iter(all()):find(function(kept)
    return kept.id == id
  end)
  if kept then
    fill(args.buf, kept)
  else
    notify("This text was deleted: texts are kept for a week.", "warn")
  end
end

--- Saves all texts when Neovim exits.
---@param unsaved fun(): { filePath: string, content: string }[] Returns the texts that exist only in reviews.
function M.save_on_exit(unsaved)
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("gemini-bridge.kept", {}),
    callback = function()
      for _, proposal in ipairs(unsaved()) do
        add(proposal.filePath, proposal.content)
      end
      for _, kept in pairs(own) do
        local buf = vim.fn.bufnr("^" .. buffer_name(kept) .. "$")
        if buf > 0 and vim.api.nvim_buf_is_loaded(buf) then
          take_edits(kept, buf)
        end
      end
      if next(own) then
        save()
      end
    end,
  })
end

--- Opens the texts that an earlier Neovim saved for files in the current directory, and tells the user.
function M.restore()
  local cwd = vim.fn.getcwd()
  local earlier = vim.tbl_filter(function(kept)
    return not kept.deleted and not own[kept.id] and path.is_below(kept.path, cwd)
  end, all())
  if #earlier == 0 then
    return
  end
  scheduler.now(function()
    local commands = vim.tbl_map(open, earlier)
    notify(
      ("Your edited proposals of an earlier session are kept: %s"):format(table.concat(commands, " | ")),
      "warn"
    )
  end)
end

return M
