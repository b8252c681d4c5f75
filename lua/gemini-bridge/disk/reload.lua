--- Reloads the buffer of a file that an agent has written. Asks no question, and lets one undo restore the old text.
--- Handles only files that an agent may have written or that the model reads. Neovim handles all other files.
local apply = require("gemini-bridge.disk.apply_differences")
local modified_event = require("gemini-bridge.editor.modified_event")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Time limit for a CLI to write a file after the user has accepted its proposal (ms).
local WRITE_TIMEOUT_MS = 10000
--- Time that a program gets to write a file after emptying it (ms).
local REFILL_TIMEOUT_MS = 100
--- Maximum number of reloads in a row, for a file that never stops changing.
local MAX_READS = 3

--- Options that Neovim detects when it reads a file.
local DETECTED = { "fileencoding", "fileformat", "bomb", "endofline", "endoffile" }

--- Buffers whose unsaved changes a reload may discard, because the user has allowed this. The permission ends at the
--- time `until_ms` or with the next edit of the buffer.
---@type table<integer, { tick: integer, until_ms: number }>
local forced = {}
--- Versions of files at the last reload or write of their buffers, see |path.version()|. Indexed by buffer.
---@type table<integer, string>
local versions = {}
--- Buffers with unsaved changes whose files have changed on disk. The user was already told this.
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

--- Returns true if a reload may discard the unsaved changes of a buffer.
---@param buf integer
local function has_given_up(buf)
  local given_up = forced[buf]
  return given_up ~= nil
    and vim.uv.now() < given_up.until_ms
    and vim.api.nvim_buf_get_changedtick(buf) == given_up.tick
end

---@param buf integer
local function may_reload(buf)
  return not vim.bo[buf].modified or has_given_up(buf)
end

---@param name string
---@return boolean
local function is_readable(name)
  local stat = vim.uv.fs_stat(name)
  return stat ~= nil and stat.type == "file" and vim.uv.fs_access(name, "R") == true
end

--- Returns true if an autocommand for one of these events matches a file name.
---@param events string[]
---@param name string
---@param buf? integer
---@param except? string Name of a group whose autocommands do not count.
---@return boolean
function M.has_autocommand(events, name, buf, except)
  return vim.iter(vim.api.nvim_get_autocmds({ event = events })):any(function(autocmd)
    local text = autocmd.pattern:find("/", 1, true) and name or vim.fs.basename(name)
    return (not except or autocmd.group_name ~= except)
      and (
        buf and autocmd.buffer == buf
        or vim.regex(vim.fn.glob2regpat(autocmd.pattern)):match_str(text) ~= nil
      )
  end)
end

--- Returns true if only |:edit| can reload the buffer: if the buffer is binary, if autocommands are disabled, or if an
--- autocommand reads or writes the file in place of Neovim.
---@param buf integer
---@return boolean
local function is_special(buf)
  local function ignores_events(win)
    return vim.fn.exists("+eventignorewin") == 1 and vim.wo[win].eventignorewin ~= ""
  end
  return vim.bo[buf].binary
    or vim.o.eventignore ~= ""
    or vim.iter(vim.fn.win_findbuf(buf)):any(ignores_events)
    or M.has_autocommand({ "BufReadCmd", "BufWriteCmd" }, vim.api.nvim_buf_get_name(buf), buf)
end

--- Reads a file into an empty buffer. Also sets the options that Neovim detects, such as 'fileencoding'.
---@param buf integer
---@param name string
local function read(buf, name)
  vim.api.nvim_buf_call(buf, function()
    vim.bo.undolevels, vim.bo.modifiable = -1, true
    -- The function |execute()| accepts a file name with a line break. The command |:execute| does not.
    vim.fn.execute("noautocmd keepalt 0read ++edit " .. path.escape(name))
    vim.api.nvim_buf_set_lines(buf, -2, -1, true, {})
  end)
end

--- Makes Neovim treat a buffer as written. Otherwise, the next |:write| would ask whether to overwrite the file. Runs
--- `:write!`, while a temporary autocommand prevents the command from writing to the file.
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

--- Copies text and detected options, such as 'fileencoding', from a second buffer. The new text is one undo step.
---@param buf integer
---@param text integer Buffer with the content of the file.
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

