--- Updates hunks, marks and winbar of a review when one of its texts changes.
local diff_hunks = require("gemini-bridge.review.diff_hunks")
local drafts = require("gemini-bridge.review.drafts")
local lost_characters = require("gemini-bridge.review.lost_characters")
local old_lines = require("gemini-bridge.difference.old_lines")
local proposal = require("gemini-bridge.review.proposal")
local records = require("gemini-bridge.review.records")
local scheduler = require("gemini-bridge.editor.scheduler")
local winbar = require("gemini-bridge.review.window.winbar")

local M = {}

--- Delay between the first change of a text and counting the hunks. Later changes do not extend the delay.
local COUNT_DELAY_MS = 50

--- Updates hunks, marks and winbar of a review now.
---@param review gemini_bridge.Review
function M.update(review)
  local buffers = review.buffers
  if not records.is_pending(review) or not buffers or not vim.api.nvim_buf_is_loaded(buffers.proposal) then
    return
  end
  -- Without the original text, dropping a hunk would delete its lines.
  proposal.replace_wiped_original(review)
  diff_hunks.count(review)
  diff_hunks.update_kept(buffers.proposal, review.hunks)
  diff_hunks.follow_newline(review)
  if review.view and review.view.inline then
    old_lines.show(buffers.proposal, review.hunks, diff_hunks.lines(buffers.original))
  end
  review.has_lost_characters = lost_characters.found(review)
  winbar.update(review)
end

--- Listens to a buffer of a review. Shortly after each change, updates hunks, marks and winbar, and copies the edited
--- text.
---@param review gemini_bridge.Review
---@param buf integer
function M.follow(review, buf)
  local update = scheduler.coalesce(function()
    records.copy_edits(review)
    if review.unloaded then
      drafts.follow()
    end
    M.update(review)
  end, COUNT_DELAY_MS)
  local function changed()
    -- After the end of a review, listens only to the proposal buffer: the user may still be typing there.
    if not records.is_pending(review) and buf ~= review.buffers.proposal then
      return true
    end
    update()
  end
  vim.api.nvim_buf_attach(buf, false, { on_lines = changed, on_reload = changed })
end

return M
