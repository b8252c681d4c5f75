--- Distinguishes a `:w` that the user typed from the writes of auto-save plugins, `:wall` and 'autowrite'.
---
--- A write counts as typed if the user has just entered a write command in the proposal, or pressed a key that is
--- mapped to such a command. An auto-save plugin writes from an autocommand, a function or a timer. For such writes,
--- the user has entered no command just before, or |<stack>| contains more than the write itself.
local command_line = require("gemini-bridge.editor.command_line")
local notify = require("gemini-bridge.notify")
local scheduler = require("gemini-bridge.editor.scheduler")
local text = require("gemini-bridge.review.text")
local user_action = require("gemini-bridge.editor.user_action")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Key code K_LUA (see keycodes.h of Neovim), which |vim.on_key()| reports for a mapping to a Lua function.
local LUA = "\128\253g"

--- Write command that the user has typed.
---@class gemini_bridge.TypedWrite
---@field bang boolean

--- Full names of the commands that accept a proposal.
local WRITES = { write = true, wq = true, xit = true, exit = true, update = true }

--- Returns true if a write command with these arguments writes to the buffer's own file. Ignores options such as
--- `++ff=unix`.
---@param args string
local function is_own_name(args)
  local name = args:gsub("%+%+%S+%s*", "")
  return name == "" or name == vim.api.nvim_buf_get_name(0) or name:find("^%%[:%l]*$") ~= nil
end

--- Returns the first command that would accept the proposal.
---@param commands vim.api.keyset.cmd_parsed[]
---@return gemini_bridge.TypedWrite?
local function find_write(commands)
  local write = vim.iter(commands):find(function(command)
    return WRITES[command.cmd] and is_own_name(table.concat(command.args or {}, " "))
  end)
  return write and { bang = write.bang }
end

--- Implements `:w {name}` in a proposal: writes the whole text or a range of lines to another file. The review
--- continues. Raises an error if the file cannot be written.
---@param buf integer
---@param name string
local function write_copy(buf, name)
  local first, last = vim.fn.line("'["), vim.fn.line("']")
  local bytes = text.read(buf)
  if first > 1 or last < vim.api.nvim_buf_line_count(buf) then
    bytes = table.concat(vim.api.nvim_buf_get_lines(buf, first - 1, last, true), "\n") .. "\n"
  end
  local lines = vim.split(bytes, "\n", { plain = true })
  -- Replaces NUL bytes with line breaks, because |writefile()| writes each line break within a line as NUL.
  vim.fn.writefile(
    vim.tbl_map(function(line)
      return (line:gsub("%z", "\n"))
    end, lines),
    name,
    "b"
  )
end

--- Messages for commands that have no effect. In a proposal buffer, such a command does not accept the proposal. In a
--- prompt buffer, it does not send the prompt.
---@class gemini_bridge.WriteMessages
---@field renamed string Shown after `:file` and `:saveas`.
---@field indirect string Shown if the user writes by a mapping or command that the plugin does not recognize as `:w`.
---@field range string Shown after `:w` with a range.

--- Messages that say why a command has not accepted the proposal.
---@type gemini_bridge.WriteMessages
local PROPOSAL = {
  renamed = "The name of this buffer cannot be changed: :w accepts the proposal, :w {file} writes a copy.",
  indirect = "The proposal was not accepted, because a mapping or command wrote the buffer: type :w to accept it.",
  range = "Only the whole proposal can be accepted: use :w without a range.",
}

--- Restores the name of the proposal buffer after the user has changed the name. Otherwise, an auto-save plugin would
--- create a file with the new name.
---@param buf integer
---@param name string
---@param message string
local function keep_name(buf, name, message)
  if not vim.api.nvim_buf_is_valid(buf) or vim.api.nvim_buf_get_name(buf) == name then
    return
  end
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    -- Deletes the buffer that |:saveas| has created for the old name.
    if other ~= buf and vim.api.nvim_buf_get_name(other) == name then
      vim.cmd(("noautocmd bwipeout! %d"):format(other))
    end
  end
  window.set_name(buf, name)
  notify(message)
