--- What opens a terminal, by the names of the option `terminal.provider`.
local config = require("gemini-bridge.config")

local M = {}

--- Where one program is, or will be, shown.
---@class gemini_bridge.Provided
---@field buf? integer The terminal's buffer, once the program runs in one.
---@field pane? string Else the id of its pane of tmux.
---@field pid? integer Of what runs in the pane.
---@field start fun(self, spec: gemini_bridge.TerminalSpec): string? Runs the program, or returns why it cannot.
---@field show fun(self, enter: boolean) Shows it, and moves the focus there when asked.
---@field hide fun(self) Takes it off the screen; the program goes on.
---@field focused fun(self): boolean
---@field is_alive? fun(self): boolean Only of a pane: whether the program runs and the pane exists.
---@field close fun(self) Takes it off the screen and ends the program.

---@return gemini_bridge.Place
local function place()
  local options = config.get().terminal
  return { position = options.position, size = options.size }
end

--- Opens a window at once, in which the program appears when the bridge runs: keys typed meanwhile go nowhere else.
---@return gemini_bridge.Provided
function M.native()
  return require("gemini-bridge.terminal.native").new(place())
end

--- The user's function opens the terminal. When it returns a buffer, Neovim's windows show it from then on.
---@param open fun(spec: gemini_bridge.TerminalSpec): integer?
---@return gemini_bridge.Provided
function M.custom(open)
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
    end
    inner = buf and require("gemini-bridge.terminal.native").new(place(), buf)
    view.buf = buf
  end
  return view
end

--- A pane or a window of the tmux that Neovim is in.
---@return gemini_bridge.Provided
function M.tmux()
  return require("gemini-bridge.terminal.tmux").new(place())
end

--- Snacks.terminal, of folke/snacks.nvim.
---@return gemini_bridge.Provided
function M.snacks()
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

--- What runs already, started by a Neovim that has ended, and can be gone on with.
---@return table<string, gemini_bridge.PaneView> # By name.
function M.left_behind()
  if config.get().terminal.provider ~= "tmux" then
    return {}
  end
  local cwd = require("gemini-bridge.terminal.launch").cwd()
  return require("gemini-bridge.terminal.tmux").left_behind(place(), cwd)
end

--- A new view of the kind that the options name.
---@return gemini_bridge.Provided
function M.view()
  local provider = config.get().terminal.provider
  if type(provider) == "function" then
    return M.custom(provider)
  end
  return M[provider]()
end

return M
