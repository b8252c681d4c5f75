--- Options: one schema gives the defaults, the validation and the reference in the help.
local M = {}

---@class gemini_bridge.Option
---@field [1] string Dotted name.
---@field default any
---@field check fun(value: any): boolean
---@field expects string What a valid value is, for messages and the help.
---@field doc string

---@param ... string
local function one_of(...)
  local choices = { ... }
  return function(value)
    return vim.tbl_contains(choices, value)
  end,
    '"' .. table.concat(choices, '", "') .. '"'
end

---@param kind type
---@param noun? string
local function a(kind, noun)
  return function(value)
    return type(value) == kind
  end, noun or ("a " .. kind)
end

---@param value any
local function strings(value)
  return type(value) == "table"
    and vim.islist(value)
    and vim.iter(value):all(function(item)
      return type(item) == "string"
    end)
end

---@param ... fun(value: any): boolean
local function any(...)
  local checks = { ... }
  return function(value)
    return vim.iter(checks):any(function(check)
      return check(value)
    end)
  end
end

---@param at_least integer
local function integer(at_least)
  return function(value)
    return type(value) == "number" and value % 1 == 0 and value >= at_least
  end,
    ("an integer of at least %d"):format(at_least)
end

---@param name string
---@param default any
---@param check fun(value: any): boolean
---@param expects string
---@param doc string
---@return gemini_bridge.Option
local function option(name, default, doc, check, expects)
  return { name, default = default, check = check, expects = expects, doc = doc }
end

---@type gemini_bridge.Option[]
M.schema = {
  option(
    "autostart",
    false,
    "Start the bridge as soon as Neovim has started, instead of with |:GeminiStart|.",
    a("boolean")
  ),
  option(
    "host",
    "private",
    "Where the Node part runs: a process of its own, or the standard Node host, after |:UpdateRemotePlugins|.",
    one_of("private", "shared")
  ),
  option("node", "node", "The Node program (version 20 or later) that runs the private host.", a("string")),
  option(
    "server.max_sessions",
    256,
    "How many CLIs can be connected at once; one more is told to try again later.",
    integer(1)
  ),
  option(
    "server.grace",
    30000,
    "How long a CLI whose connection broke may take to come back (milliseconds). Then its reviews close.",
    integer(0)
  ),
  option(
    "server.body_limit",
    64 * 1024 * 1024,
    "The largest request that is read, and so the largest proposal (bytes).",
    integer(1024)
  ),
  option("log.level", "info", "How much goes into the log file.", one_of("debug", "info", "warn", "error")),
  option(
    "context.exclude",
    {
      ".env*",
      "*.pem",
      "*.key",
      "*.p12",
      "*.pfx",
      "*.ppk",
      "id_rsa",
      "id_dsa",
      "id_ecdsa*",
      "id_ed25519*",
      "*.kdbx",
    },
    "Files of which neither name nor text is shared: patterns as in a `.gitignore`. A list replaces the default.",
    strings,
    "a list of patterns"
  ),
  option(
    "workspace",
    {},
    "Directories that are open beside Neovim's current ones.",
    any(strings, a("function")),
    "a list of directories, or a function that returns one"
  ),
  option(
    "trust",
    nil,
    "Whether the CLI may trust the workspace. Unset, the CLI's own folder trust decides.",
    any(a("boolean"), a("function")),
    "true, false, or a function of the list of directories"
  ),
  option("diff.layout", "auto", "How a review is shown.", one_of("auto", "vertical", "horizontal", "tab")),
}

---@type table<string, any>?
local resolved

---@param target table
---@param name string
---@param value any
local function assign(target, name, value)
  local keys = vim.split(name, ".", { plain = true })
  for i = 1, #keys - 1 do
    target[keys[i]] = target[keys[i]] or {}
    target = target[keys[i]]
  end
  target[keys[#keys]] = value
end

---@return table<string, any>
local function defaults()
  local options = {}
  for _, spec in ipairs(M.schema) do
    assign(options, spec[1], vim.deepcopy(spec.default))
  end
  return options
end

--- The known name that takes the fewest edits to reach, for "did you mean".
---@param name string
---@return string
local function nearest(name)
  local best, best_distance = "", math.huge
  for _, spec in ipairs(M.schema) do
    local candidate = spec[1]
    local previous = {}
    for j = 0, #candidate do
      previous[j] = j
    end
    for i = 1, #name do
      local row = { [0] = i }
      for j = 1, #candidate do
        local cost = name:byte(i) == candidate:byte(j) and 0 or 1
        row[j] = math.min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + cost)
      end
      previous = row
    end
    if previous[#candidate] < best_distance then
      best, best_distance = candidate, previous[#candidate]
    end
  end
  return best
end

--- Takes the user's options. A wrong one is left out, the others count.
---@param opts? table<string, any>
---@return string[] problems One sentence for each option that was left out.
function M.set(opts)
  local options, problems, known, groups = defaults(), {}, {}, {}
  for _, spec in ipairs(M.schema) do
    known[spec[1]] = spec
    local group = spec[1]:match("^(.*)%.")
    if group then
      groups[group] = true
    end
  end
  local function walk(values, prefix)
    for key, value in pairs(values) do
      local name = prefix .. tostring(key)
      local spec = known[name]
      if spec and spec.check(value) then
        assign(options, name, value)
      elseif spec then
        problems[#problems + 1] = ("option %s must be %s, not %s"):format(
          name,
          spec.expects,
          vim.inspect(value)
        )
      elseif groups[name] and type(value) == "table" then
        walk(value, name .. ".")
      elseif groups[name] then
        problems[#problems + 1] = ("option %s must be a table"):format(name)
      else
        problems[#problems + 1] = ("unknown option %s, did you mean %s?"):format(name, nearest(name))
      end
    end
  end
  if type(opts) == "table" then
    walk(opts, "")
  elseif opts ~= nil then
    problems[1] = "setup() takes a table"
  end
  table.sort(problems)
  resolved = options
  return problems
end

--- The options in force.
---@return table<string, any>
function M.get()
  resolved = resolved or defaults()
  return resolved
end

M.integer = integer

return M
