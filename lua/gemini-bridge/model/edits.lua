--- Applies the edits of language servers to buffers. All edits of one buffer form one undo step. The host writes the
--- files.
local apply = require("gemini-bridge.disk.apply_differences")
local disk = require("gemini-bridge.disk.path")
local documents = require("gemini-bridge.model.documents")
local reload = require("gemini-bridge.disk.reload")
local scheduler = require("gemini-bridge.editor.scheduler")
local work_slices = require("gemini-bridge.model.work_slices")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Options that affect how a buffer is written.
local OPTIONS = { "fileencoding", "fileformat", "endofline", "endoffile", "bomb", "binary" }

--- Returns whether the file has changed after the server computed the edits. A file that does not exist counts as
--- changed.
---@param file gemini_bridge.FileEdits
---@param buf integer
---@return boolean
local function has_changed(file, buf)
  local sent = vim.lsp.util.buf_versions[buf]
  if not (file.since and documents.is_loaded_after(buf, file.since)) then
    if file.version and sent and sent ~= file.version then
      return true
    elseif file.tick then
      return file.tick ~= vim.api.nvim_buf_get_changedtick(buf)
    end
  end
  if not file.since then
    return false
  end
  local stat = vim.uv.fs_stat(file.path)
  return stat == nil or stat.mtime.sec * 1000 + stat.mtime.nsec / 1e6 > file.since
end

--- Raises an error for the model with the reason why a file must not be edited now. If there is none, returns the
--- buffer of the file.
---@param file gemini_bridge.FileEdits
---@return integer buf
local function check(file)
  local buf = documents.load(file.path)
  local name = disk.display(file.path)
  if vim.bo[buf].modified then
    error(("%s has unsaved changes: ask the user to save or discard them"):format(name), 0)
  elseif not vim.bo[buf].modifiable or vim.bo[buf].readonly then
    error(("%s is read-only in Neovim"):format(name), 0)
  elseif vim.uv.fs_stat(file.path) and not vim.uv.fs_access(file.path, "W") then
    error(("%s is read-only on disk"):format(name), 0)
  elseif has_changed(file, buf) then
    error(("%s has changed since the edits were computed: request the edits again"):format(name), 0)
  end
  return buf
end

--- Returns whether the written bytes contain the complete text of a buffer. Neovim replaces characters that the
--- encoding of the buffer does not have.
---@param copy integer
---@param bytes string
---@return boolean
local function is_faithful(copy, bytes)
  local encoding = vim.bo[copy].fileencoding
  if encoding == "" or encoding == "utf-8" then
    return true
  end
  local decoded = vim.iconv(bytes, encoding, "utf-8")
  return decoded ~= nil and (decoded:gsub("^\239\187\191", "")) == (text.read(copy):gsub("^\239\187\191", ""))
end

--- Returns the bytes that Neovim would write for a buffer. Raises an error if the encoding of the buffer does not have
--- all characters of the text.
---@param copy integer
---@param name string
---@return string
local function bytes_of(copy, name)
  local file = vim.fn.tempname()
  local ok, problem = pcall(vim.api.nvim_buf_call, copy, function()
    vim.cmd("silent noautocmd keepalt keepjumps lockmarks write " .. disk.escape(file))
  end)
  local bytes = ok and disk.bytes(file)
  vim.fn.delete(file)
  if not bytes then
    error(("the new text of %s cannot be written: %s"):format(name, tostring(problem)), 0)
  elseif not is_faithful(copy, bytes) then
    local encoding = vim.bo[copy].fileencoding
    error(("%s has the encoding %s, which lacks characters of the new text"):format(name, encoding), 0)
  end
  return bytes
end

