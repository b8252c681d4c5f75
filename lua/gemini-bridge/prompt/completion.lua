--- Completes prompts: file names after `@`, otherwise words of the open buffers.
local M = {}

--- Maximum number of matches to offer, and maximum number of files to search.
local MAX_MATCHES, MAX_FILES = 200, 50000
--- Timeout for listing the files of a project.
local LIST_TIMEOUT_MS = 2000

--- Lists the files below a directory that Git does not ignore. If git fails, for example outside of a repository, lists
--- only the folder at the start of `lead`. Paths are relative to the directory.
---@param directory string
---@param lead string
---@return string[]
local function files(directory, lead)
  -- A repository can configure programs that git runs: a file system monitor, and a transport for missing objects.
  -- These settings prevent both.
  local git = { "git", "-C", directory, "-c", "core.fsmonitor=false", "ls-files", "-z" }
  vim.list_extend(git, { "--cached", "--others", "--exclude-standard" })
  local env = { GIT_ALLOW_PROTOCOL = "none", GIT_NO_LAZY_FETCH = "1", GIT_OPTIONAL_LOCKS = "0" }
  local ok, process = pcall(vim.system, git, { env = env })
  local result = ok and process:wait(LIST_TIMEOUT_MS)
  if result and result.code == 0 then
    return vim.list_slice(vim.split(result.stdout, "\0", { trimempty = true }), 1, MAX_FILES)
  end
  local folder = lead:match("^(.*/)[^/]*$") or ""
  local path = folder:find("^[/~]") and vim.fs.normalize(folder, { expand_env = false })
    or vim.fs.joinpath(directory, folder)
  local found = {}
  for entry, kind in vim.fs.dir(path) do
    found[#found + 1] = folder .. entry .. (kind == "directory" and "/" or "")
  end
  return found
end

---@param lead string
---@return string[]
local function words(lead)
  local found = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype ~= "terminal" then
      for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, 2000, false)) do
        for word in line:gmatch("[%w_\128-\255]+") do
          if #word > #lead and vim.startswith(word, lead) then
            found[word] = true
          end
        end
      end
    end
  end
  local sorted = vim.tbl_keys(found)
  table.sort(sorted)
  return vim.list_slice(sorted, 1, MAX_MATCHES)
end

--- For 'omnifunc', see |complete-functions|.
---@param findstart integer 1 or 0.
---@param base string
---@return integer|string[] # With `findstart` 1, the 0-based start column of the word, otherwise the matches.
function M.omnifunc(findstart, base)
  if findstart == 1 then
    local before = vim.api.nvim_get_current_line():sub(1, vim.api.nvim_win_get_cursor(0)[2])
    -- A blank ends a reference, unless a backslash precedes the blank.
    local masked = before:gsub("\\.", "__")
    local word = masked:match("^.*[^%w_\128-\255]()") or 1
    return (masked:find("@[^%s@]*$") or word) - 1
  elseif base:sub(1, 1) ~= "@" then
    return words(base)
  end
  local lead = base:sub(2):gsub("\\(.)", "%1")
  local reference = require("gemini-bridge.prompt.reference")
  local directory = reference.directory()
  local found = files(directory, lead)
  if lead ~= "" then
    found = vim.fn.matchfuzzy(found, lead, { limit = MAX_MATCHES })
  end
  return vim.tbl_map(function(path)
    return "@" .. reference.spelled(path)
  end, vim.list_slice(found, 1, MAX_MATCHES))
end

return M
