-- SPDX-License-Identifier: MIT
-- Dimensions that ask for a least share of their instances: which uses the loops of a template can
-- have, and which are the fullest (doc/formulas.md#search-least-shares).

local chains = require "einloom.certify.chains"
local errors = require "einloom.errors"

local shares = {}

---@class einloom.Shares
---@field dims table[] that ask for a share
---@field names string[] of the dimensions
---@field uses number[][] by dimension; those that loops can have
---@field goals number[][] of them those that no other one exceeds

local function asked_of(way)
  local dims, names = {}, {}
  for _, level in ipairs(way.levels) do
    for _, d in ipairs(level.dims) do
      if d.min_fraction > 0 then
        dims[#dims + 1], names[#names + 1] = d, level.name .. "." .. d.name
      end
    end
  end
  return dims, names
end

--- The dimensions that ask for a share, for messages.
---@param self einloom.Shares
---@return string
function shares.text(self) return table.concat(self.names, ", ") end

-- Trips over instances of uneven tiles are no divisors, and a search does not count with them.
local function refuse_uneven(way, names)
  for i, v in ipairs(way.variables) do
    if way.uneven and way.uneven[i] then
      errors.raise("certificate", ("no certificate is about a least share (min_usage) of %s with "
        .. "uneven tiles of %s"):format(table.concat(names, ", "), v))
    end
  end
end

-- What counts of a use: all beyond the share that is asked for is as good.
local function share(dim, used) return math.min(1, used / dim.count / dim.min_fraction) end

local function exceeds(dims, a, b)
  local more = false
  for d, dim in ipairs(dims) do
    local mine, other = share(dim, a[d]), share(dim, b[d])
    if mine < other then return false end
    more = more or mine > other
  end
  return more
end

-- The products of two lists of uses, each once, where the dimensions are large enough.
local function products(dims, first, second)
  local known, list = {}, {}
  for _, a in ipairs(first) do
    for _, b in ipairs(second) do
      local use, fits = {}, true
      for d, dim in ipairs(dims) do
        use[d] = a[d] * b[d]
        fits = fits and use[d] <= dim.count
      end
      local key = table.concat(use, " ")
      if fits and not known[key] then
        known[key] = true
        list[#list + 1] = use
      end
    end
  end
  return list
end

--- Uses that no other one exceeds.
---@param dims table[]
---@param all number[][]
---@return number[][]
function shares.fullest(dims, all)
  local list = {}
  for _, a in ipairs(all) do
    local full = true
    for _, b in ipairs(all) do full = full and not exceeds(dims, b, a) end
    if full then list[#list + 1] = a end
  end
  return list
end

--- Uses of the dimensions by the rows of a variable.
---@param dims table[]
---@param list einloom.Chains
---@return number[][] by row
function shares.uses(dims, list)
  local uses = {}
  for i, row in ipairs(list.rows) do
    local used, use = chains.use(list.loops, row, list.size), {}
    for d, dim in ipairs(dims) do use[d] = used[dim] or 1 end
    uses[i] = use
  end
  return uses
end

local function text_of(uses)
  local parts = {}
  for i, use in ipairs(uses) do parts[i] = table.concat(use, " ") end
  return table.concat(parts, ",")
end

-- Uses and the fullest of them by those of variables, of each way: templates have few different
-- ones.
local known_of = setmetatable({}, { __mode = "k" })

--- The uses that loops can have and those that no other one exceeds; nil where no dimension asks
--- for a share. Raises where tiles are uneven.
---@param way einloom.SearchWay
---@param variables string[]
---@param lists table<string, einloom.Chains>
---@return einloom.Shares?
function shares.of(way, variables, lists)
  local dims, names = asked_of(way)
  if #dims == 0 then return nil end
  refuse_uneven(way, names)
  local none = {}
  for d = 1, #dims do none[d] = 1 end
  local own, key = {}, {}
  for i, v in ipairs(variables) do
    own[i] = products(dims, { none }, shares.uses(dims, lists[v]))
    key[i] = text_of(own[i])
  end
  local known, text = known_of[way] or {}, table.concat(key, "|")
  known_of[way] = known
  if not known[text] then
    local all = { none }
    for _, uses in ipairs(own) do all = products(dims, all, uses) end
    known[text] = { uses = all, goals = shares.fullest(dims, all) }
  end
  return { dims = dims, names = names, uses = known[text].uses, goals = known[text].goals }
end

--- Whether uses between two bounds may be one of the goals.
---@param self einloom.Shares
---@param least number[]
---@param most number[]
---@return boolean
function shares.possible(self, least, most)
  for _, goal in ipairs(self.goals) do
    local fits = true
    for d, x in ipairs(goal) do fits = fits and least[d] <= x and x <= most[d] end
    if fits then return true end
  end
  return false
end

return shares
