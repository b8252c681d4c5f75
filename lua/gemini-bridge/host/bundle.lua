--- Checks that the bundle of the Node part exists and was built from the current sources.
local M = {}

local root = vim.fs
  .normalize(debug.getinfo(1, "S").source:sub(2), { expand_env = false })
  :match("^(.*)/lua/gemini%-bridge/")

--- The bundle, and the stamp: a file with the hash of the bundle's sources.
local bundle = root .. "/dist/gemini-bridge.cjs"
local stamp = root .. "/dist/sources.sha256"

--- Added to the modification time of the stamp, so that the stamp is not older than the sources if the file system
--- rounds times down.
local TIME_PRECISION_S = 0.001

---@alias gemini_bridge.BundleState "missing"|"stale"|"current"

--- The folder of the plugin, and whether the plugin is a release. A release contains the bundle but no sources.
M.root = root
M.is_release = vim.uv.fs_stat(root .. "/src") == nil

--- Returns the content of a file, or "" if the file is missing.
---@param path string
---@return string
function M.read(path)
  local ok, text = pcall(vim.fn.readblob, path)
  return ok and text or ""
end

--- Returns the sources of the bundle, sorted by name. scripts/build.mjs hashes the same files.
---@return string[] paths
local function sources()
  local paths = { root .. "/package-lock.json", root .. "/lua/gemini-bridge/config/profiles.json" }
  for name, kind in vim.fs.dir(root .. "/src", { depth = 10 }) do
    if kind == "file" then
      paths[#paths + 1] = root .. "/src/" .. name
    end
  end
  table.sort(paths)
  return paths
end

--- Returns one hash for several files.
---@param paths string[]
---@return string
function M.hash(paths)
  return vim.fn.sha256(table.concat(vim.tbl_map(function(path)
    return vim.fn.sha256(M.read(path))
  end, paths)))
end

--- Returns the modification time of a file, or 0 if the file is missing.
---@param path string
---@return number seconds
local function written(path)
  local found = vim.uv.fs_stat(path)
  return found and found.mtime.sec + found.mtime.nsec / 1e9 or 0
end

--- Determines the state of the bundle. Hashing the sources takes some milliseconds, so modification times are compared
--- first. Sources may be newer than the stamp but unchanged, for example after a checkout. Then the time of the stamp
--- is updated, to avoid hashing the next time.
---@return gemini_bridge.BundleState
local function look()
  if not vim.uv.fs_stat(bundle) then
    return "missing"
  end
  if M.is_release then
    return "current"
  end
  local paths = sources()
  local newest = math.max(unpack(vim.tbl_map(written, paths)))
  if newest <= written(stamp) then
    return "current"
  elseif M.built() ~= M.hash(paths) then
    return "stale"
  end
  -- A source that is written during this check must stay newer than the stamp. Therefore the stamp gets the time of the
  -- newest source, not the current time.
  vim.uv.fs_utime(stamp, newest + TIME_PRECISION_S, newest + TIME_PRECISION_S)
  return "current"
end

local known ---@type gemini_bridge.BundleState?

--- Returns the state of the bundle. The state is cached until the next iteration of the event loop, because a start
--- reads it twice.
---@return gemini_bridge.BundleState
function M.state()
  if not known then
    known = look()
    vim.schedule(function()
      known = nil
    end)
  end
  return known
end

--- Returns the hash of the sources from which the bundle was built.
---@return string
function M.built()
  return vim.trim(M.read(stamp))
end

--- Returns the reason why the bridge cannot start, and advice for the user.
---@return string? problem
function M.problem()
  local state = M.state()
  if state == "missing" and M.is_release then
    return "dist/gemini-bridge.cjs is missing; install the plugin again"
  elseif state == "missing" then
    return "it is not built yet; run :GeminiBuild"
  elseif state == "stale" then
    return "it was updated but not rebuilt; run :GeminiBuild"
  end
end

return M
