--- Keeps data for the next host: the user's decisions until they are delivered, the memory of the last host, and what
--- happened without a host.
local M = {}

---@class gemini_bridge.Decision
---@field [1] string Event: "diff_accepted" or "diff_rejected".
---@field [2] { id: integer, content?: string, version?: string } Payload.

---@type gemini_bridge.Decision[]
local undelivered = {}
--- Names of the CLIs that wait for the decisions, by review id.
---@type table<integer, string>
local askers = {}
local memory ---@type { sessions: table[], diffs: { id: integer, filePath: string }[] }?

local ended_at ---@type integer? Milliseconds of |vim.uv.now()|.
local written = {} ---@type table<string, true>

--- Called when a host has ended.
function M.host_ended()
  ended_at = vim.uv.now()
end

--- Keeps the path of a file that the user has written while no host runs.
---@param path string
function M.add_written(path)
  written[path] = true
end

--- Returns what has happened since the last host ended, and forgets it.
---@return { duration: integer, written: string[] }? absence nil for the first host.
function M.take_absence()
  local paths = vim.tbl_keys(written)
  written = {}
  return ended_at and { duration = vim.uv.now() - ended_at, written = paths }
end

--- Keeps a decision until the host has settled it.
---@param event string
---@param payload { id: integer, content?: string, version?: string }
---@param asker string Name of the CLI for messages.
function M.add(event, payload, asker)
  undelivered[#undelivered + 1] = { event, payload }
  askers[payload.id] = asker
end

--- Removes and returns the name of the CLI.
---@param id integer
---@return string
local function take_asker(id)
  local asker = askers[id]
  askers[id] = nil
  return asker
end

--- Returns the unsettled decisions, oldest first.
---@return gemini_bridge.Decision[]
function M.list()
  return undelivered
end

--- Returns the position of the decision on a review.
---@param id integer
---@return integer?
local function index_of(id)
  for i, decision in ipairs(undelivered) do
    if decision[2].id == id then
      return i
    end
  end
end

--- Returns the accepted text. Raises an error if the decision is settled.
---@param params { id: integer }
---@return { content: string }
function M.read(params)
  local i = index_of(params.id) or error("this decision is already settled", 0)
  return { content = undelivered[i][2].content }
end

--- Removes and returns a decision.
---@param id integer
---@return gemini_bridge.Decision?
---@return string? asker
function M.take(id)
  local i = index_of(id)
  if i then
    return table.remove(undelivered, i), take_asker(id)
  end
end

--- Stores the memory of the host for its successor.
---@param new { sessions: table[], diffs: { id: integer, filePath: string }[] } See `Memory` in src/contract/neovim.ts.
function M.remember(new)
  memory = new
end

--- Returns the memory of the last host.
---@return { sessions: table[], diffs: { id: integer, filePath: string }[] }?
function M.memory()
  return memory
end

--- Removes and returns all decisions, after the bridge was stopped and all reviews were closed. The memory stays,
--- because sessions continue with a later host.
---@return { [1]: gemini_bridge.Decision, [2]: string, [3]: string? }[] lost Each with the name of its CLI and its file.
function M.abandon()
  local paths, lost = {}, undelivered
  for _, diff in ipairs(memory and memory.diffs or {}) do
    paths[diff.id] = diff.filePath
  end
  undelivered = {}
  if memory then
    memory = vim.tbl_extend("force", memory, { diffs = {} })
  end
  return vim.tbl_map(function(decision)
    local id = decision[2].id
    return { decision, take_asker(id), paths[id] }
  end, lost)
end

return M
