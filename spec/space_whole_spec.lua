-- SPDX-License-Identifier: MIT
-- A search of a space finds the best of every mapping there is, with and without a mapping with
-- holes: small random spaces are enumerated whole (LOOM_SEED).

local loom = require "einloom"
local whole = require "support.whole"

local random = math.random
local seed = math.tointeger(os.getenv "LOOM_SEED") or os.time()

local function pick(list) return list[random(#list)] end

local function chance(p) return random() < p end

-- ---- random problems ----

local shapes = {
  product = {
    text = "Z[m,n] = A[m,k] * B[k,n]",
    sizes = function() return pick { { m = 4, k = 2, n = 1 }, { m = 2, k = 3, n = 2 },
      { m = 2, k = 1, n = 4 } } end,
    few = function() return pick { { m = 2, k = 2, n = 1 }, { m = 1, k = 2, n = 3 } } end,
    index = {
      Z = { m = "alone", n = "alone" }, A = { m = "alone", k = "alone" },
      B = { k = "alone", n = "alone" },
    },
  },
  window = {
    text = "Z[p] = A[p+r] * B[r]",
    sizes = function() return { p = pick { 2, 4 }, r = pick { 2, 3 } } end,
    index = { Z = { p = "alone" }, A = { p = "sum", r = "sum" }, B = { r = "alone" } },
  },
}

local function some(names, p)
  local set = {}
  for _, name in ipairs(names) do
    if chance(p) then set[name] = true end
  end
  return set
end

local function text_of(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return #names > 0 and table.concat(names, " | ") or "Nothing"
end

local tensors = { "A", "B", "Z" }

local function memory(level, size, energy)
  return loom.memory {
    level.name, size = size, keep = text_of(level.must), may_keep = text_of(level.may),
    read = { energy = energy, throughput = pick { 4, 16 } },
    write = { energy = energy * pick { 1, 1.5 }, throughput = pick { 4, 16 } },
  }
end

-- A problem as plain data, its workload and its architecture.
local function problem_of(kind)
  local shape = shapes[kind == "window" and "window" or "product"]
  local sizes = kind == "deep" and shape.few() or shape.sizes()
  local all = { A = true, B = true, Z = true }
  local main = { name = "Main", memory = true, must = all, may = {} }
  local buf = {
    name = "Buf", memory = true, must = some(tensors, 0.3), may = some(tensors, 0.5),
  }
  local p = { sizes = sizes, ordered = chance(0.7), levels = { main, buf } }
  local parts = { memory(main, math.huge, pick { 5, 20 }), memory(buf, 8 * pick { 4, 8, 16 }, 1) }
  if kind == "array" then
    local spared = pick { {}, { A = true } }
    local dim = { name = "x", count = pick { 2, 4 }, spared = {} }
    for v in pairs(spared.A and shape.index.A or {}) do dim.spared[v] = true end
    p.levels[3] = { name = "PE", dims = { dim } }
    parts[3] = loom.fanout { "PE", x = { dim.count, reuse = text_of(spared),
      may_reuse = pick { "All", "Inputs" } } }
  elseif kind == "deep" then
    local reg = { name = "Reg", memory = true, must = some(tensors, 0.3), may = some(tensors, 0.2) }
    p.levels[3], parts[3] = reg, memory(reg, 8 * pick { 2, 4 }, 0.5)
  end
  p.levels[#p.levels + 1] = { name = "MAC" }
  parts[#parts + 1] = loom.compute { "MAC", energy = 1, throughput = pick { 1, 4 } }
  local einsum = { tensors = {} }
  for name, index in pairs(shape.index) do
    local own = {}
    for v, how in pairs(index) do
      if sizes[v] > 1 then own[v] = how end
    end
    einsum.tensors[name] = { index = own }
  end
  local w = loom.workload { sizes = sizes, bits = { All = 8 }, shape.text }
  return p, einsum, w, loom.arch(parts)
end

-- ---- comparing ----

local function goal_value(goal, r)
  local energy, latency = r:energy(), r:latency()
  if not energy then return math.huge end
  energy, latency = energy:tonumber(), latency:tonumber()
  return goal == "energy" and energy or goal == "latency" and latency or energy * latency
end

local function evaluate(w, a, goal, nodes, model)
  local list = {}
  for i, n in ipairs(nodes) do
    list[i] = {}
    for key, x in pairs(n) do list[i][key] = x end
    list[i].backs = nil
  end
  list[#list + 1] = { node = "compute", einsum = "Z", component = "MAC" }
  return goal_value(goal, assert(loom.analyze(w, a, loom.mapping { nodes = list },
    { model = model or "reference" })))
end

local function close(x, y) return x == y or math.abs(x - y) <= 1e-12 * math.abs(y) end

local function found_best(w, a, options, about)
  local s, message = loom.space(w, a, options)
  if not s then return math.huge, message end
  local found = s:search()
  local point = found.points[1]
  if not point then return math.huge end
  local value = options.minimise == "edp" and point.energy_delay_product or point[options.minimise]
  local mapping = found:mapping(point)
  local r = assert(loom.analyze(w, a, mapping, { model = options.model or "reference" }))
  assert.is_true(close(goal_value(options.minimise, r), value), about .. "\n" .. tostring(mapping))
  return value, mapping
end

local function describe_problem(p, w, a, options)
  return ("LOOM_SEED=%d\n%s\n%s\nordered %s, minimise %s, %s"):format(seed, tostring(w),
    tostring(a), tostring(p.ordered), options.minimise, options.model or "reference")
end

describe("a space enumerated whole (LOOM_SEED=" .. seed .. ")", function()
  for k, kind in ipairs { "product", "window", "array", "deep" } do
    it("holds nothing better than what a search finds: " .. kind, function()
      math.randomseed(seed + k)
      for round = 1, 6 do
        local p, einsum, w, a = problem_of(kind)
        local options = {
          minimise = pick { "energy", "latency", "edp" }, force_memory_hierarchy_order = p.ordered,
          model = round % 2 == 0 and "exact" or "reference",
        }
        local about, best, n = describe_problem(p, w, a, options), math.huge, 0
        whole.nests(p, einsum, function(nodes)
          n = n + 1
          best = math.min(best, evaluate(w, a, options.minimise, nodes, options.model))
        end)
        assert.is_true(n > 0, about)
        local got, mapping = found_best(w, a, options, about)
        assert.is_true(close(got, best), ("%s found, %s best of %d: %s\n%s"):format(got, best, n,
          about, tostring(mapping)))
      end
    end)
  end
end)

-- ---- mappings with holes ----

-- One of all nests, each as likely as any other, as copies.
local function any_nest(p, einsum)
  local n, chosen = 0, nil
  whole.nests(p, einsum, function(nodes)
    n = n + 1
    if random(n) == 1 then chosen = table.move(nodes, 1, #nodes, 1, {}) end
  end)
  return chosen
end

local function open_loop(node)
  local tile = node.tile_shape
  return {
    node = node.node, rank_variable = node.rank_variable, component = node.component,
    dim = node.dim,
    tile_shape = pick { tile, tile, "?", "?", { 1, tile }, ("%d..%d"):format(tile, tile + 2) },
  }
end

local function open_holder(node)
  local tensor = node.tensors[1]
  local result = { node = "storage", component = node.component, tensors = { tensor } }
  if chance(0.2) then result.optional = { tensor } end
  if chance(0.1) then result.more = true end
  return result
end

-- A nest in which some parts are left open.
local function with_holes(nodes)
  local list = {}
  local function gap()
    local node = chance(0.3) and { node = "anything" }
      or { node = "loops", kind = pick { "temporal", "spatial", false } or nil }
    list[#list + 1] = node
  end
  for i, node in ipairs(nodes) do
    if chance(0.2) then gap() end
    if node.node == "storage" then
      if node.component ~= "Main" and chance(0.2) then
        list[#list + 1] = { node = "anything" }
      else
        list[#list + 1] = open_holder(node)
      end
    elseif chance(0.6) then
      list[#list + 1] = open_loop(node)
    else
      gap()
    end
    if i == #nodes and chance(0.5) then gap() end
  end
  return list
end

-- The best of all completions, and how many there are.
local function best_completion(p, einsum, w, a, goal, pattern)
  local best, n, known = math.huge, 0, {}
  whole.nests(p, einsum, function(nodes)
    whole.completions(p, einsum, pattern, nodes, function(list)
      local parts = {}
      for i, node in ipairs(list) do
        parts[i] = node.tensors and node.component .. node.tensors[1]
          or node.rank_variable .. node.tile_shape .. (node.dim or "")
      end
      local key = table.concat(parts, " ")
      if known[key] then return end
      known[key] = true
      n = n + 1
      best = math.min(best, evaluate(w, a, goal, list))
    end)
  end)
  return best, n
end

describe("a mapping with holes (LOOM_SEED=" .. seed .. ")", function()
  for k, kind in ipairs { "product", "window", "array", "deep" } do
    it("is completed by the best of all completions: " .. kind, function()
      math.randomseed(seed + 10 + k)
      for _ = 1, 8 do
        local p, einsum, w, a = problem_of(kind)
        local pattern = with_holes(any_nest(p, einsum))
        local nodes = table.move(pattern, 1, #pattern, 1, {})
        nodes[#nodes + 1] = { node = "compute", component = "MAC" }
        local mapping = loom.mapping { nodes = nodes }
        assert.are.equal(mapping, loom.mapping(tostring(mapping)))
        local options = {
          minimise = pick { "energy", "latency", "edp" }, force_memory_hierarchy_order = p.ordered,
          mapping = mapping,
        }
        local about = describe_problem(p, w, a, options) .. "\n" .. tostring(mapping)
        local best, n = best_completion(p, einsum, w, a, options.minimise, pattern)
        local got, completed = found_best(w, a, options, about)
        assert.is_true(close(got, best), ("%s found, %s best of %d: %s\n%s"):format(got, best, n,
          about, tostring(completed)))
      end
    end)
  end
end)

-- ---- two einsums ----

local function pair_of()
  local sizes = pick { { m = 2, n = 2, k = 1, q = 1 }, { m = 2, n = 1, k = 2, q = 1 },
    { m = 2, n = 1, k = 1, q = 3 }, { m = 4, n = 1, k = 1, q = 1 } }
  local names = { "A", "B", "C", "Y", "Z" }
  local main = { name = "Main", memory = true, must = {}, may = { Y = true } }
  for _, name in ipairs { "A", "B", "C", "Z" } do main.must[name] = true end
  local buf = { name = "Buf", memory = true, must = some(names, 0.15), may = some(names, 0.15) }
  buf.may.Y = true
  if chance(0.5) then buf.must[pick { "A", "B" }], buf.must[pick { "C", "Z" }] = true, true end
  local p = {
    sizes = sizes, ordered = chance(0.7), shared = { Y = true },
    levels = { main, buf, { name = "MAC" } },
  }
  local function einsum(tensors_)
    local result = { tensors = {} }
    for name, variables in pairs(tensors_) do
      result.tensors[name] = { index = {} }
      for v in variables:gmatch "%a" do
        if sizes[v] > 1 then result.tensors[name].index[v] = "alone" end
      end
    end
    return result
  end
  local w = loom.workload {
    sizes = sizes, bits = { All = 8 }, "Y[m,n] = A[m,k] * B[k,n]", "Z[m,q] = Y[m,n] * C[n,q]",
  }
  local a = loom.arch {
    memory(main, math.huge, pick { 5, 20 }), memory(buf, 8 * pick { 3, 4, 8 }, 1),
    loom.compute { "MAC", energy = 1, throughput = pick { 1, 4 } },
  }
  local first = einsum { Y = "mn", A = "mk", B = "kn" }
  return p, { first, einsum { Z = "mq", Y = "mn", C = "nq" } }, w, a
end

-- A pair with few enough mappings to look at all of them.
local function small_pair()
  while true do
    local p, einsums, w, a = pair_of()
    local counts = { 0, 0 }
    for i, einsum in ipairs(einsums) do
      whole.nests(p, einsum, function() counts[i] = counts[i] + 1 end)
    end
    if counts[1] * counts[2] < 4000 then return p, einsums, w, a end
  end
end

local function bare(nodes)
  local list = {}
  for i, n in ipairs(nodes) do
    list[i] = {}
    for key, x in pairs(n) do list[i][key] = x end
    list[i].backs = nil
  end
  return list
end

local function tree_of(head, first, second)
  local nodes, branches = bare(head), { bare(first), bare(second) }
  for i, einsum in ipairs { "Y", "Z" } do
    table.insert(branches[i], { node = "compute", einsum = einsum, component = "MAC" })
  end
  nodes[#nodes + 1] = { node = "sequential", branches = branches }
  return nodes
end

local function evaluate_tree(w, a, goal, head, first, second)
  return goal_value(goal, assert(loom.analyze(w, a,
    loom.mapping { nodes = tree_of(head, first, second) }, { model = "reference" })))
end

local function serial(list)
  local parts = {}
  for i, node in ipairs(list) do
    parts[i] = node.tensors and node.component .. node.tensors[1]
      or node.rank_variable .. node.tile_shape .. (node.dim or "")
  end
  return table.concat(parts, " ")
end

-- Completions of one einsum's path: by the text of the head, heads and lists of what is below.
local function completed_paths(p, einsum, pattern, head, rest)
  local nodes, by_head = table.move(head, 1, #head, 1, {}), {}
  nodes[#nodes + 1] = { node = "split" }
  table.move(rest, 1, #rest, #nodes + 1, nodes)
  whole.completions(p, einsum, pattern, nodes, function(list)
    local at = 1
    while list[at].node ~= "split" do at = at + 1 end
    local own = table.move(list, 1, at - 1, 1, {})
    local key = serial(own)
    by_head[key] = by_head[key] or { head = own, rests = {} }
    table.insert(by_head[key].rests, table.move(list, at + 1, #list, 1, {}))
  end)
  return by_head
end

describe("two einsums (LOOM_SEED=" .. seed .. ")", function()
  it("are joined to the best of all mappings", function()
    math.randomseed(seed + 20)
    for _ = 1, 4 do
      local p, einsums, w, a = small_pair()
      local options = {
        minimise = pick { "energy", "latency", "edp" }, force_memory_hierarchy_order = p.ordered,
      }
      local about, best, n = describe_problem(p, w, a, options), math.huge, 0
      whole.pairs(p, einsums, "Y", function(...)
        n = n + 1
        best = math.min(best, evaluate_tree(w, a, options.minimise, ...))
      end)
      local got, mapping = found_best(w, a, options, about)
      assert.is_true(close(got, best), ("%s found, %s best of %d: %s\n%s"):format(got, best, n,
        about, tostring(mapping)))
    end
  end)

  -- The loop of m has no place in `*` for Z, whose holders stand above all loops.
  it("have the same loops in each hole", function()
    local w = loom.workload {
      sizes = { m = 2, n = 1, k = 1, q = 3 }, bits = { All = 8 },
      "Y[m,n] = A[m,k] * B[k,n]", "Z[m,q] = Y[m,n] * C[n,q]",
    }
    local dear, cheap = { energy = 5, throughput = 4 }, { energy = 1, throughput = 4 }
    local a = loom.arch {
      loom.memory { "Main", size = math.huge, read = dear, write = dear,
        keep = "A | B | C | Z", may_keep = "Y" },
      loom.memory { "Buf", size = 64, read = cheap, write = cheap, keep = "Nothing",
        may_keep = "Y" },
      loom.compute { "MAC", energy = 1, throughput = 1 },
    }
    local below = "for m%s\n  Buf: Y\n  sequential\n    branch\n      Y on MAC\n    branch\n"
      .. "      for q%s\n%s        Z on MAC\n"
    local text = "Main: A\n...\nMain: B\n*\nMain: Z?\nMain: C?\n"
      .. below:format(" tile 1..3", " tile ?", "        ...\n")
    local s = loom.space(w, a, { minimise = "energy", mapping = loom.mapping(text) })
    local found = s:search()
    local first = "Main: A\nMain: C\nMain: Z\nMain: B\n" .. below:format(", m", "", "")
    assert.are.equal(first, tostring(found:mapping(found.points[1])))
    for _, as_good in ipairs {
      "Main: A\nMain: C\nMain: B\nMain: Z\n" .. below:format("", "", ""), first,
    } do
      local r = loom.analyze(w, a, loom.mapping(as_good), { model = "reference" })
      assert.are.equal(found.points[1].energy, r:energy():tonumber())
    end
  end)

  it("complete a mapping with holes and a split as best as can be", function()
    math.randomseed(seed + 30)
    for _ = 1, 5 do
      local p, einsums, w, a = small_pair()
      local n, sample = 0, nil
      whole.pairs(p, einsums, "Y", function(...)
        n = n + 1
        if random(n) == 1 then sample = { ... } end
      end)
      local last = table.remove(sample[1])
      local head = with_holes(sample[1])
      head[#head + 1] = { node = "storage", component = last.component, tensors = { "Y" } }
      local branches, patterns = { with_holes(sample[2]), with_holes(sample[3]) }, {}
      for i = 1, 2 do
        patterns[i] = table.move(head, 1, #head, 1, {})
        table.insert(patterns[i], { node = "split" })
        table.move(branches[i], 1, #branches[i], #patterns[i] + 1, patterns[i])
      end
      local options = {
        minimise = pick { "energy", "latency", "edp" }, force_memory_hierarchy_order = p.ordered,
        mapping = loom.mapping { nodes = tree_of(head, branches[1], branches[2]) },
      }
      local about = describe_problem(p, w, a, options) .. "\n" .. tostring(options.mapping)
      local best, seen = math.huge, {}
      whole.pairs(p, einsums, "Y", function(top, first, second)
        local one = completed_paths(p, einsums[1], patterns[1], top, first)
        local two = next(one) and completed_paths(p, einsums[2], patterns[2], top, second) or {}
        for key, x in pairs(one) do
          for _, below in ipairs(x.rests) do
            for _, other in ipairs(two[key] and two[key].rests or {}) do
              local whole_key = table.concat({ key, serial(below), serial(other) }, "|")
              if not seen[whole_key] then
                seen[whole_key] = true
                best = math.min(best,
                  evaluate_tree(w, a, options.minimise, x.head, below, other))
              end
            end
          end
        end
      end)
      local got, mapping = found_best(w, a, options, about)
      assert.is_true(close(got, best), ("%s found, %s best: %s\n%s"):format(got, best, about,
        tostring(mapping)))
    end
  end)
end)
