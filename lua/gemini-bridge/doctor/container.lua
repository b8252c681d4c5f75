--- Containers as Gemini CLI sees them (0.61.0, `getIdeServerHost`): inside of one it dials `host.docker.internal`
--- instead of 127.0.0.1.
local M = {}

--- Any of these variables makes the CLI dial 127.0.0.1 all the same.
M.DIAL_LOOPBACK = { "SSH_CONNECTION", "REMOTE_CONTAINERS", "VSCODE_REMOTE_CONTAINERS_SESSION" }

local MARKS = { "/.dockerenv", "/run/.containerenv" }

--- Whether this machine looks like a container to the CLI.
---@return boolean
function M.is_inside()
  return vim.iter(MARKS):any(function(path)
    return vim.uv.fs_stat(path) ~= nil
  end)
end

return M
