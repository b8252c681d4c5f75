--- Declares an option.
local M = {}

---@class gemini_bridge.Option
---@field [1] string Dotted name.
---@field default any
---@field check fun(value: any): boolean
---@field expects string Description of valid values, for messages and the help.
---@field doc string
---@field sort_out? fun(value: any): any, string[] Returns the usable part of a value, and the problems with the rest.
---@field experimental? true Whether the option may change in any release: see |gemini-bridge-stability|.

---@param name string
---@param default any
---@param doc string
---@param check fun(value: any): boolean
---@param expects string
---@param sort_out? fun(value: any): any, string[]
---@return gemini_bridge.Option
function M.stable(name, default, doc, check, expects, sort_out)
  return { name, default = default, check = check, expects = expects, doc = doc, sort_out = sort_out }
end

---@param name string
---@param default any
---@param doc string
---@param check fun(value: any): boolean
---@param expects string
---@param sort_out? fun(value: any): any, string[]
---@return gemini_bridge.Option
function M.experimental(name, default, doc, check, expects, sort_out)
  local option = M.stable(name, default, doc, check, expects, sort_out)
  option.experimental = true
  return option
end

return M
