--- When `DiagnosticChanged` fires, stores the diagnostics of the buffer and the version of its text.
--- |vim.diagnostic.get()| would copy all diagnostics, which takes 15 ms for 10,000 diagnostics.
local M = {}

---@class gemini_bridge.Published
---@field tick integer Changedtick of the buffer at the last event.
---@field texts integer The result of `texts_of` at the last event: identifies the versions of all texts.
---@field at number Time of the last event (milliseconds).

local group ---@type integer?
---@type table<integer, gemini_bridge.Published>
local published = {}
--- Diagnostics by buffer and namespace. Includes buffers that are not loaded, because servers also check files that are
--- not open.
---@type table<integer, table<integer, vim.Diagnostic[]>>
local diagnostics = {}

--- Returns a number that identifies the versions of all texts that the servers of a buffer know. When a text changes,
--- the number changes too.
---@param buf integer
---@return integer
function M.texts_of(buf)
  local sum = 0
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
    for other in pairs(client.attached_buffers) do
      sum = sum + (vim.api.nvim_buf_is_loaded(other) and vim.api.nvim_buf_get_changedtick(other) or 0)
    end
  end
  return sum
end

---@param buf integer
---@param new vim.Diagnostic[] All diagnostics of one namespace.
local function take(buf, new)
  local lists = diagnostics[buf] or {}
  diagnostics[buf] = lists
  if new[1] then
    lists[new[1].namespace] = new
    return
  end
  -- Checks all namespaces, because the event does not name the namespace if diagnostics were removed.
  for namespace in pairs(lists) do
    if next(vim.diagnostic.count(buf, { namespace = namespace })) == nil then
      lists[namespace] = nil
    end
  end
end

--- Starts storing diagnostics. Idempotent. Call as early as possible, because the times of earlier events are unknown.
function M.track()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.model.published_diagnostics", {})
  vim.api.nvim_create_autocmd("DiagnosticChanged", {
    group = group,
    callback = function(args)
      local is_loaded = vim.api.nvim_buf_is_loaded(args.buf)
      published[args.buf] = {
        tick = is_loaded and vim.api.nvim_buf_get_changedtick(args.buf) or -1,
        texts = M.texts_of(args.buf),
        at = vim.uv.now(),
      }
      take(args.buf, vim.tbl_get(args, "data", "diagnostics") or {})
    end,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "BufWipeout" }, {
    group = group,
    callback = function(args)
      published[args.buf] = nil
      if args.event == "BufWipeout" then
        diagnostics[args.buf] = nil
      end
    end,
  })
  -- If vim.diagnostic is not loaded yet, there are no diagnostics. Loading the module here would take 1.5 ms.
  local count = package.loaded["vim.diagnostic"] and vim.diagnostic.count() or {}
  for _, buf in ipairs(next(count) and vim.api.nvim_list_bufs() or {}) do
    diagnostics[buf] = {}
  end
end

--- Stops storing diagnostics, and drops the stored diagnostics. Idempotent.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group, published, diagnostics = nil, {}, {}
  end
end

--- Returns data about the last event of a buffer.
---@param buf integer
---@return gemini_bridge.Published?
function M.last(buf)
  return published[buf]
end

--- Returns all diagnostics of a buffer by namespace. The caller must not change them.
---@param buf integer
---@return table<integer, vim.Diagnostic[]>
function M.lists(buf)
  local kept, total = 0, 0
  for _, list in pairs(diagnostics[buf] or {}) do
    kept = kept + #list
  end
  for _, count in pairs(vim.diagnostic.count(buf)) do
    total = total + count
  end
  if kept ~= total then
    -- The stored diagnostics are not complete or are outdated: some were published before tracking began, or were
    -- removed without an event. Reads all diagnostics again.
    diagnostics[buf] = {}
    for _, one in ipairs(vim.diagnostic.get(buf)) do
      local list = diagnostics[buf][one.namespace] or {}
      diagnostics[buf][one.namespace] = list
      list[#list + 1] = one
    end
  end
  return diagnostics[buf] or {}
end

--- Returns the buffers that are not loaded and may have diagnostics, by path.
---@return table<string, integer>
function M.unopened()
  local found = {}
  for buf in pairs(diagnostics) do
    if vim.api.nvim_buf_is_valid(buf) and not vim.api.nvim_buf_is_loaded(buf) then
      local path = vim.api.nvim_buf_get_name(buf)
      if path:sub(1, 1) == "/" then
        found[path] = buf
      end
    end
  end
  return found
end

return M
