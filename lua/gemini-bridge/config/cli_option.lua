--- Checks the option `clis`, and reads the known CLIs from profiles.json.
local checks = require("gemini-bridge.config.checks")

local M = {}

--- A known CLI in profiles.json. src/profiles/profiles.ts describes the fields that Lua does not use.
---@class gemini_bridge.Profile
---@field name string
---@field label string Name to show to the user.
---@field cmd string[] Program and arguments.
---@field args string[] Default arguments of `:Gemini`. Left out if the user's arguments set the same option.
---@field package string Name of the npm package.
---@field settings { files: string[], folder: string } The CLI's settings files, and the folder that contains them.
---@field gate? string How a hook makes the CLI ask before an edit. nil if no hook can do this.
---@field socket? { client: string } Client name that the CLI reports. Only for CLIs that connect by WebSocket.
---@field byProcess? table<string, string> Variables by which the CLI finds its editor. Needed only if the CLI is not
--- started by a shell.

local path = debug.getinfo(1, "S").source:match("^@(.*)/") .. "/profiles.json"
local known ---@type gemini_bridge.Profile[]?

--- Returns the known CLIs.
---@return gemini_bridge.Profile[]
function M.known()
  known = known or vim.json.decode(vim.fn.readblob(path))
  return known
end

---@param name string?
---@return gemini_bridge.Profile?
function M.find(name)
  return vim.iter(M.known()):find(function(profile)
    return profile.name == name
  end)
end

--- Checks for an absolute path without control characters.
---@param value any
---@return boolean
local function is_path(value)
  local is_absolute = type(value) == "string" and (vim.startswith(value, "~/") or vim.startswith(value, "/"))
  return is_absolute and not value:find("%c")
end

--- The valid fields of a CLI, each with a check and a description of valid values.
---@type table<string, { [1]: fun(value: any): boolean, [2]: string }>
local FIELDS = {
  like = {
    function(value)
      return M.find(value) ~= nil
    end,
    "gemini, qwen, llxprt, claude or opencode",
  },
  cmd = { checks.is_command, "a program and its arguments, as a list" },
  args = { checks.strings, "a list of arguments" },
  label = {
    function(value)
      return type(value) == "string" and value:find("%S") ~= nil and not value:find("%c")
    end,
    "a name",
  },
  directory = { is_path, 'a path that begins with "~/" or "/"' },
  settings = { is_path, 'a path that begins with "~/" or "/"' },
  file = {
    function(value)
      return type(value) == "string" and value:find("{port}", 1, true) ~= nil and not value:find("[/%c]")
    end,
    "a file name that contains {port}",
  },
  env = {
    function(value)
      return type(value) == "string" and value:find("^[%u_][%u%d_]*$") ~= nil
    end,
    "a prefix of variable names, in capitals",
  },
}

--- Returns the reason why an entry of the option `clis` is invalid, or nil. The reason continues a sentence that begins
--- with the CLI's name.
---@param name string
---@param cli any
---@return string?
local function problem(name, cli)
  if cli == false then
    return not M.find(name) and "is not a known CLI" or nil
  elseif type(cli) ~= "table" then
    return "must be a table, or false"
  elseif not name:find("^[%w_-]+$") then
    return "is not a valid name: use letters, digits, - and _"
  elseif not M.find(name) and cli.like == nil then
    return ".like is missing: set it to gemini, qwen, llxprt, claude or opencode"
  elseif M.find(name) and (cli.like or name) ~= name then
    return ".like cannot be changed for a known CLI"
  end
  for field, value in vim.spairs(cli) do
    local spec = FIELDS[field]
    if not spec then
      return ("has no field %s; the fields are %s"):format(
        field,
        table.concat(vim.fn.sort(vim.tbl_keys(FIELDS)), ", ")
      )
    elseif not spec[1](value) then
      return (".%s must be %s, not %s"):format(field, spec[2], vim.inspect(value))
    end
  end
end

---@param value any
---@return boolean
function M.check(value)
  return type(value) == "table" and (not vim.islist(value) or #value == 0)
end

--- Separates valid from invalid entries of the option `clis`.
---@param value table<any, any>
---@return table<string, false|table> good
---@return string[] problems One sentence for each invalid CLI.
function M.sort_out(value)
  local good, problems = {}, {}
  for key, cli in pairs(value) do
    local name = tostring(key)
    local what = problem(name, cli)
    if what then
      problems[#problems + 1] = ("option clis.%s %s"):format(name, what):gsub(" %.", ".")
    else
      good[name] = cli
    end
  end
  return good, problems
end

return M
