--- Determines which buffers are shared with CLIs as files, and the path that the user typed for each file.
local disk = require("gemini-bridge.disk.path")

local M = {}

--- The path of each buffer, and the buffer's name at the time when the path was determined.
---@type table<integer, { name: string, path?: string }>
local opened = {}

--- Returns the absolute path of a buffer as the user typed it. Neovim resolves symbolic links in the name of a buffer,
--- and forgets the typed path when the current directory changes.
---@param buf integer
---@param name string
---@return string
local function as_given(buf, name)
  local given = vim.fn.bufname(buf)
  if given:sub(1, 1) ~= "/" then
    given = vim.fn.getcwd() .. "/" .. given
  end
  given = given:gsub("//+", "/"):gsub("/%.%f[/]", "")
  -- In a path such as "link/..", ".." is the parent of the link's target. Only the resolved name is correct then.
  return given:find("/../", 1, true) and name or given
end

--- Stores and returns the path of a buffer as the user typed it.
---@param buf integer
---@return string? path Absolute. nil if the buffer has no name, or if the name is a URL or is not UTF-8.
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

--- Returns the path of a buffer if the buffer is a file: listed, with a name and an empty 'buftype'.
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
