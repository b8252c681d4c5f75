--- File names are data: nothing here expands, escapes or matches patterns.
local M = {}

--- The path without symbolic links; what does not exist yet is taken as it is spelled.
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

--- Whether what the user typed names a file.
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

--- Whether a path can be told to others. Where it is not UTF-8, the bytes that Node or a CLI make of it may be those of
--- another file.
---@param path string
---@return boolean
function M.is_utf8(path)
  if not path:find("[\128-\255]") then
    return true
  end
  -- The well-formed sequences of RFC 3629: no overlong ones, no surrogates, nothing above U+10FFFF.
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

--- The loaded buffer of a file, however its name is spelled.
---@param path string Absolute.
---@return integer? buf
function M.buffer(path)
  --- The buffers whose names `is_same` finds to be the file's.
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
    -- The disk is asked last, as every name costs a question.
    real = real or M.real(path)
    return name:sub(1, 1) == "/" and M.real(name) == real
  end)
end

--- Identifies what is on disk at a path: another write gives another version.
---@param path string Absolute.
---@return string # Empty when there is no file.
function M.version(path)
  local stat = vim.uv.fs_stat(path)
  return stat
      and table.concat(
        { stat.ino, stat.size, stat.mtime.sec, stat.mtime.nsec, stat.ctime.sec, stat.ctime.nsec },
        " "
      )
    or ""
end

--- The bytes on disk.
---@param path string
---@return string? bytes nil when there is no such file or it cannot be read.
function M.bytes(path)
  -- A FIFO would be waited for, with the whole editor.
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

--- The path from the current directory, if it is below; else the path itself.
---@param path string Absolute.
---@return string
function M.relative(path)
  local cwd = vim.fn.getcwd() .. "/"
  return vim.startswith(path, cwd) and path:sub(#cwd + 1) or path
end

--- The path as the user sees it: relative to the current directory, unprintable characters spelled out.
---@param path string
---@param width? integer At most this many screen cells; the end, which tells most, stays: whole folders, if possible.
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

--- The path as a part of a bar, see |gemini_bridge.BarPart|.
---@param path string
---@return gemini_bridge.BarPart
function M.part(path)
  return {
    shorten = function(width)
      return M.display(path, width)
    end,
  }
end

return M
