--- What closing windows, deleting buffers and quitting mean for a review.
local decision = require("gemini-bridge.review.decision")
local leave = require("gemini-bridge.review.window.leave")
local notify = require("gemini-bridge.notify")
local origin = require("gemini-bridge.editor.origin")
local path = require("gemini-bridge.disk.path")
local proposal = require("gemini-bridge.review.proposal")
local queue = require("gemini-bridge.review.queue")
local safely = require("gemini-bridge.editor.safely")
local text = require("gemini-bridge.review.text")
local user_action = require("gemini-bridge.editor.user_action")
local window = require("gemini-bridge.editor.window")

local M = {}

---@alias gemini_bridge.On fun(event: string, callback: fun(args: table), anywhere?: boolean)

--- Neovim that quits decides nothing.
local function is_quitting()
  return vim.v.exiting ~= vim.NIL
end

--- Something else than the user has closed the review, or deleted its buffer: nothing is decided.
---@param review gemini_bridge.Review
local function stay_pending(review)
  vim.schedule(function()
    safely.run(function()
      if queue.has(review) then
        local was_shown = review.view ~= nil
        queue.park(review)
        queue.show_next()
        if not was_shown then
          return
        end
        local name = path.display(review.filePath, 24)
        notify(("The proposal for %s is still pending: :GeminiReview shows it again."):format(name))
      end
    end)
  end)
end

--- Rejects when the user closes the proposal's last window.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function reject_on_close(review, on)
  local buf = review.buffers.proposal

  on("WinClosed", function(args)
    local closing = tonumber(args.match) --[[@as integer]]
    if window.is_closing(closing) or not vim.deep_equal(vim.fn.win_findbuf(buf), { closing }) then
      return
    elseif review.view and closing == vim.api.nvim_get_current_win() then
      review.view.arrive = origin.pass()
    end
    if is_quitting() then
      return
    elseif user_action.is_own() then
      decision.reject(review, "after")
    else
      stay_pending(review)
    end
  end, true)

  on("BufUnload", function()
    if is_quitting() then
      return
    end
    local content = decision.content(review)
    -- Also of a review that has ended and waits for the end of Insert mode.
    review.edited = content ~= review.proposed and content or nil
    -- `:edit!` unloads, too, and is answered by BufReadCmd.
    vim.schedule(function()
      if queue.has(review) and not proposal.is_whole(review.buffers) then
        stay_pending(review)
      end
    end)
  end)

  on("BufReadCmd", function()
    if vim.b[buf].gemini_diff then
      review.edited = nil -- given up by `:edit!`
    end
    text.write(buf, review.proposed)
  end)
end

--- The user has put another buffer into the window: it is theirs now, and :GeminiReview brings the review back.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function park_on_hide(review, on)
  local function park()
    if queue.has(review) and review.view and #vim.fn.win_findbuf(review.buffers.proposal) == 0 then
      queue.park(review)
      queue.show_next()
    end
  end
  on("BufHidden", function()
    vim.schedule(function()
      safely.run(park)
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
      if queue.has(review) then
        vim.bo[buf].modified = modified
      end
    end)
  end, true)

  on("QuitPre", function()
    if not (review.view and leave.is_alone(review.view)) then
      return
    end
    local spare = leave.add_window(review.view)
    vim.schedule(function()
      if queue.has(review) and vim.api.nvim_win_is_valid(spare) then
        window.close(spare)
      end
    end)
  end)
end

--- A session that is saved on VimLeavePre holds none of our windows: this event comes before it, and only once Neovim
--- is sure to end.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function leave_no_trace(review, on)
  on("BufWinLeave", function()
    if is_quitting() and review.view then
      local view = review.view
      review.view = nil
      leave.close(view)
    end
  end, true)
end

--- Watches what may end a review. The autocommands are those of `on`, and end with them.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On For the proposal's buffer, or `anywhere`.
function M.watch(review, on)
  reject_on_close(review, on)
  park_on_hide(review, on)
  quit_freely(review, on)
  leave_no_trace(review, on)
end

return M
