--- What must outlive a host: the user's decisions, until the client knows of them, and what the host itself wants the
--- next one to know.
local M = {}

---@class gemini_bridge.Decision
---@field [1] string Event: "diff_accepted" or "diff_rejected".
---@field [2] { id: integer, content?: string } Its payload.

---@type gemini_bridge.Decision[]
local undelivered = {}
--- Whom each is for, by the id of its review.
---@type table<integer, string>
local askers = {}
local memory ---@type { sessions: table[], diffs: { id: integer, filePath: string }[] }?

--- Keeps a decision until the host is done with it.
---@param event string
---@param payload { id: integer, content?: string }
---@param asker string What the user knows the CLI as.
function M.add(event, payload, asker)
  undelivered[#undelivered + 1] = { event, payload }
  askers[payload.id] = asker
end

--- Forgets whom one is for.
---@param id integer
---@return string
local function take_asker(id)
  local asker = askers[id]
  askers[id] = nil
  return asker
end

--- Those that the host is not done with, oldest first.
---@return gemini_bridge.Decision[]
function M.list()
  return undelivered
end

--- Where the decision on a review is among those.
---@param id integer
---@return integer?
local function index_of(id)
  for i, decision in ipairs(undelivered) do
    if decision[2].id == id then
      return i
    end
  end
end

--- What the user accepted. Raises when the host is done with it.
---@param params { id: integer }
---@return { content: string }
function M.read(params)
  local i = index_of(params.id) or error("this decision is settled already", 0)
  return { content = undelivered[i][2].content }
end

--- Takes one out.
---@param id integer
---@return gemini_bridge.Decision?
---@return string? asker
function M.take(id)
  local i = index_of(id)
  if i then
    return table.remove(undelivered, i), take_asker(id)
  end
end

--- Keeps what the host wants the next one to know.
---@param new { sessions: table[], diffs: { id: integer, filePath: string }[] } See `Memory` in src/contract/neovim.ts.
function M.remember(new)
  memory = new
end

--- What the last host wanted the next one to know.
---@return { sessions: table[], diffs: { id: integer, filePath: string }[] }?
function M.memory()
  return memory
end

--- The bridge was stopped, which closes all reviews: takes all decisions out. Sessions go on with a later host.
---@return { [1]: gemini_bridge.Decision, [2]: string, [3]: string? }[] lost Each with its asker and its file.
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
