--- Determines the directories of the workspace, and reports changes of these directories to the host.
local disk = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

local group ---@type integer?
local last = {} ---@type string[]
--- Directories that were reported to the user, because their paths are not UTF-8.
---@type table<string, true>
local refused = {}
--- The last failure of the option `workspace`. Shown only once, because the function is called at each new window.
local failure ---@type string?
local changed = function() end

--- Returns the directories of the option `workspace`.
---@return string[]
local function from_option()
  local option = require("gemini-bridge.config").get().workspace
  if type(option) ~= "table" then
    local ok, answer = pcall(option)
    if not ok or not require("gemini-bridge.config.checks").strings(answer) then
      local reason = ok and "it did not return a list of directories" or tostring(answer)
      if reason ~= failure then
        failure = reason
        require("gemini-bridge.notify")(
          "The option `workspace` is ignored, because its function failed: " .. reason,
          "error"
        )
      end
      return {}
    end
    option, failure = answer, nil
  end
  return vim.tbl_map(function(directory)
    local path = vim.fn.fnamemodify(directory, ":p")
    return #path > 1 and (path:gsub("/$", "")) or path
  end, option)
end

--- Tells the user, once for each directory, that its path is not UTF-8.
---@param directory string
local function refuse(directory)
  if not refused[directory] then
    refused[directory] = true
    local text = "A CLI in %s cannot find this Neovim, because the path is not UTF-8. "
      .. "Rename the directory, or start the CLI elsewhere."
    require("gemini-bridge.notify")(text:format(disk.display(directory, 30)), "warn")
  end
end

--- Returns the current directories of Neovim, of each tab and of each window, and the directories of the option
--- `workspace`. Leaves out duplicates and paths that are not UTF-8.
---@return { directories: string[] }
function M.get()
  local seen, directories = {}, {}
  local function add(directory)
    if directory == "" or seen[directory] then
      return
    end
    seen[directory] = true
    if disk.is_utf8(directory) then
      directories[#directories + 1] = directory
    else
      refuse(directory)
    end
  end
  add(vim.fn.getcwd(-1, -1))
  for tab = 1, vim.fn.tabpagenr("$") do
    add(vim.fn.getcwd(-1, tab))
    for win = 1, vim.fn.tabpagewinnr(tab, "$") do
      add(vim.fn.getcwd(win, tab))
    end
  end
  vim.tbl_map(add, from_option())
  return { directories = directories }
end

--- Reports the directories of the workspace to the host if they have changed.
function M.refresh()
  local now = M.get()
  if group and not vim.deep_equal(now.directories, last) then
    last = now.directories
    require("gemini-bridge.bridge.channel").notify("workspace", now)
    changed()
  end
end

--- Starts watching the directories.
---@param on_change fun() Called after the directories have changed.
function M.watch(on_change)
  changed = on_change
  last = M.get().directories
  group = vim.api.nvim_create_augroup("gemini-bridge.context.workspace", {})
  vim.api.nvim_create_autocmd("FocusGained", {
    group = group,
    callback = function()
      require("gemini-bridge.bridge.channel").notify("focused", vim.empty_dict())
    end,
  })
  vim.api.nvim_create_autocmd({ "DirChanged", "WinClosed", "TabClosed", "WinNew", "TabNew" }, {
    group = group,
    -- Waits one tick, because a closing window still exists during the WinClosed event.
    callback = scheduler.coalesce(M.refresh),
  })
end

--- Stops watching. Idempotent.
function M.unwatch()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
end

return M
