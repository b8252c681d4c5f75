--- Carries out what a language server proposes: in buffers, each with one undo, and on disk.
local disk = require("gemini-bridge.disk.path")
local documents = require("gemini-bridge.model.documents")
local safely = require("gemini-bridge.editor.safely")
local slices = require("gemini-bridge.editor.slices")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Between two files; see slices.lua (milliseconds).
local PAUSE = 1

---@class gemini_bridge.FileEdits
---@field path string Absolute.
---@field tick? integer The buffer's changedtick that the edits belong to, where it is known.
---@field edits table[] Text edits of the language server protocol.

--- What a server is told beside the place: how the buffer is indented, and what is wrong on a line.
---@param params { path: string, line?: integer }
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

--- Raises a sentence when a file must not be edited now.
---@param file gemini_bridge.FileEdits
---@return integer buf
local function check(file)
  local buf = documents.load(file.path)
  local name = disk.display(file.path)
  if vim.bo[buf].modified then
    error(("%s has unsaved changes: ask the user to write or to drop them"):format(name), 0)
  elseif not vim.bo[buf].modifiable or vim.bo[buf].readonly then
    error(("%s cannot be changed in Neovim"):format(name), 0)
  elseif file.tick and file.tick ~= vim.api.nvim_buf_get_changedtick(buf) then
    error(("%s has changed meanwhile: ask again"):format(name), 0)
  end
  return buf
end

--- Ends an undo step: without it, what the user has not come between is undone with what came before.
local function end_undo_step()
  vim.cmd("noautocmd let &l:undolevels = &l:undolevels")
end

---@param buf integer
---@param edits table[]
---@param encoding string
local function edit(buf, edits, encoding)
  vim.api.nvim_buf_call(buf, function()
    end_undo_step()
    vim.lsp.util.apply_text_edits(edits, buf, encoding)
    end_undo_step()
    -- What the user's autocommands do with a file that they write is no part of these edits.
    vim.cmd("silent noautocmd keepalt keepjumps lockmarks write!")
  end)
end

--- The bytes that a file would hold. Raises a sentence for those that cannot travel.
---@param file gemini_bridge.FileEdits
---@param encoding string
---@return string
local function preview(file, encoding)
  local buf = check(file)
  local options = vim.bo[buf]
  local scratch = window.create_buffer(false, true)
  local ok, result = pcall(function()
    vim.api.nvim_buf_set_lines(scratch, 0, -1, true, vim.api.nvim_buf_get_lines(buf, 0, -1, true))
    for _, name in ipairs({ "fileformat", "endofline", "bomb" }) do
      vim.bo[scratch][name] = options[name]
    end
    vim.lsp.util.apply_text_edits(file.edits, scratch, encoding)
    return text.read(scratch)
  end)
  window.delete_buffer(scratch)
  local is_utf8 = options.fileencoding == "" or options.fileencoding == "utf-8"
  if ok and not (is_utf8 and disk.is_utf8(result)) then
    error(("%s is not UTF-8: its change cannot be reviewed"):format(disk.display(file.path)), 0)
  end
  return ok and result or error(result, 0)
end

--- Does something with each file, each in a turn of the editor's own and only when that is safe.
---@param files gemini_bridge.FileEdits[]
---@param act fun(file: gemini_bridge.FileEdits)
---@param done fun(count: integer, problem?: string) With the number of files for which it was done.
local function one_by_one(files, act, done)
  local count = 0
  local function step()
    safely.run(function()
      local ok, problem = pcall(act, files[count + 1])
      count = count + (ok and 1 or 0)
      if not ok or count == #files then
        return done(count, not ok and tostring(problem) or nil)
      end
      vim.defer_fn(step, PAUSE)
    end)
  end
  step()
end

--- What files would hold after edits. Nothing changes.
---@param params { files: gemini_bridge.FileEdits[], encoding: string }
---@param answer gemini_bridge.Answer
function M.preview(params, answer)
  local texts = {}
  one_by_one(params.files, function(file)
    texts[#texts + 1] = { path = file.path, content = preview(file, params.encoding) }
  end, function(_, problem)
    answer(not problem and { texts = texts } or nil, problem)
  end)
end

--- All files are looked at before the first is changed, and each once more just before that.
---@param params { files: gemini_bridge.FileEdits[], encoding: string }
---@param answer gemini_bridge.Answer
function M.apply(params, answer)
  local files = {}
  one_by_one(params.files, function(file)
    local tick = vim.api.nvim_buf_get_changedtick(check(file))
    files[#files + 1] = { path = file.path, tick = tick, edits = file.edits }
  end, function(_, problem)
    local ok, late = pcall(vim.tbl_map, check, problem and {} or files)
    if problem or not ok then
      return answer(nil, problem or tostring(late))
    end
    one_by_one(files, function(file)
      edit(check(file), file.edits, params.encoding)
    end, function(done, failure)
      if done == 0 then
        return answer(nil, failure)
      end
      answer({ done = done, problem = failure })
    end)
  end)
end

--- Says that files were written: to language servers, and to what the user has set up.
---@param params { paths: string[] }
---@param answer gemini_bridge.Answer
function M.tell_written(params, answer)
  slices.each(params.paths, function(path)
    local buf = disk.buffer(path)
    if buf then
      pcall(vim.api.nvim_exec_autocmds, "BufWritePost", { buffer = buf, modeline = false })
    end
  end, function()
    answer(vim.empty_dict())
  end)
end

return M
