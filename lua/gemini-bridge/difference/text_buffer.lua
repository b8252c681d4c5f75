--- Creates a read-only buffer for a text that is not the text of a file, such as an earlier text. The buffer disappears
--- with its last window.
local window = require("gemini-bridge.editor.window")

---@param name? string Name of the buffer. Left out if another buffer has this name.
---@param lines string[]
---@param file? string Path of a file with the same syntax.
---@return integer buf
return function(name, lines, file)
  local buf = window.create_buffer(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  if name then
    pcall(window.set_name, buf, name)
  end
  local options = vim.bo[buf]
  options.modeline, options.modifiable, options.bufhidden = false, false, "wipe"
  options.syntax = file and vim.filetype.match({ filename = file }) or ""
  return buf
end
