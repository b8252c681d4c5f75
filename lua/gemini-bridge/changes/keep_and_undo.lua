--- Keeps and undoes changes that a CLI made without asking: single hunks, files, turns, or all changes.
local changes = require("gemini-bridge.changes.changes")
local choose_answer = require("gemini-bridge.editor.choose")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local request = require("gemini-bridge.bridge.request")
local signs = require("gemini-bridge.changes.signs")

local M = {}

--- Maximum number of files to undo without a question to the user.
local MAX_UNASKED_FILES = 10
--- Time for the answer to a decision. Long, because the host may undo thousands of files.
local TIMEOUT_MS = 10 * 60 * 1000

---@class gemini_bridge.ChangeOptions
---@field path? string Chooses all changes of this file.
---@field file? boolean Chooses all changes of the current buffer's file.
---@field all? boolean Chooses all changes of all files.
---@field turn? boolean Chooses the newest turn. On the review page, chooses the turn under the cursor.
---@field force? boolean Undoes any number of files without a question.
---@field lines? [integer, integer] Chooses hunks in these lines of the current buffer, 1-based. Default: cursor line.

---@alias gemini_bridge.ChosenFile { path: string, hunks?: integer[], range?: { from: integer, to: integer } }

--- Files or hunks that the user has chosen.
---@class gemini_bridge.Chosen
---@field files gemini_bridge.ChosenFile[]
---@field turn? number Limits the choice to the hunks of this turn.

--- Lets `:GeminiKeep` and `:GeminiUndo` find the user's choice on the review page or the history page.
---@class gemini_bridge.PageChoice
---@field chosen? fun(lines?: [integer, integer]): gemini_bridge.Chosen? Returns the files chosen in the tree, or nil.
---@field turn? fun(): number? Returns the turn under the cursor.
---@field undo? fun(lines?: [integer, integer]) Replaces the usual undo if `:GeminiUndo` has no argument.

local pages = {} ---@type table<integer, gemini_bridge.PageChoice> By tab page.

---@param tab integer
---@param choice? gemini_bridge.PageChoice
function M.set_page(tab, choice)
  pages[tab] = choice
end

---@return gemini_bridge.PageChoice
local function page_here()
  return pages[vim.api.nvim_get_current_tabpage()] or {}
end

---@param list gemini_bridge.Change[]
---@return gemini_bridge.ChosenFile[]
local function whole(list)
  return vim.tbl_map(function(change)
    return { path = change.path }
  end, list)
end

--- Returns all hunks of a turn.
---@param turn? number Default: the newest turn.
---@return gemini_bridge.Chosen?
function M.of_turn(turn)
  local all = changes.all()
  for _, change in ipairs(turn and {} or all) do
    turn = math.max(turn or 0, change.turn)
  end
  local meant = vim.tbl_filter(function(change)
    return change.turn == turn
      or vim.iter(change.hunks):any(function(hunk)
        return hunk.turn == turn
      end)
  end, all)
  return #meant > 0 and { files = whole(meant), turn = turn } or nil
end

---@return gemini_bridge.Chosen?
function M.of_all()
  local all = changes.all()
  return #all > 0 and { files = whole(all) } or nil
end

--- Returns the changes to keep or undo, or the message for the user if there are none.
---@param opts gemini_bridge.ChangeOptions
---@return gemini_bridge.Chosen? chosen, string? problem
local function choose(opts)
  local page = page_here()
  if opts.turn then
    return M.of_turn(page.turn and page.turn()), "No unreviewed changes."
  elseif opts.all then
    return M.of_all(), "No unreviewed changes."
  elseif opts.path then
    local change = changes.find(opts.path)
    return change and { files = whole({ change }) }, ("%s has no unreviewed changes."):format(opts.path)
  end
  local chosen = page.chosen and page.chosen(opts.lines)
  if chosen then
    return #chosen.files > 0 and chosen or nil, "No unreviewed changes here."
  end
  local change = changes.of_buffer(vim.api.nvim_get_current_buf())
  if not change then
    return nil, "No unreviewed changes in this file."
  elseif opts.file or change.status == "deleted" then
    return { files = whole({ change }) }
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local first, last = unpack(opts.lines or { line, line })
  local ids = signs.ids(vim.api.nvim_get_current_buf(), first, last)
  local chosen_hunks = #ids > 0 and { files = { { path = change.path, hunks = ids } } } or nil
  return chosen_hunks, "No unreviewed changes here: :GeminiChanges lists all changes."
