--- Implements `:checkhealth gemini-bridge` and `:GeminiDoctor`. Both find out why a CLI does not connect.
local M = {}

--- Process id that the user has passed to `:GeminiDoctor`.
---@type integer?
local target

--- Called by `:checkhealth`.
function M.check()
  local pid = target
  target = nil
  if vim.fn.has("nvim-0.10") == 0 then
    vim.health.error("This Neovim is too old", "install Neovim 0.10 or later")
    return
  end
  local config = require("gemini-bridge.config")
  local problems = vim.list_slice(config.problems)
  local _, unknown = require("gemini-bridge.config.clis").get(config.get().terminal.cli)
  problems[#problems + 1] = unknown and "option terminal.cli: " .. unknown
  if #problems > 0 then
    vim.health.start("Options")
    for _, problem in ipairs(problems) do
      vim.health.warn(problem, ":help gemini-bridge-options")
    end
  end
  require("gemini-bridge.report.doctor").report(pid)
end

--- Shows the report. The section of the CLI with this process id comes first.
---@param pid? integer Process id of a running CLI.
function M.doctor(pid)
  target = pid
  vim.cmd.checkhealth("gemini-bridge")
end

return M
