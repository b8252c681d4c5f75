--- Lets the user choose one of several items with |vim.ui.select()|.

---@generic T
---@param choices T[]
---@param options { prompt: string, format_item?: (fun(choice: T): string), preview_item?: fun(choice: T): table }
---@param answer fun(choice?: T) Called once; with nil if the user has cancelled.
return function(choices, options, answer)
  local is_answered = false
  local function once(choice)
    if not is_answered then
      is_answered = true
      answer(choice)
    end
  end
  options.kind = "gemini-bridge"
  -- In the built-in selection, CTRL-C raises an error, which means that the user has cancelled.
  if not pcall(vim.ui.select, choices, options, once) then
    once(nil)
  end
end
