/**
 * A Neovim as people have it: mimics the plugins that get in the way of other plugins, each by the lines that matter.
 * Each part says in its comment which plugins behave like this.
 */

/** Session manager, as auto-session and persistence.nvim: saves at exit, and with a command. */
const SESSIONS = `
_G.session = vim.fn.stdpath('state') .. '/session.vim'
local function save() vim.cmd('mksession! ' .. vim.fn.fnameescape(_G.session)) end
vim.api.nvim_create_autocmd('VimLeavePre', { callback = save })
vim.api.nvim_create_user_command('SessionSave', save, {})`;

/** Status line with winbars, as lualine: writes both again in each window, each second and in many events. */
const STATUS_LINE = `
_G.seconds = 0
local function refresh()
  vim.o.statusline = " %f %= %{v:lua.require'gemini-bridge'.statusline()}"
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(win).relative == '' and vim.api.nvim_win_get_height(win) > 1 then
      vim.api.nvim_set_option_value('winbar', ' lived in: %t', { scope = 'local', win = win })
    end
  end
end
vim.uv.new_timer():start(0, 1000, vim.schedule_wrap(function()
  refresh()
  _G.seconds = _G.seconds + 1
end))
vim.api.nvim_create_autocmd({ 'WinEnter', 'BufEnter', 'ModeChanged' }, { callback = refresh })`;

/** Completion engine, as nvim-cmp and blink.cmp: a float while the user types, and a mapping of Enter. */
const COMPLETION = `
_G.completions = 0
local menu
local function close_menu()
  if menu and vim.api.nvim_win_is_valid(menu) then vim.api.nvim_win_close(menu, true) end
  menu = nil
end
vim.api.nvim_create_autocmd('TextChangedI', { callback = function()
  close_menu()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, { 'suggested', 'words' })
  local place = { relative = 'cursor', row = 1, col = 0, width = 10, height = 2, style = 'minimal', focusable = false }
  menu = vim.api.nvim_open_win(buf, false, place)
  _G.completions = _G.completions + 1
end })
vim.api.nvim_create_autocmd({ 'InsertLeave', 'BufLeave', 'CmdlineEnter' }, { callback = close_menu })
vim.api.nvim_create_autocmd('InsertEnter', { callback = function(args)
  vim.keymap.set('i', '<CR>', function()
    close_menu()
    vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'in', false)
  end, { buffer = args.buf })
end })`;

/** Language server that a FileType autocommand starts. Its LspAttach maps keys, as most configurations do. */
const LANGUAGE_SERVER = `
_G.seen_by_server = {}
local function server(dispatchers)
  return {
    request = function(method, _, answer)
      local result = method == 'initialize' and { capabilities = { textDocumentSync = 1 } } or nil
      vim.schedule(function() answer(nil, result) end)
      return true, 1
    end,
    notify = function(method, params)
      if method ~= 'textDocument/didOpen' then return true end
      local uri, start = params.textDocument.uri, { line = 0, character = 0 }
      table.insert(_G.seen_by_server, uri)
      vim.schedule(function()
        local found = { range = { start = start, ['end'] = start }, message = 'lived in', severity = 2 }
        dispatchers.notification('textDocument/publishDiagnostics', { uri = uri, diagnostics = { found } })
      end)
      return true
    end,
    is_closing = function() return false end,
    terminate = function() end,
  }
end
vim.api.nvim_create_autocmd('FileType', { pattern = { 'lua', 'markdown' }, callback = function()
  vim.lsp.start({ name = 'lived-in', cmd = server, root_dir = vim.fn.getcwd() })
end })
vim.api.nvim_create_autocmd('LspAttach', { callback = function(args)
  vim.keymap.set('n', 'K', vim.lsp.buf.hover, { buffer = args.buf })
end })`;

/** Auto-save, as auto-save.nvim: writes each modified buffer after a change. */
const AUTO_SAVE = `
vim.api.nvim_create_autocmd({ 'InsertLeave', 'TextChanged' }, { nested = true, callback = function()
  if vim.bo.modified and vim.bo.modifiable then vim.cmd('silent! write') end
end })`;

