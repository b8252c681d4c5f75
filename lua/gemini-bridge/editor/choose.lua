--- Lets the user choose an item with |vim.ui.select()|.

---@generic T
---@param choices T[]
---@param options { prompt: string, format_item?: (fun(choice: T): string), preview_item?: fun(choice: T): table }
---@param answer fun(choice?: T) Called once. Gets nil if the user cancels.
return function(choices, options, answer)
  local is_answered = false
  local function once(choice)
    if not is_answered then
      is_answered = true
      answer(choice)
    end
  end
  options.kind = "gemini-bridge"
  -- Treats an error as a cancellation, because CTRL-C raises an error in Neovim's own `vim.ui.select`.
  if not pcall(vim.ui.select, choices, options, once) then
    once(nil)
  end
end
