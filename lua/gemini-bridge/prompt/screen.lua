--- Sends the screens of terminals to the host while prompts wait for these terminals. Also types into terminals.
local channel = require("gemini-bridge.bridge.channel")
local scheduler = require("gemini-bridge.editor.scheduler")
local typed_keys = require("gemini-bridge.terminal.typed_keys")

local M = {}

--- Maximum number of lines to send. Enough for the CLI's prompt, and for empty lines below the prompt in a tall window.
local MAX_LINES = 300
--- Maximum number of cells before the text of a prompt.
local MAX_SIGN_CELLS = 6
--- Delay after a change before the screen is sent. A screen that changes constantly is sent at this interval.
local DEBOUNCE_MS = 30
--- Polling interval while the CLI waits for an external editor. Polling is needed, because the screen does not always
--- change when the editor ends.
local EDITOR_INTERVAL_MS = 500

--- Watched terminals, by buffer. `tick` identifies the version of the screen.
---@type table<integer, { tick: integer, is_due: boolean }>
local watched = {}

---@param buf integer
---@return boolean
local function is_running(buf)
  return vim.api.nvim_buf_is_valid(buf)
    and vim.bo[buf].buftype == "terminal"
    and vim.fn.jobwait({ vim.bo[buf].channel }, 0)[1] == -1
end

--- Returns true if a line on the screen begins like a suggested prompt: the first cell of the text differs from the
--- cell before, and the next cell from both. The cursor in a typed text changes a single cell.
---@param win integer
---@param line integer 1-based.
local function is_suggested(win, line)
  local place = vim.fn.screenpos(win, line, 1)
  if place.row == 0 then
    return false
  end
  local function attribute(offset)
    return vim.fn.screenattr(place.row, place.col + offset)
  end
  for offset = 1, MAX_SIGN_CELLS do
    local before, first, second = attribute(offset - 1), attribute(offset), attribute(offset + 1)
    local is_text = vim.fn.screenstring(place.row, place.col + offset + 1) ~= " "
    if is_text and first ~= before and second ~= first and second ~= before then
      return true
    end
  end
  return false
end

--- Returns the indexes of the lines that begin like a suggested prompt. Only for a terminal on the screen.
---@param buf integer
---@param lines string[] The last lines of the buffer.
---@return integer[] # 0-based indexes of `lines`.
local function suggested(buf, lines)
  local win = vim.iter(vim.fn.win_findbuf(buf)):find(function(win)
    return vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage()
  end)
  if not win then
    return {}
  end
  vim.cmd.redraw() -- in Terminal mode, Neovim may draw a change later than it reports the change
  local before = vim.api.nvim_buf_line_count(buf) - #lines
  local found = {}
  for index, line in ipairs(lines) do
    if line:find("%S") and is_suggested(win, before + index) then
      found[#found + 1] = index - 1
    end
  end
  return found
end

---@param buf integer
---@param delay_ms? integer
local function send(buf, delay_ms)
  local state = watched[buf]
  if not state or state.is_due then
    return
  end
  state.is_due = true
  vim.defer_fn(function()
    if watched[buf] ~= state then
      return
    end
    state.is_due = false
    local lines = is_running(buf) and vim.api.nvim_buf_get_lines(buf, -1 - MAX_LINES, -1, false) or nil
    local is_editing = require("gemini-bridge.terminal.external_editor").is_open()
    channel.notify("screen", {
      buf = buf,
      tick = state.tick,
      lines = lines,
      suggested = lines and suggested(buf, lines) or {},
      isUntouched = typed_keys.is_untouched(buf),
      isEditing = is_editing,
    })
    if is_editing then
      send(buf, EDITOR_INTERVAL_MS)
    end
  end, delay_ms or DEBOUNCE_MS)
end

--- Starts or stops watching a terminal.
---@param params gemini_bridge.calls.screen_watch
function M.watch(params)
  local buf = params.buf
  local state = params.on and { tick = 0, is_due = false } or nil
  watched[buf] = state
  if not state then
    return
  end
  send(buf, 0)
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  local function changed()
    if watched[buf] ~= state then
      return true
    end
    state.tick = state.tick + 1
    send(buf)
  end
  vim.api.nvim_buf_attach(buf, false, { on_lines = changed, on_detach = changed })
  local group = vim.api.nvim_create_augroup("gemini-bridge.screen." .. buf, {})
  vim.api.nvim_create_autocmd("TermClose", { group = group, buffer = buf, callback = changed })
end

--- Types into a terminal. If the host has not seen the current screen, or if Neovim does not allow changes now, sends
--- the screen instead.
---@param params gemini_bridge.calls.screen_type
---@return gemini_bridge.results.screen_type
function M.type(params)
  local buf, state = params.buf, watched[params.buf]
  if not state or state.tick ~= params.tick or not is_running(buf) then
    send(buf)
    return { typed = false }
  elseif params.keys then
    vim.fn.chansend(vim.bo[buf].channel, params.keys)
    if params.keys ~= "" then
      typed_keys.typed(buf, params.keys)
    end
    return { typed = true }
  elseif not scheduler.is_safe() then
    scheduler.now(function()
      send(buf)
    end)
    return { typed = false }
  end
  -- nvim_put() uses bracketed paste if the program has enabled it. The host has removed control characters, of which
  -- nvim_put() would keep most.
  local lines = vim.split(params.paste, "\n", { plain = true })
  vim.api.nvim_buf_call(buf, function()
    vim.api.nvim_put(lines, "c", true, false)
  end)
  typed_keys.typed(buf, params.paste)
  return { typed = true }
end

return M
