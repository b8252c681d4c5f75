--- What agents changed without a review, as the host tells it, until the user keeps or undoes it.
local channel = require("gemini-bridge.bridge.channel")
local deleted = require("gemini-bridge.changes.deleted")
local memory = require("gemini-bridge.bridge.memory")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local signs = require("gemini-bridge.changes.signs")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- By path, and in the order in which they came.
local by_path = {} ---@type table<string, gemini_bridge.Change>
local order = {} ---@type string[]
local incomplete = {} ---@type table<string, string> By CLI.
local group ---@type integer?
local gone ---@type fun(name: string)?

--- Calls a function when a file has no changes any more.
---@param act fun(name: string) With its path.
function M.on_gone(act)
  gone = act
end

---@param buf integer
---@return gemini_bridge.Change?
local function change_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if next(by_path) and name:sub(1, 1) == "/" and vim.bo[buf].buftype == "" then
    return by_path[path.real(name)]
  end
end

---@return gemini_bridge.Change[]
function M.all()
  return vim.tbl_map(function(name)
    return by_path[name]
  end, order)
end

--- The change of the file that a buffer shows, also of one that was deleted.
---@param buf integer
---@return gemini_bridge.Change?
function M.of_buffer(buf)
  return by_path[vim.b[buf].gemini_deleted or ""] or change_of(buf)
end

--- The change of a file that the user names.
---@param typed string
---@return gemini_bridge.Change?
function M.find(typed)
  return by_path[typed]
    or vim.iter(M.all()):find(function(change)
      return path.is_same(typed, change.path)
    end)
end

--- The host wants to know what the user writes, for as long as anything is changed or about to be.
---@param params { active: boolean }
function M.follow(params)
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  if not params.active then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.changes", {})
  vim.api.nvim_create_autocmd("BufWritePost", {
    group = group,
    callback = function(args)
      local name = vim.api.nvim_buf_get_name(args.buf)
      if name:sub(1, 1) ~= "/" or vim.bo[args.buf].buftype ~= "" then
        return
      elseif not channel.notify("file_written", { path = name }) then
        memory.add_written(name)
      end
    end,
  })
  -- To read a file again takes its marks away; with another name it is another file.
  vim.api.nvim_create_autocmd({ "BufReadPost", "FileChangedShellPost", "BufFilePost" }, {
    group = group,
    callback = function(args)
      -- |:saveas| leaves the name to a buffer that is not loaded.
      if vim.api.nvim_buf_is_loaded(args.buf) then
        signs.place(args.buf, change_of(args.buf))
      end
    end,
  })
end

--- Takes what is changed in a file by now.
---@param params gemini_bridge.calls.change_show
function M.show(params)
  local name, change = params.path, params.change
  if change and not by_path[name] then
    order[#order + 1] = name
  elseif not change then
    order = vim.tbl_filter(function(other)
      return other ~= name
    end, order)
  end
  by_path[name] = change
  scheduler.now(function()
    local buf = path.buffer(name)
    if buf then
      signs.place(buf, by_path[name])
    end
    if gone and not by_path[name] then
      gone(name)
    end
    if not change or change.status ~= "deleted" then
      deleted.forget(name)
    end
  end)
  if params.edited and change then
    status.emit("GeminiChanged", { path = name, cli = change.cli })
  end
end

--- Tells the user how much a turn has changed, and why that may not be everything.
---@param params gemini_bridge.calls.turn_changes
function M.turn_ended(params)
  incomplete[params.cli] = params.incomplete
  if params.files > 0 then
    notify(
      ("%s changed %d %s (+%d -%d): see :GeminiChanges"):format(
        params.terminal or params.cli,
        params.files,
        params.files == 1 and "file" or "files",
        params.added,
        params.removed
      )
    )
  end
  if params.incomplete then
    notify(params.incomplete, "warn")
  end
end

--- Sentences that say why changes may be missing, for the last turn of each CLI.
---@return string[]
function M.incomplete()
  return vim.tbl_values(incomplete)
end

--- The files of loaded buffers, and the open directories.
---@return { paths: string[], directories: string[] }
function M.open_files()
  local paths = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and name:sub(1, 1) == "/" then
      paths[#paths + 1] = name
    end
  end
  return { paths = paths, directories = require("gemini-bridge.context.workspace").get().directories }
end

--- Hides all changes, because the bridge has stopped or a new host sends them again. The user's writes are still
--- recorded: the command of an agent may be running, and the next host compares the files after it.
function M.clear()
  by_path, order, incomplete = {}, {}, {}
  signs.clear()
end

return M
