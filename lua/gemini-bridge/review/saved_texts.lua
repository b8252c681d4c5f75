--- Saves proposals that would be lost: the user has edited or accepted the text, but the file on disk does not contain
--- the text. Each text gets a file that only the user can read. For a week, |:GeminiReview| and `:edit` with the name
--- of the text's buffer show the text, also in a later Neovim. Each text has its own file, because several Neovims may
--- exit at the same time.
local choose = require("gemini-bridge.editor.choose")
local drafts = require("gemini-bridge.review.drafts")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local records = require("gemini-bridge.review.records")
local scheduler = require("gemini-bridge.editor.scheduler")
local store = require("gemini-bridge.disk.store")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Maximum total size of the saved texts. The newest text is kept even if this text alone is larger.
local MAX_SIZE_BYTES = 8 * 1024 * 1024
--- Delay between an edit of a saved text and the next save. Saving only at |VimLeavePre| could lose edits, because this
--- event does not fire if Neovim is killed.
local SAVE_DELAY_MS = 200

local DIRECTORY = "gemini-bridge-kept"
local PREFIX = "gemini://kept/"

---@class gemini_bridge.KeptText
---@field id integer Number that is a part of the buffer name and the file name.
---@field path string Absolute path of the file that the proposal was for.
---@field text string
---@field is_unsaved? boolean True if the last write has failed, for example because the disk was full.
---@field deleted? boolean True if the user has deleted the buffer. `restore` and `show` leave out such texts.
---@field quiet? boolean True if the file was written after the user's decision. `restore` leaves out such texts.

--- Texts that this Neovim has saved or loaded, by id. Kept in memory, because writing a file may fail.
---@type table<integer, gemini_bridge.KeptText>
local own = {}

---@param id integer
---@return string
local function name_of(id)
  return DIRECTORY .. "/" .. id
end

---@param kept gemini_bridge.KeptText
local function save(kept)
  local saved = { path = kept.path, text = kept.text, deleted = kept.deleted, quiet = kept.quiet }
  kept.is_unsaved = store.write(name_of(kept.id), saved) ~= nil
end

--- Reads a saved text. Deletes the text if it is older than a week.
---@param id integer
---@return gemini_bridge.KeptText?
local function load(id)
  store.expire(name_of(id))
  local saved = store.read(name_of(id))
  if saved and type(saved.path) == "string" and type(saved.text) == "string" then
    local is_deleted, is_quiet = saved.deleted == true, saved.quiet == true
    return { id = id, path = saved.path, text = saved.text, deleted = is_deleted, quiet = is_quiet }
  end
end

--- Returns all saved texts, newest first: the texts of this Neovim and the texts in files.
---@return gemini_bridge.KeptText[]
local function all()
  local texts = vim.tbl_values(own)
  for _, id in ipairs(store.numbers(DIRECTORY)) do
    if not own[id] then
      texts[#texts + 1] = load(id)
    end
  end
  table.sort(texts, function(a, b)
    return a.id > b.id
  end)
  return texts
end

--- Saves a text again if the user has edited its buffer, or if the text could not be saved before.
---@param kept gemini_bridge.KeptText
---@param buf integer
local function save_edits(kept, buf)
  local now = vim.api.nvim_buf_is_loaded(buf) and text.read(buf) or kept.text
  if now ~= kept.text or kept.is_unsaved then
    kept.text = now
    save(kept)
  end
end

--- Fills a buffer with a saved text. Saves later edits of the buffer. After the user has deleted the buffer, `restore`
--- leaves out the text.
---@param buf integer
---@param kept gemini_bridge.KeptText
local function fill(buf, kept)
  own[kept.id] = kept
  if kept.deleted then
    kept.deleted = nil
    save(kept)
  end
  local options = vim.bo[buf]
  options.buftype, options.bufhidden, options.swapfile, options.buflisted = "nofile", "hide", false, true
  text.fill(buf, kept.text)
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = scheduler.coalesce(function()
      save_edits(kept, buf)
    end, SAVE_DELAY_MS),
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = vim.api.nvim_create_augroup("gemini-bridge.kept." .. buf, {}),
    buffer = buf,
    once = true,
    callback = function()
      if vim.v.exiting == vim.NIL then
        save_edits(kept, buf)
        kept.deleted = true
        save(kept)
      end
    end,
  })
end

---@param kept gemini_bridge.KeptText
---@return string
local function buffer_name(kept)
  -- Replaces characters that |:edit| would expand. Two files may get the same last part, because `M.read` finds a text
  -- only by its id.
  return PREFIX .. kept.id .. "/" .. vim.fs.basename(kept.path):gsub("[^%w._\128-\255-]", "_")
end

--- Removes what CLIs and formatters change: byte order mark, line endings and final newline.
---@param bytes string
---@return string
local function plain(bytes)
  return (bytes:gsub("^\239\187\191", ""):gsub("\r\n", "\n"):gsub("\n$", ""))
end

--- Returns true if the file on disk contains the text of a draft.
---@param draft gemini_bridge.Draft
---@return boolean
function M.is_written(draft)
  local bytes = path.bytes(draft.filePath)
  return bytes ~= nil and (bytes == draft.content or plain(bytes) == plain(draft.content))
end

