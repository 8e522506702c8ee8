-- SPDX-License-Identifier: MIT
-- Random workloads of one einsum, machines and mappings, small enough to be walked: any index,
-- uneven tiles, first tiles, overlapping tiles, parallel loops, holders anywhere, both lifetimes,
-- networks.  A case is a plain table, so that it can be made smaller, printed and made again.

local core = require "einloom.core"

local random_nests = {}

---@class einloom.RandomCase
---@field sizes table<string, integer>
---@field variables string[]
---@field tensors { name: string, output: boolean, indices: string[] }[] the output first
---@field network table<string, { multicast: boolean, adder_tree: boolean }> by dimension
---@field nodes table[] loops and holders, outermost first
---@field options table

local dims = { "Reg.X", "Reg.Y", "PE.X" }

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
local function add_missing(tensors, variables)
  local text = {}
  for _, t in ipairs(tensors) do text[#text + 1] = table.concat(t.indices, " ") end
  text = table.concat(text, " ")
  local missing = {}
  for _, v in ipairs(variables) do
    if not text:find(v, 1, true) then missing[#missing + 1] = v end
  end
  if #missing > 0 then
    tensors[#tensors + 1] = { name = "M", output = false, indices = missing }
  end
end

local function add_workload(r, case, hardness)
  local most = ({ 9, 7, 5 })[r:to(3)]
  local points = 1
  for i = 1, r:pick { 1, 2, 2, 3, 3, 3, 4 } do
    local v = ("pqrs"):sub(i, i)
    local size = math.min(r:to(most), math.max(1, 400 // points))
    points = points * size
    case.variables[i], case.sizes[v] = v, size
  end
  for i = 1, r:pick { 2, 2, 3 } do
    case.tensors[i] = { name = ("OAB"):sub(i, i), output = i == 1,
      indices = ranks(r, case.variables, i == 1 and hardness == 3 and not chance(r, 3) and 2
        or hardness) }
  end
  add_missing(case.tensors, case.variables)
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
  case.nodes = merge(r, chains)
  for _, t in ipairs(case.tensors) do add_holders(r, case.nodes, t.name, limits) end
end

--- A random case.
---@param r table front.random
---@param limits? { hardness: integer?, even: boolean?, lifetime: string?, usual: boolean? } of
--- indices (1 variables, 2 sums, 3 any) and tiles; one lifetime; the usual conventions alone
---@return einloom.RandomCase
function random_nests.case(r, limits)
  limits = limits or {}
  local case = { sizes = {}, variables = {}, tensors = {}, network = {}, options = {}, spatial = 0 }
  add_workload(r, case, limits.hardness or r:pick { 1, 2, 2, 3 })
  add_mapping(r, case, limits)
  for _, dim in ipairs(dims) do
    case.network[dim] = { multicast = not chance(r, 3), adder_tree = not chance(r, 3) }
  end
  case.options.lifetime = limits.lifetime or chance(r, 2) and "retain" or nil
  if limits.usual then return case end
  if chance(r, 4) then case.options.drain_reads = false end
  if chance(r, 4) then case.options.partial_sums = "one_unit" end
  return case
end

-- ---- as text and as objects ----

local function einsum_text(case)
  local left, right = nil, {}
  for _, t in ipairs(case.tensors) do
    local text = ("%s[%s]"):format(t.name, table.concat(t.indices, ", "))
    if t.output then left = text else right[#right + 1] = text end
  end
  return left .. " = " .. table.concat(right, " * ")
end

local function loop_text(node, shape)
  local text = ("%s %s tile %s"):format(node.dim and "par" or "for", node.variable,
    shape(node.tile))
  if node.first then text = text .. " first " .. shape(node.first) end
  if node.step then text = text .. " step " .. shape(node.step) end
  return node.dim and text .. " on " .. node.dim or text
end

local function holder_text(node)
  local flag = node.retain and " (retain)" or node.scope and " (scope)" or ""
  return ("%s%s: %s%s"):format(node.level == "Bus" and "toll " or "", node.level, node.tensor, flag)
end

--- The mapping as text; `shape` writes a tile.
---@param case einloom.RandomCase
---@param shape? fun(tile: integer): string
---@return string
function random_nests.mapping_text(case, shape)
  local lines, depth = {}, 0
  for _, node in ipairs(case.nodes) do
    local text = node.variable and loop_text(node, shape or tostring) or holder_text(node)
    lines[#lines + 1] = (" "):rep(depth) .. text
    if node.variable then depth = depth + 1 end
  end
  lines[#lines + 1] = (" "):rep(depth) .. "MAC"
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

--- A Lua chunk that returns the workload, the architecture, the mapping and the options of a case.
---@param case einloom.RandomCase
---@param shape? fun(tile: integer): string
---@return string
function random_nests.source(case, shape)
  local function dim(name)
    return ("{ 99, %s }"):format(list_text(case.network[name], { "multicast", "adder_tree" }))
  end
  return ([=[
local loom = require "einloom"
local w = loom.workload { sizes = { %s }, bits = 1, "%s" }
local a = loom.arch {
  loom.memory { "Main", size = math.huge }, loom.toll { "Bus" },
  loom.memory { "Glb", size = math.huge },
  loom.memory { "Reg", size = math.huge, spatial = { X = %s, Y = %s } },
  loom.fanout { "PE", X = %s }, loom.compute { "MAC" },
}
local m = loom.mapping [[
%s
]]
return w, a, m, { %s }
]=]):format(list_text(case.sizes, case.variables), einsum_text(case), dim "Reg.X", dim "Reg.Y",
    dim "PE.X", random_nests.mapping_text(case, shape),
    list_text(case.options, { "lifetime", "drain_reads", "partial_sums" }))
end

--- The objects of a case.
---@param case einloom.RandomCase
---@param shape? fun(tile: integer): string
function random_nests.make(case, shape)
  return assert(load(random_nests.source(case, shape)))()
end

-- ---- smaller cases ----

local function copy(x)
  if type(x) ~= "table" then return x end
  local result = {}
  for key, value in pairs(x) do result[key] = copy(value) end
  return result
end

-- Calls try with changes of the case, each a function that changes a copy, or returns false where
-- it does not apply.
local function each_change(case, try)
  for i = #case.nodes, 1, -1 do
    try(function(c) table.remove(c.nodes, i) end)
    for _, key in ipairs { "first", "step", "retain", "scope", "dim" } do
      try(function(c)
        if c.nodes[i][key] == nil then return false end
        c.nodes[i][key] = nil
      end)
    end
    try(function(c)
      local node = c.nodes[i]
      if not node.variable or node.tile <= 1 then return false end
      node.tile = node.tile - 1
    end)
  end
  for i = #case.tensors, 2, -1 do
    try(function(c)
      local name = table.remove(c.tensors, i).name
      for k = #c.nodes, 1, -1 do
        if c.nodes[k].tensor == name then table.remove(c.nodes, k) end
      end
    end)
  end
  for i, t in ipairs(case.tensors) do
    for k = #t.indices, 1, -1 do
      try(function(c) table.remove(c.tensors[i].indices, k) end)
      for _, v in ipairs(case.variables) do
        try(function(c)
          if #c.tensors[i].indices[k] <= #v then return false end
          c.tensors[i].indices[k] = v
        end)
      end
      for _, pair in ipairs { { "[+-]%d+$", "" }, { " *[/%%]+ %d.*$", "" }, { "%d%*", "" } } do
        try(function(c)
          local text = c.tensors[i].indices[k]:gsub(pair[1], pair[2], 1)
          if text == c.tensors[i].indices[k] then return false end
          c.tensors[i].indices[k] = text
        end)
      end
    end
  end
  for _, v in ipairs(case.variables) do
    try(function(c)
      if c.sizes[v] == 1 then return false end
      c.sizes[v] = c.sizes[v] - 1
    end)
    try(function(c)
      for k = #c.variables, 1, -1 do
        if c.variables[k] == v then table.remove(c.variables, k) end
      end
      c.sizes[v] = nil
      for k = #c.nodes, 1, -1 do
        if c.nodes[k].variable == v then table.remove(c.nodes, k) end
      end
    end)
  end
  for _, key in ipairs { "lifetime", "drain_reads", "partial_sums" } do
    try(function(c)
      if c.options[key] == nil then return false end
      c.options[key] = nil
    end)
  end
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

local function number(x)
  return core.is_expr(x) and x or x == nil and "absent" or x
end

local function compare(list, where, a, b)
  for key, x in pairs(b) do
    if number(a[key]) ~= number(x) then
      list[#list + 1] = { where = where, field = key, exact = a[key], walked = x }
    end
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

--- Where two results of the core differ, field by field.
---@param exact userdata
---@param walked userdata
---@return { where: string, field: string, exact: any, walked: any }[]
function random_nests.differences(exact, walked)
  local list = {}
  for _, einsum in ipairs(walked:einsums()) do
    compare(list, einsum, { steps = exact:temporal_steps(einsum) },
      { steps = walked:temporal_steps(einsum) })
    compare(list, einsum .. ".compute", exact:compute(einsum), walked:compute(einsum))
    local a, b = buffets(exact, einsum), buffets(walked, einsum)
    for name, buffet in pairs(b) do compare(list, name, a[name] or {}, buffet) end
    for name in pairs(a) do
      if not b[name] then list[#list + 1] = { where = name, field = "buffet" } end
    end
    local fa, fb = exact:fanout(einsum), walked:fanout(einsum)
    for i, f in ipairs(fb) do compare(list, "fanout " .. f.dim, fa[i] or {}, f) end
    local la, lb = exact:first_latency(einsum), walked:first_latency(einsum)
    for i, f in ipairs(lb) do compare(list, "first latency", la[i] or {}, f) end
  end
  table.sort(list, function(x, y)
    if x.field ~= y.field then return x.field < y.field end
    return x.where < y.where
  end)
  return list
end

return random_nests
