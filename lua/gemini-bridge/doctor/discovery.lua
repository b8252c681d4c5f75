--- The discovery files, as a CLI finds and chooses them (Gemini CLI 0.61.0, `getConnectionConfigFromFile`).
local M = {}

---@class gemini_bridge.Discovery
---@field path string
---@field pid integer The editor's process.
---@field port integer
---@field mode integer Permission bits.
---@field uid integer Owner.
---@field alive boolean Whether that process exists.
---@field content? { port: integer, workspacePath: string, ideInfo?: { name: string, displayName: string } }

--- Node's `os.tmpdir()` for a process with this environment.
---@param env table<string, string>
---@return string
function M.temporary_directory(env)
  for _, name in ipairs({ "TMPDIR", "TMP", "TEMP" }) do
    if env[name] and env[name] ~= "" then
      return #env[name] > 1 and (env[name]:gsub("/$", "")) or env[name]
    end
  end
  return "/tmp"
end

---@param path string
---@return table?
local function decode(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  local ok, content = pcall(vim.json.decode, text, { luanil = { object = true } })
  return ok and type(content) == "table" and content or nil
end

--- All discovery files in a temporary directory.
---@param temporary string
---@return gemini_bridge.Discovery[]
function M.files(temporary)
  local files = {}
  local directory = vim.fs.joinpath(temporary, "gemini/ide")
  for name in vim.fs.dir(directory) do
    local pid, port = name:match("^gemini%-ide%-server%-(%d+)%-(%d+)%.json$")
    local path = vim.fs.joinpath(directory, name)
    local stat = pid and vim.uv.fs_stat(path)
    if stat then
      local _, _, code = vim.uv.kill(tonumber(pid), 0)
      files[#files + 1] = {
        path = path,
        pid = tonumber(pid),
        port = tonumber(port),
        mode = stat.mode % 512,
        uid = stat.uid,
        alive = code ~= "ESRCH",
        content = decode(path),
      }
    end
  end
  return files
end

---@param path string
---@return string
local function real(path)
  return vim.uv.fs_realpath(path) or vim.fs.normalize(path)
end

--- Whether a directory lies in one of the directories of a `workspacePath`.
---@param workspace string
---@param directory string
---@return boolean
function M.holds(workspace, directory)
  local inner = real(directory)
  return vim.iter(vim.split(workspace, ":", { plain = true, trimempty = true })):any(function(root)
    root = real(root)
    return inner == root or vim.startswith(inner, root == "/" and root or root .. "/")
  end)
end

--- The file that a CLI takes, or what it would complain of.
---@param files gemini_bridge.Discovery[]
---@param cli { ide_pid: integer, cwd: string, port?: string } `port` as its environment gives it.
---@return gemini_bridge.Discovery?
function M.chosen(files, cli)
  files = vim.tbl_filter(function(file)
    return file.content ~= nil and file.uid == vim.uv.getuid()
  end, files)
  table.sort(files, function(a, b)
    local a_named, b_named = a.pid == cli.ide_pid, b.pid == cli.ide_pid
    if a_named ~= b_named then
      return a_named
    elseif a.alive ~= b.alive then
      return a.alive
    end
    return a.pid > b.pid
  end)
  local matching = vim.tbl_filter(function(file)
    return M.holds(file.content.workspacePath or "", cli.cwd)
  end, files)
  local candidates = #matching > 0 and matching or files
  for _, file in ipairs(candidates) do
    if #candidates > 1 and tostring(file.content.port) == cli.port then
      return file
    end
  end
  return candidates[1]
end

return M
