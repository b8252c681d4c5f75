--- `:GeminiChanges`: a tab page with the tree of changed files at the left, and the reviewed file at the right.
local changes = require("gemini-bridge.changes.changes")
local channel = require("gemini-bridge.bridge.channel")
local compare = require("gemini-bridge.changes.page.compare")
local appearance = require("gemini-bridge.changes.page.appearance")
local bar = require("gemini-bridge.changes.page.bar")
local files = require("gemini-bridge.changes.page.files")
local layout = require("gemini-bridge.changes.page.layout")
local draw_tree = require("gemini-bridge.changes.page.draw_tree")
local notify = require("gemini-bridge.notify")
local focus = require("gemini-bridge.editor.focus_and_mode")
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local tree = require("gemini-bridge.changes.page.tree")
local tree_view = require("gemini-bridge.changes.page.tree_view")
local view = require("gemini-bridge.changes.page.view")
local next_hunk = require("gemini-bridge.changes.page.next_hunk")

local M = {}

local NAME = "gemini-changes://page"
--- Maximum number of files whose lines are redrawn separately. For more files, the whole tree is redrawn.
local MAX_PATCHED_FILES = 50
---@class gemini_bridge.Page: gemini_bridge.TreeView
---@field list gemini_bridge.Node[] Files in the order of navigation.
---@field by_path table<string, gemini_bridge.Node> Changed files.
---@field current? string Path of the file at the right.
---@field goal? { path: string, hunk: integer } Next position of the cursor, after the host has answered.
---@field stops fun()[]

local page ---@type gemini_bridge.Page?
local is_refreshing = false
--- Files with new counts or states since the tree was drawn. nil if the tree itself has changed.
local changed = {} ---@type table<string, true>?
local on_open ---@type fun(page: gemini_bridge.Page): fun()

--- Sets the function that maps the keys of a page, and returns a function that unmaps them.
---@param act fun(page: gemini_bridge.Page): fun()
function M.on_open(act)
  on_open = act
end

---@param shown gemini_bridge.Page
local function dispose(shown)
  if page ~= shown then
    return
  end
  page = nil
  for _, stop in ipairs(shown.stops) do
    scheduler.attempt(stop)
  end
  compare.close(shown.right)
  draw_tree.forget(shown.buf)
  next_hunk.settle()
  scheduler.next(function()
    if not page then
      view.clear()
    end
  end)
end

---@return gemini_bridge.Page?
function M.get()
  if page and not layout.tree(page) then
    dispose(page)
  end
  return page
end

---@param shown gemini_bridge.Page
local function update_bars(shown)
  local file = shown.current and files.get(shown.current)
  if layout.shows_own(shown) then
    bar.show(shown.right, {
      file and path.part(file.path) or bar.title(""),
      { text = file and (" · %d/%d"):format(file.decided or 0, file.hunks or 0) or "", rank = 2 },
      bar.hints({ { "next", "next" }, { "keep", "keep" }, { "undo", "undo" }, { "help", "keys" } }),
    })
  end
  local decided, hunks = 0, 0
  for _, node in ipairs(shown.nodes) do
    decided, hunks = decided + node.decided, hunks + node.hunks
  end
  bar.show(shown.tree, {
    bar.title(("Changes %d/%d"):format(decided, hunks)),
    bar.hints({ { "help", "keys" } }),
  })
end

--- Draws the tree. The cursor stays on the same node.
---@param shown gemini_bridge.Page
local function draw(shown)
  tree_view.draw(shown, files.groups(), appearance.of)
  shown.list, shown.by_path = next_hunk.list(shown.nodes), {}
  tree.each(shown.nodes, function(node)
    if node.item and node.item.state ~= "proposed" then
      shown.by_path[node.item.path] = node
    end
  end)
  update_bars(shown)
end

--- Draws the tree at once, for example after the user has opened a folder.
function M.draw()
  local shown = M.get()
  if shown then
    draw(shown)
  end
