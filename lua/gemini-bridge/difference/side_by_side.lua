--- Compares two texts in two windows in diff mode. Sets window options directly instead of by |:diffthis|, which would
--- also change the global option 'scrollopt'.
local hunks = require("gemini-bridge.difference.hunks")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Window options of a comparison that shows all lines. Leaves out 'foldmethod', because the value "diff" would destroy
--- manual folds.
local UNFOLDED = { diff = true, scrollbind = true, cursorbind = true, wrap = false, foldenable = false }
--- Window options of a comparison that folds the equal lines.
local FOLDED = vim.tbl_extend("force", UNFOLDED, {
  foldenable = true,
  foldmethod = "diff",
  foldlevel = 0,
  foldcolumn = "2",
})

--- Maximum length of a line that is compared in two windows. Neovim would compare a longer line character by character,
--- which blocks Neovim for seconds.
local MAX_COMPARED_BYTES = 1024 * 1024

---@param buf integer
---@return boolean
local function has_long_line(buf)
  local is_long = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) > MAX_COMPARED_BYTES
  return is_long
    and vim.iter(vim.api.nvim_buf_get_lines(buf, 0, -1, true)):any(function(line)
      return #line > MAX_COMPARED_BYTES
    end)
end

--- Returns false if a text has a line that is too long for a comparison in two windows.
---@param a integer Buffer.
---@param b integer Buffer.
---@return boolean
function M.is_possible(a, b)
  return not has_long_line(a) and not has_long_line(b)
end

--- Returns the current values of the options that `M.start` sets.
---@param win integer
---@param is_folded? boolean
---@return table<string, any>
function M.options(win, is_folded)
  return window.options(win, is_folded and FOLDED or UNFOLDED)
end

--- Sets the options of a comparison in a window.
---@param win integer
---@param is_folded? boolean True folds the equal lines.
function M.start(win, is_folded)
  window.set(win, is_folded and FOLDED or UNFOLDED)
end

--- Ends a comparison that shows all lines. Sets the options to ordinary values.
---@param win integer
function M.stop(win)
  window.set(win, {
    diff = false,
    scrollbind = false,
    cursorbind = false,
    foldenable = vim.go.foldenable,
    wrap = vim.go.wrap,
    winbar = "",
  })
end

--- Scrolls the window of the older text to the lines that correspond to the visible newer lines. Neovim itself would
--- align both windows only at the next scroll.
---@param older integer
---@param newer integer
function M.align(older, newer)
  local function lines(win)
    return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true)
  end
  local earlier = hunks.line_map(lines(newer), lines(older))
  local view = window.view(newer)
  window.set_view(older, { topline = earlier(view.topline), lnum = earlier(view.lnum), col = 0 })
end

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

--- Returns the features that show virtual lines in a buffer.
---@param filter { bufnr: integer }
---@return table[]
local function enabled_features(filter)
  local features = {}
  if package.loaded["vim.diagnostic"] and has_virtual_lines() then
    features[#features + 1] = vim.diagnostic
  end
  local lenses = package.loaded["vim.lsp.codelens"]
  -- Neovim 0.12 shows code lenses as virtual lines. Earlier versions show them at the ends of lines.
  if lenses and lenses.is_enabled then
    features[#features + 1] = lenses
  end
  return vim.tbl_filter(function(feature)
    return feature.is_enabled(filter)
  end, features)
end

--- Features that are hidden in a buffer, and the number of comparisons that hide them.
local hidden = {} ---@type table<integer, { features: table[], comparisons: integer }>

--- Hides virtual lines of diagnostics and code lenses in a buffer during a comparison. They exist in one of the two
--- windows only, so that corresponding lines would have different heights. If a buffer has two comparisons, the lines
--- come back after both.
---@param buf integer
---@return fun() restore Idempotent.
function M.hide_virtual_lines(buf)
  local filter = { bufnr = buf }
  local entry = hidden[buf] or { features = enabled_features(filter), comparisons = 0 }
  hidden[buf] = entry
  for _, feature in ipairs(entry.features) do
    feature.enable(false, filter)
  end
  entry.comparisons = entry.comparisons + 1
  local is_restored = false
  return function()
    if is_restored then
      return
    end
    is_restored = true
    entry.comparisons = entry.comparisons - 1
    if entry.comparisons > 0 then
      return
    end
    hidden[buf] = nil
    for _, feature in ipairs(vim.api.nvim_buf_is_valid(buf) and entry.features or {}) do
      feature.enable(true, filter)
    end
  end
end

return M
