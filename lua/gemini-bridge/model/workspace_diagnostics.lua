--- Collects diagnostics of files that are not open: published diagnostics, and answers to `workspace/diagnostic` (LSP
--- 3.17). Stores the answers itself, because Neovim's own handler would create a buffer for each file.
local disk = require("gemini-bridge.disk.path")
local published = require("gemini-bridge.model.published_diagnostics")
local language_servers = require("gemini-bridge.model.language_servers")
local work_slices = require("gemini-bridge.model.work_slices")

local M = {}

local METHOD = "workspace/diagnostic"
--- Maximum number of files in an answer to the host. Files with the most severe diagnostics come first.
local MAX_FILES = 2000
--- Maximum number of stored diagnostics of one server.
local MAX_DIAGNOSTICS = 20000

--- The fields of a `vim.Diagnostic` that this plugin uses. In diagnostics from `workspace/diagnostic`, `col` counts
--- UTF-16 units instead of bytes.
---@class gemini_bridge.Problem
---@field lnum integer
---@field col integer
---@field severity integer
---@field message string
---@field code? string|integer
---@field source? string

--- The diagnostics in the last answer of each server, by server id and path.
---@type table<integer, table<string, gemini_bridge.Problem[]>>
local pulled = {}
--- Callbacks for the running requests. Called when all servers have answered.
---@type fun(problems: string[])[]
local followers = {}

---@param client vim.lsp.Client
---@return boolean
local function can_tell(client)
  return vim.tbl_get(client.server_capabilities or {}, "diagnosticProvider", "workspaceDiagnostics") == true
    or vim.fn.has("nvim-0.12") == 1 and language_servers.supports(client, METHOD)
end

---@param value any
---@return integer
local function natural(value)
  return type(value) == "number" and value >= 0 and value < 1e9 and math.floor(value) or 0
end

--- Parses a diagnostic of a server. Returns nil if the diagnostic has no message or no position.
---@param value any
---@return gemini_bridge.Problem?
local function parse(value)
  local start = type(value) == "table" and vim.tbl_get(value, "range", "start")
  if type(start) ~= "table" or type(value.message) ~= "string" then
    return
  end
  local severity = natural(value.severity)
  return {
    lnum = natural(start.line),
    col = natural(start.character),
    severity = severity >= 1 and severity <= 4 and severity or 1,
    message = value.message,
    code = value.code,
    source = value.source,
  }
end

---@param uri any
---@return string?
local function path_of(uri)
  local ok, path = pcall(vim.uri_to_fname, uri)
  if
    ok
    and vim.startswith(uri, "file:")
    and path:sub(1, 1) == "/"
    and not path:find("%z")
    and disk.is_utf8(path)
  then
    return path
  end
end

---@param reports any[]
---@param done fun(files: table<string, gemini_bridge.Problem[]>, dropped: integer, failure?: string)
local function group_by_file(reports, done)
  local files, kept, dropped = {}, 0, 0
  work_slices.each(reports, function(report)
    local path = type(report) == "table" and report.kind ~= "unchanged" and path_of(report.uri)
    local items = path and vim.islist(report.items) and report.items or {}
    local room = math.min(#items, MAX_DIAGNOSTICS - kept)
    dropped = dropped + #items - room
    for i = 1, room do
      local problem = parse(items[i])
      if problem then
        kept = kept + 1
        files[path] = files[path] or {}
        table.insert(files[path], problem)
      end
    end
  end, function(failure)
    done(files, dropped, failure)
  end)
end

--- Requests diagnostics of the whole workspace from a server. Collects the diagnostics from the answer and from partial
--- results, because a server may send some or all of them before the answer.
---@param client vim.lsp.Client
---@param timeout integer Milliseconds.
---@param done fun(problem?: string)
local function pull(client, timeout, done)
  local token, reports = ("gemini-bridge %d %d"):format(client.id, vim.uv.hrtime()), {}
  local function take(report)
    local items = type(report) == "table" and report.items
    vim.list_extend(reports, vim.islist(items) and items or {})
  end
  local parts = vim.api.nvim_create_autocmd("LspProgress", {
    callback = function(args)
      local progress = vim.tbl_get(args, "data", "params") or {}
      if progress.token == token then
        take(progress.value)
      end
    end,
  })
  local params = {
    identifier = vim.tbl_get(client.server_capabilities or {}, "diagnosticProvider", "identifier"),
    previousResultIds = {},
    partialResultToken = token,
  }
  language_servers.await(
    client,
    { method = METHOD, params = params, timeout = timeout },
    function(problem, result)
      vim.api.nvim_del_autocmd(parts)
      take(result)
      group_by_file(reports, function(files, dropped, failure)
        pulled[client.id] = files
        local more = "%s has reported %d more diagnostics, which are left out"
        done(problem or failure or dropped > 0 and more:format(client.name, dropped) or nil)
      end)
    end
  )
end

--- Requests diagnostics from all servers. Concurrent calls share one request. Drops the diagnostics of servers that
--- have ended.
---@param timeout integer Milliseconds.
---@param done fun(problems: string[])
local function pull_all(timeout, done)
  followers[#followers + 1] = done
  if #followers > 1 then
    return
  end
  local asked = vim.tbl_filter(can_tell, vim.lsp.get_clients())
  local waiting, problems = #asked, {}
  for id in pairs(pulled) do
    if not vim.lsp.get_client_by_id(id) then
      pulled[id] = nil
    end
  end
  local function finish()
    if waiting == 0 then
      local finished = followers
      followers = {}
      for _, follower in ipairs(finished) do
        follower(problems)
      end
    end
  end
  for _, client in ipairs(asked) do
    pull(client, timeout, function(problem)
      waiting = waiting - 1
      problems[#problems + 1] = problem
      finish()
    end)
  end
  finish()
end

--- Returns the diagnostics of files that are not open, by path. Each file has one list for each namespace and for each
--- server that has answered.
---@return table<string, gemini_bridge.Problem[][]>
function M.lists()
  local found, loaded = {}, {}
  for path, buf in pairs(published.unopened()) do
    found[path] = vim.tbl_values(published.lists(buf))
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    loaded[vim.api.nvim_buf_get_name(buf)] = vim.api.nvim_buf_is_loaded(buf) or nil
  end
  for _, files in pairs(pulled) do
    for path, list in pairs(files) do
      if not loaded[path] then
        found[path] = found[path] or {}
        table.insert(found[path], list)
      end
    end
  end
  return found
end

---@param lists gemini_bridge.Problem[][]
---@return integer? severity nil for empty lists.
local function most_severe(lists)
  local least ---@type integer?
  for _, list in ipairs(lists) do
    for _, one in ipairs(list) do
      least = math.min(least or one.severity, one.severity)
    end
  end
  return least
end

--- Answers with the files that have diagnostics. Files with the most severe diagnostics come first.
---@param params { timeout: integer }
---@param answer gemini_bridge.Answer
function M.ask(params, answer)
  pull_all(params.timeout, function(problems)
    local paths, severities = {}, {}
    for path, lists in pairs(M.lists()) do
      severities[path] = most_severe(lists)
      paths[#paths + 1] = severities[path] and path or nil
    end
    table.sort(paths, function(a, b)
      if severities[a] ~= severities[b] then
        return severities[a] < severities[b]
      end
      return a < b
    end)
    answer({ paths = vim.list_slice(paths, 1, MAX_FILES), total = #paths, problems = problems })
  end)
end

--- Drops the answers of all servers. Idempotent.
function M.forget()
  pulled = {}
end

return M
