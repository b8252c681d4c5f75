--- Loads files without Neovim's question about an existing swap file (E325). Shows a message about the swap file
--- instead.
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")

local M = {}

--- Loads the buffer of a file without creating a swap file.
---@param buf integer
function M.load_without(buf)
  vim.cmd(("silent! noswapfile call bufload(%d)"):format(buf))
end

--- Creates the swap file of a loaded buffer, if 'swapfile' is set. If the file already had a swap file, tells the user.
---@param buf integer
function M.turn_on(buf)
  vim.cmd(("silent! call setbufvar(%d, '&swapfile', %d)"):format(buf, vim.go.swapfile and 1 or 0))
  local name = vim.fn.swapname(buf)
  if name ~= "" and not vim.endswith(name, ".swp") then
    local text = "%s has a swap file. If no other Neovim has the file open, see :help recover."
    notify(text:format(path.display(vim.api.nvim_buf_get_name(buf), 24)), "warn")
  end
end

return M
