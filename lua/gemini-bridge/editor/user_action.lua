--- Distinguishes the user's keys and commands from actions of plugins, timers and scripts.
local command_line = require("gemini-bridge.editor.command_line")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

local COMMAND = vim.keycode("<Cmd>")

local keys = vim.api.nvim_create_namespace("gemini-bridge.user-action")
local GROUP = "gemini-bridge.user-action"

--- Commands that run other commands. A window that such a command closes does not count as closed by the user.
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
--- Commands that delete buffers. With a range, a count or names, such a command counts as a bulk command.
local DELETES = { bdelete = true, bunload = true, bwipeout = true }

local watchers = 0
--- True while Neovim executes a key or command of the user.
local is_acting = false
--- Window and tab page with the focus at the user's last key. Recorded early, because Neovim moves the focus before
--- |WinClosed| fires for the last window of a tab page.
local focus = { win = 0, tab = 0 }
--- True if the current command line or mapping contains a bulk command, see `BULK` and `DELETES`.
local is_bulk = false
--- True if a buffer was unloaded after the user's last key.
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

--- Records that the user is acting, until the next tick. Timers and scheduled callbacks run after that tick, so they do
--- not count as actions of the user.
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

--- Returns true if the running command was typed or mapped. Commands from autocommands, functions and scripts return
--- false.
---@return boolean
function M.is_direct()
  return not vim.fn.expand("<stack>"):find("..", 1, true)
end

--- Returns true if an autocommand has caused the event of the running autocommand, as auto-save plugins do.
---@return boolean
function M.is_in_autocommand()
  local _, running = vim.fn.expand("<stack>"):gsub(" Autocommands for ", "")
  return running > 1
end

--- Returns true if the user is closing a window of the current tab page by a key or command. Functions, scripts and
--- autocommands do not count. Lua code counts as a mapping of the user if the window had the focus and no buffer was
--- unloaded before. Must be called directly in the callback of |WinClosed|, because the function inspects the call
--- stack.
---@param win integer
---@return boolean
function M.closes(win)
  -- Checks whether Lua code closes the window. Level 2 of the call stack is the callback of |WinClosed|. Level 3 exists
  -- only if Lua code has caused this event.
  local is_lua = debug.getinfo(3, "S") ~= nil
  return is_acting
    and not is_bulk
    and vim.api.nvim_win_get_tabpage(win) == focus.tab
    and (not is_lua or win == focus.win and not has_unloaded)
    and M.is_direct()
end

--- Starts to watch the user's keys and commands. Several callers can watch at the same time.
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
    -- Counts `:q` as an action of the user even without a typed key: `nvim --remote-send` and RPC clients send commands
    -- for the user.
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
