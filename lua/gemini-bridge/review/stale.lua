--- Notices that a file has changed under its review.
local decision = require("gemini-bridge.review.decision")
local follow = require("gemini-bridge.review.follow")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local queue = require("gemini-bridge.review.queue")
local text = require("gemini-bridge.review.text")
local turn = require("gemini-bridge.editor.turn")
local watch = require("gemini-bridge.disk.watch")

local M = {}

--- The text without what the CLI changes when it writes: it restores CRLF and the byte order mark of the file.
---@param bytes string
local function plain(bytes)
  return (bytes:gsub("^\239\187\191", ""):gsub("\r\n", "\n"))
end

--- Watches the file and its buffer.
---@param review gemini_bridge.Review
---@return fun() stop
function M.watch(review)
  local file = path.real(review.filePath)
  local disk = path.bytes(file)
  local buffers = review.buffers
  local shown ---@type string?
  -- Reading it takes 3 ms for each MB, in which nobody types.
  turn.next(function()
    if queue.has(review) and vim.api.nvim_buf_is_loaded(buffers.original) then
      shown = text.read(buffers.original)
    end
  end)

  --- Told once; the winbar says it for as long as it is so.
  local function update(stale)
    if stale and not review.stale then
      notify(("%s has changed: the proposal is stale."):format(path.display(review.filePath, 32)), "warn")
    end
    review.stale = stale
    follow.update(review)
  end

  local stop = watch.start(file, function()
    if not queue.has(review) then
      return
    end
    local now = path.bytes(file)
    local holds = now ~= nil
      and now ~= disk
      and (plain(now) == plain(review.proposed) or now == text.read(buffers.proposal))
    if holds then
      decision.close(review, "diff_closed")
      return
    end
    if buffers.copied then
      text.write(buffers.original, now or "")
    end
    update(now ~= disk)
  end)

  if not buffers.copied then
    vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP", "BufReadPost" }, {
      group = review.group,
      buffer = buffers.original,
      callback = function()
        local edited = shown ~= nil and text.read(buffers.original) ~= shown
        update(edited or path.bytes(file) ~= disk)
      end,
    })
    vim.api.nvim_create_autocmd("BufModifiedSet", {
      group = review.group,
      buffer = buffers.original,
      callback = function()
        follow.update(review)
      end,
    })
  end
  return stop
end

return M
