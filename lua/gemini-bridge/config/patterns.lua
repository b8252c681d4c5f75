--- Matches paths with glob patterns from options such as `context.exclude`. The patterns are similar to those of a
--- `.gitignore`.
local M = {}

---@class gemini_bridge.Patterns
---@field names table<string, true> Patterns without wildcards: names of files and folders.
---@field globs vim.regex[] Patterns for the name of a file or folder.
---@field paths vim.regex[] Patterns for a path.
---@field known table<string, boolean> Cache: true if one of `names` or `globs` matches the name.

--- Converts a pattern to a regular expression. Raises an error if the pattern is invalid.
---@param pattern string
---@return vim.regex
local function regex(pattern)
  -- \C makes the pattern match case, even if 'ignorecase' is set.
  return vim.regex("\\C" .. vim.fn.glob2regpat(pattern))
end

--- Returns whether a pattern without its last slash has no special characters, so that only this name matches.
---@param plain string
---@return boolean
local function is_name(plain)
  return not plain:find("[*?%[{/\\]")
end

local compiled = setmetatable({}, { __mode = "k" }) ---@type table<string[], gemini_bridge.Patterns>

---@param list string[]
---@return gemini_bridge.Patterns
local function compile(list)
  local patterns = { names = {}, globs = {}, paths = {}, known = {} }
  for _, pattern in ipairs(list) do
    local plain = pattern:gsub("/$", "")
    local ok, glob = pcall(regex, (plain:gsub("^/", "")))
    if is_name(plain) then
      patterns.names[plain] = true
    elseif ok then
      table.insert(plain:find("/", 1, true) and patterns.paths or patterns.globs, glob)
    end
  end
  return patterns
end

--- Expands the first braces of a pattern: `*.{a,b}` to `*.a` and `*.b`. The Node host does not know braces and would
--- share the files. Braces without a comma get a backslash, because they stand for themselves. Leaves out braces after
--- a backslash and in `[...]`.
---@param pattern string
---@return string[] # Only the pattern itself if it has no complete braces. The parts may contain further braces.
local function expand(pattern)
  local depth, first, starts, index = 0, nil, {}, 1
  while index <= #pattern do
    local char = pattern:sub(index, index)
    if char == "\\" then
      index = index + 1
    elseif char == "[" then
      index = pattern:find("]", index + 2, true) or index
    elseif char == "{" then
      depth, first = depth + 1, first or index
      starts[1] = starts[1] or index + 1
    elseif char == "," and depth == 1 then
      starts[#starts + 1] = index + 1
    elseif char == "}" and depth == 1 then
      local before, after = pattern:sub(1, first - 1), pattern:sub(index + 1)
      if #starts == 1 then
        return { before .. "\\{" .. pattern:sub(first + 1, index - 1) .. "\\}" .. after }
      end
      starts[#starts + 1] = index + 1
      local parts = {}
      for number = 1, #starts - 1 do
        local expanded = before .. pattern:sub(starts[number], starts[number + 1] - 2) .. after
        -- The host would understand an empty pattern as all folders.
        parts[#parts + 1] = not vim.list_contains({ "", "!" }, expanded) and expanded or nil
      end
      return parts
    elseif char == "}" then
      depth = math.max(depth - 1, 0)
    end
    index = index + 1
  end
  return { pattern }
end

--- Expands all braces of a pattern.
---@param pattern string
---@return string[]
local function expand_all(pattern)
  local parts = expand(pattern)
  if #parts == 1 and parts[1] == pattern then
    return parts
  end
  return vim.iter(parts):map(expand_all):flatten():totable()
end

--- Returns a function that expands the patterns of an option and reports invalid patterns. Keeps invalid patterns,
--- because the host may understand them.
---@param option string
---@return fun(list: string[]): string[], string[] sort_out See |gemini_bridge.Option|.
function M.sort_out(option)
  return function(list)
    list = vim.iter(list):map(expand_all):flatten():totable()
    local problems = {}
    for _, pattern in ipairs(list) do
      if not is_name((pattern:gsub("/$", ""))) and not pcall(regex, pattern) then
        local text = 'option %s: invalid pattern %s. Write a backslash before a single "[", "{" or "}"'
        problems[#problems + 1] = text:format(option, vim.inspect(pattern))
      end
    end
    return list, problems
  end
end

---@param patterns gemini_bridge.Patterns
---@param name string
---@return boolean
local function has_name(patterns, name)
  if patterns.known[name] == nil then
    patterns.known[name] = patterns.names[name]
      or vim.iter(patterns.globs):any(function(glob)
        return glob:match_str(name) ~= nil
      end)
  end
  return patterns.known[name]
end

--- Returns true if a pattern matches the file or one of its parent folders.
---@param list string[] List of patterns. Each list is compiled only once.
---@param relative string Path relative to the current directory.
---@return boolean
function M.match(list, relative)
  compiled[list] = compiled[list] or compile(list)
  local patterns = compiled[list]
  for name in relative:gmatch("[^/]+") do
    if has_name(patterns, name) then
      return true
    end
  end
  local part = #patterns.paths > 0 and relative or ""
  while part ~= "" do
    for _, glob in ipairs(patterns.paths) do
      if glob:match_str(part) then
        return true
      end
    end
    part = part:match("^(.*)/[^/]*$") or ""
  end
  return false
end

return M
