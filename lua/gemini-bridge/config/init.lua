--- Merges the user's options with the defaults, and reports invalid options.
local M = {}

M.schema = require("gemini-bridge.config.options")

--- Removed options, each with what replaces it.
---@type table<string, string>
local REMOVED = {
  ["changes.generated"] = "lock files and the usual names of generated files are always folded",
  ["changes.keys"] = "use `keys`, or map the <Plug> names of :help gemini-bridge-page",
  ["diff.keys"] = "use `keys`, in which `drop` is `undo` and `undo` is `revert`",
  server = "its limits are constants now",
  send = "the focus stays; :Gemini moves it to the terminal",
  ["terminal.reconnect"] = "a CLI that has lost its connection is always reconnected",
  ["tools.max_items"] = "the limits of the tools are constants now",
  ["tools.max_text"] = "the limits of the tools are constants now",
  ["tools.timeout"] = "the limits of the tools are constants now",
  ["tools.trust"] = "add extension/read-only.toml of the plugin to `policyPaths` in the settings of Gemini CLI",
}

---@type table<string, any>?
local resolved

--- One sentence for each invalid option.
---@type string[]
M.problems = {}

---@param target table
---@param name string
---@param value any
local function assign(target, name, value)
  local groups, key = name:match("^(.-)([^.]*)$")
  for group in groups:gmatch("[^.]+") do
    target[group] = target[group] or {}
    target = target[group]
  end
  target[key] = value
end

---@return table<string, any>
local function defaults()
  local options = {}
  for _, spec in ipairs(M.schema) do
    assign(options, spec[1], vim.deepcopy(spec.default))
  end
  return options
end

--- Returns the edit distance of two names. Adding, removing or replacing a letter counts as one edit, and so does
--- swapping two neighbouring letters.
---@param a string
---@param b string
---@return integer
local function distance(a, b)
  local rows = { [-1] = {}, [0] = {} } ---@type table<integer, table<integer, integer>>
  for j = 0, #b do
    rows[0][j] = j
  end
  for i = 1, #a do
    rows[i] = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local least = math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + cost)
      if j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        least = math.min(least, rows[i - 2][j - 2] + 1)
      end
      rows[i][j] = least
    end
  end
  return rows[#a][#b]
end

--- Returns a hint for an unknown option: the most similar option, if at most a third of the letters after the last dot
--- differ.
---@param name string
---@return string
local function hint(name)
  local best, best_distance = "", math.max(1, math.floor(#name:match("[^.]*$") / 3))
  for _, spec in ipairs(M.schema) do
    local edits = distance(name, spec[1])
    if edits < best_distance or edits == best_distance and best == "" then
      best, best_distance = spec[1], edits
    end
  end
  return best == "" and "see :help gemini-bridge-options" or ("did you mean %s?"):format(best)
end

--- Sets the user's options. Replaces invalid values by the defaults.
---@param opts? table<string, any>
---@return string[] problems One sentence for each invalid option.
function M.set(opts)
  local options, problems, known, groups = defaults(), {}, {}, {}
  for _, spec in ipairs(M.schema) do
    known[spec[1]] = spec
    local group = spec[1]:match("^(.*)%.")
    while group do
      groups[group] = true
      group = group:match("^(.*)%.")
    end
  end
  local function walk(values, prefix)
    for key, value in pairs(values) do
      local name = prefix .. tostring(key)
      local spec = known[name]
      if spec and spec.check(value) then
        local parts = {}
        if spec.sort_out then
          value, parts = spec.sort_out(value)
        end
        assign(options, name, value)
        vim.list_extend(problems, parts)
      elseif spec then
        problems[#problems + 1] = ("option %s must be %s, not %s"):format(
          name,
          spec.expects,
          vim.inspect(value)
        )
      elseif REMOVED[name] then
        problems[#problems + 1] = ("option %s was removed: %s"):format(name, REMOVED[name])
      elseif groups[name] and type(value) == "table" then
        walk(value, name .. ".")
      elseif groups[name] then
        problems[#problems + 1] = ("option %s must be a table"):format(name)
      else
        problems[#problems + 1] = ("unknown option %s, %s"):format(name, hint(name))
      end
    end
  end
  if type(opts) == "table" then
    walk(opts, "")
  elseif opts ~= nil then
    problems[1] = "setup() takes a table"
  end
  -- A misspelled name would leave the gate off without a word.
  for name in pairs(type(options.gate) == "table" and options.gate or {}) do
    if not options.clis[name] and not require("gemini-bridge.config.cli_option").find(name) then
      problems[#problems + 1] = ("option gate: unknown CLI %s"):format(name)
    end
  end
  table.sort(problems)
  resolved, M.problems = options, problems
  return problems
end

--- Returns all options.
---@return table<string, any>
function M.get()
  resolved = resolved or defaults()
  return resolved
end

return M
