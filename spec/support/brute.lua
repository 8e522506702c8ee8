-- SPDX-License-Identifier: MIT
-- Every mapping of a small case, built and evaluated one by one: loops of every variable in every
-- place and order, no rule of the search about where loops are worth having.

local holds = require "einloom.search.holds"
local loom = require "einloom"
local tree = require "einloom.search.tree"
local uneven = require "support.uneven"

local brute = {}

local function unheld_allow(step, order, j, v)
  local held = {}
  for i = 1, j do held[order[i].tensor] = true end
  for _, t in ipairs(step.tensors) do
    if not held[t] and t.relevancy[v] ~= "relevant" then return false end
  end
  return true
end

local function last_shared(order)
  for i = #order, 1, -1 do
    if order[i].backs and order[i].tensor.shared then return i end
  end
  return 0
end

-- Places for loops: {after =, dim =, level =} outermost first; a place with a dim is spatial.
local function places(step, order, n_first)
  local list = {}
  local function region(h) return step.levels[h and h.level or #step.levels].region end
  for j = n_first, #order do
    list[#list + 1] = { after = j }
    local from = j > 0 and region(order[j]) or 0
    for index, level in ipairs(step.levels) do
      if level.region > from and level.region <= region(order[j + 1]) then
        for _, dim in ipairs(level.dims) do
          list[#list + 1] = { after = j, dim = dim, level = index }
        end
      end
    end
  end
  return list
end

local function permutations(list, visit)
  local function go(n)
    if n == 1 then return visit(list) end
    for i = 1, n do
      list[i], list[n] = list[n], list[i]
      go(n - 1)
      list[i], list[n] = list[n], list[i]
    end
  end
  if #list == 0 then return visit(list) end
  go(#list)
end

-- Trips may be fractions: equal ones may come out a little apart.
local function less(a, b) return a < b - 1e-9 end

local compare = {
  ["=="] = function(a, b) return not less(a, b) and not less(b, a) end,
  ["<="] = function(a, b) return not less(b, a) end,
  [">="] = function(a, b) return not less(a, b) end,
  ["<"] = less,
  [">"] = function(a, b) return less(b, a) end,
}

-- Whether bounds of loops allow the trips of all slots over one dimension.
local function bounds_allow(dim, slots, trips)
  for _, bound in ipairs(dim.bounds) do
    local is_product, op = bound.op:match "^(p?r?o?d?u?c?t?)(.*)$"
    local product = 1
    for v in pairs(bound.variables) do
      local own = 1
      for q, slot in ipairs(slots) do
        if slot.dim == dim then own = own * (trips[q][v] or 1) end
      end
      if is_product == "" and not compare[op](own, bound.value) then return false end
      product = product * own
    end
    if is_product ~= "" and not compare[op](product, bound.value) then return false end
  end
  return true
end

-- Calls visit(template, tiles, variables of fused loops) for every nest of a step.
function brute.nests(step, options, visit)
  for _, way in ipairs(step.ways) do brute.nests_of_way(way, options, visit) end
end

function brute.nests_of_way(step, options, visit)
  local max_fused = options.max_fused_loops
  local per_rank = options.max_fused_loops_per_rank_variable
  holds.each(step, function(held)
    holds.orders(step, held, function(order, n_first)
      local slots, border = places(step, order, n_first), last_shared(order)
      local trips, cut = {}, {}
      for i = 1, #slots do trips[i], cut[i] = {}, {} end
      local function emit(k, nodes, n_fused, extent, tiles, names)
        if k > #slots then
          local copy = table.move(nodes, 1, #nodes, 1, {})
          for i = (slots[#slots] and slots[#slots].after or 0) + 1, #order do
            copy[#copy + 1] = order[i]
          end
          return visit({ way = step, nodes = copy, splits = {}, n_fused = n_fused },
            table.move(tiles, 1, #tiles, 1, {}), table.move(names, 1, #names, 1, {}))
        end
        local slot, here = slots[k], {}
        local own = table.move(nodes, 1, #nodes, 1, {})
        local from = k == 1 and 1 or slots[k - 1].after + 1
        for i = from, slot.after do own[#own + 1] = order[i] end
        for v in pairs(trips[k]) do here[#here + 1] = v end
        table.sort(here)
        permutations(here, function(list)
          local n, t, e = table.move(own, 1, #own, 1, {}), table.move(tiles, 1, #tiles, 1, {}), {}
          local f, nm = n_fused, table.move(names, 1, #names, 1, {})
          for v, x in pairs(extent) do e[v] = x end
          for _, v in ipairs(list) do
            e[v] = cut[k][v]
            t[#t + 1] = e[v]
            local fused = slot.after < border
            n[#n + 1] = { variable = v, dim = slot.dim, level = slot.level, fused = fused }
            if fused then
              f = f + 1
              nm[#nm + 1] = v
            end
          end
          emit(k + 1, n, f, e, t, nm)
        end)
      end
      local function factor(i, k, left)
        local v = step.variables[i]
        if not v then
          local n_fused, of = 0, {}
          for q, slot in ipairs(slots) do
            local used = 1
            for w, x in pairs(trips[q]) do
              used = used * x
              if slot.after < border then
                n_fused = n_fused + 1
                of[w] = (of[w] or 0) + 1
                if of[w] > per_rank then return end
              end
            end
            if slot.dim and less(slot.dim.count, used) then return end
          end
          if n_fused > max_fused then return end
          for _, level in ipairs(step.levels) do
            for _, dim in ipairs(level.dims) do
              if not bounds_allow(dim, slots, trips) then return end
            end
          end
          return emit(1, {}, 0, step.sizes, {}, {})
        end
        if k > #slots then
          local cuts = {}
          for q, slot in ipairs(slots) do
            if cut[q][v] then cuts[#cuts + 1] = { tile = cut[q][v], dim = slot.dim } end
          end
          if left == 1 and uneven.allows(options, step.sizes[v], cuts,
            uneven.may_leave(options, step, v)) then
            factor(i + 1, 1, step.sizes[step.variables[i + 1]])
          end
          return
        end
        factor(i, k + 1, left)
        local slot = slots[k]
        if left > 1 and unheld_allow(step, order, slot.after, v)
          and not (slot.dim and slot.dim.excluded[v]) then
          local any = left == step.sizes[v] and uneven.may_leave(options, step, v)
          for tile = left - 1, 1, -1 do
            if any or left % tile == 0 then
              trips[k][v], cut[k][v] = left / tile, tile
              factor(i, k + 1, tile)
              trips[k][v], cut[k][v] = nil, nil
            end
          end
        end
      end
      factor(1, 1, step.sizes[step.variables[1]])
    end)
  end)
end

-- What the paths have to agree on for one shared tensor.
local function place_of(path, tensor, ranks)
  local parts = {}
  for j = 1, path.depth[tensor] do
    local l = path.loops[j]
    parts[j] = ("%s:%d:%s"):format(ranks[l.rank_variable] or "?", l.tile_shape, tostring(l.dim))
  end
  for j = 1, path.depth[tensor] + 1 do
    for _, h in ipairs(path.levels[j]) do
      if h.shared and h.tensors[1] == tensor then parts[#parts + 1] = h.component end
    end
  end
  return table.concat(parts, "/")
end

local function key_of(step, path)
  local parts = {}
  for _, t in ipairs(step.tensors) do
    if t.shared then
      local ranks = {}
      for k, form in ipairs(t.access.affine) do
        if #form.terms == 1 then ranks[form.terms[1][1]] = k end
      end
      parts[#parts + 1] = t.name .. "=" .. place_of(path, t.name, ranks)
    end
  end
  return table.concat(parts, ";")
end

--- Calls visit(mapping) for every mapping of a case of one or two einsums.
function brute.mappings(space, visit)
  local lists, steps = {}, space.steps
  for i, step in ipairs(steps) do
    lists[i] = {}
    brute.nests(step, space.options, function(template, tiles, names)
      local path = tree.path(step, template, tiles, names)
      local key = #steps > 1 and key_of(step, path) or ""
      lists[i][key] = lists[i][key] or {}
      table.insert(lists[i][key], path)
    end)
  end
  if #steps == 1 then
    for _, path in ipairs(lists[1][""] or {}) do visit(tree.mapping { path }) end
    return
  end
  for key, list in pairs(lists[1]) do
    for _, a in ipairs(list) do
      for _, b in ipairs(lists[2][key] or {}) do visit(tree.mapping { a, b }) end
    end
  end
end

--- Energy, latency of a mapping, or nil where a limit is not met.
function brute.evaluate(case, mapping)
  local r, message = loom.analyze(case.workload, case.arch, mapping, { model = "reference" })
  if not r then error(message) end
  local energy = r:energy()
  if not energy then return nil end
  return energy:tonumber(), r:latency():tonumber(), r
end

return brute
