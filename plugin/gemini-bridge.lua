-- Commands only: nothing is required until one of them is used.
if vim.g.loaded_gemini_bridge then
  return
end
vim.g.loaded_gemini_bridge = true

local function bridge()
  return require("gemini-bridge")
end

local function complete_diffs(lead)
  return vim.tbl_filter(
    function(path)
      return vim.startswith(path, lead)
    end,
    vim.tbl_map(function(diff)
      return diff.filePath
    end, bridge().diffs())
  )
end

local command = vim.api.nvim_create_user_command

command("GeminiStart", function()
  bridge().start()
end, { desc = "Start the bridge to Gemini CLI" })

command("GeminiStop", function()
  bridge().stop()
end, { desc = "Stop the bridge to Gemini CLI" })

command("GeminiRestart", function()
  bridge().restart()
end, { desc = "Restart the bridge to Gemini CLI" })

command("GeminiStatus", function()
  require("gemini-bridge.status_view").open()
end, { desc = "Show the state of the bridge" })

command("GeminiAccept", function(args)
  bridge().accept({ path = args.args ~= "" and args.args or nil, force = args.bang })
end, { nargs = "?", bang = true, complete = complete_diffs, desc = "Accept a proposed change" })

command("GeminiReject", function(args)
  bridge().reject({ path = args.args ~= "" and args.args or nil })
end, { nargs = "?", complete = complete_diffs, desc = "Reject a proposed change" })

command("GeminiReview", function(args)
  bridge().review({ path = args.args ~= "" and args.args or nil })
end, { nargs = "?", complete = complete_diffs, desc = "Go to a proposed change" })

command("GeminiLog", function()
  vim.cmd.split({ args = { vim.fn.fnameescape(require("gemini-bridge.host").log_file()) } })
end, { desc = "Open the bridge's log" })
