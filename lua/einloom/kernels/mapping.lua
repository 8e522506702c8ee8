-- SPDX-License-Identifier: MIT
-- A kernel as a workload and a mapping: its grid in blocks for each memory, outside, then its
-- sections with the loops over the reduction; what einsums hand to each other is held below the
-- memory at the top as far as there is room.

local blocks = require "einloom.kernels.blocks"
local core = require "einloom.core"
local einsums = require "einloom.kernels.einsums"
local errors = require "einloom.errors"
local holding = require "einloom.kernels.holding"
local machine = require "einloom.kernels.machine"
local mapping = require "einloom.mapping"
local wholes = require "einloom.kernels.wholes"
local workload = require "einloom.workload"

local skeleton = {}

local KIND = "bad_argument"

local one = core.int(1)

-- ---- nodes ---------------------------------------------------------------------------------

local function put(nodes, node) nodes[#nodes + 1] = node end

local function loop(nodes, state, name, block)
  if block:eq(state.tile[name]) == true then return end
  put(nodes, { node = "temporal", rank_variable = name, tile_shape = block })
  state.tile[name] = block
end

local function storage(nodes, component, tensors)
  if #tensors == 0 then return end
  put(nodes, { node = "storage", component = component, tensors = tensors })
end

-- How far an index reaches in the tile.
local function tile_extent(state, form)
  local extent = one
  for name, coefficient in pairs(form.terms) do
    extent = extent + math.abs(coefficient) * (state.tile[name] - 1)
  end
  return extent
end

-- Values in the tile of an access.
local function tile_values(state, access)
  local values = one
  for _, form in ipairs(access.indices) do values = values * tile_extent(state, form) end
  return values
end

-- Whether two accesses are known to reach equally far in each dimension.
local function same_extents(state, a, b)
  for d, form in ipairs(a.indices) do
    if tile_extent(state, form):eq(tile_extent(state, b.indices[d])) ~= true then return false end
  end
  return true
end

-- Values in the tiles of a tensor: one for each einsum that uses it.
local function tensor_values(state, tensor)
  local sum = core.int(0)
  for _, access in ipairs(state.accesses[tensor]) do sum = sum + tile_values(state, access) end
  return sum
end

-- The tensors of the top memory with the values of their tiles, small ones first.
local function by_size(state)
  local list = {}
  for i, tensor in ipairs(state.top) do
    local values = tensor_values(state, tensor)
    list[i] = { tensor = tensor, values = values, place = i,
      order = values:tonumber() or math.huge }
  end
  table.sort(list, function(a, b)
    if a.order ~= b.order then return a.order < b.order end
    return a.place < b.place
  end)
  return list
end

-- Whether a memory may hold the blocks of a tensor: not what is copied from the top to where it is
-- used, nor what it holds further in.
local function takes_blocks(state, memory, tensor)
  if state.copied[tensor] then return false end
  for _, one_hold in ipairs(state.holds) do
    if one_hold.tensor == tensor and one_hold.component == memory.name then return false end
  end
  return true
end

-- A memory: the blocks of the grid, then what of the top fits.
local function put_memory(nodes, state, memory)
  for _, variable in ipairs(state.grid) do
    loop(nodes, state, variable.name, blocks.of(state, memory.name, variable))
  end
  local tensors = {}
  for _, entry in ipairs(by_size(state)) do
    if takes_blocks(state, memory, entry.tensor)
      and holding.take(memory, entry.tensor, entry.values) then
      tensors[#tensors + 1] = entry.tensor
    end
  end
  storage(nodes, memory.name, tensors)
end

local function put_toll(nodes, state, component)
  local may_pass, tensors = machine.permission(component, state.context), {}
  for _, tensor in ipairs(state.top) do
    if may_pass(tensor) then tensors[#tensors + 1] = tensor end
  end
  if #tensors > 0 then
    put(nodes, { node = "toll", component = component.name, tensors = tensors })
  end
end

local function put_parallel(nodes, state, component)
  for _, entry in ipairs(blocks.parallel(state, component)) do
    local dim, name, tile = table.unpack(entry)
    if tile:eq(state.tile[name]) ~= true then
      put(nodes, { node = "spatial", rank_variable = name, tile_shape = tile,
        component = component.name, dim = dim })
      state.tile[name] = tile
    end
  end
end

local function put_machine(nodes, state)
  local below = 0
  for i, component in ipairs(state.arch.nodes) do
    put_parallel(nodes, state, component)
    if i > 1 and component.class == "Memory" then
      below = below + 1
      put_memory(nodes, state, state.memories[below])
    elseif component.class == "Toll" then
      put_toll(nodes, state, component)
    end
  end
  for _, variable in ipairs(state.grid) do loop(nodes, state, variable.name, one) end
end

-- ---- sections ------------------------------------------------------------------------------

local function has(item, name)
  for _, list in ipairs { item.outputs, item.inputs } do
    for _, access in ipairs(list) do
      for _, form in ipairs(access.indices) do
        if form.terms[name] then return true end
      end
    end
  end
  return false
end

local function section_loops(nodes, state, section)
  for _, variable in ipairs(section.inside and state.reduced or {}) do
    local used = false
    for _, item in ipairs(section.items) do used = used or has(item, variable.name) end
    if used and variable.size:eq(one) ~= true then
      put(nodes, { node = "temporal", rank_variable = variable.name, tile_shape = one })
    end
  end
end

-- What is held in a section, or around all of them.
local function put_holds(nodes, state, section)
  for _, memory in ipairs(state.memories) do
    local tensors = {}
    for _, one_hold in ipairs(state.holds) do
      if one_hold.section == section and one_hold.component == memory.name then
        tensors[#tensors + 1] = one_hold.tensor
      end
    end
    storage(nodes, memory.name, tensors)
  end
end

local function split(nodes, branches)
  if #branches == 1 then return table.move(branches[1], 1, #branches[1], #nodes + 1, nodes) end
  put(nodes, { node = "sequential", branches = branches })
end

local function section_nodes(state, section, number)
  local nodes, branches = {}, {}
  section_loops(nodes, state, section)
  put_holds(nodes, state, number)
  for i, item in ipairs(section.items) do
    branches[i] = { { node = "compute", component = state.unit, einsum = item.name } }
  end
  split(nodes, branches)
  return nodes
end

-- ---- all -----------------------------------------------------------------------------------

local function bits_of(graph)
  local bits = {}
  for _, buffer in ipairs(graph.core:buffers()) do bits[buffer.name] = 8 * buffer.itemsize end
  return bits
end

-- Tensors whose extents differ from einsum to einsum are used in part.
local function partial_of(state)
  local names = {}
  for _, tensor in ipairs(errors.keys(state.accesses)) do
    local list, differs = state.accesses[tensor], false
    for _, access in ipairs(list) do
      differs = differs or not same_extents(state, access, list[1])
    end
    if differs then names[#names + 1] = tensor end
  end
  return #names > 0 and table.concat(names, " | ") or nil
end

local function workload_of(state, sections, name)
  local used, definition = {}, { name = name, bits = {}, sizes = {} }
  for tensor in pairs(state.accesses) do definition.bits[tensor] = state.bits[tensor] end
  for _, section in ipairs(sections) do
    for _, item in ipairs(section.items) do
      definition[#definition + 1] = einsums.text(item)
      for _, variable in ipairs(state.variables) do
        used[variable.name] = used[variable.name] or has(item, variable.name)
      end
    end
  end
  for _, variable in ipairs(state.variables) do
    if used[variable.name] then definition.sizes[variable.name] = variable.size end
  end
  definition.partial = partial_of(state)
  return workload.new(definition)
end

-- Tensors that are not held from their making to their last use are those of the top memory.
local function list_tensors(state, sections)
  local held, seen = {}, {}
  for _, list in ipairs { state.holds, state.wholes } do
    for _, one_hold in ipairs(list) do held[one_hold.tensor] = true end
  end
  einsums.each_access(sections, function(access)
    local list = state.accesses[access.tensor] or {}
    state.accesses[access.tensor] = list
    list[#list + 1] = access
    local outside = not held[access.tensor] or state.external(access.tensor)
    if not seen[access.tensor] and outside then state.top[#state.top + 1] = access.tensor end
    seen[access.tensor] = true
  end)
  for _, section in ipairs(sections) do
    for _, item in ipairs(section.items) do
      if item.is_copy then state.copied[item.inputs[1].tensor] = true end
    end
  end
end

local function new_state(made, arch, variables)
  local state = {
    arch = arch, variables = variables, grid = {}, reduced = {}, tile = {}, symbols = {}, top = {},
    accesses = {}, copied = {}, bits = bits_of(made.graph),
    unit = arch.nodes[#arch.nodes].name,
  }
  for _, variable in ipairs(variables) do
    local into = variable.reduced and state.reduced or state.grid
    into[#into + 1] = variable
    state.tile[variable.name] = variable.size
  end
  function state.external(tensor)
    return made.graph.tensors[tensor] ~= nil and made:external(tensor)
  end
  return state
end

local function check_sizes(made, variables)
  for _, variable in ipairs(variables) do
    if variable.size:eq(0) == true then
      errors.raise("no_mapping", ("%s runs over %s, whose size is 0: there is nothing to map")
        :format(made.name, variable.name))
    end
  end
end

-- Where tensors are held whole: they are loaded first, one after the other.
local function put_wholes(nodes, state, rest)
  local branches = {}
  for _, memory in ipairs(state.memories) do
    local tensors = {}
    for _, whole in ipairs(state.wholes) do
      if whole.component == memory.name then tensors[#tensors + 1] = whole.tensor end
    end
    storage(nodes, memory.name, tensors)
  end
  for i, whole in ipairs(state.wholes) do
    branches[i] = {}
    for _, variable in ipairs(whole.variables) do loop(branches[i], state, variable.name, one) end
    put(branches[i], { node = "compute", component = state.unit, einsum = whole.item.name })
  end
  branches[#branches + 1] = rest
  split(nodes, branches)
end

-- What is held near the units, of the sections as they are then; and all sections, with the copies
-- before them.
local function hold(state, sections)
  local own, before, is_whole = state.variables, { inside = false, items = {} }, {}
  state.wholes = state.may_hold_whole and wholes.of(state, sections) or {}
  state.variables = table.move(own, 1, #own, 1, {})
  for i, whole in ipairs(state.wholes) do
    before.items[i], is_whole[whole.tensor] = whole.item, true
    for _, variable in ipairs(whole.variables) do
      state.variables[#state.variables + 1] = variable
      state.tile[variable.name] = variable.size
    end
  end
  local function external(tensor) return is_whole[tensor] or state.external(tensor) end
  sections, state.holds = holding.of(sections, own, { bits = state.bits, external = external },
    blocks.own_memories(state))
  return sections, table.move(sections, 1, #sections, 2, { before })
end

local function build(made, arch, options, may_hold_whole)
  machine.check(arch)
  local sections, variables = einsums.of(made)
  check_sizes(made, variables)
  blocks.check(options, arch, variables)
  local state = new_state(made, arch, variables)
  state.blocks, state.parallel = options.blocks, options.parallel or {}
  state.may_hold_whole = may_hold_whole
  state.context = machine.context(sections, state.external)
  state.memories = machine.memories(arch, state.context, state.bits)
  local kernel, all = hold(state, sections)
  list_tensors(state, all)
  local w, nodes, rest, branches = workload_of(state, all, made.name), {}, {}, {}
  storage(nodes, arch.nodes[1].name, state.top)
  put_machine(rest, state)
  put_holds(rest, state, nil)
  for i, section in ipairs(kernel) do branches[i] = section_nodes(state, section, i) end
  split(rest, branches)
  put_wholes(nodes, state, rest)
  return w, mapping.new({ nodes = nodes }, { symbols = state.symbols })
end

local answers = { no_einsum = true, no_mapping = true, bad_workload = true, unknown_tensor = true }

--- A kernel as a workload and a mapping on a machine. blocks: by memory below the top one, then by
--- loop variable of the grid, how much of it the memory holds at a time; what is not named is not
--- cut there. Without blocks they are symbols, `VARIABLE_MEMORY`. parallel: by dimension of the
--- machine, "PE.x", the variable that runs over it.
---@param made einloom.Program
---@param arch einloom.Arch
---@param options? { blocks?: table<string, table<string, any>>, parallel?: table<string, string> }
---@return einloom.Workload?
---@return einloom.Mapping|string? mapping, or what has no form as einsums
---@return string? kind
function skeleton.of(made, arch, options)
  if (getmetatable(arch) or {}).__name ~= "einloom.arch" then
    errors.raise(KIND, ("kernel:mapping: an architecture (loom.arch) expected, got %s"):format(
      arch == nil and "nothing" or errors.printable(tostring(arch))))
  end
  options = options == nil and {} or options
  if type(options) ~= "table" then
    errors.raise(KIND, ("kernel:mapping: a table of options expected, got %s"):format(
      errors.printable(tostring(options))))
  end
  errors.check_keys(KIND, options, { blocks = true, parallel = true }, "options")
  local ok, w, m = pcall(build, made, arch, options, true)
  -- What is held whole may leave no room for what einsums cannot do without.
  if not ok and errors.is(w) and w.kind == "bad_workload" then
    ok, w, m = pcall(build, made, arch, options, false)
  end
  if ok then return w, m end
  if errors.is(w) and answers[w.kind] then
    return nil, (w.path and w.path .. ": " or "") .. w.message, w.kind
  end
  error(w, 0)
end

return skeleton
