--- Saves drafts to a file every second. A draft is a text that the user has edited in a review, until the file on disk
--- contains the text. The next Neovim restores the drafts if this Neovim exits without |VimLeavePre|: after a kill or
--- |:noautocmd|.
local records = require("gemini-bridge.review.records")
local scheduler = require("gemini-bridge.editor.scheduler")
local store = require("gemini-bridge.disk.store")

local M = {}

local DIRECTORY = "gemini-bridge-drafts"
local SAVE_INTERVAL_MS = 1000

---@class gemini_bridge.Draft
---@field filePath string File that the proposal changes.
---@field content string Text as edited by the user.
---@field version? string Version of the file when the CLI got the text, see |path.version()|.

--- Content of this Neovim's draft file. nil if there is no file.
local saved ---@type gemini_bridge.Draft[]?
local is_following = false

---@param pid integer
---@return string
local function name_of(pid)
  return DIRECTORY .. "/" .. pid
end

--- Deletes the draft file of this Neovim.
function M.delete()
  if saved then
    store.delete(name_of(vim.fn.getpid()))
    saved = nil
  end
end

local function save()
  if vim.v.exiting ~= vim.NIL then
    return -- saved_texts.lua saves the drafts
  end
  local drafts = records.unsaved()
  is_following = #drafts > 0
  if not is_following then
    return M.delete()
  end
  local is_new = not vim.deep_equal(drafts, saved)
  -- On a full disk, tries again after the interval.
  if is_new and not store.write(name_of(vim.fn.getpid()), drafts) then
    saved = drafts
  end
  scheduler.after(SAVE_INTERVAL_MS, save)
end

--- Saves drafts now and every second, until there are no drafts.
function M.follow()
  if not is_following then
    save()
  end
end

---@param draft any
---@return boolean
local function is_draft(draft)
  return type(draft) == "table"
    and type(draft.filePath) == "string"
    and type(draft.content) == "string"
    and (draft.version == nil or type(draft.version) == "string")
end

--- Returns the drafts of Neovim processes that have ended, and deletes their files.
---@return gemini_bridge.Draft[]
function M.take_over()
  local drafts = {}
  for _, pid in ipairs(store.numbers(DIRECTORY)) do
    -- In a container, an ended Neovim may have had the process id of this Neovim.
    if vim.uv.kill(pid, 0) ~= 0 or pid == vim.fn.getpid() and not saved then
      store.expire(name_of(pid))
      local found = store.read_list(name_of(pid), is_draft)
      -- Several Neovims may read the same drafts at once. Only the process that deletes the file takes the drafts.
      if store.delete(name_of(pid)) then
        vim.list_extend(drafts, found)
      end
    end
  end
  return drafts
end

return M
