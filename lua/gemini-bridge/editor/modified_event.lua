--- Reports changes of 'modified'. Neovim 0.13 replaces the event BufModifiedSet by |OptionSet|.
local M = {}

--- Calls a function after 'modified' of a buffer was set or reset.
---@param options { group?: integer, buffer?: integer } Default: no group, all buffers.
---@param act fun(buf: integer): boolean? Returns true to stop.
function M.listen(options, act)
  if vim.fn.exists("##BufModifiedSet") == 1 then
    vim.api.nvim_create_autocmd("BufModifiedSet", {
      group = options.group,
      buffer = options.buffer,
      callback = function(args)
        return act(args.buf)
      end,
    })
    return
  end
  -- For OptionSet, `args.buf` is 0, the changed buffer is the current buffer, and buffer-local autocommands never run.
  vim.api.nvim_create_autocmd("OptionSet", {
    group = options.group,
    pattern = "modified",
    callback = function()
      local buf = vim.api.nvim_get_current_buf()
      if options.buffer == nil or options.buffer == buf then
        return act(buf)
      end
      return not vim.api.nvim_buf_is_valid(options.buffer)
    end,
  })
end

return M
