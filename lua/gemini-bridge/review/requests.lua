--- Implements the review functions for the Node host, the commands and the Lua API.
local auto_edit_hint = require("gemini-bridge.review.auto_edit_hint")
local choose = require("gemini-bridge.editor.choose")
local notify = require("gemini-bridge.notify")
local decision = require("gemini-bridge.review.decision")
local path = require("gemini-bridge.disk.path")
local records = require("gemini-bridge.review.records")
local create_review = require("gemini-bridge.review.create_review")
local saved_texts = require("gemini-bridge.review.saved_texts")
local screen = require("gemini-bridge.review.screen")
local staleness = require("gemini-bridge.review.staleness")
local status = require("gemini-bridge.bridge.status")

local M = {}

local last_id = 0

--- Returns where a review is shown if its tab page is not the current one.
---@param review gemini_bridge.Review
---@return string
local function place(review)
  local tab = review.view and review.view.tab
  if not tab or tab == vim.api.nvim_get_current_tabpage() then
    return ""
  end
  return (" in tab page %d"):format(vim.api.nvim_tabpage_get_number(tab))
end

--- Tells the user about a new review. Shortens the message to one line. After a longer message, Neovim would wait for
--- ENTER.
---@param review gemini_bridge.Review
local function announce(review)
  local waiting = #records.pending() - 1
  local who = #status.names() > 1 and status.plain(review.client, review.label) or review.label
  local rest = place(review) .. (waiting > 0 and (" (%d more waiting)"):format(waiting) or "")
  local room = vim.v.echospace - #who - #" proposes a change to " - #rest
  local name = path.display(review.filePath, math.max(room, 8))
  notify(("%s proposes a change to %s%s"):format(who, name, rest))
end

--- Opens a review. If the review is already open, replaces its text. Raises an error if the path is relative or names a
--- directory.
---@param params gemini_bridge.calls.diff_open
---@return { isPending: boolean } # False if the user decided before the text could be replaced.
function M.open(params)
  local pending = records.get(params.id)
  if pending then
    create_review.replace(pending, params)
    return { isPending = true }
  elseif params.id <= last_id then
    return { isPending = false }
  elseif params.filePath:sub(1, 1) ~= "/" then
    error("the path of a proposal must be absolute", 0)
  elseif vim.fn.isdirectory(params.filePath) == 1 then
    error(("%s is a directory"):format(params.filePath), 0)
  end
  last_id = params.id
  local review = create_review.create(params)
  announce(review)
  auto_edit_hint.count(review)
  return { isPending = true }
end

--- Returns a pending review. Raises an error if the review has ended.
---@param id integer
---@return gemini_bridge.Review
local function open_review(id)
  return records.get(id) or error("this review is closed already", 0)
end

--- Returns the current text of a proposal.
---@param params { id: integer }
---@return { content: string }
function M.read(params)
  return { content = records.content(open_review(params.id)) }
end

--- Returns the accepted text of a decision that the CLI has not received yet. Raises an error if there is no such
--- decision.
---@param params { id: integer }
---@return { content: string }
function M.read_accepted(params)
  local review = vim.iter(records.decided()):find(function(review)
    return review.id == params.id
  end) or error("this decision is already settled", 0)
  return { content = review.decision[2].content }
end

--- Handles the report of the Node host that a proposal is stale (the file has changed) or no longer stale.
---@param params gemini_bridge.calls.diff_update
function M.update(params)
  staleness.update(open_review(params.id), params.stale)
end

--- Messages for reviews that end without a decision, by reason.
local TEXTS = {
  cancelled = "%s has cancelled its edit. The review of %s was closed.",
  disconnected = "%s has disconnected. The review of %s was closed.",
}

--- Closes a review without a decision of the user.
---@param params gemini_bridge.calls.diff_close
---@return { content: string } # Text of the proposal with the user's edits.
function M.close(params)
  local review = open_review(params.id)
  local content = records.content(review)
  -- For the reason "cli", the CLI receives the edited text, but may still write nothing or another text. For the reason
  -- "written", the CLI has written the edited text or the proposal.
  local is_handed = params.reason == "cli" or params.reason == "written"
  decision.close(review, is_handed and content or nil)
  local text = TEXTS[params.reason]
  -- While the bridge stops, the host ends the connections itself.
  if text and status.get().state ~= "stopping" then
    notify(text:format(review.label, path.display(review.filePath, 18)))
  end
  return { content = content }
end

--- Closes all pending reviews without a decision of the user.
---@param reason "disconnected"|"stopped"
function M.close_all(reason)
  for _, review in ipairs(vim.list_slice(records.pending())) do
    M.close({ id = review.id, reason = reason })
  end
end

--- Returns the review that the current window belongs to.
---@param reviews gemini_bridge.Review[]
---@return gemini_bridge.Review?
local function current_review(reviews)
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  return vim.iter(reviews):find(function(review)
    local buffers = review.buffers
    return buffers ~= nil and buffers.proposal == buf or review.view ~= nil and review.view.original == win
  end)
end

--- Finds the pending review for a command, or tells the user that there is none. If there are several, uses the review
--- of the current window or asks the user.
---@param file? string Path of a file as the user types it. Only reviews of this file are considered.
---@param act fun(review: gemini_bridge.Review)
---@param otherwise? fun(): boolean Called if there is no pending review. Returns true if the user needs no message.
local function with_review(file, act, otherwise)
  local choices = vim.tbl_filter(function(review)
    return file == nil or path.is_same(file, review.filePath)
  end, records.pending())
  local meant = #choices == 1 and choices[1] or current_review(choices)
  if meant then
    act(meant)
    return
  elseif #choices == 0 and otherwise and otherwise() then
    return
  elseif #choices == 0 then
    notify(file and ("No pending proposal for %s."):format(path.display(file, 32)) or "No pending proposals.")
    return
  end
  choose(choices, {
    prompt = "Proposal:",
    format_item = function(review)
      return ("%s (%s)"):format(path.display(review.filePath), status.plain(review.client, review.label))
    end,
  }, function(choice)
    if choice and records.is_pending(choice) then
      act(choice)
    end
  end)
end

---@param opts gemini_bridge.DecisionOptions
function M.accept(opts)
  with_review(opts.path, function(review)
    decision.accept(review, "now", opts.force)
  end)
end

---@param opts gemini_bridge.DecisionOptions
---@param rejected fun(client: string) Called with the name of the CLI's terminal or MCP client.
function M.reject(opts, rejected)
  with_review(opts.path, function(review)
    if decision.reject(review, "now") then
      rejected(review.client)
    end
  end)
end

--- Returns true if a path names the file of a pending review.
---@param file string Path as the user types it.
---@return boolean
function M.is_reviewed(file)
  return vim.iter(records.pending()):any(function(review)
    return path.is_same(file, review.filePath)
  end)
end

--- Shows a review and moves the focus to the proposal. If no review is pending, shows the edits of an earlier review
--- that were not written.
---@param opts gemini_bridge.DecisionOptions
function M.review(opts)
  with_review(opts.path, screen.enter, function()
    return saved_texts.show(opts.path)
  end)
end

--- Returns the pending reviews for scripts.
---@return { filePath: string, client: string, label: string }[]
function M.list()
  return vim.tbl_map(function(review)
    return { filePath = review.filePath, client = review.client, label = review.label }
  end, records.pending())
end

--- Returns the highest review id used so far. A restarted Node host continues after this id.
---@return integer
function M.last_id()
  return last_id
end

return M
