--- Sorts files into a tree of groups and folders. Lists the visible nodes of the tree.
local M = {}

---@class gemini_bridge.Node
---@field kind "group"|"folder"|"file"
---@field key string Identifies the node, also after the tree was built again.
---@field name string
---@field depth integer
---@field parent? gemini_bridge.Node
---@field children gemini_bridge.Node[]
---@field item? gemini_bridge.TreeItem Only for a file.
---@field group? gemini_bridge.TreeGroup Only for a group.
---@field added integer Number of added lines.
---@field removed integer Number of removed lines.
---@field decided integer Number of hunks that the user has kept or undone.
---@field hunks integer Number of all hunks.
---@field is_open boolean
---@field row? integer Row in the tree, 1-based. nil below a closed node.

---@class gemini_bridge.TreeItem
---@field path string Absolute path.
---@field id? string Identifies the item on the page. nil for a proposal.
---@field relative string Path as shown to the user.
---@field key? string Identifies the item in its group, and sorts items with one path. Default: the path.
---@field added? integer
---@field removed? integer
---@field decided? integer
---@field hunks? integer

---@class gemini_bridge.TreeGroup
---@field key string
---@field name string
---@field is_closed? boolean True if the group is closed until the user opens the group.
---@field is_flat? boolean True if the group has no folders. The tree then shows whole paths.
---@field items gemini_bridge.TreeItem[]
---@field groups? gemini_bridge.TreeGroup[] Inner groups, shown below the files.

---@param kind "group"|"folder"|"file"
---@param key string
---@param name string
---@param parent? gemini_bridge.Node
---@return gemini_bridge.Node
local function create(kind, key, name, parent)
  local node = {
    kind = kind,
    key = key,
    name = name,
    parent = parent,
    children = {},
    is_open = true,
  }
  if parent then
    parent.children[#parent.children + 1] = node
  end
  return node
end

--- Returns the tree node of a folder. Creates missing nodes for the folder and its parents.
---@param group gemini_bridge.Node
---@param folders table<string, gemini_bridge.Node> Nodes by path.
---@param directory string Relative path without a final slash. "" means the group itself.
---@return gemini_bridge.Node
local function folder(group, folders, directory)
  if directory == "" then
    return group
  elseif not folders[directory] then
    local above, name = directory:match("^(.*)/([^/]*)$")
    local parent = folder(group, folders, above or "")
    folders[directory] = create("folder", group.key .. "\0" .. directory, name or directory, parent)
  end
  return folders[directory]
end

--- Joins folders below a node: if a folder contains only one folder and no file, both become one node.
---@param node gemini_bridge.Node
local function flatten(node)
  for index, child in ipairs(node.children) do
    while child.kind == "folder" and #child.children == 1 and child.children[1].kind == "folder" do
      local inner = child.children[1]
      inner.name, inner.parent = child.name .. "/" .. inner.name, node
      child = inner
      node.children[index] = child
    end
    flatten(child)
  end
end

local RANKS = { folder = 1, file = 2, group = 3 }

---@param a gemini_bridge.Node
---@param b gemini_bridge.Node
---@return boolean
local function comes_before(a, b)
  if a.kind ~= b.kind then
    return RANKS[a.kind] < RANKS[b.kind]
  end
  return a.name < b.name or a.name == b.name and a.key < b.key
end

local COUNTS = { "added", "removed", "decided", "hunks" }

---@param node gemini_bridge.Node
local function add_up(node)
  for _, count in ipairs(COUNTS) do
    node[count] = node.item and node.item[count] or 0
    for _, child in ipairs(node.children) do
      node[count] = node[count] + child[count]
    end
  end
end

--- Sorts the nodes below a node and adds up their counts. Opens or closes nodes as the user has left them.
---@param node gemini_bridge.Node
---@param depth integer
---@param is_open table<string, boolean> Nodes that the user has opened or closed, by key.
local function finish(node, depth, is_open)
  node.depth = depth
  if is_open[node.key] ~= nil then
    node.is_open = is_open[node.key]
  end
  if not (node.group and node.group.is_flat) then
    table.sort(node.children, comes_before)
  end
  for _, child in ipairs(node.children) do
    finish(child, depth + 1, is_open)
  end
  add_up(node)
end

---@param source gemini_bridge.TreeGroup
---@param parent? gemini_bridge.Node
---@return gemini_bridge.Node
local function grow(source, parent)
  local group = create("group", source.key, source.name, parent)
  group.group, group.is_open = source, not source.is_closed
  local folders = {}
  for _, item in ipairs(source.items) do
    local relative = item.relative
    local directory, name = relative:match("^(.*)/([^/]*)$")
    if source.is_flat then
      directory, name = "", relative
    end
    local parent_node = folder(group, folders, directory or "")
    create("file", source.key .. "\0" .. (item.key or item.path), name or relative, parent_node).item = item
  end
  flatten(group)
  for _, inner in ipairs(source.groups or {}) do
    grow(inner, group)
  end
  return group
end

--- Builds a tree for each group.
---@param groups gemini_bridge.TreeGroup[]
---@param is_open table<string, boolean> Nodes that the user has opened or closed, by key.
---@return gemini_bridge.Node[]
function M.build(groups, is_open)
  return vim.tbl_map(function(source)
    local group = grow(source)
    finish(group, 0, is_open)
    return group
  end, groups)
end

--- Calls a function for each node and all nodes below, in the order of display.
---@param nodes gemini_bridge.Node[]
---@param act fun(node: gemini_bridge.Node): boolean? Returns false to skip the nodes below.
function M.each(nodes, act)
  for _, node in ipairs(nodes) do
    if act(node) ~= false then
      M.each(node.children, act)
    end
  end
end

--- Lists the visible nodes and sets their rows.
---@param nodes gemini_bridge.Node[]
---@return gemini_bridge.Node[]
function M.rows(nodes)
  local rows = {}
  M.each(nodes, function(node)
    rows[#rows + 1] = node
    node.row = #rows
    return node.is_open
  end)
  return rows
end

--- Returns the items of all files at or below some nodes.
---@param nodes gemini_bridge.Node[]
---@return gemini_bridge.TreeItem[]
function M.items(nodes)
  local items = {}
  M.each(nodes, function(node)
    items[#items + 1] = node.item
  end)
  return items
end

return M
