--- Waits until a program that was just started reads its keyboard.
local M = {}

--- The screen has settled when it shows something and stays the same for so long (milliseconds).
local QUIET = 1000
local INTERVAL, TIMEOUT = 100, 60000

--- Terminals that have settled once.
---@type table<gemini_bridge.Terminal, true>
local settled = setmetatable({}, { __mode = "k" })

--- A terminal says nothing about who reads it, and what is typed too early is echoed or lost.
---@param terminal gemini_bridge.Terminal
---@param done fun(problem?: string)
function M.wait(terminal, done)
  local deadline, quiet_since, last = vim.uv.now() + TIMEOUT, nil, nil
  local function look()
    local listed = vim.tbl_contains(require("gemini-bridge.terminal.terminals").list(), terminal)
    if not listed then
      return done(("%s has ended before it could be typed to"):format(terminal.name))
    elseif settled[terminal] then
      return done()
    elseif vim.uv.now() > deadline then
      return done(("%s does not settle, nothing was typed"):format(terminal.name))
    end
    if terminal.buf then
      local screen = table.concat(vim.api.nvim_buf_get_lines(terminal.buf, 0, -1, false), "\n")
      if screen ~= last or not screen:find("%S") then
        last, quiet_since = screen, vim.uv.now()
      elseif vim.uv.now() - quiet_since >= QUIET then
        settled[terminal] = true
        return done()
      end
    end
    vim.defer_fn(look, INTERVAL)
  end
  look()
end

return M
