--- Shows messages of the plugin to the user, without a "Press ENTER" prompt.

--- Prefix of messages that Neovim itself shows. If the user has replaced `vim.notify`, that function gets `TITLE`
--- instead.
local NAME = "gemini-bridge: "
local TITLE = "Gemini"

local HIGHLIGHTS = { error = "ErrorMsg", warn = "WarningMsg" }
--- Maximum age of a message that is shown again when the user leaves Terminal mode.
local REPEAT_MAX_AGE_MS = 60000
--- Time that a user needs to read a message. If Terminal mode starts earlier, the message is shown again when the user
--- leaves Terminal mode.
local READING_TIME_MS = 3000

local SEVERITY = { "debug", "info", "warn", "error" }

---@class gemini_bridge.Notice
---@field text string
---@field level "debug"|"info"|"warn"|"error"

--- Messages of the current tick. They are shown after this tick.
---@type gemini_bridge.Notice[]
local queue = {}

--- Passes a message to `vim.notify`, unless that function only prints it. A printed long message asks for ENTER, and
--- has no title. Nothing else tells Neovim's own function from the function of a plugin in all releases of Neovim.
--- A plugin such as nvim-notify may have set a callable table instead of a function.
---@param notice gemini_bridge.Notice
---@return boolean shown False if the message must be printed.
local function pass_to_user(notice)
  local is_printed = false
  local api, print_before =
    vim.api, { nvim_echo = vim.api.nvim_echo, nvim_err_writeln = vim.api.nvim_err_writeln }
  for name in pairs(print_before) do
    api[name] = function()
      is_printed = true
    end
  end
  local ok = pcall(vim.notify, notice.text, vim.log.levels[notice.level:upper()], { title = TITLE })
  for name, print in pairs(print_before) do
    api[name] = print
  end
  return ok and not is_printed
end

--- Returns the maximum width of a message without a "Press ENTER" prompt (screen cells).
---@return integer
local function room()
  local above = math.max(0, vim.o.cmdheight - 1)
  -- The last cell of a full line may stay empty, because a wide character does not fit there. Does not count that cell.
  return above * (vim.o.columns - 1) + vim.v.echospace
end

--- Returns the start of a text that fits into a number of screen cells.
---@param text string Must be printable, see |strtrans()|.
---@param cells integer
---@return string
local function start_of(text, cells)
  return vim.fn.printf(("%%.%dS"):format(math.max(cells, 0)), text)
end

--- Returns how many screen cells `fit` uses for the end of a text. This is a third of the cells. The end gets up to two
--- thirds if it then contains a whole command of the plugin, or the whole last clause. Both usually say what to do.
---@param text string
---@param cells integer
---@return integer
local function width_of_end(text, cells)
  local third = math.floor(cells / 3)
  local width = third
  for _, pattern in ipairs({ "^.*(:Gemini.*)", "^.*[.:;] (.*)" }) do
    local wanted = vim.fn.strdisplaywidth(text:match(pattern) or "")
    if wanted <= 2 * third then
      width = math.max(width, wanted)
    end
  end
  return width
end

