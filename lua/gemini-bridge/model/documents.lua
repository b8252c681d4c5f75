--- Loads files for language servers. Files that are not open are loaded into hidden buffers, which are unloaded later.
local disk = require("gemini-bridge.disk.path")
local reload = require("gemini-bridge.disk.reload")
local scheduler = require("gemini-bridge.editor.scheduler")
local language_servers = require("gemini-bridge.model.language_servers")
local swapfile = require("gemini-bridge.disk.swapfile")

local M = {}

--- Maximum size of a file to load (bytes). Limited, because loading blocks the editor.
local MAX_FILE_SIZE = 1024 * 1024
--- Maximum time for a language server to attach to a new buffer (milliseconds).
local ATTACH_TIME_MS = 500
--- A hidden buffer is unloaded if the model has asked no question about the file for this time (milliseconds).
local UNLOAD_DELAY_MS = 60000
--- Maximum number of hidden buffers. The least recently used buffer is unloaded first.
local MAX_HIDDEN = 100
--- Maximum length of a quickfix list to search for a buffer. Longer lists count as containing the buffer.
local MAX_SEARCHED = 1000

---@class gemini_bridge.Hidden
---@field is_own boolean True if this module has created the buffer. Other buffers may be used by a quickfix list.
---@field cancel fun() Cancels the unloading of the buffer.
---@field used_at number Time when the model last asked about the file (Unix milliseconds).
---@field read_at number Time when the file was loaded (Unix milliseconds).
---@field group integer

--- Buffers that this module has loaded and that no window has shown yet.
---@type table<integer, gemini_bridge.Hidden>
local hidden = {}

---@return number # Unix milliseconds.
local function now()
  local seconds, microseconds = vim.uv.gettimeofday()
  return seconds * 1000 + microseconds / 1000
end

---@param buf integer
local function let_go(buf)
  local entry = hidden[buf]
  if entry then
    hidden[buf] = nil
    entry.cancel()
    vim.api.nvim_del_augroup_by_id(entry.group)
  end
end

--- Returns whether a quickfix or location list may have entries for a buffer. If the buffer were wiped, opening these
--- entries would fail with E92.
---@param buf integer
---@return boolean
local function is_in_quickfix(buf)
  local function leads_here(get)
    return vim.iter(vim.fn.range(1, get({ nr = "$" }).nr)):any(function(number)
      return get({ nr = number, size = 0 }).size > MAX_SEARCHED
        or vim.iter(get({ nr = number, items = 0 }).items):any(function(item)
          return item.bufnr == buf
        end)
    end)
  end
  return leads_here(vim.fn.getqflist)
    or vim.iter(vim.api.nvim_list_wins()):any(function(win)
      return leads_here(function(what)
        return vim.fn.getloclist(win, what)
      end)
    end)
end

--- Unloads a hidden buffer, unless the user already uses the buffer.
---@param buf integer
local function unload(buf)
  local is_own = hidden[buf] and hidden[buf].is_own
  let_go(buf)
  if
    vim.api.nvim_buf_is_valid(buf)
    and not vim.bo[buf].modified
    and not vim.bo[buf].buflisted
    and #vim.fn.win_findbuf(buf) == 0
  then
    pcall(vim.api.nvim_buf_delete, buf, { unload = not is_own or is_in_quickfix(buf) })
  end
end

--- Unloads a buffer after a delay. A later call starts the delay again.
---@param buf integer
local function keep(buf)
  local entry = hidden[buf]
  entry.cancel()
  entry.used_at = now()
  entry.cancel = scheduler.after(UNLOAD_DELAY_MS, function()
    unload(buf)
  end)
end

--- Unloads the least recently used buffer if there are too many hidden buffers.
local function make_room()
  local oldest ---@type integer?
  for buf, entry in pairs(hidden) do
    if not oldest or entry.used_at < hidden[oldest].used_at then
      oldest = buf
    end
  end
  if vim.tbl_count(hidden) >= MAX_HIDDEN then
    unload(oldest)
  end
end

