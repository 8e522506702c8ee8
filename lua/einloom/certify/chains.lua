-- SPDX-License-Identifier: MIT
-- All choices of tiles for the loops of one variable of a template, as a tree by tile, outermost
-- loop first: what a proof branches on.  Nothing here is shared with the search.

local errors = require "einloom.errors"

local chains = {}

-- Quotients of tiles are off by less than this share.
local ROUNDING <const> = 1e-12

---@class einloom.CertifyLoop
---@field number integer of the loop in the template, from 1
---@field variable string
---@field dim? table the dimension of a spatial loop
---@field level? integer and the level it belongs to
---@field fused boolean

---@class einloom.Chains
---@field variable string
---@field size integer
---@field loops einloom.CertifyLoop[] of the variable, outermost first; the last one has tile 1
---@field rows integer[][] tiles of the loops but the last, in ascending order

--- The loops of each variable of a template, outermost first.
---@param template einloom.Template
---@return table<string, einloom.CertifyLoop[]>
function chains.loops(template)
  local lists, i = {}, 0
  for _, node in ipairs(template.nodes) do
    if node.variable then
      i = i + 1
      local list = lists[node.variable] or {}
      lists[node.variable] = list
      list[#list + 1] = {
        number = i, variable = node.variable, dim = node.dim, level = node.level,
        fused = node.fused,
      }
    end
  end
  return lists
end

