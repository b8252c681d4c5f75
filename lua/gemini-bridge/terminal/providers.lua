--- Opens terminals as the option `terminal.provider` says.
local config = require("gemini-bridge.config")

local M = {}

--- The view of a running program: a window of Neovim, or a pane of tmux.
---@class gemini_bridge.Provided
---@field buf? integer The terminal's buffer, if the program runs in a buffer.
---@field pane? string Id of the tmux pane, if the program runs in a pane.
---@field pid? integer Process id of the program, if it runs in a pane.
---@field start fun(self, spec: gemini_bridge.TerminalSpec): string? Runs the program. Returns the reason of a failure.
---@field show fun(self, enter: boolean) Shows the view. If `enter` is true, moves the focus to the view.
---@field hide fun(self) Hides the view. The program continues.
---@field focused fun(self): boolean
---@field is_alive? fun(self): boolean True if the program runs and the pane exists. Only for panes.
---@field close fun(self) Closes the view and ends the program.

---@return gemini_bridge.Place
local function place()
  local options = config.get().terminal
  return { position = options.position, size = options.size }
end

--- Calls the user's function, which opens the terminal. If the function returns a buffer, the view shows that buffer.
---@param open fun(spec: gemini_bridge.TerminalSpec): integer?
---@return gemini_bridge.Provided
local function custom(open)
  local view, inner = {}, nil ---@type table, gemini_bridge.TerminalView?
  for _, method in ipairs({ "show", "hide", "close", "focused" }) do
    view[method] = function(_, ...)
      return inner and inner[method](inner, ...)
    end
  end
  ---@param spec gemini_bridge.TerminalSpec
  function view.start(_, spec)
    local ok, buf = pcall(open, spec)
    if not ok then
      return tostring(buf)
    elseif
      buf and not (vim.list_contains(vim.api.nvim_list_bufs(), buf) and vim.bo[buf].buftype == "terminal")
    then
      return "the function of the option terminal.provider must return a terminal buffer or nothing"
    end
    inner = buf and require("gemini-bridge.terminal.native").new(place(), buf)
    view.buf = buf
  end
  return view
end

--- Opens a terminal of folke/snacks.nvim.
---@return gemini_bridge.Provided
local function snacks_view()
  local view, terminal, enter = {}, nil, true
  function view.show(_, focus)
    enter = focus
    if not terminal then
      return
    end
    if not terminal:win_valid() then
      terminal.opts.enter = focus
      terminal:show()
    elseif focus then
      terminal:focus()
    end
    if focus then
      vim.cmd.startinsert()
    end
  end
  ---@param spec gemini_bridge.TerminalSpec
  function view.start(_, spec)
    local ok, snacks = pcall(require, "snacks")
    if not ok then
      return 'provider = "snacks" needs folke/snacks.nvim'
    end
    local where = place()
    terminal = snacks.terminal.open(spec.cmd, {
      cwd = spec.cwd,
      env = spec.env,
      auto_close = false,
      start_insert = enter,
      win = {
        position = where.position == "tab" and "float" or where.position,
        width = where.size,
        height = where.size,
        enter = enter,
      },
    })
    view.buf = terminal.buf
    require("gemini-bridge.terminal.set_buffer_name")(view.buf, spec.name)
  end
  function view.hide()
    terminal:hide()
  end
  function view.focused()
    return terminal ~= nil and vim.api.nvim_get_current_buf() == terminal.buf
  end
  function view.close()
    if terminal then
      terminal:close()
    end
  end
  return view
end

--- Finds running programs whose Neovim has ended, so that this Neovim can manage them.
---@return table<string, gemini_bridge.PaneView> # By terminal name.
function M.left_behind()
  if config.get().terminal.provider ~= "tmux" then
    return {}
  end
  local cwd = require("gemini-bridge.terminal.launch").cwd()
  return require("gemini-bridge.terminal.tmux").left_behind(place(), cwd)
end

--- Creates a view as the option `terminal.provider` says.
---@return gemini_bridge.Provided
function M.view()
  local provider = config.get().terminal.provider
  if type(provider) == "function" then
    return custom(provider)
  elseif provider == "snacks" then
    return snacks_view()
  elseif provider == "tmux" then
    return require("gemini-bridge.terminal.tmux").new(place())
  end
  return require("gemini-bridge.terminal.native").new(place())
end

return M
