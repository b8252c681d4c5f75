--- Runs a CLI in a tmux pane beside the pane of Neovim. The pane stays open when Neovim exits, and the next Neovim
--- manages it.
local config = require("gemini-bridge.config")
local notify = require("gemini-bridge.notify")
local process = require("gemini-bridge.terminal.process_tree")
local shell_words = require("gemini-bridge.terminal.shell_words")

local M = {}

--- Timeout of a tmux command (milliseconds).
local TMUX_TIMEOUT_MS = 2000
--- Name of a tmux pane option. The value contains the process id of the Neovim that manages the pane, the terminal's
--- name, the name of the CLI, and the directory.
local OPTION = "@gemini_bridge"

--- Script for `sh` that marks its pane, keeps the pane open after a failure, and runs the program. tmux before 3.3 does
--- not support `remain-on-exit failed`, so errors are ignored. Gemini CLI ignores the hangup signal of a killed pane.
--- For this case, a background guard waits until the pane's terminal is closed, and then ends the process group. The
--- guard belongs to the same group and therefore ignores TERM. The script changes the directory itself, because tmux
--- expands formats such as "#(…)" and "#[…]" in the directory of a new pane.
local RUN = [[
tmux set-option -p -t "$TMUX_PANE" "$1" "$2" \; set-option -p -t "$TMUX_PANE" remain-on-exit "$3" 2>/dev/null
while true </dev/tty; do sleep 1; done 2>/dev/null | sh -c "trap '' TERM; $4" sh $$ >/dev/null 2>&1 &
cd -- "$5" || exit
shift 5
exec "$@"
]]

local SPLITS = { right = { "-h" }, left = { "-h", "-b" }, top = { "-v", "-b" }, bottom = { "-v" } }
local SIZES = { right = 0.4, left = 0.4, top = 0.3, bottom = 0.3 }

---@param args string[]
---@param stdin? string
---@return string? output
---@return string? problem
local function tmux(args, stdin)
  local ok, job = pcall(
    vim.system,
    vim.list_extend({ "tmux" }, args),
    { text = true, stdin = stdin, timeout = TMUX_TIMEOUT_MS }
  )
  if not ok then
    return nil, "tmux cannot be run"
  end
  local result = job:wait()
  if result.code ~= 0 then
    return nil, "tmux: " .. vim.trim(result.stderr ~= "" and result.stderr or "it does not answer")
  end
  return result.stdout
end

--- Returns the value that marks a pane as managed by this Neovim. Also encodes ";", because tmux takes this character
--- at the end of an argument for the end of the command.
---@param name string
---@param cli string
---@param cwd string
local function mark(name, cli, cwd)
  local function encode(text)
    return vim.uri_encode(text, "rfc2396")
  end
  return table.concat({ vim.fn.getpid(), encode(name), cli, encode(cwd) }, " ")
end

--- Returns the reason why a program must not be started in a pane: tmux drops blanks and comments after a line break,
--- even within quotes. A directory could thus move the end of a quoted word.
---@param spec gemini_bridge.TerminalSpec
---@return string? problem
local function obstacle(spec)
  local values = { ["the directory " .. spec.cwd] = spec.cwd }
  for name, value in pairs(spec.env) do
    values["the variable " .. name] = value
  end
  for _, word in ipairs(spec.cmd) do
    values["the argument " .. word] = word
  end
  for what, value in vim.spairs(values) do
    if shell_words.has_control(value) then
      return ("%s contains a control character, which cannot be passed to tmux"):format(vim.fn.strtrans(what))
    end
  end
end

