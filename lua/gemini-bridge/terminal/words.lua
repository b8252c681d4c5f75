--- Arguments, taken apart as a POSIX shell does: quotes and backslashes, and nothing else. Variables, patterns and
--- commands in them stay what they are.
local M = {}

--- What a text that starts with a double quote begins with.
---@param text string
---@return string? inner Without the quotes and the backslashes that escape; nothing when the quote has no end.
---@return string? rest
local function double_quoted(text)
  local at = 2
  repeat
    local stop = text:find('["\\]', at)
    if stop and text:sub(stop, stop) == '"' then
      -- Before anything else a backslash stands for itself.
      return text:sub(2, stop - 1):gsub('\\(["\\$`])', "%1"), text:sub(stop + 1)
    end
    at = stop and stop + 2
  until not at
end

---@param text string Starts with no blank.
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

--- Takes a line apart. Quotes with nothing in them are an empty word.
---@param line string
---@return string[]? words
---@return string? problem Why it cannot be.
function M.split(line)
  local words, rest = {}, vim.trim(line)
  while rest ~= "" do
    local word = ""
    while rest:find("^%S") do
      local piece, after = take(rest)
      if not piece then
        local open = rest:sub(1, 1)
        return nil,
          open == "\\" and "a backslash at the end escapes nothing" or ("%s has no end"):format(rest)
      end
      word, rest = word .. piece, after
    end
    words[#words + 1] = word
    rest = rest:gsub("^%s+", "")
  end
  return words
end

--- A word so that |M.split()|, and the command line's own way to find words, take it as one.
---@param word string
---@return string
function M.escape(word)
  return (word:gsub("[%s\\'\"]", "\\%0"))
end

return M
