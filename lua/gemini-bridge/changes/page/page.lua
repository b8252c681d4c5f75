--- Implements the review page of `:GeminiChanges`: a tree of changed files at the left, and the selected file at the
--- right.
local changes = require("gemini-bridge.changes.changes")
local channel = require("gemini-bridge.bridge.channel")
local compare = require("gemini-bridge.changes.page.compare")
local files = require("gemini-bridge.changes.page.files")
local hunks = require("gemini-bridge.difference.hunks")
local layout = require("gemini-bridge.changes.page.layout")
local modified_event = require("gemini-bridge.editor.modified_event")
local notify = require("gemini-bridge.notify")
local focus = require("gemini-bridge.editor.focus_and_mode")
local path = require("gemini-bridge.disk.path")
local redraw = require("gemini-bridge.changes.page.redraw")
local scheduler = require("gemini-bridge.editor.scheduler")
local signs = require("gemini-bridge.changes.signs")
local tree = require("gemini-bridge.changes.page.tree")
local tree_view = require("gemini-bridge.changes.page.tree_view")
local file_view = require("gemini-bridge.changes.page.file_view")
local next_hunk = require("gemini-bridge.changes.page.next_hunk")

local M = {}

local NAME = "gemini-page://changes"
--- Maximum number of files to redraw one by one. For more files, redraws the whole tree.
local MAX_PATCHED_FILES = 50

---@class gemini_bridge.Page: gemini_bridge.TreeView
---@field list gemini_bridge.Node[] Files in the order of navigation.
---@field by_path table<string, gemini_bridge.Node> Nodes of all changed files.
---@field current? string Path of the file at the right.

local page ---@type gemini_bridge.Page?
--- Paths of files with new counts or states since the last drawing. nil if the whole tree must be drawn.
local changed = {} ---@type table<string, true>?

local function reset()
  page = nil
  scheduler.next(function()
    if not page then
      file_view.clear()
    end
  end)
end

---@return gemini_bridge.Page?
function M.get()
  return page and tree_view.is_alive(page) and page or nil
end

local draw_changed = scheduler.coalesce(function()
  local names = changed
  changed = {}
  local shown = M.get()
  if not shown then
    return
  elseif names and vim.tbl_count(names) <= MAX_PATCHED_FILES then
    redraw.files(shown, names)
  else
    redraw.all(shown)
  end
end)

--- Draws the tree in the next tick, once for several updates.
---@param name? string Path of a file with new counts or a new state. Default: draws the whole tree.
local function refresh(name)
  if not page then
    return
  elseif not name then
    changed = nil
  elseif changed then
    changed[name] = true
  end
  draw_changed()
end

--- Returns the tree node of a file. Opens the folders and groups that contain the node.
---@param shown gemini_bridge.Page
---@param name string
---@return gemini_bridge.Node?
local function reveal(shown, name)
  local found = shown.by_path[name]
  local above, is_hidden = found and found.parent, false
  while above do
    if not above.is_open then
      is_hidden, shown.is_open[above.key] = true, true
    end
    above = above.parent
  end
  if is_hidden then
    redraw.all(shown)
    return reveal(shown, name)
  end
  return found
end

--- Returns the tree node of the file at the right.
---@param shown gemini_bridge.Page
---@return gemini_bridge.Node?
function M.current_node(shown)
  return shown.current and shown.by_path[shown.current]
end

--- Shows the current file again after the user has closed the window of the file. Does nothing if there was no room for
--- the window, because the user already has a message.
---@param shown gemini_bridge.Page
function M.ensure_shown(shown)
  local node = M.current_node(shown)
  if node and not layout.shows_own(shown) and not shown.lacks_room then
    M.show(shown, node)
  end
end

--- Shows a file at the right and moves the cursor to an undecided hunk.
---@param shown gemini_bridge.Page
---@param node gemini_bridge.Node
---@param direction? 1|-1 Goes to the first hunk (1, the default) or to the last hunk (-1).
function M.show(shown, node, direction)
  local file = node.item --[[@as gemini_bridge.PageFile]]
  local is_other = shown.current ~= file.path
  if is_other then
    compare.close(shown.right)
  end
  shown.current = file.path
  local shown_node = reveal(shown, file.path)
  if shown_node and shown_node.row then
    vim.api.nvim_win_set_cursor(shown.tree, { shown_node.row, 0 })
  end
  local buf = layout.fill(shown, function(win)
    return file_view.show(win, file)
  end)
  if not buf then
    return
  end
  file_view.mark(buf, file.path, not compare.is_open(shown.right))
  direction = direction or 1
  local hunk = hunks.next(signs.list(buf), direction == 1 and 0 or math.huge, direction)
  if hunk then
    layout.go_to_line(shown, hunk.first)
  end
  redraw.bars(shown)
end

