--- Reads the entries of file explorers, using their documented APIs.
local M = {}

--- Calls `read` with the cursor on a line. Needed for explorers that return only the entry at the cursor.
---@param line integer
---@param read fun(): string?
---@return string?
local function at_line(line, read)
  if line == vim.api.nvim_win_get_cursor(0)[1] then
    -- Leaves the cursor in its column: if several entries share a line, the column selects one of them.
    return read()
  end
  local view = vim.fn.winsaveview()
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  local ok, path = pcall(read)
  vim.fn.winrestview(view)
  return ok and path or nil
end

--- Functions by filetype of an explorer. Each returns the path of the entry on a 1-based line of the current buffer.
---@type table<string, fun(line: integer): string?>
local readers = {}

--- See |netrw-call|. In the tree style, NetrwTreePath returns the full path of a directory or a link. For a file, it
--- returns only the path of the file's directory.
function readers.netrw(line)
  return at_line(line, function()
    local word = vim.fn["netrw#Call"]("NetrwGetWord")
    if vim.w.netrw_liststyle ~= 3 or not vim.w.netrw_treetop then
      return vim.fs.joinpath(vim.b.netrw_curdir, word)
    elseif word:find("^%.%.?/?$") then
      return
    end
    local branch = vim.fn["netrw#Call"]("NetrwTreePath", vim.w.netrw_treetop)
    local is_file = branch:find("/$") and not word:find("/$")
    return is_file and branch .. word or branch
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

--- The explorer of snacks.nvim is a picker. Its buffer contains only the visible entries, so line numbers differ from
--- the indexes of the entries.
function readers.snacks_picker_list(line)
  local snacks, buf = require("snacks"), vim.api.nvim_get_current_buf()
  local picker = vim.iter(snacks.picker.get()):find(function(candidate)
    return candidate.list.win.buf == buf
  end)
  return picker and snacks.picker.util.path(picker.list:get(picker.list:row2idx(line)))
end

--- Each line is a path, absolute or relative to the current directory.
function readers.dirvish(line)
  return vim.fn.fnamemodify(vim.fn.getline(line), ":p")
end

--- The directory browser of Neovim 0.13. The buffer has the name of the directory, and each line is a name in it.
function readers.directory(line)
  return vim.fs.joinpath(vim.api.nvim_buf_get_name(0), vim.fn.getline(line))
end

--- See |fern-develop|. Nodes of other schemes than "file" have no `_path`.
function readers.fern(line)
  return at_line(line, function()
    return vim.fn.eval("get(fern#helper#call({ helper -> helper.sync.get_cursor_node() }), '_path')")
  end)
end

--- See |NERDTreeAPI|.
function readers.nerdtree(line)
  return at_line(line, function()
    return vim.fn.eval("g:NERDTreeFileNode.GetSelected().path.str()")
  end)
end

--- Filetypes of explorers without a public function that returns an entry.
local UNREADABLE = { fyler = true }

--- Returns the files and directories on lines of the current buffer.
---@param first integer 1-based.
---@param last integer
---@return string[]? paths Absolute. nil if the buffer is not an explorer.
---@return string? problem The reason why there are no paths.
function M.entries(first, last)
  local filetype = vim.bo.filetype
  local read = readers[filetype]
  if UNREADABLE[filetype] then
    local reason = "%s does not tell other plugins which file is on a line. Name the file: :GeminiAdd {file}."
    return {}, reason:format(filetype)
  elseif not read then
    return
  end
  local paths = {}
  for line = first, last do
    local ok, path = pcall(read, line)
    -- Leaves out the directory itself (".") and its parent ("..").
    if ok and type(path) == "string" and not path:find("/%.%.?/?$") and vim.uv.fs_lstat(path) then
      paths[#paths + 1] = vim.fs.normalize(path, { expand_env = false })
    end
  end
  return paths, #paths == 0 and "There is no file on this line." or nil
end

return M
