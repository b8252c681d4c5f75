--- Decides when the option `autostart` starts the bridge. A Neovim that shows only a manual page, a commit message or
--- the output of a program is closed soon, and must not become the editor that CLIs find.

--- Delay after the start of Neovim, so that other plugins can start first.
local IDLE_DELAY_MS = 1000

local SHORT_LIVED = { "man", "gitcommit", "gitrebase" }

local reads_stdin = vim.list_contains(vim.v.argv, "-")

---@param win integer
local function is_short_lived(win)
  local buf = vim.api.nvim_win_get_buf(win)
  return vim.list_contains(SHORT_LIVED, vim.bo[buf].filetype)
    or vim.startswith(vim.api.nvim_buf_get_name(buf), "man://")
end

--- Calls a function as soon as Neovim has started and has a UI, unless this Neovim is not for editing a project.
---@param is_idle boolean Whether to wait a second longer.
---@param start fun()
return function(is_idle, start)
  local function when_entered()
    if vim.g.vscode or reads_stdin or vim.iter(vim.api.nvim_list_wins()):all(is_short_lived) then
      return
    end
    if is_idle then
      vim.defer_fn(start, IDLE_DELAY_MS)
    else
      start()
    end
  end

  local function when_visible()
    if #vim.api.nvim_list_uis() > 0 then
      return when_entered()
    end
    vim.api.nvim_create_autocmd("UIEnter", { once = true, callback = when_entered })
  end

  if vim.v.vim_did_enter == 1 then
    return when_visible()
  end
  vim.api.nvim_create_autocmd("StdinReadPre", {
    once = true,
    callback = function()
      reads_stdin = true
    end,
  })
  vim.api.nvim_create_autocmd("VimEnter", { once = true, callback = when_visible })
end
