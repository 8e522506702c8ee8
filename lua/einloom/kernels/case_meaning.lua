-- SPDX-License-Identifier: MIT
-- What graph cases of simd/1 mean, beyond their form: bounds of sizes agree, indices use what there
-- is and stay within their buffers, buffers lie in their storage, calls are given what they take.

local core = require "einloom.core"
local errors = require "einloom.errors"

local case_meaning = {}

local zero = core.int(0)

local function fail(path, message, ...)
  errors.raise("bad_case", message:format(...), { path = path })
end

-- ---- sizes ---------------------------------------------------------------------------------

local function check_sizes(sizes, path)
  for _, name in ipairs(errors.keys(sizes or {})) do
    local size, own = sizes[name], path .. ".sizes." .. name
    local low, high = size.min or 0, size.max or math.maxinteger
    if low < 0 then fail(own .. ".min", "a size cannot be negative") end
    if low > high then fail(own, "min is %d, but max is %d", low, high) end
    if size.hint and (size.hint < low or size.hint > high) then
      fail(own .. ".hint", "%d is not between min and max", size.hint)
    end
  end
end

-- ---- buffers -------------------------------------------------------------------------------

-- The names of sizes: those of `sizes`, and those that buffers have.
local function size_names(texts, raw)
  local names = {}
  for name in pairs(raw.sizes or {}) do names[name] = true end
  for _, buffers in ipairs { raw.inputs or {}, raw.buffers or {} } do
    for _, buffer in pairs(buffers) do
      for _, list in ipairs { buffer.size, buffer.stride, { buffer.offset } } do
        for _, e in ipairs(texts:parse_all(list)) do
          for _, symbol in ipairs(e:symbols()) do names[symbol:name()] = true end
        end
      end
    end
  end
  return names
end

-- The least and the greatest address from the offset on, of a buffer with elements.
local function reach_of(texts, buffer)
  local low, high = zero, zero
  for d, size in ipairs(texts:parse_all(buffer.size)) do
    local last = (size - 1) * texts:parse(buffer.stride[d])
    if size:eq(zero) == true then return nil end
    if last:lt(0) == true then low = low + last else high = high + last end
  end
  return low, high
end

local function read_buffers(texts, raw, path)
  local known = {}
  for _, key in ipairs { "inputs", "buffers" } do
    for _, name in ipairs(errors.keys(raw[key] or {})) do
      local buffer, own = raw[key][name], ("%s.%s.%s"):format(path, key, name)
      if known[name] then fail(own, "there is an input of this name") end
      local low, high = reach_of(texts, buffer)
      known[name] = { low = low, high = high, sizes = texts:parse_all(buffer.size) }
      local offset = texts:parse(buffer.offset)
      if offset:lt(0) == true then fail(own .. ".offset", "%s is negative", tostring(offset)) end
      if low and (offset + low):lt(0) == true then
        fail(own .. ".stride", "the buffer begins %s before its storage", tostring(-offset - low))
      end
    end
  end
  return known
end

-- ---- indices -------------------------------------------------------------------------------

local function check_names(e, known, path, what)
  for _, symbol in ipairs(e:symbols()) do
    local name = symbol:name()
    if not known[name] and not (what == "index" and name:find "^indirect%d+$") then
      fail(path, "'%s' is no %s%s", name,
        what == "index" and "loop variable of the node and no size" or "size",
        errors.hint(name, errors.keys(known)))
    end
  end
end

