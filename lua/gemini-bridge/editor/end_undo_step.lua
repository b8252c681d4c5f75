--- Ends the current undo step of the current buffer, also in Insert mode, so that the next change is a step of its own.
return function()
  vim.cmd("noautocmd let &l:undolevels = &l:undolevels")
end
