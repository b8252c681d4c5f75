--- Types into a terminal buffer of this Neovim or a pane of tmux, and reads its screen.
local M = {}

---@class gemini_bridge.Target
---@field key any Identifies the terminal or pane.
---@field name string Name for messages.
---@field cwd string The CLI's directory, to which references are relative.
---@field paste fun(text: string, done: fun(problem?: string)) Types text, as a bracketed paste if the program asked for
---it.
---@field enter fun() Presses Enter.
---@field screen fun(done: fun(lines?: string[])) Reads the screen; nil after the program has ended.
---@field focus fun()

--- Number of lines that hold a prompt, its surroundings, and empty lines below in a tall window.
local SCREEN_LINES = 300

---@param buf integer A terminal.
---@param cwd string
---@return gemini_bridge.Target
function M.buffer(buf, cwd)
  return {
    key = buf,
    name = ("the CLI in buffer %d"):format(buf),
    cwd = cwd,
    paste = function(text, done)
      -- Neovim brackets the paste if the program asked for it, and removes control characters, including tabs.
      local lines = vim.split(text:gsub("\t", " "), "\n", { plain = true })
      vim.api.nvim_buf_call(buf, function()
        vim.api.nvim_put(lines, "c", true, false)
      end)
      done()
    end,
    enter = function()
      vim.fn.chansend(vim.bo[buf].channel, "\r")
    end,
    screen = function(done)
      local is_open = vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].buftype == "terminal"
      done(is_open and vim.api.nvim_buf_get_lines(buf, -1 - SCREEN_LINES, -1, false) or nil)
    end,
    focus = function()
      local win = vim.fn.win_findbuf(buf)[1]
      if win then
        vim.api.nvim_set_current_win(win)
        vim.cmd.startinsert()
      end
    end,
  }
end

--- Runs tmux asynchronously.
---@param args string[]
---@param done fun(output?: string, problem?: string)
---@param stdin? string
function M.tmux(args, done, stdin)
  local ok, problem = pcall(
    vim.system,
    vim.list_extend({ "tmux" }, args),
    { text = true, stdin = stdin },
    vim.schedule_wrap(function(result)
      if result.code == 0 then
        done(result.stdout)
      else
        done(nil, "tmux: " .. vim.trim(result.stderr))
      end
    end)
  )
  if not ok then
    done(nil, tostring(problem))
  end
end

local function nothing() end

---@param pane string Id of the pane, such as `%3`.
---@param cwd string
---@return gemini_bridge.Target
function M.pane(pane, cwd)
  local buffer = "gemini-bridge"
  return {
    key = pane,
    name = "the CLI in pane " .. pane,
    cwd = cwd,
    paste = function(text, done)
      -- Control characters could end the bracketed paste and press keys.
      text = text:gsub("\t", " "):gsub("[%z\1-\9\11-\31\127]", "")
      M.tmux({ "load-buffer", "-b", buffer, "-" }, function(_, problem)
        if problem then
          return done(problem)
        end
        M.tmux({ "paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", pane }, function(_, failure)
          done(failure)
        end)
      end, text)
    end,
    enter = function()
      M.tmux({ "send-keys", "-t", pane, "Enter" }, nothing)
    end,
    screen = function(done)
      M.tmux({ "capture-pane", "-p", "-t", pane }, function(output)
        done(output and vim.split(output, "\n"))
      end)
    end,
    focus = function()
      M.tmux({ "select-pane", "-t", pane }, nothing)
    end,
  }
end

return M
