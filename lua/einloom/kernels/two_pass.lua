-- SPDX-License-Identifier: MIT
-- Reductions with several results in two passes over their values: the mean and the sum of squared
-- deviations, the maximum and the sum of exponentials relative to it. Each is a list of operations
-- on what others gave; those inside the reduction loop run once for each value.

local two_pass = {}

---@class einloom.PassStep
---@field operation string reduce:OP, extent (the number of values), or what is done to each value
---@field inside boolean inside a loop over the values
---@field args? (integer|"value")[] the steps whose results it takes; "value": a value given

-- The results are those of the last-named steps.
local programs = {
  mean_m2 = {
    { operation = "reduce:sum", inside = true, args = { "value" } },
    { operation = "extent", inside = false, args = {} },
    { operation = "divide", inside = false, args = { 1, 2 } },
    { operation = "subtract", inside = true, args = { "value", 3 } },
    { operation = "multiply", inside = true, args = { 4, 4 } },
    { operation = "reduce:sum", inside = true, args = { 5 } },
    results = { 3, 6, 2 },
  },
  max_expsum = {
    { operation = "reduce:max", inside = true, args = { "value" } },
    { operation = "subtract", inside = true, args = { "value", 1 } },
    { operation = "exp", inside = true, args = { 2 } },
    { operation = "reduce:sum", inside = true, args = { 3 } },
    results = { 1, 4 },
  },
}

--- The operations of a reduction in two passes, nil for others.
--- The mean of one value needs no loop: its sum stands outside.
---@param op string mean_m2 or max_expsum
---@param extent? integer number of values, where it is known
---@return einloom.PassStep[]? steps
---@return integer[]? results steps that give the results, in order
function two_pass.steps(op, extent)
  local program = programs[op]
  if not program then return nil end
  local steps = {}
  for i, step in ipairs(program) do
    local inside = step.inside and not (op == "mean_m2" and i == 1 and extent == 1)
    steps[i] = { operation = step.operation, inside = inside, args = step.args }
  end
  return steps, program.results
end

local reductions = {
  sum = { start = 0.0, step = function(a, b) return a + b end },
  max = { start = -math.huge, step = math.max },
}

local operations = {
  divide = function(a, b) return a / b end,
  subtract = function(a, b) return a - b end,
  multiply = function(a, b) return a * b end,
  exp = math.exp,
}

-- What argument `arg` is at value i: a list where a step gave one result for each value.
local function at(done, arg, data, i)
  local value = arg == "value" and data or done[arg]
  return type(value) == "table" and value[i] or value
end

local function arguments_at(done, step, data, i)
  local args = {}
  for k, arg in ipairs(step.args) do args[k] = at(done, arg, data, i) end
  return table.unpack(args)
end

local function run_step(done, step, data)
  local name = step.operation:match "^reduce:(.*)$"
  if name then
    local result = reductions[name].start
    for i = 1, #data do
      result = reductions[name].step(result, at(done, step.args[1], data, i))
    end
    return result
  end
  if step.operation == "extent" then return #data + 0.0 end
  local operation = operations[step.operation]
  if not step.inside then return operation(arguments_at(done, step, data)) end
  local results = {}
  for i = 1, #data do results[i] = operation(arguments_at(done, step, data, i)) end
  return results
end

--- The results for a list of values.
---@param op string
---@param data number[]
---@return number[]
function two_pass.evaluate(op, data)
  local steps, results = two_pass.steps(op, #data)
  local done, list = {}, {}
  for i, step in ipairs(assert(steps, "no reduction in two passes")) do
    done[i] = run_step(done, step, data)
  end
  for i, step in ipairs(results) do list[i] = done[step] end
  return list
end

return two_pass
