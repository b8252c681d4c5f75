--- Deletes the discovery files of a host that can no longer do so itself.
local status = require("gemini-bridge.bridge.status")

local M = {}

--- A larger file is not from this plugin.
local MAX_SIZE_BYTES = 1000000

--- Whether a file holds a token of this bridge. A file whose name has no process id may belong to another editor.
---@param path string
---@return boolean
local function is_ours(path)
  local found = vim.uv.fs_lstat(path)
  -- Reading a pipe in its place would block forever.
  local file = found and found.type == "file" and found.size <= MAX_SIZE_BYTES and io.open(path, "rb")
  if not file then
    return false
  end
  local text = file:read("*a") or ""
  file:close()
  return vim.iter(pairs(status.get().tokens or {})):any(function(_, token)
    return text:find(token, 1, true) ~= nil
  end)
end

--- Deletes the files. May run twice.
function M.remove()
  for _, path in ipairs(status.get().discoveryFiles or {}) do
    if is_ours(path) then
      vim.uv.fs_unlink(path)
    end
    -- The draft of a host that was killed while writing.
    vim.uv.fs_unlink(vim.fs.joinpath(vim.fs.dirname(path), ("." .. vim.fs.basename(path) .. ".tmp")))
  end
end

return M
