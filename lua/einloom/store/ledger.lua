-- SPDX-License-Identifier: MIT
-- What a search knows and keeps of its units of work: from stores, in a store, and which units are
-- its own.

local store = require "einloom.store"

local ledger = {}

---@class einloom.Ledger
---@field whole boolean all units are known in the end: the search joins them and has an answer
---@field n_known integer units that need no exploring
local Ledger = {}
Ledger.__index = Ledger

--- The ledger of all of a space, or of one shard of it, with what a store keeps of it.
---@param shard einloom.Shard
---@param kept? einloom.Store in which is written too
---@return einloom.Ledger
function ledger.new(shard, kept)
  local self = setmetatable({
    shard = shard, points = {}, paths = {}, whole = shard.of == 1, n_known = 0, store = kept,
    sketches = kept and kept:sketches() or {},
  }, Ledger)
  if kept then self:know(kept:known(), kept.path) end
  return self
end

--- Takes units with their points as known.
---@param known table<integer, table[]>
---@param path string of the store that knows them
function Ledger:know(known, path)
  for number, points in pairs(known) do
    if not self.points[number] then self.n_known = self.n_known + 1 end
    self.points[number], self.paths[number] = points, path
  end
end

--- The points of a unit, if they are known.
---@param number integer
---@return table[]?
function Ledger:known(number) return self.points[number] end

--- Calls work(...), which takes up what is known of a unit: where that fails, the store that knows
--- it is damaged.
---@param number integer
---@param work function
function Ledger:trust(number, work, ...)
  local path = self.paths[number] or self.store and self.store.path
  if not path then return work(...) end
  return store.trust(path, work, ...)
end

--- Whether a unit is to be explored by this search.
---@param number integer
---@return boolean
function Ledger:mine(number) return store.is_mine(self.shard, number) end

--- What an earlier session found when it sketched a unit.
---@param number integer
---@return { points: integer[][], least: number[] }?
function Ledger:sketch(number) return self.sketches[number] end

--- Notes what sketches found.
---@param list { number: integer, points: integer[][], least: number[] }[]
function Ledger:keep_sketches(list)
  if self.store then self.store:keep_sketches(list) end
end

--- Notes what exploring a unit left over.
---@param number integer
---@param points { tiles: integer[], figures: number[] }[]
---@param seconds number
---@param counts table<string, number>
function Ledger:keep(number, points, seconds, counts)
  if self.store then self.store:keep(number, points, seconds, counts) end
end

return ledger
