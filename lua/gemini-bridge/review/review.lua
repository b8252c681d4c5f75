--- One review from its first moment: its buffers, its keys and everything that may end it.
local closing = require("gemini-bridge.review.closing")
local config = require("gemini-bridge.config")
local decision = require("gemini-bridge.review.decision")
local follow = require("gemini-bridge.review.follow")
local hunks = require("gemini-bridge.review.hunks")
local keys = require("gemini-bridge.review.keys")
local leave = require("gemini-bridge.review.window.leave")
local notify = require("gemini-bridge.notify")
local origin = require("gemini-bridge.editor.origin")
local path = require("gemini-bridge.disk.path")
local proposal = require("gemini-bridge.review.proposal")
local queue = require("gemini-bridge.review.queue")
local safely = require("gemini-bridge.editor.safely")
local series = require("gemini-bridge.review.series")
local stale = require("gemini-bridge.review.stale")
local text = require("gemini-bridge.review.text")
local turn = require("gemini-bridge.editor.turn")
local user_action = require("gemini-bridge.editor.user_action")
local view = require("gemini-bridge.review.window.view")
local window = require("gemini-bridge.editor.window")
local winbar = require("gemini-bridge.review.window.winbar")
local write = require("gemini-bridge.review.write")

local M = {}

--- `:w` and its like.
---@param review gemini_bridge.Review
---@param when gemini_bridge.When
---@param force boolean
---@return boolean accepted
local function accept_by_write(review, when, force)
  if not config.get().diff.write_accepts then
    notify("Writing does not accept a proposal: use :GeminiAccept or :GeminiReject.", "warn")
    return false
  end
  return decision.accept(review, when, force)
end

---@param review gemini_bridge.Review
local function map_keys(review)
  keys.map(review, {
    accept = function()
      decision.accept(review, "now")
    end,
    reject = function()
      decision.reject(review, "now")
    end,
    write = function()
      accept_by_write(review, "now", false)
    end,
  })
end

--- What may decide a review, and what it depends on.
---@param review gemini_bridge.Review
local function watch(review)
  local buf = review.buffers.proposal
  local function on(event, callback, anywhere)
    vim.api.nvim_create_autocmd(
      event,
      { group = review.group, buffer = not anywhere and buf or nil, callback = callback }
    )
  end
  closing.watch(review, on)
  on("WinLeave", function()
    if review.view then
      view.note_borrowed(review.view)
    end
  end, true)
  on("BufWinEnter", function()
    local shown = review.view
    if shown and shown.original == vim.api.nvim_get_current_win() then
      if vim.api.nvim_get_current_buf() ~= review.buffers.original then
        leave.release_original(shown)
        -- The proposal goes on alone, with its changes marked in it.
        shown.inline = true
        if queue.view(review) then
          follow.update(review)
        end
      end
    end
  end, true)
  on("WinNew", function()
    local shown, win = review.view, vim.api.nvim_get_current_win()
    -- A split of the file's window is no part of the comparison.
    if
      shown
      and shown.original ~= win
      and vim.api.nvim_get_current_buf() == review.buffers.original
      and not review.buffers.copied
    then
      leave.make_ordinary(shown.borrowed, win)
    end
  end, true)
  on("WinResized", function()
    winbar.update(review)
  end, true)
  follow.text(review, buf)
  follow.text(review, review.buffers.original)
  review.stops = {
    user_action.watch(),
    write.watch(buf, review.group, function(force)
      return accept_by_write(review, "after", force)
    end),
    stale.watch(review),
    function()
      vim.api.nvim_del_augroup_by_id(review.group)
    end,
  }
end

--- What can wait until the request is answered: a file type's plugins and the hunks of a long text take their time.
---@param review gemini_bridge.Review
local function dress(review)
  if not queue.has(review) then
    return
  end
  proposal.set_filetypes(review)
  if review.view then
    view.align(review.view)
  end
  map_keys(review)
  follow.update(review)
  queue.scroll_to_first_hunk(review)
  -- Last, so that a script finds all of it, and its own keys and options stay.
  decision.opened(review)
