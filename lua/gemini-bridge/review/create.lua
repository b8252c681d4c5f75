--- One review from its first moment: its buffers, its keys and everything that may end it.
local closing = require("gemini-bridge.review.closing")
local config = require("gemini-bridge.config")
local focus = require("gemini-bridge.editor.origin")
local hunks = require("gemini-bridge.review.hunks")
local keys = require("gemini-bridge.review.keys")
local notify = require("gemini-bridge.notify")
local outcome = require("gemini-bridge.review.outcome")
local pending = require("gemini-bridge.review.queue")
local proposal = require("gemini-bridge.review.proposal")
local stale = require("gemini-bridge.review.stale")
local text = require("gemini-bridge.review.text")
local turn = require("gemini-bridge.editor.turn")
local window = require("gemini-bridge.editor.window")
local winbar = require("gemini-bridge.review.window.winbar")
local write = require("gemini-bridge.review.write")

local M = {}

--- How long changes of the text are collected before hunks are counted again (milliseconds).
local COUNT_AFTER = 50

--- `:w` and its like.
---@param review gemini_bridge.Review
---@param force boolean
---@return boolean accepted
local function accept_by_write(review, force)
  if not config.get().diff.write_accepts then
    notify("Writing does not accept a proposal: use :GeminiAccept or :GeminiReject.", "warn")
    return false
  end
  return outcome.accept(review, force)
end

--- Counts the hunks again, soon.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function follow_text(review, on)
  local waiting = false
  local function changed()
    if not pending.has(review) then
      return true
    end
    if not waiting then
      waiting = true
      vim.defer_fn(function()
        waiting = false
        review.refresh()
      end, COUNT_AFTER)
    end
  end
  for _, buf in ipairs({ review.buffers.original, review.buffers.proposal }) do
    vim.api.nvim_buf_attach(buf, false, { on_lines = changed, on_reload = changed })
  end

  -- The file's own window follows the proposal's cursor: where the user left it counts.
  on("WinLeave", function()
    local borrowed = review.view and review.view.borrowed
    if
      borrowed
      and borrowed.win == vim.api.nvim_get_current_win()
      and borrowed.buf == review.buffers.original
    then
      borrowed.view = window.view(borrowed.win)
    end
  end, true)
end

---@param review gemini_bridge.Review
local function map_keys(review)
  local function decide(ended)
    if ended then
      outcome.dismiss(review, true)
    end
  end
  keys.map(review, {
    accept = function()
      decide(outcome.accept(review))
    end,
    reject = function()
      decide(outcome.reject(review))
    end,
    write = function()
      decide(accept_by_write(review, false))
    end,
  })
end

--- Creates a review that is pending but not yet on the screen. What can wait follows in the editor's next turn.
---@param params { id: integer, filePath: string, newContent: string, client: string }
---@return gemini_bridge.Review
function M.create(params)
  local original, copied = proposal.original(params.id, params.filePath)
  local buf = proposal.create(params.id, params.filePath, params.newContent)
  local group = vim.api.nvim_create_augroup("gemini-bridge.review." .. params.id, {})
  local review = { ---@type gemini_bridge.Review
    id = params.id,
    filePath = params.filePath,
    client = params.client,
    proposed = params.newContent,
    written = text.state(buf),
    buffers = { original = original, proposal = buf, copied = copied },
    group = group,
    hunks = {},
    stale = false,
    parked = false,
  }

  --- Whether the final newline goes with the last hunk, so that dropping that drops it, too.
  local newline_follows ---@type boolean?

  function review.refresh()
    if
      not (pending.has(review) and vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_is_loaded(original))
    then
      return
    end
    local ticks = { vim.b[original].changedtick, vim.b[buf].changedtick }
    if not vim.deep_equal(ticks, review.counted) then
      review.counted, review.hunks = ticks, hunks.list(original, buf)
    end
    hunks.update_kept(buf, review.hunks)
    local reach_end = hunks.reach_end(review.hunks, original, buf)
    if newline_follows == nil then
      newline_follows = reach_end and vim.bo[buf].endofline ~= vim.bo[original].endofline
    end
    if newline_follows then
      local proposed = text.decode(review.proposed).endofline
      vim.bo[buf].endofline = reach_end and proposed or not reach_end and vim.bo[original].endofline
    end
    winbar.update(review)
  end

  local function on(event, callback, anywhere)
    vim.api.nvim_create_autocmd(
      event,
      { group = group, buffer = not anywhere and buf or nil, callback = callback }
    )
  end

  pending.add(review)
  closing.watch(review, on)
  follow_text(review, on)
  local stop_writes = write.watch(buf, group, function(force)
    local accepted = accept_by_write(review, force)
    if accepted then
      vim.schedule(function()
        outcome.dismiss(review, true)
      end)
    end
    return accepted
  end)
  local stop_disk = stale.watch(review)
  function review.stop()
    stop_writes()
    stop_disk()
    pcall(vim.api.nvim_del_augroup_by_id, group)
  end

  -- Not before the request is answered: a file type's plugins take a millisecond, hunks 10 ms for each MB.
  turn.next(function()
    if not pending.has(review) then
      return
    end
    proposal.set_filetype(buf, review.filePath)
    if copied then
      proposal.set_filetype(original, review.filePath)
    end
    map_keys(review)
    review.refresh()
    pending.scroll_to_first_hunk(review)
    -- Last, so that a script finds all of it, and its own keys and options stay.
    outcome.opened(review)
  end)
  return review
end

--- Goes to a review, which is shown first when it is not on the screen.
---@param review gemini_bridge.Review
function M.enter(review)
  local here = focus.here()
  if not review.view and not pending.show(review) then
    return
  end
  local origin = review.view.origin
  if here.win == review.view.proposal then
    return
  elseif here.win ~= origin.win or here.mode ~= "nt" then
    -- Whoever has left Terminal mode only to come here goes back into it.
    review.view.origin = here
  end
  focus.go(review.view.proposal)
  review.refresh()
  local first = review.hunks[1]
  if first and not review.view.visited then
    vim.api.nvim_win_set_cursor(review.view.proposal, { hunks.line(first), 0 })
  end
  review.view.visited = true
end

return M
