--- Distinguishes actions of the user (keys and commands) from actions of plugins, timers and scripts.
local command_line = require("gemini-bridge.editor.command_line")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

local COMMAND = vim.keycode("<Cmd>")

local keys = vim.api.nvim_create_namespace("gemini-bridge.user-action")
local GROUP = "gemini-bridge.user-action"

--- Commands that run other commands. A window that they close does not count as closed by the user.
local BULK = {
  argdo = true,
  bufdo = true,
  cdo = true,
  cfdo = true,
  ldo = true,
  lfdo = true,
  runtime = true,
  source = true,
  tabdo = true,
  windo = true,
}
--- Commands that delete buffers. They count as bulk commands only with a range, a count or names.
local DELETES = { bdelete = true, bunload = true, bwipeout = true }

local watchers = 0
--- Whether a key or command of the user is being executed.
local is_acting = false
--- Window and tab page that had the focus when the user pressed the last key. Remembered, because when |WinClosed|
--- fires for the last window of a tab page, Neovim has already moved the focus elsewhere.
local focus = { win = 0, tab = 0 }
--- Whether the current command line or mapping contains a bulk command.
local is_bulk = false
--- Whether a buffer was unloaded since the user pressed the last key.
local has_unloaded = false

---@param command vim.api.keyset.cmd_parsed
---@return boolean
local function is_bulk_command(command)
  local has_target = #(command.range or {}) > 0
    or command.count and command.count > 0
    or #(command.args or {}) > 0
  return BULK[command.cmd] or DELETES[command.cmd] and has_target or false
end

---@param commands vim.api.keyset.cmd_parsed[]
local function note(commands)
  is_bulk = vim.iter(commands):any(is_bulk_command)
end

--- Remembers until the next tick that the user is acting. Forgets it then, so that what timers and scheduled callbacks
--- do later does not count as an action of the user.
local function acts()
  focus = { win = vim.api.nvim_get_current_win(), tab = vim.api.nvim_get_current_tabpage() }
  if is_acting then
    return
  end
  is_acting = true
  scheduler.next(function()
    is_acting, is_bulk, has_unloaded = false, false, false
  end)
end

--- Whether the running command comes from a key or command line, not from an autocommand, function or script.
---@return boolean
function M.is_direct()
  return not vim.fn.expand("<stack>"):find("..", 1, true)
end

--- Whether it is the user who is closing a window in the current tab page, by a key or command. Functions, scripts and
--- autocommands do not count. If Lua code closes the window, the code is assumed to be a mapping of the user if the
--- window had the focus and no buffer was unloaded before, otherwise a plugin. Must be called directly in the callback
--- of |WinClosed|, because it inspects the call stack.
---@param win integer
---@return boolean
function M.closes(win)
  -- Level 2 of the stack is the callback. Level 3 exists only if Lua has closed the window.
  local is_lua = debug.getinfo(3, "S") ~= nil
  return is_acting
    and not is_bulk
    and vim.api.nvim_win_get_tabpage(win) == focus.tab
    and (not is_lua or win == focus.win and not has_unloaded)
    and M.is_direct()
end

--- Starts to watch keys and commands. Several callers can watch at the same time.
---@return fun() stop Idempotent.
function M.watch()
  watchers = watchers + 1
  if watchers == 1 then
    local last = { typed = "", mode = "n" }
    vim.on_key(function(key, typed)
      if typed ~= "" then
        last = { typed = typed, mode = vim.api.nvim_get_mode().mode }
        acts()
      end
      if key == COMMAND then
        note(command_line.mapped_commands(last.typed, last.mode))
      end
    end, keys)
    local group = vim.api.nvim_create_augroup(GROUP, {})
    vim.api.nvim_create_autocmd("CmdlineLeave", {
      group = group,
      pattern = ":",
      callback = function()
        note(vim.v.event.abort and {} or command_line.commands(vim.fn.getcmdline()))
      end,
    })
    vim.api.nvim_create_autocmd("BufUnload", {
      group = group,
      callback = function()
        has_unloaded = is_acting
      end,
    })
    -- `:q` counts as an action of the user even if no key was typed, because `nvim --remote-send` and RPC clients act
    -- for the user without typing.
    vim.api.nvim_create_autocmd("QuitPre", { group = group, callback = acts })
  end
  local stopped = false
  return function()
    watchers = stopped and watchers or watchers - 1
    if not stopped and watchers == 0 then
      vim.on_key(nil, keys)
      vim.api.nvim_del_augroup_by_name(GROUP)
    end
    stopped = true
  end
end

return M
