--- Opens the external editor of a CLI (Ctrl-G in Gemini CLI 0.61.0) in this Neovim. In the plugin's terminals, VISUAL
--- and EDITOR name a program that opens a window in this Neovim and waits until the user has closed the window.
local notify = require("gemini-bridge.notify")
local focus = require("gemini-bridge.editor.focus_and_mode")
local private_file = require("gemini-bridge.disk.private_file")
local scheduler = require("gemini-bridge.editor.scheduler")
local window = require("gemini-bridge.editor.window")

local M = {}

local program ---@type string?

local PRIVATE = tonumber("700", 8)
--- Maximum length of the path of a socket on macOS. Neovim would cut off the rest.
local MAX_SOCKET_BYTES = 103

--- Returns the folder of the editor programs, which only the user can enter. CLIs in tmux panes outlive Neovim,
--- so no other user may be able to create a program with the same path afterwards, as in a shared temporary folder.
--- Gemini CLI splits the command at blanks, so the path must not contain blanks. If the path contains "vi" or "nvim",
--- Gemini CLI stops drawing while the editor runs. Therefore, the folder is beside `stdpath("state")`.
---@return string? folder
local function programs()
  local folder = vim.fs.joinpath(vim.fs.dirname(vim.fn.stdpath("state")), "gemini-bridge-editors")
  pcall(vim.fn.mkdir, folder, "p", PRIVATE)
  local stat = vim.uv.fs_lstat(folder)
  local is_own = stat and stat.type == "directory" and stat.uid == vim.uv.getuid()
  return is_own and vim.uv.fs_chmod(folder, PRIVATE) and not folder:find("%s") and folder or nil
end

--- Deletes the programs of ended Neovims that were not used for a week.
---@param folder string
local function clean_up(folder)
  for name in vim.fs.dir(folder) do
    local pid = tonumber(name:match("^(%d+)%-"))
    if pid and vim.uv.kill(pid, 0) ~= 0 then
      private_file.expire(vim.fs.joinpath(folder, name))
    end
  end
end

--- Script for `sh` that opens a file in the Neovim with the given process id. Checks first that this Neovim still runs,
--- because later another user may create a program with the path of Neovim's: an AppImage runs in a temporary folder.
--- In a terminal, the script waits after its message, because a CLI draws over the message when its editor ends. The
--- script marks itself as used, see |clean_up()|.
local SCRIPT = [[
#!/bin/sh
touch "$0"
if [ -S "$0.socket" ] && kill -0 %d 2>/dev/null; then
  exec %s --clean -l %s "$0.socket" "$@"
fi
printf '\n%%s\n' 'gemini-bridge: the Neovim of this terminal has ended. Start the CLI again with :Gemini.' >&2
[ -t 2 ] && sleep 3
exit 1
]]

--- Creates the editor program and returns its path. The program stays when Neovim ends, and then only prints a message.
--- No other Neovim uses the same path. The program connects to a socket in the same folder, because another user may
--- later create a socket with the path of `v:servername`.
---@return string? path nil if the program cannot be executed.
local function editor()
  if program and vim.fn.executable(program) == 1 then
    return program
  end
  local folder = programs()
  if not folder then
    return
  end
  clean_up(folder)
  local path = ("%s/%d-%d"):format(folder, vim.fn.getpid(), os.time())
  local client = debug.getinfo(1, "S").source:sub(2):gsub("%.lua$", "_client.lua")
  local quote = require("gemini-bridge.terminal.shell_words").quote
  local script =
    SCRIPT:format(vim.fn.getpid(), quote(vim.v.progpath), quote(vim.fn.fnamemodify(client, ":p")))
  local socket = path .. ".socket"
  if
    #socket > MAX_SOCKET_BYTES
    or not pcall(vim.fn.serverstart, socket)
    or private_file.write(path, script)
  then
    return
  end
  vim.uv.fs_chmod(path, PRIVATE)
  program = vim.fn.executable(path) == 1 and path or nil
  return program
end

