--- Tells a user's `:w` from everything else that writes buffers: auto-save plugins, `:wall`, 'autowrite'.
---
--- A write counts as the user's when a command line that asks for it has just been left in the proposal, or when a
--- mapping to such a command was typed there. Auto-save runs in an autocommand, a function or a timer: nothing of that
--- kind comes before it, or |<stack>| shows more than the write itself.
local notify = require("gemini-bridge.notify")
local scheduler = require("gemini-bridge.editor.scheduler")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- What |vim.on_key()| sees of a mapping to a Lua function: K_LUA of Neovim's keycodes.h.
local LUA = "\128\253g"

---@class gemini_bridge.Wish
---@field bang boolean

--- Commands that accept, by their full names.
local WRITES = { write = true, wq = true, xit = true, exit = true, update = true }

--- Whether arguments name nothing but the buffer itself: `%` and its kin, after any `++opt`.
---@param args string
local function is_own_name(args)
  local name = args:gsub("%+%+%S+%s*", "")
  return name == "" or name == vim.api.nvim_buf_get_name(0) or name:find("^%%[:%l]*$") ~= nil
end

--- What a command line writes: the first command of it that writes.
---@param line string
---@return gemini_bridge.Wish?
local function wish_of_line(line)
  local ok, command = pcall(vim.api.nvim_parse_cmd, line, {})
  if not ok then
    return
  end
  local own = vim.api.nvim_buf_get_commands(0, {})[command.cmd] or vim.api.nvim_get_commands({})[command.cmd]
  local wish
  if own then
    wish = own.definition ~= line and wish_of_line((own.definition:gsub("<[^>]*>", ""))) or nil
  elseif WRITES[command.cmd] and is_own_name(table.concat(command.args or {}, " ")) then
    wish = { bang = command.bang }
  end
  local rest = command.nextcmd or ""
  return wish or rest ~= "" and rest ~= line and wish_of_line(rest) or nil
end

--- What a mapping with `<Cmd>` writes: it leaves no command line to be seen.
---@param typed string Raw keys.
---@param mode string In which they were typed.
---@return gemini_bridge.Wish?
local function wish_of_mapping(typed, mode)
  local map = vim.fn.maparg(vim.fn.keytrans(typed), mode:sub(1, 1):lower(), false, true)
  for line in (map.rhs or ""):gmatch("<[Cc][Mm][Dd]>(.-)<[Cc][Rr]>") do
    local wish = wish_of_line(vim.api.nvim_replace_termcodes(line, true, true, true))
    if wish then
      return wish
    end
  end
end

--- Whether nothing runs but the write itself.
local function is_direct()
  return not vim.fn.expand("<stack>"):find("..", 1, true)
end

--- Writes lines of the proposal to another file, as `:w name` asks. The proposal stays under review.
---@param buf integer
---@param name string
local function write_copy(buf, name)
  local first, last = vim.fn.line("'["), vim.fn.line("']")
  local bytes = text.read(buf)
  if first > 1 or last < vim.api.nvim_buf_line_count(buf) then
    bytes = table.concat(vim.api.nvim_buf_get_lines(buf, first - 1, last, true), "\n") .. "\n"
  end
  local lines = vim.split(bytes, "\n", { plain = true })
  -- |writefile()| raises when it cannot, and has NUL as a line break within a line.
  vim.fn.writefile(
    vim.tbl_map(function(line)
      return (line:gsub("%z", "\n"))
    end, lines),
    name,
    "b"
  )
end

--- The proposal keeps its name: under another one `:w` would write a file that nobody has accepted.
---@param buf integer
---@param name string
---@param words gemini_bridge.WriteWords
local function keep_name(buf, name, words)
  if not vim.api.nvim_buf_is_valid(buf) or vim.api.nvim_buf_get_name(buf) == name then
    return
  end
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    -- What had the name before |:saveas| stays behind as a buffer of its own.
    if other ~= buf and vim.api.nvim_buf_get_name(other) == name then
      vim.cmd(("noautocmd bwipeout! %d"):format(other))
    end
  end
  window.set_name(buf, name)
  notify(words.stays)