-- Tiles that a loop may have around a loop of tile `inner`: of uneven ones with the same number of
-- trips the smallest, none smaller than coarseness times the one before, and the size.
local function candidates(size, inner, uneven, coarseness)
  local list, last = {}, nil
  for tile = inner, size, inner do
    local trips = -(-size // tile)
    local is_one = uneven and trips ~= last or not uneven and size % tile == 0
    if is_one and tile >= coarseness * (list[#list] or 0) then list[#list + 1] = tile end
    last = trips
  end
  if list[#list] ~= size then list[#list + 1] = size end
  return list
end

-- Whether a row leaves no part, or has a loop with several trips of a kind that may be why.
local function leaves_allowed(loops, row, size, kinds)
  local outer, divides, of_kind = size, true, false
  for j, loop in ipairs(loops) do
    local tile = row[j] or 1
    divides = divides and outer % tile == 0
    if tile < outer and kinds & (loop.dim and 2 or 1) ~= 0 then of_kind = true end
    outer = tile
  end
  return divides or of_kind
end

--- Instances of each dimension that a row uses, and how many of its loops are fused and run more
--- than once.
---@param loops einloom.CertifyLoop[]
---@param row integer[]
---@param size integer
---@return table<table, number> used by dimension, fractions where tiles do not divide
---@return integer fused
---@return boolean once no level has the variable in two dimensions
function chains.use(loops, row, size)
  local used, fused, dims, once, outer = {}, 0, {}, true, size
  for j, loop in ipairs(loops) do
    local tile = row[j] or 1
    if tile < outer then
      if loop.fused then fused = fused + 1 end
      if loop.dim then
        local n = outer % tile == 0 and outer // tile or outer / tile
        used[loop.dim] = (used[loop.dim] or 1) * n
        once = once and (dims[loop.level] or loop.dim) == loop.dim
        dims[loop.level] = loop.dim
      end
    end
    outer = tile
  end
  return used, fused, once
end

local function allowed(loops, row, size, options)
  local used, fused, once = chains.use(loops, row, size)
  for dim, n in pairs(used) do
    if n > dim.count * (1 + ROUNDING) then return false end
  end
  return (once or not options.one_spatial_dim_per_variable)
    and fused <= math.min(options.max_fused_loops, options.max_fused_loops_per_rank_variable)
end

local function compare(a, b)
  for j = 1, #a do
    if a[j] ~= b[j] then return a[j] < b[j] end
  end
  return false
end

-- Every choice for the loops of a variable within the limits of single variables, ascending; kinds:
-- those of loops because of which a part may be left, false where none may.
local function rows_for(loops, size, kinds, options)
  local list, row = {}, {}
  local uneven = kinds ~= false
  local function choose(j, inner)
    if j == 0 then
      if not allowed(loops, row, size, options) then return end
      if uneven and not leaves_allowed(loops, row, size, kinds) then return end
      list[#list + 1] = table.move(row, 1, #row, 1, {})
      return
    end
    for _, tile in ipairs(candidates(size, inner, uneven, options.tiling_coarseness)) do
      row[j] = tile
      choose(j - 1, tile)
    end
  end
  for j = 1, #loops - 1 do row[j] = 1 end
  choose(#loops - 1, 1)
  table.sort(list, compare)
  return list
end

--- The tiles of each loop but the last in all rows.
---@param list einloom.Chains
---@return integer[][]
function chains.columns(list)
  if not list.rows.columns then
    local columns = {}
    for j = 1, #list.loops - 1 do
      columns[j] = {}
      for i, row in ipairs(list.rows) do columns[j][i] = row[j] end
    end
    list.rows.columns = columns
  end
  return list.rows.columns
end

--- The trips of the j-th loop in all rows.
---@param list einloom.Chains
---@param j integer
---@return integer[]
function chains.trips(list, j)
  local trips = {}
  for i, row in ipairs(list.rows) do
    local outer, tile = row[j - 1] or list.size, row[j] or 1
    trips[i] = -(-outer // tile)
  end
  return trips
end

-- What the choices for a variable depend on.
local function pattern(v, loops)
  local parts = { v }
  for j, loop in ipairs(loops) do
    parts[j + 1] = ("%s %s"):format(loop.fused and "fused" or "own",
      loop.dim and ("%d.%s"):format(loop.level, loop.dim.name) or "")
  end
  return table.concat(parts, ";")
end

-- Rows by way and pattern: templates have few different ones.
local rows_of = setmetatable({}, { __mode = "k" })

--- The choices for every variable of an einsum on its way.
---@param way einloom.SearchWay
---@param loops table<string, einloom.CertifyLoop[]>
---@param options table of the space
---@return table<string, einloom.Chains> by variable
function chains.lists(way, loops, options)
  local lists, known = {}, rows_of[way] or {}
  rows_of[way] = known
  for i, v in ipairs(way.variables) do
    if not loops[v] then errors.raise("bound", ("a template has no loop of %s"):format(v)) end
    local key, size = pattern(v, loops[v]), way.sizes[v]
    if not known[key] then
      known[key] = rows_for(loops[v], size, way.uneven and way.uneven[i] or false, options)
    end
    if #known[key] == 0 then
      errors.raise("bound", ("no tiles of %s are within the limits"):format(v))
    end
    lists[v] = { variable = v, size = size, loops = loops[v], rows = known[key] }
  end
  return lists
end

---@class einloom.ChainNode
---@field tile? integer of the loop that was chosen last
---@field children? einloom.ChainNode[] by the tile of the next loop, ascending; nil: all are chosen
---@field least number[] least value of each function over the choices below
---@field most number[] largest value
---@field up? einloom.ChainNode the choice before
---@field spans? boolean several choices as one

local function leaf(values, i)
  local least = {}
  for k = 1, #values do least[k] = values[k][i] end
  return { least = least, most = least }
end

local function join(node, child)
  for k, x in ipairs(child.least) do
    if x < node.least[k] then node.least[k] = x end
  end
  for k, x in ipairs(child.most) do
    if x > node.most[k] then node.most[k] = x end
  end
end

--- Neighbouring choices of one loop as one node, of which the inner loops are all open.
---@param children einloom.ChainNode[]
---@param first integer
---@param last integer
---@return einloom.ChainNode
function chains.span(children, first, last)
  if first == last then return children[first] end
  local from = children[first]
  local node = {
    least = table.move(from.least, 1, #from.least, 1, {}),
    most = table.move(from.most, 1, #from.most, 1, {}), spans = true,
  }
  for i = first + 1, last do join(node, children[i]) end
  return node
end

--- The choices as a tree with the extremes of functions, each given by its values in all rows.
---@param list einloom.Chains
---@param values number[][] by function
---@return einloom.ChainNode
function chains.tree(list, values)
  local rows, depth = list.rows, #list.loops - 1
  local function build(j, first, last)
    if j > depth then return leaf(values, first) end
    local node = { children = {} }
    local from = first
    for i = first, last do
      if i == last or rows[i + 1][j] ~= rows[i][j] then
        local child = build(j + 1, from, i)
        child.tile, child.up = rows[i][j], node
        node.children[#node.children + 1] = child
        from = i + 1
      end
    end
    local all = chains.span(node.children, 1, #node.children)
    node.least, node.most = all.least, all.most
    return node
  end
  return build(1, 1, #rows)
end

return chains