--- Returns the tmux command that opens a pane and runs the program.
---@param spec gemini_bridge.TerminalSpec
---@param place gemini_bridge.Place
---@param enter boolean
---@return string
local function opening(spec, place, enter)
  local position = place.position == "float" and "right" or place.position
  local words = { "new-window" }
  if position ~= "tab" then
    local size = place.size or SIZES[position]
    words = { "split-window", "-t", vim.env.TMUX_PANE, "-l" }
    words[#words + 1] = size < 1 and ("%.0f%%"):format(size * 100) or ("%d"):format(size)
    vim.list_extend(words, SPLITS[position])
  end
  if not enter then
    words[#words + 1] = "-d"
  end
  vim.list_extend(words, { "-P", "-F", "#{pane_id} #{pane_pid}" })
  for name, value in pairs(spec.env) do
    vim.list_extend(words, { "-e", name .. "=" .. value })
  end
  local keep = config.get().terminal.auto_close and "failed" or "on"
  vim.list_extend(words, { "--", "sh", "-c", RUN, "sh", OPTION, mark(spec.name, spec.cli, spec.cwd), keep })
  vim.list_extend(words, { process.GUARD, spec.cwd })
  return table.concat(vim.tbl_map(shell_words.quote, vim.list_extend(words, spec.cmd)), " ")
end

---@class gemini_bridge.PaneView
---@field place gemini_bridge.Place
---@field enter boolean
---@field pane? string Id, such as `%3`.
---@field pid? integer
---@field cli? string Name of the CLI, if an earlier Neovim has opened the pane.
local View = {}
View.__index = View

--- Marks the pane as managed by this Neovim.
---@param name string
---@param cwd string
function View:claim(name, cwd)
  tmux({ "set-option", "-p", "-t", self.pane, OPTION, mark(name, self.cli, cwd) })
end

--- Runs a program in a new pane.
---@param spec gemini_bridge.TerminalSpec
---@return string? problem
function View:start(spec)
  if not vim.env.TMUX_PANE then
    return vim.env.TMUX and 'provider = "tmux" needs a pane, but this Neovim runs in a popup of tmux'
      or 'provider = "tmux" needs a Neovim that runs in tmux'
  end
  local obstructed = obstacle(spec)
  if obstructed then
    return obstructed
  end
  -- Passes the command on standard input, because the command contains the bridge's token. Other users can read the
  -- arguments of a process.
  local output, problem = tmux({ "source-file", "-" }, opening(spec, self.place, self.enter))
  if not output then
    return problem
  end
  local id, pid = output:match("(%%%d+) (%d+)")
  self.pane, self.pid = id, tonumber(pid)
end

--- Returns whether the program runs and the pane exists. Both are checked, because a program may run for a moment after
--- its pane was killed.
---@return boolean
function View:is_alive()
  if not process.is_alive(self.pid) then
    return false
  end
  -- tmux prints an empty line for a missing pane. If tmux fails, assumes that the pane exists.
  local found = tmux({ "display-message", "-p", "-t", self.pane, "#{pane_id}" })
  return found ~= "\n"
end

--- Selects the pane. The user may have moved the pane, so first selects the tmux window that contains the pane.
---@param enter boolean
function View:show(enter)
  self.enter = enter
  if self.pane and enter then
    local _, problem = tmux({ "select-window", "-t", self.pane, ";", "select-pane", "-t", self.pane })
    if problem then
      notify(problem, "warn")
    end
  end
end

--- Does nothing. Users hide panes with the keys of tmux.
function View.hide() end

--- Always returns false: this function is called while the user types into Neovim, so the pane does not have the focus.
---@return boolean
function View.focused()
  return false
end

--- Closes the pane and ends the program.
function View:close()
  if self.pane then
    tmux({ "kill-pane", "-t", self.pane })
  end
end

---@param place gemini_bridge.Place
---@return gemini_bridge.PaneView
function M.new(place)
  return setmetatable({ place = place, enter = true }, View)
end

--- Finds the panes in this tmux session in which a CLI still runs although the Neovim that opened the pane has exited.
--- Returns only panes that were opened for the directory `cwd`.
---@param place gemini_bridge.Place
---@param cwd string
---@return table<string, gemini_bridge.PaneView> # By terminal name.
function M.left_behind(place, cwd)
  local views = {}
  if not vim.env.TMUX_PANE then
    return views
  end
  local format = ("#{pane_id} #{pane_pid} #{pane_dead} #{%s}"):format(OPTION)
  local output = tmux({ "list-panes", "-s", "-t", vim.env.TMUX_PANE, "-F", format }) or ""
  for id, pid, owner, name, cli, directory in output:gmatch("(%%%d+) (%d+) 0 (%d+) (%S+) (%S+) (%S+)\n") do
    if not process.is_alive(tonumber(owner)) and vim.uri_decode(directory) == cwd then
      local view = M.new(place)
      view.pane, view.pid, view.cli = id, tonumber(pid), cli
      views[vim.uri_decode(name)] = view
    end
  end
  return views
end

return M
