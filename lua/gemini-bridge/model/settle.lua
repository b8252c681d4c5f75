--- Whether what language servers say of a file is about its newest text.
local documents = require("gemini-bridge.model.documents")
local published = require("gemini-bridge.model.published")
local servers = require("gemini-bridge.model.servers")

local M = {}

local PULL = "textDocument/diagnostic"
--- What servers answer in no time, once they have read all that they were told before.
local CHEAP = { "textDocument/hover", "textDocument/documentHighlight", "textDocument/definition" }
--- Servers publish what they find in pieces: it is all there when none came for so long (milliseconds).
local QUIET = 500
--- A server that has read the newest text, is not seen at work and has published nothing for so long, will not.
local PATIENCE = 3000
--- The same where only other files have changed: servers may have nothing new to say of this one.
local OTHERS = 1000

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

--- Asks the servers that publish by themselves something small: they answer when they have read what they were told.
---@param buf integer
---@return fun(): number? read_at When the last of them had (milliseconds).
local function read(buf)
  local waiting, read_at = 0, vim.uv.now()
  local params =
    { textDocument = vim.lsp.util.make_text_document_params(buf), position = { line = 0, character = 0 } }
  local pulled = servers.knowing(PULL, buf)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
    local method = not vim.list_contains(pulled, client)
      and vim.iter(CHEAP):find(function(cheap)
        return servers.knows(client, cheap, buf)
      end)
    if method then
      waiting = waiting + 1
      servers.send(client, method, params, function()
        waiting, read_at = waiting - 1, vim.uv.now()
      end, buf)
    end
  end
  return function()
    return waiting == 0 and read_at or nil
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
---@param read_at number Milliseconds.
---@return boolean? # nil when they keep silent: some do when they find the same as before.
local function has_published(buf, read_at)
  if #vim.lsp.get_clients({ bufnr = buf }) == #servers.knowing(PULL, buf) then
    return true
  end
  local last, now = published.last(buf), vim.uv.now()
  if now - math.max(read_at, last and last.at or 0) < QUIET then
    return false
  end
  local is_newest = last and last.tick >= vim.api.nvim_buf_get_changedtick(buf)
  if is_newest and (last.texts == published.texts_of(buf) or now - read_at >= OTHERS) then
    return true
  end
  if is_newest or now - read_at < PATIENCE then
    return false
  end
end

--- Whether all of it has been said long ago.
---@param buf integer
---@return boolean
local function is_old(buf)
  local last = published.last(buf)
  return last ~= nil
    and vim.uv.now() - last.at >= PATIENCE
    and last.tick == vim.api.nvim_buf_get_changedtick(buf)
    and last.texts == published.texts_of(buf)
end

---@param params gemini_bridge.questions.settle
---@param answer gemini_bridge.Answer
function M.ask(params, answer)
  local asked = {}
  for _, path in ipairs(params.paths) do
    local buf = documents.current(path)
    if buf then
      asked[buf] = not is_old(buf) and { is_done = pull(buf), read = read(buf) } or nil
    end
  end
  servers.poll(params.timeout, function(is_late)
    local settled, silent = true, false
    for buf, each in pairs(asked) do
      if vim.api.nvim_buf_is_loaded(buf) then
        local read_at = each.read()
        local has = read_at and has_published(buf, read_at)
        if not is_late and (not read_at or has == false or not each.is_done() or is_working(buf)) then
          return false
        end
        settled = settled and read_at ~= nil and has ~= false
        silent = silent or has == nil
      end
    end
    answer({ settled = settled, silent = silent })
    return true
  end)
end

return M
