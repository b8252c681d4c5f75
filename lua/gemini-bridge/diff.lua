--- Reviews of proposed changes: shown, decided once, taken off the screen.
local config = require("gemini-bridge.config")
local host = require("gemini-bridge.host")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.diff.path")
local proposal = require("gemini-bridge.diff.proposal")
local status = require("gemini-bridge.status")
local text = require("gemini-bridge.diff.text")
local view = require("gemini-bridge.diff.view")
local write = require("gemini-bridge.diff.write")

local M = {}

---@class gemini_bridge.Review
---@field id integer
---@field filePath string As the CLI spells it.
---@field client string
---@field proposed string The text as it came.
---@field buf integer The proposal.
---@field original integer Buffer: the user's own, or a copy.
---@field copied boolean The original is a copy.
---@field group integer Its autocommands.
---@field view? gemini_bridge.View While it is on the screen.

--- Pending reviews in the order in which they came.
---@type gemini_bridge.Review[]
local pending = {}
local last_id = 0

---@param id integer
---@return gemini_bridge.Review?
local function by_id(id)
  return vim.iter(pending):find(function(review)
    return review.id == id
  end)
end

---@param review gemini_bridge.Review
local function is_pending(review)
  return vim.list_contains(pending, review)
end

---@param review gemini_bridge.Review
local function data(review)
  return { id = review.id, filePath = review.filePath, client = review.client }
end

--- Shows the reviews that wait, one in a tab page.
local function show_next()
  local tab = vim.api.nvim_get_current_tabpage()
  for _, review in ipairs(pending) do
    local taken = config.get().diff.layout ~= "tab"
      and vim.iter(pending):any(function(other)
        return other.view ~= nil and other.view.tab == tab
      end)
    if not review.view and not taken then
      review.view = view.open(review.original, review.buf, tab)
    end
  end
end

--- Takes a decided review off the screen.
---@param review gemini_bridge.Review
local function dismiss(review)
  vim.api.nvim_del_augroup_by_id(review.group)
  if review.view then
    view.close(review.view)
  end
  for _, buf in ipairs(review.copied and { review.buf, review.original } or { review.buf }) do
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
  show_next()
end

--- The one place where a review ends. A second end changes nothing.
---@param review gemini_bridge.Review
---@param outcome "Accepted"|"Rejected"|"Closed"
---@param event? string For the host.
---@param content? string
---@return boolean first
local function settle(review, outcome, event, content)
  if not is_pending(review) then
    return false
  end
  pending = vim.tbl_filter(function(other)
    return other ~= review
  end, pending)
  if event then
    host.notify(event, { id = review.id, content = content })
  end
  status.emit("GeminiDiff" .. outcome, data(review))
  return true
end

---@param review gemini_bridge.Review
---@return boolean accepted
local function accept(review)
  local content = text.read(review.buf)
  if content == "" and review.proposed ~= "" then
    notify("Gemini CLI cannot take an empty file: the review stays open.", "warn")
    return false
  end
  return settle(review, "Accepted", "diff_accepted", content)
end

---@param review gemini_bridge.Review
local function watch(review)
  review.group = vim.api.nvim_create_augroup("gemini-bridge.review." .. review.id, {})
  write.watch(review.buf, review.group, function()
    local accepted = accept(review)
    if accepted then
      vim.schedule(function()
        dismiss(review)
      end)
    end
    return accepted
  end)
  local function reject_later()
    if vim.v.exiting == vim.NIL and settle(review, "Rejected", "diff_rejected") then
      vim.schedule(function()
        dismiss(review)
      end)
    end
  end
  vim.api.nvim_create_autocmd("WinClosed", {
    group = review.group,
    callback = function(args)
      local windows = vim.fn.win_findbuf(review.buf)
      if #windows == 1 and windows[1] == tonumber(args.match) then
        reject_later()
      end
    end,
  })
  vim.api.nvim_create_autocmd(
    "BufUnload",
    { group = review.group, buffer = review.buf, callback = reject_later }
  )
  vim.keymap.set("n", "ZZ", function()
    if accept(review) then
      dismiss(review)
    end
  end, { buffer = review.buf, desc = "Accept the proposal" })