--- Adds VISUAL and EDITOR to the environment of a terminal, unless the user has set an editor in that environment.
---@param env table<string, string>
---@return table<string, string>
function M.environment(env)
  if env.VISUAL or env.EDITOR then
    return env
  end
  local path = editor()
  return path and vim.tbl_extend("error", env, { VISUAL = path, EDITOR = path }) or env
end

--- Minimum height of a terminal window for opening the editor above it (lines). Beside a smaller window, the editor
--- opens at the left.
local MIN_LINES = 20

--- Returns the position of the editor's window: above the terminal or at the left of the terminal.
---@param terminal integer Window of the terminal.
---@return vim.api.keyset.win_config
local function beside(terminal)
  if window.is_float(terminal) then
    return { split = "above", win = -1 }
  end
  local is_low = vim.api.nvim_win_get_height(terminal) < MIN_LINES
  return { split = is_low and "left" or "above", win = terminal }
end

---@return integer?
local function terminal_window()
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(win)
    return vim.b[vim.api.nvim_win_get_buf(win)].gemini_terminal ~= nil
  end)
end

--- Loads a file. Saving does not add a line break to the last line.
---@param path string
---@return integer buf
local function load(path)
  local buf = vim.fn.bufadd(path)
  vim.bo[buf].swapfile = false
  vim.fn.bufload(buf)
  local options = vim.bo[buf]
  options.bufhidden = "wipe"
  if not options.endofline or vim.fn.getfsize(path) == 0 then
    options.fixendofline, options.endofline = false, false
  end
  return buf
end

--- Hides or shows a terminal's window if the window is a float. A visible float would cover the editor.
---@param win integer
---@param hide boolean
local function hide_float(win, hide)
  if vim.api.nvim_win_is_valid(win) and window.is_float(win) then
    vim.api.nvim_win_set_config(win, { hide = hide })
  end
end

--- Time for a CLI to read the edited text. The text then replaces the CLI's prompt, so nothing else may be typed into
--- the prompt during this time.
local READ_TIME_MS = 1000

--- Number of texts that the user edits or that a CLI may still be reading.
local open = 0

--- Returns whether a CLI waits for a text that the user edits.
---@return boolean
function M.is_open()
  return open > 0
end

--- Opens the window for a text that the CLI asks the user to edit.
---@param path string
---@param channel integer
local function edit(path, channel)
  local here, mode = vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode
  local was_asked_here = vim.bo.buftype == "terminal"
  local terminal = was_asked_here and here or terminal_window() or here
  local buf = load(vim.fn.fnamemodify(path, ":p"))
  local win = window.open(buf, beside(terminal))
  window.make_plain(win)
  if was_asked_here then
    focus.go(win)
    hide_float(terminal, true)
    vim.api.nvim_create_autocmd("BufEnter", {
      buffer = vim.api.nvim_win_get_buf(terminal),
      once = true,
      callback = function()
        hide_float(terminal, false)
      end,
    })
  else
    notify("The CLI has opened a text for you to edit. Finish with :wq.")
  end
  open = open + 1
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      pcall(vim.fn.chanclose, channel)
      scheduler.after(READ_TIME_MS, function()
        open = open - 1
      end)
      local is_here = vim.api.nvim_get_current_buf() == buf
      scheduler.next(function()
        hide_float(terminal, false)
        if was_asked_here and is_here and vim.api.nvim_win_is_valid(here) then
          focus.go(here)
          if mode == "t" then
            scheduler.next(vim.cmd.startinsert) -- after `focus.go` has ended Terminal mode
          end
        end
      end)
    end,
  })
end

--- Opens a file that a CLI asks the user to edit. If the focus is in a terminal, moves the focus to the file, and back
--- after the user has closed the file.
---@param path string
---@param channel integer Channel of the editor program. Closed when the user has closed the file.
function M.open(path, channel)
  scheduler.now(function()
    if not scheduler.attempt(edit, path, channel) then
      pcall(vim.fn.chanclose, channel)
    end
  end)
end

return M
