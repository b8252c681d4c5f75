--- Gemini CLI's settings, merged as the CLI merges them (0.61.0, `loadSettings`).
local M = {}

--- Takes comments out of JSON; what looks like one inside a string stays.
---@param text string
---@return string
local function without_comments(text)
  local parts, position = {}, 1
  while position <= #text do
    local from = text:find('["/]', position)
    if not from then
      break
    end
    parts[#parts + 1] = text:sub(position, from - 1)
    local stop
    if text:sub(from, from) == '"' then
      stop = from
      repeat
        stop = text:find('["\\]', stop + 1) or #text
        local escaped = text:sub(stop, stop) == "\\"
        stop = escaped and stop + 1 or stop
      until not escaped or stop > #text
      parts[#parts + 1] = text:sub(from, stop)
    elseif text:sub(from, from + 1) == "//" then
      stop = (text:find("\n", from, true) or #text + 1) - 1
    elseif text:sub(from, from + 1) == "/*" then
      stop = select(2, text:find("*/", from + 2, true)) or #text
    else
      stop = from
      parts[#parts + 1] = "/"
    end
    position = stop + 1
  end
  return table.concat(parts) .. text:sub(position)
end

---@param path string
---@return table? settings `nil` when there is no such file.
---@return string? problem
local function read(path)
  local file = io.open(path, "rb")
  if not file then
    return
  end
  local text = file:read("*a")
  file:close()
  local ok, settings = pcall(vim.json.decode, without_comments(text), { luanil = { object = true } })
  if ok and type(settings) == "table" then
    return settings
  end
  return nil, ("%s is no JSON object"):format(path)
end

--- The files that count, the strongest first.
---@param env table<string, string> The CLI's environment.
---@param cwd string Its directory.
---@return string[]
function M.files(env, cwd)
  local is_mac = vim.fn.has("mac") == 1
  local system = env.GEMINI_CLI_SYSTEM_SETTINGS_PATH
    or (is_mac and "/Library/Application Support/GeminiCli/settings.json" or "/etc/gemini-cli/settings.json")
  local home = env.GEMINI_CLI_HOME or env.HOME or vim.uv.os_homedir()
  return {
    system,
    vim.fs.joinpath(cwd, ".gemini/settings.json"),
    vim.fs.joinpath(home, ".gemini/settings.json"),
    env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH or vim.fs.joinpath(vim.fs.dirname(system), "system-defaults.json"),
  }
end

--- Whether IDE mode is on for a CLI with this environment in this directory. A workspace that the CLI does
--- not trust has no say in it; that is not looked at here.
---@param env table<string, string>
---@param cwd string
---@return boolean enabled
---@return string? file The one that decides.
---@return string[] problems Files that cannot be read.
function M.ide_enabled(env, cwd)
  local problems, enabled, decisive = {}, nil, nil
  for _, path in ipairs(M.files(env, cwd)) do
    local settings, problem = read(path)
    problems[#problems + 1] = problem
    local ide = settings and settings.ide
    if enabled == nil and type(ide) == "table" and type(ide.enabled) == "boolean" then
      enabled, decisive = ide.enabled, path
    end
  end
  return enabled or false, decisive, problems
end

return M
