--- Creates excerpts of buffers that a CLI cannot read as files: scratch buffers and terminals.
local M = {}

--- Maximum number of lines and bytes of an excerpt. Lines are never cut in half.
local MAX_LINES, MAX_BYTES = 1000, 64 * 1024

--- Maximum number of lines of a shell's prompt. More lines after the start of the last prompt are the output of a
--- running command.
local MAX_PROMPT_LINES = 2

--- A text from a buffer.
---@class gemini_bridge.Excerpt
---@field lines string[]
---@field language string Language of the code block, or "".
---@field title? string Name of the buffer or terminal.
---@field left_out integer Number of lines that did not fit.

---@param buf integer
---@param first integer 1-based.
---@param last integer
---@param keep_end boolean True if the end of a long text is kept instead of the start.
---@return gemini_bridge.Excerpt? # nil if there is no text.
local function cut(buf, first, last, keep_end)
  local wanted = last - first + 1
  if keep_end then
    first = math.max(first, last - MAX_LINES + 1)
  else
    last = math.min(last, first + MAX_LINES - 1)
  end
  local lines, size = vim.api.nvim_buf_get_lines(buf, first - 1, last, false), 0
  for _, line in ipairs(lines) do
    size = size + #line + 1
  end
  while size > MAX_BYTES do
    size = size - #table.remove(lines, keep_end and 1 or #lines) - 1
  end
  if not table.concat(lines):find("%S") then
    return
  end
  return { lines = lines, language = "", left_out = wanted - #lines }
end

--- Returns an excerpt of a buffer, or of some of its lines.
---@param buf integer
---@param lines? [integer, integer] First and last line, 1-based.
---@return gemini_bridge.Excerpt?
function M.of_buffer(buf, lines)
  local first, last = unpack(lines or { 1, vim.api.nvim_buf_line_count(buf) })
  local found = cut(buf, first, last, false)
  if found then
    local name = vim.fn.bufname(buf)
    found.title = name ~= "" and not name:find("%c") and name or nil
    found.language = vim.bo[buf].filetype:match("^[%w_+-]+$") or ""
  end
  return found
end

--- Returns the lines at which a shell's prompt starts. Neovim 0.11 and later marks these lines if the shell sends OSC
--- 133;A.
---@param buf integer
---@return integer[] # 1-based.
local function prompts(buf)
  local namespace = vim.api.nvim_get_namespaces()["nvim.terminal.prompt"]
  local marks = namespace and vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, {}) or {}
  return vim.tbl_map(function(mark)
    return mark[2] + 1
  end, marks)
end

--- Returns the last command in a terminal, with its output. If the shell does not mark its prompts, returns the last
--- screen.
---@param buf integer
---@return gemini_bridge.Excerpt?
function M.of_terminal(buf)
  local last = vim.api.nvim_buf_line_count(buf)
  while last > 1 and not vim.api.nvim_buf_get_lines(buf, last - 1, last, false)[1]:find("%S") do
    last = last - 1
  end
  local marks = prompts(buf)
  local current, before = marks[#marks], marks[#marks - 1]
  local first
  if not before then
    local win = vim.fn.win_findbuf(buf)[1]
    first = last - (win and vim.api.nvim_win_get_height(win) or vim.o.lines) + 1
  elseif last - current < MAX_PROMPT_LINES then
    first, last = before, current - 1
  else
    first = current
  end
  local found = cut(buf, math.max(first, 1), last, true)
  if found then
    found.title = "Output of a terminal"
    -- Terminals pad lines with blanks. Removes these blanks.
    found.lines = vim.tbl_map(function(line)
      return line:match("^.*%S") or ""
    end, found.lines)
  end
  return found
end

--- Returns the last used terminal in which no CLI runs.
---@return integer?
function M.last_terminal()
  local infos = vim.tbl_filter(function(info)
    return vim.bo[info.bufnr].buftype == "terminal" and not vim.b[info.bufnr].gemini_terminal
  end, vim.fn.getbufinfo({ bufloaded = 1 }))
  table.sort(infos, function(a, b)
    return a.lastused > b.lastused
  end)
  local current = vim.api.nvim_get_current_buf()
  local is_here = vim.iter(infos):any(function(info)
    return info.bufnr == current
  end)
  return is_here and current or infos[1] and infos[1].bufnr
end

--- Formats an excerpt as a code block. The fence is longer than all fences in the text. Escapes each `@`, because
--- Gemini CLI replaces `@path` by the content of that file (`parseAllAtCommands`, 0.61.0).
---@param excerpt gemini_bridge.Excerpt
---@return string
function M.fenced(excerpt)
  local body = table.concat(excerpt.lines, "\n")
  local fence = "```"
  for run in body:gmatch("`+") do
    fence = #run >= #fence and run .. "`" or fence
  end
  local title = excerpt.title and excerpt.title .. ":\n" or ""
  local rest = excerpt.left_out > 0 and ("\n(%d lines left out)"):format(excerpt.left_out) or ""
  -- Replaces tabs, because a CLI would treat a tab as the Tab key.
  body = body:gsub("\t", "    ")
  return ((title .. fence .. excerpt.language .. "\n" .. body .. "\n" .. fence .. rest):gsub("@", "\\@"))
end

return M
