--- Messages to the user, all under one name.

--- What a message begins with, unless the user's own `vim.notify` shows the title.
local NAME = "gemini-bridge: "
local TITLE = "Gemini"

local HIGHLIGHTS = { error = "ErrorMsg", warn = "WarningMsg" }
--- Time in which a notice that was given in Terminal mode is shown again (ms).
local AGAIN_MS = 60000

local SEVERITY = { "debug", "info", "warn", "error" }

---@class gemini_bridge.Notice
---@field text string
---@field level "debug"|"info"|"warn"|"error"

--- Of this turn, not shown yet.
---@type gemini_bridge.Notice[]
local queue = {}

--- Whether `vim.notify` is Neovim's own, which knows no title, and asks for Enter when it has no room. From 0.12 on its
--- code tells no file.
---@return boolean
local function is_default()
  local source = debug.getinfo(vim.notify, "S").source
  return source == "?" or source:find("vim/[%w_/]*editor%.lua$") ~= nil
end

--- How wide a message may be, in cells, without a prompt after it.
---@return integer
local function room()
  local above = math.max(0, vim.o.cmdheight - 1)
  -- A wide character that does not fit into the end of a line leaves a cell empty.
  return above * (vim.o.columns - 1) + vim.v.echospace
end

--- As many characters from the start as fit.
---@param characters string[]
---@param cells integer
---@return string[]
local function take(characters, cells)
  local taken = {}
  for i, character in ipairs(characters) do
    cells = cells - vim.fn.strdisplaywidth(character)
    if cells < 0 then
      break
    end
    taken[i] = character
  end
  return taken
end

---@param text string
---@return string[]
local function split(text)
  return vim.fn.split(text, [[\zs]])
end

--- Cuts out of a text that is too wide what is least needed: what happened is at its start, what to do at its end.
---@param text string
---@param cells integer
---@return string
local function fit(text, cells)
  if vim.fn.strdisplaywidth(text) <= cells then
    return text
  end
  local characters = split(text)
  local ending = math.floor(cells / 3)
  local head = take(characters, cells - 1 - ending)
  local tail = vim.fn.reverse(take(vim.fn.reverse(characters), ending))
  return table.concat(head) .. "…" .. table.concat(tail)
end

--- The lines of a text as they go into the history. Neovim itself cuts what it shows of a line that is too wide, and
--- keeps all of it, but not without a command line, nor without that flag.
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
      local pieces, rest = {}, split(line)
      while #rest > 0 do
        local piece = take(rest, math.max(room(), 2))
        pieces[#pieces + 1] = table.concat(piece)
        rest = vim.list_slice(rest, #piece + 1)
      end
      return pieces
    end)
    :flatten()
    :totable()
end

--- Writes to the history without a prompt: what is on the screen is always one line, over the one before.
---@param notice gemini_bridge.Notice
local function record(notice)
  for _, line in ipairs(lines(NAME .. notice.text:gsub("[%z\t]", " "))) do
    local highlight = HIGHLIGHTS[notice.level] or "None"
    vim.cmd.redraw()
    vim.api.nvim_exec2(("echohl %s | echomsg %s | echohl None"):format(highlight, vim.fn.string(line)), {})
  end
end

---@param notices gemini_bridge.Notice[]
---@return gemini_bridge.Notice # The last of the gravest.
local function foremost(notices)
  local found = notices[#notices]
  for i = #notices, 1, -1 do
    if vim.fn.index(SEVERITY, notices[i].level) > vim.fn.index(SEVERITY, found.level) then
      found = notices[i]
    end
  end
  return found
end

--- Shows one line of what is in the history by then.
---@param notices gemini_bridge.Notice[]
local function show(notices)
  local notice = foremost(notices)
  -- Between the first line and the last stands what a program has said.
  local text = notice.text:gsub("\n.*\n", " … "):gsub("%s+", " ")
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

--- Shows notices once more when the user leaves Terminal mode, where Neovim 0.12 covers them with "-- TERMINAL --".
---@param notices gemini_bridge.Notice[]
local function show_after_terminal_mode(notices)
  local deadline = vim.uv.now() + AGAIN_MS
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("gemini-bridge.notify", {}),
    pattern = "t:*",
    once = true,
    callback = vim.schedule_wrap(function()
      if vim.uv.now() < deadline then
        show(notices)
      end
    end),
  })
end

--- Whether a message would cover an open question, or be covered by the command that is being typed.
local function is_asking()
  return vim.api.nvim_get_mode().mode:find("^[cr]") ~= nil
end

local function flush()
  local is_own = is_default()
  if is_own and is_asking() then
    vim.api.nvim_create_autocmd("SafeState", {
      callback = function()
        -- What is scheduled here fires SafeState again: in a command line, Neovim would never sleep.
        if is_asking() then
          return
        end
        vim.schedule(flush)
        return true
      end,
    })
    return
  end
  local due = queue
  queue = {}
  if is_own then
    vim.iter(due):each(record)
    show(due)
    if vim.api.nvim_get_mode().mode == "t" then
      show_after_terminal_mode(due)
    end
    return
  end
  for _, notice in ipairs(due) do
    local level = vim.log.levels[notice.level:upper()]
    if not pcall(vim.notify, notice.text, level, { title = TITLE }) then
      record(notice)
      show({ notice })
    end
  end
end

--- Shows a message as soon as Neovim is idle: an error message in the midst of a command would abort the script or the
--- RPC request that ran it. It never ends in a prompt, which would keep the host from being answered: what has no room
--- is in |:messages|. A `vim.notify` of the user's gets all of it.
---@param text string
---@param level? "debug"|"info"|"warn"|"error" Default "info".
return function(text, level)
  queue[#queue + 1] = { text = text, level = level or "info" }
  if #queue == 1 then
    vim.schedule(flush)
  end
end
