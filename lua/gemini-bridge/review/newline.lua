--- The final newline of a proposal, which is no line and so in no hunk of Neovim's: it goes with the last one.
local hunks = require("gemini-bridge.review.hunks")
local text = require("gemini-bridge.review.text")

local M = {}

--- Where file and proposal end differently, the proposal ends as the file does once its last hunk has been dropped.
---@param review gemini_bridge.Review
function M.follow(review)
  local original, proposal = review.buffers.original, review.buffers.proposal
  if not (vim.api.nvim_buf_is_loaded(original) and vim.api.nvim_buf_is_loaded(proposal)) then
    return
  end
  local theirs = text.ends_a_line(review.proposed)
  local ours = vim.bo[original].endofline
  if theirs == ours then
    return
  end
  hunks.count(review)
  local reach_end = hunks.reach_end(review.hunks, original, proposal)
  if review.newline_follows == nil then
    review.newline_follows = reach_end
  end
  if review.newline_follows then
    vim.bo[proposal].endofline = reach_end and theirs or not reach_end and ours
  end
end

return M
