--- Whether what language servers say of a file is about its newest text.
local disk = require("gemini-bridge.disk.path")
local reload = require("gemini-bridge.disk.reload")
local safely = require("gemini-bridge.editor.safely")
local servers = require("gemini-bridge.agent.model.servers")

local M = {}

local PULL = "textDocument/diagnostic"
--- Servers publish what they find in pieces: it is all there when none came for so long (milliseconds).
local QUIET = 300
--- A server that is not seen at work and has published nothing for so long will not (milliseconds).
local PATIENCE = 3000

local group ---@type integer?
--- For which text diagnostics came last, and when.
---@type table<integer, { tick: integer, at: number }>
local published = {}

--- Follows what is published. What is followed already stays.
function M.track()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.agent.model.settle", {})
  vim.api.nvim_create_autocmd("DiagnosticChanged", {
    group = group,
    callback = function(args)
      published[args.buf] = { tick = vim.api.nvim_buf_get_changedtick(args.buf), at = vim.uv.now() }
    end,
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    callback = function(args)
      published[args.buf] = nil
    end,
  })
end

--- May run twice.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group, published = nil, {}
  end
end

--- Asks the servers that answer when they are asked. Neovim takes what they answer, as after a change.
---@param buf integer
---@return fun(): boolean is_done
local function pull(buf)
  local waiting = 0
  for _, client in ipairs(servers.knowing(PULL, buf)) do
    local take = client.handlers[PULL] or vim.lsp.handlers[PULL]
    local params = { textDocument = vim.lsp.util.make_text_document_params(buf) }
    waiting = waiting + 1
    servers.send(client, PULL, params, function(...)
      waiting = waiting - 1
      if take then
        return take(...)
      end
    end, buf)
  end
  return function()
    return waiting == 0
  end
end

---@param buf integer
---@return boolean
local function is_working(buf)
  return vim.iter(vim.lsp.get_clients({ bufnr = buf })):any(function(client)
    return next(client.progress and client.progress.pending or {}) ~= nil
  end)
end

--- Whether those that publish by themselves have published for the newest text.
---@param buf integer
---@param asked_at number Milliseconds.
---@return boolean? # nil when they keep silent: some do when they find the same as before.
local function has_published(buf, asked_at)
  local last = published[buf]
  if last and vim.uv.now() - last.at < QUIET then
    return false
  end
  local pushing = #vim.lsp.get_clients({ bufnr = buf }) > #servers.knowing(PULL, buf)
  if not pushing or last and last.tick >= vim.api.nvim_buf_get_changedtick(buf) then
    return true
  end
  if vim.uv.now() - asked_at < PATIENCE then
    return false
  end
end

---@param params { paths: string[], timeout: integer }
---@param answer gemini_bridge.Answer
function M.ask(params, answer)
  local pulled = {}
  for _, path in ipairs(params.paths) do
    local buf = disk.buffer(path)
    if buf then
      -- What the CLI has just written may not have been read yet.
      if safely.is_safe() then
        reload.now(buf)
      end
      pulled[buf] = pull(buf)
    end
  end
  local asked_at = vim.uv.now()
  servers.poll(params.timeout, function(is_late)
    local settled = true
    for buf, is_done in pairs(pulled) do
      if vim.api.nvim_buf_is_loaded(buf) then
        local has = has_published(buf, asked_at)
        if not is_late and (has == false or not is_done() or is_working(buf)) then
          return false
        end
        settled = settled and has == true
      end
    end
    answer({ settled = settled })
    return true
  end)
end

return M
