--- Hides a floating terminal while the user is in a review, because the float would cover the review.
local scheduler = require("gemini-bridge.editor.scheduler")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Hides the floats of a terminal when the user enters a review. Shows the floats again when the user enters the
--- terminal or when the review ends.
---@param buf integer
function M.watch(buf)
  local hidden = {} ---@type integer[]
  local group = vim.api.nvim_create_augroup("gemini-bridge.hide_float." .. buf, {})

  ---@param event string
  ---@param where { buffer?: integer, pattern?: string|string[] }
  ---@param callback fun()
  local function on(event, where, callback)
    local options = vim.tbl_extend("error", where, { group = group, callback = callback })
    vim.api.nvim_create_autocmd(event, options)
  end

  local function show_again()
    for _, win in ipairs(hidden) do
      if vim.api.nvim_win_is_valid(win) then
        vim.api.nvim_win_set_config(win, { hide = false })
      end
    end
    hidden = {}
  end

  on("BufEnter", { pattern = "gemini://*" }, function()
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      if window.is_float(win) and vim.api.nvim_win_get_buf(win) == buf then
        vim.api.nvim_win_set_config(win, { hide = true })
        hidden[#hidden + 1] = win
      end
    end
  end)
  on("BufEnter", { buffer = buf }, show_again)
  on("User", { pattern = { "GeminiDiffAccepted", "GeminiDiffRejected", "GeminiDiffClosed" } }, function()
    -- Waits one tick, because the windows of the review are closed after this event.
    scheduler.next(show_again)
  end)
  on("BufWipeout", { buffer = buf }, function()
    vim.api.nvim_del_augroup_by_id(group)
  end)
end

return M
