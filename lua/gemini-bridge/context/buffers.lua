--- Which buffers are files that may be told of, and under which path the user opened them.
local disk = require("gemini-bridge.disk.path")

local M = {}

--- What Neovim's own name of a buffer was when `path` was found.
---@type table<integer, { name: string, path?: string }>
local opened = {}

--- The name as the user gave it, made absolute. Neovim's own one has links to folders resolved, and forgets the user's
--- with the next change of directory.
---@param buf integer
---@param name string
---@return string
local function as_given(buf, name)
  local given = vim.fn.bufname(buf)
  if given:sub(1, 1) ~= "/" then
    given = vim.fn.getcwd() .. "/" .. given
  end
  given = given:gsub("/%./", "/"):gsub("//+", "/")
  -- Behind a link ".." is not where the text says: Neovim knows.
  return given:find("/../", 1, true) and name or given
end

--- Remembers the name that the user gave.
---@param buf integer
---@return string? path Absolute. nil without a name, with a URL for one, and with one that is not UTF-8.
function M.remember(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if name == "" or name:find("^%a[%w+.-]*://") then
    return
  end
  local entry = opened[buf]
  if not entry or entry.name ~= name then
    local path = as_given(buf, name)
    entry = { name = name, path = disk.is_utf8(path) and path or nil }
    opened[buf] = entry
  end
  return entry.path
end

--- The path of a buffer that is one for a file: listed, ordinary and named.
---@param buf integer
---@return string? path Absolute.
function M.file(buf)
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  local option = { buf = buf }
  if
    vim.api.nvim_get_option_value("buftype", option) == ""
    and vim.api.nvim_get_option_value("buflisted", option)
  then
    return M.remember(buf)
  end
end

--- Forgets a buffer, or all.
---@param buf? integer
function M.forget(buf)
  if buf then
    opened[buf] = nil
  else
    opened = {}
  end
end

return M
