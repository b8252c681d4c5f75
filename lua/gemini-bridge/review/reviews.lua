--- Reviews of proposed changes: what the host, the commands and the public API ask of them.
local notify = require("gemini-bridge.notify")
local decision = require("gemini-bridge.review.decision")
local kept = require("gemini-bridge.review.kept")
local path = require("gemini-bridge.disk.path")
local records = require("gemini-bridge.review.records")
local life = require("gemini-bridge.review.review")
local scheduler = require("gemini-bridge.editor.scheduler")
local screen = require("gemini-bridge.review.screen")
local stale = require("gemini-bridge.review.stale")
local status = require("gemini-bridge.bridge.status")

local M = {}

local last_id = 0

--- One line, so that it never asks to press ENTER.
---@param review gemini_bridge.Review
local function announce(review)
  local waiting = #records.pending() - 1
  local who = #status.names() > 1 and status.plain(review.client, review.label) or review.label
  local what = who .. " proposes a change to "
  local rest = waiting > 0 and (" (%d more waiting)"):format(waiting) or ""
  local room = vim.v.echospace - #what - #rest
  notify(what .. path.display(review.filePath, math.max(room, 8)) .. rest)
end

kept.save_on_exit(function()
  local texts = {}
  for _, review in ipairs(records.pending()) do
    for _, edits in ipairs(records.edits(review)) do
      table.insert(texts, { filePath = review.filePath, content = edits })
    end
  end
  return texts
end)

--- Opens a review, or replaces the text of a pending one. Raises an error that says why a review cannot be shown.
---@param params gemini_bridge.calls.diff_open
---@return { isPending: boolean } # False if the user has decided before the text could be replaced.
function M.open(params)
  local pending = records.get(params.id)
  if pending then
    life.replace(pending, params)
    return { isPending = true }
  elseif params.id <= last_id then
    return { isPending = false }
  elseif params.filePath:sub(1, 1) ~= "/" then
    error("the path of a proposal must be absolute", 0)
  elseif vim.fn.isdirectory(params.filePath) == 1 then
    error(("%s is a directory"):format(params.filePath), 0)
  end
  last_id = params.id
  announce(life.create(params))
  return { isPending = true }
end

--- The review that the host means. Raises when it has ended.
---@param id integer
---@return gemini_bridge.Review
local function open_review(id)
  return records.get(id) or error("this review is closed already", 0)
end

--- What a proposal holds now. Nothing changes.
---@param params { id: integer }
---@return { content: string }
function M.read(params)
  return { content = records.content(open_review(params.id)) }
end

--- Returns the accepted text of a review whose decision is not settled.
---@param params { id: integer }
---@return { content: string }
function M.read_accepted(params)
  local review = vim.iter(records.decided()):find(function(review)
    return review.id == params.id
  end) or error("this decision is already settled", 0)
  return { content = review.decision[2].content }
end

--- The file on disk is another one, or the review is stale, or is no longer.
---@param params gemini_bridge.calls.diff_update
function M.update(params)
  stale.update(open_review(params.id), params.stale)
end

--- Messages of reviews that close without the user.
local TEXTS = {
  cancelled = "%s has cancelled its edit: the review of %s was closed.",
  disconnected = "%s is gone: the review of %s was closed.",
}

--- Closes a review without an outcome.
---@param params gemini_bridge.calls.diff_close
---@return { content: string } # What the proposal held.
function M.close(params)
  local review = open_review(params.id)
  local content = records.content(review)
  -- A CLI that closes the review is given the text. Of one that the CLI has written, the host knows what became of it.
  local is_told = params.reason == "cli" or params.reason == "written"
  decision.close(review, is_told and content or nil)
  local text = TEXTS[params.reason]
  if text then
    notify(text:format(review.label, path.display(review.filePath, 18)))
  end
  return { content = content }
end

--- Closes all reviews without an outcome.
---@param reason "disconnected"|"stopped"
function M.close_all(reason)
  for _, review in ipairs(vim.list_slice(records.pending())) do
    M.close({ id = review.id, reason = reason })
  end
end

--- The review whose proposal or file the current window shows as part of it.
---@param reviews gemini_bridge.Review[]
---@return gemini_bridge.Review?
local function here(reviews)
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  return vim.iter(reviews):find(function(review)
    local buffers = review.buffers
    return buffers ~= nil and buffers.proposal == buf or review.view ~= nil and review.view.original == win
  end)
end

--- Calls `act` with the review that is meant: the only one, that of the current window, or the user's choice.
---@param file? string
---@param act fun(review: gemini_bridge.Review)
local function with_review(file, act)
  local choices = vim.tbl_filter(function(review)
    return file == nil or path.is_same(file, review.filePath)
  end, records.pending())
  local meant = #choices == 1 and choices[1] or here(choices)
  if meant then
    act(meant)
    return
  elseif #choices == 0 then
    notify(
      file and ("No proposal for %s is waiting."):format(path.display(file, 32)) or "No proposal is waiting."
    )
    return
  end
  -- CTRL-C in Neovim's own question raises an error.
  pcall(vim.ui.select, choices, {
    prompt = "Proposal:",
    kind = "gemini-bridge",
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
    decision.accept(review, scheduler.now, opts.force)
  end)
end

---@param opts gemini_bridge.DecisionOptions
function M.reject(opts)
  with_review(opts.path, function(review)
    decision.reject(review, scheduler.now)
  end)
end

--- Goes to a review.
---@param opts gemini_bridge.DecisionOptions
function M.review(opts)
  with_review(opts.path, screen.enter)
end

---@return { filePath: string, client: string, label: string }[]
function M.list()
  return vim.tbl_map(function(review)
    return { filePath = review.filePath, client = review.client, label = review.label }
  end, records.pending())
end

--- The highest id ever used, so that the next host does not use it again.
---@return integer
function M.last_id()
  return last_id
end

return M