--- Gives a buffer the text of its file and the options that Neovim detects, such as 'fileencoding'.
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

--- Reloads a buffer if its file has changed. Keeps unsaved changes, except after |give_up_changes()|.
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

--- Reloads a buffer if its file has changed. The caller must make sure that Neovim allows changes now.
---@param buf integer
function M.now(buf)
  if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" then
    scheduler.attempt(reload, buf)
  end
end

--- Returns true if a file is empty and its buffer is not.
---@param buf integer
---@param name string
---@return boolean
local function was_emptied(buf, name)
  local stat = vim.uv.fs_stat(name)
  local text = vim.api.nvim_buf_get_lines(buf, 0, 2, false)
  return stat ~= nil and stat.size == 0 and (#text > 1 or text[1] ~= "")
end

--- Marks a buffer as saved after the Node host has written the text of the buffer to the file.
---@param buf integer
---@param tick integer 'changedtick' of the written text. Later edits stay unsaved.
function M.saved(buf, tick)
  versions[buf] = path.version(vim.api.nvim_buf_get_name(buf))
  local has_later_edits = vim.api.nvim_buf_get_changedtick(buf) ~= tick
  vim.api.nvim_buf_call(buf, function()
    take_for_written(buf)
  end)
  vim.bo[buf].modified = has_later_edits
end

--- Reloads a buffer after the user has undone the unsaved changes, unless the user has written the file before.
---@param buf integer
local function reload_when_unmodified(buf)
  modified_event.listen({ buffer = buf }, function()
    if told[buf] and not vim.bo[buf].modified then
      scheduler.next(function()
        M.now(buf)
      end)
    end
    return told[buf] == nil
  end)
end

--- Reloads the buffer of a file, or tells the user that the file has changed but the buffer has unsaved changes.
---@param buf integer
---@param name string Absolute path.
local function update(buf, name)
  M.now(buf)
  if vim.bo[buf].modified and versions[buf] ~= path.version(name) and not told[buf] then
    told[buf] = true
    reload_when_unmodified(buf)
    local text =
      "%s has changed on disk, but you have unsaved changes. :e! discards them, :w! overwrites the file."
    notify(text:format(path.display(name, 24)), "warn")
  end
end

--- Number of reviews that show a buffer, indexed by buffer.
---@type table<integer, integer>
local reviewed = {}

--- Expects that an agent writes the file of a buffer, until the returned function is called.
---@param buf integer
---@return fun() stop Idempotent.
function M.expect(buf)
  reviewed[buf] = (reviewed[buf] or 0) + 1
  local is_stopped = false
  return function()
    if not is_stopped then
      is_stopped = true
      reviewed[buf] = reviewed[buf] > 1 and reviewed[buf] - 1 or nil
    end
  end
end

--- Returns true if an agent is expected to write the file of a buffer, or if the user was already told that the file
--- has changed.
---@param buf integer
---@return boolean
function M.is_expected(buf)
  return reviewed[buf] ~= nil or told[buf] ~= nil or has_given_up(buf)
end

--- Cancels the delayed update of an emptied file. Indexed by path.
---@type table<string, fun()>
local delayed = {}

--- Reloads the buffer of a file that an agent may have written, unless the buffer has unsaved changes.
---@param params { path: string } Absolute path.
function M.written(params)
  local name = params.path
  scheduler.now(function()
    local cancel, buf = delayed[name], path.buffer(name)
    delayed[name] = nil
    if cancel then
      cancel()
    end
    if not buf then
      return
    elseif not was_emptied(buf, name) then
      return update(buf, name)
    end
    -- Many programs empty a file just before they write the new text. Reading the empty file would move the cursor to
    -- line 1.
    delayed[name] = scheduler.after(REFILL_TIMEOUT_MS, function()
      delayed[name] = nil
      if vim.api.nvim_buf_is_loaded(buf) then
        update(buf, name)
      end
    end)
  end)
end

--- Allows the next reload of a buffer to discard unsaved changes. An edit after this call cancels the permission.
---@param buf integer
function M.give_up_changes(buf)
  forced[buf] = { tick = vim.api.nvim_buf_get_changedtick(buf), until_ms = vim.uv.now() + WRITE_TIMEOUT_MS }
end

return M
