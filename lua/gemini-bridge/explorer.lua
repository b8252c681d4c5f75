--- The entries of file explorers, through what each of them documents for scripts.
local M = {}

--- Runs `read` with the cursor on a line, for explorers that only know the entry under the cursor.
---@param line integer
---@param read fun(): string?
---@return string?
local function at_line(line, read)
  local view = vim.fn.winsaveview()
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  local ok, path = pcall(read)
  vim.fn.winrestview(view)
  return ok and path or nil
end

--- Path of the entry on a line (1-based) of the current buffer, by filetype.
---@type table<string, fun(line: integer): string?>
local readers = {}

--- |netrw-call|. In the tree style the entry's directory is that of the branch.
function readers.netrw(line)
  return at_line(line, function()
    local word = vim.fn["netrw#Call"]("NetrwGetWord")
    local directory = vim.b.netrw_curdir
    if vim.w.netrw_liststyle == 3 and vim.w.netrw_treetop then
      directory = vim.fn["netrw#Call"]("NetrwTreeDir", 0)
    end
    return directory and word ~= "" and vim.fs.joinpath(directory, word) or nil
  end)
end

function readers.oil(line)
  local oil = require("oil")
  local directory, entry = oil.get_current_dir(0), oil.get_entry_on_line(0, line)
  return directory and entry and vim.fs.joinpath(directory, entry.name) or nil
end

function readers.NvimTree(line)
  return at_line(line, function()
    local node = require("nvim-tree.api").tree.get_node_under_cursor()
    return node and node.absolute_path
  end)
end

readers["neo-tree"] = function(line)
  local state = require("neo-tree.sources.manager").get_state_for_window()
  local node = state and state.tree and state.tree:get_node(line)
  return node and node.path
end

function readers.minifiles(line)
  local entry = require("mini.files").get_fs_entry(0, line)
  return entry and entry.path
end

--- The files and directories on lines of the current buffer.
---@param first integer 1-based.
---@param last integer
---@return string[]? paths Absolute; nothing when the buffer is no explorer.
function M.entries(first, last)
  local read = readers[vim.bo.filetype]
  if not read then
    return
  end
  local paths = {}
  for line = first, last do
    local ok, path = pcall(read, line)
    path = ok and path and vim.fs.normalize(path)
    if path and vim.uv.fs_lstat(path) then
      paths[#paths + 1] = path
    end
  end
  return paths
end

return M
