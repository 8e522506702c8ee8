-- SPDX-License-Identifier: MIT
-- Spaces of mappings: what a workload can do on an architecture within limits, and the search for
-- the best of it.  Einsums of one shape are explored once.

local analysis = require "einloom.search.analysis"
local core = require "einloom.core"
local errors = require "einloom.errors"
local steps = require "einloom.search.steps"
local templates = require "einloom.search.templates"
local tree = require "einloom.search.tree"

local space = {}

---@class einloom.Space
---@field case table {workload =, arch =, paths =, limits =, minimise =}
---@field steps einloom.SearchStep[]
local Space = {}
Space.__index = Space

--- A space of mappings: a case has a workload, an architecture, the paths of each einsum with what
--- may be held where (as in schema search/1), limits and what is minimised.
---@param case table
---@return einloom.Space
function space.new(case)
  return setmetatable({ case = case, steps = steps.of(case) }, Space)
end

--- Calls visit with every template of a step.
---@param step einloom.SearchStep
---@param visit fun(template: einloom.Template)
function space.templates(step, visit) templates.each(step, visit) end

-- ---- memories ----

local function wanted(case)
  local goals = {}
  for _, name in ipairs(case.minimise) do goals[name] = true end
  return goals
end

-- Bits that all tensors of the workload take, as the levels' widths have it at most.
local function all_bits(case)
  local total = 0
  for _, e in ipairs(case.workload.einsums) do
    for _, t in ipairs(e.tensors) do
      local size = 1
      for _, form in ipairs(t.affine) do
        local extent = 1
        for _, term in ipairs(form.terms) do
          extent = extent + math.abs(term[2]) * (case.workload.rank_variables[term[1]] - 1)
        end
        size = size * extent
      end
      total = total + size * math.max(t.bits_per_value, 64)
    end
  end
  return total
end

-- Names of memories that may hold something of several einsums at once.
local function open_memories(lists)
  local open = {}
  for step, list in pairs(lists) do
    for _, template in ipairs(list) do
      local n_loops = 0
      for _, node in ipairs(template.nodes) do
        if not node.tensor then
          n_loops = n_loops + 1
        elseif n_loops < template.n_fused or node.backs and node.tensor.shared then
          open[step.levels[node.level].name] = true
        end
      end
    end
  end
  return open
end