end

--- What is said of writes that are not taken.
---@class gemini_bridge.WriteWords
---@field stays string Of another name for the buffer.
---@field key string Of a mapping that may have meant it.
---@field whole string Of some lines alone.

---@type gemini_bridge.WriteWords
M.WORDS = {
  stays = "This stays the proposal: :w accepts it, :w {file} writes a copy.",
  key = "This key does not accept the proposal: use :w or :GeminiAccept.",
  whole = "A proposal is accepted as a whole: :w, without lines.",
}

--- Listens for writes of a proposal. What it sets up ends with the group and, for keys, with `stop`.
---@param buf integer
---@param group integer
---@param accept fun(force: boolean): boolean Whether the proposal was accepted.
---@param words? gemini_bridge.WriteWords Default M.WORDS.
---@return fun() stop
function M.watch(buf, group, accept, words)
  words = words or M.WORDS
  local name = vim.api.nvim_buf_get_name(buf)
  --- Set between what the user typed and the write that it causes.
  local wish ---@type gemini_bridge.Wish?

  ---@param this? gemini_bridge.Wish
  local function expect(this)
    wish = this
    if not this then
      return
    end
    -- So that `:x` and `:update` write an untouched proposal, too.
    local modified = vim.bo[buf].modified
    vim.bo[buf].modified = true
    scheduler.next(function()
      if wish == this then
        wish = nil
        if vim.api.nvim_buf_is_valid(buf) then
          vim.bo[buf].modified = modified
        end
      end
    end)
  end

  --- A mapping was typed of which it cannot be known what it writes, and whether it is all buffers.
  local by_mapping = false
  local function expect_nothing()
    by_mapping = true
    scheduler.next(function()
      by_mapping = false
    end)
  end

  local command = vim.keycode("<Cmd>")
  --- What the user typed last: the keys that a mapping makes of it come one by one.
  local last ---@type { typed: string, mode: string }?
  local keys = vim.on_key(function(key, typed)
    if vim.api.nvim_get_current_buf() ~= buf then
      last = nil
      return
    elseif typed ~= "" then
      last = { typed = typed, mode = vim.api.nvim_get_mode().mode }
    end
    if key == command and last then
      expect(wish_of_mapping(last.typed, last.mode))
    end
    if key == LUA or key == command and not wish then
      expect_nothing()
    end
  end)

  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = buf, callback = callback })
  end

  on("CmdlineLeave", function()
    if not vim.v.event.abort and vim.v.event.cmdtype == ":" then
      expect(wish_of_line(vim.fn.getcmdline()))
    end
  end)

  on("BufFilePost", function()
    scheduler.next(function()
      keep_name(buf, name, words)
    end)
  end)

  on("BufWriteCmd", function(args)
    local this = is_direct() and wish or nil
    wish = nil
    -- After `:saveas` or `:file` a plain `:w` still means the proposal.
    if not this and args.file ~= name then
      return write_copy(buf, args.file)
    end
    -- What is not accepted stays modified: Neovim takes it for not written, and `:wq` does not go on to close it.
    if this then
      local format = vim.v.cmdarg:match("%+%+ff=(%l+)") or vim.v.cmdarg:match("%+%+fileformat=(%l+)")
      vim.bo[buf].fileformat = format or vim.bo[buf].fileformat
      if accept(this.bang) then
        vim.bo[buf].modified = false
      end
    elseif by_mapping then
      notify(words.key)
    end
  end)

  -- Some of the lines.
  on("FileWriteCmd", function(args)
    if wish or args.file == name then
      wish = nil
      notify(words.whole, "warn")
    else
      write_copy(buf, args.file)
    end
  end)

  return function()
    vim.on_key(nil, keys)
  end
end

return M
