-- Generates documentation from the schema of the options: the section of the help, and the LuaCATS types.
-- usage: nvim -l scripts/doc.lua [--check]    --check writes nothing, and fails if the documentation differs

--- Maximum width of lines in the help.
local WIDTH = 78
--- Column in which the text beside a name starts.
local INDENT = 24

local root = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2))))
vim.opt.runtimepath:prepend(root)
---@type gemini_bridge.Option[]
local schema = require("gemini-bridge.config").schema

---@param text string
---@param width integer
---@return string[]
local function wrap(text, width)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if line ~= "" and #line + 1 + #word > width then
      lines[#lines + 1], line = line, word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

---@param option gemini_bridge.Option
---@return string
local function default_of(option)
  return option.default == nil and "none" or vim.inspect(option.default, { newline = " ", indent = "" })
end

--- Returns the entry of an option in the help, with its tag.
---@param option gemini_bridge.Option
---@return string[]
local function help_entry(option)
  local tag = ("*gemini-bridge-option-%s*"):format(option[1])
  local lines = { (" "):rep(WIDTH - #tag) .. tag }
  local expects = option.expects:sub(1, 1):upper() .. option.expects:sub(2)
  local mark = option.experimental and " Experimental." or ""
  local text = wrap(expects .. ". Default: " .. default_of(option) .. "." .. mark, WIDTH - INDENT)
  vim.list_extend(text, wrap(option.doc, WIDTH - INDENT))
  for index, line in ipairs(text) do
    local name = index == 1 and option[1] or ""
    lines[#lines + 1] = name .. (" "):rep(math.max(INDENT - #name, 1)) .. line
  end
  lines[#lines + 1] = ""
  return lines
end

--- Returns the help with new entries for all options. The new entries replace the lines from the first option's tag to
--- the next section.
---@param help string
---@return string
local function with_options(help)
  local lines = vim.split(help, "\n")
  local first, last, in_section
  for number, line in ipairs(lines) do
    if line:find("*gemini-bridge-options*", 1, true) then
      in_section = true
    elseif in_section and line:find("^====") then
      last = number - 1
      break
    elseif in_section and not first and line:find("*gemini-bridge-option-", 1, true) then
      first = number
    end
  end
  assert(last, "the help has no section *gemini-bridge-options*")
  local result = vim.list_slice(lines, 1, (first or last + 1) - 1)
  for _, option in ipairs(schema) do
    vim.list_extend(result, help_entry(option))
  end
  return table.concat(vim.list_extend(result, lines, last + 1), "\n")
end

--- Pairs of a text and a LuaCATS type. An option whose `expects` contains the text has this type. The first match
--- counts.
local NOUNS = {
  { "function", "function" },
  { "table of strings by name", "table<string, string>" },
  { "list of directories", "string[]" },
  { "list", "string[]" },
  { "directory", "string" },
  { "string", "string" },
  { "true, false", "boolean" },
  { "boolean", "boolean" },
  { "key", "string|false" },
  { "integer", "integer" },
  { "number", "number" },
}

--- Derives the LuaCATS type of an option from its `expects`, such as `"a", "b" or a function`.
---@param option gemini_bridge.Option
---@return string
local function type_of(option)
  local types = {}
  for part in vim.gsplit((option.expects:gsub(",? or an? ", "\n")), "\n") do
    local noun = vim.iter(NOUNS):find(function(noun)
      return part:find(noun[1], 1, true) ~= nil
    end)
    if part:find('^"') then
      vim.list_extend(types, vim.split((part:gsub(" or ", ", ")), ", "))
    else
      types[#types + 1] = noun and noun[2] or "any"
    end
  end
  return table.concat(types, "|")
end

--- Generates one class for the table of options, and one for each group in it.
---@return string
local function types()
  local classes, order = { [""] = {} }, { "" }
  local function class_of(group)
    if not classes[group] then
      classes[group] = {}
      order[#order + 1] = group
      local parent, name = group:match("^(.-)%.?([^.]+)$")
      table.insert(class_of(parent), ("---@field %s? gemini_bridge.Config.%s"):format(name, group))
    end
    return classes[group]
  end
  for _, option in ipairs(schema) do
    local group, name = option[1]:match("^(.-)%.?([^.]+)$")
    local doc = option.doc:gsub("|(.-)|", "%1") .. (option.experimental and " Experimental." or "")
    table.insert(class_of(group), ("---@field %s? %s %s"):format(name, type_of(option), doc))
  end
  local lines = {
    "---@meta",
    "-- Written by `make doc` from the options' schema.",
    "-- luacheck: no max line length",
  }
  for _, group in ipairs(order) do
    local name = group == "" and "gemini_bridge.Config" or "gemini_bridge.Config." .. group
    vim.list_extend(lines, { "", "---@class " .. name })
    vim.list_extend(lines, classes[group])
  end
  return table.concat(lines, "\n") .. "\n"
end

---@param path string
---@return string
local function read(path)
  local file = io.open(root .. "/" .. path, "rb")
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return text
end

local outdated = {}
local written = {
  ["doc/gemini-bridge.txt"] = with_options(read("doc/gemini-bridge.txt")),
  ["lua/gemini-bridge/config/types.lua"] = types(),
}
for path, text in vim.spairs(written) do
  if read(path) ~= text and arg[1] == "--check" then
    outdated[#outdated + 1] = path
  elseif read(path) ~= text then
    local file = assert(io.open(root .. "/" .. path, "wb"))
    file:write(text)
    file:close()
    print("wrote " .. path)
  end
end
if #outdated > 0 then
  print("outdated, run `make doc`: " .. table.concat(outdated, ", "))
  os.exit(1)
end
