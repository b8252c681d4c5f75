--- The discovery files of a host that can no longer remove them itself.
local status = require("gemini-bridge.bridge.status")

local M = {}

--- More than any of ours holds (bytes).
local MAX_SIZE = 1000000

--- Whether a file holds a token of the bridge's: where a name has no process in it, it may be another editor's.
---@param path string
---@return boolean
local function is_ours(path)
  local found = vim.uv.fs_lstat(path)
  -- A pipe in its place would block for ever.
  local file = found and found.type == "file" and found.size <= MAX_SIZE and io.open(path, "rb")
  if not file then
    return false
  end
  local text = file:read("*a") or ""
  file:close()
  return vim.iter(pairs(status.get().tokens or {})):any(function(_, token)
    return text:find(token, 1, true) ~= nil
  end)
end

--- Deletes them. May run twice.
function M.remove()
  for _, path in ipairs(status.get().discoveryFiles or {}) do
    if is_ours(path) then
      vim.uv.fs_unlink(path)
    end
    -- What a host that was killed in the midst of writing leaves beside it.
    vim.uv.fs_unlink(vim.fs.joinpath(vim.fs.dirname(path), ("." .. vim.fs.basename(path) .. ".tmp")))
  end
end

return M
