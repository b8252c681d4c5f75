--- Loads a file that already has a swap file. Shows a message instead of Neovim's question (E325).
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")

local M = {}

--- Loads the file of a buffer, but creates no swap file.
---@param buf integer
function M.load_without(buf)
  vim.cmd(("silent! noswapfile call bufload(%d)"):format(buf))
end

--- Creates the swap file of a loaded buffer if 'swapfile' is set. Warns the user if the file already had a swap file.
---@param buf integer
function M.turn_on(buf)
  vim.cmd(("silent! call setbufvar(%d, '&swapfile', %d)"):format(buf, vim.go.swapfile and 1 or 0))
  local name = vim.fn.swapname(buf)
  if name ~= "" and not vim.endswith(name, ".swp") then
    local text =
      "%s has a swap file: another Neovim is editing this file, or has crashed (see :help recovery)."
    notify(text:format(path.display(vim.api.nvim_buf_get_name(buf), 24)), "warn")
  end
end

return M
