-- SPDX-License-Identifier: MIT
-- The divisors of a size, largest first: tiles of which a loop needs a whole number.

--- Those that are at most `most` and multiples of `unit`.
---@param size integer
---@param most? integer
---@param unit? integer
---@return integer[]
return function(size, most, unit)
  local found = {}
  for d = math.min(size, most or size), 1, -1 do
    if size % d == 0 and d % (unit or 1) == 0 then found[#found + 1] = d end
  end
  return found
end
