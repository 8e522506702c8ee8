-- SPDX-License-Identifier: MIT
-- The machine of a kernel: its memories below the top one, what each of them may hold, and what the
-- sets of an architecture mean for the tensors of the kernel.

local einsums = require "einloom.kernels.einsums"
local errors = require "einloom.errors"
local points = require "einloom.points"
local sets = require "einloom.sets"

local machine = {}

--- Raises an error object where no kernel runs on the machine as a whole.
---@param arch einloom.Arch
function machine.check(arch)
  if not require "einloom.arch".is(arch) then
    errors.raise("bad_argument", "a kernel is mapped on a machine: loom.arch { ... } expected")
  end
  for _, component in ipairs(arch.nodes) do
    if component.class == "Fork" then
      errors.raise("no_mapping", "the machine has a fork: a kernel runs on one compute unit")
    end
  end
  if arch.nodes[1].class ~= "Memory" then
    errors.raise("no_mapping", ("the machine begins with %s, which is no memory"):format(
      arch.nodes[1].name))
  end
end

--- Whether a component may hold a tensor, by its keep and may_keep.
---@param component einloom.Component
---@param context einloom.SetContext
---@return fun(tensor: string): boolean
function machine.permission(component, context)
  if not component.keep and not component.may_keep then return function() return true end end
  local allowed = {}
  for _, text in ipairs { component.keep or "Nothing", component.may_keep or "Nothing" } do
    for tensor in pairs(sets.evaluate(sets.parse(text), context)) do allowed[tensor] = true end
  end
  return function(tensor) return allowed[tensor] == true end
end

--- The memories below the top one, outermost first.
---@param arch einloom.Arch
---@param context einloom.SetContext
---@param bits table<string, integer> of one value of each tensor, where a memory does not say
---@return einloom.KernelMemory[]
function machine.memories(arch, context, bits)
  local list = {}
  for i, component in ipairs(arch.nodes) do
    if i > 1 and component.class == "Memory" then
      local own, size = {}, component.size
      if component.bits_per_value then
        own = sets.resolve(component.bits_per_value, context, component.name)
      end
      list[#list + 1] = {
        name = component.name, may_hold = machine.permission(component, context),
        bits = function(tensor) return own[tensor] or bits[tensor] end,
        room = size ~= math.huge and points.exact(size) or nil,
      }
    end
  end
  return list
end

--- What sets of a machine mean for the tensors of a kernel.
---@param sections einloom.KernelSection[]
---@param external fun(tensor: string): boolean
---@return einloom.SetContext
function machine.context(sections, external)
  local all = {}
  for name in pairs(sets.names) do all[name] = {} end
  local context = { what = "the kernel", tensors = {}, known = {}, sets = all, above = {} }
  einsums.each_access(sections, function(access, output)
    local tensor, outside = access.tensor, external(access.tensor)
    if not all.All[tensor] then context.tensors[#context.tensors + 1] = tensor end
    all.Shared[tensor] = all.All[tensor]
    local role = not outside and "Intermediates" or output and "Outputs" or "Inputs"
    all.All[tensor], all[role][tensor] = true, true
    context.above[tensor] = outside or nil
  end)
  return context
end

return machine