---@param path string
---@return integer buf
local function read(path)
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= "file" then
    error("there is no such file", 0)
  elseif stat.size > MAX_FILE_SIZE then
    error("the file is too large to be opened in the background: ask the user to open it", 0)
  elseif reload.has_autocommand({ "BufReadCmd" }, path) then
    -- Does not load the file, because an autocommand for BufReadCmd may run a program, for example to list an archive.
    error("only a plugin can read this file: ask the user to open it", 0)
  end
  make_room()
  local others = vim.api.nvim_list_bufs()
  local buf = vim.fn.bufadd(path)
  -- Prevents a swap file. With a swap file, another Neovim that opens the file would ask the user about it.
  swapfile.load_without(buf)
  if not vim.api.nvim_buf_is_loaded(buf) then
    error("the file cannot be opened", 0)
  end
  local group = vim.api.nvim_create_augroup("gemini-bridge.model.documents." .. buf, {})
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = buf,
    callback = function()
      M.hand_over(buf)
    end,
  })
  hidden[buf] = {
    is_own = not vim.list_contains(others, buf),
    cancel = function() end,
    used_at = now(),
    read_at = now(),
    group = group,
  }
  return buf
end

--- Answers with the servers of a buffer that support a method, and with data for requests of edits. If no server
--- supports the method yet, waits for servers that are starting.
---@param buf integer
---@param params { method: string, line?: integer, timeout: integer }
---@param is_new boolean
---@param answer gemini_bridge.Answer
local function await(buf, params, is_new, answer)
  language_servers.poll(params.timeout, function(is_late)
    if not vim.api.nvim_buf_is_loaded(buf) then
      answer(nil, "the file was closed meanwhile")
      return true
    end
    local supporting = language_servers.supporting(params.method, buf)
    local ready = vim.lsp.get_clients({ bufnr = buf })
    local starting = #vim.lsp.get_clients({ bufnr = buf, _uninitialized = true }) - #ready
    local entry = hidden[buf]
    local may_come = starting > 0 or entry and now() - entry.read_at < ATTACH_TIME_MS
    if #supporting == 0 and may_come and not is_late then
      return false
    end
    local line, diagnostics = params.line, {}
    local needs_diagnostics = line and params.method == "textDocument/codeAction"
    for _, one in ipairs(needs_diagnostics and vim.diagnostic.get(buf, { lnum = line - 1 }) or {}) do
      diagnostics[#diagnostics + 1] = vim.tbl_get(one, "user_data", "lsp")
    end
    answer({
      servers = language_servers.describe(supporting),
      attached = #ready,
      isNew = is_new,
      text = line and vim.api.nvim_buf_get_lines(buf, line - 1, line, false)[1] or nil,
      tick = vim.api.nvim_buf_get_changedtick(buf),
      tabSize = vim.lsp.util.get_effective_tabstop(buf),
      insertSpaces = vim.bo[buf].expandtab,
      diagnostics = diagnostics,
    })
    return true
  end)
end

--- Returns the buffer of a loaded file. If the file was written outside Neovim, reloads the buffer first.
---@param path string Absolute.
---@return integer? buf
function M.current(path)
  local buf = disk.buffer(path)
  if buf and scheduler.is_safe() then
    reload.now(buf)
  end
  return disk.buffer(path)
end

--- Returns the buffer of a file. Loads the file if necessary. Raises an error with the reason if the file cannot be
--- loaded. Call only from a function that editor/scheduler.lua runs.
---@param path string Absolute.
---@return integer buf
function M.load(path)
  local buf = M.current(path) or read(path)
  if hidden[buf] then
    keep(buf)
  end
  return buf
end

--- Returns true if a hidden buffer was loaded after a time. Its 'changedtick' then says nothing about that time, even
--- if an earlier hidden buffer had the text of the file.
---@param buf integer
---@param time number Unix milliseconds.
---@return boolean
function M.is_loaded_after(buf, time)
  return hidden[buf] ~= nil and hidden[buf].read_at > time
end

---@param params gemini_bridge.questions.document
---@param answer gemini_bridge.Answer
function M.ask(params, answer)
  if disk.buffer(params.path) then
    return await(M.load(params.path), params, false, answer)
  end
  scheduler.now(function()
    local ok, result = pcall(M.load, params.path)
    if ok then
      await(result, params, true, answer)
    else
      answer(nil, tostring(result))
    end
  end)
end

--- Stops managing a hidden buffer that a window shows now.
---@param buf integer
function M.hand_over(buf)
  if hidden[buf] then
    swapfile.turn_on(buf)
    let_go(buf)
  end
end

--- Unloads all hidden buffers. Idempotent.
function M.close()
  for buf in pairs(hidden) do
    unload(buf)
  end
end

return M
