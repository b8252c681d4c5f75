--- Builds the Node part of the plugin: installs its packages, and bundles the sources into one file.
local M = {}

--- Oldest supported major version of Node.
M.MIN_NODE = 20

--- Advice if Node is missing or too old.
M.NODE_ADVICE = ("install Node %d or later, or set the option node"):format(M.MIN_NODE)

--- Timeout for `node --version`. The wrapper of a version manager may hang.
local VERSION_TIMEOUT_MS = 10000

-- Loads the module by its path, because the plugin is not in 'runtimepath' during its installation.
local directory =
  vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2), { expand_env = false }))
local bundle = dofile(directory .. "/bundle.lua")
local root = bundle.root

--- File with the hash of package-lock.json at the time when the packages were installed.
local packages_stamp = root .. "/node_modules/.gemini-bridge.sha256"

--- True if a build is running. Two concurrent runs of `npm ci` in one folder would interfere.
local running = false

---@param node string
---@return string # The directory of a Node program, which usually contains its npm.
local function beside(node)
  return vim.fs.dirname(vim.fn.exepath(node))
end

--- Returns the reason why packages cannot be installed, and advice for the user.
---@param node string The Node program.
---@return string? problem
function M.npm_problem(node)
  if vim.fn.executable("npm") == 0 and vim.fn.executable(beside(node) .. "/npm") == 0 then
    return "npm is not on PATH; install it with Node, or as the package npm of your system"
  end
end

--- Determines the version of a Node program.
---@param node string
---@param answer fun(version?: string, problem?: string) Called on Neovim's main loop with a version such as "20.20.2".
---If Node is missing or too old, called with a problem, for which `NODE_ADVICE` is the advice.
function M.node_version(node, answer)
  if vim.fn.executable(node) == 0 then
    return answer(nil, node .. " is not on PATH")
  end
  local options = { text = true, timeout = VERSION_TIMEOUT_MS }
  vim.system({ node, "--version" }, options, function(result)
    local version = (result.stdout or ""):match("^v(%d+%.%d+%.%d+)")
    vim.schedule(function()
      if not version then
        -- The wrapper of a version manager says here which version is missing.
        local reason = (result.stderr or ""):match("%S[^\n]*") or "there was no answer"
        answer(nil, ("`%s --version` printed no version: %s"):format(node, reason))
      elseif tonumber(version:match("^%d+")) < M.MIN_NODE then
        answer(nil, ("%s is Node %s, which is too old"):format(vim.fn.exepath(node), version))
      else
        answer(version)
      end
    end)
  end)
end

--- Returns advice for an error code in the output of npm.
---@param output string
local function npm_hint(output)
  local code = output:match("npm error code ([%u_]+)") or ""
  if vim.list_contains({ "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT" }, code) then
    return "npm cannot reach its registry: check the network and, behind a proxy, `npm config get proxy`"
  elseif code:find("SELF_SIGNED", 1, true) or code:find("^UNABLE_TO_") then
    return "npm does not trust its registry's certificate: set NODE_EXTRA_CA_CERTS to that of your proxy, "
      .. "then restart Neovim"
  elseif code == "EACCES" or code == "EPERM" then
    return ("make %s and npm's cache writable"):format(root)
  elseif code == "ENOSPC" then
    return "free some disk space"
  end
  return "see npm's output above"
end

--- Returns the steps of a build. Each step has a progress message, a command, and advice for a failure.
---@param node string
local function steps(node)
  local list = {}
  -- In a developer's checkout, the packages for the build are already installed, and `npm ci --omit=dev` would remove
  -- the packages for development.
  local for_developers = vim.uv.fs_stat(root .. "/node_modules/tap") ~= nil
  if not for_developers and bundle.read(packages_stamp) ~= bundle.hash({ root .. "/package-lock.json" }) then
    list[1] = {
      step = "installing packages",
      -- stylua: ignore
      cmd = {
        "npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
        "--fetch-retries=2", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000",
      },
      hint = npm_hint,
      after = function()
        vim.fn.writefile({ bundle.hash({ root .. "/package-lock.json" }) }, packages_stamp, "b")
      end,
    }
  end
  list[#list + 1] = {
    step = "bundling",
    cmd = { node, "scripts/build.mjs" },
    hint = function()
      return "please report this with the output above"
    end,
  }
  return list
end

--- Returns the end of a program's output. The end usually contains the reason for a failure.
---@param output string
local function last_lines(output)
  local lines = vim.split(vim.trim(output), "\n")
  return table.concat(vim.list_slice(lines, math.max(1, #lines - 14)), "\n")
end

--- Runs the steps one after the other.
---@param list table[]
---@param path string PATH for npm, which must find Node.
---@param progress fun(message: string)
---@param done fun(problem?: string)
local function run_steps(list, path, progress, done)
  local function run(index)
    local this = list[index]
    if not this then
      progress("The build is complete")
      return done()
    end
    progress(("Build step %d of %d: %s"):format(index, #list, this.step))
    local options = { cwd = root, text = true, env = { PATH = path } }
    local ok, problem = pcall(vim.system, this.cmd, options, function(result)
      vim.schedule(function()
        if result.code == 0 then
          if this.after then
            this.after()
          end
          return run(index + 1)
        end
        local output = (result.stdout or "") .. (result.stderr or "")
        local command = table.concat(this.cmd, " ", 1, 2)
        done(("%s failed (%s):\n%s\n%s"):format(this.step, command, last_lines(output), this.hint(output)))
      end)
    end)
    if not ok then
      done(("%s failed: %s"):format(this.step, problem))
    end
  end
  run(1)
end

--- Starts a build and returns immediately, because lazy.nvim must not be blocked. Calls `progress` and `done` on
--- Neovim's main loop.
---@param progress fun(message: string)
---@param done fun(problem?: string) Called with nil on success, otherwise with a problem and advice for the user.
---@param node? string The Node program. Default: "node".
function M.run(progress, done, node)
  node = node or "node"
  if running then
    return done("another build is running; wait until it has ended")
  elseif bundle.is_release then
    progress("There is nothing to build: this is a release")
    return done(bundle.problem())
  end
  running = true
  local function finish(problem)
    running = false
    done(problem)
  end
  M.node_version(node, function(_, problem)
    problem = problem and problem .. "; " .. M.NODE_ADVICE or M.npm_problem(node)
    if problem then
      return finish(problem)
    end
    run_steps(steps(node), beside(node) .. ":" .. vim.env.PATH, progress, finish)
  end)
end

return M