-- Loops of a node by name with their sizes, and the names that its indices may have.
local function loops_of(texts, node, sizes, path)
  local loops, known = {}, {}
  for name in pairs(sizes) do known[name] = true end
  for _, key in ipairs { "pointwise", "reduction" } do
    for i, loop in ipairs(node[key] or {}) do
      local own = ("%s.%s[%d]"):format(path, key, i)
      if sizes[loop[1]] then fail(own .. "[1]", "'%s' is a size", loop[1]) end
      local size = texts:parse(loop[2])
      check_names(size, sizes, own .. "[2]", "size")
      loops[#loops + 1] = { symbol = texts:symbol(loop[1]), size = size }
      known[loop[1]] = true
    end
  end
  return loops, known
end

-- The value of an index at the corner of the loops to which single steps lead, down or up: of a sum
-- of multiples of loop variables it is the least or the greatest.
local function corner(e, loops, up)
  local origin, at, used = {}, {}, {}
  for _, symbol in ipairs(e:symbols()) do used[symbol:name()] = symbol end
  for _, loop in ipairs(loops) do
    local symbol = used[loop.symbol:name()]
    if symbol then origin[symbol], at[symbol] = 0, 0 end
  end
  local start = e(origin)
  for _, loop in ipairs(loops) do
    local symbol = used[loop.symbol:name()]
    if symbol then
      origin[symbol] = loop.size - 1
      local moved = e(origin) - start
      if (up and moved or -moved):lt(0) ~= true then at[symbol] = loop.size - 1 end
      origin[symbol] = 0
    end
  end
  return e(at)
end

local function check_index(e, loops, buffer, use, path)
  if not buffer.low then return end
  for _, up in ipairs { false, true } do
    local value = corner(e, loops, up)
    if value:lt(buffer.low) == true or buffer.high:lt(value) == true then
      fail(path, "%s reaches %s, but %s is from %s to %s", tostring(e), tostring(value), use.buf,
        tostring(buffer.low), tostring(buffer.high))
    end
  end
end

local function is_empty(loops)
  for _, loop in ipairs(loops) do
    if loop.size:eq(zero) == true then return true end
  end
  return false
end

-- Reads that a mask leaves out may lie beyond; recorded nodes do not say which do.
local function check_uses(texts, node, loops, known, buffers, path)
  for _, key in ipairs { "reads", "writes" } do
    for i, use in ipairs(node[key]) do
      local own = ("%s.%s[%d]"):format(path, key, i)
      local indexed = type(use) == "table" and (use.kind == nil or use.kind == "index")
      if type(use) == "table" and use.masked and not (indexed and key == "reads") then
        fail(own .. ".masked", "only reads at an index may be masked")
      end
      if indexed then
        local e = texts:parse(use.index)
        check_names(e, known, own .. ".index", "index")
        local free = key == "reads" and (use.masked or node.deps)
        if not free and not is_empty(loops) then
          check_index(e, loops, buffers[use.buf], use, own .. ".index")
        end
      end
    end
  end
end

-- ---- calls ---------------------------------------------------------------------------------

-- How many tensors calls take, and of how many dimensions the product is (false: any).
local products = {
  mm = { 2, 2 }, addmm = { 3, 2 }, bmm = { 2, 3 }, baddbmm = { 3, 3 }, matmul = { 2, false },
}
local windows = { conv = true, conv1d = true, conv2d = true, conv3d = true, convolution = true }

local function product_of(sizes, first, last)
  local all = core.int(1)
  for d = first, last do all = all * sizes[d] end
  return all
end

local function buffer_of(use) return type(use) == "table" and use.buf or use end

-- The sizes that a call sees, and where each is said.
local function call_inputs(texts, node, buffers, path)
  local inputs, places = {}, {}
  for i, use in ipairs(node.inputs or node.reads) do
    places[i] = ("%s.%s[%d]"):format(path, node.inputs and "inputs" or "reads", i)
    inputs[i] = node.inputs and texts:parse_all(use) or buffers[buffer_of(use)].sizes
    for d, size in ipairs(inputs[i]) do
      if size:lt(0) == true then
        fail(("%s[%d]"):format(places[i], d), "a size cannot be negative")
      end
    end
  end
  return inputs, places
end

local function check_product(node, inputs, places, buffers, path)
  local n, rank = products[node.call][1], products[node.call][2]
  if #inputs ~= n then
    fail(("%s.%s"):format(path, node.inputs and "inputs" or "reads"), "%s takes %d tensors, not %d",
      node.call, n, #inputs)
  end
  local left, right = inputs[n - 1], inputs[n]
  for i = n - 1, n do
    if rank and #inputs[i] ~= rank or #inputs[i] == 0 then
      fail(places[i], "%s takes tensors of %s dimensions, not %d", node.call, rank or "1 or more",
        #inputs[i])
    end
  end
  local inner = right[math.max(1, #right - 1)]
  if left[#left]:eq(inner) ~= true then
    fail(places[n], "%s is summed over, but the other tensor has %s there", tostring(inner),
      tostring(left[#left]))
  end
  if rank == 3 and left[1]:eq(right[1]) ~= true then
    fail(places[n], "%s products, but the other tensor has %s", tostring(right[1]),
      tostring(left[1]))
  end
  local written = node.writes[1] and buffers[buffer_of(node.writes[1])].sizes
  local result = product_of(left, 1, #left - 1) * right[#right]
  if rank and written and product_of(written, 1, #written):eq(result) ~= true then
    fail(path .. ".writes[1]", "%s gives %s elements, not %s", node.call, tostring(result),
      tostring(product_of(written, 1, #written)))
  end
end

local function check_windows(node, inputs, places, path)
  if #inputs ~= 2 and #inputs ~= 3 then
    fail(("%s.%s"):format(path, node.inputs and "inputs" or "reads"),
      "%s takes 2 or 3 tensors, not %d", node.call, #inputs)
  end
  if #inputs[1] ~= #inputs[2] or #inputs[1] < 3 then
    fail(places[2], "%s takes tensors of as many dimensions, 3 or more, not %d and %d", node.call,
      #inputs[1], #inputs[2])
  end
  local channels, weights = inputs[1][2]:tointeger(), inputs[2][2]:tointeger()
  if channels and weights and (weights == 0 or channels % weights ~= 0) then
    fail(places[2], "%d channels of the other tensor are no groups of %d", channels, weights)
  end
end

local function check_call(texts, node, buffers, path)
  if not node.call then
    if node.inputs then fail(path .. ".inputs", "inputs are of a call, which is missing") end
    return
  end
  if node.kind ~= "opaque" then fail(path .. ".call", "only opaque nodes call") end
  local inputs, places = call_inputs(texts, node, buffers, path)
  if products[node.call] then
    check_product(node, inputs, places, buffers, path)
  elseif windows[node.call] then
    check_windows(node, inputs, places, path)
  end
end

--- Raises an error object where a case of the right form makes no sense.
---@param texts einloom.SimdTexts
---@param raw table
---@param path string
function case_meaning.check(texts, raw, path)
  check_sizes(raw.sizes, path)
  local sizes, buffers = size_names(texts, raw), read_buffers(texts, raw, path)
  for i, node in ipairs(raw.nodes) do
    local own = ("%s.nodes[%d]"):format(path, i)
    local loops, known = loops_of(texts, node, sizes, own)
    check_uses(texts, node, loops, known, buffers, own)
    check_call(texts, node, buffers, own)
  end
end

return case_meaning