end

--- Draws the lines of files with new counts, and of their folders and groups.
---@param shown gemini_bridge.Page
---@param names table<string, true>
local function patch(shown, names)
  local touched = {} ---@type table<gemini_bridge.Node, true>
  for name in pairs(names) do
    for _, node in ipairs(tree.update(shown.by_path[name])) do
      touched[node] = true
    end
  end
  tree_view.patch(shown, vim.tbl_keys(touched), appearance.of)
  update_bars(shown)
end

--- Draws the tree soon, once for several updates.
---@param name? string The only changed file, if only its counts and state have changed.
function M.refresh(name)
  if not page then
    return
  elseif not name then
    changed = nil
  elseif changed then
    changed[name] = true
  end
  if is_refreshing then
    return
  end
  is_refreshing = true
  scheduler.next(function()
    local names = changed
    is_refreshing, changed = false, {}
    local shown = M.get()
    if not shown then
      return
    elseif names and vim.tbl_count(names) <= MAX_PATCHED_FILES then
      patch(shown, names)
    else
      draw(shown)
    end
  end)
end

--- Returns the node of a file, and opens its folders and groups.
---@param shown gemini_bridge.Page
---@param name string
---@return gemini_bridge.Node?
local function reveal(shown, name)
  local found = shown.by_path[name]
  local above, is_hidden = found and found.parent, false
  while above do
    is_hidden = is_hidden or not above.is_open
    shown.is_open[above.key] = above.is_open ~= true and true or shown.is_open[above.key]
    above = above.parent
  end
  if is_hidden then
    draw(shown)
    return reveal(shown, name)
  end
  return found
end

--- Returns the node of the file at the right.
---@param shown gemini_bridge.Page
---@return gemini_bridge.Node?
function M.current_node(shown)
  return shown.current and shown.by_path[shown.current]
end

--- Shows the current file again if the user has closed its window.
---@param shown gemini_bridge.Page
function M.ensure_shown(shown)
  local node = M.current_node(shown)
  if node and not layout.shows_own(shown) then
    M.show(shown, node)
  end
end

--- Shows a file at the right, at its first undecided hunk; backwards, at its last one.
---@param shown gemini_bridge.Page
---@param node gemini_bridge.Node
---@param direction? 1|-1
function M.show(shown, node, direction)
  local file = node.item --[[@as gemini_bridge.PageFile]]
  local is_other = shown.current ~= file.path
  if is_other then
    compare.close(shown.right)
  end
  shown.current = file.path
  local buf = layout.fill(shown, function(win)
    return view.show(win, file)
  end)
  view.mark(buf, file.path, not compare.is_open(shown.right))
  local shown_node = reveal(shown, file.path)
  if shown_node and shown_node.row then
    vim.api.nvim_win_set_cursor(shown.tree, { shown_node.row, 0 })
  end
  direction = direction or 1
  local hunk = next_hunk.hunk(buf, file, direction == 1 and 0 or math.huge, direction)
  if hunk then
    layout.go_to_line(shown, hunk.first)
  end
  update_bars(shown)
end

--- Goes to the next or previous undecided hunk, in this file or in another one.
---@param shown gemini_bridge.Page
---@param direction 1|-1
---@return boolean found
function M.go(shown, direction)
  local file = shown.current and files.get(shown.current)
  local node = M.current_node(shown)
  if file and node and file.change and layout.shows_own(shown) then
    local line = vim.api.nvim_win_get_cursor(shown.right)[1]
    local hunk = next_hunk.hunk(shown.right_buf, file, line, direction)
    if hunk then
      shown.goal = { path = file.path, hunk = hunk.hunk.id }
      layout.go_to_line(shown, hunk.first)
      return true
    end
  end
  local next_node, is_wrapped = next_hunk.file(shown.list, node, direction)
  if not next_node then
    return false
  end
  if is_wrapped and next_node ~= node then
    notify(direction == 1 and "Continued at the first change." or "Continued at the last change.")
  end
  M.show(shown, next_node, direction)
  return true
