--- Hides virtual lines of diagnostics and code lenses in a buffer during a comparison. They exist in one of the two
--- windows only, so that corresponding lines would have different heights.
local M = {}

--- Returns true if diagnostics are shown as virtual lines, by Neovim or by a plugin such as lsp_lines.nvim.
---@return boolean
local function has_virtual_lines()
  local configs = { vim.diagnostic.config() }
  for _, namespace in pairs(vim.diagnostic.get_namespaces()) do
    configs[#configs + 1] = namespace.opts
  end
  return vim.iter(configs):any(function(config)
    return config.virtual_lines ~= nil and config.virtual_lines ~= false
  end)
end

---@param buf integer
---@return fun() restore Idempotent.
function M.hide(buf)
  local filter, features = { bufnr = buf }, {}
  if package.loaded["vim.diagnostic"] and has_virtual_lines() then
    features[#features + 1] = vim.diagnostic
  end
  local lenses = package.loaded["vim.lsp.codelens"]
  -- Neovim 0.12 shows code lenses as virtual lines. Earlier versions show them at the ends of lines.
  if lenses and lenses.is_enabled then
    features[#features + 1] = lenses
  end
  local hidden = vim.tbl_filter(function(feature)
    return feature.is_enabled(filter)
  end, features)
  for _, feature in ipairs(hidden) do
    feature.enable(false, filter)
  end
  return function()
    for _, feature in ipairs(vim.api.nvim_buf_is_valid(buf) and hidden or {}) do
      feature.enable(true, filter)
    end
    hidden = {}
  end
end

return M
