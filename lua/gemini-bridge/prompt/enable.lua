--- Types `/ide enable` into a CLI in a terminal of Neovim's that would not connect, as its user would have to: one that
--- was never told to, and one that says "Disconnected" since its bridge is another.
local clis = require("gemini-bridge.config.clis")
local notify = require("gemini-bridge.notify")
local screens = require("gemini-bridge.prompt.screens")
local status = require("gemini-bridge.bridge.status")
local terminals = require("gemini-bridge.terminal.terminals")

--- How often its screen is looked at, and how long: somebody may have to log in, or an answer to end (milliseconds).
local INTERVAL, TIMEOUT = 100, 600000
--- What has been there this long is all of it, and what still is there has not been heard (milliseconds). Gemini CLI
--- 0.61.0 takes Enter for a line break for 40 ms after what may have been pasted.
local PAUSE, REPEAT = 300, 2000
--- Gemini CLI 0.61.0 looks for the host that it has lost twice more, the last time after 2.5 s, and takes the failure
--- for that of its next connection (milliseconds).
local LOOKS = 4000
--- So long the command may take to be shown (milliseconds).
local SHOWN = 30000

--- So long a connection may take, and so often it is asked for (milliseconds).
local ANSWER, TRIES = 4000, 3

--- Gemini CLI 0.61.0, without blanks and borders: its question, of which Esc gets rid.
local QUESTION = "DoyouwanttoconnectNeovimtoGeminiCLI?"
--- What is shown while it works: a command would be taken for a prompt to come.
local WORKING = "esctocancel"
local COMMAND = "/ide enable"
--- Enough lines for all of it, however they wrap.
local SCREEN = 60

--- Whether the command is all that is typed; the CLI may list what completes it below.
---@param reading gemini_bridge.Reading
---@return boolean
local function is_command(reading)
  local command = screens.bare(COMMAND)
  return reading.text == command or vim.startswith(reading.text, command .. "enable")
end

--- Types into its prompt when that is there and empty. Not before a question that is to come: it comes some time after
--- the prompt, and would take Enter for a "Yes". It comes once, and Esc gets rid of it.
---@param buf integer
---@param drawing gemini_bridge.Drawing
---@param is_asked boolean The question is to come.
---@param done fun(ok: boolean)
local function type_into(buf, drawing, is_asked, done)
  local begin, channel = vim.uv.now() + (is_asked and 0 or LOOKS), vim.bo[buf].channel
  local deadline = begin + TIMEOUT
  local asked_at, typed_at, shown_since, entered_at ---@type integer?, integer?, integer?, integer?
  local function look()
    if not vim.api.nvim_buf_is_valid(buf) or vim.fn.jobwait({ channel }, 0)[1] ~= -1 then
      return
    end
    local now, lines = vim.uv.now(), vim.api.nvim_buf_get_lines(buf, -1 - SCREEN, -1, false)
    local screen = screens.bare(table.concat(lines)):lower()
    local is_asking = screen:find(QUESTION:lower(), 1, true) ~= nil
    local reading = screens.read(lines, drawing)
    local is_idle = not is_asking and not screen:find(WORKING, 1, true)
    if now > deadline then
      return done(false)
    elseif is_asking and now - (asked_at or 0) > REPEAT then
      asked_at = now
      vim.fn.chansend(channel, "\27")
    elseif typed_at then
      shown_since = is_command(reading) and (shown_since or now) or nil
      if entered_at and not shown_since then
        return done(true)
      elseif
        shown_since and now - math.max(shown_since + PAUSE, entered_at or 0) >= (entered_at and REPEAT or 0)
      then
        -- Its list of completions may take the first one.
        entered_at = now
        vim.fn.chansend(channel, "\r")
      end
    elseif (asked_at or not is_asked and now >= begin) and is_idle and reading.state == "empty" then
      typed_at, deadline = now, now + SHOWN
      vim.fn.chansend(channel, COMMAND)
    end
    vim.defer_fn(look, INTERVAL)
  end
  look()
end

--- How many of a CLI's clients do not say "Disconnected".
---@param cli string
---@return integer
local function connected(cli)
  return #vim.tbl_filter(function(client)
    return client.cli == cli and not client.interrupted
  end, status.get().clients)
end

vim.api.nvim_create_autocmd("User", {
  group = vim.api.nvim_create_augroup("gemini-bridge.enable", {}),
  pattern = "gemini-bridge.unconnected",
  callback = function(args)
    local terminal = terminals.get(args.data.terminal)
    local cli = terminal and clis.get(terminal.cli)
    local drawing = cli and screens.drawings[cli.like]
    if not (args.data.types and terminal and terminal.buf and drawing) then
      return notify(args.data.hint)
    end
    --- Types, and once more when nobody has connected after it: the CLI may have taken another failure for this one's.
    ---@param is_asked boolean
    ---@param tries integer
    local function connect(is_asked, tries)
      local before = connected(terminal.cli)
      type_into(terminal.buf, drawing, is_asked, function(ok)
        if not ok then
          return notify(args.data.hint)
        end
        vim.defer_fn(function()
          if connected(terminal.cli) <= before and tries > 1 and terminals.get(terminal.name) == terminal then
            connect(false, tries - 1)
          end
        end, ANSWER)
      end)
    end
    connect(args.data.isAsked, TRIES)
  end,
})
