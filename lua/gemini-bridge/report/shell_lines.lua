--- Implements `:GeminiEnv`: prints shell commands for another terminal. After these commands, a CLI in that terminal
--- connects to this Neovim, even if other Neovims have the same directory open.
local notify = require("gemini-bridge.notify")
local shell_words = require("gemini-bridge.terminal.shell_words")

local sh_quote = shell_words.quote

local M = {}

--- Quotes a text for fish. Within single quotes, fish knows only the escapes `\\` and `\'`.
---@param text string
---@return string
local function fish_quote(text)
  return "'" .. text:gsub("[\\']", "\\%0") .. "'"
end

local FORMS = {
  sh = function(name, value)
    return ("export %s=%s"):format(name, sh_quote(value))
  end,
  fish = function(name, value)
    return ("set -gx %s %s"):format(name, fish_quote(value))
  end,
  -- Affects only tmux panes that are opened later.
  tmux = function(name, value)
    -- tmux takes ";" at the end of an argument for the end of the command, unless a backslash precedes this character.
    return ("tmux set-environment %s %s"):format(name, sh_quote((value:gsub(";$", "\\;"))))
  end,
}

--- Returns the environment variables for another terminal: first those of the bridge, then those of CLIs.
---@return { name: string, value: string }[]
local function variables()
  local found = {}
  local environment = require("gemini-bridge.host.environment")
  for name, value in vim.spairs(environment.of_bridge()) do
    -- Leaves out the variables for the CLI's file of system defaults, because they apply only in Neovim's own
    -- terminals.
    if value ~= "" and not name:find("SYSTEM_DEFAULTS", 1, true) then
      found[#found + 1] = { name = name, value = value }
    end
  end
  for name, value in vim.spairs(environment.of_clis()) do
    found[#found + 1] = { name = name, value = value }
  end
  return found
end

--- Returns shell comments about variables that only some CLIs need.
---@return string[]
local function remarks()
  local lines = {}
  for _, cli in ipairs(require("gemini-bridge.config.clis").all()) do
    if cli.byProcess and vim.fn.executable(cli.cmd[1]) == 1 then
      local needs = {}
      for name, value in vim.spairs(cli.byProcess) do
        needs[#needs + 1] = ("%s=%s"):format(name, value)
      end
      local text = "# %s uses these variables only if %s is also set."
      lines[#lines + 1] = text:format(cli.label, table.concat(needs, ", "))
    end
  end
  return lines
end

--- Prints the shell commands, and copies them to the unnamed register and to the clipboard if available.
---@param form "sh"|"fish"|"tmux"
function M.show(form)
  if require("gemini-bridge.bridge.status").get().state ~= "running" then
    return notify("The bridge is not running: run :GeminiStart.", "warn")
  end
  local lines = {}
  for _, variable in ipairs(variables()) do
    if shell_words.has_control(variable.value) then
      -- A pasted control character acts as a key, even within quotes: a directory's name could end the line.
      local problem =
        "%s contains a control character, which a shell would take for a key: rename the directory."
      return notify(problem:format(variable.name), "error")
    end
    lines[#lines + 1] = FORMS[form](variable.name, variable.value)
  end
  local text = table.concat(vim.list_extend(lines, remarks()), "\n") .. "\n"
  local has_clipboard = vim.fn.has("clipboard") == 1
  vim.fn.setreg('"', text)
  if has_clipboard then
    vim.fn.setreg("+", text)
  end
  local result = ("# These lines were copied to %s: run them in a shell, then start the CLI there."):format(
    has_clipboard and "the clipboard" or "Neovim's unnamed register"
  )
  vim.api.nvim_echo({ { text .. result } }, false, {})
end

return M
