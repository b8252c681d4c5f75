--- Which buffers may be open files, and under which name the user opened them.
local M = {}

--- What Neovim's own name of a buffer was when `path` was found.
---@type table<integer, { name: string, path: string }>
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

--- Whether a buffer is one for a file: listed, ordinary and named, not by a URL.
---@param buf integer
---@return boolean
function M.is_file(buf)
  if not vim.api.nvim_buf_is_valid(buf) then
    return false
  end
  local option = { buf = buf }
  if
    vim.api.nvim_get_option_value("buftype", option) ~= ""
    or not vim.api.nvim_get_option_value("buflisted", option)
  then
    return false
  end
  local name = vim.api.nvim_buf_get_name(buf)
  return name ~= "" and not name:find("^%a[%w+.-]*://")
end

--- Remembers the name that the user gave.
---@param buf integer
---@return string # Absolute.
function M.path(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  local known = opened[buf]
  if not known or known.name ~= name then
    known = { name = name, path = as_given(buf, name) }
    opened[buf] = known
  end
  return known.path
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
