--- Answers Neovim's own check for changed files (|:checktime|), which Neovim 0.13 runs after each write of a program.
--- Without an answer, Neovim asks W12 while the user types and takes the next key for the answer. A buffer with more
--- lines than 'undoreload' would lose its undo history. Buffers that no agent changes get Neovim's own answer.
local reload = require("gemini-bridge.disk.reload")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

local NAME = "gemini-bridge.checktime"

--- Long buffers in which 'autoread' was switched off, because FileChangedShell fires only then.
---@type table<integer, true>
local long = {}

--- Returns true if the user, or a plugin, has an own handler for the changed file. Then this handler alone decides.
---@param buf integer
---@return boolean
local function has_other_handler(buf)
  return reload.has_autocommand({ "FileChangedShell" }, vim.api.nvim_buf_get_name(buf), buf, NAME)
end

--- Returns true if sessions or views store options of buffers. A restored 'noautoread' would outlive the bridge.
---@return boolean
local function are_options_stored()
  return (vim.o.sessionoptions .. vim.o.viewoptions):find("options", 1, true) ~= nil
end

---@param buf integer
local function take_over_if_long(buf)
  local options, limit = vim.bo[buf], vim.o.undoreload
  if
    limit >= 0
    and not are_options_stored()
    and vim.api.nvim_buf_line_count(buf) > limit
    and vim.api.nvim_buf_is_loaded(buf)
    and options.buftype == ""
    and options.autoread == nil
    and vim.go.autoread
    and not has_other_handler(buf)
  then
    options.autoread, long[buf] = false, true
  end
end

---@param buf integer
local function answer(buf)
  if has_other_handler(buf) then
    return
  end
  local is_changed = vim.v.fcs_reason ~= "deleted"
  if is_changed and (long[buf] and not vim.bo[buf].modified or reload.is_expected(buf)) then
    vim.v.fcs_choice = ""
    scheduler.next(function()
      reload.now(buf)
    end)
  else
    vim.v.fcs_choice = "ask"
  end
end

--- Starts to answer. Idempotent.
function M.listen()
  local group = vim.api.nvim_create_augroup(NAME, {})
  vim.api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    callback = function(args)
      answer(args.buf)
    end,
  })
  vim.api.nvim_create_autocmd("BufReadPost", {
    group = group,
    callback = function(args)
      take_over_if_long(args.buf)
    end,
  })
  vim.iter(vim.api.nvim_list_bufs()):each(take_over_if_long)
end

--- Leaves the check to Neovim again. Idempotent.
function M.stop()
  vim.api.nvim_create_augroup(NAME, {})
  for buf in pairs(long) do
    if vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].autoread == false then
      vim.bo[buf].autoread = nil
    end
  end
  long = {}
end

return M