end

--- Number of decisions that the host has not answered yet.
local open = 0
local waiting = {} ---@type fun()[]

--- Sends the user's decision to the bridge, which tells the user the result in one message.
---@param name "changes_keep"|"changes_undo"|"changes_revert"|"history_undo"
---@param params table
---@param done? fun(result: any) Called with the answer of the host.
function M.send(name, params, done)
  open = open + 1
  request.send(name, params, function(result, problem)
    open = open - 1
    if problem then
      notify(problem:gsub("^%l", string.upper) .. ".", "warn")
    elseif done then
      done(result)
    end
    while open == 0 and waiting[1] do
      table.remove(waiting, 1)()
    end
  end, TIMEOUT_MS)
end

--- Calls a function when the host has answered all decisions: at once if possible.
---@param act fun()
function M.after_answers(act)
  if open == 0 then
    act()
  else
    waiting[#waiting + 1] = act
  end
end

---@alias gemini_bridge.DecisionDone fun(decided: gemini_bridge.Decided) Called after the decision.

--- Keeps changes: removes their marks and makes the current text the new baseline.
---@param chosen gemini_bridge.Chosen
---@param done? gemini_bridge.DecisionDone
function M.keep_chosen(chosen, done)
  M.send("changes_keep", { files = chosen.files, turn = chosen.turn, unsaved = {} }, done)
end

---@param chosen gemini_bridge.Chosen
---@param done? gemini_bridge.DecisionDone
local function undo_now(chosen, done)
  local saved, unsaved = {}, {} ---@type gemini_bridge.ChosenFile[], string[]
  for _, file in ipairs(chosen.files) do
    local buf = path.buffer(file.path)
    if buf and vim.bo[buf].modified then
      unsaved[#unsaved + 1] = file.path
    else
      saved[#saved + 1] = file
    end
  end
  M.send("changes_undo", { files = saved, turn = chosen.turn, unsaved = unsaved }, done)
end

--- Asks the user before undoing the changes of more than `MAX_UNASKED_FILES` files.
---@param count integer Number of files.
---@param act fun() Called if the user agrees.
function M.confirm(count, act)
  if count <= MAX_UNASKED_FILES then
    return act()
  end
  local yes = ("Undo the changes in %d files"):format(count)
  choose_answer(
    { yes, "Cancel" },
    { prompt = ("Undo the changes in %d files?"):format(count) },
    function(answer)
      if answer == yes then
        act()
      end
    end
  )
end

--- Undoes changes: restores the earlier bytes of the files. Reloads each buffer in one undo step. Asks the user first
--- if there are many files.
---@param chosen gemini_bridge.Chosen
---@param done? gemini_bridge.DecisionDone
---@param is_forced? boolean
function M.undo_chosen(chosen, done, is_forced)
  M.confirm(is_forced and 0 or #chosen.files, function()
    undo_now(chosen, done)
  end)
end

--- Reverts the user's last decision (keep or undo) in all files.
---@param done? gemini_bridge.DecisionDone
function M.revert(done)
  M.send("changes_revert", vim.empty_dict(), done)
end

---@param opts gemini_bridge.ChangeOptions
function M.keep(opts)
  local chosen, problem = choose(opts)
  if not chosen then
    return notify(problem or "", "warn")
  end
  M.keep_chosen(chosen)
end

--- Undoes the chosen changes. On the history page, undoes the entries at the cursor.
---@param opts gemini_bridge.ChangeOptions
function M.undo(opts)
  local page = page_here()
  if page.undo and not opts.path and not opts.all and not opts.turn then
    return page.undo(opts.lines)
  end
  local chosen, problem = choose(opts)
  if not chosen then
    return notify(problem or "", "warn")
  end
  M.undo_chosen(chosen, nil, opts.force)
end

return M
