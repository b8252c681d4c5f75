--- Keeps what is said of a review's hunks up to date while its texts change.
local hunks = require("gemini-bridge.review.hunks")
local inline = require("gemini-bridge.review.inline")
local newline = require("gemini-bridge.review.newline")
local queue = require("gemini-bridge.review.queue")
local winbar = require("gemini-bridge.review.window.winbar")

local M = {}

--- How long changes of a text are collected before hunks are counted again (milliseconds).
local COUNT_AFTER = 50

--- Brings hunks and winbar up to date now.
---@param review gemini_bridge.Review
function M.update(review)
  local buffers = review.buffers
  if
    not queue.has(review)
    or not (vim.api.nvim_buf_is_loaded(buffers.proposal) and vim.api.nvim_buf_is_loaded(buffers.original))
  then
    return
  end
  hunks.count(review)
  hunks.update_kept(buffers.proposal, review.hunks)
  newline.follow(review)
  inline.update(review)
  winbar.update(review)
end

--- Brings them up to date after each change of a buffer, soon.
---@param review gemini_bridge.Review
---@param buf integer
function M.text(review, buf)
  local waiting = false
  local function changed()
    if not queue.has(review) then
      return true
    end
    if not waiting then
      waiting = true
      vim.defer_fn(function()
        waiting = false
        M.update(review)
      end, COUNT_AFTER)
    end
  end
  vim.api.nvim_buf_attach(buf, false, { on_lines = changed, on_reload = changed })
end

return M
