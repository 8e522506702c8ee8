-- SPDX-License-Identifier: MIT
-- A kernel as einsums of a workload, section by section: loops that share a range of the kernel are
-- one variable, and what a node computes is a product of what it reads.  Refuses, with the name of
-- the node, what has no such form.

local affine = require "einloom.affine"
local core = require "einloom.core"
local errors = require "einloom.errors"
local shapes = require "einloom.kernels.shapes"

local einsums = {}

local KIND = "no_einsum"

local function refuse(message, ...) errors.raise(KIND, message:format(...)) end

---@class einloom.KernelVariable
---@field name string in the workload
---@field size einloom.Expr
---@field reduced boolean it is a loop over the reduction

---@class einloom.ItemAccess
---@field tensor string
---@field indices einloom.Affine[] in the variables of the workload
---@field text string of the indices

---@class einloom.KernelItem an einsum of the kernel, or a copy of a tensor
---@field name string
---@field is_copy boolean
---@field reduces boolean it reduces over loops of its section
---@field outputs einloom.ItemAccess[]
---@field inputs einloom.ItemAccess[]

---@class einloom.KernelSection
---@field inside boolean in a loop over the reduction
---@field items einloom.KernelItem[]

-- ---- variables -----------------------------------------------------------------------------

-- The kernel's entries by name, with their tree.
local function entries_of(made)
  local found = {}
  for _, trees in ipairs { made.grid, made.reduction } do
    for t, tree in ipairs(trees) do
      for _, entry in ipairs(tree.variables) do
        found[entry.name] = { entry = entry, tree = t, reduced = trees == made.reduction }
      end
    end
  end
  return found
end

-- The entry that a loop of a node is; nil for a loop of one point.
local function entry_of(state, node, name, value)
  if value:eq(0) == true then return nil end
  local found = value:kind() == "sym" and state.entries[value:name()]
  if not found then
    refuse("%s runs over %s as %s, which is not one variable of the kernel", node.name, name,
      tostring(value))
  end
  return found
end

