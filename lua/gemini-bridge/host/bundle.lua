--- The bundled Node part on disk: whether it is there, and belongs to the plugin around it.
local M = {}

local root = vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)):match("^(.*)/lua/gemini%-bridge/")

--- The one file that is run; what it was bundled from, by its hash.
local bundle = root .. "/dist/gemini-bridge.cjs"
local stamp = root .. "/dist/sources.sha256"

--- A time is set to the microsecond, and compared as a number with fewer digits than it has (seconds).
local PRECISION = 0.001

---@alias gemini_bridge.BundleState "missing"|"stale"|"current"

--- Where the plugin is. A release of it holds no sources, but the bundle that was made of them.
M.root = root
M.is_release = vim.uv.fs_stat(root .. "/src") == nil

--- The content of a file, empty when there is none.
---@param path string
---@return string
function M.read(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return text
end

--- All that goes into the bundle, sorted by name. scripts/build.mjs hashes the same files.
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

--- One hash of several files.
---@param paths string[]
---@return string
function M.hash(paths)
  return vim.fn.sha256(table.concat(vim.tbl_map(function(path)
    return vim.fn.sha256(M.read(path))
  end, paths)))
end

--- When a file was written, none at the beginning of time.
---@param path string
---@return number seconds
local function written(path)
  local found = vim.uv.fs_stat(path)
  return found and found.mtime.sec + found.mtime.nsec / 1e9 or 0
end

--- Hashing the sources takes some milliseconds, so that is done only when one of them is newer than the stamp, and
--- once: a copy or a checkout makes them newer, and not others. Where the stamp cannot be written, they are hashed each
--- time.
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
  -- Not the time that it is now: a source that is written meanwhile is to be newer.
  vim.uv.fs_utime(stamp, newest + PRECISION, newest + PRECISION)
  return "current"
end

local known ---@type gemini_bridge.BundleState?

--- Whether the bundle is there and belongs to these sources. A start asks twice: what was found holds until the event
--- loop's next turn.
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

--- What the bundle was built from, by its hash.
---@return string
function M.built()
  return vim.trim(M.read(stamp))
end

--- Why the bridge cannot be started as it is, and what to do.
---@return string? problem
function M.problem()
  local state = M.state()
  if state == "missing" and M.is_release then
    return "dist/gemini-bridge.cjs is missing; install this release again"
  elseif state == "missing" then
    return "it is not built yet; run :GeminiBuild"
  elseif state == "stale" then
    return "it was updated, but not built again; run :GeminiBuild"
  end
end

return M