/** Format on save, as conform.nvim and as small autocommands of users: removes blanks at the ends of lines. */
const FORMAT_ON_SAVE = `
vim.api.nvim_create_autocmd('BufWritePre', { callback = function(args)
  local lines = vim.api.nvim_buf_get_lines(args.buf, 0, -1, false)
  for number, line in ipairs(lines) do
    local text = line:gsub('%s+$', '')
    if text ~= line then vim.api.nvim_buf_set_lines(args.buf, number - 1, number, false, { text }) end
  end
end })`;

/** Picker that never calls back when the user closes it, as fzf-lua and telescope-ui-select. */
const PICKER = `
_G.questions = {}
vim.ui.select = function(items, options)
  table.insert(_G.questions, options.prompt)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.tbl_map(options.format_item or tostring, items))
  vim.api.nvim_open_win(buf, true, { relative = 'editor', row = 5, col = 20, width = 60, height = 5 })
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf })
end`;

/** Window resizer, as focus.nvim and windows.nvim: widens the current window a moment after it got the focus. */
const RESIZER = `
vim.api.nvim_create_autocmd('WinEnter', { callback = function()
  vim.schedule(function()
    local win, width = vim.api.nvim_get_current_win(), math.floor(vim.o.columns * 0.618)
    local is_resizable = vim.api.nvim_win_get_config(win).relative == '' and not vim.wo[win].winfixwidth
    if is_resizable and vim.api.nvim_win_get_width(win) < width then vim.api.nvim_win_set_width(win, width) end
  end)
end })`;

/** Smooth scroller, as neoscroll.nvim: scrolls line by line in a timer. */
const SCROLLER = `
_G.steps_to_scroll = 0
for lhs, step in pairs({ ['<C-d>'] = '<C-e>j', ['<C-u>'] = '<C-y>k', zt = '<C-e>', zb = '<C-y>' }) do
  vim.keymap.set({ 'n', 'x' }, lhs, function()
    local keys = vim.api.nvim_replace_termcodes(step, true, false, true)
    for number = 1, 5 do
      _G.steps_to_scroll = _G.steps_to_scroll + 1
      vim.defer_fn(function()
        pcall(vim.cmd.normal, { keys, bang = true })
        _G.steps_to_scroll = _G.steps_to_scroll - 1
      end, number * 5)
    end
  end)
end`;

/** Explorer, as nvim-tree and neo-tree: a sidebar of fixed width with a buffer that is no file. */
const EXPLORER = `
vim.api.nvim_create_autocmd('VimEnter', { callback = function()
  vim.cmd('topleft 25vnew')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.fn.readdir('.'))
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.buflisted, vim.bo.modifiable = 'nofile', 'hide', false, false
  vim.bo.filetype = 'lived-in-explorer'
  vim.wo.winfixwidth, vim.wo.number = true, false
  vim.cmd.wincmd('p')
end })`;

/** Git signs, as gitsigns.nvim: maps keys in each file a moment after it was read. */
const GIT_SIGNS = `
_G.next_git_hunk = function() _G.git_hunks = (_G.git_hunks or 0) + 1 end
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufEnter' }, { callback = function(args)
  if vim.bo[args.buf].buftype ~= '' then return end
  vim.defer_fn(function()
    if vim.api.nvim_buf_is_loaded(args.buf) then
      vim.keymap.set('n', ']h', _G.next_git_hunk, { buffer = args.buf, desc = 'of git signs' })
    end
  end, 10)
end })`;

/** Lua for the end of init.lua. */
export const LIVED_IN = [
  SESSIONS,
  STATUS_LINE,
  COMPLETION,
  LANGUAGE_SERVER,
  AUTO_SAVE,
  FORMAT_ON_SAVE,
  PICKER,
  RESIZER,
  SCROLLER,
  EXPLORER,
  GIT_SIGNS,
]
  .map((part) => `do ${part}\nend`)
  .join("\n");
