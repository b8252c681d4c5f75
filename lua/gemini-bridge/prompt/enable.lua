--- Types `/ide enable` into an unconnected CLI in a terminal of Neovim: a CLI whose IDE mode is off, or that shows
--- "Disconnected" because the port or token of the bridge changed.
local clis = require("gemini-bridge.config.clis")
local notify = require("gemini-bridge.notify")
local screens = require("gemini-bridge.prompt.screens")
local status = require("gemini-bridge.bridge.status")
local terminals = require("gemini-bridge.terminal.terminals")

--- Polling interval and timeout. The timeout is long, because the user may have to log in, or an answer may be running.
local POLL_MS, TIMEOUT_MS = 100, 600000
--- Time for which the command must be shown before Enter is pressed, and after which an ignored key is pressed again.
--- Gemini CLI 0.61.0 treats Enter as a line break for 40 ms after a possible paste.
local STABLE_MS, REPEAT_MS = 300, 2000
--- Gemini CLI 0.61.0 tries to reach a lost host twice more, the last time after 2.5 s, and reports that failure for its
--- next connection.
local RECONNECT_DELAY_MS = 4000
--- Timeout for the command to be shown.
local SHOW_TIMEOUT_MS = 30000

--- Timeout of a connection, and number of attempts.
local CONNECT_TIMEOUT_MS, ATTEMPTS = 4000, 3

--- The question of Gemini CLI 0.61.0 whether to connect, without blanks and borders. Esc closes it.
local QUESTION = "DoyouwanttoconnectNeovimtoGeminiCLI?"
--- Shown while the CLI works. A command would be queued as a prompt.
local WORKING = "esctocancel"
local COMMAND = "/ide enable"
--- Number of lines that hold the question or the prompt, even in a narrow terminal.
local SCREEN_LINES = 60

--- Whether the prompt holds only the command. The CLI may show completions below.
---@param reading gemini_bridge.Reading
---@return boolean
local function is_command(reading)
  local command = screens.bare(COMMAND)
  return reading.text == command or vim.startswith(reading.text, command .. "enable")
end

--- The last attempt in each terminal, by buffer, until its command has left the prompt.
---@type table<integer, { is_typed: boolean, has_failed: boolean }>
local attempts = {}

--- Types the command once the CLI shows an empty prompt. If a question is expected, closes the question with Esc first:
--- it opens some time after the prompt, and would treat Enter as "Yes". Replaces an earlier attempt that has not typed
--- yet, and leaves one that has: two attempts at once would type the command twice.
---@param buf integer
---@param drawing gemini_bridge.Drawing
---@param is_asked boolean Whether the CLI is going to ask the question.
---@param done fun(ok: boolean)
local function type_into(buf, drawing, is_asked, done)
  local earlier = attempts[buf]
  if earlier and earlier.is_typed then
    return earlier.has_failed and done(false)
  end
  local attempt = { is_typed = false, has_failed = false }
  attempts[buf] = attempt
  local begin, channel = vim.uv.now() + (is_asked and 0 or RECONNECT_DELAY_MS), vim.bo[buf].channel
  local deadline = begin + TIMEOUT_MS
  local asked_at, typed_at, shown_since, entered_at ---@type integer?, integer?, integer?, integer?
  local function look()
    if attempts[buf] ~= attempt then
      return
    elseif not vim.api.nvim_buf_is_valid(buf) or vim.fn.jobwait({ channel }, 0)[1] ~= -1 then
      attempts[buf] = nil
      return
    end
    local now, lines = vim.uv.now(), vim.api.nvim_buf_get_lines(buf, -1 - SCREEN_LINES, -1, false)
    local screen = screens.bare(table.concat(lines)):lower()
    local is_asking = screen:find(QUESTION:lower(), 1, true) ~= nil
    local reading = screens.read(lines, drawing)
    local is_idle = not is_asking and not screen:find(WORKING, 1, true)
    if now > deadline then
      attempt.has_failed = true
      return done(false)
    elseif is_asking and now - (asked_at or 0) > REPEAT_MS then
      asked_at = now
      vim.fn.chansend(channel, "\27")
    elseif typed_at then
      shown_since = is_command(reading) and (shown_since or now) or nil
      if entered_at and not shown_since then
        attempts[buf] = nil
        return done(true)
      elseif
        shown_since
        and now - math.max(shown_since + STABLE_MS, entered_at or 0) >= (entered_at and REPEAT_MS or 0)
      then
        -- The list of completions may consume the first Enter.
        entered_at = now
        vim.fn.chansend(channel, "\r")
      end
    elseif (asked_at or not is_asked and now >= begin) and is_idle and reading.state == "empty" then
      typed_at, deadline, attempt.is_typed = now, now + SHOW_TIMEOUT_MS, true
      vim.fn.chansend(channel, COMMAND)
    end
    vim.defer_fn(look, POLL_MS)
  end
  look()
end

--- Counts the clients of a CLI that do not show "Disconnected".
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
    --- Types the command, and types it again if no CLI has connected: the CLI may report an earlier failure instead.
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
        end, CONNECT_TIMEOUT_MS)
      end)
    end
    connect(args.data.isAsked, ATTEMPTS)
  end,
})
