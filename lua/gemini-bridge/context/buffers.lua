--- Determines which buffers are files for the context, and the path by which the user opened each.
local disk = require("gemini-bridge.disk.path")

local M = {}

--- The path of each buffer, with Neovim's name of the buffer at that time.
---@type table<integer, { name: string, path?: string }>
local opened = {}

--- Returns the absolute path as the user has written it. Neovim resolves links of folders in its own name of the
--- buffer, and forgets the written name when the directory changes.
---@param buf integer
---@param name string
---@return string
local function as_given(buf, name)
  local given = vim.fn.bufname(buf)
  if given:sub(1, 1) ~= "/" then
    given = vim.fn.getcwd() .. "/" .. given
  end
  given = given:gsub("/%./", "/"):gsub("//+", "/")
  -- ".." after a link is not the folder that precedes it in the path: use Neovim's resolved name.
  return given:find("/../", 1, true) and name or given
end

--- Returns and stores the path as the user has written it.
---@param buf integer
---@return string? path Absolute. nil if the name is empty, a URL or not UTF-8.
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

--- Returns the path of a file buffer: listed, ordinary and named.
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

--- Drops the path of one buffer, or of all buffers.
---@param buf? integer
function M.forget(buf)
  if buf then
    opened[buf] = nil
  else
    opened = {}
  end
end

return M
