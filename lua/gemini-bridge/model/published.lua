--- What language servers and linters have said of each file, and about which text of it. It is kept as the event brings
--- it: Neovim copies what it is asked for, which takes 15 ms for 10,000 diagnostics.
local M = {}

---@class gemini_bridge.Published
---@field tick integer Of the buffer, when diagnostics came last.
---@field texts integer The same of all buffers that its servers know.
---@field at number When that was (milliseconds).

local group ---@type integer?
---@type table<integer, gemini_bridge.Published>
local published = {}
--- By buffer and namespace. Buffers that are not loaded are of files that a server has found by itself.
---@type table<integer, table<integer, vim.Diagnostic[]>>
local diagnostics = {}

--- A number that is another one when a text is, of all that the servers of a buffer know.
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
---@param new vim.Diagnostic[] Of one namespace.
local function take(buf, new)
  local lists = diagnostics[buf] or {}
  diagnostics[buf] = lists
  if new[1] then
    lists[new[1].namespace] = new
    return
  end
  -- Which namespace has none any more is not told.
  for namespace in pairs(lists) do
    if next(vim.diagnostic.count(buf, { namespace = namespace })) == nil then
      lists[namespace] = nil
    end
  end
end

--- Follows what is published while the bridge runs: it cannot be asked for later. What is followed already stays.
function M.track()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.model.published", {})
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
  -- To ask would load the module, 1.5 ms, without which nothing has been published.
  local count = package.loaded["vim.diagnostic"] and vim.diagnostic.count() or {}
  for _, buf in ipairs(next(count) and vim.api.nvim_list_bufs() or {}) do
    diagnostics[buf] = {}
  end
end

--- May run twice.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group, published, diagnostics = nil, {}, {}
  end
end

--- When something was published for a buffer last.
---@param buf integer
---@return gemini_bridge.Published?
function M.last(buf)
  return published[buf]
end

--- All diagnostics of a buffer, a list for each namespace, only to be looked at.
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
    -- Some are older than what is kept here, or went without an event.
    diagnostics[buf] = {}
    for _, one in ipairs(vim.diagnostic.get(buf)) do
      local list = diagnostics[buf][one.namespace] or {}
      diagnostics[buf][one.namespace] = list
      list[#list + 1] = one
    end
  end
  return diagnostics[buf] or {}
end

--- Buffers that are not loaded and of which something may have been said, by the paths of their files.
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
