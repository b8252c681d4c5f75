--- What a review says of itself above its windows.
local config = require("gemini-bridge.config")
local differences = require("gemini-bridge.review.hunks")
local key_list = require("gemini-bridge.editor.key_list")
local path = require("gemini-bridge.disk.path")
local window = require("gemini-bridge.editor.window")

local M = {}

--- So much of a path is shown in the narrowest window (screen cells).
local MIN_NAME = 8

---@param review gemini_bridge.Review
---@return string? # nil before they have been counted.
local function hunks(review)
  if review.buffers.new then
    return "new file"
  elseif not review.counted then
    return
  end
  local kept = #vim.tbl_filter(function(hunk)
    return hunk.kept
  end, review.hunks)
  local count = #review.hunks
  local buffers = review.buffers
  local other = count == 0 and differences.difference(buffers.original, buffers.proposal)
  if other then
    return other
  end
  return ("%d %s"):format(count, count == 1 and "hunk" or "hunks")
    .. (kept > 0 and (", %d kept"):format(kept) or "")
end

---@param review gemini_bridge.Review
---@return string? note What the user should know before accepting.
function M.note(review)
  local open = review.buffers.original ---@type integer?
  if review.buffers.copied then
    open = path.buffer(review.filePath)
  end
  if review.stale then
    return "stale: the file has changed"
  elseif open and vim.api.nvim_buf_is_valid(open) and vim.bo[open].modified then
    return "unsaved changes in the file"
  end
end

---@param text string
local function escape(text)
  return (text:gsub("%%", "%%%%"))
end

--- A part of a bar. Where there is little room, the part with the lowest rank is left out first.
---@alias gemini_bridge.BarPart { text: string, rank: integer }

---@param text string|false|nil
---@param rank integer
---@return gemini_bridge.BarPart[] # Empty without a text.
local function part(text, rank)
  return text and { { text = text, rank = rank } } or {}
end

--- What a proposal's bar says behind the path.
---@param review gemini_bridge.Review
---@return gemini_bridge.BarPart[]
local function facts(review)
  local diff, position = config.get().diff, review.position
  local count, note, help = hunks(review), M.note(review), diff.keys.help
  return vim
    .iter({
      part(position and (" · %d of %d"):format(position.number, position.count), 5),
      part(count and " · " .. count, 4),
      part(note and " · " .. note, 7),
      part(diff.write_accepts and " · :w accepts" or " · :GeminiAccept", 6),
      part(", :q rejects", 3),
      part(help and (", %s keys"):format(key_list.name(help)), 1),
    })
    :flatten()
    :totable()
end

--- The proposal's bar. Where there is little room the path is shortened first, then whole parts are left out.
---@param review gemini_bridge.Review
---@param width integer Screen cells.
---@return string
local function proposal_bar(review, width)
  local name = { text = "", rank = math.huge }
  local parts = vim.list_extend({ { text = "Proposal for ", rank = 2 }, name }, facts(review))
  local function join()
    return (" %s "):format(vim
      .iter(parts)
      :map(function(each)
        return each.text
      end)
      :join(""))
  end
  local function room()
    return width - vim.fn.strdisplaywidth(join())
  end
  local shortest = math.min(vim.fn.strdisplaywidth(path.display(review.filePath)), MIN_NAME)
  for rank = 1, 7 do
    if room() < shortest then
      parts = vim.tbl_filter(function(each)
        return each.rank ~= rank
      end, parts)
    end
  end
  name.text = path.display(review.filePath, math.max(room(), MIN_NAME))
  return escape(join())
end

--- Shows the state of a review that is on the screen.
---@param review gemini_bridge.Review
function M.update(review)
  local view = review.view
  if not view or not config.get().diff.winbar then
    return
  end
  -- Also above the other side, or its lines would stand one row higher.
  for _, win in ipairs({ view.proposal, view.original }) do
    local buf = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win)
    local width = buf and vim.api.nvim_win_get_width(win) or 0
    local text
    if buf == view.buffers.proposal then
      text = proposal_bar(review, width)
    elseif buf == view.buffers.original then
      text = " " .. escape(path.display(review.filePath, math.max(width - 2, MIN_NAME))) .. " "
    end
    -- A window of one line has no room for it.
    pcall(window.set, win, text and { winbar = text } or {})
  end
end

return M
