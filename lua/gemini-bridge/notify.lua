--- Messages to the user, all under one title.

---@param text string
---@param level? "debug"|"info"|"warn"|"error" Default "info".
return function(text, level)
  vim.notify(text, vim.log.levels[(level or "info"):upper()], { title = "Gemini" })
end
