--- The commands about what CLIs changed without a review.
local arguments = require("gemini-bridge.commands.arguments")

local M = {}

function M.list()
  require("gemini-bridge.changes.look").open()
end

--- What `:[range]GeminiKeep[!] [path|all]` and its counterpart mean.
---@param args vim.api.keyset.create_user_command.command_args
---@return gemini_bridge.ChangeOptions
local function chosen_changes(args)
  local path = arguments.given(args)
  if path == "all" then
    return { all = true }
  end
  return { path = path, file = args.bang, lines = arguments.lines(args) }
end

function M.keep(args)
  require("gemini-bridge").keep(chosen_changes(args))
end

function M.undo(args)
  require("gemini-bridge").undo(chosen_changes(args))
end

function M.history()
  require("gemini-bridge.changes.past").open()
end

function M.complete(lead)
  local candidates = vim.tbl_map(function(change)
    return change.path
  end, require("gemini-bridge").changes())
  return arguments.starting_with(vim.list_extend({ "all" }, candidates), lead)
end

function M.go_to_next()
  require("gemini-bridge.changes.look").jump(1)
end

function M.go_to_previous()
  require("gemini-bridge.changes.look").jump(-1)
end

function M.toggle_old()
  require("gemini-bridge.changes.look").toggle_old()
end

return M
