--- What must outlive a host that crashes: the user's decisions, until the client knows of them, and what the host
--- itself wants the next one to know.
local notify = require("gemini-bridge.notify")

local M = {}

---@class gemini_bridge.Decision
---@field [1] string Event: "diff_accepted", "diff_rejected" or "diff_closed".
---@field [2] { id: integer, content?: string } Its payload.

---@type gemini_bridge.Decision[]
local pending = {}
local memory ---@type { sessions: table[], diffs: { id: integer, filePath: string }[] }?

--- Puts text into a new listed buffer that no window shows.
---@param path string The file that the text was meant for.
---@param text string
---@return integer buf
local function keep(path, text)
  local buf = vim.api.nvim_create_buf(true, true)
  local lines = vim.split(text, "\n", { plain = true })
  local bo = vim.bo[buf]
  bo.fixendofline = false
  bo.endofline = lines[#lines] == ""
  if bo.endofline then
    lines[#lines] = nil
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.api.nvim_buf_set_name(buf, ("gemini://kept/%d%s"):format(buf, path))
  return buf
end

--- Tells the user of a decision that nobody will hear of.
---@param decision gemini_bridge.Decision
---@param path string
local function tell(decision, path)
  local event, content = decision[1], decision[2].content
  -- Short enough for one line of 80 columns: longer ones end in a prompt.
  local shown = require("gemini-bridge.disk.path").display(path, 20)
  if event == "diff_accepted" then
    notify(
      ("Gemini CLI is gone; accepted %s is kept in buffer %d"):format(shown, keep(path, content)),
      "warn"
    )
  elseif event == "diff_rejected" then
    notify(("Gemini CLI is gone; it missed that you rejected %s"):format(shown), "warn")
  end
end

--- Keeps a decision until it is settled.
---@param event string
---@param payload { id: integer, content?: string }
function M.add(event, payload)
  pending[#pending + 1] = { event, payload }
end

--- Those that are not settled, oldest first.
---@return gemini_bridge.Decision[]
function M.list()
  return pending
end

--- The host is done with a decision; it has arrived, or never will.
---@param params { id: integer, delivered: boolean, filePath: string }
function M.settled(params)
  for i, decision in ipairs(pending) do
    if decision[2].id == params.id then
      table.remove(pending, i)
      if not params.delivered then
        tell(decision, params.filePath)
      end
      return
    end
  end
end

--- Keeps what the host wants the next one to know.
---@param new { sessions: table[], diffs: { id: integer, filePath: string }[] } See `Memory` in src/nvim/protocol.ts.
function M.remember(new)
  memory = new
end

function M.memory()
  return memory
end

--- No host follows that could deliver what is pending.
function M.abandon()
  local paths, lost = {}, pending
  for _, diff in ipairs(memory and memory.diffs or {}) do
    paths[diff.id] = diff.filePath
  end
  pending, memory = {}, nil
  for _, decision in ipairs(lost) do
    tell(decision, paths[decision[2].id] or "a file")
  end
end

return M
