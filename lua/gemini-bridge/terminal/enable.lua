--- Types `/ide enable` into a CLI in a terminal of Neovim's that would not connect, as its user would have to.
local notify = require("gemini-bridge.notify")

--- How often its screen is looked at, and how long: somebody may have to log in first (milliseconds).
local INTERVAL, TIMEOUT = 100, 300000
--- What has been there this long is all of it, and what still is there has not been heard (milliseconds). Gemini CLI
--- 0.61.0 takes Enter for a line break for 40 ms after what may have been pasted.
local PAUSE, REPEAT = 300, 2000

--- What Gemini CLI 0.61.0 shows, without blanks and borders: its question, of which Esc gets rid, and its prompt while
--- nothing is typed.
local QUESTION = "DoyouwanttoconnectNeovimtoGeminiCLI?"
local EMPTY = ">Typeyourmessageor"
local COMMAND = "/ide enable"
--- Enough lines for both, however they wrap.
local SCREEN = 60

---@param name string
---@return integer? buf
local function buffer_of(name)
  return vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
    return vim.b[buf].gemini_terminal == name
  end)
end

---@param lines string[]
---@return string
local function bare(lines)
  local text = table.concat(lines)
  for _, mark in ipairs({ "%s", "│", "▄", "▀" }) do
    text = text:gsub(mark, "")
  end
  return text
end

--- Whether the command is all that is typed.
---@param lines string[]
---@return boolean
local function shows_command(lines)
  return vim.iter(lines):any(function(line)
    return vim.trim(line) == "> " .. COMMAND
  end)
end

--- Gets rid of the question, then types into the prompt. Not before the question: it comes some time after the prompt,
--- and would take Enter for a "Yes". It comes once.
---@param buf integer
---@param done fun(ok: boolean)
local function type_into(buf, done)
  local deadline, channel = vim.uv.now() + TIMEOUT, vim.bo[buf].channel
  local asked_at, typed_at, shown_since ---@type integer?, integer?, integer?
  local function look()
    if not vim.api.nvim_buf_is_valid(buf) or vim.fn.jobwait({ channel }, 0)[1] ~= -1 then
      return
    end
    local now, lines = vim.uv.now(), vim.api.nvim_buf_get_lines(buf, -1 - SCREEN, -1, false)
    local screen = bare(lines)
    local is_asking = screen:find(QUESTION, 1, true) ~= nil
    if now > deadline then
      return done(false)
    elseif is_asking and now - (asked_at or 0) > REPEAT then
      asked_at = now
      vim.fn.chansend(channel, "\27")
    elseif asked_at and not is_asking and not typed_at and screen:find(EMPTY, 1, true) then
      typed_at, deadline = now, now + TIMEOUT / 10
      vim.fn.chansend(channel, COMMAND)
    elseif typed_at then
      shown_since = shows_command(lines) and (shown_since or now) or nil
      if shown_since and now - shown_since >= PAUSE then
        vim.fn.chansend(channel, "\r")
        return done(true)
      end
    end
    vim.defer_fn(look, INTERVAL)
  end
  look()
end

vim.api.nvim_create_autocmd("User", {
  group = vim.api.nvim_create_augroup("gemini-bridge.enable", {}),
  pattern = "gemini-bridge.unconnected",
  callback = function(args)
    local buf = args.data.types and buffer_of(args.data.terminal)
    if not buf then
      return notify(args.data.hint)
    end
    type_into(buf, function(ok)
      if not ok then
        notify(args.data.hint)
      end
    end)
  end,
})
