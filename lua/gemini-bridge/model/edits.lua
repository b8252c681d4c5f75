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

--- Pause between two files, so that the editor can handle keys (milliseconds).
local PAUSE_MS = 1

--- Options that affect how a buffer is written.
local OPTIONS = { "fileencoding", "fileformat", "endofline", "bomb", "binary" }

--- Answers with the data from which the host builds a request for edits: the indentation, and the diagnostics of a
--- line.
---@param params gemini_bridge.questions.edit_context
---@param answer gemini_bridge.Answer
function M.context(params, answer)
  local buf = disk.buffer(params.path)
  if not buf then
    return answer(nil, "the file was closed meanwhile")
  end
  local diagnostics = {}
  for _, one in ipairs(params.line and vim.diagnostic.get(buf, { lnum = params.line - 1 }) or {}) do
    diagnostics[#diagnostics + 1] = vim.tbl_get(one, "user_data", "lsp")
  end
  answer({
    tick = vim.api.nvim_buf_get_changedtick(buf),
    tabSize = vim.lsp.util.get_effective_tabstop(buf),
    insertSpaces = vim.bo[buf].expandtab,
    diagnostics = diagnostics,
  })
end

--- Returns true if a file does not exist or was written after the time `since`.
---@param path string
---@param since number Unix milliseconds.
---@return boolean
local function is_newer(path, since)
  local stat = vim.uv.fs_stat(path)
  return stat == nil or stat.mtime.sec * 1000 + stat.mtime.nsec / 1e6 > since
end

--- Returns whether the file has changed after the server computed the edits.
---@param file gemini_bridge.FileEdits
---@param buf integer
---@return boolean
local function has_changed(file, buf)
  if file.tick then
    return file.tick ~= vim.api.nvim_buf_get_changedtick(buf)
  end
  return file.since ~= nil and is_newer(file.path, file.since)
end

--- Raises an error for the model with the reason why a file must not be edited now. If there is none, returns the
--- buffer of the file.
---@param file gemini_bridge.FileEdits
---@return integer buf
local function check(file)
  local buf = documents.load(file.path)
  local name = disk.display(file.path)
  local sent = vim.lsp.util.buf_versions[buf]
  if vim.bo[buf].modified then
    error(("%s has unsaved changes: ask the user to save or discard them"):format(name), 0)
  elseif not vim.bo[buf].modifiable or vim.bo[buf].readonly then
    error(("%s is read-only in Neovim"):format(name), 0)
  elseif has_changed(file, buf) or (file.version and sent and sent ~= file.version) then
    error(("%s has changed since the edits were computed: request the edits again"):format(name), 0)
  end
  return buf
end

--- Calls a function with a temporary copy of a buffer.
---@generic T
---@param buf integer
---@param act fun(copy: integer): T
---@return T
local function with_copy(buf, act)
  local copy = window.create_buffer(false, true)
  local ok, result = pcall(function()
    vim.api.nvim_buf_set_lines(copy, 0, -1, true, vim.api.nvim_buf_get_lines(buf, 0, -1, true))
    for _, name in ipairs(OPTIONS) do
      vim.bo[copy][name] = vim.bo[buf][name]
    end
    vim.bo[copy].fixendofline = false
    return act(copy)
  end)
  window.delete_buffer(copy)
  if not ok then
    error(result, 0)
  end
  return result
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
    vim.cmd("silent noautocmd keepalt keepjumps lockmarks write " .. vim.fn.fnameescape(file))
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

--- Applies edits to a copy of a buffer. Passes the bytes of the file before and after the edits to `take`.
---@generic T
---@param params gemini_bridge.questions.apply_edit
---@param take fun(buf: integer, copy: integer, before: string, after: string): T
---@return T
local function edit_copy(params, take)
  local file = params.file
  local buf, name = check(file), disk.display(file.path)
  return with_copy(buf, function(copy)
    local before = bytes_of(copy, name)
    vim.lsp.util.apply_text_edits(file.edits, copy, params.encoding)
    return take(buf, copy, before, bytes_of(copy, name))
  end)
end

--- Returns the text of a file after the edits, for a review. Raises an error with the reason if a review is not
--- possible.
---@param params gemini_bridge.questions.apply_edit
---@return string
local function preview(params)
  return edit_copy(params, function(buf, _, _, after)
    local encoding = vim.bo[buf].fileencoding
    if not ((encoding == "" or encoding == "utf-8") and disk.is_utf8(after)) then
      error(
        ("The user cannot review this change, because %s is not UTF-8"):format(disk.display(params.file.path)),
        0
      )
    end
    return after
  end)
end

--- Calls a function for each file, as soon as Neovim allows changes. Pauses between files, so that the editor can
--- handle keys.
---@param files gemini_bridge.FileEdits[]
---@param act fun(file: gemini_bridge.FileEdits)
---@param done fun(problem?: string)
local function one_by_one(files, act, done)
  local count = 0
  local function step()
    scheduler.now(function()
      local ok, problem = pcall(act, files[count + 1])
      count = count + 1
      if not ok or count == #files then
        return done(not ok and tostring(problem) or nil)
      end
      vim.defer_fn(step, PAUSE_MS)
    end)
  end
  step()
end

--- Checks whether edits can be applied, but changes nothing. For a review, answers with the new texts of the files.
---@param params gemini_bridge.questions.preview_edits
---@param answer gemini_bridge.Answer
function M.preview(params, answer)
  local texts = {}
  one_by_one(params.files, function(file)
    local edit = { file = file, encoding = params.encoding }
    if params.isReview then
      texts[#texts + 1] = { path = file.path, content = preview(edit) }
    else
      edit_copy(edit, function() end)
    end
  end, function(problem)
    answer(not problem and { texts = texts } or nil, problem)
  end)
end

--- Checks and edits a buffer in one tick. Answers with the bytes of the file before and after the edits, in base64.
---@param params gemini_bridge.questions.apply_edit
---@param answer gemini_bridge.Answer
function M.apply(params, answer)
  scheduler.now(function()
    local ok, result = pcall(edit_copy, params, function(buf, copy, before, after)
      vim.api.nvim_buf_call(buf, function()
        window.end_undo_step()
        apply(buf, copy)
        vim.bo[buf].endofline = vim.bo[copy].endofline
        vim.bo[buf].modified = true -- until the host has written the file
        window.end_undo_step()
      end)
      local tick = vim.api.nvim_buf_get_changedtick(buf)
      return { tick = tick, before = vim.base64.encode(before), after = vim.base64.encode(after) }
    end)
    if ok then
      answer(result)
    else
      answer(nil, tostring(result))
    end
  end)
end

--- Completes an edit after the host has tried to write the file. If the host has failed, undoes the edit, unless the
--- buffer was changed again.
---@param params gemini_bridge.questions.finish_edit
---@param answer gemini_bridge.Answer
function M.finish(params, answer)
  scheduler.now(function()
    local buf = disk.buffer(params.path)
    if buf and params.written then
      reload.saved(buf, params.tick)
    elseif buf and vim.api.nvim_buf_get_changedtick(buf) == params.tick then
      vim.api.nvim_buf_call(buf, function()
        vim.cmd("silent noautocmd undo")
      end)
      vim.bo[buf].modified = false
    end
    answer(vim.empty_dict())
  end)
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
