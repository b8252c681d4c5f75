--- Shows winbars with titles and key hints on the review page and the history page.
local config = require("gemini-bridge.config")
local key_list = require("gemini-bridge.editor.key_list")
local winbar_text = require("gemini-bridge.editor.winbar_text")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Shows a winbar, unless the option `diff.winbar` is off.
---@param win integer
---@param parts gemini_bridge.BarPart[]
function M.show(win, parts)
  if config.get().diff.winbar and vim.api.nvim_win_is_valid(win) then
    -- Ignores the error for a window with a single line, which has no room for a winbar.
    pcall(window.set, win, { winbar = winbar_text.fit(parts, vim.api.nvim_win_get_width(win)) })
  end
end

--- Returns key hints as a part of a winbar. Leaves out keys that the user has disabled.
---@param hints [string, string][] Pairs of a name in the option `changes.keys` and the word to show.
---@param rank? integer Rank of the part, see |gemini_bridge.BarPart|. Default: 1.
---@return gemini_bridge.BarPart
function M.hints(hints, rank)
  local keys, words = config.get().changes.keys, {}
  for _, hint in ipairs(hints) do
    local key = keys[hint[1]]
    if key then
      words[#words + 1] = ("%s %s"):format(key_list.name(key), hint[2])
    end
  end
  return { text = #words > 0 and " · " .. table.concat(words, ", ") or "", rank = rank or 1 }
end

return M
