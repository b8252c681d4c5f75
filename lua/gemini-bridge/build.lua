--- Builds the Node part: installs its packages and bundles it into one file.
local M = {}

--- The oldest Node that runs the bridge.
local MIN_NODE = 20

local root =
  vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))))

--- Each step with what it says to the user, its command, and what to do when it fails.
local steps = {
  {
    says = "installing packages",
    cmd = { "npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund" },
    hint = "npm needs its registry: check the network, a proxy, or `npm config get registry`",
  },
  {
    says = "bundling",
    cmd = { "node", "scripts/build.mjs" },
    hint = "please report this with the output above",
  },
}

--- Why the build cannot run here.
---@return string? problem
local function missing()
  if vim.fn.executable("node") == 0 then
    return ("Node is not on PATH; install Node %d or later"):format(MIN_NODE)
  end
  local version = vim.trim(vim.system({ "node", "--version" }, { text = true }):wait().stdout or "")
  local major = tonumber(version:match("^v(%d+)"))
  if not major or major < MIN_NODE then
    return ("Node is %s; version %d or later is needed"):format(version, MIN_NODE)
  end
  if vim.fn.executable("npm") == 0 then
    return "npm is not on PATH; it comes with Node"
  end
end

---@param output string
local function last_lines(output)
  local lines = vim.split(vim.trim(output), "\n")
  return table.concat(vim.list_slice(lines, math.max(1, #lines - 14)), "\n")
end

--- Builds without blocking. Both functions are called on Neovim's main loop.
---@param progress fun(message: string)
---@param done fun(problem?: string) Nothing on success, else what went wrong and what to do.
function M.run(progress, done)
  local problem = missing()
  if problem then
    return done(problem)
  end
  local function run(index)
    local step = steps[index]
    if not step then
      progress("gemini-bridge: built")
      return done()
    end
    progress(("gemini-bridge: %s (%d of %d)"):format(step.says, index, #steps))
    vim.system(step.cmd, { cwd = root, text = true }, function(result)
      vim.schedule(function()
        if result.code == 0 then
          return run(index + 1)
        end
        local output = last_lines((result.stdout or "") .. (result.stderr or ""))
        done(("%s failed (%s):\n%s\n%s"):format(step.says, table.concat(step.cmd, " "), output, step.hint))
      end)
    end)
  end
  run(1)
end

--- Whether the bundle is there.
---@return boolean
function M.is_built()
  return vim.uv.fs_stat(root .. "/dist/gemini-bridge.cjs") ~= nil
end

return M
