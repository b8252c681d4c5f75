--- Tells a user's `:w` from everything else that writes buffers: auto-save plugins, `:wall`, 'autowrite'.
local text = require("gemini-bridge.diff.text")

local M = {}

--- Commands that accept, by their full names.
local WRITES = { write = true, wq = true, xit = true, exit = true, update = true }

--- What a command line that the user has just left asks for.
---@param line string
---@return boolean writes The first command writes the buffer under its own name.
---@return boolean bang
function M.parse(line)
  local ok, command = pcall(vim.api.nvim_parse_cmd, line, {})
  if not ok then
    return false, false
  end
  local own = vim.api.nvim_get_commands({})[command.cmd]
  if own then
    return M.parse((own.definition:gsub("<[^>]*>", "")))
  end
  local plain = #(command.args or {}) == 0 and #(command.range or {}) == 0
  return plain and WRITES[command.cmd] == true, command.bang == true
end

---@class gemini_bridge.WriteHandler
---@field accept fun(force: boolean): boolean Whether the proposal was accepted.

--- Listens for writes of a proposal. The autocommands end with their group.
---@param buf integer
---@param group integer
---@param accept fun(force: boolean): boolean Whether the proposal was accepted.
function M.watch(buf, group, accept)
  local name = vim.api.nvim_buf_get_name(buf)
  --- Set between the end of a typed command line and the write that it causes.
  local typed ---@type { bang: boolean }?

  vim.api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    buffer = buf,
    callback = function()
      if vim.v.event.abort or vim.v.event.cmdtype ~= ":" then
        return
      end
      local writes, bang = M.parse(vim.fn.getcmdline())
      if not writes then
        return
      end
      local this = { bang = bang }
      typed = this
      local modified = vim.bo[buf].modified
      -- So that `:x` and `:update` write, too.
      vim.bo[buf].modified = true
      vim.schedule(function()
        if typed == this then
          typed = nil
          if vim.api.nvim_buf_is_valid(buf) then
            vim.bo[buf].modified = modified
          end
        end
      end)
    end,
  })

  vim.api.nvim_create_autocmd("BufWriteCmd", {
    group = group,
    buffer = buf,
    callback = function(args)
      if args.file ~= name then
        local file = assert(io.open(args.file, "wb"))
        file:write(text.read(buf))
        file:close()
        return
      end
      local this = typed
      typed = nil
      if not this or accept(this.bang) then
        vim.bo[buf].modified = false
      end
    end,
  })
end

return M
