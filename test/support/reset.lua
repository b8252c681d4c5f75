--- Resets a Neovim between two cases of a test file: see reset.ts.
local M = {}

--- Functions that a case may replace, by the name of their table.
local function tables()
  local found = { _G = _G, vim = vim, loaded = package.loaded, preload = package.preload, os = os, io = io }
  for _, name in ipairs({ "api", "fn", "ui", "uv" }) do
    found["vim." .. name] = vim[name]
  end
  return found
end

--- Calls a function for the name and scope of each option, except options that change by themselves. Scope "local":
--- only options of a window.
---@param act fun(name: string, scope: "global"|"local")
local function each_option(act)
  for name, info in pairs(vim.api.nvim_get_all_options_info()) do
    if name ~= "scroll" and name ~= "window" then
      act(name, "global")
      if info.scope == "win" or info.global_local then
        act(name, "local")
      end
    end
  end
end

local MODES = { "n", "x", "s", "o", "i", "c", "t" }

--- Global mappings, except those of the plugin.
local function mappings()
  local found = {}
  for _, mode in ipairs(MODES) do
    for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do
      if not map.lhs:find("^<Plug>%([gG]emini") then
        found[mode .. map.lhs] = { mode = mode, lhs = map.lhs, map = map }
      end
    end
  end
  return found
end

--- Name of an autocommand's group; empty if there is no group.
local function group_of(autocommand)
  local group = autocommand.group_name
  return type(group) == "string" and group or ""
end

--- Autocommands, except those that Neovim's own modules and the plugin add when they are loaded.
local function autocommands()
  local found = {}
  for _, each in ipairs(vim.api.nvim_get_autocmds({})) do
    local group = group_of(each)
    if each.id and not (vim.startswith(group, "nvim") or vim.startswith(group, "gemini-bridge")) then
      found[each.id] = each
    end
  end
  return found
end

local function copy_of_each(tables_by_name)
  return vim.tbl_map(function(each)
    local copy = {}
    for key, value in next, each do
      copy[key] = value
    end
    return copy
  end, tables_by_name)
end

--- Global variables, except those that scripts of Neovim set when they are loaded.
local function global_variables()
  local found = {}
  for _, full in ipairs(vim.fn.getcompletion("g:", "var")) do
    local name = full:sub(3)
    if not (name:find("^loaded_") or name:find("^did_") or name:find("^netrw_")) then
      found[name] = vim.g[name]
    end
  end
  return found
end

local before ---@type table

--- Keeps the compiled files of the plugin, so that loading them for each case takes less time.
local function keep_chunks()
  local chunks = {}
  table.insert(package.loaders, 2, function(name)
    if not vim.startswith(name, "gemini-bridge") then
      return
    end
    if not chunks[name] then
      local path = name:gsub("%.", "/")
      local file = vim.api.nvim_get_runtime_file(("lua/%s.lua"):format(path), false)[1]
        or vim.api.nvim_get_runtime_file(("lua/%s/init.lua"):format(path), false)[1]
      chunks[name] = file and loadfile(file)
    end
    return chunks[name]
  end)
end

local timers = {} --- Timers that the case and the plugin have made.

