--- Implements `:GeminiPrompt`: a buffer in which the user writes a prompt. `:w` sends the text. `:q` keeps the text as
--- a draft.
local choose = require("gemini-bridge.editor.choose")
local history = require("gemini-bridge.prompt.history")
local notify = require("gemini-bridge.notify")
local focus = require("gemini-bridge.editor.focus_and_mode")
local window = require("gemini-bridge.editor.window")

local M = {}

local NAME = "gemini-bridge://prompt"
local HEIGHT_LINES = 10
--- Maximum length of a prompt in the list of `:GeminiPrompt!` (characters).
local MAX_LINE_LENGTH = 200

--- Messages that say why a command has not sent the prompt.
---@type gemini_bridge.WriteMessages
local MESSAGES = {
  renamed = "The name of this buffer cannot be changed: :w sends the prompt, :w {file} writes a copy.",
  indirect = "The prompt was not sent, because a mapping or command wrote the buffer: type :w to send it.",
  range = "Only the whole prompt can be sent: use :w without a range.",
}

---@param buf integer
---@return string? # nil if the buffer is empty.
local function text_of(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  return text:find("%S") and text or nil
end

---@param buf integer
---@param text string
local function fill(buf, text)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, "\n", { plain = true }))
  vim.bo[buf].modified = text ~= ""
end

--- Sends the text and empties the buffer. |u| restores the text.
---@param buf integer
local function send(buf)
  local text = text_of(buf)
  if not text then
    return notify("There is nothing to send: the prompt is empty.", "warn")
  end
  history.add(text)
  require("gemini-bridge.prompt.outbox").send({ source = "nothing", text = vim.trim(text), submit = true })
  fill(buf, "")
end

---@return integer buf
local function create()
  local buf = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_buf_set_name(buf, NAME)
  local options = vim.bo[buf]
  options.buftype, options.bufhidden, options.swapfile = "acwrite", "hide", false
  require("gemini-bridge.editor.own_filetype").set(buf, "markdown")
  options.omnifunc = "v:lua.require'gemini-bridge.prompt.completion'.omnifunc"
  local group = vim.api.nvim_create_augroup("gemini-bridge.prompt", {})
  local stop = require("gemini-bridge.review.typed_write").watch(buf, group, function()
    send(buf)
    return true
  end, MESSAGES)
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = buf,
    callback = function()
      stop()
      vim.api.nvim_del_augroup_by_id(group)
    end,
  })
  -- |:bdelete| removes the text of the buffer, so the draft is saved before.
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    buffer = buf,
    callback = function()
      history.add(text_of(buf) or "")
    end,
  })
  -- A write counts as the user's decision only if it comes from a command line. The built-in ZZ does not use a command
  -- line.
  vim.keymap.set("n", "ZZ", "<Cmd>xit<CR>", { buffer = buf, desc = "Send the prompt" })
  -- An unsent draft must not prevent Neovim from exiting, so the buffer is marked as unmodified.
  vim.api.nvim_create_autocmd("ExitPre", {
    group = group,
    callback = function()
      vim.bo[buf].modified = false
    end,
  })
  local draft = "" -- A signal that ends Neovim unloads the buffer before VimLeavePre.
  local function follow()
    local function store()
      draft = text_of(buf) or ""
    end
    store()
    vim.api.nvim_buf_attach(buf, false, {
      on_lines = store,
      -- `:edit!` unloads and loads the buffer, which ends the attachment.
      on_detach = vim.schedule_wrap(function()
        if vim.api.nvim_buf_is_loaded(buf) then
          follow()
        end
      end),
    })
  end
  follow()
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = group,
    callback = function()
      history.add(draft)
    end,
  })
  return buf
end

--- Moves the focus to the previous window when the prompt's window closes. Neovim would choose a neighbour, such as a
--- file explorer.
---@param win integer
local function go_back_after(win)
  vim.api.nvim_create_autocmd("WinClosed", {
    group = vim.api.nvim_create_augroup("gemini-bridge.prompt", { clear = false }),
    pattern = tostring(win),
    once = true,
    callback = function()
      local previous = vim.fn.win_getid(vim.fn.winnr("#"))
      if vim.api.nvim_get_current_win() == win and previous ~= 0 then
        focus.go(previous)
      end
    end,
  })
end

--- Focuses the prompt's window. Opens the window at the bottom if necessary.
---@return integer buf
local function show()
  focus.end_visual()
  local buf = vim.fn.bufnr("^" .. NAME .. "$")
  if buf > 0 and not vim.api.nvim_buf_is_loaded(buf) then
    window.delete_buffer(buf)
    buf = -1
  end
  buf = buf > 0 and buf or create()
  local win = vim.fn.bufwinid(buf) -- in the current tab page
  if win == -1 then
    -- The current window may be a float, so the position is relative to the editor (`win = -1`).
    win = window.open(buf, { split = "below", win = -1, height = HEIGHT_LINES })
    window.make_plain(win)
    go_back_after(win)
  end
  focus.go(win)
  return buf
end

--- Appends text to the draft, and moves the cursor to the end.
---@param buf integer
---@param text string
local function add(buf, text)
  local draft = text_of(buf)
  fill(buf, draft and vim.trim(draft) .. "\n" .. text or text)
  local last = vim.api.nvim_buf_line_count(buf)
  vim.api.nvim_win_set_cursor(0, { last, #vim.api.nvim_buf_get_lines(buf, last - 1, last, false)[1] })
end

--- Opens the prompt. Appends to the draft: a reference to `lines` of the current buffer, and then `text`.
---@param opts { text?: string, lines?: [integer, integer] } `lines`: first and last line, 1-based.
function M.open(opts)
  local parts = {}
  if opts.lines then
    local items, problem = require("gemini-bridge.prompt.sources").items({ lines = opts.lines })
    if not items or #items == 0 then
      return notify(problem or "There is nothing to send: the prompt is empty.", "warn")
    end
    local cwd = require("gemini-bridge.prompt.reference").directory()
    parts[1] = require("gemini-bridge.prompt.reference").prompt(items, cwd, "")
  end
  parts[#parts + 1] = opts.text
  local buf = show()
  if #parts > 0 then
    add(buf, table.concat(parts, " "))
  end
end

--- Opens the prompt with a given text. The previous draft goes to the prompt history.
---@param text string
local function restore(text)
  local buf = show()
  history.add(text_of(buf) or "")
  fill(buf, "")
  add(buf, text)
end

--- Lets the user choose one of the last prompts. Opens the prompt with this text.
function M.choose()
  local prompts = history.list()
  if #prompts == 0 then
    return notify("There are no prompts yet.")
  end
  choose(prompts, {
    prompt = "Gemini prompts",
    format_item = function(prompt)
      local line = vim.fn.strcharpart(vim.trim((prompt.text:gsub("%s+", " "))), 0, MAX_LINE_LENGTH)
      return ("%s  %s"):format(os.date("%d %b %H:%M", prompt.time), vim.fn.strtrans(line))
    end,
  }, function(prompt)
    if prompt then
      restore(prompt.text)
    end
  end)
end

return M
