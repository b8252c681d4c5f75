/**
 * Lua that defines `bench_serve(answers)`. This function starts a language server for the current buffer. The server
 * runs inside Neovim, and answers without delay.
 */
export const SERVE = `
function bench_serve(answers)
  vim.lsp.start({
    name = 'bench',
    root_dir = vim.fn.getcwd(),
    cmd = function()
      local closing, id = false, 0
      return {
        request = function(method, _, callback)
          id = id + 1
          vim.schedule(function() callback(nil, answers[method]) end)
          return true, id
        end,
        notify = function() return true end,
        is_closing = function() return closing end,
        terminate = function() closing = true end,
      }
    end,
  })
end
`;
