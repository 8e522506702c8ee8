-- SPDX-License-Identifier: MIT
-- Sets of tensors that depend on what is held above: in them `Above` is every tensor that a level
-- above holds, and the name of a level above the tensors that it holds. Tensors and sets of the
-- workload come before components of the same name.

local errors = require "einloom.errors"
local sets = require "einloom.sets"

local held = {}

---@class einloom.HeldScope
---@field context einloom.SetContext of an einsum
---@field components table<string, true> components that may be named
---@field order table<string, integer> positions on the way to a compute unit

---@alias einloom.HeldRule fun(chosen: table<string, table>, above: table): table<string, true>

--- What sets of an einsum can name on the way to a compute unit.
---@param context einloom.SetContext
---@param names string[] of all components
---@param way? string[] names of those on the way, outermost first
---@return einloom.HeldScope
function held.scope(context, names, way)
  local scope = { context = context, components = {}, order = {} }
  for i, name in ipairs(way or {}) do scope.order[name] = i end
  local taken = {}
  for _, tensor in ipairs(context.tensors) do taken[tensor] = true end
  for _, name in ipairs(names) do
    if not taken[name] and not context.sets[name] then scope.components[name] = true end
  end
  return scope
end

local function evaluate(scope, set, chosen, above)
  local named = {}
  for name, members in pairs(scope.context.sets) do named[name] = members end
  for name in pairs(scope.components) do named[name] = chosen[name] or {} end
  return sets.evaluate(set, setmetatable({ above = above, sets = named },
    { __index = scope.context }))
end

--- Raises unless a set of a component names what exists: tensors, sets and components.
---@param scope einloom.HeldScope
---@param text string
---@param path string
function held.check(scope, text, path) evaluate(scope, sets.parse(text, path), {}, {}) end

-- Whether a step of a set's code depends on levels of the way.
local function depends(scope, name)
  return name == "Above" or scope.components[name] and scope.order[name] ~= nil
end

--- What a set of the level at `index` of the way holds, as a function of what those above hold.
---@param scope einloom.HeldScope
---@param text string
---@param path string
---@param index integer
---@return einloom.HeldRule
function held.rule(scope, text, path, index)
  local set, open = sets.parse(text, path), false
  for _, step in ipairs(set.code) do
    local name = step.name
    if name and depends(scope, name) then
      open = true
      if name ~= "Above" and scope.order[name] >= index then
        errors.raise_at("bad_arch", set.source, step.position,
          ("%s is not above: what it holds is not known here"):format(name), { name = name })
      end
    end
  end
  if open then
    return function(chosen, above) return evaluate(scope, set, chosen, above) end
  end
  local members = evaluate(scope, set, {}, {})
  return function() return members end
end

--- A set as a text in which tensors stand as `describe` has them, so that einsums that differ in
--- names alone have the same.
---@param scope einloom.HeldScope
---@param text string
---@param path string
---@param describe fun(members: table<string, true>): string
---@return string
function held.signature(scope, text, path, describe)
  local parts = {}
  for i, step in ipairs(sets.parse(text, path).code) do
    local name = step.name
    if not name then
      parts[i] = step.op
    elseif depends(scope, name) then
      parts[i] = "@" .. name
    else
      parts[i] = "{" .. describe(evaluate(scope, sets.parse(name, path), {}, {})) .. "}"
    end
  end
  return table.concat(parts, " ")
end

return held
