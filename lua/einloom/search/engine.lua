-- SPDX-License-Identifier: MIT
-- The engine of the core filled from a space: memories, the einsums that differ in more than names
-- and their templates, explored one by one and joined.

local analysis = require "einloom.search.analysis"
local core = require "einloom.core"
local errors = require "einloom.errors"
local exact = require "einloom.search.exact"
local goals = require "einloom.search.goals"
local nest = require "einloom.search.nest"
local rules = require "einloom.search.rules"
local value = require "einloom.value"

local engine = {}

-- Costs of so many templates are kept where another engine may want them.
local kept_costs = 256

---@class einloom.Engine
---@field space einloom.Space
---@field built userdata the engine of the core
---@field open string[] memories whose use is a figure of the results
---@field numbers table[] by number of the shape: einsum, variables, dimensions, tensors, memories
---@field asked table<string, boolean> figures that are minimised
---@field templates integer[][] by shape and number in the core: those that were added
---@field costs table<einloom.SearchUnit, table> of the first units, with their descriptions, for
--- another engine
---@field n_costs integer how many more are kept
---@field places integer[][] by shape and template: its number in the core
local Engine = {}
Engine.__index = Engine

-- ---- memories ----

-- The largest width that a component gives to values of its own accord.
local function most_width(case)
  local most = 0
  for _, component in ipairs(case.arch.components) do
    local own = component.bits_per_value
    for _, width in pairs(type(own) == "table" and own or { own }) do
      most = math.max(most, value.nearest(width))
    end
  end
  return most
end

-- Bits that all tensors of the workload take at most, in double: integers could wrap around.
local function all_bits(case)
  local total, most = 0.0, most_width(case)
  for _, e in ipairs(case.workload.einsums) do
    for _, t in ipairs(e.tensors) do
      local size = 1.0
      for _, form in ipairs(t.affine) do
        local extent = 1.0
        for _, term in ipairs(form.terms) do
          extent = extent + math.abs(term[2]) * (case.workload.rank_variables[term[1]] - 1)
        end
        size = size * extent
      end
      total = total + size * math.max(value.nearest(t.bits_per_value), most)
    end
  end
  return total
end

-- Names of memories that may hold something of several einsums at once, or of one einsum while
-- others run; whether there is anything of the latter kind.
local function open_memories(space)
  local open, persistent = {}, false
  for i in ipairs(space.steps) do
    for _, template in ipairs(space:list(i)) do
      local n_loops = 0
      for _, node in ipairs(template.nodes) do
        if not node.tensor then
          n_loops = n_loops + 1
        else
          local always = node.backs and node.tensor.persistent or false
          persistent = persistent or always
          if n_loops < template.n_fused or always or node.backs and node.tensor.shared then
            open[template.way.levels[node.level].name] = true
          end
        end
      end
    end
  end
  return open, persistent
end

