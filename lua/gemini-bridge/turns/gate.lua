--- The gate: while it is on, a CLI asks before each edit, in every approval mode. The host goes by what stands here.
local channel = require("gemini-bridge.bridge.channel")
local config = require("gemini-bridge.config")

local M = {}

---@class gemini_bridge.Gate
---@field all boolean
---@field clis table<string, boolean> For some by name, over `all`.

--- What the user has said since Neovim's start, over the option.
local said ---@type gemini_bridge.Gate?

--- What holds now.
---@return gemini_bridge.Gate
function M.get()
  if said then
    return said
  end
  local option = config.get().gate
  local is_table = type(option) == "table"
  return { all = option == true, clis = is_table and vim.deepcopy(option) or vim.empty_dict() }
end

---@param cli? string Without one, whether it is on for those that are not named.
---@return boolean
function M.is_on(cli)
  local now = M.get()
  local own = now.clis[cli or ""]
  if own == nil then
    return now.all
  end
  return own
end

--- Opens or closes it.
---@param on boolean
---@param cli? string Only for this one.
function M.set(on, cli)
  local now = vim.deepcopy(M.get())
  if cli then
    now.clis[cli] = on
  else
    now = { all = on, clis = vim.empty_dict() }
  end
  said = now
  channel.notify("gate", now)
  vim.cmd.redrawstatus({ bang = true })
end

--- A few words on where it is on, empty where it is off.
---@return string
function M.text()
  local now = M.get()
  if now.all then
    return "gate on"
  end
  local names = vim.tbl_filter(M.is_on, vim.tbl_keys(now.clis))
  table.sort(names)
  return #names == 0 and "" or "gate on for " .. table.concat(names, ", ")
end

return M
