--- Detects a proposal in which U+FFFD has replaced characters of the file. A CLI decodes files as UTF-8, so it loses
--- the other bytes of a file in another encoding, such as Latin-1.
local path = require("gemini-bridge.disk.path")
local records = require("gemini-bridge.review.records")

local M = {}

local REPLACEMENT = "\239\191\189" -- U+FFFD in UTF-8

---@param bytes string
---@return integer
local function count(bytes)
  return select(2, bytes:gsub(REPLACEMENT, ""))
end

--- Returns true if the proposal has U+FFFD where the file on disk has something else.
---@param review gemini_bridge.Review
---@return boolean
function M.found(review)
  local content = records.content(review)
  if not content:find(REPLACEMENT, 1, true) then
    return false
  end
  local bytes = path.bytes(path.real(review.filePath)) or ""
  return not path.is_utf8(bytes) or count(content) > count(bytes)
end

--- Returns the warning about lost characters.
---@param review gemini_bridge.Review
---@return string
function M.warning(review)
  local name = path.display(review.filePath, 24)
  return ("%s could not read all characters of %s (U+FFFD): correct them, or accept with :GeminiAccept!"):format(
    review.label,
    name
  )
end

return M