--- Applies edits to a temporary copy of a buffer. Passes the bytes of the file before and after the edits to `take`.
---@generic T
---@param params gemini_bridge.questions.apply_edit
---@param take fun(buf: integer, copy: integer, before: string, after: string): T
---@return T
local function edit_copy(params, take)
  local file = params.file
  local buf, name = check(file), disk.display(file.path)
  local copy = window.create_buffer(false, true)
  local ok, result = pcall(function()
    -- An empty file has no line, but Neovim returns one empty line, which would be written as a line break.
    local lines = window.is_empty(buf) and {} or vim.api.nvim_buf_get_lines(buf, 0, -1, true)
    vim.api.nvim_buf_set_lines(copy, 0, -1, true, lines)
    for _, option in ipairs(OPTIONS) do
      vim.bo[copy][option] = vim.bo[buf][option]
    end
    vim.bo[copy].fixendofline = false
    local before = bytes_of(copy, name)
    if disk.bytes(file.path) ~= before then
      error(("%s differs on disk from its text in Neovim: ask the user to reload or save it"):format(name), 0)
    end
    for _, edits in ipairs(file.steps) do
      vim.lsp.util.apply_text_edits(edits, copy, params.encoding)
    end
    return take(buf, copy, before, bytes_of(copy, name))
  end)
  window.delete_buffer(copy)
  if not ok then
    error(result, 0)
  end
  return result
end

--- Checks whether edits can be applied, but changes nothing. For a review, answers with the new texts of the files.
---@param params gemini_bridge.questions.preview_edits
---@param answer gemini_bridge.Answer
function M.preview(params, answer)
  local texts = {}
  work_slices.each(params.files, function(file)
    edit_copy({ file = file, encoding = params.encoding }, function(buf, _, _, after)
      if not params.isReview then
        return
      end
      local encoding = vim.bo[buf].fileencoding
      if not ((encoding == "" or encoding == "utf-8") and disk.is_utf8(after)) then
        local name = disk.display(file.path)
        error(("The user cannot review this change, because %s is not UTF-8"):format(name), 0)
      end
      texts[#texts + 1] = { path = file.path, content = after }
    end)
  end, function(problem)
    answer(not problem and { texts = texts } or nil, problem)
  end, scheduler.now)
end

--- Checks and edits a buffer in one tick. Answers with the bytes of the file before and after the edits, in base64.
---@param params gemini_bridge.questions.apply_edit
---@param answer gemini_bridge.Answer
function M.apply(params, answer)
  answer(edit_copy(params, function(buf, copy, before, after)
    vim.api.nvim_buf_call(buf, function()
      window.end_undo_step()
      apply(buf, copy)
      vim.bo[buf].endofline = vim.bo[copy].endofline
      vim.bo[buf].modified = true -- until the host has written the file
      window.end_undo_step()
    end)
    local tick = vim.api.nvim_buf_get_changedtick(buf)
    return { tick = tick, before = vim.base64.encode(before), after = vim.base64.encode(after) }
  end))
end

--- Completes an edit after the host has tried to write the file. If the host has failed, undoes the edit, unless the
--- buffer was changed again.
---@param params gemini_bridge.questions.finish_edit
---@param answer gemini_bridge.Answer
function M.finish(params, answer)
  local buf = disk.buffer(params.path)
  if buf and params.written then
    reload.saved(buf, params.tick)
  elseif buf and vim.api.nvim_buf_get_changedtick(buf) == params.tick then
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent noautocmd undo")
    end)
    -- With a negative 'undolevels', Neovim undoes nothing. The edit then stays as an unsaved change.
    vim.bo[buf].modified = vim.api.nvim_buf_get_changedtick(buf) == params.tick
  end
  answer(vim.empty_dict())
end

--- Triggers BufWritePost for files that the host has written, to inform language servers and the user's plugins.
---@param params { paths: string[] }
---@param answer gemini_bridge.Answer
function M.tell_written(params, answer)
  work_slices.each(params.paths, function(path)
    local buf = disk.buffer(path)
    if buf then
      pcall(vim.api.nvim_exec_autocmds, "BufWritePost", { buffer = buf, modeline = false })
    end
  end, function()
    answer(vim.empty_dict())
  end)
end

return M