end

--- Closes the page, and moves the focus back to the previous window.
function M.close()
  local shown = M.get()
  if shown then
    dispose(shown)
    layout.close(shown)
  end
end

---@param shown gemini_bridge.Page
local function listen(shown)
  local group = vim.api.nvim_create_augroup("gemini-bridge.changes.page", {})
  local function on(event, options, act)
    options.group, options.callback = group, act
    vim.api.nvim_create_autocmd(event, options)
  end
  on("BufWipeout", { buffer = shown.buf }, function()
    dispose(shown)
  end)
  local function refresh()
    M.refresh()
  end
  on("WinResized", {}, refresh)
  on("User", { pattern = "GeminiDiff*" }, refresh)
  -- |:edit!| empties the tree.
  on("BufReadCmd", { buffer = shown.buf }, M.draw)
  on("BufModifiedSet", {}, function(args)
    view.keep(args.buf)
  end)
  shown.stops = {
    function()
      vim.api.nvim_del_augroup_by_id(group)
    end,
    layout.follow(shown, function(buf)
      return shown.current ~= nil and path.buffer(shown.current) == buf
    end, function(is_closed)
      compare.close(shown.right)
      shown.current = is_closed and shown.current or nil
    end),
    changes.listen(function(name, change, decision)
      if not name then
        files.drop_undecided()
        return M.refresh()
      end
      next_hunk.settle(name)
      local is_moved = files.update(name, change, decision)
      M.follow(shown, name, change)
      M.refresh(not is_moved and shown.by_path[name] and name or nil)
    end),
  }
end

--- Handles new changes of a file: marks them if the file is shown, and moves the cursor to the next hunk.
---@param shown gemini_bridge.Page
---@param name string
---@param change? gemini_bridge.Change
function M.follow(shown, name, change)
  local buf = shown.right_buf
  if name ~= shown.current or not layout.shows_own(shown) or path.buffer(name) ~= buf then
    return
  end
  view.mark(buf, name, not compare.is_open(shown.right))
  local goal = shown.goal
  if change and goal and goal.path == name then
    local placed = vim.iter(require("gemini-bridge.changes.signs").list(buf)):find(function(one)
      return one.hunk.id == goal.hunk
    end)
    if placed then
      layout.go_to_line(shown, placed.first)
    end
  end
  shown.goal = nil
end

---@param shown gemini_bridge.Page
---@param node gemini_bridge.Node
local function show_with_focus(shown, node)
  M.show(shown, node)
  focus.go(shown.right)
end

--- Opens the page, or moves the focus to it.
---@param name? string Path of a file to go to.
function M.open(name)
  focus.end_visual()
  local opened = M.get()
  if opened then
    focus.go(opened.tree)
    if name and opened.by_path[name] then
      show_with_focus(opened, opened.by_path[name])
    end
    return
  end
  channel.notify("changes_refresh", vim.empty_dict())
  files.reset()
  local shown = layout.open(NAME) --[[@as gemini_bridge.Page]]
  shown.nodes, shown.rows, shown.list, shown.by_path, shown.is_open, shown.stops = {}, {}, {}, {}, {}, {}
  page = shown
  listen(shown)
  draw(shown)
  focus.go(shown.tree)
  vim.bo[shown.buf].filetype = "gemini_changes"
  table.insert(shown.stops, on_open(shown))
  local first = name and shown.by_path[name] or next_hunk.file(shown.list, nil, 1)
  -- Files in closed groups are not in the list.
  local is_single = #shown.list == 1 and vim.tbl_count(shown.by_path) == 1
  if not first then
    return
  elseif name or is_single then
    show_with_focus(shown, first)
  else
    -- Loads the file after the tree was drawn, because file type plugins may be slow.
    scheduler.next(function()
      if page == shown and not shown.current then
        M.show(shown, first)
      end
    end)
  end
end

return M
