--- What opens a terminal: each makes a view, in which `start` runs a program, and `show`, `hide`, `focused` and `close`
--- do what they say.
local config = require("gemini-bridge.config")

local M = {}

---@return gemini_bridge.Place
local function place()
  local options = config.get().terminal
  return { position = options.position, size = options.size }
end

--- Opens a window at once, in which the program appears when the bridge runs: keys typed meanwhile go nowhere else.
function M.native()
  return require("gemini-bridge.terminal.native").new(place())
end

--- The user's function opens the terminal. When it returns a buffer, Neovim's windows show it from then on.
---@param open fun(spec: gemini_bridge.TerminalSpec): integer?
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
      return nil, tostring(buf)
    end
    inner = buf and require("gemini-bridge.terminal.native").new(place(), buf)
    return buf
  end
  return view
end

--- Snacks.terminal, of folke/snacks.nvim.
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
      return nil, 'provider = "snacks" needs folke/snacks.nvim'
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
    return terminal.buf
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

--- A new view of the kind that the options name.
function M.view()
  local provider = config.get().terminal.provider
  if type(provider) == "function" then
    return M.custom(provider)
  end
  return M[provider]()
end

return M