end

---@param review gemini_bridge.Review
local function make(review)
  if not queue.has(review) then
    return
  end
  review.version = review.version or path.version(review.filePath)
  review.buffers = proposal.buffers(review)
  review.written = text.state(review.buffers.proposal)
  if review.edited then
    text.write(review.buffers.proposal, review.edited)
    review.edited = nil
  end
  watch(review)
  turn.next(function()
    safely.run(function()
      dress(review)
    end)
  end)
end

--- Creates the buffers of a pending review anew, after something has deleted them.
---@param review gemini_bridge.Review
local function remake(review)
  for _, stop in ipairs(review.stops) do
    safely.attempt(stop)
  end
  window.delete_buffer(review.buffers.proposal)
  if review.buffers.copied then
    window.delete_buffer(review.buffers.original)
  end
  review.group = vim.api.nvim_create_augroup("gemini-bridge.review." .. review.id, {})
  review.counted, review.hunks = nil, {}
  make(review)
end

--- Goes to a review, which is shown first when it is not on the screen.
---@param review gemini_bridge.Review
function M.enter(review)
  local here = vim.api.nvim_get_current_win()
  if not proposal.is_whole(review.buffers) then
    remake(review)
  end
  if not queue.view(review) and not queue.show(review) then
    return
  elseif here == review.view.proposal then
    return
  end
  review.view.origin = here
  origin.go(review.view.proposal)
  follow.update(review)
  local first = review.hunks[1]
  if first and not review.view.visited then
    vim.api.nvim_win_set_cursor(review.view.proposal, { hunks.line(first), 0 })
  end
  review.view.visited = true
end

--- Goes to a review as soon as windows may be touched, unless it has ended by then.
---@param review gemini_bridge.Review
local function enter_soon(review)
  safely.run(function()
    if queue.has(review) then
      M.enter(review)
    end
  end)
end

--- Shows the reviews that wait. A user who has decided inside a proposal goes on to the next one.
---@param review gemini_bridge.Review The one that has ended.
---@param place integer Its former place in the queue.
---@param in_series boolean Whether the user decided it in its window.
local function go_on(review, place, in_series)
  queue.show_next()
  local next_review = in_series and series.next(place)
  if next_review then
    enter_soon(next_review)
  elseif in_series then
    series.expect(review.client)
  end
end

--- Creates a review that is pending. Its buffers follow as soon as buffers may be touched.
---@param params { id: integer, filePath: string, newContent: string, textId: string, client: string, label: string }
---@return gemini_bridge.Review
function M.create(params)
  local review = { ---@type gemini_bridge.Review
    id = params.id,
    filePath = params.filePath,
    client = params.client,
    label = params.label,
    proposed = params.newContent,
    text_id = params.textId,
    group = vim.api.nvim_create_augroup("gemini-bridge.review." .. params.id, {}),
    hunks = {},
    stale = false,
    parked = false,
    stops = {},
    dismissed = go_on,
  }
  queue.add(review)
  local follows = series.continues(review)
  safely.run(function()
    make(review)
  end)
  queue.show_next()
  if follows then
    enter_soon(review)
  end
  return review
end

--- Puts another text in the place of the proposed one. A user who has seen or edited that is told; undo brings it back.
---@param review gemini_bridge.Review
---@param params { newContent: string, textId: string }
function M.replace(review, params)
  local is_edited = decision.content(review) ~= review.proposed
  local is_seen = is_edited or review.view ~= nil and review.view.visited
  review.proposed, review.text_id, review.written = params.newContent, params.textId, nil
  if is_seen then
    review.is_replaced = true
    local undo = is_edited and " Undo brings your text back." or ""
    notify(
      ("%s has proposed another text for %s.%s"):format(review.label, path.display(review.filePath, 24), undo),
      "warn"
    )
  end
  safely.run(function()
    if queue.has(review) and review.buffers then
      text.write(review.buffers.proposal, review.proposed)
      review.written = text.state(review.buffers.proposal)
      turn.next(function()
        follow.update(review)
      end)
    end
  end)
end

return M
