--- The commands: what they do with their arguments, and their completion.
local M = {}

--- For the completion of commands.
---@param candidates string[]
---@param lead string
---@return string[]
local function starting_with(candidates, lead)
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates)
end

--- What was typed behind the command, if anything.
---@param args vim.api.keyset.create_user_command.command_args
---@return string?
local function argument(args)
  return args.args ~= "" and args.args or nil
end

--- Calls a function with the file that was typed behind the command, if any.
---@param args vim.api.keyset.create_user_command.command_args
---@param act fun(path?: string)
local function with_file(args, act)
  local path, problem = require("gemini-bridge.prompt.expand").file(args.args)
  if problem then
    return require("gemini-bridge.notify")(problem, "warn")
  end
  act(path ~= "" and path or nil)
end

--- The lines that are meant.
---@param args vim.api.keyset.create_user_command.command_args
---@return [integer, integer]? lines First and last, 1-based: the range, or the selection.
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

--- Deletes the empty buffers that a session creates which was saved with windows of the plugin. Fills those of kept
--- texts.
function M.clean_session()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    local is_foreign = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    if is_foreign and vim.startswith(name, "gemini://kept/") then
      require("gemini-bridge.review.kept").read({ buf = buf, match = name })
    elseif is_foreign and name:find("^gemini[%w-]*://") then
      require("gemini-bridge.editor.window").delete_buffer(buf)
    end
  end
end

--- A bridge that runs needs no build, but may be of before one.
---@param go fun()
local function when_built(go)
  local is_stopped = require("gemini-bridge.bridge.status").get().state == "stopped"
  local offer = require("gemini-bridge.host.build_offer")
  local check = is_stopped and offer.build or offer.restart
  check(go)
end

function M.start()
  when_built(require("gemini-bridge.report.announce").start)
end

function M.stop()
  require("gemini-bridge.report.announce").stop()
end

function M.restart()
  require("gemini-bridge.host.build_offer").build(require("gemini-bridge.report.announce").restart)
end

function M.status()
  require("gemini-bridge.report.status_view").open()
end

function M.build()
  require("gemini-bridge.host.build_offer").rebuild()
end

--- `:GeminiDoctor [pid]`
function M.doctor(args)
  local pid = tonumber(args.args)
  if args.args ~= "" and not pid then
    require("gemini-bridge.notify")(":GeminiDoctor takes the process id of a running CLI", "error")
    return
  end
  require("gemini-bridge.health").doctor(pid)
end

function M.complete_doctor(lead)
  return starting_with(require("gemini-bridge.report.doctor").running(), lead)
end

function M.log()
  local path = require("gemini-bridge.host.boot").log_file()
  if not vim.uv.fs_stat(path) then
    require("gemini-bridge.notify")("There is no log yet: it starts with the bridge, in " .. path)
    return
  end
  -- By buffer: an Ex command would expand what a path may hold.
  local buf = vim.fn.bufadd(path)
  vim.bo[buf].buflisted, vim.bo[buf].swapfile = true, false -- other Neovims may show it, too
  local base = require("gemini-bridge.editor.window").base()
  vim.api.nvim_open_win(buf, true, { win = base, split = "below" })
  vim.bo[buf].autoread = true
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(buf), 0 })
end

function M.accept(args)
  with_file(args, function(path)
    bridge().accept({ path = path, force = args.bang })
  end)
end

function M.reject(args)
  with_file(args, function(path)
    bridge().reject({ path = path })
  end)
end

function M.review(args)
  with_file(args, function(path)
    bridge().review({ path = path })
  end)
end

function M.complete_diffs(lead)
  return starting_with(
    vim.tbl_map(function(diff)
      return diff.filePath
    end, bridge().diffs()),
    lead
  )
end

--- Takes `cli=` and `name=` from the start of the words.
---@param words string[] The others stay.
---@return { cli?: string, name?: string } named
---@return string? problem
local function take_named(words)
  local named = {}
  while words[1] and (vim.startswith(words[1], "cli=") or vim.startswith(words[1], "name=")) do
    local key, value = table.remove(words, 1):match("^(%l+)=(.*)$")
    named[key] = value
  end
  local problem = named.name == "" and "name= needs a name" or nil
  if named.cli then
    problem = problem or select(2, require("gemini-bridge.config.clis").get(named.cli))
  end
  return named, problem
end

--- `:Gemini[!] [cli={cli}] [name={name}] [args]`
function M.terminal(args)
  local words, problem = require("gemini-bridge.terminal.shell_words").split(args.args)
  if not words then
    require("gemini-bridge.notify")(":Gemini: " .. problem, "error")
    return
  end
  local named
  named, problem = take_named(words)
  if problem then
    require("gemini-bridge.notify")(":Gemini: " .. problem, "error")
    return
  end
  -- What is selected goes along, also when this is what starts the bridge.
  require("gemini-bridge.context.subscription").track()
  if args.range > 0 then
    require("gemini-bridge.context.selection").take_along()
  end
  when_built(function()
    bridge().terminal({ cli = named.cli, name = named.name, args = words, new = args.bang })
  end)
end

