--- Implements `:GeminiStatus`: shows the state of the bridge in a buffer, and updates the buffer at an interval.
local focus = require("gemini-bridge.editor.focus_and_mode")
local scheduler = require("gemini-bridge.editor.scheduler")
local status = require("gemini-bridge.bridge.status")

local M = {}

local NAME = "gemini-bridge://status"
--- Column in which the values start.
local INDENT = 12
--- Maximum number of open files to list.
local MAX_FILES = 10
--- Maximum length of a waiting prompt in the view (characters). Longer prompts are truncated.
local MAX_PROMPT_LENGTH = 40
--- Interval for updating the view.
local REFRESH_INTERVAL_MS = 1000

---@param path string
---@return string
local function short(path)
  return (vim.fn.fnamemodify(path, ":~:."))
end

---@param since number Unix milliseconds.
---@return string
local function age(since)
  local seconds = math.max(0, os.time() - math.floor(since / 1000))
  if seconds < 60 then
    return ("%d s"):format(seconds)
  elseif seconds < 3600 then
    return ("%d min"):format(seconds / 60)
  end
  return ("%d h %d min"):format(seconds / 3600, seconds % 3600 / 60)
end

--- The last answer of the host. nil if a CLI finds no editor.
local editors ---@type gemini_bridge.Editors?

--- If several editors have this directory open, returns a line that says to which editor a CLI in another terminal
--- connects.
---@return string[]
local function rivals()
  if status.get().state ~= "running" or not editors or editors.count < 2 then
    return {}
  end
  return {
    ("%d editors have this directory open. A CLI outside of these editors connects to %s."):format(
      editors.count,
      editors.isOwn and "this Neovim" or ("process %d"):format(editors.pid)
    ),
    "To make a CLI connect to this Neovim, run the lines of :GeminiEnv in a shell, then start the CLI there.",
  }
end