--- Remembers the state to which `reset` returns.
function M.remember()
  local new_timer = vim.uv.new_timer
  vim.uv.new_timer = function()
    local timer, problem = new_timer()
    if timer then
      timers[#timers + 1] = timer
    end
    return timer, problem
  end
  before = {
    mappings = mappings(),
    autocommands = autocommands(),
    commands = vim.api.nvim_get_commands({}),
    variables = global_variables(),
    environment = vim.fn.environ(),
    listeners = vim.on_key(),
    options = {},
    channels = #vim.api.nvim_list_chans(),
  }
  each_option(function(name, scope)
    local ok, value = pcall(vim.api.nvim_get_option_value, name, { scope = scope })
    before.options[#before.options + 1] = ok and { name = name, scope = { scope = scope }, value = value }
      or nil
  end)
  keep_chunks()
  before.tables = copy_of_each(tables())
end

--- Restores the contents of a table.
local function restore_table(current, earlier, is_own)
  for key, value in next, current do
    if earlier[key] == nil and (not is_own or is_own(key, value)) then
      current[key] = nil
    end
  end
  for key, value in next, earlier do
    if rawget(current, key) ~= value then
      current[key] = value
    end
  end
end

--- Returns whether a case or the plugin, and not Neovim, has loaded a module.
local function is_of_case(name)
  return not name:find("^vim[._]")
    and not name:find("^nvim")
    and not name:find("^ffi")
    and not name:find("^jit")
end

local function is_never()
  return false
end

--- Restores what a case may have replaced, so that the plugin can end its work as usual.
local function restore()
  local current = tables()
  for name, earlier in pairs(before.tables) do
    if name ~= "loaded" then
      restore_table(current[name], earlier, name == "_G" and is_never or nil)
    end
  end
  vim.o.eventignore = ""
end

--- Stops the bridge, which ends all reviews.
local function stop()
  if not package.loaded["gemini-bridge.host.lifecycle"] then
    return
  end
  require("gemini-bridge").stop()
  if not require("gemini-bridge").status().pid then -- the test is the host
    local status = { state = "stopped", workspace = {}, clients = {} }
    local problem = require("gemini-bridge.calls").call("status", status).error
    assert(not problem, problem)
  end
  assert(
    vim.wait(5000, function()
      return require("gemini-bridge.bridge.status").get().state == "stopped"
    end, 5),
    "the bridge does not stop"
  )
end

--- Returns what the reviews have left.
local function left_of_reviews()
  local left = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.b[buf].gemini_diff then
      left[#left + 1] = "the proposal " .. name
    end
    for _, map in ipairs(vim.bo[buf].buftype == "" and vim.api.nvim_buf_get_keymap(buf, "n") or {}) do
      if (map.rhs or ""):find("[gG]emini") then
        left[#left + 1] = ("the mapping %s of %s"):format(map.lhs, name)
      end
    end
  end
  return left
end

--- Ids of all processes below a process.
local function processes(pid, found)
  for _, child in ipairs(vim.api.nvim_get_proc_children(pid)) do
    found[#found + 1] = child
    processes(child, found)
  end
  return found
end

--- Stops language servers, and closes all windows and buffers.
---@return string[] # What the reviews have left.
local function close()
  for _, client in ipairs(package.loaded["vim.lsp"] and vim.lsp.get_clients() or {}) do
    client:stop(true)
  end
  vim.o.hidden = true
  local win = vim.fn.win_getid(1)
  vim.api.nvim_set_current_win(win) -- not a float
  for _, other in ipairs(vim.api.nvim_list_wins()) do
    if other ~= win and vim.api.nvim_win_is_valid(other) then
      vim.api.nvim_win_close(other, true)
    end
  end
  vim.wo.winfixbuf = false
  local empty = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_win_set_buf(win, empty)
  local left = left_of_reviews()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if buf ~= empty and vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
  return left
end

--- Ends everything that a case has started.
---@return { left: string[], processes: integer[] } # What reviews have left, and the processes that must end.
function M.finish()
  restore()
  stop()
  local started = processes(vim.fn.getpid(), {})
  return { left = close(), processes = started }
end

--- Unloads the plugin, so that the next case starts with its defaults.
local function unload()
  for name, namespace in pairs(vim.api.nvim_get_namespaces()) do
    -- In Neovim 0.10, a name may be a boolean.
    if tostring(name):find("^gemini%-bridge") then
      vim.on_key(nil, namespace)
    end
  end
  vim.wait(2000, function()
    return vim.on_key() == before.listeners -- a timer removes the listener of the last focus change
  end, 5)
  local left = {}
  for _, each in ipairs(vim.api.nvim_get_autocmds({})) do
    local group = group_of(each)
    if group:find("^gemini%-bridge%..*%.%d+$") then
      left[#left + 1] = ("an autocommand for %s of %s"):format(each.event, group)
    end
    if vim.startswith(group, "gemini-bridge") then
      pcall(vim.api.nvim_del_augroup_by_name, group)
    end
  end
  for id in pairs(autocommands()) do
    if not before.autocommands[id] then
      vim.api.nvim_del_autocmd(id)
    end
  end
  restore_table(_G, before.tables._G)
  restore_table(package.loaded, before.tables.loaded, is_of_case)
  for _, timer in ipairs(timers) do
    if not timer:is_closing() then
      timer:close()
    end
  end
  timers = {}
  return left
end

local function restore_options()
  local problem
  for _ = 1, 2 do -- some values are only valid after others have been restored
    problem = nil
    for _, each in ipairs(before.options) do
      if vim.api.nvim_get_option_value(each.name, each.scope) ~= each.value then
        local ok, message = pcall(vim.api.nvim_set_option_value, each.name, each.value, each.scope)
        problem = ok and problem or message
      end
    end
  end
  assert(not problem, problem)
end

local function restore_mappings_and_commands()
  local now = mappings()
  for key, each in pairs(now) do
    if not vim.deep_equal(before.mappings[key] and before.mappings[key].map, each.map) then
      vim.api.nvim_del_keymap(each.mode, each.lhs)
      now[key] = nil
    end
  end
  for key, each in pairs(before.mappings) do
    if not now[key] then
      vim.fn.mapset(each.mode, false, each.map)
    end
  end
  for name in pairs(vim.api.nvim_get_commands({})) do
    if not before.commands[name] then
      vim.api.nvim_del_user_command(name)
    end
  end
  vim.cmd("abclear")
end

local function restore_variables()
  for name in pairs(global_variables()) do
    if before.variables[name] == nil then
      vim.g[name] = nil
    end
  end
  for name, value in pairs(before.variables) do
    if not vim.deep_equal(vim.g[name], value) then
      vim.g[name] = value
    end
  end
  for name in pairs(vim.fn.environ()) do
    if before.environment[name] == nil then
      vim.env[name] = nil
    end
  end
  for name, value in pairs(before.environment) do
    if vim.env[name] ~= value then
      vim.env[name] = value
    end
  end
end

--- Forgets texts, positions and messages of the last case.
local function forget()
  for _, register in ipairs(vim.split('abcdefghijklmnopqrstuvwxyz0123456789-"/', "")) do
    vim.fn.setreg(register, "")
  end
  for _, history in ipairs({ ":", "/", "=", "@", ">" }) do
    vim.fn.histdel(history)
  end
  vim.fn.setqflist({}, "f")
  vim.fn.timer_stopall()
  vim.v.errmsg = ""
  vim.cmd("silent! %argdelete | delmarks! | delmarks A-Z0-9 | clearjumps | nohlsearch | messages clear")
end

local function language_servers()
  return package.loaded["vim.lsp"] and #vim.lsp.get_clients() or 0
end

--- Restores everything else, and defines the plugin's commands again.
---@return string[] # What the case has left.
function M.clean()
  vim.wait(2000, function()
    return #vim.api.nvim_list_chans() == before.channels and language_servers() == 0
  end, 5)
  -- The end of a review stops to listen, but it may wait for a safe moment. After several reviews, the plugin listens
  -- until the next key.
  vim.wait(500, function()
    return vim.on_key() == before.listeners
  end, 5)
  local left = unload()
  restore_options()
  restore_mappings_and_commands()
  restore_variables()
  forget()
  vim.g.loaded_gemini_bridge = nil
  vim.cmd.runtime("plugin/gemini-bridge.lua")
  local function check(what, count, wanted)
    if count ~= wanted then
      left[#left + 1] = ("%d %s instead of %d"):format(count, what, wanted)
    end
  end
  check("windows", #vim.api.nvim_list_wins(), 1)
  -- A buffer that is not loaded is only a name, for example of a file that the quickfix list has named too late.
  local buffers = vim.tbl_filter(vim.api.nvim_buf_is_loaded, vim.api.nvim_list_bufs())
  check("buffers (" .. table.concat(vim.tbl_map(vim.fn.bufname, buffers), ", ") .. ")", #buffers, 1)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if not vim.list_contains(buffers, buf) then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
  check("functions for vim.on_key()", vim.on_key(), before.listeners)
  check("language servers", language_servers(), 0)
  check("channels", #vim.api.nvim_list_chans(), before.channels)
  local now = autocommands()
  for id, each in pairs(before.autocommands) do
    if not now[id] and group_of(each) ~= "" then
      left[#left + 1] = ("no autocommand for %s of %s"):format(each.event, group_of(each))
    end
  end
  return left
end

return M
