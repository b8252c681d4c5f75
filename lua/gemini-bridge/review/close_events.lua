--- Handles events that close the windows or buffers of a review. If the user closes the proposal, rejects it. If a
--- script closes the proposal, the review stays pending without windows. If Neovim exits, ends the review without a
--- decision.
local decision = require("gemini-bridge.review.decision")
local close_windows = require("gemini-bridge.review.window.close_windows")
local notify = require("gemini-bridge.notify")
local focus = require("gemini-bridge.editor.focus_and_mode")
local path = require("gemini-bridge.disk.path")
local proposal = require("gemini-bridge.review.proposal")
local records = require("gemini-bridge.review.records")
local scheduler = require("gemini-bridge.editor.scheduler")
local screen = require("gemini-bridge.review.screen")
local text = require("gemini-bridge.review.text")
local user_action = require("gemini-bridge.editor.user_action")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Function that adds an autocommand for the proposal buffer, or for all buffers if `anywhere` is true.
---@alias gemini_bridge.On fun(event: string, callback: fun(args: table), anywhere?: boolean)

--- Returns true if Neovim is exiting. A window that closes during the exit is no decision of the user.
local function is_quitting()
  return vim.v.exiting ~= vim.NIL
end

--- Keeps a review pending, but without windows, after a script or plugin has closed the proposal, or after another
--- buffer has replaced it.
---@param review gemini_bridge.Review
local function stay_pending(review)
  scheduler.next(function()
    if not records.is_pending(review) then
      return
    end
    local was_shown = review.view ~= nil
    screen.park(review)
    screen.show_waiting()
    if was_shown then
      local name = path.display(review.filePath, 24)
      notify(("The proposal for %s was closed but not rejected: :GeminiReview shows it again."):format(name))
    end
  end)
end

--- Rejects the review when the user closes the last window of the proposal. If a script or plugin closes that window or
--- unloads the proposal buffer, the review stays pending.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function reject_on_close(review, on)
  local buf = review.buffers.proposal

  on("WinClosed", function(args)
    local closing = tonumber(args.match) --[[@as integer]]
    local is_last = vim.deep_equal(vim.fn.win_findbuf(buf), { closing })
    if review.view and (is_last or closing == review.view.original) then
      -- Ends diff mode before the window closes. Otherwise, Neovim would remember the diff options for the next window
      -- of the file, and "closeoff" in 'diffopt' would change the global option 'scrollopt'.
      close_windows.end_comparison(review.view)
    end
    if window.is_closing(closing) or not is_last then
      return
    elseif review.view and closing == vim.api.nvim_get_current_win() then
      review.view.end_move = focus.begin_move()
    end
    if is_quitting() then
      return
    elseif user_action.closes(closing) then
      decision.reject(review, "next")
    else
      stay_pending(review)
    end
  end, true)

  on("BufUnload", function()
    if is_quitting() then
      return
    end
    -- Copies the edits of ended reviews, too: an ended proposal stays open while the user is typing in its buffer.
    records.copy_edits(review)
    scheduler.next(function()
      -- Checks in the next tick, because BufUnload also fires for `:edit!`, which then loads the buffer again.
      if records.is_pending(review) and not proposal.is_loaded(review.buffers) then
        stay_pending(review)
      end
    end)
  end)

  on("BufReadCmd", function()
    if vim.b[buf].gemini_diff then
      review.unloaded = nil -- `:edit!` discards the user's text
    end
    text.write(buf, review.proposed)
  end)
end

--- Keeps a review pending, but without windows, when the user shows another buffer in the proposal window.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function park_on_hide(review, on)
  on("BufHidden", function()
    scheduler.next(function()
      if #vim.fn.win_findbuf(review.buffers.proposal) == 0 then
        stay_pending(review)
      end
    end)
  end)
end

--- Lets `:qall` exit Neovim in spite of an edited proposal. Lets `:q` in the last window close the review without
--- exiting Neovim.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function allow_quit(review, on)
  local buf = review.buffers.proposal

  on("ExitPre", function()
    local modified = vim.bo[buf].modified
    vim.bo[buf].modified = false
    scheduler.next(function()
      if records.is_pending(review) and vim.api.nvim_buf_is_valid(buf) then
        vim.bo[buf].modified = modified
      end
    end)
  end, true)

  on("QuitPre", function()
    if not (review.view and close_windows.is_alone(review.view)) then
      return
    end
    local spare = close_windows.add_window(review.view)
    scheduler.next(function()
      local is_shown = #vim.fn.win_findbuf(buf) > 0
      if records.is_pending(review) and is_shown and vim.api.nvim_win_is_valid(spare) then
        window.close(spare)
      end
    end)
  end)
end

--- Closes the windows of a review when Neovim exits. Uses BufWinLeave, because plugins save the session later, at
--- VimLeavePre.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function close_before_exit(review, on)
  on("BufWinLeave", function()
    if is_quitting() then
      screen.close(review)
    end
  end, true)
end

--- Adds autocommands for all events that may close a review.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
function M.listen(review, on)
  reject_on_close(review, on)
  park_on_hide(review, on)
  allow_quit(review, on)
  close_before_exit(review, on)
end

return M
