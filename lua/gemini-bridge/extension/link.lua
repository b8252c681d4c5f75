--- Installs the plugin's extension in a CLI as a link, with the CLI's own command. Also removes the link and reads its
--- state.
local clis = require("gemini-bridge.config.clis")
local config = require("gemini-bridge.config")
local notify = require("gemini-bridge.notify")
local private_file = require("gemini-bridge.disk.private_file")

local M = {}

local NAME = "gemini-bridge"
--- Timeout for the CLI's command. Starting a CLI takes several seconds.
local LINK_TIMEOUT_MS = 60000

local root = vim.fs
  .normalize(debug.getinfo(1, "S").source:sub(2), { expand_env = false })
  :match("^(.*)/lua/gemini%-bridge/")
--- The folder of the extension. The CLI also runs in this folder while it links the extension. A CLI with folder trust
--- then marks its current directory as trusted, so it must not run in a directory of the user.
local folder = root .. "/extension"

--- Arguments and input with which each kind of CLI links the extension without a question.
---@type table<string, { consent: string[], stdin?: string }>
local KINDS = {
  gemini = { consent = { "--consent" } },
  qwen = { consent = {}, stdin = "y\n" },
}

--- Returns whether a CLI supports extensions.
---@param cli gemini_bridge.Cli
---@return boolean
function M.is_possible(cli)
  return KINDS[cli.like] ~= nil
end

--- Returns the command of `:Gemini` up to the CLI's program, such as `node gemini.js`. If the command does not contain
--- the CLI's program, returns the default program.
---@param cli gemini_bridge.Cli
---@return string[]
function M.program(cli)
  local words = clis.command(cli)
  for i, word in ipairs(words) do
    if word:find("^%-%l*c$") then
      break -- `bash -c` would not pass further words to the CLI
    elseif vim.startswith(vim.fs.basename(word), cli.name) then
      return vim.list_slice(words, 1, i)
    end
  end
  return { cli.cmd[1] }
end

---@param name string
---@return gemini_bridge.Cli? cli
---@return string? problem
local function cli_named(name)
  local cli, problem = clis.get(name)
  if not cli then
    return nil, problem
  elseif not KINDS[cli.like] then
    return nil, ("%s does not support extensions"):format(cli.label)
  end
  local program = M.program(cli)[1]
  if vim.fn.executable(program) == 0 then
    return nil,
      ("%s was not found: install this program, or set the option clis.%s.cmd"):format(program, name)
  end
  return cli
end

--- Expands `${NAME:-default}` and `~` at the start of a path. Must match src/profiles/discovery-paths.ts.
---@param path string
---@return string
local function expand(path)
  local env = config.get().terminal.env
  local function value(name, default)
    local set = env[name] or vim.env[name]
    return set and set ~= "" and set or default
  end
  path = path:gsub("^%${([%w_]+):%-(.-)}", value)
  return vim.startswith(path, "~") and value("HOME", vim.uv.os_homedir()) .. path:sub(2) or path
end

---@param cli gemini_bridge.Cli
---@return string store Folder of the extension.
---@return string record The CLI's file that names the origin of the extension.
local function paths(cli)
  local store = vim.fs.joinpath(expand(cli.home), "extensions", NAME)
  return store, vim.fs.joinpath(store, cli.folder .. "-extension-install.json")
end

--- Returns the state of the extension in a CLI. "gone" is a link to a folder that no longer contains the extension.
---@param cli gemini_bridge.Cli
---@return "installed"|"gone"|"none"
function M.state(cli)
  local _, record = paths(cli)
  local content = private_file.read(record)
  if type(content) ~= "table" then
    return "none"
  end
  local manifest = vim.fs.joinpath(tostring(content.source), "gemini-extension.json")
  return content.type == "link" and not vim.uv.fs_stat(manifest) and "gone" or "installed"
end

--- Returns the folder to which a CLI's link leads if this folder belongs to another copy of the plugin.
---@param cli gemini_bridge.Cli
---@return string?
function M.other_copy(cli)
  local _, record = paths(cli)
  local content = private_file.read(record)
  local source = type(content) == "table"
    and content.type == "link"
    and vim.uv.fs_realpath(tostring(content.source))
  return source and source ~= vim.uv.fs_realpath(folder) and source or nil
