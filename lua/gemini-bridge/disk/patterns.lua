--- Matches paths with the patterns of options, which are similar to the patterns of a `.gitignore`.
local M = {}

---@class gemini_bridge.Patterns
---@field names table<string, true> Names without wildcards, of files and folders.
---@field globs vim.regex[] Match a single name.
---@field paths vim.regex[] Match the path of a file or folder.
---@field known table<string, boolean> Results of earlier calls, by name.

local compiled = setmetatable({}, { __mode = "k" }) ---@type table<string[], gemini_bridge.Patterns>

---@param list string[]
---@return gemini_bridge.Patterns
local function compile(list)
  local patterns = { names = {}, globs = {}, paths = {}, known = {} }
  for _, pattern in ipairs(list) do
    local plain = pattern:gsub("/$", "")
    -- Without \C, 'ignorecase' would make other names match.
    local ok, glob = pcall(vim.regex, "\\C" .. vim.fn.glob2regpat((plain:gsub("^/", ""))))
    if not plain:find("[*?%[{/\\]") then
      patterns.names[plain] = true
    elseif ok then
      table.insert(plain:find("/", 1, true) and patterns.paths or patterns.globs, glob)
    end
  end
  return patterns
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

--- Whether a pattern matches a file or a folder above it.
---@param list string[] Compiled once for each table.
---@param relative string Path from the current directory.
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