local function add_memories(self, built, lists)
  local case, numbers, names = self.case, {}, {}
  local goals, enough = wanted(case), all_bits(case)
  local open = open_memories(lists)
  for _, component in ipairs(case.arch.components) do
    if component.class == "Memory" then
      local bits = component.size
      local limited = bits < math.huge and (goals.buffer_usage or bits < enough)
      local is_open = limited and (open[component.name] or goals.buffer_usage) or false
      numbers[component.name] = built:memory(component.name, limited and bits or math.huge, is_open)
      if is_open then names[#names + 1] = component.name end
    end
  end
  return numbers, names
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

local function add_einsum(built, step, memories)
  local sizes = {}
  for i, v in ipairs(step.variables) do sizes[i] = step.sizes[v] end
  local numbers = {
    einsum = built:einsum(step.einsum, sizes, step.uneven), variables = {}, dimensions = {},
    tensors = {}, memories = {}, shared = {},
  }
  for i, v in ipairs(step.variables) do numbers.variables[v] = i - 1 end
  for i, level in ipairs(step.levels) do
    numbers.memories[i] = memories[level.name]
    for _, d in ipairs(level.dims) do
      numbers.dimensions[d] =
        built:dimension(numbers.einsum, level.name, d.name, d.count, d.min_fraction)
    end
  end
  for _, t in ipairs(step.tensors) do
    if t.shared then
      numbers.tensors[t.name] = built:tensor(numbers.einsum, t.name, rank_numbers(step, t))
      numbers.shared[#numbers.shared + 1] = t.name
    end
  end
  return numbers
end

local function explore(self, built, step, list, memories)
  local numbers = add_einsum(built, step, memories)
  for _, template in ipairs(list) do
    local costs, message, kind = analysis.costs(self.case, step, template)
    if not costs then errors.raise(kind, message) end
    local number, problem, its_kind =
      built:add(numbers.einsum, costs, analysis.describe(template, numbers))
    if not number then errors.raise(its_kind, problem) end
    costs:close()
  end
  local done, message, kind = built:explore(numbers.einsum)
  if not done then errors.raise(kind, message) end
  return numbers
end

-- ---- joining ----

local function tensor_numbers(case)
  local numbers, n = {}, 0
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
  return { einsum = numbers.einsum, tensors = list }
end

-- ---- results ----

---@class einloom.Found
---@field points table[] energy, latency, energy_delay_product, usage, as asked for
---@field n_explored integer einsums that differ in more than names
local Found = {}
Found.__index = Found

--- The mapping of a point.
---@param point table
---@return einloom.Mapping
function Found:mapping(point)
  local paths = {}
  for i, step in ipairs(self.space.steps) do
    local number, tiles, variables = self.built:choice(point.number, i - 1)
    local names = {}
    for k, v in ipairs(variables) do names[k] = step.variables[v + 1] end
    paths[i] = tree.path(step, self.lists[step][number + 1], tiles, names)
  end
  return tree.mapping(paths)
end

local function read_points(built, goals, open, arch)
  local points = {}
  for i = 0, built:results() - 1 do
    local values, point, k = built:result(i), { number = i, usage = {} }, 1
    if goals.energy then
      point.energy = values[k]
      k = k + 1
    end
    if goals.latency then
      point.latency = values[k]
      k = k + 1
    end
    if goals.energy and goals.latency then
      point.energy_delay_product = point.energy * point.latency
    end
    for _, name in ipairs(open) do
      point.usage[name] = values[k] / arch:component(name).size
      k = k + 1
    end
    points[#points + 1] = point
  end
  return points
end

-- The point with the least value of one figure; of several the first.
local function least(points, key)
  local best
  for _, point in ipairs(points) do
    if not best or point[key] < best[key] then best = point end
  end
  return { best }
end

--- Searches the space: the best point, or the front where several figures are minimised.
---@return einloom.Found
function Space:search()
  local case, goals = self.case, wanted(self.case)
  local product = goals.energy_delay_product
  local asked = {
    energy = goals.energy or product, latency = goals.latency or product,
    usage = goals.buffer_usage,
  }
  local function limit(x) return x and x < math.huge and x or nil end
  local built = core.space {
    energy = asked.energy, latency = asked.latency, usage = asked.usage,
    product = product,
    one_dimension_per_variable = case.limits.one_dimension_per_variable,
    max_fused = limit(case.limits.max_shared_loops),
    max_fused_per_variable = limit(case.limits.max_shared_loops_per_rank),
  }
  local lists = {}
  for _, step in ipairs(self.steps) do
    local list = {}
    templates.each(step, function(template) list[#list + 1] = template end)
    lists[step] = list
  end
  local memories, open = add_memories(self, built, lists)
  local tensors, uses, known, n_explored = tensor_numbers(case), {}, {}, 0
  for i, step in ipairs(self.steps) do
    local key = steps.signature(case, step)
    if not known[key] then
      known[key] = explore(self, built, step, lists[step], memories)
      n_explored = n_explored + 1
    end
    uses[i] = use_of(step, known[key], tensors)
  end
  local done, message, kind = built:join(uses)
  if not done then errors.raise(kind, message) end
  local points = read_points(built, asked, open, case.arch)
  if product then
    points = least(points, "energy_delay_product")
  elseif #case.minimise == 1 then
    points = least(points, case.minimise[1])
  end
  return setmetatable({
    points = points, built = built, lists = lists, space = self, n_explored = n_explored,
  }, Found)
end

return space
