--- Shows the state of the bridge in lualine: `sections = { lualine_x = { "gemini" } }`.
local Component = require("lualine.component"):extend()

--- Returns the text as a part of 'statusline', in which "%{%…%}" in the name of a client would be executed.
---@return string
function Component.update_status()
  return (require("gemini-bridge").statusline():gsub("%%", "%%%%"))
end

return Component