end

--- Shows a review, at once or when the one before it is decided; the text of an open one is replaced.
---@param params { id: integer, filePath: string, newContent: string, client: string }
function M.open(params)
  local known = by_id(params.id)
  if known then
    known.proposed = params.newContent
    text.write(known.buf, params.newContent)
    return
  end
  if params.filePath:sub(1, 1) ~= "/" then
    error("The path of a proposal must be absolute.", 0)
  elseif vim.fn.isdirectory(params.filePath) == 1 then
    error("A directory cannot be reviewed.", 0)
  end
  last_id = math.max(last_id, params.id)
  local original, copied = proposal.original(params.id, params.filePath)
  local review = {
    id = params.id,
    filePath = params.filePath,
    client = params.client,
    proposed = params.newContent,
    buf = proposal.create(params.id, params.filePath, params.newContent),
    original = original,
    copied = copied,
  }
  pending[#pending + 1] = review
  watch(review)
  show_next()
  notify(("%s proposes a change to %s"):format(params.client, path.display(params.filePath, 40)))
  status.emit("GeminiDiffOpened", data(review))
end

--- Closes a review without an outcome.
---@param params { id: integer, reason: "cli"|"disconnected"|"stopped" }
---@return { content: string } # What the proposal held.
function M.close(params)
  local review = by_id(params.id)
  if not review then
    error("This review is closed already.", 0)
  end
  local content = text.read(review.buf)
  settle(review, "Closed")
  dismiss(review)
  if params.reason == "disconnected" then
    notify(("%s is gone; its review was closed."):format(review.client))
  end
  return { content = content }
end

--- Closes all reviews without an outcome.
---@param reason "disconnected"|"stopped"
function M.close_all(reason)
  for _, review in ipairs(vim.list_slice(pending)) do
    M.close({ id = review.id, reason = reason })
  end
end

--- Calls `act` with the review that is meant: the only one, that of the current window, or the user's choice.
---@param file? string
---@param act fun(review: gemini_bridge.Review)
local function with_review(file, act)
  local here = vim.api.nvim_get_current_buf()
  local choices = vim.tbl_filter(function(review)
    return not file or path.is_same(file, review.filePath)
  end, pending)
  for _, review in ipairs(choices) do
    if #choices == 1 or review.buf == here then
      return act(review)
    end
  end
  if #choices == 0 then
    notify("No proposal is waiting.")
    return
  end
  vim.ui.select(choices, {
    prompt = "Proposal:",
    format_item = function(review)
      return path.display(review.filePath)
    end,
  }, function(choice)
    if choice and is_pending(choice) then
      act(choice)
    end
  end)
end

---@param opts gemini_bridge.DecisionOptions
function M.accept(opts)
  with_review(opts.path, function(review)
    if accept(review) then
      dismiss(review)
    end
  end)
end

---@param opts gemini_bridge.DecisionOptions
function M.reject(opts)
  with_review(opts.path, function(review)
    if settle(review, "Rejected", "diff_rejected") then
      dismiss(review)
    end
  end)
end

---@param opts gemini_bridge.DecisionOptions
function M.review(opts)
  with_review(opts.path, function(review)
    if review.view and vim.api.nvim_win_is_valid(review.view.proposal) then
      review.view.origin = view.here()
      vim.api.nvim_set_current_win(review.view.proposal)
    end
  end)
end

---@return { filePath: string, client: string }[]
function M.list()
  return vim.tbl_map(function(review)
    return { filePath = review.filePath, client = review.client }
  end, pending)
end

--- The highest id ever used, so that the next host does not use it again.
---@return integer
function M.last_id()
  return last_id
end

return M