end

--- Returns the reason why a connected CLI has not reported any edit, and advice for the user.
---@param cli gemini_bridge.Cli
---@return string reason
---@return boolean is_early True if the first hook may still arrive.
function M.missing_hooks(cli)
  if M.state(cli) == "installed" then
    return "it has not reported anything yet; if it stays so, restart it, and check that its extension is enabled",
      true
  elseif M.is_possible(cli) then
    local name = cli.name == config.get().terminal.cli and "" or " " .. cli.name
    return ("it does not report its edits; run :GeminiExtension install%s, then restart it"):format(name),
      false
  elseif cli.gate then
    return ("it does not report its edits; start it with :Gemini cli=%s"):format(cli.name), false
  end
  return "it cannot report its edits", false
end

--- Runs the CLI with the subcommand `extensions`.
---@param cli gemini_bridge.Cli
---@param args string[]
---@param done fun(ok: boolean, output: string)
local function run(cli, args, done)
  local options = {
    cwd = folder,
    env = config.get().terminal.env,
    stdin = KINDS[cli.like].stdin,
    text = true,
    timeout = LINK_TIMEOUT_MS,
  }
  local ok, problem = pcall(
    vim.system,
    vim.iter({ M.program(cli), "extensions", args }):flatten():totable(),
    options,
    vim.schedule_wrap(function(result)
      local output = vim.trim((result.stdout or "") .. "\n" .. (result.stderr or ""))
      if result.code == 124 then
        output = vim.trim(output .. ("\nno answer within %d s"):format(LINK_TIMEOUT_MS / 1000))
      end
      done(result.code == 0, output)
    end)
  )
  if not ok then
    done(false, tostring(problem))
  end
end

--- Removes a link to a folder without the extension. The CLI's own command would keep such a link, and the CLI would
--- print a warning at each start.
---@param cli gemini_bridge.Cli
---@return boolean removed
local function remove_dead_link(cli)
  local store, record = paths(cli)
  -- Deletes the CLI's record of the link, and then the folder of this record. If the folder contains other files, rmdir
  -- fails and deletes nothing.
  return M.state(cli) == "gone" and vim.uv.fs_unlink(record) ~= nil and vim.uv.fs_rmdir(store) ~= nil
end

--- Links the extension in a CLI and tells the user the result. Replaces an earlier link.
---@param cli gemini_bridge.Cli
---@param done? fun()
---@param advice? string Next step for the user. Appended to the message.
function M.create(cli, done, advice)
  notify(("Linking the extension in %s …"):format(cli.label))
  local function create()
    run(cli, vim.list_extend({ "link", folder }, KINDS[cli.like].consent), function(_, output)
      -- The exit code is not reliable: Gemini CLI may link the extension but report an error. This happens if the user
      -- is not in the user database.
      if M.state(cli) ~= "installed" then
        -- Puts the output on separate lines, because on a small screen only the last line of the message is visible. In
        -- the output of Gemini CLI, the last line is the error, after a text about consent.
        notify(("The extension was not linked in %s:\n%s"):format(cli.label, output), "error")
      else
        notify(("The extension is linked in %s.%s"):format(cli.label, advice or ""))
      end
      if done then
        done()
      end
    end)
  end
  remove_dead_link(cli)
  if M.state(cli) == "none" then
    return create()
  end
  -- A CLI does not link an extension twice, so the earlier link is removed.
  run(cli, { "uninstall", NAME }, create)
end

--- Implements `:GeminiExtension install`: links the extension and tells the user the result.
---@param name string Name of the CLI.
function M.install(name)
  local cli, problem = cli_named(name)
  if not cli then
    return notify(problem, "error")
  end
  M.create(cli, nil, " Restart the CLI to use the extension.")
end

--- Implements `:GeminiExtension remove`: removes the link and tells the user the result.
---@param name string Name of the CLI.
function M.remove(name)
  local cli, problem = cli_named(name)
  if not cli then
    return notify(problem, "error")
  end
  run(cli, { "uninstall", NAME }, function(ok, output)
    if ok or remove_dead_link(cli) then
      notify(("The extension was removed from %s."):format(cli.label))
    else
      notify(("The extension was not removed from %s: %s"):format(cli.label, output), "error")
    end
  end)
end

return M