-- Each entry that is used is a variable of the workload, called as the first node that has it does.
local function variable_of(state, found, name)
  if found.variable then return found.variable end
  local own = name
  while state.sizes[own] do own = own .. "_" .. found.entry.name end
  found.variable = { name = own, size = found.entry.length, reduced = found.reduced }
  state.sizes[own] = found.variable.size
  state.used[#state.used + 1] = found
  return found.variable
end

-- The used entries of one tree, innermost first: each begins where the one inside it ends.
local function digits_of(state, reduced, tree)
  local left, chain, divisor = {}, {}, core.int(1)
  for _, found in ipairs(state.used) do
    if found.reduced == reduced and found.tree == tree then left[#left + 1] = found end
  end
  while #left > 0 do
    local place
    for i, found in ipairs(left) do
      if found.entry.divisor:eq(divisor) == true then place = place or i end
    end
    if not place then
      refuse("the loop over %s shares a range of the kernel with others, but is no digit of it",
        left[1].variable.name)
    end
    local found = table.remove(left, place)
    chain[#chain + 1] = found.variable
    divisor = divisor * found.entry.length
  end
  return chain
end

-- The variables, outermost first, those over the reduction last.
local function ordered(state, made)
  local variables = {}
  for _, trees in ipairs { made.grid, made.reduction } do
    for t in ipairs(trees) do
      local chain = digits_of(state, trees == made.reduction, t)
      for i = #chain, 1, -1 do variables[#variables + 1] = chain[i] end
    end
  end
  return variables
end

-- What the loop variables of a node are called in the workload.
local function names_of(state, statement)
  local node, names = statement.node, {}
  for _, list in ipairs { node.pointwise, node.reduction } do
    for _, name in ipairs(list) do
      local found = entry_of(state, node, name, statement.loops[name])
      if found then names[name] = variable_of(state, found, name).name end
    end
  end
  return names
end

-- ---- accesses ------------------------------------------------------------------------------

-- An index in the variables of the workload.
local function index_of(node, access, index, names)
  if not index.affine then
    refuse("%s uses %s at %s: // and %% in an index have no form in a mapping", node.name,
      access.tensor, index.text)
  end
  local form = { constant = index.affine.constant, names = {}, terms = {} }
  for _, name in ipairs(index.affine.names) do
    if name:sub(1, 1) == "$" then
      refuse("%s reads %s at an index that is loaded", node.name, access.tensor)
    end
    local own = names[name]
    if own and not form.terms[own] then form.names[#form.names + 1] = own end
    if own then form.terms[own] = (form.terms[own] or 0) + index.affine.terms[name] end
  end
  return form
end

--- An access at these indices.
---@param tensor string
---@param indices einloom.Affine[]
---@return einloom.ItemAccess
function einsums.access(tensor, indices)
  local parts = {}
  for d, form in ipairs(indices) do parts[d] = affine.text(form) end
  return { tensor = tensor, indices = indices, text = table.concat(parts, ", ") }
end

local function access_of(node, access, names)
  local indices = {}
  for d, index in ipairs(access.indices) do indices[d] = index_of(node, access, index, names) end
  return einsums.access(access.tensor, indices)
end

-- Reads beyond a tensor, which a select leaves out.
local function check_reach(graph, node)
  for _, read in ipairs(node.lazy and node.einsum.accesses or {}) do
    for d, index in ipairs(read.output and {} or read.indices) do
      local low, high = shapes.reach(index, graph.sizes)
      local size = graph.tensors[read.tensor].sizes[d]
      if low and (low:lt(0) == true or size:le(high) == true) then
        refuse("%s reads %s from %s to %s and uses a part of it alone", node.name, read.tensor,
          tostring(low), tostring(high))
      end
    end
  end
end

-- A variable that is reduced is an index of an input, or a workload has nothing to reduce.
local function check_reduced(node, item, names)
  for _, name in ipairs(node.reduction) do
    local found = not names[name]
    for _, access in ipairs(item.inputs) do
      for _, form in ipairs(access.indices) do found = found or form.terms[names[name]] ~= nil end
    end
    if not found then
      refuse("%s reduces over %s, which is no index of what it reads", node.name, name)
    end
  end
end

local function item_of(state, statement)
  local node = statement.node
  if node.kind == "scan" then refuse("%s is a scan", node.name) end
  if node.updates then refuse("%s updates a tensor in place", node.name) end
  check_reach(state.graph, node)
  local names = names_of(state, statement)
  local item = { name = node.name, is_copy = false, reduces = #node.reduction > 0,
    outputs = {}, inputs = {} }
  local seen = {}
  for _, access in ipairs(node.einsum.accesses) do
    local into, own = access.output and item.outputs or item.inputs, access_of(node, access, names)
    local key = own.tensor .. "[" .. own.text .. "]"
    if not seen[key] then into[#into + 1] = own end
    seen[key] = true
  end
  check_reduced(node, item, names)
  return item
end

--- The einsums of a kernel, section by section, and its variables, outermost first; raises an error
--- object where there are none.
---@param made einloom.Program
---@return einloom.KernelSection[]
---@return einloom.KernelVariable[]
function einsums.of(made)
  if #made.sections == 0 then refuse("%s is a call: it has no loops", made.call.name) end
  if not made.sections[1].statements[1].node.einsum then
    refuse("%s: the operations of a case have loops, but no einsums", made.name)
  end
  local state = { graph = made.graph, entries = entries_of(made), used = {}, sizes = {} }
  local sections = {}
  for i, section in ipairs(made.sections) do
    local items = {}
    for k, statement in ipairs(section.statements) do items[k] = item_of(state, statement) end
    sections[i] = { inside = section.inside and not section.single, items = items }
  end
  return sections, ordered(state, made)
end

--- Calls visit with every access of the sections, and whether it is written.
---@param sections einloom.KernelSection[]
---@param visit fun(access: einloom.ItemAccess, output: boolean)
function einsums.each_access(sections, visit)
  for _, section in ipairs(sections) do
    for _, item in ipairs(section.items) do
      for _, access in ipairs(item.inputs) do visit(access, false) end
      for _, access in ipairs(item.outputs) do visit(access, true) end
    end
  end
end

-- ---- copies --------------------------------------------------------------------------------

--- The names of tensors and items that are taken.
---@param sections einloom.KernelSection[]
---@return table<string, true>
function einsums.names(sections)
  local taken = {}
  for _, section in ipairs(sections) do
    for _, item in ipairs(section.items) do taken[item.name] = true end
  end
  einsums.each_access(sections, function(access) taken[access.tensor] = true end)
  return taken
end

--- A name that is not taken yet, and is from now on.
---@param taken table<string, true>
---@param name string
---@return string
function einsums.fresh(taken, name)
  while taken[name] do name = name .. "_" end
  taken[name] = true
  return name
end

--- A copy between two accesses.
---@param name string
---@param from einloom.ItemAccess
---@param to einloom.ItemAccess
---@return einloom.KernelItem
function einsums.copy(name, from, to)
  return { name = name, is_copy = true, reduces = false, inputs = { from }, outputs = { to } }
end

-- ---- workloads -----------------------------------------------------------------------------

local function list_text(accesses, between)
  local parts = {}
  for i, access in ipairs(accesses) do parts[i] = ("%s[%s]"):format(access.tensor, access.text) end
  return #parts > 0 and table.concat(parts, between) or "0"
end

--- The text of an einsum.
---@param item einloom.KernelItem
---@return string
function einsums.text(item)
  return ("%s: %s%s = %s"):format(item.name, item.is_copy and "copy " or "",
    list_text(item.outputs, ", "), list_text(item.inputs, " * "))
end

return einsums
