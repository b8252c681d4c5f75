--- Waits until CLIs have written the edited texts of ended reviews. A CLI may not write such a text: the user has said
--- "no" in the CLI, the CLI has ended, or the file cannot be written.
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local records = require("gemini-bridge.review.records")
local saved_texts = require("gemini-bridge.review.saved_texts")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

local INTERVAL_MS = 200
--- Time for a CLI to write a text after the end of its review. Afterwards, the text is saved.
local TIMEOUT_MS = 10000

local is_following = false

--- Saves a text that the CLI has not written in time.
---@param review gemini_bridge.Review
local function keep(review)
  local command = saved_texts.keep(records.handed_draft(review))
  records.let_go(review)
  if command then
    local name = path.display(review.filePath, 24)
    notify(
      ("%s did not write your edits to %s. Open them with %s"):format(review.label, name, command),
      "warn"
    )
  end
end

local function check()
  is_following = false
  for _, review in ipairs(records.handed()) do
    local handed = review.handed --[[@as gemini_bridge.HandedText]]
    local version = path.version(review.filePath)
    local is_new = version ~= handed.checked
    handed.checked = version
    if is_new and saved_texts.is_written(records.handed_draft(review)) then
      records.let_go(review)
    elseif vim.uv.now() - handed.ended_at >= TIMEOUT_MS then
      keep(review)
    end
  end
  if #records.handed() > 0 then
    is_following = true
    scheduler.after(INTERVAL_MS, check)
  end
end

--- Checks the files of ended reviews now and in intervals, until all edited texts are on disk or saved.
function M.follow()
  if not is_following then
    check()
  end
end

return M
