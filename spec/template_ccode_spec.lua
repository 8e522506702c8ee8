-- SPDX-License-Identifier: MIT
-- Kernels around a template, with a matrix product as the template: its loops are written here,
-- what it takes in is written from the parts of the plan, and the C is run against direct
-- evaluation.

local compiled = require "support.compiled"
local core = require "einloom.core"
local evaluate = require "einloom.kernels.evaluate"
local graph = require "einloom.graph"
local scalar = require "einloom.kernels.scalar"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time() % 1000000

-- The graph of the core with the call `c` as a template.
local function with_template(g)
  local copy = core.graph()
  for _, b in ipairs(g.core:buffers()) do
    assert(copy:buffer { name = b.name, sizes = b.sizes, strides = b.strides, dtype = b.dtype,
      output = b.output })
  end
  for _, op in ipairs(g.core:ops()) do
    local node, template = g:node(op.name), op.name == "c"
    local reads, writes, loops = {}, {}, op.pointwise
    for i, use in ipairs(op.reads) do reads[i] = use end
    for i, use in ipairs(op.writes) do writes[i] = use end
    if template then
      loops = {}
      for i, name in ipairs(node.pointwise) do loops[i] = { node.symbols[name], g.sizes[name] } end
    end
    assert(copy:op { name = op.name, kind = op.kind, reduce = op.reduce, call = op.call,
      inputs = template and { { 1, g.sizes.k }, { g.sizes.k, 1 } } or nil, extensible = template,
      pointwise = loops, reduction = op.reduction, reads = reads, writes = writes })
  end
  return copy
end

local function planned(copy)
  local plan = copy:plan()
  for _, kernel in ipairs(assert(copy:fusion()):run():kernels()) do
    local schedule = assert(copy:schedule(kernel.ops, kernel.extents))
    assert(plan:kernel { schedule = schedule, extents = kernel.extents,
      tiling = copy:tiling(schedule, kernel.extents) })
  end
  return plan:kernels()
end

-- ---- C -------------------------------------------------------------------------------------

local function fill(pattern, a, b)
  return (pattern:gsub("%%([12])", function(n) return n == "1" and a or b end))
end

-- Indices are printed in doubles.
local function element(access)
  return ("m_%s[(int64_t)(%s)]"):format(access.buffer, access.simplified:print "c")
end

local function body_text(node, loads)
  if node.op == "number" then return ("%.17g"):format(node.value) end
  if node.op == "load" then return loads[node[1]] end
  local text = body_text(node[1], loads)
  local name = node.op == "call" and node.name or node.op
  if #node == 1 then return fill(scalar.c[name], text) end
  for i = 2, #node do text = fill(scalar.c[name], text, body_text(node[i], loads)) end
  return text
end

-- What a part computes at xindex: values v_NAME of its operations; of the last part they are stored
-- unless the plan says that they are not.
local function part_lines(g, kernel, part, lines)
  local made, stored = {}, {}
  for _, name in ipairs(kernel.never_stored) do stored[name] = false end
  if part.role == "output" then made[part.buffer] = true end
  for _, entry in ipairs(part.entries) do
    lines[#lines + 1] = ("const int64_t %s = %s; (void)%s;"):format(entry.name,
      entry.expr:print "c", entry.name)
  end
  for i = part.first, part.last do
    local op = kernel.ops[i]
    local node, loads = g:node(op.op), {}
    for k, access in ipairs(op.accesses) do
      if access.kind ~= "load" then break end
      loads[k] = made[access.buffer] and "v_" .. access.buffer or element(access)
    end
    local write = op.accesses[#op.accesses]
    made[write.buffer] = true
    lines[#lines + 1] = ("const double v_%s = %s;"):format(write.buffer,
      body_text(node.body, loads))
    if stored[write.buffer] == nil and part.role == "output" then
      lines[#lines + 1] = ("%s = v_%s;"):format(element(write), write.buffer)
    end
  end
end

local function source_of(g, kernel)
  local list, names = {}, {}
  for i, name in ipairs(g.order) do list[i], names[i] = "double *m_" .. name, "m_" .. name end
  local pointers, passed = table.concat(list, ", "), table.concat(names, ", ")
  local text = { "#include <math.h>\n#include <stdint.h>\n", scalar.prelude }
  local used = "(void)" .. table.concat(names, "; (void)") .. ";"
  local input, output = {}, {}
  for _, part in ipairs(kernel.parts) do
    local lines = { used }
    part_lines(g, kernel, part, lines)
    if part.role == "output" then
      output = lines
    else
      input[part.buffer] = true
      text[#text + 1] = ("static double p_%s(int64_t xindex, %s) {\n%s\nreturn v_%s;\n}"):format(
        part.buffer, pointers, table.concat(lines, "\n"), part.buffer)
    end
  end
  local reads = g:node "c".reads
  local function input_at(n, at)
    local name = reads[n].tensor
    return (input[name] and "p_%s(%s, %s)" or "m_%s[%s]"):format(name, at, passed)
  end
  local sizes = {}
  for _, name in ipairs { "m", "n", "k" } do sizes[name] = g.sizes[name]:tointeger() end
  local stores = true
  for _, name in ipairs(kernel.never_stored) do stores = stores and name ~= "c" end
  text[#text + 1] = ([[
void run(POINTERS);
void run(POINTERS) {
  USED
  for (int64_t m = 0; m < SIZE_M; m++)
    for (int64_t n = 0; n < SIZE_N; n++) {
      double v_c = 0.0;
      for (int64_t k = 0; k < SIZE_K; k++)
        v_c = v_c + ELEMENT_A * ELEMENT_B;
      const int64_t xindex = m * SIZE_N + n;
      (void)xindex;
      STORE
      {
        OUTPUT
      }
    }
}
]]):gsub("ELEMENT_A", input_at(1, "m * SIZE_K + k"))
    :gsub("ELEMENT_B", input_at(2, "k * SIZE_N + n"))
    :gsub("SIZE_(%u)", function(name) return ("%d"):format(sizes[name:lower()]) end)
    :gsub("POINTERS", pointers):gsub("USED", used)
    :gsub("STORE", stores and "m_c[xindex] = v_c;" or "")
    :gsub("OUTPUT", function() return table.concat(output, "\n") end)
  return table.concat(text, "\n")
