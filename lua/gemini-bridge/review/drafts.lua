--- While reviews are open, saves the user's edits of proposals to a file. The next Neovim finds the edits there even if
--- this one ends without |VimLeavePre|: it may be killed, or quit with |:noautocmd|.
local private_file = require("gemini-bridge.disk.private_file")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

--- In `stdpath("state")`.
local DIRECTORY = "gemini-bridge-drafts"
local SAVE_INTERVAL_MS = 1000

---@class gemini_bridge.Draft
---@field filePath string File of the review.
---@field content string

--- Drafts in the file of this Neovim. nil if there is no file.
local saved ---@type gemini_bridge.Draft[]?
local is_following = false

--- Returns the file of a Neovim.
---@param pid integer
---@return string
local function file_of(pid)
  return private_file.numbered(DIRECTORY, pid)
end

--- Deletes the drafts of this Neovim.
function M.delete()
  if saved then
    vim.uv.fs_unlink(file_of(vim.fn.getpid()))
    saved = nil
  end
end

---@param edits fun(): gemini_bridge.Draft[]
local function save(edits)
  local drafts = edits()
  is_following = #drafts > 0
  if not is_following then
    return M.delete()
  end
  if not vim.deep_equal(drafts, saved) then
    private_file.write(file_of(vim.fn.getpid()), vim.json.encode(drafts))
    saved = drafts
  end
  scheduler.after(SAVE_INTERVAL_MS, function()
    save(edits)
  end)
end

--- Saves the user's edits now and at regular intervals, until all reviews with edits have ended.
---@param edits fun(): gemini_bridge.Draft[] Returns the edits that are only in reviews.
function M.follow(edits)
  if not is_following then
    save(edits)
  end
end

---@param draft any
---@return boolean
local function is_draft(draft)
  return type(draft) == "table" and type(draft.filePath) == "string" and type(draft.content) == "string"
end

--- Returns the drafts of Neovims that have ended, and deletes their files.
---@return gemini_bridge.Draft[]
function M.take_over()
  local drafts = {}
  for _, pid in ipairs(private_file.numbers(DIRECTORY)) do
    if vim.uv.kill(pid, 0) ~= 0 then
      private_file.expire(file_of(pid))
      local found = private_file.read_list(file_of(pid), is_draft)
      -- Another Neovim may be reading the same drafts now. Only the one that succeeds in deleting the file takes them
      -- over.
      if vim.uv.fs_unlink(file_of(pid)) then
        vim.list_extend(drafts, found)
      end
    end
  end
  return drafts
end

return M
