--- Messages to the user, all under one title.

--- Shows a message as soon as Neovim is idle: an error message in the midst of a command would
--- abort the script or the RPC request that ran it.
---@param text string
---@param level? "debug"|"info"|"warn"|"error" Default "info".
return vim.schedule_wrap(function(text, level)
  vim.notify(text, vim.log.levels[(level or "info"):upper()], { title = "Gemini" })
end)
