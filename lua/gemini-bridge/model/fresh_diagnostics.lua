--- Waits until language servers have published diagnostics for the newest text of files.
local documents = require("gemini-bridge.model.documents")
local published = require("gemini-bridge.model.published_diagnostics")
local language_servers = require("gemini-bridge.model.language_servers")

local M = {}

local PULL = "textDocument/diagnostic"
--- Methods of requests with quick answers. When a server has answered, it has also processed all earlier messages.
local CHEAP = { "textDocument/hover", "textDocument/documentHighlight", "textDocument/definition" }
--- Servers may publish diagnostics in several parts. If no further part arrives within this time, the diagnostics count
--- as complete.
local QUIET_MS = 500
--- Maximum wait for a server that has read the newest text but shows no activity (milliseconds).
local SILENCE_MS = 3000
--- Maximum wait if only other files have changed (milliseconds). Shorter, because a server may not publish unchanged
--- diagnostics again.
local OTHERS_SILENCE_MS = 1000

--- Requests diagnostics from the servers that support such requests. Neovim's own handlers process the answers.
---@param buf integer
---@return fun(): boolean is_done
local function pull(buf)
  local waiting = 0
  for _, client in ipairs(language_servers.supporting(PULL, buf)) do
    local take = client.handlers[PULL] or vim.lsp.handlers[PULL]
    local params = { textDocument = vim.lsp.util.make_text_document_params(buf) }
    waiting = waiting + 1
    language_servers.send(client, PULL, params, function(...)
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

--- Sends a quick request to each server that publishes diagnostics unasked. After the answer, the server has processed
--- all changes.
---@param buf integer
---@return fun(): number? read_at Time of the last answer (milliseconds). nil until all servers have answered.
local function read(buf)
  local waiting, read_at = 0, vim.uv.now()
  local params =
    { textDocument = vim.lsp.util.make_text_document_params(buf), position = { line = 0, character = 0 } }
  local pulled = language_servers.supporting(PULL, buf)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
    local method = not vim.list_contains(pulled, client)
      and vim.iter(CHEAP):find(function(cheap)
        return language_servers.supports(client, cheap, buf)
      end)
    if method then
      waiting = waiting + 1
      language_servers.send(client, method, params, function()
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

--- Returns whether the published diagnostics of a buffer belong to the newest text.
---@param buf integer
---@param read_at number Time when the servers had processed the newest text (milliseconds).
---@return boolean? # nil if the servers publish nothing, for example because the diagnostics have not changed.
local function has_published(buf, read_at)
  if #vim.lsp.get_clients({ bufnr = buf }) == #language_servers.supporting(PULL, buf) then
    return true
  end
  local last, now = published.last(buf), vim.uv.now()
  if now - math.max(read_at, last and last.at or 0) < QUIET_MS then
    return false
  end
  local is_newest = last and last.tick >= vim.api.nvim_buf_get_changedtick(buf)
  if is_newest and (last.texts == published.texts_of(buf) or now - read_at >= OTHERS_SILENCE_MS) then
    return true
  end
  if is_newest or now - read_at < SILENCE_MS then
    return false
  end
end

--- Returns whether the last diagnostics belong to the current text and are old enough. If so, no further
--- diagnostics are expected.
---@param buf integer
---@return boolean
local function is_old(buf)
  local last = published.last(buf)
  return last ~= nil
    and vim.uv.now() - last.at >= SILENCE_MS
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
  language_servers.poll(params.timeout, function(is_late)
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
