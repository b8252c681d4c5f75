--- Implements the commands, and lists the candidates for their completion. plugin/gemini-bridge.lua defines their names
--- and arguments.
local notify = require("gemini-bridge.notify")

local M = {}

--- Expands the command's argument to a path, and calls `act` with the path. Without an argument, calls `act` with nil.
---@param args vim.api.keyset.create_user_command.command_args
---@param act fun(path?: string)
local function with_file(args, act)
  local path, problem = require("gemini-bridge.prompt.expand").file(args.args)
  if problem then
    return notify(problem, "warn")
  end
  act(path ~= "" and path or nil)
end

--- Returns the line range of a command. Without a range, returns the selected lines.
---@param args vim.api.keyset.create_user_command.command_args
---@return [integer, integer]? lines First and last line, 1-based. nil if there is neither a range nor a selection.
local function lines(args)
  if args.range > 0 then
    return { args.line1, args.line2 }
  end
  local mode = vim.api.nvim_get_mode().mode
  if mode:match("^[vV\22]") then
    local from, to = vim.fn.line("v"), vim.fn.line(".")
    return { math.min(from, to), math.max(from, to) }
  end
end

local function bridge()
  return require("gemini-bridge")
end

--- Repairs the plugin's buffers after a session file has restored them without text. Fills the buffers of saved texts
--- again, and deletes the plugin's other empty buffers. Waits one tick, because an autocommand cannot close windows.
function M.clean_session()
  require("gemini-bridge.editor.scheduler").next(function()
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      local name = vim.api.nvim_buf_get_name(buf)
      -- The plugin always sets 'buftype' in its own buffers. An empty 'buftype' shows that a session has restored the
      -- buffer.
      local is_of_session = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
      if is_of_session and vim.startswith(name, "gemini://kept/") then
        require("gemini-bridge.review.saved_texts").read({ buf = buf, match = name })
      elseif is_of_session and name:find("^gemini[%w-]*://") then
        require("gemini-bridge.editor.window").delete_buffer(buf)
      end
    end
  end)
end

--- Calls `go`. If the bridge is stopped and not built, first asks the user to build the bridge. If the running bridge
--- is older than the latest build, first asks the user to restart it.
---@param go fun()
local function when_built(go)
  local is_stopped = require("gemini-bridge.bridge.status").get().state == "stopped"
  local offer = require("gemini-bridge.host.build_offer")
  local check = is_stopped and offer.build or offer.restart
  check(go)
end

--- Runs a step that opens a window, as soon as Neovim allows this. In the command-line window, it would fail.
---@param step fun()
local function when_safe(step)
  require("gemini-bridge.editor.scheduler").now(step)
end

function M.start()
  when_built(function()
    require("gemini-bridge.report.start_and_stop").start(bridge().start)
  end)
end

function M.stop()
  require("gemini-bridge.report.start_and_stop").stop(bridge().stop)
end

function M.restart()
  require("gemini-bridge.host.build_offer").build(function()
    require("gemini-bridge.report.start_and_stop").restart(bridge().restart)
  end)
end

function M.status()
  when_safe(require("gemini-bridge.report.status_view").open)
end

function M.build()
  require("gemini-bridge.host.build_offer").rebuild()
end

--- Implements `:GeminiDoctor [pid]`.
function M.doctor(args)
  -- At most nine digits: no system has a longer process id, and Lua would write a longer number with an exponent.
  local pid = #args.args < 10 and tonumber(args.args:match("^[1-9]%d*$")) or nil
  if args.args ~= "" and not pid then
    return notify("Usage: :GeminiDoctor [process id of a running CLI]", "error")
  end
  when_safe(function()
    require("gemini-bridge.health").doctor(pid)
  end)
end

--- Implements `:GeminiLog`.
function M.log()
  local path = require("gemini-bridge.host.boot").log_file()
  if not vim.uv.fs_stat(path) then
    if require("gemini-bridge.bridge.status").address().port then
      local directory = vim.fs.dirname(path)
      pcall(vim.fn.mkdir, directory, "p")
      if vim.fn.filewritable(directory) ~= 2 then
        return notify("The bridge could not write its log. Check the directory " .. directory, "warn")
      end
      return notify("The bridge has logged nothing yet. The option log.level sets how much is logged.")
    end
    return notify("There is no log file yet: :GeminiStart creates it.")
  end
  -- Uses no Ex command, because an Ex command would expand special characters in the path.
  local buf = vim.fn.bufadd(path)
  vim.bo[buf].buflisted, vim.bo[buf].swapfile = true, false -- no swap file: several Neovims may show the log
  when_safe(function()
    local base = require("gemini-bridge.editor.window").base()
    vim.api.nvim_open_win(buf, true, { win = base, split = "below" })
    vim.bo[buf].autoread = true
    vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(buf), 0 })
  end)
