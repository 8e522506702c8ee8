-- SPDX-License-Identifier: MIT
-- Lower bounds of what a template costs when some tiles are chosen and the others are open
-- (doc/formulas.md#certificates-bounds).  The formulas are those of the analysis; nothing is shared
-- with the search but the list of templates.

local analysis = require "einloom.search.analysis"
local chains = require "einloom.certify.chains"
local core = require "einloom.core"
local errors = require "einloom.errors"
local items = require "einloom.certify.items"
local limits = require "einloom.certify.limits"
local reach = require "einloom.certify.reach"
local reserved = require "einloom.certify.reserved"
local shares = require "einloom.certify.shares"
local value = require "einloom.value"

local bounds = {}

-- Sums of a hundred items of doubles are exact to far less than this share of the items.
local ROUNDING <const> = 1e-13

---@class einloom.Bounds
---@field variables string[] those with several loops or values, in order
---@field roots table<string, einloom.ChainNode>
---@field lists table<string, einloom.Chains>
---@field energy table column of the dynamic energy
---@field latencies table[] columns of which the largest counts
---@field leak number energy per unit of latency
---@field limits table[] {name, column, limit}: dimensions
---@field loop_limits einloom.LoopLimit[] of trips over dimensions
---@field shares? einloom.Shares with the goals that limits leave tiles for
---@field memories table[] {name, limit, reserved = einloom.Reserved[]}: those with a limit
---@field template einloom.Template
local Bounds = {}
Bounds.__index = Bounds

-- ---- functions and their values ----

-- Values of a function of one variable in all its rows.
local function values_of(list, e)
  local symbols = {}
  for j = 1, #list.loops - 1 do symbols[j] = core.symbol("tile" .. list.loops[j].number) end
  if #symbols == 0 then return { e:tonumber() } end
  return core.compile({ e }, symbols):eval(chains.columns(list))[1]
end

-- The functions of the variables, each with its values; positions count from 1.
local function new_domain(lists)
  local domain = { variable_of = {}, functions = {}, values = {} }
  local known, ranges = {}, {}
  for v, list in pairs(lists) do
    for _, loop in ipairs(list.loops) do domain.variable_of["tile" .. loop.number] = v end
    known[v], domain.functions[v], domain.values[v] = {}, {}, {}
  end
  local function values(v, e)
    local own = known[v]
    if not own[e] then own[e] = values_of(lists[v], e) end
    return own[e]
  end
  function domain.range(v, e)
    local own = values(v, e)
    local range = ranges[own]
    if not range then
      local least, most = own[1], own[1]
      for i = 2, #own do
        local x = own[i]
        if x < least then least = x elseif x > most then most = x end
      end
      range = { least, most }
      ranges[own] = range
    end
    return range[1], range[2]
  end
  function domain.position(v, e)
    local own = domain.functions[v]
    if not own[e] then
      own[e] = #domain.values[v] + 1
      table.insert(domain.values[v], values(v, e))
    end
    return own[e]
  end
  -- The position of the trips of the j-th loop of a variable.
  function domain.trips(v, j)
    local key = "trips" .. j
    if not domain.functions[v][key] then
      table.insert(domain.values[v], chains.trips(lists[v], j))
      domain.functions[v][key] = #domain.values[v]
    end
    return domain.functions[v][key]
  end
  return domain
end

-- Items with positions of their functions: {coefficient, position by number of the variable}; those
-- that are not negative and those that are.
local function column_of(domain, variables, e)
  local column = { up = {}, down = {} }
  for _, item in ipairs(items.of(domain, e)) do
    local flat = { item.coefficient }
    for i, v in ipairs(variables) do
      local f = item.functions[v]
      flat[i + 1] = f and domain.position(v, f) or 0
    end
    table.insert(item.coefficient >= 0 and column.up or column.down, flat)
  end
  return column
end

-- ---- costs ----

-- The formulas of which the latency is the largest.
local function latency_parts(e)
  local scale, inner = core.int(1), e
  if e:kind() == "mul" and e:arity() == 2 and e:arg(1):is_number() then
    scale, inner = e:arg(1), e:arg(2)
  end
  if inner:kind() ~= "max" then return { e } end
  local list = {}
  for i, arg in ipairs(inner:args()) do list[i] = scale * arg end
  return list
end

-- A formula where every tile is 1.
local function at_ones(e)
  local ones = {}
  for _, symbol in ipairs(e:symbols()) do ones[symbol] = 1 end
  return next(ones) and e(ones) or e
end

-- Energy leaked per unit of latency, where it is proportional to it.
local function leak_of(costs)
  if costs.leak_energy:is_number() and costs.leak_energy:tonumber() == 0 then return 0 end
  local latency, leak = at_ones(costs.latency), at_ones(costs.leak_energy)
  if latency:eq(0) ~= false or not (costs.latency * (leak / latency)):eq(costs.leak_energy) then
    errors.raise("bound", "leaked energy is not proportional to latency")
  end
  return (leak / latency):tonumber()
end

-- The column of a stage, with the trips that have to be 1 for the stage before to be passed.
local function stage_of(self, domain, stage)
  local number, needs = {}, {}
  for i, v in ipairs(self.variables) do number[v] = i end
  for k, loop in ipairs(stage.needs) do
    needs[k] = { number[loop.variable], domain.trips(loop.variable, loop.j) }
  end
  return {
    above = stage.above, needs = needs, column = column_of(domain, self.variables, stage.bits),
  }
end

local function add_memories(self, domain, case, costs)
  local by_name = {}
  for _, row in ipairs(costs.memory) do
    local name = row.component
    local size = value.nearest(case.arch:component(name).size)
    if size < math.huge then
      local memory = by_name[name]
      if not memory then
        memory = { name = name, limit = size, reserved = {} }
        by_name[name] = memory
        self.memories[#self.memories + 1] = memory
      end
      local r = reserved.of(case, self.template, row)
      for k, stage in ipairs(r and r.stages or {}) do
        r.stages[k] = stage_of(self, domain, stage)
      end
      memory.reserved[#memory.reserved + 1] = r
    end
  end
end

local function add_dimensions(self, domain, costs)
  for _, row in ipairs(costs.spatial) do
    if not (row.used:is_number() and row.used:tonumber() == 1) then
      self.limits[#self.limits + 1] = {
        name = row.component .. "." .. row.dim, limit = row.fanout:tonumber(),
        column = column_of(domain, self.variables, row.used),
      }
    end
  end
end

-- What the variables use of dimensions that ask for a share, as functions.
local function add_shares(self, domain, way)
  self.shares = shares.of(way, self.variables, self.lists)
  if not self.shares then return end
  self.share_positions = {}
  for i, v in ipairs(self.variables) do
    local uses, positions = shares.uses(self.shares.dims, self.lists[v]), {}
    for d = 1, #self.shares.dims do
      local column = {}
      for k, use in ipairs(uses) do column[k] = use[d] end
      table.insert(domain.values[v], column)
      positions[d] = #domain.values[v]
    end
    self.share_positions[i] = positions
  end
end

-- How many fused loops of each variable run more than once, where that is limited.
local function add_fused(self, domain, limit)
  if self.template.n_fused <= limit then return end
  self.max_fused, self.fused_positions = limit, {}
  for i, v in ipairs(self.variables) do
    local list, column = self.lists[v], {}
    for k, row in ipairs(list.rows) do
      column[k] = select(2, chains.use(list.loops, row, list.size))
    end
    table.insert(domain.values[v], column)
    self.fused_positions[i] = #domain.values[v]
  end
end

local function make(case, template)
  local way, own = template.way, chains.loops(template)
  local self = setmetatable({
    variables = way.variables, roots = {}, limits = {}, memories = {}, template = template,
    lists = chains.lists(way, own, case.options),
  }, Bounds)
  local domain = new_domain(self.lists)
  local made, message, kind = analysis.costs(case, template)
  if not made then errors.raise(kind, message) end
  local costs = made:einsum(way.einsum)
  made:close()
  self.leak = leak_of(costs)
  self.energy = column_of(domain, self.variables, costs.dynamic_energy)
  self.latencies = {}
  for i, e in ipairs(latency_parts(costs.latency)) do
    self.latencies[i] = column_of(domain, self.variables, e)
  end
  add_memories(self, domain, case, costs)
  add_dimensions(self, domain, costs)
  add_shares(self, domain, way)
  add_fused(self, domain, case.options.max_fused_loops)
  self.loop_limits = limits.of(domain, way, self.variables, self.lists)
  for v, list in pairs(self.lists) do self.roots[v] = chains.tree(list, domain.values[v]) end
  if self.shares then self.shares.goals = reach.fullest(self, self.shares) end
  return self
end

--- The bounds of a template. Raises an error object of kind `bound` for costs of another form.
---@param case einloom.SearchProblem
---@param template einloom.Template
---@return einloom.Bounds
function bounds.of(case, template) return make(case, template) end

-- ---- bounds of a state ----

-- The least of a column: items at their least, those below zero at their most, less what rounding
-- may have added.
local function least_of(column, nodes)
  local sum = 0
  for _, item in ipairs(column.up) do
    local x = item[1]
    for i = 2, #item do
      if item[i] > 0 then x = x * nodes[i - 1].least[item[i]] end
    end
    sum = sum + x
  end
  local size = sum
  for _, item in ipairs(column.down) do
    local x = item[1]
    for i = 2, #item do
      if item[i] > 0 then x = x * nodes[i - 1].most[item[i]] end
    end
    sum, size = sum + x, size - x
  end
  return sum - ROUNDING * size
end

local function may_pass(stage, nodes)
  for _, need in ipairs(stage.needs) do
    if nodes[need[1]].least[need[2]] > 1 then return false end
  end
  return true
end

--- Bits that a reservation takes at least, and the loops that may stand above it then.
---@param r einloom.Reserved
---@param nodes einloom.ChainNode[]
---@return number bits
---@return table[] above
function bounds.bits(r, nodes)
  local k = 1
  while k < #r.stages and may_pass(r.stages[k + 1], nodes) do k = k + 1 end
  return least_of(r.stages[k].column, nodes), r.stages[k].above
end

local function bits_in(memory, nodes)
  local sum = 0
  for _, r in ipairs(memory.reserved) do sum = sum + bounds.bits(r, nodes) end
  return sum
end

--- The memory or dimension that cannot hold what the choices need whatever the open tiles are, and
--- how much that is; nil if there is none.
---@param nodes einloom.ChainNode[] by number of the variable
---@return string? name
---@return number? needed
function Bounds:exceeded(nodes)
  for _, memory in ipairs(self.memories) do
    local needed = bits_in(memory, nodes)
    if needed > memory.limit * (1 + ROUNDING) then return memory.name, needed end
  end
  for _, l in ipairs(self.limits) do
    local needed = least_of(l.column, nodes)
    if needed > l.limit * (1 + ROUNDING) then return l.name, needed end
  end
  return nil
end

--- The state in which every tile is open.
---@return einloom.ChainNode[]
function Bounds:root()
  local nodes = {}
  for i, v in ipairs(self.variables) do nodes[i] = self.roots[v] end
  return nodes
end

--- The least and the most that the dimensions with a least share are used.
---@param nodes einloom.ChainNode[]
---@return number[] least
---@return number[] most
function Bounds:share_uses(nodes)
  local least, most = {}, {}
  for d = 1, #self.shares.dims do
    least[d], most[d] = 1, 1
    for i, node in ipairs(nodes) do
      local k = self.share_positions[i][d]
      least[d], most[d] = least[d] * node.least[k], most[d] * node.most[k]
    end
  end
  return least, most
end

--- Whether dimensions that ask for a share may be used as fully as they can be.
---@param nodes einloom.ChainNode[]
---@return boolean
function Bounds:shares_fit(nodes)
  return not self.shares or shares.possible(self.shares, self:share_uses(nodes))
end

--- Whether the trips over dimensions may keep to their bounds.
---@param nodes einloom.ChainNode[]
---@return boolean
function Bounds:loops_fit(nodes) return limits.fit(self.loop_limits, nodes) end

--- Whether no more fused loops run more than once than may.
---@param nodes einloom.ChainNode[]
---@return boolean
function Bounds:fused_fit(nodes)
  if not self.max_fused then return true end
  local n = 0
  for i, node in ipairs(nodes) do n = n + node.least[self.fused_positions[i]] end
  return n <= self.max_fused
end

--- Whether a state without open tiles fits all memories even where reservations stand as in the
--- template, which is where they take most.
---@param nodes einloom.ChainNode[]
---@return boolean
function Bounds:surely_fits(nodes)
  for _, memory in ipairs(self.memories) do
    local sum = 0
    for _, r in ipairs(memory.reserved) do sum = sum + least_of(r.stages[1].column, nodes) end
    if sum > memory.limit then return false end
  end
  return true
end

--- Lower bounds of energy and latency.
---@param nodes einloom.ChainNode[]
---@return number energy
---@return number latency
function Bounds:figures(nodes)
  local latency = 0
  for _, column in ipairs(self.latencies) do
    latency = math.max(latency, least_of(column, nodes))
  end
  return least_of(self.energy, nodes) + self.leak * latency, latency
end

--- Lower bounds of the bits in the memories with a limit.
---@param nodes einloom.ChainNode[]
---@return table<string, number>
function Bounds:usage(nodes)
  local usage = {}
  for _, memory in ipairs(self.memories) do
    usage[memory.name] = bits_in(memory, nodes) / memory.limit
  end
  return usage
end

return bounds
