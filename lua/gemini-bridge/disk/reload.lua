--- Reloads a buffer without asking after an agent has written its file. One undo restores the old text. Only for files
--- that the host reports as written or that the model reads; all other files are left to Neovim.
local apply = require("gemini-bridge.disk.apply_differences")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local window = require("gemini-bridge.editor.window")

local M = {}

--- How long the CLI may take to write a file after the user has accepted its proposal.
local WRITE_TIMEOUT_MS = 10000
--- Maximum number of reads in a row, in case a file never stops changing.
local MAX_READS = 3

--- Options whose values Neovim detects when it reads a file.
local DETECTED = { "fileencoding", "fileformat", "bomb", "endofline", "endoffile" }

--- Buffers whose unsaved changes a reload may discard, because the user has decided so. Valid until the time
--- `until_ms`, and only while the buffer's 'changedtick' is `tick`.
---@type table<integer, { tick: integer, until_ms: number }>
local forced = {}
--- For each buffer, the version of its file when the buffer was last reloaded or written.
---@type table<integer, string>
local versions = {}
--- Buffers for which the user has been told that the file has changed on disk although the buffer has unsaved changes.
---@type table<integer, true>
local told = {}

vim.api.nvim_create_autocmd("BufWritePost", {
  group = vim.api.nvim_create_augroup("gemini-bridge.reload", {}),
  callback = function(args)
    if args.match == vim.api.nvim_buf_get_name(args.buf) then
      versions[args.buf], told[args.buf] = path.version(args.match), nil
    end
  end,
})

---@param buf integer
local function may_reload(buf)
  local given_up = forced[buf]
  return not vim.bo[buf].modified
    or given_up ~= nil
      and vim.uv.now() < given_up.until_ms
      and vim.api.nvim_buf_get_changedtick(buf) == given_up.tick
end

---@param name string
---@return boolean
local function is_readable(name)
  local stat = vim.uv.fs_stat(name)
  return stat ~= nil and stat.type == "file" and vim.uv.fs_access(name, "R") == true
end

--- Whether an autocommand handles one of these events for a file.
---@param events string[]
---@param name string
---@param buf? integer
---@return boolean
local function has_autocommand(events, name, buf)
  return vim.iter(vim.api.nvim_get_autocmds({ event = events })):any(function(autocmd)
    local text = autocmd.pattern:find("/", 1, true) and name or vim.fs.basename(name)
    return buf and autocmd.buffer == buf
      or vim.regex(vim.fn.glob2regpat(autocmd.pattern)):match_str(text) ~= nil
  end)
end

--- Whether an autocommand reads the file instead of Neovim.
---@param name string
---@return boolean
function M.is_read_by_autocommand(name)
  return has_autocommand({ "BufReadCmd" }, name)
end

--- Whether only |:edit| can reload the buffer: autocommands read or write the file, autocommands are disabled, or the
--- buffer is binary.
---@param buf integer
---@return boolean
local function is_special(buf)
  local function ignores_events(win)
    return vim.fn.exists("+eventignorewin") == 1 and vim.wo[win].eventignorewin ~= ""
  end
  return vim.bo[buf].binary
    or vim.o.eventignore ~= ""
    or vim.iter(vim.fn.win_findbuf(buf)):any(ignores_events)
    or has_autocommand({ "BufReadCmd", "BufWriteCmd" }, vim.api.nvim_buf_get_name(buf), buf)
end

--- Reads a file into an empty buffer, and sets the options that Neovim detects, such as 'fileencoding'.
---@param buf integer
---@param name string
local function read(buf, name)
  vim.api.nvim_buf_call(buf, function()
    vim.bo.undolevels, vim.bo.modifiable = -1, true
    -- Uses the function |execute()|, because the command |:execute| does not accept a file name with a line break.
    vim.fn.execute("noautocmd keepalt 0read ++edit " .. vim.fn.fnameescape(name))
    vim.api.nvim_buf_set_lines(buf, -2, -1, true, {})
  end)
