-- SPDX-License-Identifier: MIT
-- What methods of spaces and templates are given: clear mistakes are errors, not rules that are
-- broken.

local errors = require "einloom.errors"

local arguments = {}

local function shown(x)
  if type(x) == "string" then return ("'%s'"):format(x) end
  return x == nil and "nothing" or type(x) == "table" and "a table" or tostring(x)
end

local function refuse(path, expected, x)
  errors.raise("bad_argument", ("%s expected, got %s"):format(expected, shown(x)), { path = path })
end

--- An integer from 1 on, or nil.
---@param x any
---@param path string the method
---@param what string
function arguments.count(x, path, what)
  if x ~= nil and not (math.type(x) == "integer" and x >= 1) then
    refuse(path, what .. ": an integer of at least 1", x)
  end
end

--- A list.
---@param x any
---@param path string
---@param what string
function arguments.list(x, path, what)
  if type(x) ~= "table" then refuse(path, what, x) end
end

--- A generator of random numbers.
---@param x any
---@param path string
function arguments.rng(x, path)
  if type(x) ~= "table" or type(x.integer) ~= "function" or type(x.pick) ~= "function" then
    refuse(path, "random numbers as search.rng gives them", x)
  end
end

local function check_tiles(choice, name)
  for k, tile in pairs(choice.tiles) do
    if math.type(k) ~= "integer" or type(tile) ~= "number" or tile ~= tile then
      errors.raise("bad_candidate", ("the choice for %s: tile %s is %s, not a number"):format(
        name, tostring(k), shown(tile)))
    end
  end
end

--- The choice of a candidate for an einsum.
---@param space einloom.Space
---@param c any
---@param i integer
---@return einloom.Choice
function arguments.choice(space, c, i)
  local choices = type(c) == "table" and c.choices
  if type(choices) ~= "table" or #choices ~= #space.steps then
    errors.raise("bad_candidate", ("a candidate has `choices`, one for each of %d einsums"):format(
      #space.steps))
  end
  local choice, name = choices[i], space.steps[i].einsum
  if type(choice) ~= "table" or type(choice.tiles) ~= "table" then
    errors.raise("bad_candidate", ("the choice for %s has no `template` and `tiles`"):format(name))
  end
  if not space:list(i)[choice.template] then
    errors.raise("bad_candidate", ("%s has templates 1 to %d, not %s"):format(name,
      #space:list(i), tostring(choice.template)))
  end
  check_tiles(choice, name)
  return choice
end

--- A candidate.
---@param space einloom.Space
---@param c any
function arguments.candidate(space, c)
  for i in ipairs(space.steps) do arguments.choice(space, c, i) end
end

return arguments
