--- Lets the user choose an item with |vim.ui.select()|.
local scheduler = require("gemini-bridge.editor.scheduler")

--- Interval between checks whether a picker is still open.
local POLL_INTERVAL_MS = 200
--- Number of checks in a row without a picker after which the user has cancelled. A picker may open its window later.
local MAX_CHECKS_WITHOUT_PICKER = 5

--- Returns true if a picker may be open: the command line, or a window that is newer than the question and can get the
--- focus. Such a window may be a split. Other plugins show floats that cannot get the focus.
---@param before integer[] Windows before the question.
---@return boolean
local function may_be_open(before)
  return vim.api.nvim_get_mode().mode:find("^[cr]") ~= nil
    or vim.iter(vim.api.nvim_list_wins()):any(function(win)
      return not vim.list_contains(before, win) and vim.api.nvim_win_get_config(win).focusable
    end)
end

--- Calls a function when no picker is open any more. Some pickers never call back if the user closes them, for example
--- fzf-lua and telescope-ui-select.
---@param before integer[] Windows before the question.
---@param is_answered fun(): boolean
---@param cancel fun()
---@param checks? integer Number of checks in a row without a picker.
local function watch(before, is_answered, cancel, checks)
  scheduler.after(POLL_INTERVAL_MS, function()
    local now = may_be_open(before) and 0 or (checks or 0) + 1
    if is_answered() then
      return
    elseif now == MAX_CHECKS_WITHOUT_PICKER then
      cancel()
    else
      watch(before, is_answered, cancel, now)
    end
  end)
end

---@generic T
---@param choices T[]
---@param options { prompt: string, format_item?: (fun(choice: T): string) }
---@param answer fun(choice?: T) Called once. Gets nil if the user cancels.
return function(choices, options, answer)
  local is_answered = false
  local function once(choice)
    if not is_answered then
      is_answered = true
      answer(choice)
    end
  end
  options.kind = "gemini-bridge"
  local before = vim.api.nvim_list_wins()
  -- Treats an error as a cancellation, because CTRL-C raises an error in Neovim's own `vim.ui.select`.
  if not pcall(vim.ui.select, choices, options, once) then
    once(nil)
  elseif not is_answered then
    watch(before, function()
      return is_answered
    end, function()
      once(nil)
    end)
  end
end