--- Returns the saved texts that the user may still need, newest first.
---@return gemini_bridge.KeptText[]
local function needed()
  return vim.tbl_filter(function(kept)
    return not kept.deleted and not M.is_written({ filePath = kept.path, content = kept.text })
  end, all())
end

--- Saves a text, unless the file on disk contains the text. Deletes the oldest texts if the total size exceeds the
--- maximum.
---@param draft gemini_bridge.Draft
---@return gemini_bridge.KeptText?
local function add(draft)
  if M.is_written(draft) then
    return
  end
  local earlier, content = all(), draft.content
  local same = vim.iter(earlier):find(function(kept)
    return kept.path == draft.filePath and kept.text == content
  end)
  local id = same and same.id or earlier[1] and earlier[1].id + 1 or 1
  while not same and store.create(name_of(id)) == "EEXIST" do
    id = id + 1 -- another Neovim has just used this id
  end
  -- Uses the same record as the buffer of this text, so that deleting the buffer deletes the text.
  local added = same or { id = id, path = draft.filePath, text = content }
  added.quiet = draft.version ~= nil and draft.version ~= path.version(draft.filePath)
  added.deleted, own[id] = nil, added
  save(added)
  local size = #content
  for _, kept in ipairs(earlier) do
    size = size + #kept.text
    if size > MAX_SIZE_BYTES and kept.id ~= id then
      store.delete(name_of(kept.id))
    end
  end
  return added
end

--- Loads a saved text into a new hidden buffer.
---@param kept gemini_bridge.KeptText
---@return string name Name of the buffer.
local function open(kept)
  local name = buffer_name(kept)
  if vim.fn.bufexists(name) == 0 then
    local buf = window.create_buffer(true, true)
    window.set_name(buf, name)
    fill(buf, kept)
  end
  return name
end

--- Saves a text, unless the file on disk contains the text. Works at any moment: only the new buffer may have to wait.
---@param draft gemini_bridge.Draft
---@return string? command Ex command that shows the text. nil if the user does not need a message: the file contains
--- the text, or was written with another text after the user's decision.
function M.keep(draft)
  local kept = add(draft)
  if not kept or kept.quiet then
    return
  end
  scheduler.now(function()
    open(kept)
  end)
  return ":edit " .. buffer_name(kept)
end

--- Shows a saved text in a new window. Lets the user choose if there are several texts.
---@param file? string Path of a file as the user types it. Default: all files below the current directory.
---@return boolean found False if there is no text.
function M.show(file)
  local cwd = vim.fn.getcwd()
  local texts = vim.tbl_filter(function(kept)
    return file and path.is_same(file, kept.path) or not file and path.is_below(kept.path, cwd)
  end, needed())
  local function go(kept)
    scheduler.now(function()
      local buf = vim.fn.bufnr("^" .. open(kept) .. "$")
      local win = vim.fn.win_findbuf(buf)[1]
      if win then
        vim.api.nvim_set_current_win(win)
      else
        vim.api.nvim_open_win(buf, true, { win = window.base(), split = "below" })
      end
    end)
  end
  if #texts < 2 then
    vim.iter(texts):each(go)
    return #texts == 1
  end
  choose(texts, {
    prompt = "Your edits of a proposal that was not written:",
    format_item = function(kept)
      local at = store.time(name_of(kept.id))
      return path.display(kept.path) .. (at and os.date(" (%d %b %H:%M)", at) or "")
    end,
  }, function(choice)
    if choice then
      go(choice)
    end
  end)
  return true
end

--- Handles BufReadCmd for the name of a saved text: fills the buffer with the text.
---@param args { buf: integer, match: string } Arguments of the autocommand.
function M.read(args)
  local id = tonumber(args.match:match("^gemini://kept/(%d+)")) or 0
  local kept = own[id] or load(id)
  if kept then
    fill(args.buf, kept)
  else
    notify("The text of this buffer no longer exists: saved texts are deleted after a week.", "warn")
  end
end

-- Saves all texts when Neovim exits.
vim.api.nvim_create_autocmd("VimLeavePre", {
  group = vim.api.nvim_create_augroup("gemini-bridge.kept", {}),
  callback = function()
    for _, draft in ipairs(records.unsaved()) do
      add(draft)
    end
    drafts.delete()
    for _, kept in pairs(own) do
      save_edits(kept, vim.fn.bufnr("^" .. buffer_name(kept) .. "$"))
    end
  end,
})

--- Opens the texts that an earlier Neovim saved for files below the current directory. Shows the commands to edit these
--- texts.
function M.restore()
  local texts = vim.tbl_filter(function(kept)
    return not kept.quiet and not own[kept.id]
  end, needed())
  for _, draft in ipairs(drafts.take_over()) do
    local kept = add(draft)
    texts[#texts + 1] = kept and not kept.quiet and kept or nil
  end
  local cwd = vim.fn.getcwd()
  local earlier = vim.tbl_filter(function(kept)
    return path.is_below(kept.path, cwd)
  end, texts)
  if #earlier == 0 then
    return
  end
  scheduler.now(function()
    local commands = vim.tbl_map(function(kept)
      return ":edit " .. open(kept)
    end, earlier)
    notify(
      ("Your edits of proposals from an earlier session were saved. Open them with %s"):format(
        table.concat(commands, " | ")
      ),
      "warn"
    )
  end)
end

return M
