--- Groups changes or history entries by turn.

---@class gemini_bridge.OfTurn
---@field cli string
---@field turn number Start of the turn (Unix milliseconds). 0 if unknown.
---@field prompt string Prompt of the turn. Empty if unknown.
---@field at? integer Time to show if the start is unknown (Unix seconds).

---@class gemini_bridge.TurnGroup
---@field key string Identifies the turn.
---@field name string Title: the prompt, or the CLI and the time. Has the name of the CLI if several CLIs are listed.
---@field items gemini_bridge.OfTurn[]

---@param newest gemini_bridge.OfTurn
---@param has_several boolean True if several CLIs are listed.
---@return string
local function title(newest, has_several)
  local prompt = vim.trim((newest.prompt:gsub("%s+", " ")))
  if prompt == "" then
    local began = newest.turn > 0 and math.floor(newest.turn / 1000) or newest.at
    return ("%s, %s"):format(newest.cli, os.date("%H:%M", began))
  end
  return has_several and ("%s: %s"):format(newest.cli, prompt) or prompt
end

---@param items gemini_bridge.OfTurn[]
---@return gemini_bridge.TurnGroup[] # In the order of the first item of each turn.
return function(items)
  local groups, by_key, clis = {}, {}, {}
  for _, item in ipairs(items) do
    local key = ("%s %.0f"):format(item.cli, item.turn)
    if not by_key[key] then
      by_key[key] = { key = key, items = {} }
      groups[#groups + 1] = by_key[key]
    end
    table.insert(by_key[key].items, item)
    clis[item.cli] = true
  end
  for _, group in ipairs(groups) do
    group.name = title(group.items[1], vim.tbl_count(clis) > 1)
  end
  return groups
end
