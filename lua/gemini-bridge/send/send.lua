--- Types prompts into the CLI's terminal.
local config = require("gemini-bridge.config")
local notify = require("gemini-bridge.notify")

local M = {}

---@class gemini_bridge.SendOptions
---@field text? string What to say.
---@field source? "here"|"diagnostics"|"quickfix"|"nothing" What to refer to; "here" is the file, or the entries of an
---explorer or of a quickfix window.
---@field files? string[] Files to refer to instead; relative ones from the current directory.
---@field lines? [integer, integer] First and last, 1-based, of the current buffer.
---@field submit? boolean Press Enter.

--- The terminal that the prompt goes to: the one of `:Gemini` that was used last, one that the user started elsewhere,
--- or a new one.
---@param done fun(target: gemini_bridge.Target, terminal?: gemini_bridge.Terminal)
local function with_target(done)
  local terminals = require("gemini-bridge.terminal.terminals")
  local function own(terminal)
    require("gemini-bridge.send.ready").wait(terminal, function(problem)
      if problem then
        return notify(problem, "error")
      end
      done(require("gemini-bridge.send.target").buffer(terminal.buf, terminal.cwd), terminal)
    end)
  end
  local last = terminals.last()
  if last then
    return own(last)
  end
  local program = vim.fs.basename(config.get().terminal.cmd[1])
  require("gemini-bridge.send.outside").find(program, function(target)
    if target then
      return done(target)
    end
    local opened = terminals.last()
      or require("gemini-bridge.terminal.open").open({ focus = config.get().send.focus })
    if opened then
      own(opened)
    end
  end)
end

---@param opts gemini_bridge.SendOptions
function M.send(opts)
  local items, problem = require("gemini-bridge.send.sources").items(opts)
  local text = opts.text or ""
  if not items or (#items == 0 and text == "") then
    notify(problem or "There is nothing to send.", "warn")
    return
  end
  -- Enter in the CLI's own dialog would say yes to the change.
  if opts.submit and #require("gemini-bridge.review.reviews").list() > 0 then
    notify("A proposed change waits for your decision: the prompt is typed, but not sent.", "warn")
    opts = vim.tbl_extend("force", opts, { submit = false })
  end
  with_target(function(target, terminal)
    local prompt = require("gemini-bridge.send.reference").prompt(items, target.cwd, text)
    -- The space ends the reference, so that the CLI offers no completions for it.
    require("gemini-bridge.send.typing").type(target, prompt .. " ", opts.submit, function(failure)
      if failure then
        notify(failure, "warn")
      end
    end)
    if config.get().send.focus then
      if terminal then
        terminal.view:show(true)
      else
        target.focus()
      end
    end
  end)
end

return M
