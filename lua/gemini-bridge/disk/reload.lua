--- Buffers follow what agents write: no question is asked, and one undo brings the old text back. The files are those
--- that the host names and those that the model asks for; all others are left to Neovim.
local apply = require("gemini-bridge.disk.apply")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local window = require("gemini-bridge.editor.window")

local M = {}

--- How long after an accept the CLI's write may come (ms).
local GRACE_MS = 10000
--- A file that is written all the time is not read more often than this in a row.
local MAX_READS = 3

--- The options that Neovim detects when it reads a file.
local DETECTED = { "fileencoding", "fileformat", "bomb", "endofline", "endoffile" }

--- The unsaved changes of these buffers were given up.
---@type table<integer, { tick: integer, until_ms: number }>
local forced = {}
--- The version of the file on disk that a buffer was brought to last, or that the user has written from it.
---@type table<integer, string>
local versions = {}
--- Buffers that hold another text than their file, which the user knows.
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

--- Whether autocommands handle one of these events for a file.
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

--- Whether an autocommand reads the file in Neovim's place.
---@param name string
---@return boolean
function M.is_read_by_autocommand(name)
  return has_autocommand({ "BufReadCmd" }, name)
end

--- Whether autocommands read or write the file in Neovim's place, or would not run.
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

--- Reads a file into an empty buffer as into one that is opened for it.
---@param buf integer
---@param name string
local function read(buf, name)
  vim.api.nvim_buf_call(buf, function()
    vim.bo.undolevels, vim.bo.modifiable = -1, true
    -- |execute()|, unlike |:execute|, takes a name with a line break.
    vim.fn.execute("noautocmd keepalt 0read ++edit " .. vim.fn.fnameescape(name))
    vim.api.nvim_buf_set_lines(buf, -2, -1, true, {})
  end)
end

local function end_undo_step()
  vim.cmd("noautocmd let &l:undolevels = &l:undolevels")
end

--- Has Neovim take the buffer for the file as it is on disk, or it would ask before the next |:write|. An autocommand
--- that writes in its place writes nothing.
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

--- Changes what differs from the file.
---@param buf integer
---@param text integer A buffer that holds what the file holds.
---@return boolean changed
local function follow(buf, text)
  local options, new = vim.bo[buf], vim.bo[text]
  local modifiable, readonly = options.modifiable, options.readonly
  local is_other = options.modified
  options.modifiable, options.readonly = true, false
  options.modified = true -- or undo would bring back the old text as one that is on disk
  end_undo_step()
  is_other = apply(buf, text) or is_other
  end_undo_step()
  for _, name in ipairs(DETECTED) do
    if options[name] ~= new[name] then
      options[name], is_other = new[name], true
    end
  end
  take_for_written(buf)
  options.modified, options.modifiable, options.readonly = false, modifiable, readonly
  return is_other
end

--- Has the buffer hold what the file holds.
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

--- Reads a buffer's file again, unless the buffer holds unsaved changes.
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

--- Follows what is written in a file by now. Only when it is safe.
---@param buf integer
function M.now(buf)
  if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" then
    scheduler.attempt(reload, buf)
  end
end

--- The host has written to the file what a buffer held.
---@param buf integer
---@param tick integer The changedtick of that text: what the user has typed since stays unsaved.
function M.saved(buf, tick)
  versions[buf] = path.version(vim.api.nvim_buf_get_name(buf))
  local is_typed = vim.api.nvim_buf_get_changedtick(buf) ~= tick
  vim.api.nvim_buf_call(buf, function()
    take_for_written(buf)
  end)
  vim.bo[buf].modified = is_typed
end

--- An agent has written a file, or may have.
---@param params { path: string } Absolute.
function M.written(params)
  -- Under text lock Neovim refuses it; while `:s///c` asks, the answer would put the old line over the new text.
  scheduler.now(function()
    local buf = path.buffer(params.path)
    if not buf then
      return
    end
    M.now(buf)
    if vim.bo[buf].modified and versions[buf] ~= path.version(params.path) and not told[buf] then
      told[buf] = true
      local text = "%s has changed on disk, too: :e! takes the file, :w! your text."
      notify(text:format(path.display(params.path, 24)), "warn")
    end
  end)
end

--- The user accepted over unsaved changes: the CLI's write replaces them, unless the user types on.
---@param buf integer
function M.give_up_changes(buf)
  forced[buf] = { tick = vim.api.nvim_buf_get_changedtick(buf), until_ms = vim.uv.now() + GRACE_MS }
end

return M
