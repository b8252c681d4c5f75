--- Expands file names in command lines: `%`, `#`, `<cfile>` and wildcards. Neovim's own expansion would also run
--- commands in backticks and pass braces to a shell.
local M = {}

--- Maximum number of files. A higher number is probably a mistake of the user.
local MAX_FILES = 100

--- Characters with a special meaning in file names. A backslash removes the special meaning.
local SPECIAL = "[%%#<*?%[%]{}`'\"$\\]"

---@param word string
---@return boolean
local function exists(word)
  return vim.uv.fs_stat(vim.fs.normalize(vim.fn.fnamemodify(word, ":p"), { expand_env = false })) ~= nil
end

--- Returns whether a word is only `%`, `#`, `#3` or `<cfile>`, with or without modifiers such as `:h`. |expand()| is
--- safe for these words: it never runs a command for them.
---@param word string
---@return boolean
local function is_name(word)
  local rest = word:match("^%%(.*)$") or word:match("^#%d*(.*)$") or word:match("^<cfile>(.*)$")
  return rest ~= nil and rest:gsub(":[phtre~.]", "") == ""
end

--- Expands `%`, `#` or `<cfile>`.
---@param word string
---@return string? path
---@return string? problem
local function name(word)
  local path = vim.fn.expand(word)
  if path == "" then
    return nil, ("There is no file name to substitute for %s."):format(word)
  elseif vim.startswith(word, "<cfile>") and not exists(path) then
    -- Like |gf|, also searches relative to the directory of the current file.
    local beside = vim.fs.joinpath(vim.fn.expand("%:p:h"), path)
    path = exists(beside) and beside or path
  end
  return path
end

--- Returns the file that a command's argument means: a file name, `%`, `#` or `<cfile>`. For a buffer that shows a
--- proposal or a deleted file, returns the path of the actual file.
---@param word string
---@return string? path
---@return string? problem
function M.file(word)
  if not is_name(word) then
    return word
  end
  local path, problem = name(word)
  local buf = path
    and vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
      return vim.api.nvim_buf_get_name(buf) == path
    end)
  local diff = buf and vim.b[buf].gemini_diff
  return diff and diff.filePath or buf and vim.b[buf].gemini_deleted or path, problem
end

--- Expands one word of a command line to files. If a file with exactly this name exists, returns only that file.
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

--- Expands the words of a command line to files.
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
    return nil, ("%d files match, but at most %d can be sent: name fewer files."):format(#all, MAX_FILES)
  end
  return all
end

--- Completes files and directories for a word of a command line. Escapes special characters in the results.
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
