--- Sends prompts. A prompt may refer to files, diagnostics or text of this Neovim, and is stored until the host has
--- typed the prompt into a CLI. The texts of undelivered prompts go to the prompt history.
local channel = require("gemini-bridge.bridge.channel")
local history = require("gemini-bridge.prompt.history")
local lifecycle = require("gemini-bridge.host.lifecycle")
local notify = require("gemini-bridge.notify")
local reference = require("gemini-bridge.prompt.reference")
local scheduler = require("gemini-bridge.editor.scheduler")
local status = require("gemini-bridge.bridge.status")
local terminals = require("gemini-bridge.terminal.terminals")

local M = {}

--- Width that the name of the plugin needs in a message (screen cells).
local MESSAGE_MARGIN = 16

local HINT = " (:GeminiSend --cancel)"

---@class gemini_bridge.Prompt
---@field id integer
---@field items gemini_bridge.Item[]
---@field text string The user's text, or "".
---@field submit boolean Whether to press Enter after the text.
---@field cwd? string Directory of the CLI, if already known.
---@field quotes_paths? boolean True if the CLI accepts quoted paths: `@"a path"`.
---@field name? string Name of the CLI.
---@field waits? string Reason for waiting. Continues the sentence "The prompt waits until …".
---@field client? { cli: string, terminal?: string } Only for the reason of a rejection: the CLI to which it belongs.
---It starts no other CLI.

--- Undelivered prompts, oldest first.
---@type gemini_bridge.Prompt[]
local prompts = {}
local last_id = 0

---@param prompt gemini_bridge.Prompt
---@return string
local function text_of(prompt)
  return reference.prompt(prompt.items, prompt.cwd or vim.fn.getcwd(), prompt.text, prompt.quotes_paths)
end

