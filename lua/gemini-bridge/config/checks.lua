--- Checks values of options. `one_of` and `a` return two values: a check, and a description of valid values for
--- messages.
local M = {}

--- Returns a check that accepts only the given words.
---@param ... string
function M.one_of(...)
  local choices = { ... }
  return function(value)
    return vim.tbl_contains(choices, value)
  end,
    '"' .. table.concat(choices, '", "') .. '"'
end

--- Returns a check that accepts values of a Lua type.
---@param kind type
function M.a(kind)
  return function(value)
    return type(value) == kind
  end, "a " .. kind
end

---@param value any
function M.strings(value)
  return type(value) == "table"
    and vim.islist(value)
    and vim.iter(value):all(function(item)
      return type(item) == "string"
    end)
end

--- Returns a check that accepts a value if at least one of the given checks accepts the value.
---@param ... fun(value: any): boolean
function M.any(...)
  local checks = { ... }
  return function(value)
    return vim.iter(checks):any(function(check)
      return check(value)
    end)
  end
end

---@param value any
---@return boolean
function M.is_command(value)
  return M.strings(value) and (value[1] or "") ~= ""
end

--- Returns a check that accepts a table with string keys if the check accepts all its values.
---@param check fun(value: any): boolean
---@return fun(value: any): boolean
local function map_of(check)
  return function(value)
    return type(value) == "table"
      and vim.iter(pairs(value)):all(function(key, item)
        return type(key) == "string" and check(item)
      end)
  end
end

M.is_environment = map_of(M.a("string"))

---@param value any
---@return boolean
function M.is_key(value)
  return value == false or type(value) == "string" and value ~= ""
end

M.is_prompts = map_of(function(prompt)
  return type(prompt) == "table" and type(prompt.description) == "string" and type(prompt.text) == "string"
end)

M.is_gate = M.any(M.a("boolean"), map_of(M.a("boolean")))

--- Replaces an invalid value of the option `context.share` by false: a misspelled value must not share anything.
---@param value any
---@return boolean|"ask"
---@return string[] problems
function M.sort_out_share(value)
  if type(value) == "boolean" or value == "ask" then
    return value, {}
  end
  local text = 'option context.share must be "ask" or a boolean, not %s: nothing is shared'
  return false, { text:format(vim.inspect(value)) }
end

--- Names of the tools in src/model/tools.
local TOOLS = {
  "diagnostics",
  "symbols",
  "workspace_symbols",
  "definition",
  "references",
  "implementations",
  "hover",
  "buffers",
  "read_buffer",
  "selection",
  "open_file",
  "quickfix",
  "rename",
  "code_actions",
  "apply_code_action",
  "format",
}

--- Separates names of existing tools from unknown names, for the option `tools.offered`.
---@param names string[]
---@return string[] known
---@return string[] problems
function M.sort_out_tools(names)
  local known, unknown = {}, {}
  for _, name in ipairs(names) do
    table.insert(vim.list_contains(TOOLS, name) and known or unknown, name)
  end
  if #unknown == 0 then
    return known, {}
  end
  local text = "option tools.offered: unknown %s. Known: %s"
  return known, { text:format(table.concat(unknown, ", "), table.concat(TOOLS, ", ")) }
end

return M
