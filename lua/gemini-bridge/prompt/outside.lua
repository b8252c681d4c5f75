--- Finds CLIs that the user started without `:Gemini`: in a |:terminal| of this Neovim, or in a pane of the same tmux.
local disk = require("gemini-bridge.disk.path")
local process = require("gemini-bridge.terminal.process_tree")
local target = require("gemini-bridge.prompt.target")

local M = {}

--- Programs that may run a CLI as a script. Others, such as an editor, may just have a file of that name open.
local INTERPRETERS = { "node", "bun", "deno", "sh", "bash", "python", "python3" }

--- Whether a command line runs a program, directly or by an interpreter: `gemini`, `node --some-flag /usr/bin/gemini`.
---@param words string[]
---@param program string
---@return boolean
local function runs(words, program)
  local function is_program(word)
    return vim.fs.basename(word) == program
  end
  return is_program(words[1])
    or vim.tbl_contains(INTERPRETERS, vim.fs.basename(words[1]))
      and vim.iter(vim.list_slice(words, 2, 4)):any(is_program)
end

---@param table_ table<integer, gemini_bridge.RunningProcess>
---@param program string
---@return table<integer, true> # Process ids of the program and its ancestors.
local function lines_of_descent(table_, program)
  local above = {}
  for pid, entry in pairs(table_) do
    if runs(entry.words, program) then
      while table_[pid] and not above[pid] do
        above[pid] = true
        pid = table_[pid].ppid
      end
    end
  end
  return above
end

---@param above table<integer, true>
---@return gemini_bridge.Target?
local function in_buffer(above)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local ok, pid = pcall(vim.fn.jobpid, vim.bo[buf].channel)
    if ok and vim.bo[buf].buftype == "terminal" and above[pid] then
      local cwd = process.directory_of(pid) or vim.fn.getcwd()
      return target.buffer(buf, cwd)
    end
  end
end

local PANES = table.concat({
  "#{pane_pid}",
  "#{pane_id}",
  "#{window_id}",
  "#{session_id}",
  "#{pane_current_path}",
}, "\t")

--- Whether a CLI in that directory would find this Neovim.
---@param path string
---@return boolean
local function in_workspace(path)
  local roots = vim.list_slice(require("gemini-bridge.bridge.status").get().workspace)
  vim.list_extend(roots, require("gemini-bridge.context.workspace").get().directories)
  return vim.iter(roots):any(function(root)
    return disk.is_below(path, root)
  end)
end

--- Finds the nearest pane with a CLI: in Neovim's own window, else in its session, else anywhere.
---@param running table<string, table<integer, true>> By program.
---@param programs string[]
---@param done fun(found?: gemini_bridge.Target, program?: string)
local function in_tmux(running, programs, done)
  local own = vim.env.TMUX_PANE
  if not vim.env.TMUX or not own then
    return done()
  end
  target.tmux({ "list-panes", "-a", "-F", PANES }, function(output)
    local panes, here = {}, nil
    for line in vim.gsplit(output or "", "\n", { trimempty = true }) do
      local pid, id, window, session, path = unpack(vim.split(line, "\t", { plain = true }))
      local pane = { id = id, window = window, session = session, path = path }
      pane.rank = vim.iter(ipairs(programs)):find(function(_, program)
        return running[program][tonumber(pid)]
      end)
      if id == own then
        here = pane
      elseif pane.rank and in_workspace(path) then
        panes[#panes + 1] = pane
      end
    end
    local function distance(pane)
      return here and (pane.window == here.window and 0 or pane.session == here.session and 1) or 2
    end
    table.sort(panes, function(a, b)
      if distance(a) ~= distance(b) then
        return distance(a) < distance(b)
      end
      return a.rank < b.rank
    end)
    local nearest = panes[1]
    if nearest then
      done(target.pane(nearest.id, nearest.path), programs[nearest.rank])
    else
      done()
    end
  end)
end

--- Looks for a running CLI.
---@param programs string[] Names of the programs, the preferred one first.
---@param done fun(found?: gemini_bridge.Target, program?: string)
function M.find(programs, done)
  process.list(function(table_)
    local running = {}
    for _, program in ipairs(programs) do
      running[program] = lines_of_descent(table_, program)
      local found = in_buffer(running[program])
      if found then
        return done(found, program)
      end
    end
    in_tmux(running, programs, done)
  end)
end

return M
