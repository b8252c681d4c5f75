--- Resolves, compares and shows paths. Takes all paths literally: wildcards and escapes have no meaning.
local M = {}

--- Resolves the symbolic links in a path. If the file does not exist, resolves the part of the path that exists.
---@param path string Absolute.
---@return string
function M.real(path)
  local head, rest = path, ""
  local real = vim.uv.fs_realpath(head)
  while not real and head:find("/", 1, true) do
    local name
    head, name = head:match("^(.*)/([^/]*)$")
    rest = name == "" and rest or "/" .. name .. rest
    real = vim.uv.fs_realpath(head)
  end
  return (((real or head) .. rest):gsub("^//", "/"))
end

--- Returns true if a path that the user typed names the same file as `path`.
---@param typed string Absolute, below the home directory (`~/`), or relative to the current directory.
---@param path string Absolute.
---@return boolean
function M.is_same(typed, path)
  if vim.startswith(typed, "~/") then
    typed = vim.uv.os_homedir() .. typed:sub(2)
  end
  return typed == path
    or M.real(typed:sub(1, 1) == "/" and typed or vim.fn.getcwd() .. "/" .. typed) == M.real(path)
end

--- Returns true if a path is the directory itself or lies in the directory.
---@param path string Absolute.
---@param directory string Absolute.
---@return boolean
function M.is_below(path, directory)
  local inner, outer = M.real(path), M.real(directory)
  return inner == outer or vim.startswith(inner, outer == "/" and outer or outer .. "/")
end

local utfR = vim.lpeg.utfR
--- Matches a whole text of characters as RFC 3629 defines them: without surrogates.
local UTF8 = (utfR(0, 0xD7FF) + utfR(0xE000, 0x10FFFF)) ^ 0 * -1

--- Returns true if a path is valid UTF-8. Node would replace invalid bytes and thus open another file.
---@param path string
---@return boolean
function M.is_utf8(path)
  return UTF8:match(path) ~= nil
end

---@param buf integer
---@return boolean
local function is_file(buf)
  return vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
end

--- Returns the loaded buffer of a file. Also finds a buffer whose name reaches the file through a symbolic link.
---@param path string Absolute.
---@return integer? buf
function M.buffer(path)
  local base, candidates = vim.fs.basename(path), {} ---@type string, table<integer, string>
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if name == path and is_file(buf) then
      return buf
    elseif vim.endswith(name, base) and vim.fs.basename(name) == base and is_file(buf) then
      candidates[buf] = name
    end
  end
  -- Resolves only names that end like the path, because resolving reads the disk, which may be slow.
  local real = next(candidates) and M.real(path)
  for buf, name in pairs(candidates) do
    if M.real(name) == real then
      return buf
    end
  end
  -- Neovim itself finds a link with another name by the file's inode, and reads the disk only for `path`.
  local linked = vim.fn.bufexists(path) == 1 and vim.fn.bufadd(path) or 0
  return linked > 0 and is_file(linked) and linked or nil
end

--- Returns a string that changes with each write to a file.
---@param path string Absolute.
---@return string # Empty if the file does not exist.
function M.version(path)
  local stat = vim.uv.fs_stat(path)
  return stat
      and table.concat(
        { stat.ino, stat.size, stat.mtime.sec, stat.mtime.nsec, stat.ctime.sec, stat.ctime.nsec },
        " "
      )
    or ""
end

--- Returns the content of a file on disk.
---@param path string
---@return string? bytes nil if the file does not exist or cannot be read.
function M.bytes(path)
  -- Without O_NONBLOCK, opening a FIFO would block the whole editor.
  local flags = bit.bor(vim.uv.constants.O_RDONLY, vim.uv.constants.O_NONBLOCK)
  local fd = vim.uv.fs_open(path, flags, 0)
  if not fd then
    return
  end
  local stat = vim.uv.fs_fstat(fd)
  local bytes = stat and stat.type == "file" and vim.uv.fs_read(fd, stat.size, 0) or nil
  vim.uv.fs_close(fd)
  return bytes
end

--- Escapes a path for an Ex command, so that the command reads exactly this path. |fnameescape()| does not escape "=",
--- but Neovim parses "`=…`" as an expression.
---@param path string
---@return string
function M.escape(path)
  return (vim.fn.fnameescape(path):gsub("=", "\\="))
end

--- Shortens the path of a file below a directory to a relative path. Returns other paths unchanged.
---@param path string Absolute.
---@param directory? string Default: the current directory.
---@return string
function M.relative(path, directory)
  local start = (directory or vim.fn.getcwd()) .. "/"
  return vim.startswith(path, start) and path:sub(#start + 1) or path
end

--- Formats a path for messages: relative to the current directory, with unprintable characters escaped.
---@param path string
---@param width? integer Maximum width in screen cells. A longer path loses its first folders: "…/src/main.c".
---@return string
function M.display(path, width)
  local shown = vim.fn.strtrans(M.relative(path))
  local function fits(text)
    return not width or vim.fn.strdisplaywidth(text) <= width
  end
  if fits(shown) then
    return shown
  end
  local rest = shown:match("^[^/]*/(.+)$")
  while rest do
    if fits("…/" .. rest) then
      return "…/" .. rest
    end
    rest = rest:match("^[^/]*/(.+)$")
  end
  local name = vim.fs.basename(shown)
  if fits(name) then
    return name
  end
  while name ~= "" and not fits("…" .. name) do
    name = vim.fn.strcharpart(name, 1)
  end
  return "…" .. name
end

--- Returns a part of a winbar that shows a path, shortened if necessary. See |gemini_bridge.BarPart|.
---@param path string
---@param min? integer Minimum width in screen cells.
---@return gemini_bridge.BarPart
function M.part(path, min)
  return {
    min = min,
    shorten = function(width)
      return M.display(path, width)
    end,
  }
end

return M
