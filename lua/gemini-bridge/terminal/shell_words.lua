--- Splits a line into words like a POSIX shell, and quotes words. Supports quotes and backslashes, but no expansion of
--- variables, patterns or commands.
local M = {}

--- Reads a string in double quotes at the start of a text.
---@param text string
---@return string? inner Without quotes and without escaping backslashes. nil if the closing quote is missing.
---@return string? rest
local function double_quoted(text)
  local at = 2
  repeat
    local stop = text:find('["\\]', at)
    if stop and text:sub(stop, stop) == '"' then
      -- Within double quotes, a backslash escapes only these characters and is otherwise literal.
      return text:sub(2, stop - 1):gsub('\\(["\\$`])', "%1"), text:sub(stop + 1)
    end
    at = stop and stop + 2
  until not at
end

--- Reads one piece of a word: a quoted string, an escaped character or plain text.
---@param text string Does not start with a blank.
---@return string? piece
---@return string? rest
local function take(text)
  local first = text:sub(1, 1)
  if first == '"' then
    return double_quoted(text)
  elseif first == "'" then
    return text:match("^'([^']*)'(.*)$")
  elseif first == "\\" then
    return text:match("^\\(.)(.*)$")
  end
  return text:match("^([^%s'\"\\]+)(.*)$")
end

--- Splits a line into words. Empty quotes give an empty word.
---@param line string
---@return string[]? words
---@return string? problem The reason why the line cannot be split.
function M.split(line)
  local words, rest = {}, vim.trim(line)
  while rest ~= "" do
    local word = ""
    while rest:find("^%S") do
      local piece, after = take(rest)
      if not piece then
        local open = rest:sub(1, 1)
        return nil,
          open == "\\" and "no character follows the last backslash" or ("%s has no closing quote"):format(
            rest
          )
      end
      word, rest = word .. piece, after
    end
    words[#words + 1] = word
    rest = rest:gsub("^%s+", "")
  end
  return words
end

--- Escapes a word, so that `M.split` and Neovim's command line read a single word.
---@param word string
---@return string
function M.escape(word)
  return (word:gsub("[%s\\'\"]", "\\%0"))
end

--- Returns whether a text contains a control character. Quotes do not protect such a text everywhere: a terminal treats
--- pasted control characters as keys, and tmux removes text after a line break.
---@param text string
---@return boolean
function M.has_control(text)
  return text:find("%c") ~= nil or text:find("\194[\128-\159]") ~= nil -- U+0080 to U+009F
end

--- Quotes a word for a POSIX shell or a tmux command. For tmux and for a terminal, check |has_control()| first.
---@param word string
---@return string
function M.quote(word)
  return "'" .. word:gsub("'", [['\'']]) .. "'"
end

return M
