-- SPDX-License-Identifier: MIT
-- Random workloads of one or two einsums, machines and mappings, small enough to be walked: any
-- index, uneven tiles, first tiles, overlapping tiles, parallel loops, holders anywhere, both
-- lifetimes, networks, shared loops, loops that compute an einsum again.  A case is a plain table,
-- so that it can be made smaller, printed and made again.

local points = require "einloom.points"

local random_nests = {}

---@class einloom.RandomCase
---@field sizes table<string, integer>
---@field variables string[]
---@field einsums { name: string, variables: string[], tensors: table[] }[] the output first
---@field network table<string, { multicast: boolean, adder_tree: boolean }> by dimension
---@field bits integer per value
---@field machine table<string, table> what is unusual, by component
---@field lists table[][] loops and holders, outermost first; with two einsums those of both, then
--- each einsum's
---@field options table

local dims = { "Reg.X", "Reg.Y", "PE.X" }
local components = { "Main", "Bus", "Glb", "Reg", "MAC" }

local function chance(r, n) return r:to(n) == 1 end

-- ---- workloads ----

local function coefficient(r)
  return r:pick { 1, 1, 1, 1, 2, 2, 3, -1, -1, -2 }
end

local function term(c, v)
  if c == 1 then return v end
  return c == -1 and "-" .. v or c .. "*" .. v
end

