/** Lua code for the simulated user, and the types of its results. */
import { z } from "zod";

/** Lua for init.lua: the configuration of the simulated user. */
export const INIT = `
  vim.o.hidden, vim.o.more = true, false
  vim.keymap.set({ 'n', 'o', 'i', 'v' }, '<F2>', function() vim.fn.getcharstr() return '' end, { expr = true })
  require('gemini-bridge.host.boot').limits.reconnect_ms = 700
  require('gemini-bridge').setup({ extension = false, terminal = { cmd = { 'cat' } } })
  function _G.text(buf)
    return vim.api.nvim_buf_is_loaded(buf) and table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n') or ''
  end`;

/** Lua that returns traces of ended reviews. There should be none. */
export const LEFT = `
  local left = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local o, buf = vim.wo[win], vim.api.nvim_win_get_buf(win)
    for _, option in ipairs({ 'diff', 'scrollbind', 'cursorbind', 'winbar', 'cursorline' }) do
      local is_left = o[option] ~= vim.go[option] and vim.bo[buf].buftype ~= 'quickfix'
      left[#left + 1] = is_left and option .. ' in a window of ' .. vim.api.nvim_buf_get_name(buf) or nil
    end
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    local is_ours = vim.b[buf].gemini_diff or name:find('^gemini%-original:') or name:find('^gemini%-changes:')
    if vim.api.nvim_buf_is_loaded(buf) and is_ours then
      left[#left + 1] = 'the buffer ' .. name
    end
    for _, map in ipairs(vim.api.nvim_buf_get_keymap(buf, 'n')) do
      if (map.rhs or ''):find('gemini%-changes') then
        left[#left + 1] = 'the mapping ' .. map.lhs .. ' in ' .. name
      end
    end
  end
  local mode = vim.api.nvim_get_mode().mode
  if mode ~= (vim.bo.buftype == 'terminal' and 'nt' or 'n') then left[#left + 1] = 'mode ' .. mode end
  return left`;

/** Lua that returns the file and the buffer in which a word was just typed. */
export const WHERE = `
  local buf, name = vim.api.nvim_get_current_buf(), vim.api.nvim_buf_get_name(0)
  local diff, is_kept = vim.b.gemini_diff, vim.startswith(name, 'gemini://kept/')
  if vim.fn.getcmdwintype() ~= '' or vim.bo.buftype ~= '' and not diff and not is_kept then return {} end
  if not vim.api.nvim_get_current_line():find(..., 1, true) then return {} end
  return { buf = buf, file = diff and diff.filePath or name, proposed = diff ~= nil }`;
const Where = z.object({
  buf: z.int().optional(),
  file: z.string().optional(),
  proposed: z.boolean().optional(),
});
/** Result of {@link WHERE}. Has no fields if the word is not on the current line of a file or a proposal. */
export const Place = z.preprocess((place) => (Array.isArray(place) ? {} : place), Where);

/** Lua that returns "tree" or "file" if the keys of the review page are mapped in the current buffer, otherwise "". */
export const PAGE_WINDOW = `
  if vim.fn.getcmdwintype() ~= '' or not vim.fn.maparg('q', 'n'):find('gemini%-changes') then return '' end
  return vim.api.nvim_buf_get_name(0) == 'gemini-page://changes' and 'tree' or 'file'`;