end

function M.accept(args)
  with_file(args, function(path)
    bridge().accept({ path = path, force = args.bang })
  end)
end

--- Implements `:GeminiReject [path|reason]`. A word that looks like a path is no reason, so that a mistyped path
--- rejects no other proposal.
function M.reject(args)
  with_file(args, function(path)
    local is_path = not path or require("gemini-bridge.review.requests").is_reviewed(path)
    local is_word = path and not path:find("%s")
    if is_path or is_word and (path:find("/", 1, true) or vim.uv.fs_stat(path)) then
      bridge().reject({ path = path })
    else
      bridge().reject({ reason = path })
    end
  end)
end

function M.review(args)
  with_file(args, function(path)
    bridge().review({ path = path })
  end)
end

function M.complete_diffs()
  return vim.tbl_map(function(diff)
    return diff.filePath
  end, bridge().diffs())
end

--- Removes the words `cli=…` and `name=…` from the start of a list, and returns their values.
---@param words string[] Only the other words remain in this list.
---@return { cli?: string, name?: string } named
---@return string? problem
local function take_named(words)
  local named = {}
  while words[1] and (vim.startswith(words[1], "cli=") or vim.startswith(words[1], "name=")) do
    local key, value = table.remove(words, 1):match("^(%l+)=(.*)$")
    named[key] = value
  end
  local problem = named.name == "" and "name= must be followed by a name" or nil
  if named.cli then
    problem = problem or select(2, require("gemini-bridge.config.clis").get(named.cli))
  end
  return named, problem
end

--- Implements `:Gemini[!] [cli={cli}] [name={name}] [args]`.
function M.terminal(args)
  local words, problem = require("gemini-bridge.terminal.shell_words").split(args.args)
  if not words then
    return notify(":Gemini: " .. problem, "error")
  end
  local named
  named, problem = take_named(words)
  if problem then
    return notify(":Gemini: " .. problem, "error")
  end
  -- Starts tracking selections before the bridge starts, so that the CLI gets the user's current selection.
  require("gemini-bridge.context.snapshot_debounce").track()
  if args.range > 0 then
    require("gemini-bridge.context.selection").take_along()
  end
  when_built(function()
    bridge().terminal({ cli = named.cli, name = named.name, args = words, new = args.bang })
  end)
end