--- Shortens a text in the middle, because the start says what happened and the end says what to do.
---@param text string
---@param cells integer
---@return string
local function fit(text, cells)
  if vim.fn.strdisplaywidth(text) <= cells then
    return text
  end
  local before = start_of(text, vim.fn.strdisplaywidth(text) - width_of_end(text, cells))
  local tail = text:sub(#before + 1):gsub("^…", "")
  local start = start_of(text, cells - vim.fn.strdisplaywidth("…" .. tail)):gsub("…$", "")
  return start .. "…" .. tail
end

--- Returns the lines of a text for the message history. Splits lines that are too long for the screen. If 'cmdheight'
--- is not 0 and 'shortmess' contains "T", Neovim shortens long lines itself.
---@param text string
---@return string[]
local function lines(text)
  local found = vim.split(text, "\n", { trimempty = true })
  if vim.o.cmdheight > 0 and vim.o.shortmess:find("T", 1, true) then
    return found
  end
  return vim
    .iter(found)
    :map(function(line)
      local pieces, rest = {}, vim.fn.strtrans(line)
      while rest ~= "" do
        local piece = start_of(rest, math.max(room(), 2))
        pieces[#pieces + 1] = piece
        rest = rest:sub(#piece + 1)
      end
      return pieces
    end)
    :flatten()
    :totable()
end

--- Adds a message to the history, line by line. Neovim asks for ENTER if several lines are visible. Therefore a redraw
--- removes the previous line from the screen.
---@param notice gemini_bridge.Notice
local function record(notice)
  for _, line in ipairs(lines(NAME .. notice.text:gsub("[%z\t]", " "))) do
    local highlight = HIGHLIGHTS[notice.level] or "None"
    vim.cmd.redraw()
    vim.api.nvim_exec2(("echohl %s | echomsg %s | echohl None"):format(highlight, vim.fn.string(line)), {})
  end
end

---@param notices gemini_bridge.Notice[]
---@return gemini_bridge.Notice # The last message with the highest level.
local function foremost(notices)
  local found = notices[#notices]
  for i = #notices, 1, -1 do
    if vim.fn.index(SEVERITY, notices[i].level) > vim.fn.index(SEVERITY, found.level) then
      found = notices[i]
    end
  end
  return found
end

--- Shows one line for several messages. All messages are already in the history.
---@param notices gemini_bridge.Notice[]
local function show(notices)
  local notice = foremost(notices)
  -- The first line says what happened, and the last line says what to do. The lines between them are output of a
  -- program.
  local text = vim.fn.strtrans((notice.text:gsub("%z", " "):gsub("\n.*\n", " … "):gsub("%s+", " ")))
  local more, width = "", room() - #NAME
  if #notices > 1 then
    more = (" (+%d in :messages)"):format(#notices - 1)
    if vim.fn.strdisplaywidth(text .. more) > width then
      more = (" (+%d)"):format(#notices - 1)
    end
  end
  local line = NAME .. fit(text, width - #more) .. more
  vim.cmd.redraw()
  vim.api.nvim_echo({ { line, HIGHLIGHTS[notice.level] } }, false, {})
end

--- Shows messages again when the user leaves Terminal mode, if they were shown in that mode or just before it. In
--- Terminal mode, Neovim 0.12 shows "-- TERMINAL --" in place of messages. |:Gemini| may report a problem and then open
--- the terminal.
---@param notices gemini_bridge.Notice[]
local function repeat_after_terminal_mode(notices)
  local shown_at, is_covered = vim.uv.now(), vim.api.nvim_get_mode().mode == "t"
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("gemini-bridge.notify", {}),
    pattern = { "*:t", "t:*" },
    callback = function()
      local age = vim.uv.now() - shown_at
      if not is_covered then
        is_covered = age < READING_TIME_MS
        return not is_covered
      elseif age < REPEAT_MAX_AGE_MS then
        vim.schedule(function()
          show(notices)
        end)
      end
      return true
    end,
  })
end

--- Returns whether a message and an open prompt or command line would cover each other.
local function is_asking()
  return vim.api.nvim_get_mode().mode:find("^[cr]") ~= nil
end

local function flush()
  local own = vim
    .iter(queue)
    :filter(function(notice)
      return not pass_to_user(notice)
    end)
    :totable()
  queue = own
  if not own[1] then
    return
  elseif is_asking() then
    vim.api.nvim_create_autocmd("SafeState", {
      callback = function()
        -- Schedules `flush` only if messages can be shown. A scheduled function makes Neovim fire SafeState again. With
        -- an open command line, this would repeat endlessly.
        if is_asking() then
          return
        end
        vim.schedule(flush)
        return true
      end,
    })
    return
  end
  queue = {}
  vim.iter(own):each(record)
  show(own)
  repeat_after_terminal_mode(own)
end

--- Shows a message when Neovim is idle. If shown earlier, an error message would abort the running script or RPC
--- request. Never causes a "Press ENTER" prompt, because the prompt would block the host. If the text does not fit on
--- the screen, |:messages| shows the rest. The user's own `vim.notify` gets the whole text.
---@param text string
---@param level? "debug"|"info"|"warn"|"error" Default "info".
return function(text, level)
  queue[#queue + 1] = { text = text, level = level or "info" }
  if #queue == 1 then
    vim.schedule(flush)
  end
end
