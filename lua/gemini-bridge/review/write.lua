--- Tells a user's `:w` from everything else that writes buffers: auto-save plugins, `:wall`, 'autowrite'.
---
--- A write counts as the user's when a command line that asks for it has just been left in the proposal, or when a
--- mapping to such a command was typed there. Auto-save runs in an autocommand, a function or a timer: nothing of that
--- kind comes before it, or |<stack>| shows more than the write itself.
local notify = require("gemini-bridge.notify")
local text = require("gemini-bridge.review.text")

local M = {}

--- What |vim.on_key()| sees of a mapping to a Lua function: K_LUA of Neovim's keycodes.h.
local LUA = "\128\253g"

--- Commands that accept, by their full names.
local WRITES = { write = true, wq = true, xit = true, exit = true, update = true }

--- Whether a command line writes the current buffer under its own name, and with a bang.
---@param line string
---@return { bang: boolean }?
function M.parse(line)
  local ok, command = pcall(vim.api.nvim_parse_cmd, line, {})
  if not ok then
    return
  end
  local own = vim.api.nvim_buf_get_commands(0, {})[command.cmd] or vim.api.nvim_get_commands({})[command.cmd]
  if own then
    return own.definition ~= line and M.parse((own.definition:gsub("<[^>]*>", ""))) or nil
  end
  if WRITES[command.cmd] and #(command.args or {}) == 0 then
    return { bang = command.bang }
  end
end

--- What a mapping with `<Cmd>` writes: it leaves no command line to be seen.
---@param typed string Raw keys.
---@return { bang: boolean }?
local function parse_mapping(typed)
  local mode = vim.api.nvim_get_mode().mode:sub(1, 1)
  local map = vim.fn.maparg(vim.fn.keytrans(typed), mode, false, true)
  for line in (map.rhs or ""):gmatch("<[Cc][Mm][Dd]>(.-)<[Cc][Rr]>") do
    local wish = M.parse(line)
    if wish then
      return wish
    end
  end
end

--- Whether nothing runs but the write itself.
local function is_direct()
  return not vim.fn.expand("<stack>"):find("..", 1, true)
end

--- Writes the proposal to another file, as `:w name` asks. The proposal stays under review.
---@param buf integer
---@param name string
local function write_copy(buf, name)
  local file, problem = io.open(name, "wb")
  if not file then
    error(problem, 0)
  end
  file:write(text.read(buf))
  file:close()
end

--- Listens for writes of a proposal. What it sets up ends with the group and, for keys, with `stop`.
---@param buf integer
---@param group integer
---@param accept fun(force: boolean): boolean Whether the proposal was accepted.
---@return fun() stop
function M.watch(buf, group, accept)
  local name = vim.api.nvim_buf_get_name(buf)
  --- Set between what the user typed and the write that it causes.
  local wish ---@type { bang: boolean }?

  ---@param this? { bang: boolean }
  local function expect(this)
    wish = this
    if not this then
      return
    end
    -- So that `:x` and `:update` write an untouched proposal, too.
    local modified = vim.bo[buf].modified
    vim.bo[buf].modified = true
    vim.schedule(function()
      if wish == this then
        wish = nil
        if vim.api.nvim_buf_is_valid(buf) then
          vim.bo[buf].modified = modified
        end
      end
    end)
  end

  --- A mapping to a Lua function was typed: what it writes, and whether it is all buffers, cannot be known.
  local in_function = false
  local command = vim.keycode("<Cmd>")
  local keys = vim.on_key(function(key, typed)
    if typed == "" or vim.api.nvim_get_current_buf() ~= buf then
      return
    elseif key == command then
      expect(parse_mapping(typed))
    elseif key == LUA then
      in_function = true
      vim.schedule(function()
        in_function = false
      end)
    end
  end)

  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = buf, callback = callback })
  end

  on("CmdlineLeave", function()
    if not vim.v.event.abort and vim.v.event.cmdtype == ":" then
      expect(M.parse(vim.fn.getcmdline()))
    end
  end)

  on("BufWriteCmd", function(args)
    if args.file ~= name then
      return write_copy(buf, args.file)
    end
    local this = is_direct() and wish or nil
    wish = nil
    -- A proposal that stays modified tells Neovim that the write failed, so that `:wq` does not go on to close it.
    if not this or accept(this.bang) then
      vim.bo[buf].modified = false
    end
    if not this and in_function then
      notify("This key does not accept the proposal: use :w or :GeminiAccept.")
    end
  end)

  return function()
    vim.on_key(nil, keys)
  end
end

return M
