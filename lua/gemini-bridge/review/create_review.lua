--- Creates reviews: record, buffers, key mappings and listeners.
local close_events = require("gemini-bridge.review.close_events")
local decision = require("gemini-bridge.review.decision")
local hunk_updates = require("gemini-bridge.review.hunk_updates")
local keys = require("gemini-bridge.review.keys")
local close_windows = require("gemini-bridge.review.window.close_windows")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local proposal = require("gemini-bridge.review.proposal")
local records = require("gemini-bridge.review.records")
local scheduler = require("gemini-bridge.editor.scheduler")
local screen = require("gemini-bridge.review.screen")
local next_review = require("gemini-bridge.review.next_review")
local staleness = require("gemini-bridge.review.staleness")
local text = require("gemini-bridge.review.text")
local user_action = require("gemini-bridge.editor.user_action")
local open_windows = require("gemini-bridge.review.window.open_windows")
local window = require("gemini-bridge.editor.window")
local winbar = require("gemini-bridge.review.window.winbar")
local typed_write = require("gemini-bridge.review.typed_write")

local M = {}

--- Updates a review when the user leaves, splits or resizes windows or shows another buffer in a window.
---@param review gemini_bridge.Review
---@param on gemini_bridge.On
local function follow_windows(review, on)
  on("WinLeave", function()
    if review.view then
      open_windows.note_borrowed(review.view)
    end
  end, true)
  on("BufWinEnter", function()
    local shown = review.view
    if
      shown
      and shown.original == vim.api.nvim_get_current_win()
      and vim.api.nvim_get_current_buf() ~= review.buffers.original
    then
      close_windows.release_original(shown)
      -- Shows removed lines as virtual lines, because no other window shows the original text now.
      shown.inline = true
      hunk_updates.update(review)
    end
  end, true)
  on("WinNew", function()
    local shown, win = review.view, vim.api.nvim_get_current_win()
    -- The user has opened a second window for the original text. Resets the diff options that Neovim has copied to the
    -- new window.
    if
      shown
      and shown.original ~= win
      and vim.api.nvim_get_current_buf() == review.buffers.original
      and not review.buffers.copied
    then
      close_windows.make_ordinary(shown.borrowed, win)
    end
  end, true)
  on("WinResized", function()
    if review.view then
      open_windows.note_halves(review.view)
    end
    winbar.update(review)
  end, true)
  on("VimResized", function()
    if review.view then
      open_windows.halve(review.view)
    end
  end, true)
end

---@param review gemini_bridge.Review
local function listen(review)
  local buf = review.buffers.proposal
  review.group = vim.api.nvim_create_augroup("gemini-bridge.review." .. review.id, {})
  local function on(event, callback, anywhere)
    vim.api.nvim_create_autocmd(
      event,
      { group = review.group, buffer = not anywhere and buf or nil, callback = callback }
    )
  end
  close_events.listen(review, on)
  follow_windows(review, on)
  hunk_updates.follow(review, buf)
  hunk_updates.follow(review, review.buffers.original)
  review.stops = {
    user_action.watch(),
    typed_write.watch(buf, review.group, function(force)
      return decision.accept_by_write(review, "next", force)
    end),
    staleness.watch(review),
    function()
      vim.api.nvim_del_augroup_by_id(review.group)
    end,
  }
end

--- Does the slow part of opening a review: runs file type plugins and counts hunks. Runs after the answer to the Node
--- host, so that the host does not wait.
---@param review gemini_bridge.Review
local function complete(review)
  if not records.is_pending(review) or not vim.api.nvim_buf_is_loaded(review.buffers.proposal) then
    return
  end
  proposal.set_filetypes(review)
  if review.view then
    open_windows.align(review.view)
  end
  keys.map(review)
  hunk_updates.update(review)
  screen.scroll_to_first_hunk(review)
  -- Announces the review last, so that scripts can override keys and options.
  decision.announce(review)
  if records.is_pending(review) then
    keys.hold(review)
  end
end

---@param review gemini_bridge.Review
local function make(review)
  -- Removes buffers and listeners of an earlier call for the same review.
  proposal.stop_listeners(review)
  proposal.delete_buffers(review)
  review.counted, review.hunks = nil, {}
  review.buffers = proposal.buffers(review)
  review.written = text.state(review.buffers.proposal)
  if review.unloaded then
    text.write(review.buffers.proposal, review.unloaded)
    review.unloaded = nil
  end
  listen(review)
  scheduler.next(function()
    complete(review)
  end)
end

--- Creates a pending review. Adds buffers and windows as soon as Neovim allows changes.
---@param params gemini_bridge.calls.diff_open
---@return gemini_bridge.Review
function M.create(params)
  local review = { ---@type gemini_bridge.Review
    id = params.id,
    filePath = params.filePath,
    client = params.client,
    label = params.label,
    state = "waiting",
    version = path.version(params.filePath),
    proposed = params.newContent,
    is_users = records.take_handed(params.filePath, params.newContent),
    text_id = params.textId,
    replaced = {},
    hunks = {},
    stale = false,
    stops = {},
    make = function() end,
  }
  review.make = function()
    make(review)
  end
  records.add(review)
  scheduler.now(function()
    -- The buffers may already exist: an earlier step that waited with this step may have shown the review.
    if records.is_pending(review) and not review.buffers then
      make(review)
    end
  end)
  screen.show_waiting()
  next_review.take(review)
  return review
end

--- Replaces the text of an open proposal with a new proposal of the CLI. Warns a user who has seen or edited the
--- earlier text.
---@param review gemini_bridge.Review
---@param params { newContent: string, textId: string }
function M.replace(review, params)
  local content = records.content(review)
  local is_edited = records.is_edited(review, content)
  if is_edited then
    table.insert(review.replaced, content)
  end
  local is_seen = is_edited or review.view ~= nil and review.view.visited
  review.proposed, review.text_id, review.written = params.newContent, params.textId, nil
  review.is_users = false
  if is_seen then
    review.is_replaced = true
    local undo = is_edited and " Undo (u) restores your text." or ""
    notify(
      ("%s has replaced its proposal for %s.%s"):format(review.label, path.display(review.filePath, 24), undo),
      "warn"
    )
  end
  scheduler.now(function()
    if records.is_pending(review) then
      if not review.buffers or not proposal.is_loaded(review.buffers) then
        review.make() -- a script may have unloaded the buffers
      end
      -- Starts a new undo step. In Insert mode, undo would otherwise remove the new text together with the user's
      -- typing.
      vim.api.nvim_buf_call(review.buffers.proposal, window.end_undo_step)
      text.write(review.buffers.proposal, review.proposed)
      review.written, review.newline = text.state(review.buffers.proposal), nil
      scheduler.next(function()
        hunk_updates.update(review)
      end)
    end
  end)
end

return M
