--- Checks the arguments of the public functions.
local checks = require("gemini-bridge.config.checks")

---@param value any
local function is_range(value)
  return type(value) == "table"
    and #value == 2
    and vim.iter(value):all(function(line)
      return type(line) == "number" and line % 1 == 0 and line >= 1
    end)
end

---@param check fun(value: any): boolean
---@param expected string
local function kind(check, expected)
  return { check = check, expected = expected }
end

local TEXT, SWITCH = kind(checks.a("string")), kind(checks.a("boolean"))
local TEXTS = kind(checks.strings, "a list of strings")
local LINES = kind(is_range, "two line numbers")
local SOURCE = kind(checks.one_of("here", "diagnostics", "quickfix", "output", "notes", "nothing"))
local DECISION = { path = TEXT, force = SWITCH }
local CHANGE = { path = TEXT, file = SWITCH, all = SWITCH, turn = SWITCH, force = SWITCH, lines = LINES }

--- The known fields of the argument of each function.
local FIELDS = {
  accept = DECISION,
  reject = { path = TEXT, reason = TEXT },
  review = DECISION,
  keep = CHANGE,
  undo = CHANGE,
  terminal = { cli = TEXT, name = TEXT, args = TEXTS, new = SWITCH, focus = SWITCH },
  send = { text = TEXT, source = SOURCE, files = TEXTS, lines = LINES, submit = SWITCH },
}

--- Returns the argument of a public function, or an empty table for nil. If the argument is invalid, raises an error
--- that names the line of the caller. Ignores unknown fields.
---@generic T: table
---@param name string Name of the public function.
---@param opts? T
---@return T
return function(name, opts)
  if opts ~= nil and type(opts) ~= "table" then
    error(("gemini-bridge: %s() takes a table, not %s"):format(name, vim.inspect(opts)), 3)
  end
  for field, expected in vim.spairs(FIELDS[name]) do
    local value = opts and opts[field]
    if value ~= nil and not expected.check(value) then
      local text = "gemini-bridge: %s() expects %s as %s, not %s"
      error(text:format(name, expected.expected, field, vim.inspect(value)), 3)
    end
  end
  return opts or {}
end
