--- Notes for each terminal whether the user has typed a text that may still be in the CLI's prompt.
local M = {}

local keys = vim.api.nvim_create_namespace("gemini-bridge.typed_keys")

--- Terminals in which the user has typed since Enter, by buffer, with the last key or paste.
---@type table<integer, string>
local touched = {}

--- Keys that leave Terminal mode.
local LEAVING = { ["\28"] = true, ["\14"] = true }

---@param key string
local function note(key)
  local is_special = key:byte() == 128 and key:sub(2, 2) ~= "k" -- the mouse and commands, but not arrow keys
  if LEAVING[key] or is_special or vim.api.nvim_get_mode().mode ~= "t" then
    return
  end
  M.typed(vim.api.nvim_get_current_buf(), key)
end

--- |vim.paste()| before Terminal mode. A paste of the terminal in which Neovim runs calls this function, but sends no
--- keys.
local paste = vim.paste

---@param lines string[]
---@param phase -1|0|1|2|3
---@return boolean?
local function note_paste(lines, phase)
  M.typed(vim.api.nvim_get_current_buf(), table.concat(lines, "\n"))
  return paste(lines, phase)
end

--- Starts to watch keys and pastes in a terminal. Costs nothing outside Terminal mode.
---@param buf integer
function M.watch(buf)
  local group = vim.api.nvim_create_augroup("gemini-bridge.typed_keys." .. buf, {})
  local function on(event, run)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = buf, callback = run })
  end
  on("TermEnter", function()
    vim.on_key(note, keys)
    if vim.paste ~= note_paste then
      paste, vim.paste = vim.paste, note_paste
    end
  end)
  on("TermLeave", function()
    vim.on_key(nil, keys)
    if vim.paste == note_paste then
      vim.paste = paste
    end
  end)
  on("BufWipeout", function()
    touched[buf] = nil
    vim.api.nvim_del_augroup_by_id(group)
  end)
end

--- Notes that a program has typed into a terminal.
---@param buf integer
---@param text string "\r" empties the prompt, except after a backslash: CLIs then insert a line break.
function M.typed(buf, text)
  local is_sent = text == "\r" and not vim.endswith(touched[buf] or "", "\\")
  touched[buf] = not is_sent and text or nil
end

--- Returns true if the user has typed nothing since Enter.
---@param buf integer
---@return boolean
function M.is_untouched(buf)
  return not touched[buf]
end

return M
