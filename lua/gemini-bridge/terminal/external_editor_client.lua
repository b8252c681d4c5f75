--- The editor program of CLIs: opens a file in the Neovim that runs the CLI, and waits until the user has closed the
--- file. Needed because Neovim has no `--remote-wait`.
--- usage: nvim -l external_editor_client.lua {socket} [options …] {file}
local socket, path = _G.arg[1], _G.arg[#_G.arg]

--- Polling interval to detect that the other Neovim has closed the channel or has exited.
local POLL_INTERVAL_MS = 100

local channel = vim.fn.sockconnect("pipe", socket, { rpc = true })
local number = vim.rpcrequest(channel, "nvim_get_api_info")[1]
local file = vim.fn.fnamemodify(path, ":p")
local run = "return require('gemini-bridge.terminal.external_editor').open(...)"
vim.rpcrequest(channel, "nvim_exec_lua", run, { file, number })
vim.wait(2 ^ 31 - 1, function()
  return vim.api.nvim_get_chan_info(channel).id == nil
end, POLL_INTERVAL_MS)
