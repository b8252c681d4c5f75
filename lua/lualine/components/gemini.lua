--- Shows the state of the bridge in lualine: `sections = { lualine_x = { "gemini" } }`.
local Component = require("lualine.component"):extend()

---@return string
function Component.update_status()
  return require("gemini-bridge").statusline()
end

return Component
