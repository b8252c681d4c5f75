--- Reports to the host which resources of the MCP server have changed. Does this only while a client is subscribed to a
--- resource.
local channel = require("gemini-bridge.bridge.channel")

local M = {}

local group ---@type integer?
--- Changes that were not reported yet.
---@type table<string, true>
local changed = {}

--- Collects changes. Reports all of them together in the next iteration of the event loop.
---@param what "buffers"|"changes"|"diagnostics"|"quickfix"|"selection"|"text"
local function add(what)
  if next(changed) == nil then
    vim.schedule(function()
      local all = vim.tbl_keys(changed)
      changed = {}
      if group then
        channel.notify("model_changed", { what = all })
      end
    end)
  end
  changed[what] = true
end

--- Events by resource. Names that start with "Gemini" are `User` events of this plugin.
---@type table<string, string[]>
local EVENTS = {
  changes = { "GeminiChanged" },
  buffers = { "BufAdd", "BufDelete", "BufWipeout", "BufFilePost" },
  diagnostics = { "DiagnosticChanged" },
  quickfix = { "QuickFixCmdPost" },
  selection = { "BufEnter", "CursorMoved", "CursorMovedI", "ModeChanged" },
  text = { "TextChanged", "TextChangedI", "TextChangedP", "FileChangedShellPost" },
}

--- Starts or stops reporting. Idempotent.
---@param params gemini_bridge.calls.model_watch
function M.watch(params)
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  if not params.on then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.model.resource_updates", {})
  for what, events in pairs(EVENTS) do
    local is_own = vim.startswith(events[1], "Gemini")
    if what ~= "selection" or params.selection then
      vim.api.nvim_create_autocmd(is_own and "User" or events, {
        group = group,
        pattern = is_own and events or nil,
        callback = function()
          add(what)
        end,
      })
    end
  end
end

return M
