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
  -- In Neovim's own selection, CTRL-C raises an error. Treats the error as a cancellation.
  if not pcall(vim.ui.select, choices, options, once) then
    once(nil)
  end
end