end

-- Runs the one kernel of a graph around its product; returns what is known of it.
local function check(einsums, sizes, outputs)
  local g = graph.new { einsums = einsums, sizes = sizes, outputs = outputs, dtype = "f64" }
  local kernels = planned(with_template(g))
  assert.are.equal(1, #kernels, table.concat(einsums, "\n"))
  local inputs, data, asked = {}, {}, {}
  local layouts = evaluate.layouts(g)
  for _, name in ipairs(g.order) do
    data[name], asked[name] = {}, g.tensors[name].output or nil
    for i = 1, layouts[name].storage do data[name][i] = math.random() * 4 - 2 end
    if not g.tensors[name].writer then inputs[name] = data[name] end
  end
  local expected = evaluate.run(g, inputs)
  local text = source_of(g, kernels[1])
  local got = compiled.run(g, text, {}, {}, data, asked)
  for name in pairs(asked) do
    for i, x in ipairs(expected[name]) do
      if not compiled.close(got[name][i], x, 1e-12) then
        error(("seed %d: %s[%d] is %s, expected %s\n%s"):format(seed, name, i - 1, got[name][i], x,
          text))
      end
    end
  end
  return kernels[1]
end

-- A random chain of pointwise einsums from `first` (or from inputs of its own) to a tensor.
local function chain(list, prefix, index, first)
  local last = first or prefix .. "_in"
  for i = 1, math.random(first and 1 or 0, 3) do
    local name = prefix .. i
    local other = ({ ("%s_%d[%s]"):format(prefix, i, index), ("%s_%d[%s]"):format(prefix, i,
      math.random(2) == 1 and index:match "^%w" or index:match "%w$"), "0.5" })[math.random(3)]
    local form = ({ "relu(%s) + %s", "%s * %s", "max(%s, %s)", "%s - %s" })[math.random(4)]
    list[#list + 1] = ("%s[%s] = %s"):format(name, index,
      form:format(("%s[%s]"):format(last, index), other))
    last = name
  end
  return last
end

describe("the C of a kernel around a matrix product", function()
  if not compiled.available then return pending "no C compiler" end

  it("computes what is before and behind it", function()
    math.randomseed(seed)
    local kernel = check({ "a[m,k] = relu(x[m,k]) * s[m]", "b[k,n] = w[k,n] * 2",
      "c[m,n] = mm(a[m,k], b[k,n])", "d[m,n] = c[m,n] + bias[n]",
      "e[m,n] = relu(d[m,n]) + r[m,n]" }, { m = 5, n = 7, k = 6 })
    assert.are.same({ "a", "b", "c", "d", "e" }, kernel.schedule)
    assert.are.same({ "a", "b", "c", "d" }, kernel.never_stored)
    assert.are.equal(core.int(8 * (5 * 6 + 5 + 6 * 7 + 7 + 2 * 5 * 7)), kernel.bytes)
    assert.are.equal(core.int(2 * 5 * 6 * 7), kernel.flops)
    kernel = check({ "a[m,k] = x[m,k] + 1", "c[m,n] = mm(a[m,k], w[k,n])",
      "d[m,n] = c[m,n] * 2" }, { m = 3, n = 4, k = 2 }, { "c" })
    assert.are.same({ "a" }, kernel.never_stored)
  end)

  it("computes random neighbours", function()
    for round = 1, tonumber(os.getenv "EINLOOM_ROUNDS") or 8 do
      math.randomseed(seed + round)
      local list = {}
      local a, b = chain(list, "a", "m,k"), chain(list, "b", "k,n")
      list[#list + 1] = ("c[m,n] = mm(%s[m,k], %s[k,n])"):format(a, b)
      chain(list, "e", "m,n", "c")
      local sizes = { m = math.random(6), n = math.random(6), k = math.random(6) }
      local ok, e = pcall(check, list, sizes,
        math.random(3) == 1 and { "c" } or nil)
      if not ok then
        error(("seed %d, round %d: %s\n%s"):format(seed, round, table.concat(list, "\n"),
          tostring(e)))
      end
    end
  end)
end)
