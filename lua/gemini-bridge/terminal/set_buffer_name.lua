--- Gives the buffer of a terminal the name `gemini-terminal://{name}`. A restored session opens each window again by
--- the name of its buffer. Neovim would run the rest of a name `term://…` as a shell command.

local window = require("gemini-bridge.editor.window")

--- Sets a free name. After renaming, deletes the unlisted buffer that Neovim creates for the old name.
---@param buf integer
---@param name string Name of the terminal.
return function(buf, name)
  local old = vim.api.nvim_buf_get_name(buf)
  local free, number = "gemini-terminal://" .. name, 1
  while window.named(free) do
    number = number + 1
    free = ("gemini-terminal://%s-%d"):format(name, number)
  end
  vim.cmd(("keepalt call nvim_buf_set_name(%d, %s)"):format(buf, window.quoted(free)))
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if other ~= buf and vim.api.nvim_buf_get_name(other) == old then
      vim.api.nvim_buf_delete(other, { force = true })
    end
  end
end
