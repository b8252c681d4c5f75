--- `:GeminiExtension install|remove [cli]`
local arguments = require("gemini-bridge.commands.arguments")

local M = {}

local ACTIONS = { "install", "remove" }

function M.run(args)
  local action, cli = args.fargs[1], args.fargs[2]
  if not vim.list_contains(ACTIONS, action) or #args.fargs > 2 then
    return require("gemini-bridge.notify")("Usage: :GeminiExtension install|remove [cli]", "error")
  end
  cli = cli or require("gemini-bridge.config").get().terminal.cli
  if action == "install" then
    require("gemini-bridge.extension.offer").revert(cli)
  end
  require("gemini-bridge.extension.link")[action](cli)
end

function M.complete(lead, line)
  local before = line:sub(1, #line - #lead)
  if before:match("^%S+%s+$") then
    return arguments.starting_with(ACTIONS, lead)
  end
  return arguments.starting_with(
    vim.tbl_map(function(cli)
      return cli.name
    end, require("gemini-bridge.config.clis").all()),
    lead
  )
end

return M
