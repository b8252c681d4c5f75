--- Sends requests to language servers.
local M = {}

--- Polling interval for `M.poll` (milliseconds).
local POLL_INTERVAL_MS = 50
local has_methods = vim.fn.has("nvim-0.11") == 1

---@param client vim.lsp.Client
---@param method string
---@param buf? integer
---@return boolean
function M.supports(client, method, buf)
  if has_methods then
    return client:supports_method(method, buf)
  end
  return client.supports_method(method, { bufnr = buf })
end

--- Returns the language servers that support a method: the servers of a buffer, or all servers if `buf` is nil.
---@param method string
---@param buf? integer
---@return vim.lsp.Client[]
function M.supporting(method, buf)
  return vim.tbl_filter(function(client)
    return M.supports(client, method, buf)
  end, vim.lsp.get_clients({ bufnr = buf }))
end

---@param clients vim.lsp.Client[]
---@return { id: integer, name: string, encoding: string }[]
function M.describe(clients)
  return vim.tbl_map(function(client)
    return { id = client.id, name = client.name, encoding = client.offset_encoding or "utf-16" }
  end, clients)
end

--- Calls a function at an interval until the function returns true.
---@param timeout integer Milliseconds.
---@param check fun(is_late: boolean): boolean `is_late`: whether the timeout has passed.
function M.poll(timeout, check)
  local deadline = vim.uv.hrtime() + timeout * 1e6
  local timer = assert(vim.uv.new_timer())
  local function look()
    if not timer:is_closing() and check(vim.uv.hrtime() >= deadline) then
      timer:close()
    end
  end
  timer:start(0, POLL_INTERVAL_MS, vim.schedule_wrap(look))
end

---@param client vim.lsp.Client
---@param method string
---@param params table
---@param handler fun(problem?: table, result: any)
---@param buf? integer
---@return boolean sent
---@return fun() cancel
function M.send(client, method, params, handler, buf)
  local sent, id
  if has_methods then
    sent, id = client:request(method, params, handler, buf)
  else
    sent, id = client.request(method, params, handler, buf)
  end
  return sent,
    function()
      if id and has_methods then
        client:cancel_request(id)
      elseif id then
        client.cancel_request(id)
      end
    end
end

--- Copies an answer of a server. Keeps at most `room.left` items of all lists together, and counts all items in
--- `room.total`.
---@param value any
---@param room { left: integer, total: integer } Number of items that may still be kept; number of items so far.
---@return any
local function within(value, room)
  if type(value) ~= "table" then
    return value
  end
  local kept = {}
  for key, item in pairs(value) do
    local is_item = type(key) == "number"
    room.total = room.total + (is_item and 1 or 0)
    if not is_item then
      kept[key] = within(item, room)
    elseif room.left > 0 then
      room.left = room.left - 1
      kept[key] = within(item, room)
    end
  end
  -- Keeps the metatable of |vim.empty_dict()|, so that an empty table is not encoded as a list.
  return setmetatable(kept, getmetatable(value))
end

--- Sends a request. Calls `finish` with the result, or with the reason why the request failed.
---@param client vim.lsp.Client
---@param question { method: string, params: table, timeout: integer, buf?: integer }
---@param finish fun(problem?: string, result: any) Called once.
function M.await(client, question, finish)
  local done = false
  local function once(problem, result)
    if not done then
      done = true
      finish(problem, result)
    end
  end
  local sent, cancel = M.send(client, question.method, question.params, function(problem, result)
    local reason = problem and ("%s: %s"):format(client.name, tostring(problem.message or "failed")) or nil
    once(reason, result)
  end, question.buf)
  if not sent then
    return once(("the language server %s is not running any more"):format(client.name))
  end
  M.poll(question.timeout, function(is_late)
    if not done and client:is_stopped() then
      once(("the language server %s ended without an answer"):format(client.name))
    elseif not done and is_late then
      cancel()
      once(("the language server %s did not answer in %d ms"):format(client.name, question.timeout))
    end
    return done
  end)
end

--- Returns the current versions of all texts that a server knows. Edits that the server computes now are only valid for
--- these versions.
---@param client vim.lsp.Client
---@return { at: number, ticks: { path: string, tick: integer }[] }
local function moment_of(client)
  local ticks = {}
  for buf in pairs(client.attached_buffers) do
    -- Neovim sends changes to servers with a delay. Sends pending changes now, so that the server knows the current
    -- text.
    pcall(function()
      require("vim.lsp._changetracking").flush(client, buf)
    end)
    ticks[#ticks + 1] =
      { path = vim.api.nvim_buf_get_name(buf), tick = vim.api.nvim_buf_get_changedtick(buf) }
  end
  local seconds, microseconds = vim.uv.gettimeofday()
  return { at = seconds * 1000 + microseconds / 1000, ticks = ticks }
end

---@param params gemini_bridge.questions.request
---@param answer gemini_bridge.Answer
function M.request(params, answer)
  local client = vim.lsp.get_client_by_id(params.server)
  if not client then
    return answer(nil, "the language server is not running any more")
  end
  local buf = params.path and require("gemini-bridge.disk.path").buffer(params.path)
  if params.path and not buf then
    return answer(nil, "the file was closed meanwhile")
  end
  if buf and params.params.textDocument then
    -- A path may have several URIs. Uses the same URI as Neovim did when it opened the file in the server.
    params.params.textDocument = { uri = vim.uri_from_bufnr(buf) }
  end
  local question = { method = params.method, params = params.params, timeout = params.timeout, buf = buf }
  local moment = params.isEdit and moment_of(client) or nil
  M.await(client, question, function(problem, result)
    if problem then
      return answer(nil, problem)
    end
    local room = { left = params.limit, total = 0 }
    local kept = within(result, room)
    -- `vim.NIL` keeps the field. A table with only nil fields would be empty, and would be encoded as a list.
    answer({
      result = kept == nil and vim.NIL or kept,
      total = room.total > params.limit and room.total or nil,
      moment = moment,
    })
  end)
end

return M
