-- SPDX-License-Identifier: MIT
-- Fronts of pairs (energy, latency): lists of pairs of which none is at most another one in both,
-- by ascending energy.

local fronts = {}

--- Adds a pair unless one of the front is at most it in both.
---@param front number[][]
---@param energy number
---@param latency number
function fronts.add(front, energy, latency)
  local at, n = 1, #front
  while at <= n and front[at][1] < energy do at = at + 1 end
  if at > 1 and front[at - 1][2] <= latency then return end
  local last = at
  while last <= n and front[last][2] >= latency do last = last + 1 end
  if at <= n and last == at and front[at][1] == energy then return end
  table.move(front, last, n, at + 1)
  for i = n + at + 2 - last, n do front[i] = nil end
  front[at] = { energy, latency }
end

--- Adds the sums of the pairs of two fronts.
---@param front number[][]
---@param a number[][]
---@param b number[][]
function fronts.add_sums(front, a, b)
  for _, p in ipairs(a) do
    for _, q in ipairs(b) do fronts.add(front, p[1] + q[1], p[2] + q[2]) end
  end
end

--- The least energy and the least latency of a front, each by itself.
---@param front number[][]
---@return number energy
---@return number latency
function fronts.least(front)
  if #front == 0 then return math.huge, math.huge end
  return front[1][1], front[#front][2]
end

return fronts