---@return string[]
local function shared_now()
  local shared = require("gemini-bridge.context.consent").shared()
  if shared.paused then
    return { "nothing, because sharing is paused; :GeminiShare on resumes sharing" }
  end
  local lines = {}
  if shared.excluded then
    lines[1] = short(shared.excluded) .. " is not shared"
  elseif shared.active then
    local selected = (shared.selected or 0) > 0 and (", %d characters selected"):format(shared.selected) or ""
    lines[1] = short(shared.active) .. selected
  end
  for _, path in ipairs(shared.files) do
    if path ~= shared.active and #lines < MAX_FILES then
      lines[#lines + 1] = short(path)
    end
  end
  return lines
end

---@return string[]
local function pinned()
  local pin = require("gemini-bridge.context.pinned_selection").lines()
  if not pin then
    return {}
  end
  local path = pin.path == "" and "[No Name]" or short(pin.path)
  local lines = pin.first == pin.last and "line %d" or "lines %d to %d"
  return { ("%s, " .. lines):format(path, pin.first, pin.last) }
end

--- Returns why a CLI has not reported its edits, as the end of a line. Empty if it has.
---@param client gemini_bridge.ClientInfo
---@return string
local function without_hooks(client)
  if client.hooksOff then
    return ", its hooks are off: " .. client.hooksOff
  elseif client.hooks then
    return ""
  end
  local cli = require("gemini-bridge.config.clis").get(client.cli)
  local link = require("gemini-bridge.extension.link")
  local needs_link = cli
    and link.is_possible(cli)
    and link.state(cli) ~= "installed"
    and (not client.terminal or require("gemini-bridge.extension.offer").needs_extension(cli))
  local advice = needs_link and ": the extension is not installed, run :GeminiExtension install%s" or ""
  return ", has not reported its edits yet"
    .. advice:format(client.cli == "gemini" and "" or " " .. client.cli)
end

local ACTIVITIES = { working = "working", waiting = "waits for you" }

---@param now gemini_bridge.HostStatus
---@return string[]
local function clients(now)
  return vim.tbl_map(function(client)
    local name = vim.trim(("%s %s"):format(status.plain(client.name, client.label), client.version))
    if client.terminal and #now.clients > 1 then
      name = ("%s in %s"):format(name, client.terminal)
    end
    if client.interrupted then
      return ('%s, shows "Disconnected": type /ide enable there'):format(name)
    end
    local activity = client.activity ~= "idle" and ", " .. ACTIVITIES[client.activity] or ""
    return ("%s%s, connected for %s%s"):format(name, activity, age(client.connectedAt), without_hooks(client))
  end, now.clients)
end

---@return string[]
local function reviews()
  return vim.tbl_map(function(diff)
    return ("%s, from %s"):format(short(diff.filePath), status.plain(diff.client, diff.label))
  end, require("gemini-bridge.review.requests").list())
end

---@return string[]
local function prompts()
  return vim.tbl_map(function(prompt)
    local text = vim.fn.strcharpart(prompt.text:gsub("%s+", " "), 0, MAX_PROMPT_LENGTH)
    return prompt.waits and ("%s: waits until %s"):format(text, prompt.waits) or text
  end, require("gemini-bridge.prompt.outbox").list())
end

---@return string[]
local function terminals()
  return vim.tbl_map(function(terminal)
    local args = #terminal.args > 0 and " " .. table.concat(terminal.args, " ") or ""
    local pane = terminal.pane and (", pane %s"):format(terminal.pane) or ""
    local process = terminal.pid and "process " .. terminal.pid or "starting"
    return ("%s%s%s, %s"):format(terminal.name, args, pane, process)
  end, require("gemini-bridge.terminal.terminals").list())
end

--- Returns the number of tool calls, and the names of the CLIs whose models can call tools.
---@param now gemini_bridge.HostStatus
---@return string[]
local function tools(now)
  local lines = vim.tbl_map(function(client)
    return vim.fn.strtrans(("%s %s"):format(client.name, client.version))
  end, now.toolClients or {})
  if now.calls then
    table.insert(lines, 1, ("%d %s by the model"):format(now.calls, now.calls == 1 and "call" or "calls"))
  end
  return lines
end

--- Returns the last text that told an agent about the user's decisions.
---@param now gemini_bridge.HostStatus
---@return string[]
local function told(now)
  local last = now.told
  return last and { ("%s, %s ago: %s"):format(last.cli, age(last.at), vim.fn.strtrans(last.text)) } or {}
end

---@param now gemini_bridge.HostStatus
---@return string
local function state(now)
  if now.state == "running" then
    return ("running on port %d, process %d"):format(now.port, now.pid)
  elseif now.state == "stopped" then
    return now.error and "stopped: " .. now.error or "stopped, :GeminiStart starts it"
  end
  return now.state
end

--- Returns the lines of the view. Leaves out empty sections.
---@return string[]
function M.lines()
  local now = status.get()
  local running = now.state == "running"
  local connected = #now.clients > 0 and clients(now)
  local sections = {
    { "State", { state(now) } },
    { "Version", { now.version } },
    { "Workspace", now.workspace },
    { "Discovery", now.discoveryFiles or {} },
    { "Shared", running and shared_now() or {} },
    { "Pinned", pinned() },
    { "Clients", connected or running and { "none yet: run :Gemini, or gemini in a shell" } or {} },
    { "Tools", tools(now) },
    { "Told agent", told(now) },
    { "Reviews", reviews() },
    { "Gate", require("gemini-bridge.turns.gate").lines() },
    { "Terminals", terminals() },
    { "Prompts", prompts() },
    { "Editors", rivals() },
    { "Log", { short(require("gemini-bridge.host.boot").log_file()) } },
  }
  local lines = {}
  for _, section in ipairs(sections) do
    for index, text in ipairs(section[2]) do
      local label = index == 1 and section[1] or ""
      lines[#lines + 1] = label .. (" "):rep(INDENT - #label) .. text:gsub("\n", " ")
    end
  end
  return lines
end

---@param buf integer
local function render(buf)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, M.lines())
  vim.bo[buf].modifiable = false
end

--- Updates the view until its window is closed.
---@param buf integer
local function follow(buf)
  local group = vim.api.nvim_create_augroup("gemini-bridge.status_view", {})
  local timer = assert(vim.uv.new_timer())
  local function ask()
    require("gemini-bridge.bridge.request").send("editors", { cwd = vim.fn.getcwd() }, function(found)
      editors = found
    end)
  end
  local refresh = scheduler.coalesce(function()
    if vim.api.nvim_buf_is_valid(buf) then
      render(buf)
      ask()
    end
  end)
  vim.api.nvim_create_autocmd("User", { group = group, pattern = "Gemini*", callback = refresh })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = buf,
    callback = function()
      timer:close()
      vim.api.nvim_del_augroup_by_id(group)
    end,
  })
  timer:start(REFRESH_INTERVAL_MS, REFRESH_INTERVAL_MS, refresh)
  ask()
end

--- Opens the view at the bottom of the editor, or moves the focus to an open view. The key `q` closes the view and
--- returns to the previous window.
function M.open()
  local before = vim.api.nvim_get_current_win()
  local buf = vim.fn.bufnr("^" .. NAME .. "$")
  local win = buf > 0 and vim.fn.win_findbuf(buf)[1]
  if win then
    vim.api.nvim_set_current_win(win)
    return
  end
  buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, NAME)
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].filetype = "gemini_status"
  render(buf)
  local height = vim.api.nvim_buf_line_count(buf) + 1
  local ok, opened = pcall(vim.api.nvim_open_win, buf, true, { win = -1, split = "below", height = height })
  if not ok then
    -- A buffer without a window would never be wiped, and no other buffer could get its name.
    vim.api.nvim_buf_delete(buf, { force = true })
    error(opened, 0)
  end
  win = opened
  local wo = vim.wo[win][0]
  wo.number, wo.relativenumber, wo.spell, wo.list, wo.wrap = false, false, false, false, true
  wo.signcolumn, wo.foldcolumn, wo.winfixheight = "no", "0", true
  vim.fn.matchadd("Title", ("\\%%<%dc^\\S\\+"):format(INDENT))
  vim.keymap.set("n", "q", function()
    -- Ignores the error for the last window of Neovim, which cannot be closed.
    if pcall(vim.api.nvim_win_close, 0, false) and vim.api.nvim_win_is_valid(before) then
      focus.go(before)
    end
  end, { buffer = buf, desc = "Close" })
  follow(buf)
end

return M
