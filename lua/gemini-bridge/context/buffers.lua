--- Determines which buffers count as files for the context, and the path with which the user has opened each file.
local disk = require("gemini-bridge.disk.path")

local M = {}

--- The path of each buffer, and the buffer's name when the path was determined.
---@type table<integer, { name: string, path?: string }>
local opened = {}

--- Returns the absolute path of a buffer as the user has typed it. The name of the buffer differs if a folder is a
--- link, because Neovim resolves links. Neovim forgets the typed path when the current directory changes.
---@param buf integer
---@param name string
---@return string
local function as_given(buf, name)
  local given = vim.fn.bufname(buf)
  if given:sub(1, 1) ~= "/" then
    given = vim.fn.getcwd() .. "/" .. given
  end
  given = given:gsub("/%./", "/"):gsub("//+", "/")
  -- Uses the resolved name for a path with "..": if a link precedes "..", it means the folder above the link's target.
  return given:find("/../", 1, true) and name or given
end

--- Returns and stores the path as the user has typed it.
---@param buf integer
---@return string? path Absolute. nil if the buffer has no name, or if the name is a URL or not UTF-8.
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

--- Returns the path of a buffer that is a file: listed, with an empty 'buftype' and a name.
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
