--- Sets 'filetype' in a buffer of the plugin, and keeps language servers away from the buffer. A server that a FileType
--- autocommand starts would get a name such as `gemini://1/a.lua`, and would see the text as a part of the project.
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

--- Functions of `vim.lsp` that attach a server to a buffer, with a function that returns this buffer.
---@type table<string, fun(...): integer?>
local ATTACHING = {
  start = function(_, opts)
    return opts and opts.bufnr
  end,
  buf_attach_client = function(buf)
    return buf
  end,
}

--- Runs a step in which the functions of `ATTACHING` do nothing for a buffer.
---@param buf integer
---@param step fun(...): any
---@param ... any Arguments of the step.
local function without_servers(buf, step, ...)
  local saved = {}
  for name, target in pairs(ATTACHING) do
    local attach = vim.lsp[name]
    saved[name] = attach
    vim.lsp[name] = function(...)
      local given = target(...) or 0
      if given ~= buf and (given ~= 0 or vim.api.nvim_get_current_buf() ~= buf) then
        return attach(...)
      end
    end
  end
  scheduler.attempt(step, ...)
  for name, attach in pairs(saved) do
    vim.lsp[name] = attach
  end
end

--- Detaches a server that was attached later, for example by a scheduled function. Waits two ticks, because Neovim
--- starts semantic tokens in the next tick.
---@param args { buf: integer, data: { client_id: integer } } Arguments of the autocommand LspAttach.
local function detach(args)
  scheduler.next(function()
    scheduler.next(function()
      if vim.lsp.buf_is_attached(args.buf, args.data.client_id) then
        vim.lsp.buf_detach_client(args.buf, args.data.client_id)
      end
    end)
  end)
end

local group = vim.api.nvim_create_augroup("gemini-bridge.own_filetype", {})

---@param buf integer
---@param name string
function M.set(buf, name)
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
  vim.api.nvim_create_autocmd("LspAttach", { group = group, buffer = buf, callback = detach })
  without_servers(buf, vim.api.nvim_set_option_value, "filetype", name, { buf = buf })
end

return M
