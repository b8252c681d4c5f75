--- Shows a list in snacks.nvim, telescope.nvim, fzf-lua or |vim.ui.select()|.
local choose = require("gemini-bridge.editor.choose")
local lists = require("gemini-bridge.pick.lists").lists
local notify = require("gemini-bridge.notify")

local M = {}

---@alias gemini_bridge.ShowList fun(list: gemini_bridge.PickList, items: gemini_bridge.PickItem[])

---@param list gemini_bridge.PickList
---@param items gemini_bridge.PickItem[]
local function show_snacks(list, items)
  local rows = vim.tbl_map(function(item)
    local position = item.line and { item.line, 0 } or nil
    return { text = item.text, file = item.path, pos = position, item = item }
  end, items)
  require("snacks").picker.pick({
    title = list.title,
    items = rows,
    format = "text",
    preview = function(context)
      context.preview:reset()
      context.preview:set_lines(context.item.item.preview())
      context.preview:highlight({ ft = list.syntax })
    end,
    confirm = function(picker, row)
      picker:close()
      if row then
        vim.schedule(row.item.choose)
      end
    end,
  })
end

---@param list gemini_bridge.PickList
---@param items gemini_bridge.PickItem[]
local function show_telescope(list, items)
  local actions = require("telescope.actions")
  local function entry_of(item)
    return { value = item, display = item.text, ordinal = item.text, path = item.path, lnum = item.line }
  end
  local picker = require("telescope.pickers").new({}, {
    prompt_title = list.title,
    finder = require("telescope.finders").new_table({ results = items, entry_maker = entry_of }),
    sorter = require("telescope.config").values.generic_sorter({}),
    previewer = require("telescope.previewers").new_buffer_previewer({
      title = list.title,
      define_preview = function(self, entry)
        vim.api.nvim_buf_set_lines(self.state.bufnr, 0, -1, false, entry.value.preview())
        vim.bo[self.state.bufnr].syntax = list.syntax
      end,
    }),
    attach_mappings = function(prompt)
      actions.select_default:replace(function()
        local entry = require("telescope.actions.state").get_selected_entry()
        actions.close(prompt)
        if entry then
          entry.value.choose()
        end
      end)
      return true
    end,
  })
  picker:find()
end

---@param list gemini_bridge.PickList
---@param items gemini_bridge.PickItem[]
local function show_fzf(list, items)
  local rows = {}
  for number, item in ipairs(items) do
    rows[number] = ("%d\t%s"):format(number, item.text)
  end
  local function item_of(selected)
    return selected[1] and items[tonumber(selected[1]:match("^%d+"))]
  end
  require("fzf-lua").fzf_exec(rows, {
    prompt = list.title .. "> ",
    fzf_opts = { ["--delimiter"] = "\t", ["--with-nth"] = "2.." },
    preview = function(selected)
      local item = item_of(selected)
      return item and table.concat(item.preview(), "\n") or ""
    end,
    actions = {
      enter = function(selected)
        local item = item_of(selected)
        if item then
          item.choose()
        end
      end,
    },
  })
end

---@param list gemini_bridge.PickList
---@param items gemini_bridge.PickItem[]
local function show_select(list, items)
  choose(items, {
    prompt = list.title,
    format_item = function(item)
      return item.text
    end,
    preview_item = function(item)
      local buf = vim.api.nvim_create_buf(false, true)
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, item.preview())
      vim.bo[buf].syntax, vim.bo[buf].bufhidden = list.syntax, "wipe"
      return { buf = buf }
    end,
  }, function(item)
    if item then
      item.choose()
    end
  end)
end

---@type table<string, gemini_bridge.ShowList>
local SHOW = { snacks = show_snacks, telescope = show_telescope, fzf = show_fzf, select = show_select }
local MODULES = { snacks = "snacks", telescope = "telescope", fzf = "fzf-lua" }
--- Pickers in the order in which `choose_picker` looks for them.
local ORDER = { "snacks", "telescope", "fzf" }

---@param name string
---@return boolean
local function is_installed(name)
  return MODULES[name] == nil or (pcall(require, MODULES[name]))
end

--- Returns the first installed picker. Uses snacks.nvim only if its picker is enabled, because some users install
--- snacks.nvim only for its other parts.
---@return string
local function choose_picker()
  return vim.iter(ORDER):find(function(name)
    local is_enabled = name ~= "snacks" or is_installed(name) and require("snacks").config.picker.enabled
    return is_enabled and is_installed(name)
  end) or "select"
end

---@class gemini_bridge.PickOptions
---@field picker? "auto"|"snacks"|"telescope"|"fzf"|"select" Default: "auto", which uses the first installed picker.

--- Shows a list in a picker and opens the item that the user chooses.
---@param name "changes"|"history"|"prompts"
---@param opts gemini_bridge.PickOptions
function M.pick(name, opts)
  local list, picker = lists[name], opts.picker or "auto"
  if not list then
    return notify(("Unknown list '%s'. Known: changes, history, prompts."):format(name), "error")
  elseif picker ~= "auto" and not SHOW[picker] then
    local known = "auto, snacks, telescope, fzf, select"
    return notify(("Unknown picker '%s'. Known: %s."):format(picker, known), "error")
  elseif picker ~= "auto" and not is_installed(picker) then
    return notify(
      ("%s is not installed: install it, or choose another picker."):format(MODULES[picker]),
      "error"
    )
  end
  local items, reason = list.items()
  if not items then
    return notify(reason or "")
  end
  SHOW[picker == "auto" and choose_picker() or picker](list, items)
end

return M