--- Returns the files to which the parts of a prompt refer.
---@param items gemini_bridge.Item[]
---@return { path: string, lines?: [integer, integer] }[]? # nil if a part is an excerpt or a note.
local function references_of(items)
  local found = {}
  for _, item in ipairs(items) do
    if item.excerpt or item.note then
      return
    end
    found[#found + 1] = { path = item.path, lines = item.first and { item.first, item.last or item.first } }
  end
  return found
end

---@param id integer
---@return gemini_bridge.Prompt? # nil if the user has cancelled the prompt.
local function find(id)
  return vim.iter(prompts):find(function(prompt)
    return prompt.id == id
  end)
end

---@param prompt gemini_bridge.Prompt
local function remove(prompt)
  prompts = vim.tbl_filter(function(other)
    return other ~= prompt
  end, prompts)
end

--- Saves the text of an undelivered prompt in the prompt history, and tells the user.
---@param prompt gemini_bridge.Prompt
---@param reason string
local function keep(prompt, reason)
  remove(prompt)
  history.add(text_of(prompt))
  notify(reason .. " :GeminiPrompt! restores the text.", "warn")
end

---@param prompt gemini_bridge.Prompt
local function hand_over(prompt)
  local client, last = prompt.client, terminals.last()
  local terminal = last and last.name
  if client then
    terminal = client.terminal
  end
  channel.notify("prompt", {
    id = prompt.id,
    submit = prompt.submit,
    terminal = terminal,
    cli = client and client.cli,
  })
end

vim.api.nvim_create_autocmd("User", {
  group = vim.api.nvim_create_augroup("gemini-bridge.prompt.outbox", {}),
  pattern = "GeminiStarted",
  callback = function()
    vim.iter(prompts):each(hand_over)
  end,
})

---@param items gemini_bridge.Item[]
---@param text string
---@param submit boolean
---@return gemini_bridge.Prompt
local function add(items, text, submit)
  last_id = last_id + 1
  local prompt = { id = last_id, items = items, text = text, submit = submit, waits = "a CLI is running" }
  prompts[#prompts + 1] = prompt
  return prompt
end

---@class gemini_bridge.SendOptions
---@field text? string The text of the prompt.
---@field source? "here"|"diagnostics"|"quickfix"|"output"|"notes"|"nothing" "here": the current file, or the entries
---of an explorer or quickfix window, or the text of a buffer without a file. "output": the last output of a terminal.
---@field files? string[] Files to refer to, relative to the current directory. Used instead of `source`.
---@field lines? [integer, integer] First and last line in the current buffer, 1-based.
---@field submit? boolean Whether to press Enter after the text.

--- Sends a prompt as soon as the CLI can accept it, see |gemini-bridge-waiting|. Starts the bridge if necessary.
---@param opts gemini_bridge.SendOptions
function M.send(opts)
  local items, problem = require("gemini-bridge.prompt.sources").items(opts)
  local text = opts.text or ""
  if not items or (#items == 0 and text == "") then
    return notify(problem or "There is nothing to send: the prompt is empty.", "warn")
  end
  local prompt = add(items, text, opts.submit or false)
  if status.get().state == "running" then
    hand_over(prompt)
  else
    lifecycle.start()
  end
end

--- Sends the reason of a rejection to the CLI that made the proposal, as its next prompt.
---@param client string Name of the CLI's terminal or MCP client.
---@param reason string
function M.send_reason(client, reason)
  local prompt = add({}, reason, true)
  local same = vim.tbl_filter(function(each)
    return each.terminal == client or each.name == client
  end, status.get().clients)
  -- A CLI whose connection was interrupted is not in this list, but its terminal may still be there.
  local lost = #same == 0 and terminals.get(client)
  prompt.client = lost and { terminal = client, cli = lost.cli } or #same == 1 and same[1] or nil
  if not prompt.client then
    return keep(prompt, "The reason was not sent, because the terminal of the CLI is unknown.")
  end
  hand_over(prompt)
end

--- Returns the undelivered prompts.
---@return { text: string, name?: string, waits?: string }[] # `name` is the CLI, `waits` the reason for waiting.
function M.list()
  return vim.tbl_map(function(prompt)
    return { text = text_of(prompt), name = prompt.name, waits = prompt.waits }
  end, prompts)
end

--- Cancels all undelivered prompts. Their texts go to the unnamed register and to the prompt history.
function M.cancel()
  if #prompts == 0 then
    return notify("No prompts are waiting.")
  end
  local texts = vim.tbl_map(text_of, prompts)
  prompts = {}
  vim.iter(texts):each(history.add)
  vim.fn.setreg('"', table.concat(texts, "\n"))
  channel.notify("prompts_cancelled", vim.empty_dict())
  notify(
    ("Cancelled %d %s. The text is in the unnamed register."):format(
      #texts,
      #texts == 1 and "prompt" or "prompts"
    )
  )
end

-- Moves the texts of all undelivered prompts to the prompt history.
lifecycle.when_ended(function()
  for _, prompt in ipairs(prompts) do
    keep(prompt, "The prompt was not sent: the bridge has stopped.")
  end
end)

--- Returns the terminals and directories in which the user may have started a CLI without the command `:Gemini`. If it
--- listed a terminal of `:Gemini`, a prompt could overtake the prompt for which this terminal was opened.
---@return gemini_bridge.results.prompt_places
function M.places()
  local buffers = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local ok, pid = pcall(vim.fn.jobpid, vim.bo[buf].channel)
    if ok and vim.bo[buf].buftype == "terminal" and not vim.b[buf].gemini_terminal then
      buffers[#buffers + 1] = { buf = buf, pid = pid }
    end
  end
  local directories = vim.list_slice(status.get().workspace)
  vim.list_extend(directories, require("gemini-bridge.context.workspace").get().directories)
  return {
    cmd = require("gemini-bridge.terminal.launch").command(),
    buffers = buffers,
    directories = directories,
  }
end

--- Returns a prompt's text for the CLI that the host has found.
---@param params gemini_bridge.calls.prompt_found
---@return gemini_bridge.results.prompt_found
function M.found(params)
  local prompt = find(params.id) or error("the prompt was cancelled", 0)
  prompt.name, prompt.cwd, prompt.quotes_paths = params.name, params.cwd, params.quotesPaths
  return {
    text = text_of(prompt),
    references = references_of(prompt.items),
    userText = prompt.text,
  }
end

--- Opens a terminal for a prompt, unless a terminal already exists.
---@param params gemini_bridge.calls.prompt_open
function M.open(params)
  scheduler.now(function()
    local prompt = find(params.id)
    if not prompt then
      return
    elseif prompt.client then
      return keep(prompt, "The reason was not sent, because no terminal with the CLI was found.")
    end
    if not terminals.last() then
      pcall(require("gemini-bridge.terminal.open").open, { focus = false })
    end
    if terminals.last() then
      hand_over(prompt)
    else
      keep(prompt, "The prompt was not sent: no CLI is running.")
    end
  end)
end

--- Stores and shows the reason why a prompt waits.
---@param params gemini_bridge.calls.prompt_waits
function M.waits(params)
  local prompt = find(params.id)
  if not prompt then
    return
  end
  prompt.waits = params.reason
  if params.say then
    local length = #"The prompt waits until " + #params.reason + #HINT
    local hint = length < vim.v.echospace - MESSAGE_MARGIN and HINT or ""
    notify(("The prompt waits until %s%s"):format(params.reason, hint))
  end
end

---@param prompt gemini_bridge.Prompt
local function forget_notes(prompt)
  local ids = {}
  for _, item in ipairs(prompt.items) do
    ids[#ids + 1] = item.note_id
  end
  if #ids > 0 then
    require("gemini-bridge.notes.notes").remove(ids)
  end
end

--- Removes a prompt that was delivered. If the prompt could not be delivered, saves its text and tells the user.
---@param params gemini_bridge.calls.prompt_done
function M.done(params)
  local prompt = find(params.id)
  if not prompt then
    return
  elseif not params.typed then
    return keep(prompt, params.problem)
  end
  remove(prompt)
  forget_notes(prompt)
  if params.problem then
    notify(params.problem, "warn")
  end
end

return M
