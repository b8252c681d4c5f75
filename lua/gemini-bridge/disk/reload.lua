--- Buffers follow what the CLI writes, with no question asked and the old text one undo away.
local path = require("gemini-bridge.disk.path")
local safely = require("gemini-bridge.editor.safely")
local watch = require("gemini-bridge.disk.watch")

local M = {}

--- How long after an accept the CLI's write may come (milliseconds).
local GRACE = 10000

---@class gemini_bridge.Followed
---@field stop fun()
---@field missing boolean The file did not exist when the buffer was loaded.
---@field forced? { tick: integer, until_ms: number } The user gave up this buffer's unsaved changes.

---@type table<integer, gemini_bridge.Followed>
local followed = {}
local group ---@type integer?

---@param buf integer
local function may_reload(buf)
  local forced = followed[buf].forced
  return not vim.bo[buf].modified
    or forced ~= nil and vim.uv.now() < forced.until_ms and vim.b[buf].changedtick == forced.tick
end

--- Undo survives a reload only within 'undoreload' lines: raised for this moment alone.
---@param buf integer
---@param act fun()
local function with_undo(buf, act)
  local limit = vim.o.undoreload
  local short = limit >= 0 and vim.api.nvim_buf_line_count(buf) >= limit
  if short then
    vim.cmd("noautocmd set undoreload=-1")
  end
  local ok, problem = pcall(act)
  if short then
    vim.cmd(("noautocmd set undoreload=%d"):format(limit))
  end
  if not ok then
    error(problem, 0)
  end
end

---@param buf integer
local function read_again(buf)
  if followed[buf].missing then
    -- For a file that has appeared since, |:checktime| would ask (W13).
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent keepalt keepjumps edit!")
    end)
    return
  end
  local choice = vim.api.nvim_create_autocmd("FileChangedShell", {
    buffer = buf,
    callback = function()
      vim.v.fcs_choice = "reload"
    end,
  })
  local ok, problem = pcall(vim.cmd.checktime, tostring(buf))
  pcall(vim.api.nvim_del_autocmd, choice)
  if not ok then
    error(problem, 0)
  end
end

--- Reads a buffer's file again, every window on it staying where it is.
---@param buf integer
local function reload(buf)
  if not vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf)) or not may_reload(buf) then
    return
  end
  local views = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    views[win] = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  end
  safely.attempt(with_undo, buf, function()
    read_again(buf)
  end)
  for win, view in pairs(views) do
    safely.attempt(vim.api.nvim_win_call, win, function()
      vim.fn.winrestview(view)
    end)
  end
  -- An autocommand of the user's may have deleted the buffer.
  if followed[buf] then
    followed[buf].missing, followed[buf].forced = false, nil
  end
end

---@param buf integer
local function forget(buf)
  if followed[buf] then
    followed[buf].stop()
    followed[buf] = nil
  end
end

---@param buf integer
local function follow(buf)
  forget(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if name:sub(1, 1) ~= "/" or vim.bo[buf].buftype ~= "" or not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  local file = path.real(name)
  followed[buf] = {
    missing = vim.uv.fs_stat(file) == nil,
    stop = watch.start(file, function()
      -- Under text lock Neovim refuses it; while `:s///c` asks, the answer would put the old line over the new text.
      safely.run(function()
        if followed[buf] and vim.api.nvim_buf_is_loaded(buf) then
          reload(buf)
        end
      end)
    end),
  }
end

--- Follows the files that are open, while the bridge runs.
function M.start()
  group = vim.api.nvim_create_augroup("gemini-bridge.reload", {})
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    follow(buf)
  end
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "BufWritePost" }, {
    group = group,
    callback = function(args)
      follow(args.buf)
    end,
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    callback = function(args)
      forget(args.buf)
    end,
  })
end

--- May run twice.
function M.stop()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  for buf in pairs(followed) do
    forget(buf)
  end
end

--- Follows what is written in a file now, and need not settle first. Only when it is safe.
---@param buf integer
function M.now(buf)
  if followed[buf] then
    reload(buf)
  end
end

--- The user accepted over unsaved changes: the CLI's write replaces them, unless the user types on.
---@param buf integer
function M.give_up_changes(buf)
  if followed[buf] then
    followed[buf].forced = { tick = vim.b[buf].changedtick, until_ms = vim.uv.now() + GRACE }
  end
end

return M
