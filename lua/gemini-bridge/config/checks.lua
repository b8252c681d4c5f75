--- Checks values of options. `one_of`, `a` and `integer` return two values: a check, and a description of valid values
--- for messages.
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

--- Returns a check that accepts whole numbers.
---@param at_least integer
function M.integer(at_least)
  return function(value)
    return type(value) == "number" and value % 1 == 0 and value >= at_least
  end,
    ("an integer of at least %d"):format(at_least)
end

---@param value any
---@return boolean
function M.is_command(value)
  return M.strings(value) and (value[1] or "") ~= ""
end

---@param value any
---@return boolean
function M.is_environment(value)
  return type(value) == "table"
    and vim.iter(value):all(function(name, text)
      return type(name) == "string" and type(text) == "string"
    end)
end

---@param value any
---@return boolean
function M.is_key(value)
  return value == false or type(value) == "string" and value ~= ""
end

---@param value any
---@return boolean
function M.is_prompts(value)
  return type(value) == "table"
    and vim.iter(pairs(value)):all(function(name, prompt)
      return type(name) == "string"
        and type(prompt) == "table"
        and type(prompt.description) == "string"
        and type(prompt.text) == "string"
    end)
end

---@param value any
---@return boolean
function M.is_gate(value)
  return type(value) == "boolean"
    or type(value) == "table"
      and vim.iter(value):all(function(cli, on)
        return type(cli) == "string" and type(on) == "boolean"
      end)
end

return M
