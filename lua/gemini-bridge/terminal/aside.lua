--- Has the float of a terminal step aside while the user is in a review, which would be under it.
local safely = require("gemini-bridge.editor.safely")

local M = {}

--- Watches a terminal's windows until its buffer is gone.
---@param buf integer
function M.watch(buf)
  local hidden = {} ---@type integer[]
  local group = vim.api.nvim_create_augroup("gemini-bridge.aside." .. buf, {})

  ---@param event string
  ---@param where { buffer?: integer, pattern?: string|string[] }
  ---@param callback fun()
  local function on(event, where, callback)
    local options = vim.tbl_extend("error", where, { group = group, callback = callback })
    vim.api.nvim_create_autocmd(event, options)
  end

  local function come_back()
    for _, win in ipairs(hidden) do
      if vim.api.nvim_win_is_valid(win) then
        vim.api.nvim_win_set_config(win, { hide = false })
      end
    end
    hidden = {}
  end

  on("BufEnter", { pattern = "gemini://*" }, function()
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local is_float = vim.api.nvim_win_get_config(win).relative ~= ""
      if is_float and vim.api.nvim_win_get_buf(win) == buf then
        vim.api.nvim_win_set_config(win, { hide = true })
        hidden[#hidden + 1] = win
      end
    end
  end)
  on("BufEnter", { buffer = buf }, come_back)
  on("User", { pattern = { "GeminiDiffAccepted", "GeminiDiffRejected", "GeminiDiffClosed" } }, function()
    -- The review's windows are still there.
    vim.schedule(function()
      safely.run(come_back)
    end)
  end)
  on("BufWipeout", { buffer = buf }, function()
    vim.api.nvim_del_augroup_by_id(group)
  end)
end

return M
