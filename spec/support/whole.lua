-- SPDX-License-Identifier: MIT
-- Every mapping of a small problem, one by one: any loop in any place that the rules of a space
-- allow, as often as it likes. Shares nothing with the search. A problem is plain data:
--   sizes     variable -> size
--   einsums   {name, tensors = {name -> {index = {variable -> "alone"|"sum"}}}}
--   levels    outermost first: {name, memory = true, must = set, may = set} or
--             {name, dims = {{name, count, spared = set of variables}}}
--   ordered   holders follow the order of levels

local whole = {}

local function copy(t)
  local result = {}
  for key, x in pairs(t) do result[key] = x end
  return result
end

local function names_of(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- Calls visit with every choice of holders, lists of {level =, tensor =, backs =}.
local function each_holding(problem, einsum, visit)
  local names = names_of(einsum.tensors)
  local function level(i, list, held)
    local l = problem.levels[i]
    if not l then
      for _, name in ipairs(names) do
        if not held[name] then return end
      end
      return visit(list)
    end
    local function tensor(k, own, now)
      local name = names[k]
      if not name or not l.memory then return level(i + 1, own, now) end
      if not l.must[name] then tensor(k + 1, own, now) end
      if l.must[name] or l.may[name] then
        local more, after = copy(own), copy(now)
        more[#more + 1] = { level = i, tensor = name, backs = not now[name] }
        after[name] = true
        tensor(k + 1, more, after)
      end
    end
    tensor(1, list, held)
  end
  level(1, {}, {})
end

-- Fanouts at or above a level.
local function region(problem, i)
  local n = 0
  for k = 1, i do n = n + (problem.levels[k].dims and 1 or 0) end
  return n
end

-- Whether holder a has to stand above b.
local function above(problem, a, b)
  if a.level == 1 and b.level ~= 1 then return true end
  if a.level >= b.level then return false end
  return problem.ordered or a.tensor == b.tensor
    or region(problem, a.level) < region(problem, b.level)
end

local function each_order(problem, list, visit)
  local order, used = {}, {}
  local function go()
    if #order == #list then return visit(order) end
    for i, h in ipairs(list) do
      local possible = not used[i]
      for k, other in ipairs(list) do
        if not used[k] and k ~= i and above(problem, other, h) then possible = false end
      end
      if possible then
        order[#order + 1], used[i] = h, true
        go()
        order[#order], used[i] = nil, nil
      end
    end
  end
  go()
end

-- Whether a loop of v may stand where so many holders of the order are above.
local function allowed(einsum, order, n, v)
  local held = {}
  for i = 1, n do held[order[i].tensor] = true end
  for name, t in pairs(einsum.tensors) do
    if not held[name] and t.index[v] ~= "alone" then return false end
  end
  return true
end

-- Kinds of loops that may stand below n holders: {} in time, {level =, dim =} over instances.
local function kinds(problem, order, n)
  local list = { {} }
  local last = order[n + 1] and region(problem, order[n + 1].level)
    or region(problem, #problem.levels)
  for i, l in ipairs(problem.levels) do
    local at = region(problem, i)
    if l.dims and at > (n > 0 and region(problem, order[n].level) or 0) and at <= last then
      for _, d in ipairs(l.dims) do list[#list + 1] = { level = i, dim = d } end
    end
  end
  return list
end

local function loop(problem, v, kind, tile)
  if not kind.dim then return { node = "temporal", rank_variable = v, tile_shape = tile } end
  return {
    node = "spatial", rank_variable = v, tile_shape = tile,
    component = problem.levels[kind.level].name, dim = kind.dim.name,
  }
end

-- Calls visit with the nodes of every nest with an order of holders.
local function each_nest(problem, einsum, order, visit)
  local nodes, used = {}, {}
  local first = 0
  for i, h in ipairs(order) do first = h.level == 1 and i or first end
  local function go(n, extent)
    local done = n == #order
    for v in pairs(einsum.variables) do done = done and extent[v] == 1 end
    if done then return visit(nodes) end
    if n < #order then
      local h = order[n + 1]
      nodes[#nodes + 1] = {
        node = "storage", component = problem.levels[h.level].name, tensors = { h.tensor },
        backs = h.backs,
      }
      go(n + 1, extent)
      nodes[#nodes] = nil
    end
    for _, kind in ipairs(n >= first and kinds(problem, order, n) or {}) do
      for _, v in ipairs(einsum.order) do
        local spared = kind.dim and kind.dim.spared[v]
        for trips = 2, not spared and allowed(einsum, order, n, v) and extent[v] or 0 do
          local now = kind.dim and (used[kind.dim] or 1) or 1
          if extent[v] % trips == 0 and (not kind.dim or now * trips <= kind.dim.count) then
            local after = copy(extent)
            after[v] = extent[v] // trips
            nodes[#nodes + 1] = loop(problem, v, kind, after[v])
            if kind.dim then used[kind.dim] = now * trips end
            go(n, after)
            if kind.dim then used[kind.dim] = now end
            nodes[#nodes] = nil
          end
        end
      end
    end
  end
  go(0, copy(problem.sizes))
end

--- Calls visit with the nodes of every nest of an einsum (used again); each holder has one tensor.
---@param problem table
---@param einsum table
---@param visit fun(nodes: table[])
function whole.nests(problem, einsum, visit)
  einsum.variables = {}
  for _, t in pairs(einsum.tensors) do
    for v in pairs(t.index) do einsum.variables[v] = true end
  end
  einsum.order = names_of(einsum.variables)
  each_holding(problem, einsum, function(list)
    each_order(problem, list, function(order)
      each_nest(problem, einsum, order, visit)
    end)
  end)
end

-- ---- two einsums ----

-- The nodes up to the outermost holder of the tensor that both use, the rest, and the loops among
-- the first as a text; nil where some variable has several of these.
local function cut(nodes, tensor)
  local parts, seen = {}, {}
  for i, n in ipairs(nodes) do
    if n.tile_shape then
      if seen[n.rank_variable] then return nil end
      seen[n.rank_variable] = true
      parts[#parts + 1] = ("%s %s %s"):format(n.rank_variable, n.tile_shape, n.dim or "")
    elseif n.tensors[1] == tensor and n.backs then
      parts[#parts + 1] = n.component
      return {
        head = table.move(nodes, 1, i, 1, {}), rest = table.move(nodes, i + 1, #nodes, 1, {}),
        loops = table.concat(parts, "/"),
      }
    end
  end
end

-- Two heads with the same loops as one: the holders of both between them.
local function merged(a, b, tensor)
  local result, i, k = {}, 1, 1
  while a[i] or b[k] do
    while a[i] and not a[i].tile_shape do
      if a[i].tensors[1] ~= tensor then result[#result + 1] = a[i] end
      i = i + 1
    end
    while b[k] and not b[k].tile_shape do
      if b[k].tensors[1] ~= tensor then result[#result + 1] = b[k] end
      k = k + 1
    end
    if a[i] then result[#result + 1] = a[i] end
    i, k = i + 1, k + 1
  end
  result[#result + 1] = a[#a]
  return result
end

--- Calls visit(head, rest, rest) for every mapping of two einsums that share one tensor, which has
--- its outermost holder at the end of the head.
---@param problem table
---@param einsums table[]
---@param tensor string
---@param visit fun(head: table[], first: table[], second: table[])
function whole.pairs(problem, einsums, tensor, visit)
  local lists = { {}, {} }
  for e, einsum in ipairs(einsums) do
    whole.nests(problem, einsum, function(nodes)
      local part = cut(nodes, tensor)
      if not part then return end
      lists[e][part.loops] = lists[e][part.loops] or {}
      table.insert(lists[e][part.loops], part)
    end)
  end
  for _, loops in ipairs(names_of(lists[1])) do
    for _, a in ipairs(lists[1][loops]) do
      for _, b in ipairs(lists[2][loops] or {}) do
        visit(merged(a.head, b.head, tensor), a.rest, b.rest)
      end
    end
  end
end

-- ---- matching ----

local function holds_any(list, name)
  for _, x in ipairs(list or {}) do
    if x == name then return true end
  end
  return false
end

local function admits(shape, tile)
  if shape == "?" or shape == tile then return true end
  if type(shape) == "table" then return holds_any(shape, tile) end
  local low, high = tostring(shape):match "^(%d+)%.%.(%d+)$"
  return low ~= nil and tonumber(low) <= tile and tile <= tonumber(high)
end

local function same_loop(p, n)
  return p.node == n.node and p.rank_variable == n.rank_variable and p.component == n.component
    and p.dim == n.dim
end

-- Whether a loop of the mapping with holes may stand between what is above and below.
local function may_stand(problem, einsum, p, above_it, nodes, k)
  local order, next_level = {}, #problem.levels
  local number = {}
  for i, l in ipairs(problem.levels) do number[l.name] = i end
  for _, n in ipairs(above_it) do
    if n.node == "storage" then
      order[#order + 1] = { tensor = n.tensors[1], level = number[n.component] }
    end
  end
  for i = #nodes, k, -1 do
    if nodes[i].node == "storage" then next_level = number[nodes[i].component] end
  end
  if next_level == 1 or not allowed(einsum, order, #order, p.rank_variable) then return false end
  if p.node == "temporal" then return true end
  order[#order + 1] = { tensor = "", level = next_level }
  for _, kind in ipairs(kinds(problem, order, #order - 1)) do
    if kind.dim and kind.dim.name == p.dim and problem.levels[kind.level].name == p.component then
      return not kind.dim.spared[p.rank_variable]
    end
  end
  return false
end

--- Calls visit with the nodes of every completion of a mapping with holes that a nest is: loops of
--- the mapping that have one trip are added to it.
---@param problem table
---@param einsum table
---@param pattern table[] nodes up to the compute node
---@param nodes table[]
---@param visit fun(nodes: table[])
function whole.completions(problem, einsum, pattern, nodes, visit)
  local out = {}
  local go
  local function emit(node, i, k, extent)
    out[#out + 1] = node
    go(i, k, extent)
    out[#out] = nil
  end
  local function after(node, extent)
    if not node.tile_shape then return extent end
    local result = copy(extent)
    result[node.rank_variable] = node.tile_shape
    return result
  end
  -- Holders of pattern node i, the tensors of `open` not met yet.
  local function holder(i, k, extent, open)
    local p, n = pattern[i], nodes[k]
    local complete = true
    for name in pairs(open) do complete = complete and holds_any(p.optional, name) end
    if complete then go(i + 1, k, extent) end
    if not n or n.node ~= "storage" or n.component ~= p.component then return end
    local name = n.tensors[1]
    if not open[name] and not (p.more and not holds_any(p.tensors, name)) then return end
    local rest = copy(open)
    rest[name] = nil
    out[#out + 1] = n
    holder(i, k + 1, extent, rest)
    out[#out] = nil
  end
  function go(i, k, extent)
    local p, n = pattern[i], nodes[k]
    if not p then
      if not n then visit(out) end
      return
    end
    if p.node == "storage" then
      local open = {}
      for _, name in ipairs(p.tensors) do open[name] = true end
      return holder(i, k, extent, open)
    elseif p.node == "loops" or p.node == "anything" then
      go(i + 1, k, extent)
      local fits = n and (p.node == "anything" or n.tile_shape and (not p.kind or p.kind == n.node))
      if fits then emit(n, i, k + 1, after(n, extent)) end
      return
    end
    if p.node == "split" then
      if n and n.node == "split" then emit(n, i + 1, k + 1, extent) end
      return
    end
    local v = p.rank_variable
    if n and same_loop(p, n) and admits(p.tile_shape, n.tile_shape) then
      emit(n, i + 1, k + 1, after(n, extent))
    end
    if admits(p.tile_shape, extent[v]) and may_stand(problem, einsum, p, out, nodes, k) then
      local one = copy(p)
      one.tile_shape, one.where = extent[v], nil
      emit(one, i + 1, k, extent)
    end
  end
  go(1, 1, copy(problem.sizes))
end

return whole