local function add_memories(self, open, usage)
  local case, enough = self.space.case, self.enough
  for _, component in ipairs(case.arch.components) do
    if component.class == "Memory" then
      local bits = value.nearest(component.size)
      local limited = bits < math.huge and (usage or bits < enough) and not self.relaxed.others
      local is_free = component.name == self.relaxed.memory
      local is_open = is_free or limited and (open[component.name] or usage) or false
      self.memories[component.name] = self.built:memory(component.name,
        limited and not is_free and bits or math.huge, is_open)
      if is_open then self.open[#self.open + 1] = component.name end
    end
  end
end

-- ---- einsums ----

local function rank_numbers(step, tensor)
  local ranks = {}
  for i, v in ipairs(step.variables) do
    ranks[i] = -1
    for k, form in ipairs(tensor.access.affine) do
      if #form.terms == 1 and form.terms[1][1] == v then ranks[i] = k - 1 end
    end
  end
  return ranks
end

local function add_bounds(built, numbers, dimension, bounds)
  for _, bound in ipairs(bounds) do
    local variables, single, product = {}, false, bound.op:find "^product"
    for v in pairs(bound.variables) do
      variables[#variables + 1] = numbers.variables[v]
      single = single or not numbers.variables[v]
    end
    table.sort(variables)
    built:bound_loops(numbers.einsum, dimension, variables, bound.op, bound.value)
    -- A variable with one value has one trip: as an empty product.
    if single and not product then
      built:bound_loops(numbers.einsum, dimension, {}, "product" .. bound.op, bound.value)
    end
  end
end

-- Dimensions by name: several ways lead through one component.
local function add_dimensions(self, step, numbers)
  local known, built = {}, self.built
  for _, way in ipairs(step.ways) do
    for _, level in ipairs(way.levels) do
      for _, d in ipairs(level.dims) do
        local key = level.name .. "." .. d.name
        if not known[key] then
          local count = key == self.relaxed.dimension and self.relaxed.count or d.count
          known[key] = built:dimension(numbers.einsum, level.name, d.name, count, d.min_fraction)
          add_bounds(built, numbers, known[key], d.bounds)
        end
        numbers.dimensions[d] = known[key]
      end
    end
  end
end

-- Splits of a mapping with holes are tensors that every einsum below them uses: all have the same
-- loops above.
local function add_splits(built, step, numbers)
  for i, split in ipairs(step.splits) do
    local ranks = {}
    for k, v in ipairs(step.variables) do ranks[k] = split.ranks[v] end
    numbers.splits[split] = built:tensor(numbers.einsum, "split " .. i, ranks)
  end
end

local function add_einsum(self, step)
  local sizes, uneven, built = {}, {}, self.built
  for i, v in ipairs(step.variables) do
    sizes[i], uneven[i] = step.sizes[v], step.uneven and step.uneven[i] or 0
  end
  local numbers = {
    name = step.einsum, einsum = built:einsum(step.einsum, sizes, uneven), variables = {},
    dimensions = {},
    tensors = {}, splits = {}, memories = self.memories,
  }
  for i, v in ipairs(step.variables) do numbers.variables[v] = i - 1 end
  add_dimensions(self, step, numbers)
  for _, t in ipairs(step.tensors) do
    if t.shared then
      numbers.tensors[t.name] = built:tensor(numbers.einsum, t.name, rank_numbers(step, t))
    end
  end
  add_splits(built, step, numbers)
  return numbers
end

-- What is minimised: where one memory has no limit, how much of it is needed; where ties are
-- decided, both objectives and, of what is equal then, how much of each memory is needed.
local function asked_of(space, relaxed)
  if relaxed and relaxed.memory then return { usage = true } end
  if relaxed and relaxed.both then
    return { energy = true, latency = true, usage = relaxed.ranked }
  end
  return goals.asked(space.case)
end

-- By which share a point of one einsum that is found may be above one that is left out, in each
-- figure (doc/formulas.md#search-tolerances).
local function slacks(space, relaxed)
  local options, goal = space.options, space.case.objective
  if relaxed then return 0, 0 end
  local t = goal.formula and 0 or options.objective_tolerance
  local share = (1 + t) ^ (goal.product and 0.5 or 1) - 1
  local usage = #space.steps == 1 and options.resource_usage_tolerance or 0
  return share * (1 - 1e-9), usage * (1 - 1e-9)
end

--- An engine with the memories and einsums of a space, and no template yet.
---@param space einloom.Space
---@param threads? integer that explore; what is found does not depend on it
---@param relaxed? {memory: string?, others: boolean?, dimension: string?, count: number?,
--- both: boolean?, ranked: boolean?} what has another limit: a memory without any, whose use is
--- then minimised, and as wanted all others without any too; or "component.dimension" with that
--- many instances; both: energy and latency are minimised, whatever the space asks for; ranked: and
--- the use of every memory, and of equal mappings the first is found
---@param from? einloom.Engine another one of the space
---@return einloom.Engine
function engine.new(space, threads, relaxed, from)
  local options, asked = space.options, asked_of(space, relaxed)
  local function limit(x) return x < math.huge and x or nil end
  local open, persistent
  if from then
    open, persistent = from.is_open, from.persistent
  else
    open, persistent = open_memories(space)
  end
  local share, usage = slacks(space, relaxed)
  local built = core.space {
    objective_slack = share, usage_slack = usage,
    energy = asked.energy, latency = asked.latency, usage = asked.usage, product = asked.product,
    one_spatial_dim_per_variable = options.one_spatial_dim_per_variable,
    threads = threads or 1, persistent = persistent, coarseness = options.tiling_coarseness,
    ranked = relaxed and relaxed.ranked,
    max_fused_loops = limit(options.max_fused_loops),
    max_fused_loops_per_rank_variable = limit(options.max_fused_loops_per_rank_variable),
  }
  local self = setmetatable({
    space = space, built = built, memories = {}, open = {}, numbers = {}, relaxed = relaxed or {},
    asked = asked, templates = {}, places = {}, is_open = open, persistent = persistent,
    enough = from and from.enough or all_bits(space.case),
    costs = {}, n_costs = not relaxed and not space.case.objective.is_front and kept_costs or 0,
  }, Engine)
  add_memories(self, open, goals.asked(space.case).usage or asked.usage and not relaxed.memory)
  if space.options.mapping then
    self.memories[analysis.splits] = built:memory("(split)", math.huge, false)
  end
  for k, shape in ipairs(space.shapes) do
    self.numbers[k] = add_einsum(self, shape.step)
    self.templates[k], self.places[k] = {}, {}
  end
  return self
end

--- Adds a template, which finds some good points of it.
---@param unit einloom.SearchUnit
---@param from? einloom.Engine that may have its costs
function Engine:add(unit, from)
  local numbers = self.numbers[unit.einsum]
  local template = self.space:list(self.space.shapes[unit.einsum][1])[unit.template]
  local known = from and from.costs[unit]
  local costs, description
  if known then
    costs, description = known.costs, known.description
  else
    local message, kind
    costs, message, kind = analysis.costs(self.space.case, template)
    if not costs then errors.raise(kind, message) end
    description = analysis.describe(self.space.case, template, numbers)
    description.text = unit.text
  end
  local number, problem, its_kind = self.built:add(numbers.einsum, costs, description)
  if not number then
    errors.raise(its_kind, ("einsum %s: %s"):format(numbers.name, problem))
  end
  self.templates[unit.einsum][number] = unit.template
  self.places[unit.einsum][unit.template] = number
  if self.n_costs > 0 and not from then
    self.n_costs = self.n_costs - 1
    self.costs[unit] = { costs = costs, description = description }
  elseif not known then
    costs:close()
  end
end

-- The answer of a call of the core; where it was stopped the error has that kind.
local function done(answer, message, kind)
  if answer == nil then errors.raise(kind, message) end
  return answer
end

-- The numbers of an einsum and a template in the core.
local function numbers_of(self, unit)
  return self.numbers[unit.einsum].einsum, self.places[unit.einsum][unit.template]
end

--- How far a shape is: `units`, those `sketched` and `explored`, and `points` looked at.
---@param shape integer
---@return table<string, number>
function Engine:counts(shape) return self.built:counts(self.numbers[shape].einsum) end

--- Points of templates looked at so far, in all shapes.
---@return number
function Engine:candidates()
  local n = 0
  for shape in ipairs(self.space.shapes) do
    local counts = self:counts(shape)
    n = n + counts.chains + counts.combined + counts.points
  end
  return n
end

--- Goes on with some steps of a shape: first every unit is sketched (some good points), then each
--- is explored (all points that may be part of a best mapping).
---@param shape integer
---@param n integer
---@return boolean more
function Engine:some(shape, n)
  return done(self.built:explore_some(self.numbers[shape].einsum, n))
end

--- Explores units of one shape, on several threads if the engine has them, after the sketches that
--- are still missing.
---@param units einloom.SearchUnit[] at least one
function Engine:explore(units)
  local einsum, numbers = self.numbers[units[1].einsum].einsum, {}
  for i, unit in ipairs(units) do numbers[i] = select(2, numbers_of(self, unit)) end
  done(self.built:explore(einsum, numbers))
end

--- Leaves exploring a unit to others.
---@param unit einloom.SearchUnit
function Engine:leave(unit) done(self.built:leave(numbers_of(self, unit))) end

--- What a unit left over: tiles and the figures of the core.
---@param unit einloom.SearchUnit
---@return { tiles: integer[], figures: number[] }[]
function Engine:left_over(unit)
  local points = {}
  for i, point in ipairs(done(self.built:points(numbers_of(self, unit)))) do
    points[i] = { tiles = point.tiles, figures = point.values }
  end
  return points
end

--- Of a shape the points of sketches that no other one beats: lists of tiles by number of the
--- template.
---@param shape integer
---@return table<integer, integer[][]>
function Engine:sketches(shape)
  local by_template = {}
  for _, point in ipairs(done(self.built:sketches(self.numbers[shape].einsum))) do
    local template = self.templates[shape][point.template]
    by_template[template] = by_template[template] or {}
    table.insert(by_template[template], point.tiles)
  end
  return by_template
end

--- Whether the sketch of a unit that was added may be restored.
---@param unit einloom.SearchUnit
---@return boolean
function Engine:may_restore(unit) return self.built:may_restore(numbers_of(self, unit)) end

--- What no point of a unit that is sketched is below, in each figure that is minimised.
---@param unit einloom.SearchUnit
---@return number[]
function Engine:sketch_least(unit) return self.built:least(numbers_of(self, unit)) end

--- Takes the sketch of a unit as it was before.
---@param unit einloom.SearchUnit
---@param sketch { points: integer[][], least: number[] }
function Engine:restore(unit, sketch)
  local einsum, template = numbers_of(self, unit)
  done(self.built:restore(einsum, template, sketch.points, sketch.least))
end

local function differ(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] and not (a[i] and b[i] and math.abs(a[i] - b[i]) <= 1e-9 * math.abs(a[i])) then
      return true
    end
  end
  return false
end

--- Adds points that were found before or elsewhere; raises where they are not what they were.
---@param unit einloom.SearchUnit
---@param points { tiles: integer[], figures: number[] }[]
function Engine:insert(unit, points)
  local einsum, template = numbers_of(self, unit)
  for _, point in ipairs(points) do
    local figures = done(self.built:evaluate(einsum, template, { point.tiles }))[1]
    if not figures or differ(figures, point.figures) then
      errors.raise("store", ("a point of '%s' with tiles %s costs something else here than noted")
        :format(unit.text, table.concat(point.tiles, " ")))
    end
    done(self.built:insert(einsum, template, point.tiles))
  end
end

--- Leaves out mappings above limits of energy and latency (those that are minimised).
---@param limits number[]
---@param decided boolean[] what is within the limit is equal
function Engine:limit(limits, decided) self.built:limit(limits, decided) end

--- Says what the other uses of a mapping add at least to each, besides an einsum of a shape.
---@param shape integer
---@param others number[]
function Engine:limit_shape(shape, others)
  self.built:limit_einsum(self.numbers[shape].einsum, others)
end

--- What no point of a shape, or of one of its units that is sketched, is below in each figure that
--- is minimised.
---@param shape integer
---@param unit? einloom.SearchUnit
---@return number[]
function Engine:least(shape, unit)
  if unit then return self.built:least(numbers_of(self, unit)) end
  return self.built:least(self.numbers[shape].einsum)
end

--- Whether a unit was added.
---@param unit einloom.SearchUnit
---@return boolean
function Engine:has(unit) return self.places[unit.einsum][unit.template] ~= nil end

-- ---- joining ----

-- Numbers of all tensors by name, and of all splits.
local function tensor_numbers(case)
  local numbers, n = {}, 0
  for i, split in ipairs(case.options.mapping and case.options.mapping.splits or {}) do
    numbers[split], n = i - 1, i
  end
  for _, e in ipairs(case.workload.einsums) do
    for _, t in ipairs(e.tensors) do
      if not numbers[t.tensor] then
        numbers[t.tensor] = n
        n = n + 1
      end
    end
  end
  return numbers
end

local function use_of(step, numbers, tensors)
  local list = {}
  for _, t in ipairs(step.tensors) do
    if t.shared then list[#list + 1] = tensors[t.name] end
  end
  for _, split in ipairs(step.splits) do list[#list + 1] = tensors[split] end
  return { einsum = numbers.einsum, tensors = list }
end

-- How the einsums of the workload use those of the engine.
local function uses_of(self)
  local tensors, uses = tensor_numbers(self.space.case), {}
  for i, step in ipairs(self.space.steps) do
    uses[i] = use_of(step, self.numbers[self.space.shape_of[i]], tensors)
  end
  return uses
end

--- Joins some good points of what is known so far.
function Engine:join_quickly() done(self.built:join(uses_of(self), { quick = true })) end

--- Begins to join the points of single einsums in the order of the workload.
function Engine:begin_join() done(self.built:join_begin(uses_of(self))) end

--- Goes on joining about so many pairs of points.
---@param work integer
---@return boolean more
function Engine:join_some(work) return done(self.built:join_some(work)) end

-- What no mapping is below before anything has been joined: the least of each einsum, added up.
local function first_bound(self)
  local sums = {}
  for _, shape in ipairs(self.space.shape_of) do
    for k, x in ipairs(self:least(shape)) do sums[k] = (sums[k] or 0) + x end
  end
  return sums
end

--- What no mapping is below, once all units have been added: figures as far as they are bounded.
---@return table figures
function Engine:bound()
  local values, asked, k = self.built:bound() or first_bound(self), self.asked, 1
  local figures = { usage = {} }
  for _, key in ipairs { "energy", "latency" } do
    if asked[key] then
      figures[key] = values[k]
      k = k + 1
    end
  end
  return goals.complete(figures)
end

-- Whether the core took a choice though the template has a fuller use of dimensions with a least
-- share: it does where limits leave no tiles for that one.
local function lacks_share(space, i, number, tiles)
  if space.options.mapping then return false end
  local own = nest.of(space, space.shape_of[i], number)
  local rule = rules.loops(space.options, space.steps[i], own, tiles)
  return rule ~= nil and rule:find("min_usage:", 1, true) == 1
end

-- What a result chooses for each einsum.
local function candidate_of(self, result)
  local choices = {}
  for i, step in ipairs(self.space.steps) do
    local number, tiles, variables = self.built:choice(result, i - 1)
    local names = {}
    for k, v in ipairs(variables) do names[k] = step.variables[v + 1] end
    local template = self.templates[self.space.shape_of[i]][number]
    choices[i] = {
      template = template, tiles = tiles, fused = names,
      fullest = lacks_share(self.space, i, template, tiles) or nil,
    }
  end
  return { choices = choices }
end

-- Figures of the results of the join, with their numbers.
local function listed(self)
  local case, points = self.space.case, {}
  for i = 0, self.built:results() - 1 do
    local values, point, k = self.built:result(i), { usage = {}, result = i }, 1
    for _, key in ipairs { "energy", "latency" } do
      if self.asked[key] then
        point[key] = values[k]
        k = k + 1
      end
    end
    for _, name in ipairs(self.open) do
      point.usage[name] = values[k] / value.nearest(case.arch:component(name).size)
      k = k + 1
    end
    points[i + 1] = goals.complete(point)
  end
  return points
end

local function take_candidate(self, point)
  point.candidate, point.result = candidate_of(self, point.result), nil
end

--- The results of the join: the best point, or the front where several figures are minimised; exact
--- figures decide where doubles are close.
---@param so_far? boolean there is more to come
---@return table[]
function Engine:points(so_far)
  local points = goals.close(self.space.case, listed(self))
  for _, point in ipairs(points) do take_candidate(self, point) end
  return exact.best(self.space, points, so_far)
end

--- Figures of the best result of the join as far as doubles tell.
---@return table? figures
function Engine:least_figures() return goals.best(self.space.case, listed(self))[1] end

--- Of the results of the join that which comes first, as far as doubles tell, of those that are
--- accepted.
---@param accepts fun(point: table): boolean
---@return table? point
function Engine:first(accepts)
  local points = listed(self)
  while points[1] do
    local best = goals.best(self.space.case, points)[1]
    for i, point in ipairs(points) do
      if point == best then table.remove(points, i) end
    end
    take_candidate(self, best)
    if accepts(best) then return best end
  end
end

--- Explores and joins everything.
function Engine:run()
  for _, unit in ipairs(self.space:units()) do self:add(unit) end
  for shape = 1, #self.space.shapes do done(self.built:explore(self.numbers[shape].einsum)) end
  done(self.built:join(uses_of(self)))
end

--- How many choices of tiles of the templates explored fell to each rule, over all shapes: `size`
--- of the space, `points` that were handed on, `rules` by name ("capacity:GLB", "fanout:PE.x",
--- "max_fused_loops", ...; "capacity_joint:GLB" counts pairs of points of two einsums).
---@return { size: number, points: number, rules: table<string, number> }
function Engine:falls()
  local all = { size = 0, points = 0, rules = {} }
  local function count(name, n) all.rules[name] = (all.rules[name] or 0) + n end
  for shape = 1, #self.space.shapes do
    local own = self.built:falls(self.numbers[shape].einsum)
    all.size, all.points = all.size + own.size, all.points + own.points
    for name, n in pairs(own.rules) do count(name, n) end
  end
  for name, number in pairs(self.memories) do
    local n = self.built:joint_falls(number)
    if n > 0 then count("capacity_joint:" .. name, n) end
  end
  return all
end

return engine
