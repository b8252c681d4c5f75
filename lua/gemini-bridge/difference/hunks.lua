--- Finds the hunks between two texts, and finds hunks by line. A review, the page, the history and the marks in files
--- use the same hunks: line 3 replaced by two lines is `{ line = 3, count = 2, old = 3, removed = 1 }`.
local M = {}

---@class gemini_bridge.Hunk
---@field line integer First line in the newer text, 1-based. If lines were only removed, the line above (0 at the top).
---@field count integer Number of lines in the newer text. 0 if lines were only removed.
---@field old integer First line in the older text, 1-based. If lines were only added, the line above.
---@field removed integer Number of lines in the older text. 0 if lines were only added.

--- A hunk with the lines of the buffer on which it is shown. A removal is shown on the line above, or on line 1.
---@class gemini_bridge.PlacedHunk: gemini_bridge.Hunk
---@field first integer First line, 1-based.
---@field last integer Last line.

-- The function |vim.diff()|, which Neovim 0.12 calls `vim.text.diff()`.
local diff = vim.text and vim.text.diff or vim.diff

---@param lines string[]
---@return string
local function joined(lines)
  return #lines == 0 and "" or table.concat(lines, "\n") .. "\n"
end

--- Returns the differences between two texts. Each difference has four numbers: first line (1-based) and number of
--- lines in the old text, then the same for the new text. For 0 lines, the first line is the line above the change.
---@param old string[]
---@param new string[]
---@param options? table Options of |vim.diff()|.
---@return integer[][]
function M.differences(old, new, options)
  options = vim.tbl_extend("force", options or {}, { result_type = "indices" })
  return diff(joined(old), joined(new), options) --[[@as integer[][] ]]
end

--- Returns the first and the last line of the newer text on which a hunk is shown, 1-based.
---@param hunk gemini_bridge.Hunk
---@return integer first, integer last
function M.range(hunk)
  local first = math.max(hunk.line, 1)
  return first, math.max(hunk.line + hunk.count - 1, first)
end

--- Returns the hunks between two texts, from top to bottom.
---@param old string[]
---@param new string[]
---@param options? table Options of |vim.diff()|.
---@return gemini_bridge.PlacedHunk[]
function M.compare(old, new, options)
  return vim.tbl_map(function(numbers)
    local hunk = { old = numbers[1], removed = numbers[2], line = numbers[3], count = numbers[4] }
    hunk.first, hunk.last = M.range(hunk)
    return hunk
  end, M.differences(old, new, options))
end

--- Returns the hunks that overlap some lines.
---@generic T: gemini_bridge.PlacedHunk
---@param list T[]
---@param first integer First line, 1-based.
---@param last integer
---@return T[]
function M.overlapping(list, first, last)
  return vim.tbl_filter(function(hunk)
    return hunk.first <= last and hunk.last >= first
  end, list)
end

--- Returns the next or previous hunk.
---@generic T: gemini_bridge.PlacedHunk
---@param list T[] From top to bottom.
---@param line integer Line to start from, 1-based. 0 and math.huge start at the ends of the text.
---@param direction 1|-1
---@param is_wanted? fun(hunk: T): boolean Skips hunks for which this function returns false.
---@return T?
function M.next(list, line, direction, is_wanted)
  local function is_next(hunk)
    return (hunk.first - line) * direction > 0 and (not is_wanted or is_wanted(hunk))
  end
  local hunks = vim.iter(list)
  return direction == 1 and hunks:find(is_next) or direction == -1 and hunks:rfind(is_next) or nil
end

--- Returns a function that maps a line of one text to the corresponding line of another text.
---@param from string[]
---@param to string[]
---@return fun(line: integer): integer # Both lines are 1-based.
function M.line_map(from, to)
  -- Treats an empty text as one empty line, as a buffer does.
  local edits = M.differences(from[1] and from or { "" }, to[1] and to or { "" })
  return function(line)
    local shift = 0
    for _, edit in ipairs(edits) do
      local first, count, target, now = unpack(edit)
      -- For added lines, `first` is the line above the added lines.
      if line < (count == 0 and first + 1 or first) then
        break
      elseif line < first + count then
        return math.max(math.min(target + line - first, target + now - 1), 1)
      end
      shift = target + now - (first + count) + (now == 0 and 1 or 0) - (count == 0 and 1 or 0)
    end
    return line + shift
  end
end

return M