end

--- Watches a buffer for writes. To stop watching, delete the autocommand group and call `stop`.
---@param buf integer
---@param group integer
---@param accept fun(force: boolean): boolean Returns true if the proposal was accepted.
---@param messages? gemini_bridge.WriteMessages Default: the messages for proposals.
---@return fun() stop
function M.watch(buf, group, accept, messages)
  messages = messages or PROPOSAL
  local name = vim.api.nvim_buf_get_name(buf)
  --- The write command that the user has entered and that Neovim has not run yet.
  local typed_write ---@type gemini_bridge.TypedWrite?

  ---@param this? gemini_bridge.TypedWrite
  local function expect(this)
    typed_write = this
    if not this then
      return
    end
    -- Marks the buffer as modified, because `:x` and `:update` do not write an unmodified buffer. The user may accept a
    -- proposal without edits.
    local modified = vim.bo[buf].modified
    vim.bo[buf].modified = true
    scheduler.next(function()
      if typed_write == this then
        typed_write = nil
        if vim.api.nvim_buf_is_valid(buf) then
          vim.bo[buf].modified = modified
        end
      end
    end)
  end

  --- True for one tick after the user has typed a command, or a mapping that may write this buffer or all buffers.
  local is_acting = false
  local function note_action()
    is_acting = true
    scheduler.next(function()
      is_acting = false
    end)
  end

  --- Says that a write had no effect. Says nothing if the same command has hidden the buffer, for example after a save
  --- question: `:w` would then write another buffer.
  local function explain()
    scheduler.next(function()
      if vim.api.nvim_get_current_buf() == buf then
        notify(messages.indirect)
      end
    end)
  end

  local command = vim.keycode("<Cmd>")
  --- The keys that the user typed last. |vim.on_key()| reports typed keys only with the first key that a mapping
  --- produces.
  local last ---@type { typed: string, mode: string }?
  local keys = vim.on_key(function(key, typed)
    if vim.api.nvim_get_current_buf() ~= buf then
      last = nil
      return
    elseif typed ~= "" then
      last = { typed = typed, mode = vim.api.nvim_get_mode().mode }
    end
    if key == command and last then
      expect(find_write(command_line.mapped_commands(last.typed, last.mode)))
    end
    if key == LUA or key == command and not typed_write then
      note_action()
    end
  end)

  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = buf, callback = callback })
  end

  on("CmdlineLeave", function()
    if not vim.v.event.abort and vim.v.event.cmdtype == ":" then
      note_action()
      expect(find_write(command_line.commands(vim.fn.getcmdline())))
    end
  end)

  on("BufFilePost", function()
    scheduler.next(function()
      keep_name(buf, name, messages.renamed)
    end)
  end)

  on("BufWriteCmd", function(args)
    local this = user_action.is_direct() and typed_write or nil
    typed_write = nil
    -- A typed `:w` accepts the proposal even after `:saveas` or `:file`, when `args.file` differs from the buffer's
    -- name.
    if not this and args.file ~= name then
      return write_copy(buf, args.file)
    end
    -- Leaves the buffer modified if the proposal is not accepted, so that `:wq` does not close the window.
    if this then
      local format = vim.v.cmdarg:match("%+%+ff=(%l+)") or vim.v.cmdarg:match("%+%+fileformat=(%l+)")
      vim.bo[buf].fileformat = format or vim.bo[buf].fileformat
      if accept(this.bang) then
        vim.bo[buf].modified = false
      end
    elseif is_acting and not user_action.is_in_autocommand() then
      explain()
    end
  end)

  -- Handles `:w` with a range of lines.
  on("FileWriteCmd", function(args)
    if typed_write or args.file == name then
      typed_write = nil
      notify(messages.range, "warn")
    else
      write_copy(buf, args.file)
    end
  end)

  return function()
    vim.on_key(nil, keys)
  end
end

return M