function M.complete_terminal(lead)
  local candidates = {}
  for _, cli in ipairs(require("gemini-bridge.config.clis").all()) do
    candidates[#candidates + 1] = "cli=" .. cli.name
  end
  for _, terminal in ipairs(require("gemini-bridge.terminal.terminals").list()) do
    candidates[#candidates + 1] = "name="
      .. require("gemini-bridge.terminal.shell_words").escape(terminal.name)
  end
  return starting_with(candidates, lead)
end

local SOURCES = {
  ["--diagnostics"] = "diagnostics",
  ["--quickfix"] = "quickfix",
  ["--text"] = "nothing",
  ["--output"] = "output",
}

local FLAGS = { "--diagnostics", "--quickfix", "--text", "--output", "--cancel" }

--- `:[range]GeminiSend[!] [--diagnostics|--quickfix|--output|--text] [text]`, `:GeminiSend --cancel`
function M.send(args)
  local flag, rest = args.args:match("^(%-%-%a+)%s*(.*)$")
  if flag == "--cancel" then
    return require("gemini-bridge.prompt.outbox").cancel()
  end
  local source = SOURCES[flag]
  if flag and not source then
    require("gemini-bridge.notify")(("%s is none of %s"):format(flag, table.concat(FLAGS, ", ")), "error")
    return
  end
  bridge().send({
    source = source,
    text = source and rest or args.args,
    lines = lines(args),
    submit = args.bang,
  })
end

function M.complete_send(lead, line)
  local before = line:sub(1, #line - #lead)
  return before:match("GeminiSend!?%s+$") and starting_with(FLAGS, lead) or {}
end

--- `:[range]GeminiPrompt[!] [text]`
function M.prompt(args)
  local composer = require("gemini-bridge.prompt.composer")
  if args.bang then
    composer.recall()
  else
    composer.open({ text = argument(args), lines = lines(args) })
  end
end

--- `:[range]GeminiAdd [file…]`
function M.add(args)
  local files, problem = require("gemini-bridge.prompt.expand").files(args.fargs)
  if not files then
    return require("gemini-bridge.notify")(problem, "warn")
  end
  bridge().send({ files = #files > 0 and files or nil, lines = lines(args) })
end

function M.complete_files(lead)
  return require("gemini-bridge.prompt.expand").complete(lead)
end

--- `:[range]GeminiSelect[!]`
function M.select(args)
  local selection = require("gemini-bridge.context.selection")
  if args.bang then
    selection.unpin()
  else
    selection.pin(args.range > 0 and { args.line1, args.line2 } or nil)
  end
end

--- `:GeminiShare off|on`
function M.share(args)
  if args.args ~= "off" and args.args ~= "on" then
    require("gemini-bridge.notify")(":GeminiShare takes on or off", "error")
    return
  end
  local on = args.args == "on"
  require("gemini-bridge.context.subscription").share(on)
  require("gemini-bridge.notify")(
    on and "Sharing is on." or "Sharing is paused: CLIs and models are told nothing until :GeminiShare on."
  )
end

function M.complete_share(lead)
  return starting_with({ "off", "on" }, lead)
end

local SHELLS = { "--sh", "--fish", "--tmux" }

--- `:GeminiEnv [--sh|--fish|--tmux]`
function M.env(args)
  local form = argument(args) or SHELLS[1]
  if not vim.tbl_contains(SHELLS, form) then
    require("gemini-bridge.notify")(("%s is none of %s"):format(form, table.concat(SHELLS, ", ")), "error")
    return
  end
  require("gemini-bridge.report.shell_lines").show(form:sub(3))
end

function M.complete_env(lead)
  return starting_with(SHELLS, lead)
end

function M.changes()
  require("gemini-bridge.changes.look").open()
end

--- `:[range]GeminiKeep[!] [path|all]` and its counterpart.
---@param args vim.api.keyset.create_user_command.command_args
---@param act fun(chosen: gemini_bridge.ChangeOptions)
local function with_changes(args, act)
  if args.args == "all" then
    return act({ all = true })
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
  require("gemini-bridge.changes.past").open()
end

function M.complete_changes(lead)
  local candidates = vim.tbl_map(function(change)
    return change.path
  end, bridge().changes())
  return starting_with(vim.list_extend({ "all" }, candidates), lead)
end

function M.go_to_next()
  require("gemini-bridge.changes.look").jump(1)
end

function M.go_to_previous()
  require("gemini-bridge.changes.look").jump(-1)
end

function M.toggle_old()
  require("gemini-bridge.changes.look").toggle_old()
end

local ACTIONS = { "install", "remove" }

--- `:GeminiExtension install|remove [cli]`
function M.extension(args)
  local action, cli = args.fargs[1], args.fargs[2]
  if not vim.list_contains(ACTIONS, action) or #args.fargs > 2 then
    return require("gemini-bridge.notify")("Usage: :GeminiExtension install|remove [cli]", "error")
  end
  cli = cli or require("gemini-bridge.config").get().terminal.cli
  if action == "install" then
    require("gemini-bridge.extension.offer").revert(cli)
  end
  require("gemini-bridge.extension.link")[action](cli)
end

function M.complete_extension(lead, line)
  local before = line:sub(1, #line - #lead)
  if before:match("^%S+%s+$") then
    return starting_with(ACTIONS, lead)
  end
  return starting_with(
    vim.tbl_map(function(cli)
      return cli.name
    end, require("gemini-bridge.config.clis").all()),
    lead
  )
end

return M
