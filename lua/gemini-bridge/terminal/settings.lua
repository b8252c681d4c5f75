--- Whether Gemini CLI's settings let it connect to an editor.
local M = {}

local reminded = false

---@param path string
---@return boolean? enabled `nil` when the file says nothing.
local function ide_enabled(path)
  local file = io.open(path)
  if not file then
    return
  end
  local text = file:read("*a")
  file:close()
  -- The CLI allows comments. `//` in a URL stays: it follows a colon.
  text = text:gsub("/%*.-%*/", ""):gsub("([^:])//[^\n]*", "%1")
  local ok, settings = pcall(vim.json.decode, text)
  local ide = ok and type(settings) == "table" and settings.ide
  if type(ide) == "table" and type(ide.enabled) == "boolean" then
    return ide.enabled
  end
end

--- Tells the user once what to do when Gemini CLI would not even try to connect: `/ide enable` sets `ide.enabled`.
---@param cmd string[]
---@param cwd string
function M.remind(cmd, cwd)
  if reminded or vim.fs.basename(cmd[1]) ~= "gemini" then
    return
  end
  local home = vim.env.GEMINI_CLI_HOME or vim.uv.os_homedir()
  local project = ide_enabled(vim.fs.joinpath(cwd, ".gemini/settings.json"))
  local user = ide_enabled(vim.fs.joinpath(home, ".gemini/settings.json"))
  if project or (project == nil and user) then
    return
  end
  reminded = true
  require("gemini-bridge.notify")("Gemini CLI does not connect to editors yet: type /ide enable in it, once.")
end

return M
