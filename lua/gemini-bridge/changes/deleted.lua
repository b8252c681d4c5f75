--- Shows the last text of a deleted file in a read-only buffer. The buffer has another name than the file, because
--- `:edit` would show an empty buffer for a missing file.
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local request = require("gemini-bridge.bridge.request")
local swapfile = require("gemini-bridge.disk.swapfile")
local window = require("gemini-bridge.editor.window")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.changes.deleted")

--- Maps paths of deleted files to their buffers. Each buffer gets its text when a window shows the buffer.
local buffers = {} ---@type table<string, integer>

---@param buf integer
---@param lines string[]
local function show(buf, lines)
  if not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  local options = vim.bo[buf]
  -- Resets 'readonly' first, because changing a read-only buffer shows the warning W10 for a second.
  options.modifiable, options.readonly = true, false
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  options.modifiable, options.readonly, options.modified = false, true, false
  vim.api.nvim_buf_set_extmark(buf, namespace, 0, 0, {
    end_row = vim.api.nvim_buf_line_count(buf),
    hl_group = "DiffDelete",
    hl_eol = true,
    priority = 50, -- lower than syntax highlighting
  })
end

---@param change gemini_bridge.Change
---@return integer buf
local function create(change)
  local name = "gemini-deleted://" .. path.display(change.path)
  -- A file in another directory can have the same relative path, for example after |:tcd|.
  if window.named(name) then
    name = "gemini-deleted://" .. vim.fn.strtrans(change.path)
  end
  local buf = vim.fn.bufadd(name)
  vim.api.nvim_create_autocmd("BufReadCmd", {
    buffer = buf,
    callback = function()
      vim.b[buf].gemini_deleted = change.path -- |:bdelete| deletes the variables of a buffer
      local options = vim.bo[buf]
      options.buftype, options.swapfile, options.modeline = "nofile", false, false
      options.modifiable, options.readonly = false, true
      options.syntax = vim.filetype.match({ filename = change.path }) or ""
      request.send("earlier_text", { path = change.path }, function(found)
        if found then
          show(buf, found.lines)
        end
      end)
      if vim.w.gemini_page then
        return -- the page already says that the file is deleted
      end
      local remedy = change.fixed and "The file cannot be restored: " .. change.fixed
        or ":GeminiUndo restores the file, :GeminiKeep accepts the deletion."
      notify(("%s deleted %s. %s"):format(change.cli, path.display(change.path, 20), remedy))
    end,
  })
  return buf
end

--- Returns the buffer for a deleted file.
---@param change gemini_bridge.Change
---@return integer buf
function M.buffer(change)
  local known = buffers[change.path]
  if not known or not vim.api.nvim_buf_is_valid(known) then
    known = create(change)
    buffers[change.path] = known
  end
  return known
end

--- Removes the buffer with the last text of a deleted file. If the file exists again, first shows the file in all
--- windows of that buffer. Otherwise, a visible buffer stays until it is hidden.
---@param file string
function M.forget(file)
  local buf = buffers[file]
  buffers[file] = nil
  if not buf or not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  if vim.uv.fs_stat(file) then
    local restored = vim.fn.bufadd(path.relative(file))
    if not vim.api.nvim_buf_is_loaded(restored) and #vim.fn.win_findbuf(buf) > 0 then
      swapfile.load_without(restored)
      swapfile.turn_on(restored)
    end
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      vim.api.nvim_win_set_buf(win, restored)
    end
  end
  if #vim.fn.win_findbuf(buf) == 0 then
    window.delete_buffer(buf)
  else
    vim.bo[buf].bufhidden = "wipe"
  end
end

return M