function M.complete_terminal()
  local candidates = {}
  for _, cli in ipairs(require("gemini-bridge.config.clis").all()) do
    candidates[#candidates + 1] = "cli=" .. cli.name
  end
  for _, terminal in ipairs(require("gemini-bridge.terminal.terminals").list()) do
    candidates[#candidates + 1] = "name="
      .. require("gemini-bridge.terminal.shell_words").escape(terminal.name)
  end
  return candidates
end

local FLAGS = { "--diagnostics", "--quickfix", "--text", "--output", "--notes", "--cancel" }

--- Implements `:GeminiSend --cancel` and
--- `:[range]GeminiSend[!] [--diagnostics|--quickfix|--output|--notes|--text] [text]`.
function M.send(args)
  local flag, rest = args.args:match("^(%-%-%a+)%s*(.*)$")
  if flag == "--cancel" then
    return require("gemini-bridge.prompt.outbox").cancel()
  end
  if flag and not vim.list_contains(FLAGS, flag) then
    return notify(("Unknown option %s. Known: %s"):format(flag, table.concat(FLAGS, ", ")), "error")
  end
  bridge().send({
    source = flag and (flag == "--text" and "nothing" or flag:sub(3)),
    text = flag and rest or args.args,
    lines = lines(args),
    submit = args.bang,
  })
end

function M.complete_send(lead, line)
  local before = line:sub(1, #line - #lead)
  return before:match("GeminiSend!?%s+$") and FLAGS or {}
end

--- Implements `:[range]GeminiPrompt[!] [text]`.
function M.prompt(args)
  if args.bang then
    when_safe(require("gemini-bridge.prompt.composer").choose)
  else
    local chosen = lines(args)
    local function open()
      require("gemini-bridge.prompt.composer").open({
        text = args.args ~= "" and args.args or nil,
        lines = chosen,
      })
    end
    -- Later, another buffer may be current, and the lines would be lines of that buffer.
    if chosen then
      open()
    else
      when_safe(open)
    end
  end
end

--- Implements `:[range]GeminiAdd [file…]`.
function M.add(args)
  local files, problem = require("gemini-bridge.prompt.expand").files(args.fargs)
  if not files then
    return notify(problem, "warn")
  end
  bridge().send({ files = #files > 0 and files or nil, lines = lines(args) })
end

--- Implements `:[range]GeminiSelect[!]`.
function M.select(args)
  local selection = require("gemini-bridge.context.selection")
  if args.bang then
    selection.unpin()
  else
    selection.pin(args.range > 0 and { args.line1, args.line2 } or nil)
  end
end

--- Implements `:GeminiShare [off|on]`. Toggles sharing without an argument.
function M.share(args)
  if not vim.list_contains({ "", "off", "on" }, args.args) then
    return notify("Usage: :GeminiShare [on|off]", "error")
  end
  local is_toggle = args.args == ""
  local on = args.args == "on" or is_toggle and require("gemini-bridge.context.consent").is_paused()
  require("gemini-bridge.context.snapshot_debounce").share(on)
end

function M.complete_share()
  return { "off", "on" }
end

local SHELLS = { "--sh", "--fish", "--tmux" }

--- Implements `:GeminiEnv [--sh|--fish|--tmux]`.
function M.env(args)
  local form = args.fargs[1] or SHELLS[1]
  if not vim.tbl_contains(SHELLS, form) then
    return notify(("Unknown option %s. Known: %s"):format(form, table.concat(SHELLS, ", ")), "error")
  end
  require("gemini-bridge.report.shell_lines").show(form:sub(3))
end

function M.complete_env()
  return SHELLS
end

--- Implements `:GeminiChanges[!]`.
function M.changes(args)
  local navigation = require("gemini-bridge.changes.navigation")
  when_safe(args.bang and navigation.open_quickfix or navigation.open)
end

--- Implements `:[range]GeminiKeep[!] [path|all|turn]`, and `:GeminiUndo` with the same arguments.
---@param args vim.api.keyset.create_user_command.command_args
---@param act fun(chosen: gemini_bridge.ChangeOptions)
local function with_changes(args, act)
  if args.args == "all" or args.args == "turn" then
    return act({ [args.args] = true, force = args.bang })
  end
  with_file(args, function(path)
    act({ path = path, file = args.bang, lines = lines(args) })
  end)
end

function M.keep(args)
  with_changes(args, bridge().keep)
end

function M.undo(args)
  with_changes(args, bridge().undo)
end

function M.history()
  when_safe(require("gemini-bridge.changes.history.history_tab").open)
end

function M.complete_changes()
  local candidates = vim.tbl_map(function(change)
    return change.path
  end, bridge().changes())
  return vim.list_extend({ "all", "turn" }, candidates)
end

--- Asks the user for a note on the cursor's line or on the selected lines.
function M.note()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local chosen = lines({ range = 0 }) or { line, line }
  require("gemini-bridge.editor.focus_and_mode").end_visual()
  require("gemini-bridge.notes.notes").edit(chosen)
end

local ACTIONS = { "install", "remove" }

--- Implements `:GeminiExtension install|remove [cli]`.
function M.extension(args)
  local action, cli = args.fargs[1], args.fargs[2]
  if not vim.list_contains(ACTIONS, action) or #args.fargs > 2 then
    return notify("Usage: :GeminiExtension install|remove [cli]", "error")
  end
  cli = cli or require("gemini-bridge.config").get().terminal.cli
  if action == "install" then
    require("gemini-bridge.extension.offer").forget_answer(cli)
  end
  require("gemini-bridge.extension.link")[action](cli)
end

function M.complete_extension(lead, line)
  local before = line:sub(1, #line - #lead)
  if before:match("^%S+%s+$") then
    return ACTIONS
  end
  local link = require("gemini-bridge.extension.link")
  local possible = vim.tbl_filter(link.is_possible, require("gemini-bridge.config.clis").all())
  return vim.tbl_map(function(cli)
    return cli.name
  end, possible)
end

return M
