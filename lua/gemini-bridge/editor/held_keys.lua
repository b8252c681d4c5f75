--- Maps keys in a buffer while a review or page needs them. Another plugin may map the same keys later, for example
--- when it attaches to the buffer. The keys keep their meaning, and its mappings come back at the end.
local M = {}

---@class gemini_bridge.HeldKey
---@field mode "n"|"x"
---@field lhs string
---@field plug string Name of the `<Plug>` mapping.
---@field desc string

---@param key gemini_bridge.HeldKey
local function is_ours(key)
  return vim.fn.maparg(key.lhs, key.mode) == key.plug
end

--- Returns the mapping of a key in the current buffer only.
---@param key gemini_bridge.HeldKey
---@return table<string, any>? # nil if there is none.
local function own_mapping(key)
  local found = vim.fn.maparg(key.lhs, key.mode, false, true)
  return found.buffer == 1 and found or nil
end

--- Maps keys in a buffer, and again after another plugin has mapped them.
---@param buf integer
---@param wanted gemini_bridge.HeldKey[] Of several entries for one key, the last applies.
---@return fun() release Restores the other mappings of these keys. Idempotent.
function M.hold(buf, wanted)
  local keys = {} ---@type table<string, gemini_bridge.HeldKey>
  for _, key in ipairs(wanted) do
    keys[key.mode .. key.lhs] = key
  end
  local before = {} ---@type table<gemini_bridge.HeldKey, table<string, any>?>
  local function take()
    for _, key in pairs(keys) do
      if not is_ours(key) then
        before[key] = own_mapping(key)
        local options = { buffer = buf, remap = true, nowait = true, desc = key.desc }
        vim.keymap.set(key.mode, key.lhs, key.plug, options)
      end
    end
  end
  vim.api.nvim_buf_call(buf, take)
  -- No event reports a new mapping. Neovim waits for the next key after each callback of a plugin.
  local listener = vim.api.nvim_create_autocmd("SafeState", {
    callback = function()
      if vim.api.nvim_get_current_buf() == buf then
        take()
      end
    end,
  })
  return function()
    if not listener then
      return
    end
    vim.api.nvim_del_autocmd(listener)
    listener = nil
    if not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    vim.api.nvim_buf_call(buf, function()
      for _, key in pairs(keys) do
        if is_ours(key) then
          pcall(vim.keymap.del, key.mode, key.lhs, { buffer = buf })
          if before[key] then
            vim.fn.mapset(key.mode, false, before[key])
          end
        end
      end
    end)
  end
end

return M
