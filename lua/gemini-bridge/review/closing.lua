--- What closing windows, deleting buffers and quitting mean for a review.
local outcome = require("gemini-bridge.review.outcome")
local pending = require("gemini-bridge.review.queue")
local text = require("gemini-bridge.review.text")
local view = require("gemini-bridge.review.window.view")

local M = {}

---@alias gemini_bridge.On fun(event: string, callback: fun(args: table), anywhere?: boolean)

--- Rejects when the proposal's last window or its buffer goes.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function reject_on_close(review, on)
  local buf = review.buffers.proposal

  local function reject()
    -- Neovim that quits decides nothing.
    if vim.v.exiting == vim.NIL and outcome.reject(review) then
      -- Not before the command that closes it is over.
      vim.schedule(function()
        outcome.dismiss(review, true)
      end)
    end
  end

  on("WinClosed", function(args)
    local closing = tonumber(args.match)
    if not vim.deep_equal(vim.fn.win_findbuf(buf), { closing }) then
      return
    elseif review.view then
      review.view.left = closing == vim.api.nvim_get_current_win()
    end
    reject()
  end, true)

  on("BufUnload", function()
    -- `:edit!` unloads, too, and is answered by BufReadCmd.
    vim.schedule(function()
      if not vim.api.nvim_buf_is_loaded(buf) then
        reject()
      end
    end)
  end)

  on("BufReadCmd", function()
    text.write(buf, review.proposed)
  end)

  -- The user has put another buffer into the window: it is theirs now, and :GeminiReview brings the review back.
  on("BufHidden", function()
    vim.schedule(function()
      if pending.has(review) and review.view and #vim.fn.win_findbuf(buf) == 0 then
        review.parked = true
        view.close(review.view)
        review.view = nil
        pending.show_next()
      end
    end)
  end)
end

--- `:qall` and its like must not stop at a proposal that was edited, and `:q` in the last window must not end Neovim.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function quit_freely(review, on)
  local buf = review.buffers.proposal

  on("ExitPre", function()
    local modified = vim.bo[buf].modified
    vim.bo[buf].modified = false
    vim.schedule(function()
      if pending.has(review) then
        vim.bo[buf].modified = modified
      end
    end)
  end, true)

  on("QuitPre", function()
    if not (review.view and view.is_alone(review.view)) then
      return
    end
    local spare = view.add_window(review.view)
    vim.schedule(function()
      if pending.has(review) and vim.api.nvim_win_is_valid(spare) then
        vim.api.nvim_win_close(spare, true)
      end
    end)
  end)
end

--- Watches what may end a review. The autocommands are those of `on`, and end with them.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On For the proposal's buffer, or `anywhere`.
function M.watch(review, on)
  reject_on_close(review, on)
  quit_freely(review, on)
end

return M
