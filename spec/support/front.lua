-- SPDX-License-Identifier: MIT
-- What the specs of the text front ends share: catching error objects, and random mappings.

local errors = require "einloom.errors"

local front = {}

--- The error object that a call raises; fails if it raises none, or something else.
function front.raised(f, ...)
  local ok, e = pcall(f, ...)
  if ok then error("an error was expected", 2) end
  if not errors.is(e) then error("an error object was expected, got: " .. tostring(e), 2) end
  return e
end

--- Fails unless the text holds every one of the words, and none of the others.
function front.mentions(text, words, others)
  for _, word in ipairs(words) do
    if not text:find(word, 1, true) then
      error(("'%s' is not mentioned in:\n%s"):format(word, text), 2)
    end
  end
  for _, word in ipairs(others or {}) do
    if text:find(word, 1, true) then error(("'%s' is mentioned in:\n%s"):format(word, text), 2) end
  end
end

--- Seed of the random tests: SEED of the environment, or another one each time.
front.seed = tonumber(os.getenv "SEED") or os.time() % 1000000

local rng = {}
rng.__index = rng

--- A random number generator of its own (xorshift), so that specs in any order repeat by seed.
function front.random(seed)
  return setmetatable({ state = seed * 2654435761 + 88172645463325252 }, rng)
end

--- An integer from 1 to n.
function rng:to(n)
  local x = self.state
  x = x ~ (x << 13)
  x = x ~ (x >> 7)
  x = x ~ (x << 17)
  self.state = x
  return (x >> 1) % n + 1
end

function rng:pick(list) return list[self:to(#list)] end

local names = {
  "A", "B2", "T_1", "for", "par", "tile", "on", "branch", "first", "step", "keep",
  "retain", "recompute", "sequential", "toll", "a b",
  'quo"te', "back\\slash", "new\nline", "tab\t", "1st", "x.y", "-", "", "é",
}

local function name(r)
  local text
  repeat text = r:pick(names) until text ~= ""
  return text
end

local function tensors(r)
  local list = {}
  for i = 1, r:to(4) - 1 do list[i] = name(r) end
  return list
end

-- A first tile shape, or a step that is no larger than the tile, or neither.
local function more_shapes(r, t, shapes)
  if r:to(4) == 1 then
    t.initial_tile_shape = r:pick(shapes)
  elseif r:to(4) == 1 then
    t.step = r:to(2) == 1 and t.tile_shape or 1
  end
  return t
end

local function own_tiles(r, by_einsum, shapes)
  local tiles = {}
  for einsum in pairs(by_einsum) do
    local choice = r:to(4)
    if choice == 1 then
      tiles[#tiles + 1] = { einsum = einsum, overlap = r:pick { "keep", "recompute" } }
    elseif choice == 2 then
      local own = { einsum = einsum, tile_shape = r:pick(shapes) }
      tiles[#tiles + 1] = more_shapes(r, own, shapes)
    end
  end
  return tiles
end

local function loop(r, kind, shapes)
  local variable = r:to(4) > 1 and name(r) or { [name(r)] = name(r), [name(r)] = name(r) }
  local node = { node = kind, rank_variable = variable, tile_shape = r:pick(shapes) }
  more_shapes(r, node, shapes)
  if type(variable) == "table" then node.tiles = own_tiles(r, variable, shapes) end
  if kind == "spatial" then node.component, node.dim = name(r), name(r) end
  return node
end

local function holder(r, kind)
  local node = { node = kind, component = name(r), tensors = tensors(r), may_lower = r:to(3) > 1 }
  if kind == "storage" then
    node.persistent = r:to(3) == 1
    node.lifetime = r:pick { "retain", "scope", false } or nil
  end
  if kind == "custom" then node.kind = name(r) end
  return node
end

--- A random list of mapping nodes in the normal form, names and tile shapes of any kind.
function front.random_nodes(r, shapes, depth)
  local list = {}
  for i = 1, r:to(7) - 1 do
    local kind = r:pick { "storage", "toll", "custom", "temporal", "temporal", "spatial" }
    local is_loop = kind == "temporal" or kind == "spatial"
    list[i] = is_loop and loop(r, kind, shapes) or holder(r, kind)
  end
  if depth > 0 and r:to(3) > 1 then
    local branches = {}
    for i = 1, r:to(3) do branches[i] = front.random_nodes(r, shapes, depth - 1) end
    list[#list + 1] = { node = "sequential", branches = branches }
  elseif r:to(3) > 1 then
    list[#list + 1] = { node = "compute", component = name(r), einsum = r:to(2) == 1 and name(r)
      or nil }
  end
  return list
end

return front
