-- SPDX-License-Identifier: MIT
-- Nodes of a graph from the texts of einsums, one after the other: what each reads and writes, over
-- which loops, of which kind, and which version of a tensor it means.

local accesses = require "einloom.kernels.accesses"
local body = require "einloom.kernels.body"
local einsum = require "einloom.einsum"
local errors = require "einloom.errors"
local kinds = require "einloom.kernels.kinds"
local shapes = require "einloom.kernels.shapes"

local nodes = {}

local KIND = "bad_graph"

-- A function that raises at a position of the einsum.
local function failing(parsed, start)
  return function(message, position, kind)
    errors.raise_at(kind or KIND, parsed.source, position or start, message)
  end
end

local function split_accesses(parsed)
  local reads, writes = {}, {}
  for _, access in ipairs(parsed.accesses) do
    local into = access.output and writes or reads
    into[#into + 1] = access
  end
  return reads, writes
end

-- Names of tensors are those of their current versions from here on.
local function note_tensors(state, parsed)
  for _, access in ipairs(parsed.accesses) do
    access.named = access.tensor
    access.tensor = not access.output and state.current[access.tensor] or access.tensor
    local tensor = state.tensors[access.tensor] or { name = access.tensor }
    state.tensors[access.tensor] = tensor
    if not tensor.place then
      state.order[#state.order + 1] = access.tensor
      tensor.place = #state.order
    end
  end
end

local function check_sizes(state, node, fail)
  for _, list in ipairs { node.pointwise, node.reduction } do
    for _, name in ipairs(list) do
      if not state.sizes[name] then
        fail(("the size of %s does not follow from a tensor: give sizes.%s"):format(name, name))
      end
    end
  end
end

-- Loop variables that are missing on the left, those that stand bare included; a set of all, and
-- all in order.
local function reduced_variables(state, parsed)
  local all, reduced = {}, table.move(parsed.reduced, 1, #parsed.reduced, 1, {})
  local list = table.move(parsed.variables, 1, #parsed.variables, 1, {})
  for _, name in ipairs(parsed.variables) do all[name] = true end
  for _, name in ipairs(body.bare_names(parsed.expression)) do
    if state.sizes[name] and not all[name] then
      all[name] = true
      reduced[#reduced + 1], list[#list + 1] = name, name
    end
  end
  return reduced, all, list
end

-- Kind, loops and expression of a node that updates a tensor, which is another version behind it.
local function read_update(state, node, parsed, reads, writes, fail)
  local write = writes[1]
  local tensor = accesses.new_version(state, write, fail)
  write.tensor = tensor.name
  shapes.infer(state, writes, fail)
  local _, _, loops = reduced_variables(state, parsed)
  local expression = kinds.update(node, parsed, reads, writes, loops, tensor.updates, fail)
  tensor.writer, state.current[tensor.base] = node, tensor.name
  return expression
end

local function read_kind(state, node, parsed, reads, writes, fail)
  if parsed.is_update then return read_update(state, node, parsed, reads, writes, fail) end
  return kinds.classify(node, parsed, reads, writes, (reduced_variables(state, parsed)), fail)
end

-- An update without a label is called like its tensor, with a number where that name is taken.
local function parse(state, entry)
  local parsed = einsum.parse(entry.text, entry.name, { size_of = state.size_of })
  local name, count = parsed.name, 1
  while parsed.is_update and not parsed.labelled and state.by_name[name] do
    count = count + 1
    name = parsed.name .. "_" .. count
  end
  parsed.name, state.by_name[name] = name, true
  return parsed
end

--- The node of a text, with its accesses as they are written and a function that raises at a place
--- of the text; the state takes up what it says of tensors and sizes.
---@param state table of given.read
---@param entry { name: string, text: string, start: integer }
---@return { node: einloom.GraphNode, reads: table[], writes: table[], fail: function }
function nodes.read(state, entry)
  local parsed = parse(state, entry)
  local fail = failing(parsed, entry.start)
  local node = { name = parsed.name, einsum = parsed }
  local reads, writes = split_accesses(parsed)
  note_tensors(state, parsed)
  shapes.infer(state, parsed.accesses, fail)
  local expression = read_kind(state, node, parsed, reads, writes, fail)
  check_sizes(state, node, fail)
  local _, loops = reduced_variables(state, parsed)
  local reading = {
    scalars = state.scalars, fail = fail, is_loop = function(name) return loops[name] end,
    size_of = state.size_of,
  }
  node.body = body.read(expression, reading)
  node.lazy = reading.lazy or false
  accesses.make_symbols(node, table.move(writes, 1, #writes, #reads + 1,
    table.move(reads, 1, #reads, 1, {})))
  if not node.updates then accesses.settle_outputs(state, node, writes, fail) end
  for _, access in ipairs(reads) do
    local list = state.reads[access.tensor] or {}
    state.reads[access.tensor] = list
    list[#list + 1] = { access = access, fail = fail }
  end
  return { node = node, reads = reads, writes = writes, fail = fail }
end

return nodes
