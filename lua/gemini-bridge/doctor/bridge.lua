--- What the bridge itself needs and does: programs, build, host, listener, discovery file, environment.
local build = require("gemini-bridge.host.build")
local discovery = require("gemini-bridge.doctor.discovery")
local processes = require("gemini-bridge.doctor.processes")

local M = {}

--- Node says its version in 30 ms (milliseconds).
local NODE_TIMEOUT = 10000
--- The listener answers in a few milliseconds (milliseconds).
local TIMEOUT = 2000

--- The first line of what the listener answers to a request without a token.
---@param port integer
---@return string? line
local function answer(port)
  local socket = assert(vim.uv.new_tcp())
  local text, ended = "", false
  socket:connect("127.0.0.1", port, function(problem)
    if problem then
      ended = true
      return
    end
    socket:write(("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n"):format(port))
    socket:read_start(function(_, chunk)
      text = text .. (chunk or "")
      ended = chunk == nil or text:find("\r\n", 1, true) ~= nil
    end)
  end)
  vim.wait(TIMEOUT, function()
    return ended
  end, 5)
  socket:close()
  return text:match("^(HTTP/[^\r\n]+)")
end

--- Neovim, Node and the build.
function M.check_installation()
  local version = vim.version()
  local text = ("Neovim %d.%d.%d"):format(version.major, version.minor, version.patch)
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok(text)
  else
    vim.health.error(text .. " is too old", "install Neovim 0.10 or later")
  end
  local config = require("gemini-bridge.config").get()
  local answered, node, problem = false, nil, nil
  build.node_version(config.node, function(...)
    answered, node, problem = true, ...
  end)
  vim.wait(NODE_TIMEOUT, function()
    return answered
  end, 5)
  if node then
    vim.health.ok("Node " .. node)
  else
    vim.health.error(problem or "Node does not answer", "install Node 20 or later")
  end
  problem = build.problem()
  if problem then
    vim.health.error("The Node part: " .. problem, ":GeminiBuild")
  else
    vim.health.ok("The Node part is built")
  end
  if config.host == "shared" and vim.fn.exists("*GeminiBridgeStart") == 0 then
    vim.health.error('host = "shared", but the remote plugin is not registered', ":UpdateRemotePlugins")
  end
  if vim.fn.executable("ps") == 0 then
    vim.health.warn("ps is missing: without it a CLI does not find its editor's process", "install procps")
  end
end

---@param file gemini_bridge.Discovery
---@param bridge gemini_bridge.HostStatus
local function check_file(file, bridge)
  local wrong = false
  if file.mode ~= 384 then -- 0600
    wrong = true
    vim.health.error(
      ("%s can be read by others (mode %o)"):format(file.path, file.mode),
      "chmod 600 " .. file.path
    )
  end
  if file.uid ~= vim.uv.getuid() then
    wrong = true
    vim.health.error(file.path .. " belongs to another user: CLIs pass it over", ":GeminiRestart")
  end
  if not file.content or file.content.port ~= bridge.port then
    wrong = true
    vim.health.error(file.path .. " does not hold what the bridge wrote", ":GeminiRestart")
  end
  if not wrong then
    vim.health.ok("The discovery file is " .. file.path)
  end
  local wanted = processes.above(vim.fn.getpid())
  if file.pid == wanted then
    vim.health.ok(("It names process %d, which a CLI in :terminal takes for its editor"):format(wanted))
  else
    vim.health.warn(
      ("It names process %d; a CLI in :terminal takes %d for its editor"):format(file.pid, wanted),
      "use a CLI newer than 0.30, which also finds it by its directory"
    )
  end
end

---@param bridge gemini_bridge.HostStatus
local function check_environment(bridge)
  if vim.env.GEMINI_CLI_IDE_SERVER_PORT == tostring(bridge.port) then
    vim.health.ok("Terminals opened now get GEMINI_CLI_IDE_*")
  else
    vim.health.error(
      ("GEMINI_CLI_IDE_SERVER_PORT is %s, the bridge's port is %d"):format(
        vim.env.GEMINI_CLI_IDE_SERVER_PORT or "not set",
        bridge.port
      ),
      ":GeminiRestart"
    )
  end
end

--- What lies in the directory beside the bridge's own file.
---@param files gemini_bridge.Discovery[]
---@param bridge gemini_bridge.HostStatus
local function check_others(files, bridge)
  for _, file in ipairs(files) do
    if file.port == bridge.port then
      goto continue
    end
    if not file.alive then
      vim.health.warn(
        ("%s is a leftover: process %d is gone"):format(file.path, file.pid),
        "rm " .. file.path
      )
    else
      vim.health.info(("Another editor is announced: process %d, port %d"):format(file.pid, file.port))
    end
    ::continue::
  end
end

--- The running bridge, from the process to what CLIs find of it.
---@param bridge gemini_bridge.HostStatus
function M.check(bridge)
  local files = discovery.files(discovery.temporary_directory(vim.fn.environ()))
  if bridge.state ~= "running" then
    vim.health.warn(
      ("The bridge is %s%s"):format(bridge.state, bridge.error and ": " .. bridge.error or ""),
      ":GeminiStart"
    )
    return check_others(files, bridge)
  end
  if vim.uv.kill(bridge.pid, 0) == 0 then
    vim.health.ok(("The host is process %d"):format(bridge.pid))
  else
    vim.health.error(("The host, process %d, is gone"):format(bridge.pid), ":GeminiRestart")
  end
  local line = answer(bridge.port)
  if line and line:find(" 401", 1, true) then
    vim.health.ok(("It answers on 127.0.0.1:%d"):format(bridge.port))
  else
    vim.health.error(
      ("127.0.0.1:%d answers %s"):format(bridge.port, line or "nothing"),
      ":GeminiRestart, then see :GeminiLog"
    )
  end
  local own = vim
    .iter(discovery.files(vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(bridge.discoveryFile)))))
    :find(function(file)
      return file.path == bridge.discoveryFile
    end)
  if own then
    check_file(own, bridge)
  else
    vim.health.error(bridge.discoveryFile .. " is gone: no CLI finds this Neovim", ":GeminiRestart")
  end
  check_environment(bridge)
  vim.health.info("Workspace: " .. table.concat(bridge.workspace, ", "))
  for _, client in ipairs(bridge.clients) do
    local name = client.name == "streamable-http-client" and "Gemini CLI" or client.name
    vim.health.ok(("Connected: %s %s"):format(name, client.version))
  end
  check_others(files, bridge)
end

return M
