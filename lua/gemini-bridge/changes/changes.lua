--- Stores the changes that CLIs made without asking, until the user keeps or undoes them. The Node host reports these
--- changes.
local channel = require("gemini-bridge.bridge.channel")
local deleted = require("gemini-bridge.changes.deleted")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local signs = require("gemini-bridge.changes.signs")
local status = require("gemini-bridge.bridge.status")

local M = {}

local by_path = {} ---@type table<string, gemini_bridge.Change>
--- Paths of the changed files in the order of arrival.
local order = {} ---@type string[]
local hunk_count = 0
--- True if the user has decided on a file since the host has started, and may revert the decision.
local has_decided = false
--- Reasons why changes of the last turn may be missing, by CLI.
local incomplete = {} ---@type table<string, string>
local group ---@type integer?

---@alias gemini_bridge.ChangeListener fun(name?: string, change?: gemini_bridge.Change, decision?: "kept"|"undone")
local listeners = {} ---@type gemini_bridge.ChangeListener[]

--- Calls a function after each update of the changes, as soon as Neovim allows changes of windows. Calls the function
--- without arguments after |clear()|.
---@param act gemini_bridge.ChangeListener Gets the path, the change (nil if decided) and the decision.
---@return fun() stop Idempotent.
function M.listen(act)
  listeners[#listeners + 1] = act
  return function()
    listeners = vim.tbl_filter(function(other)
      return other ~= act
    end, listeners)
  end
end

---@param ... any
local function tell(...)
  for _, act in ipairs(vim.list_slice(listeners)) do
    scheduler.attempt(act, ...)
  end
end

--- Returns the numbers of files and hunks that the user has neither kept nor undone.
---@return { files: integer, hunks: integer }
function M.count()
  return { files = #order, hunks = hunk_count }
end

--- Returns true if the user may have a decision to revert.
---@return boolean
function M.has_decided()
  return has_decided
end

---@param buf integer
---@return gemini_bridge.Change?
local function change_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if next(by_path) and name:sub(1, 1) == "/" and vim.bo[buf].buftype == "" then
    return by_path[path.real(name)]
  end
end

---@return gemini_bridge.Change[]
function M.all()
  return vim.tbl_map(function(name)
    return by_path[name]
  end, order)
end

--- Returns the change of the file that a buffer shows, even of a deleted file.
---@param buf integer
---@return gemini_bridge.Change?
function M.of_buffer(buf)
  return by_path[vim.b[buf].gemini_deleted or ""] or change_of(buf)
end

--- Returns the change of a file.
---@param typed string Path as the user types it.
---@return gemini_bridge.Change?
function M.find(typed)
  return by_path[typed]
    or vim.iter(M.all()):find(function(change)
      return path.is_same(typed, change.path)
    end)
end

--- Returns the backup files that Neovim may have written, renamed or removed together with a file.
---@param name string Path of the file.
---@return string[]
local function backups(name)
  local folder, found = vim.fs.dirname(name), {}
  if vim.o.patchmode ~= "" then
    found[1] = name .. vim.o.patchmode
  end
  for _, directory in ipairs(vim.o.backup and vim.opt.backupdir:get() or {}) do
    -- A leading dot stands for the folder of the file.
    local is_relative = directory == "." or vim.startswith(directory, "./")
    local place = is_relative and folder .. directory:sub(2) or vim.fn.fnamemodify(directory, ":p")
    place = place:match("^(.*[^/])") or ""
    found[#found + 1] = ("%s/%s%s"):format(place, vim.fs.basename(name), vim.o.backupext)
  end
  return found
end

---@param name string Path of a file that Neovim has written.
local function wrote(name)
  channel.notify("file_written", { path = name })
end

--- Tells the user that a write creates a file again that a CLI has moved or deleted. Says so once, because the file
--- then exists.
---@param name string Path of the file that Neovim is about to write.
local function hint_at_absence(name)
  local change = next(by_path) and name:sub(1, 1) == "/" and by_path[path.real(name)]
  if change and change.status == "deleted" and not vim.uv.fs_lstat(name) then
    local shown = path.display(name, 24)
    notify(
      ("%s had moved or deleted %s, and you write it again: see :GeminiChanges"):format(change.cli, shown)
    )
  end
end

--- Adds or removes autocommands that report what the user does with files, such as writing a file.
---@param params { active: boolean } True adds the autocommands, false removes them.
function M.follow(params)
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  if not params.active then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.changes", {})
  vim.api.nvim_create_autocmd({ "BufWritePost", "FileWritePost", "FileAppendPost" }, {
    group = group,
    callback = function(args)
      -- Uses the name of the written file. After `:write {file}`, this is not the file of the buffer.
      local name = args.match
      if name:sub(1, 1) ~= "/" then
        return
      end
      vim.iter({ { name }, backups(name) }):flatten():each(wrote)
    end,
  })
  vim.api.nvim_create_autocmd("BufWritePre", {
    group = group,
    callback = function(args)
      hint_at_absence(args.match)
    end,
  })
  vim.api.nvim_create_autocmd("SessionWritePost", {
    group = group,
    callback = function()
      wrote(vim.fn.fnamemodify(vim.v.this_session, ":p"))
    end,
  })
  -- Reports each text that the user sees and may save again. If a running command of an agent has changed the file, the
  -- host must list this change before the user writes the file.
  vim.api.nvim_create_autocmd({ "BufReadPost", "FileChangedShellPost" }, {
    group = group,
    callback = function(args)
      local name = vim.api.nvim_buf_get_name(args.buf)
      if name:sub(1, 1) == "/" then
        channel.notify("file_read", { path = name, version = path.version(name) })
      end
    end,
  })
  -- Asks the Node host to look for files that another program has staged or committed. The changes of such files count
  -- as kept.
  vim.api.nvim_create_autocmd({ "FocusGained", "ShellCmdPost", "TermLeave" }, {
    group = group,
    callback = function()
      channel.notify("changes_refresh", vim.empty_dict())
    end,
  })
  -- Places the marks again in two cases: reading a file has removed its marks, or the buffer has got the name of
  -- another file by `:file`.
  vim.api.nvim_create_autocmd({ "BufReadPost", "FileChangedShellPost", "BufFilePost" }, {
    group = group,
    callback = function(args)
      -- Skips the unloaded buffer that |:saveas| creates for the old name.
      if vim.api.nvim_buf_is_loaded(args.buf) then
        signs.place(args.buf, change_of(args.buf))
      end
    end,
  })
end

--- Handles the report of the Node host about the changes of a file: new, different, or decided by the user.
---@param params gemini_bridge.calls.change_show
function M.show(params)
  local name, change = params.path, params.change
  if change and not by_path[name] then
    order[#order + 1] = name
  elseif not change then
    order = vim.tbl_filter(function(other)
      return other ~= name
    end, order)
  end
  local before = by_path[name]
  hunk_count = hunk_count + (change and #change.hunks or 0) - (before and #before.hunks or 0)
  by_path[name] = change
  has_decided = has_decided or params.decision ~= nil
  status.redraw()
  scheduler.now(function()
    local buf = path.buffer(name)
    if buf then
      signs.place(buf, by_path[name])
    end
    tell(name, by_path[name], params.decision)
    if not change or change.status ~= "deleted" then
      deleted.forget(name)
    end
  end)
  if params.edited and change then
    status.emit("GeminiChanged", { path = name, cli = change.cli })
  end
end

--- Tells the user how many files an agent has changed in a turn, and why changes may be missing.
---@param params gemini_bridge.calls.turn_changes
function M.turn_ended(params)
  incomplete[params.cli] = params.incomplete
  if params.files > 0 then
    notify(
      ("%s changed %d %s (+%d -%d): see :GeminiChanges"):format(
        params.terminal or params.cli,
        params.files,
        params.files == 1 and "file" or "files",
        params.added,
        params.removed
      )
    )
  end
  if params.incomplete then
    notify(params.incomplete, "warn")
  end
end

--- Returns the reasons why changes may be missing: one sentence for each CLI.
---@return string[]
function M.incomplete()
  return vim.tbl_values(incomplete)
end

--- Returns the files of all loaded buffers and the directories of the workspace.
---@return { paths: string[], directories: string[] }
function M.open_files()
  local paths = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and name:sub(1, 1) == "/" then
      paths[#paths + 1] = name
    end
  end
  return { paths = paths, directories = require("gemini-bridge.context.workspace").get().directories }
end

--- Hides all changes after the bridge has stopped, or before a new Node host reports the changes again. Keeps the
--- autocommands of `M.follow`: without them, the next Node host could attribute the user's writes to an agent.
function M.clear()
  by_path, order, incomplete, hunk_count, has_decided = {}, {}, {}, 0, false
  signs.clear()
  status.redraw()
  scheduler.now(tell)
end

return M