local function sum(r, variables, n)
  local parts, left = {}, table.move(variables, 1, #variables, 1, {})
  for _ = 1, math.min(n, #left) do
    local text = term(coefficient(r), table.remove(left, r:to(#left)))
    parts[#parts + 1] = (#parts > 0 and text:sub(1, 1) ~= "-" and "+" or "") .. text
  end
  if chance(r, 4) then parts[#parts + 1] = ("%+d"):format(r:to(9) - 5) end
  return table.concat(parts)
end

-- An index: plain, a sum, or with // and %, as hard as asked.
local function index(r, variables, hardness)
  if hardness == 1 or chance(r, 3) then return r:pick(variables) end
  local text = sum(r, variables, r:pick { 1, 2, 2, 2, 3 })
  if hardness < 3 or chance(r, 2) then return text end
  text = ("(%s) %s %d"):format(text, r:pick { "//", "%" }, 1 + r:to(3))
  if chance(r, 3) then text = text .. " + " .. r:pick(variables) end
  return text
end

local function ranks(r, variables, hardness)
  local list, seen = {}, {}
  for _ = 1, r:pick { 1, 1, 2, 2, 3 } do
    local text = index(r, variables, hardness)
    if hardness > 1 or not seen[text] then list[#list + 1] = text end
    seen[text] = true
  end
  return list
end

-- Variables that no index mentions get a tensor of their own.
local function add_missing(einsum)
  local text = {}
  for _, t in ipairs(einsum.tensors) do text[#text + 1] = table.concat(t.indices, " ") end
  text = table.concat(text, " ")
  local missing = {}
  for _, v in ipairs(einsum.variables) do
    if not text:find(v, 1, true) then missing[#missing + 1] = v end
  end
  if #missing > 0 then
    einsum.tensors[#einsum.tensors + 1] =
      { name = "M" .. einsum.name, output = false, indices = missing }
  end
end

local function add_variable(r, case, einsums, most)
  local v = ("pqrstu"):sub(#case.variables + 1, #case.variables + 1)
  local size = r:to(most)
  for _, einsum in ipairs(einsums) do
    size = math.min(size, math.max(1, case.points // einsum.points))
  end
  for _, einsum in ipairs(einsums) do
    einsum.points = einsum.points * size
    einsum.variables[#einsum.variables + 1] = v
  end
  case.variables[#case.variables + 1], case.sizes[v] = v, size
end

local function add_tensors(r, einsum, hardness, names)
  for i, name in ipairs(names) do
    local hard = i == 1 and hardness == 3 and not chance(r, 3) and 2 or hardness
    einsum.tensors[i] =
      { name = name, output = i == 1, indices = ranks(r, einsum.variables, hard) }
  end
end

-- T[R1: ..., R2: ...] in the einsum that makes it and in the one that reads it.
local function add_intermediate(r, case, hardness)
  local made, read = case.einsums[1], case.einsums[2]
  local t = made.tensors[1]
  local again = { name = t.name, output = false, indices = {}, ranks = true }
  t.ranks = true
  for i, text in ipairs(t.indices) do
    local same = hardness == 1 and text
    for _, v in ipairs(made.variables) do
      if same == v and not table.concat(read.variables):find(v, 1, true) then same = nil end
    end
    again.indices[i] = same or index(r, read.variables, hardness)
  end
  table.insert(read.tensors, 2, again)
end

local function add_workload(r, case, hardness, fused)
  local most = r:pick { 5, 7, 9, 9 + case.points // 100 }
  local first = { name = "E1", variables = {}, tensors = {}, points = 1 }
  case.einsums[1] = first
  if not fused then
    for _ = 1, r:pick { 1, 2, 2, 3, 3, 3, 4 } do add_variable(r, case, { first }, most) end
    add_tensors(r, first, hardness, r:pick { { "O", "A" }, { "O", "A", "B" } })
    add_missing(first)
    first.copy = #first.tensors == 2 and chance(r, 8)
    return
  end
  local second = { name = "E2", variables = {}, tensors = {}, points = 1 }
  case.einsums[2] = second
  for _ = 1, r:to(2) do add_variable(r, case, { first, second }, most) end
  for _ = 1, r:to(2) - 1 do add_variable(r, case, { first }, most) end
  for _ = 1, r:to(2) - 1 do add_variable(r, case, { second }, most) end
  add_tensors(r, first, hardness, { "T", "A" })
  add_tensors(r, second, hardness, { "O", "B" })
  add_intermediate(r, case, hardness)
  add_missing(first)
  add_missing(second)
end

-- ---- mappings ----

-- Loops over one variable, outermost first; the last tile is 1.
local function chain(r, v, size, even)
  local loops, around = {}, size
  for i = 1, r:pick { 1, 1, 2, 2, 3, 3 } do
    local tile = r:to(around)
    while even and around % tile ~= 0 do tile = r:to(around) end
    loops[i] = { variable = v, tile = tile }
    if even then
      loops[i].step = nil
    elseif chance(r, 12) then
      loops[i].first = r:to(around)
    elseif tile > 1 and chance(r, 20) then
      loops[i].step = r:to(tile)
    end
    around = tile
  end
  local last = loops[#loops]
  last.tile, last.step = 1, nil
  if chance(r, 30) and not even then loops[1].tile = size + r:to(3) end
  if #loops == 1 then loops[1].tile = 1 end
  return loops
end

-- Sections from the outside in: time, Reg's array, time, PE's array, time.
local function place(r, case, loops)
  local section = 1
  for _, loop in ipairs(loops) do
    section = section + r:to(6 - section) - 1
    if (section == 2 or section == 4) and case.spatial < 3 and chance(r, 2) then
      case.spatial = case.spatial + 1
      loop.dim = section == 4 and "PE.X" or r:pick { "Reg.X", "Reg.Y" }
    elseif section % 2 == 0 then
      section = section + 1
    end
    loop.section = section
  end
end

local function insert(list, position, x) table.insert(list, position, x) end

-- All loops in one order that keeps each chain's and the sections'.
local function merge(r, chains)
  local order = {}
  for section = 1, 5 do
    local open = {}
    for i, loops in ipairs(chains) do
      for _, loop in ipairs(loops) do
        if loop.section == section then open[#open + 1] = i end
      end
    end
    while #open > 0 do
      local loops = chains[table.remove(open, r:to(#open))]
      order[#order + 1] = table.remove(loops, 1)
    end
  end
  return order
end

-- Position of the first node of a section at or after `from`.
local function bounds(nodes, from, first, last)
  local lo, hi = #nodes + 1, #nodes + 1
  for i = #nodes, 1, -1 do
    local section = nodes[i].section
    if section and section >= first then lo = i end
    if section and section > last then hi = i end
  end
  lo = math.max(lo, from)
  return lo, math.max(lo, hi)
end

local function holder(r, level, tensor, limits)
  local node = { level = level, tensor = tensor }
  if level ~= "Bus" and chance(r, 20) then node.persistent = true end
  if level == "Bus" or limits.lifetime then return node end
  if chance(r, 3) then node.retain = true end
  if chance(r, 8) then node.scope, node.retain = true, nil end
  return node
end

-- Main first, then maybe a bus, Glb, Reg, each below the last.
local function add_holders(r, nodes, tensor, limits)
  local outermost = chance(r, 8) and r:to(#nodes + 1) or 1
  insert(nodes, outermost, holder(r, "Main", tensor, limits))
  local at = outermost + 1
  for _, level in ipairs { "Bus", "Glb", "Reg" } do
    local wanted = level == "Bus" and chance(r, 8) or level == "Glb" and chance(r, 2)
      or level == "Reg" and chance(r, 2)
    if wanted then
      local lo, hi = bounds(nodes, at, level == "Reg" and 3 or 1, level == "Reg" and 3 or 1)
      local position = lo + r:to(hi - lo + 1) - 1
      if chance(r, 8) then position = at + r:to(#nodes + 2 - at) - 1 end
      insert(nodes, position, holder(r, level, tensor, limits))
      at = position + 1
    end
  end
end

local function add_mapping(r, case, limits)
  local chains = {}
  for i, v in ipairs(case.variables) do
    chains[i] = chain(r, v, case.sizes[v], limits.even)
    place(r, case, chains[i])
  end
  case.lists[1] = merge(r, chains)
  for _, t in ipairs(case.einsums[1].tensors) do
    add_holders(r, case.lists[1], t.name, limits)
  end
end

-- Loops that both einsums share, holders of what passes between them, then each one's own loops
-- over what is left.
local function add_tree(r, case, limits)
  local around, shared = {}, {}
  for i, v in ipairs(case.variables) do
    local loops = {}
    around[v] = case.sizes[v]
    if chance(r, 2) then
      loops = chain(r, v, case.sizes[v], limits.even)
      local last = table.remove(loops)
      if #loops > 0 then around[v] = math.min(around[v], loops[#loops].tile, last.tile + 99) end
    end
    shared[i] = loops
    place(r, case, loops)
  end
  case.lists[1] = merge(r, shared)
  add_holders(r, case.lists[1], "T", limits)
  for i, einsum in ipairs(case.einsums) do
    local chains = {}
    for k, v in ipairs(einsum.variables) do
      chains[k] = chain(r, v, around[v], limits.even)
      place(r, case, chains[k])
    end
    local own = merge(r, chains)
    case.lists[i + 1] = own
    for _, t in ipairs(einsum.tensors) do
      if t.name ~= "T" then
        local above = chance(r, 2) and case.lists[1] or own
        insert(above, 1, holder(r, "Main", t.name, limits))
        if chance(r, 2) then
          insert(own, above == own and 2 or 1, holder(r, "Glb", t.name, limits))
        end
      end
    end
  end
end

-- Bits per value and what is unusual of the components.
local function add_machine(r, case)
  case.bits = r:pick { 1, 1, 8 }
  for _, name in ipairs(components) do
    local x = {}
    if name == "Bus" then
      x.direction = chance(r, 4) and r:pick { "up", "down" } or nil
    elseif chance(r, 10) then
      x.skip_initial_output_write = false
    end
    case.machine[name] = x
  end
end

--- A random case.
---@param r table front.random
---@param limits? { hardness: integer?, even: boolean?, lifetime: string?, usual: boolean?,
--- fused: boolean?, points: integer? } of indices (1 variables, 2 sums, 3 any) and tiles; one
--- lifetime; the usual conventions alone; one einsum or two; points of an einsum, at most (400)
---@return einloom.RandomCase
function random_nests.case(r, limits)
  limits = limits or {}
  local case = { sizes = {}, variables = {}, einsums = {}, lists = {}, network = {}, machine = {},
    options = {}, spatial = 0, points = limits.points or 400 }
  local fused = limits.fused
  if fused == nil then fused = chance(r, 4) end
  add_workload(r, case, limits.hardness or r:pick { 1, 2, 2, 3 }, fused)
  if fused then add_tree(r, case, limits) else add_mapping(r, case, limits) end
  for _, dim in ipairs(dims) do
    case.network[dim] = { multicast = not chance(r, 3), adder_tree = not chance(r, 3) }
  end
  add_machine(r, case)
  case.options.lifetime = limits.lifetime or chance(r, 2) and "retain" or nil
  if limits.usual then return case end
  if chance(r, 4) then case.options.drain_reads = false end
  if chance(r, 4) then case.options.partial_sums = "one_unit" end
  return case
end

-- ---- as text and as objects ----

local function tensor_text(t)
  local indices = {}
  for i, text in ipairs(t.indices) do
    indices[i] = t.ranks and ("R%d: %s"):format(i, text) or text
  end
  return ("%s[%s]"):format(t.name, table.concat(indices, ", "))
end

local function einsum_text(einsum)
  local left, right = nil, {}
  for _, t in ipairs(einsum.tensors) do
    if t.output then left = tensor_text(t) else right[#right + 1] = tensor_text(t) end
  end
  return ("%q"):format(("%s: %s%s = %s"):format(einsum.name, einsum.copy and "copy " or "", left,
    table.concat(right, " * ")))
end

local function loop_text(node, shape)
  local text = ("%s %s tile %s"):format(node.dim and "par" or "for", node.variable,
    shape(node, "tile"))
  if node.first then text = text .. " first " .. shape(node, "first") end
  if node.step then text = text .. " step " .. shape(node, "step") end
  return node.dim and text .. " on " .. node.dim or text
end

local function holder_text(node)
  local flags = {}
  for _, name in ipairs { "persistent", "retain", "scope" } do
    if node[name] then flags[#flags + 1] = name end
  end
  return ("%s%s: %s%s"):format(node.level == "Bus" and "toll " or "", node.level, node.tensor,
    #flags > 0 and (" (%s)"):format(table.concat(flags, ", ")) or "")
end

-- Appends the nodes of a list, each loop's body one further in; returns how far that is.
local function add_lines(lines, nodes, depth, shape)
  for _, node in ipairs(nodes) do
    local text = node.variable and loop_text(node, shape) or holder_text(node)
    lines[#lines + 1] = (" "):rep(depth) .. text
    if node.variable then depth = depth + 1 end
  end
  return depth
end

--- The mapping as text; `shape` writes a tile, first tile or step.
---@param case einloom.RandomCase
---@param shape? fun(node: table, key: string): string
---@return string
function random_nests.mapping_text(case, shape)
  shape = shape or function(node, key) return tostring(node[key]) end
  local lines = {}
  local depth = add_lines(lines, case.lists[1], 0, shape)
  if #case.einsums == 1 then
    lines[#lines + 1] = (" "):rep(depth) .. "MAC"
    return table.concat(lines, "\n")
  end
  lines[#lines + 1] = (" "):rep(depth) .. "sequential"
  for i, einsum in ipairs(case.einsums) do
    lines[#lines + 1] = (" "):rep(depth + 1) .. "branch"
    local inner = add_lines(lines, case.lists[i + 1], depth + 2, shape)
    lines[#lines + 1] = (" "):rep(inner) .. einsum.name .. " on MAC"
  end
  return table.concat(lines, "\n")
end

local function list_text(t, names)
  local parts = {}
  for _, name in ipairs(names) do
    if t[name] ~= nil then
      local x = type(t[name]) == "string" and ("%q"):format(t[name]) or tostring(t[name])
      parts[#parts + 1] = ("%s = %s"):format(name, x)
    end
  end
  return table.concat(parts, ", ")
end

local function sizes_text(case, symbolic)
  local parts = {}
  for i, v in ipairs(case.variables) do
    local size = symbolic and ("loom.symbol %q"):format(v:upper()) or tostring(case.sizes[v])
    parts[i] = ("%s = %s"):format(v, size)
  end
  return table.concat(parts, ", ")
end

local chunk = [=[
local loom = require "einloom"
local w = loom.workload { sizes = { %s }, bits = %d, partial = "All",
  %s }
local a = loom.arch {
  loom.memory { "Main", size = math.huge%s }, loom.toll { "Bus"%s },
  loom.memory { "Glb", size = math.huge%s },
  loom.memory { "Reg", size = math.huge%s, spatial = { X = %s, Y = %s } },
  loom.fanout { "PE", X = %s }, loom.compute { "MAC"%s },
}
local m = loom.mapping [[
%s
]]
return w, a, m, { %s }
]=]

--- A Lua chunk that returns workload, architecture, mapping and options of a case;
--- with `shape` sizes are symbols, and it writes the tiles.
---@param case einloom.RandomCase
---@param shape? fun(node: table, key: string): string
---@return string
function random_nests.source(case, shape)
  local function dim(name)
    return ("{ 99, %s }"):format(list_text(case.network[name], { "multicast", "adder_tree" }))
  end
  local einsums = {}
  for i, einsum in ipairs(case.einsums) do einsums[i] = einsum_text(einsum) end
  local function own(name)
    local text = list_text(case.machine[name], { "direction", "skip_initial_output_write" })
    return text ~= "" and ", " .. text or ""
  end
  return chunk:format(sizes_text(case, shape ~= nil), case.bits, table.concat(einsums, ",\n  "),
    own "Main", own "Bus", own "Glb", own "Reg", dim "Reg.X", dim "Reg.Y", dim "PE.X", own "MAC",
    random_nests.mapping_text(case, shape),
    list_text(case.options, { "lifetime", "drain_reads", "partial_sums" }))
end

local function make(source) return assert(load(source))() end

--- The objects of a case.
---@param case einloom.RandomCase
function random_nests.make(case) return make(random_nests.source(case)) end

--- The objects of a case whose sizes and tiles are symbols (P, T1, ...), then the point at which
--- they are those of the case.  Tiles of 1 stay.
---@param case einloom.RandomCase
---@return einloom.Workload, einloom.Arch, einloom.Mapping, table, table<string, integer>
function random_nests.make_symbolic(case)
  local point, n = {}, 0
  for _, v in ipairs(case.variables) do point[v:upper()] = case.sizes[v] end
  local w, a, m, options = make(random_nests.source(case, function(node, key)
    if node[key] == 1 and key == "tile" then return "1" end
    n = n + 1
    point["T" .. n] = node[key]
    return "T" .. n
  end))
  return w, a, m, options, point
end

-- ---- smaller cases ----

local function copy(x)
  if type(x) ~= "table" then return x end
  local result = {}
  for key, value in pairs(x) do result[key] = copy(value) end
  return result
end

local function remove_nodes(c, is)
  for _, nodes in ipairs(c.lists) do
    for k = #nodes, 1, -1 do
      if is(nodes[k]) then table.remove(nodes, k) end
    end
  end
end

local function without(list, x)
  for k = #list, 1, -1 do
    if list[k] == x then table.remove(list, k) end
  end
end

-- The changes of one node, by a function that finds it in a copy.
local function each_node_change(find, try)
  try(function(c)
    local nodes, i = find(c)
    table.remove(nodes, i)
  end)
  for _, key in ipairs { "first", "step", "persistent", "retain", "scope", "dim" } do
    try(function(c)
      local nodes, i = find(c)
      if nodes[i][key] == nil then return false end
      nodes[i][key] = nil
    end)
  end
  for _, key in ipairs { "tile", "first", "step" } do
    try(function(c)
      local nodes, i = find(c)
      if not nodes[i][key] or nodes[i][key] <= 1 then return false end
      nodes[i][key] = nodes[i][key] - 1
    end)
  end
end

-- The changes of one tensor of an einsum.
local function each_tensor_change(case, e, i, try)
  local t = case.einsums[e].tensors[i]
  if i > 1 and t.name ~= "T" then
    try(function(c)
      table.remove(c.einsums[e].tensors, i)
      remove_nodes(c, function(node) return node.tensor == t.name end)
    end)
  end
  for k = #t.indices, 1, -1 do
    if t.name ~= "T" then
      try(function(c) table.remove(c.einsums[e].tensors[i].indices, k) end)
    end
    for _, v in ipairs(case.einsums[e].variables) do
      try(function(c)
        local indices = c.einsums[e].tensors[i].indices
        if #indices[k] <= #v then return false end
        indices[k] = v
      end)
    end
    for _, pair in ipairs { { "[+-]%d+$", "" }, { " *[/%%]+ %d.*$", "" }, { "%d%*", "" } } do
      try(function(c)
        local indices = c.einsums[e].tensors[i].indices
        local text = indices[k]:gsub(pair[1], pair[2], 1)
        if text == indices[k] then return false end
        indices[k] = text
      end)
    end
  end
end

-- Calls try with changes of the case, each a function that changes a copy, or returns false where
-- it does not apply.
local function each_change(case, try)
  if #case.einsums > 1 then
    for e = 1, 2 do
      try(function(c)
        c.lists = { table.move(c.lists[e + 1], 1, #c.lists[e + 1], #c.lists[1] + 1, c.lists[1]) }
        c.einsums = { c.einsums[e] }
        local known = {}
        for _, t in ipairs(c.einsums[1].tensors) do known[t.name] = true end
        remove_nodes(c, function(node) return node.tensor and not known[node.tensor] end)
      end)
    end
  end
  for l, nodes in ipairs(case.lists) do
    for i = #nodes, 1, -1 do
      each_node_change(function(c) return c.lists[l], i end, try)
    end
  end
  for e, einsum in ipairs(case.einsums) do
    for i = #einsum.tensors, 1, -1 do each_tensor_change(case, e, i, try) end
  end
  for _, v in ipairs(case.variables) do
    try(function(c)
      if c.sizes[v] == 1 then return false end
      c.sizes[v] = c.sizes[v] - 1
    end)
    try(function(c)
      without(c.variables, v)
      for _, einsum in ipairs(c.einsums) do without(einsum.variables, v) end
      c.sizes[v] = nil
      remove_nodes(c, function(node) return node.variable == v end)
    end)
  end
  for _, key in ipairs { "lifetime", "drain_reads", "partial_sums" } do
    try(function(c)
      if c.options[key] == nil then return false end
      c.options[key] = nil
    end)
  end
  for _, name in ipairs(components) do
    try(function(c)
      if next(c.machine[name]) == nil then return false end
      c.machine[name] = {}
    end)
  end
  try(function(c)
    if c.bits == 1 then return false end
    c.bits = 1
  end)
  for _, dim in ipairs(dims) do
    for _, key in ipairs { "multicast", "adder_tree" } do
      try(function(c)
        if c.network[dim][key] then return false end
        c.network[dim][key] = true
      end)
    end
  end
end

--- The smallest case reached by changes that keep `holds`.
---@param case einloom.RandomCase
---@param holds fun(case: einloom.RandomCase): boolean
---@return einloom.RandomCase
function random_nests.minimise(case, holds)
  local changed = true
  while changed do
    changed = false
    each_change(case, function(change)
      if changed then return end
      local smaller = copy(case)
      if change(smaller) == false then return end
      local ok, keeps = pcall(holds, smaller)
      if ok and keeps then case, changed = smaller, true end
    end)
  end
  return case
end

-- ---- comparing ----

local function compare(list, where, a, b, point)
  for key, x in pairs(b) do
    local own = points.at(a[key], point)
    if own ~= x then list[#list + 1] = { where = where, field = key, exact = own, walked = x } end
  end
  for key, x in pairs(a) do
    if b[key] == nil then list[#list + 1] = { where = where, field = key, exact = x } end
  end
end

local function buffets(raw, einsum)
  local found = {}
  for _, b in ipairs(raw:buffets(einsum)) do found[b.level .. "." .. b.tensor] = b end
  return found
end

--- Where two results of the core differ, field by field; the first one at a point.
---@param exact userdata
---@param walked userdata
---@param point? table<string, integer>
---@return { where: string, field: string, exact: any, walked: any }[]
function random_nests.differences(exact, walked, point)
  local list = {}
  for _, einsum in ipairs(walked:einsums()) do
    local function add(where, a, b) compare(list, einsum .. " " .. where, a or {}, b, point) end
    add("steps", { steps = exact:temporal_steps(einsum) },
      { steps = walked:temporal_steps(einsum) })
    add("compute", exact:compute(einsum), walked:compute(einsum))
    local a, b = buffets(exact, einsum), buffets(walked, einsum)
    for name, buffet in pairs(b) do add(name, a[name], buffet) end
    for name in pairs(a) do
      if not b[name] then list[#list + 1] = { where = name, field = "buffet" } end
    end
    local fa, fb = exact:fanout(einsum), walked:fanout(einsum)
    for i, f in ipairs(fb) do add("fanout " .. f.dim, fa[i], f) end
    local la, lb = exact:first_latency(einsum), walked:first_latency(einsum)
    for i, f in ipairs(lb) do add("first latency", la[i], f) end
  end
  table.sort(list, function(x, y)
    if x.field ~= y.field then return x.field < y.field end
    return x.where < y.where
  end)
  return list
end

return random_nests
