--- Resolves, compares and shows paths. Takes all paths literally: wildcards and escapes have no meaning.
local M = {}

--- Resolves symbolic links. The part of a path that does not exist is kept unchanged.
---@param path string Absolute.
---@return string
function M.real(path)
  local rest = ""
  local head = path
  while head ~= "/" and head ~= "" do
    local real = vim.uv.fs_realpath(head)
    if real then
      return (real == "/" and "" or real) .. rest
    end
    local parent, name = head:match("^(.*)/([^/]*)$")
    if not parent then
      break
    end
    rest = name == "" and rest or "/" .. name .. rest
    head = parent
  end
  return rest == "" and "/" or rest
end

--- Whether a path typed by the user names this file.
---@param typed string Absolute, or relative to the current directory.
---@param path string Absolute.
---@return boolean
function M.is_same(typed, path)
  return typed == path
    or M.real(typed:sub(1, 1) == "/" and typed or vim.fn.getcwd() .. "/" .. typed) == M.real(path)
end

--- Whether a path is a directory or lies in it.
---@param path string Absolute.
---@param directory string Absolute.
---@return boolean
function M.is_below(path, directory)
  local inner, outer = M.real(path), M.real(directory)
  return inner == outer or vim.startswith(inner, outer == "/" and outer or outer .. "/")
end

--- Whether a path is valid UTF-8. Node and CLIs would turn other bytes into the name of another file.
---@param path string
---@return boolean
function M.is_utf8(path)
  if not path:find("[\128-\255]") then
    return true
  end
  -- Matches the valid sequences of RFC 3629: no overlong ones, no surrogates, nothing above U+10FFFF.
  local tail = "[\128-\191]"
  local rest = path
  for _, sequence in ipairs({
    "[\194-\223]" .. tail,
    "\224[\160-\191]" .. tail,
    "[\225-\236\238\239]" .. tail:rep(2),
    "\237[\128-\159]" .. tail,
    "\240[\144-\191]" .. tail:rep(2),
    "[\241-\243]" .. tail:rep(3),
    "\244[\128-\143]" .. tail:rep(2),
  }) do
    rest = rest:gsub(sequence, "?")
  end
  return not rest:find("[\128-\255]")
end

--- Returns the loaded buffer of a file. The buffer's name may differ from the path by symbolic links.
---@param path string Absolute.
---@return integer? buf
function M.buffer(path)
  local function find(is_same)
    return vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
      return vim.api.nvim_buf_is_loaded(buf)
        and is_same(vim.api.nvim_buf_get_name(buf))
        and vim.bo[buf].buftype == ""
    end)
  end
  local real ---@type string?
  return find(function(name)
    return name == path
  end) or find(function(name)
    -- Resolves names only if no name is equal to the path, because resolving reads the disk for each buffer.
    real = real or M.real(path)
    return name:sub(1, 1) == "/" and M.real(name) == real
  end)
end

--- Returns a value that changes with each write to a file.
---@param path string Absolute.
---@return string # Empty if there is no file.
function M.version(path)
  local stat = vim.uv.fs_stat(path)
  return stat
      and table.concat(
        { stat.ino, stat.size, stat.mtime.sec, stat.mtime.nsec, stat.ctime.sec, stat.ctime.nsec },
        " "
      )
    or ""
end

--- Returns the bytes on disk.
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

--- Returns a path relative to the current directory if it is below this directory, else the path itself.
---@param path string Absolute.
---@return string
function M.relative(path)
  local cwd = vim.fn.getcwd() .. "/"
  return vim.startswith(path, cwd) and path:sub(#cwd + 1) or path
end

--- Returns a path for messages: relative to the current directory, with unprintable characters escaped.
---@param path string
---@param width? integer Maximum width in screen cells. Truncates the start of a longer path, at a folder if possible.
---@return string
function M.display(path, width)
  local shown = vim.fn.strtrans(M.relative(path))
  if width and vim.fn.strdisplaywidth(shown) > width then
    local rest = shown ---@type string?
    while rest do
      rest = rest:match("^[^/]*/(.+)$")
      if rest and vim.fn.strdisplaywidth("…/" .. rest) <= width then
        return "…/" .. rest
      end
    end
    shown = vim.fs.basename(shown)
    if vim.fn.strdisplaywidth(shown) <= width then
      return shown
    end
    local characters = vim.fn.strchars(shown)
    while vim.fn.strdisplaywidth(shown) >= width and characters > 0 do
      characters = characters - 1
      shown = vim.fn.strcharpart(shown, vim.fn.strchars(shown) - characters)
    end
    shown = "…" .. shown
  end
  return shown
end

--- Returns the path as a part of a winbar, see |gemini_bridge.BarPart|.
---@param path string
---@param min? integer Minimum width (screen cells).
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
