--- What stands for files in a command line: `%`, `#`, `<cfile>` and wildcards. Neovim's own expansion would run what is
--- between backticks, and hand braces to a shell; nothing here does.
local M = {}

--- More than this is a slip.
local MAX_FILES = 100

--- What is special unless a backslash is before it.
local SPECIAL = "[%%#<*?%[%]{}`'\"$\\]"

---@param word string
---@return boolean
local function exists(word)
  return vim.uv.fs_stat(vim.fs.normalize(vim.fn.fnamemodify(word, ":p"), { expand_env = false })) ~= nil
end

--- `%`, `#`, `#3` and `<cfile>`, with modifiers such as `:h`: |expand()| replaces these by a name and looks no further.
---@param word string
---@return boolean
local function is_name(word)
  local rest = word:match("^%%(.*)$") or word:match("^#%d*(.*)$") or word:match("^<cfile>(.*)$")
  return rest ~= nil and rest:gsub(":[phtre~.]", "") == ""
end

---@param word string
---@return string? path
---@return string? problem
local function name(word)
  local path = vim.fn.expand(word)
  if path == "" then
    return nil, ("There is no file for %s."):format(word)
  elseif vim.startswith(word, "<cfile>") and not exists(path) then
    -- As |gf| does, from the directory of the file, too.
    local beside = vim.fs.joinpath(vim.fn.expand("%:p:h"), path)
    path = exists(beside) and beside or path
  end
  return path
end

--- The files that a word of a command line stands for. One that exists under this very name is meant itself.
---@param word string
---@return string[]? files
---@return string? problem
local function files(word)
  if is_name(word) then
    local path, problem = name(word)
    return path and { path }, problem
  end
  local plain = word:gsub("\\(" .. SPECIAL .. ")", "%1")
  if exists(plain) then
    return { plain }
  elseif not word:find("[*?[]") or word:find("[`'\"{}$\n]") then
    return nil, ("There is no file %s."):format(plain)
  end
  local found = vim.fn.glob(word, true, true)
  if #found == 0 then
    return nil, ("No file matches %s."):format(word)
  end
  return found
end

--- The files that the words of a command line stand for.
---@param words string[]
---@return string[]? files
---@return string? problem
function M.files(words)
  local all = {}
  for _, word in ipairs(words) do
    local found, problem = files(word)
    if not found then
      return nil, problem
    end
    vim.list_extend(all, found)
  end
  if #all > MAX_FILES then
    return nil, ("These are %d files, more than %d."):format(#all, MAX_FILES)
  end
  return all
end

--- Files and directories that begin as a word of a command line does, written so that each stands for itself.
---@param word string
---@return string[]
function M.complete(word)
  local lead = word:gsub("\\(.)", "%1")
  local directory, beginning = lead:match("^(.*/)([^/]*)$")
  directory, beginning = directory or "", beginning or lead
  local found = {}
  for entry, kind in
    vim.fs.dir(directory == "" and "." or vim.fs.normalize(directory, { expand_env = false }))
  do
    local is_hidden = vim.startswith(entry, ".") and not vim.startswith(beginning, ".")
    if vim.startswith(entry, beginning) and not is_hidden then
      local path = directory .. entry .. (kind == "directory" and "/" or "")
      found[#found + 1] = path:gsub(SPECIAL, "\\%0"):gsub("%s", "\\%0")
    end
  end
  table.sort(found)
  return found
end

return M