--- Goes to the next or previous undecided hunk. At the end of the file, goes to another file.
---@param shown gemini_bridge.Page
---@param direction 1|-1
---@param from? integer Line to start from. Default: the line of the cursor.
---@return boolean found
function M.go(shown, direction, from)
  local file = shown.current and files.get(shown.current)
  local node = M.current_node(shown)
  if file and node and file.change and layout.shows_own(shown) then
    local line = from or vim.api.nvim_win_get_cursor(shown.right)[1]
    local hunk = hunks.next(signs.list(shown.right_buf), line, direction)
    if hunk then
      layout.go_to_line(shown, hunk.first)
      return true
    end
  end
  local next_node, is_wrapped = next_hunk.file(shown.list, node, direction)
  if not next_node then
    return false
  end
  if is_wrapped and next_node ~= node then
    notify(
      direction == 1 and "There are no further changes: continued at the first one."
        or "There are no earlier changes: continued at the last one."
    )
  end
  M.show(shown, next_node, direction)
  return true
end

--- Moves the cursor of the tree to a closed group with undecided files.
---@param shown gemini_bridge.Page
---@return boolean found
function M.go_to_closed(shown)
  local left = vim.iter(shown.rows):find(function(node)
    return node.kind == "group"
      and not node.is_open
      and vim.iter(tree.items({ node })):any(function(file)
        return file.change ~= nil
      end)
  end)
  if left then
    vim.api.nvim_win_set_cursor(shown.tree, { left.row, 0 })
  end
  return left ~= nil
end

--- Goes to the next undecided hunk after a decision. If only closed groups contain undecided hunks, moves the cursor of
--- the tree to the first such group.
---@param shown gemini_bridge.Page
---@param from? integer Line to start from. Default: the line of the cursor.
function M.go_on(shown, from)
  if not M.go(shown, 1, from) then
    M.go_to_closed(shown)
  end
end

--- Goes to a hunk that is undecided again after the user has reverted a decision.
---@param shown gemini_bridge.Page
---@param name string Path of the file.
---@param id? integer Id of the hunk. Default: the first hunk.
function M.go_to_hunk(shown, name, id)
  redraw.all(shown)
  if not shown.by_path[name] then
    return
  end
  M.show(shown, shown.by_path[name])
  local placed = vim.iter(signs.list(shown.right_buf)):find(function(hunk)
    return hunk.id == id
  end)
  if placed then
    layout.go_to_line(shown, placed.first)
  end
end

local function refresh_all()
  refresh()
end

---@param shown gemini_bridge.Page
local function listen(shown)
  local group = shown.group
  vim.api.nvim_create_autocmd("User", { group = group, pattern = "GeminiDiff*", callback = refresh_all })
  modified_event.listen({ group = group }, file_view.keep)
  shown.stops = {
    reset,
    layout.follow(shown, function(buf)
      return shown.current ~= nil and path.buffer(shown.current) == buf
    end, function(is_closed)
      compare.close(shown.right)
      shown.current = is_closed and shown.current or nil
    end),
    changes.listen(function(name, change, decision)
      if not name then
        files.drop_undecided()
        return refresh()
      end
      local is_moved = files.update(name, change, decision)
      local buf = shown.right_buf
      if name == shown.current and layout.shows_own(shown) and path.buffer(name) == buf then
        file_view.mark(buf, name, not compare.is_open(shown.right))
      end
      refresh(not is_moved and shown.by_path[name] and name or nil)
    end),
  }
end

---@param shown gemini_bridge.Page
---@param node gemini_bridge.Node
local function show_with_focus(shown, node)
  M.show(shown, node)
  focus.go(shown.right)
end

--- Opens the review page or moves the focus to the page.
---@param attach fun(page: gemini_bridge.Page): fun() Maps the keys of a new page. Returns a function that unmaps them.
---@param name? string Path of a file to go to.
function M.open(attach, name)
  focus.end_visual()
  channel.notify("changes_refresh", vim.empty_dict())
  local opened = M.get()
  if opened then
    focus.go(opened.tree)
    if name and opened.by_path[name] then
      show_with_focus(opened, opened.by_path[name])
    end
    return
  end
  files.reset()
  local shown = tree_view.open(NAME, refresh_all) --[[@as gemini_bridge.Page]]
  shown.list, shown.by_path = {}, {}
  page = shown
  listen(shown)
  redraw.all(shown)
  focus.go(shown.tree)
  vim.bo[shown.buf].filetype = "gemini_changes"
  table.insert(shown.stops, attach(shown))
  local first = name and shown.by_path[name] or next_hunk.file(shown.list, nil, 1)
  -- Also counts `by_path`, because `list` does not contain the files in closed groups.
  local is_single = #shown.list == 1 and vim.tbl_count(shown.by_path) == 1
  if not first then
    return
  elseif name or is_single then
    show_with_focus(shown, first)
  else
    -- Draws the tree first and shows the file later, because file type plugins may make loading slow.
    scheduler.next(function()
      if page == shown and not shown.current then
        M.show(shown, first)
      end
    end)
  end
end

return M