end

--- Makes Neovim treat the buffer as written, so that the next |:write| does not ask whether to overwrite the file. Runs
--- `:write!` for this, but a temporary autocommand prevents it from writing anything.
---@param buf integer
local function take_for_written(buf)
  local autocmd = vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buf,
    callback = function()
      vim.bo[buf].modified = false
    end,
  })
  pcall(vim.cmd, "silent keepalt lockmarks write!")
  pcall(vim.api.nvim_del_autocmd, autocmd)
end

--- Gives a buffer the text of its file, as one undo step, and the options that Neovim has detected in the file.
---@param buf integer
---@param text integer Buffer with the text of the file.
---@return boolean changed
local function follow(buf, text)
  local options, new = vim.bo[buf], vim.bo[text]
  local modifiable, readonly = options.modifiable, options.readonly
  local is_changed = options.modified
  options.modifiable, options.readonly = true, false
  options.modified = true -- otherwise, undo would mark the old text as saved
  window.end_undo_step()
  is_changed = apply(buf, text) or is_changed
  window.end_undo_step()
  for _, name in ipairs(DETECTED) do
    if options[name] ~= new[name] then
      options[name], is_changed = new[name], true
    end
  end
  take_for_written(buf)
  options.modified, options.modifiable, options.readonly = false, modifiable, readonly
  return is_changed
end

--- Makes a buffer equal to its file.
---@param buf integer
---@param name string
local function take(buf, name)
  if is_special(buf) then
    return vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent keepalt keepjumps edit!")
    end)
  end
  local text = window.create_buffer(false, true)
  local ok, result = pcall(function()
    read(text, name)
    return vim.api.nvim_buf_call(buf, function()
      return follow(buf, text)
    end)
  end)
  window.delete_buffer(text)
  if not ok then
    error(result, 0)
  elseif result then
    vim.api.nvim_exec_autocmds("FileChangedShellPost", { buffer = buf, modeline = false })
  end
end

--- Reloads a buffer if its file has changed, unless the buffer has unsaved changes that must be kept.
---@param buf integer
local function reload(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  for _ = 1, MAX_READS do
    local version = path.version(name)
    if version == versions[buf] or not is_readable(name) or not may_reload(buf) then
      return
    end
    versions[buf] = version
    take(buf, name)
    forced[buf], told[buf] = nil, nil
  end
end

--- Reloads a buffer if its file has changed. Must be called while Neovim allows changes.
---@param buf integer
function M.now(buf)
  if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" then
    scheduler.attempt(reload, buf)
  end
end

--- Marks a buffer as written. Called after the host has written the buffer's text to the file.
---@param buf integer
---@param tick integer 'changedtick' of that text. Later edits stay unsaved.
function M.saved(buf, tick)
  versions[buf] = path.version(vim.api.nvim_buf_get_name(buf))
  local has_later_edits = vim.api.nvim_buf_get_changedtick(buf) ~= tick
  vim.api.nvim_buf_call(buf, function()
    take_for_written(buf)
  end)
  vim.bo[buf].modified = has_later_edits
end

--- Called when the host reports that an agent may have written a file.
---@param params { path: string } Absolute.
function M.written(params)
  scheduler.now(function()
    local buf = path.buffer(params.path)
    if not buf then
      return
    end
    M.now(buf)
    if vim.bo[buf].modified and versions[buf] ~= path.version(params.path) and not told[buf] then
      told[buf] = true
      local text = "%s has also changed on disk: :e! loads the file, :w! keeps your text."
      notify(text:format(path.display(params.path, 24)), "warn")
    end
  end)
end

--- Allows the next reload of a buffer to discard its unsaved changes, unless the user edits the buffer before the CLI
--- writes the file.
---@param buf integer
function M.give_up_changes(buf)
  forced[buf] = { tick = vim.api.nvim_buf_get_changedtick(buf), until_ms = vim.uv.now() + WRITE_TIMEOUT_MS }
end

return M
