--- Gemini CLI's program: where it is and which release.
local M = {}

--- `--version` that takes longer hangs (milliseconds).
local TIMEOUT = 10000

--- The releases between which test/compat ran, both included.
M.OLDEST, M.NEWEST = "0.7.0", "0.61.0"

--- The release of the package that a file belongs to.
---@param path string
---@return string? version `nil` when it belongs to no release of Gemini CLI.
local function package_version(path)
  local real = vim.uv.fs_realpath(path)
  local found = real and vim.fs.find("package.json", { path = vim.fs.dirname(real), upward = true })[1]
  local file = found and io.open(found, "rb")
  if not file then
    return
  end
  local ok, package = pcall(vim.json.decode, file:read("*a"))
  file:close()
  if ok and type(package) == "table" and package.name == "@google/gemini-cli" then
    return package.version
  end
end

--- The release of the CLI that a command line runs.
---@param command string As `ps` prints it.
---@return string?
function M.version_of_command(command)
  for word in command:gmatch("%S+") do
    local version = word:find("/", 1, true) and package_version(word)
    if version then
      return version
    end
  end
end

--- The release that a program is, asked of its package, or else of itself.
---@param program string Name or path.
---@return string? version
function M.version(program)
  local path = vim.fn.exepath(program)
  local version = path ~= "" and package_version(path)
  if version then
    return version
  end
  local ok, process = pcall(vim.system, { program, "--version" }, { text = true, stdin = "" })
  return ok and (process:wait(TIMEOUT).stdout or ""):match("%d+%.%d+%.%d+") or nil
end

--- What the tests say of a release.
---@param version string
---@return "tested"|"older"|"newer"
function M.judge(version)
  local release = vim.version.parse(version) or { 0, 0, 0 }
  if vim.version.lt(release, M.OLDEST) then
    return "older"
  end
  return vim.version.gt(release, M.NEWEST) and "newer" or "tested"
end

--- The program that the user has for `:Gemini`.
---@return string
function M.name()
  local terminal = require("gemini-bridge.config").get().terminal
  return terminal and terminal.cmd and terminal.cmd[1] or "gemini"
end

return M
