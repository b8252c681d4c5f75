--- Holds the options in force: the defaults and the user's options.
local M = {}

M.schema = require("gemini-bridge.config.options")

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

--- Returns the most similar option name, for "did you mean".
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

--- Sets the user's options, without the invalid ones.
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
  resolved, M.problems = options, problems
  return problems
end

--- Returns the options in force.
---@return table<string, any>
function M.get()
  resolved = resolved or defaults()
  return resolved
end

return M
