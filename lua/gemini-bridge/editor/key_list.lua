--- Shows the key mappings of a buffer in a float. The float closes when the cursor moves.
local M = {}

local open ---@type integer? The float's window.

--- Returns the keys of a mapping as the user presses them: "\a" for "<LocalLeader>a".
---@param lhs string
---@return string
function M.name(lhs)
  local keys = vim.fn.keytrans(vim.api.nvim_replace_termcodes(lhs, true, true, true))
  -- Neovim 0.13 also translates these two printable keys.
  return (keys:gsub("<Bslash>", "\\"):gsub("<Bar>", "|"))
end

local group = vim.api.nvim_create_augroup("gemini-bridge.key_list", {})

--- Closes the float.
---@return boolean closed False if the float is not open.
function M.close()
  vim.api.nvim_clear_autocmds({ group = group })
  local win = open
  open = nil
  if not win or not vim.api.nvim_win_is_valid(win) then
    return false
  end
  vim.api.nvim_win_close(win, true)
  return true
end

--- Shows the float. Closes the float if it is already open.
---@param rows [string, string][] Pairs of keys and description.
function M.show(rows)
  if M.close() then
    return
  end
  local width = 0
  for _, row in ipairs(rows) do
    width = math.max(width, vim.fn.strdisplaywidth(row[1]))
  end
  local lines = vim.tbl_map(function(row)
    return (" %s%s%s "):format(row[1], (" "):rep(width - vim.fn.strdisplaywidth(row[1]) + 2), row[2])
  end, rows)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  local has_border = #lines + 2 <= vim.o.lines - vim.o.cmdheight
  local columns = math.max(unpack(vim.tbl_map(vim.fn.strdisplaywidth, lines)))
  open = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = math.max(math.floor((vim.o.lines - #lines) / 2) - 2, 0),
    col = math.max(math.floor((vim.o.columns - columns) / 2) - 1, 0),
    width = columns,
    height = #lines,
    border = has_border and "rounded" or "none",
    style = "minimal",
  })
  local cursor = vim.api.nvim_win_get_cursor(0)
  vim.api.nvim_create_autocmd({ "CursorMoved", "InsertEnter", "BufLeave", "WinLeave", "CmdlineEnter" }, {
    group = group,
    buffer = vim.api.nvim_get_current_buf(),
    callback = function(args)
      -- Compares the cursor position, because CursorMoved also fires when a window opens or closes.
      if args.event ~= "CursorMoved" or not vim.deep_equal(vim.api.nvim_win_get_cursor(0), cursor) then
        M.close()
      end
    end,
  })
end

return M
