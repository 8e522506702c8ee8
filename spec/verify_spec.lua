-- SPDX-License-Identifier: MIT
-- The strictness of `einloom verify`: each way of spoiling a golden case must fail.

local core = require "einloom.core"
local files = require "support.files"
local verify = require "einloom.verify"

local function load_case(family, id)
  local raw = core.json.decode(files.read(files.path("golden/mapping/" .. family .. ".json")))
  for _, case in ipairs(raw.cases) do
    if case.id == id then
      raw.cases = setmetatable({ case }, core.json.array)
      return raw, case
    end
  end
  error("no case " .. id)
end

local function run(raw, layer)
  return files.scratch(core.json.encode(raw), function(path)
    local lines = {}
    local summary = verify.files({ path }, layer or "reuse", function(line)
      lines[#lines + 1] = line
    end)
    return summary, lines
  end)
end

local function matmul()
  local raw, case = load_case("matmul", "matmul_001")
  return raw, case, case.expected.per_einsum.MM.reuse
end

local function symbolic()
  local raw, case = load_case("symbolic", "symbolic_001")
  return raw, case, case.expected.per_einsum.MM.reuse
end

local function find(list, tensor, level)
  for i, record in ipairs(list) do
    if record.tensor == tensor and record.level == level then return record, i end
  end
end

-- One failed case; some line names the place.
local function assert_fails(raw, place, layer)
  local summary, lines = run(raw, layer)
  assert.are.equal(1, summary.failed, table.concat(lines, "\n"))
  assert.are.equal(0, summary.passed)
  local text = table.concat(lines, "\n")
  assert.truthy(text:find(place, 1, true), text)
end

local function assert_passes(raw, layer)
  local summary, lines = run(raw, layer)
  assert.are.equal("", table.concat(lines, "\n"))
  assert.are.same({ passed = 1, failed = 0, disputed = 0, left_out = 0 }, summary)
end

describe("verify on numbers and records", function()
  it("passes what is right", function()
    assert_passes((matmul()))
    assert_passes((symbolic()))
  end)

  it("fails on a changed number", function()
    local raw, _, reuse = matmul()
    find(reuse.buffets, "A", "Buf").total_read_actions = 1537
    assert_fails(raw, "matmul_001: per_einsum.MM.reuse.buffets[A,Buf].total_read_actions: "
      .. "expected 1537, got 1536")
  end)

  it("fails on every changed field of every record", function()
    local raw, _, reuse = matmul()
    for _, record in ipairs(reuse.buffets) do
      for field, value in pairs(record) do
        if math.type(value) == "integer" then
          record[field] = value + 1
          assert_fails(raw, field)
          record[field] = value
        end
      end
    end
    assert_passes(raw)
  end)

  it("fails on an integer that is off by less than the tolerance of reals", function()
    local raw, case = load_case("special", "special_028")
    local changed
    for _, entry in pairs(case.expected.per_einsum) do
      for _, record in ipairs(entry.reuse.buffets) do
        for field, value in pairs(record) do
          if math.type(value) == "integer" and value > 10 ^ 10 and not changed then
            record[field], changed = value + 1, field
          end
        end
      end
    end
    if changed then assert_fails(raw, changed) else assert_passes(raw) end
  end)

  it("fails on a removed field that is not 0 and passes an added 0", function()
    local raw, _, reuse = matmul()
    local record = find(reuse.buffets, "A", "Main")
    assert.is_nil(record.total_reads_to_parent)
    record.total_reads_to_parent = 0
    assert_passes(raw)
    record.total_read_actions = nil
    assert_fails(raw, "buffets[A,Main].total_read_actions: expected 0, got 256")
  end)

  it("fails on a missing record", function()
    local raw, _, reuse = matmul()
    local _, i = find(reuse.buffets, "B", "Buf")
    table.remove(reuse.buffets, i)
    assert_fails(raw, "buffets[B,Buf]: expected no record, got a record")
  end)

  it("fails on an extra record, even of zeros", function()
    local raw, _, reuse = matmul()
    table.insert(reuse.buffets, { tensor = "C", level = "Buf" })
    assert_fails(raw, "buffets[C,Buf]: expected a record, got no record")
  end)

  it("fails on a record given twice", function()
    local raw, _, reuse = matmul()
    table.insert(reuse.buffets, (find(reuse.buffets, "B", "Buf")))
    assert_fails(raw, "buffets[B,Buf]")
  end)

  it("does not mind the order of records", function()
    local raw, _, reuse = matmul()
    table.insert(reuse.buffets, 1, table.remove(reuse.buffets))
    assert_passes(raw)
  end)

  it("fails on fanout, compute, steps and symbols", function()
    for _, change in ipairs {
      function(reuse) reuse.compute[1].max_latency = 1 end,
      function(reuse) reuse.temporal_steps.MM = 1 end,
      function(reuse) reuse.temporal_steps.XX = 1 end,
      function(reuse) table.insert(reuse.symbols, "M0") end,
      function(reuse)
        table.insert(reuse.fanout, { component = "PE", dim = "X", value = 1 })
      end,
      function(reuse) reuse.fanout = nil end,
    } do
      local raw, _, reuse = matmul()
      change(reuse)
      assert_fails(raw, "per_einsum.MM.reuse.")
    end
  end)

  it("fails on an einsum too many or too few", function()
    local raw, case = matmul()
    case.expected.per_einsum.XX = case.expected.per_einsum.MM
    assert_fails(raw, "per_einsum.XX")
    case.expected.per_einsum = { XX = case.expected.per_einsum.MM }
    assert_fails(raw, "per_einsum.MM")
  end)
end)

describe("verify on keys and results", function()
  it("fails on a case without a result", function()
    local raw, case = matmul()
    case.expected = nil
    assert_fails(raw, "a case without one")
    case.expected = {}
    assert_fails(raw, "per_einsum")
  end)

  it("fails on an unknown key anywhere under expected", function()
    for _, place in ipairs {
      function(case) return case.expected end,
      function(case) return case.expected.per_einsum.MM end,
      function(case) return case.expected.per_einsum.MM.reuse end,
      function(case) return case.expected.per_einsum.MM.costs end,
      function(case) return case.expected.per_einsum.MM.reuse.buffets[1] end,
      function(case) return case.expected.per_einsum.MM.reuse.compute[1] end,
      function(case) return case.expected.totals end,
    } do
      local raw, case = matmul()
      place(case).surprise = 1
      assert_fails(raw, "surprise")
    end
  end)

  it("fails where the program cannot read the case", function()
    local raw, case = matmul()
    case.mapping.nodes[1].component = "Nowhere"
    assert_fails(raw, "unknown_component")
    case.mapping = nil
    assert_fails(raw, "mapping")
  end)
end)

describe("verify on formulas", function()
  it("fails on a changed value at any sample", function()
    local raw, case, reuse = symbolic()
    local record = find(reuse.buffets, "A", "Buf")
    local values = record.max_occupancy.values
    for i = 1, #case.samples do
      values[i] = values[i] + 1
      assert_fails(raw, "buffets[A,Buf].max_occupancy")
      values[i] = values[i] - 1
    end
    record.max_occupancy.formula = "another equal form"
    assert_passes(raw)
  end)

  it("fails on a missing value and on an unknown key of a formula", function()
    local raw, _, reuse = symbolic()
    local formula = find(reuse.buffets, "A", "Buf").max_occupancy
    local last = table.remove(formula.values)
    assert_fails(raw, "max_occupancy")
    table.insert(formula.values, last)
    formula.value = 1
    assert_fails(raw, "max_occupancy")
  end)

  it("fails on a number where a formula is", function()
    local raw, _, reuse = symbolic()
    local record = find(reuse.buffets, "A", "Buf")
    record.max_occupancy = record.max_occupancy.values[1]
    assert_fails(raw, "max_occupancy")
  end)
end)

describe("verify on nests", function()
  local function index_of(list, text)
    for i, line in ipairs(list) do
      if line == text then return i end
    end
  end

  it("fails on a reservation on the other side of a loop", function()
    local raw, _, reuse = matmul()
    local path = reuse.mapping_with_reservations
    local i = index_of(path, "reserve Z@Buf")
    path[i], path[i + 1] = path[i + 1], path[i]
    assert_fails(raw, "mapping_with_reservations")
  end)

  it("does not mind the order of what stands between two loops", function()
    local raw, _, reuse = matmul()
    local path = reuse.mapping_with_reservations
    path[1], path[3] = path[3], path[1]
    assert_passes(raw)
  end)

  it("fails on loops in another order, a node less and another tile", function()
    for _, change in ipairs {
      function(path) path[#path - 1], path[#path - 2] = path[#path - 2], path[#path - 1] end,
      function(path) table.remove(path) end,
      function(path) table.insert(path, "temporal k:1") end,
      function(path) path[#path - 1] = "temporal n:2" end,
    } do
      for _, name in ipairs { "mapping_with_reservations", "per_tensor_mapping" } do
        local raw, _, reuse = matmul()
        local list = reuse[name]
        change(list.A or list)
        assert_fails(raw, name)
      end
    end
  end)
end)

describe("verify on errors", function()
  it("passes the right kind and fails on another", function()
    local raw, case = load_case("errors", "errors_005")
    assert_passes(raw)
    case.expected.error = "unknown_dimension"
    assert_fails(raw, "error: expected unknown_dimension, got unknown_component")
  end)

  it("fails on a result where an error is expected and the other way round", function()
    local raw, case = matmul()
    case.expected = { error = "missing_loop", message_about = "nothing" }
    assert_fails(raw, "expected missing_loop, got a result")
    raw, case = load_case("errors", "errors_001")
    local _, right = matmul()
    case.expected = right.expected
    assert_fails(raw, "missing_loop")
  end)

  it("is lenient only where the case is tagged", function()
    local raw, case = load_case("special", "special_014")
    assert_passes(raw)
    case.tags = nil
    assert_fails(raw, "unknown_tensor")
  end)

  it("leaves out the kinds of other layers, and says so", function()
    local summary = run((load_case("errors", "errors_009")))
    assert.are.same({ passed = 0, failed = 0, disputed = 0, left_out = 1 }, summary)
  end)
end)

describe("verify on what is disputed", function()
  it("counts a disputed case apart", function()
    local raw = load_case("imperfect", "imperfect_001")
    local summary, lines = run(raw)
    assert.are.same({}, lines)
    assert.are.same({ passed = 0, failed = 0, disputed = 1, left_out = 0 }, summary)
  end)

  it("compares all but the disputed fields", function()
    local raw, case, reuse = matmul()
    case.disputed, case.disputed_fields = true, { "max_latency" }
    reuse.compute[1].max_latency = 1
    local summary = run(raw)
    assert.are.same({ passed = 1, failed = 0, disputed = 1, left_out = 0 }, summary)
    reuse.compute[1].total_ops = 1
    summary = run(raw)
    assert.are.same({ passed = 0, failed = 1, disputed = 1, left_out = 0 }, summary)
  end)

  it("disputes a field of one record only", function()
    local raw, case, reuse = matmul()
    case.disputed, case.disputed_fields = true, { "max_occupancy of tensor A" }
    find(reuse.buffets, "A", "Buf").max_occupancy = 1
    assert.are.equal(1, run(raw).passed)
    find(reuse.buffets, "B", "Buf").max_occupancy = 1
    assert.are.equal(1, run(raw).failed)
  end)

  it("does not dispute without the mark", function()
    local raw, case, reuse = matmul()
    case.disputed_fields = { "max_latency" }
    reuse.compute[1].max_latency = 1
    assert_fails(raw, "max_latency")
  end)
end)

describe("verify on numbers recorded modulo 2^64", function()
  local recorded = 2688089063424 * 184683593728

  it("disputes them, and says which number is exact", function()
    local raw = load_case("special", "special_032")
    local summary, lines = run(raw, "all")
    assert.are.same({ passed = 1, failed = 0, disputed = 1, left_out = 0 }, summary)
    assert.are.equal(1, #lines)
    assert.truthy(lines[1]:find("energy_delay_product: disputed: " .. recorded, 1, true))
    assert.truthy(lines[1]:find("exact is 496445948494078040604672", 1, true))
  end)

  it("fails on their neighbours and on other multiples", function()
    for _, off in ipairs { -1, 1, 1 << 32, 1 << 62, math.mininteger } do
      local raw, case = load_case("special", "special_032")
      case.expected.totals.energy_delay_product = recorded + off
      assert_fails(raw, "energy_delay_product", "all")
    end
  end)

  it("fails where the exact number has 64 bits", function()
    local raw, _, reuse = matmul()
    for _, wrong in ipairs { reuse.compute[1].total_ops + math.mininteger, -1, 0 } do
      reuse.compute[1].total_ops = wrong
      assert_fails(raw, "total_ops")
    end
  end)
end)

describe("verify on costs and totals", function()
  local function costs()
    local raw, case = load_case("leakage", "leakage_001")
    return raw, case.expected.per_einsum.MM.costs, case.expected.totals, case
  end

  -- Calls spoil(owner, key) for each number in a tree, with the tree as it was each time.
  local function each_number(pick, spoil)
    local function walk(owner, path)
      for _, key in ipairs(path) do owner = owner[key] end
      return owner
    end
    local paths = {}
    local function collect(t, path)
      for key, value in pairs(t) do
        local here = table.move(path, 1, #path, 1, {})
        here[#here + 1] = key
        if type(value) == "table" then
          collect(value, here)
        elseif math.type(value) then
          paths[#paths + 1] = here
        end
      end
    end
    collect(pick(costs()), {})
    assert.is_true(#paths >= 10)
    for _, path in ipairs(paths) do
      local raw, c, t = costs()
      local key = table.remove(path)
      spoil(raw, walk(pick(raw, c, t), path), key)
    end
  end

  it("passes what is right in every layer", function()
    for _, layer in ipairs { "costs", "totals", "all" } do assert_passes((costs()), layer) end
  end)

  it("fails on each changed number of the costs", function()
    each_number(function(_, c) return c end, function(raw, owner, key)
      owner[key] = owner[key] + 1
      assert.are.equal(1, run(raw, "costs").failed, key)
    end)
  end)

  it("takes totals at the tolerance of the file, integers too", function()
    each_number(function(_, _, t) return t end, function(raw, owner, key)
      local value = owner[key]
      owner[key] = value * (1 + 1e-8)
      assert.are.equal(1, run(raw, "totals").passed, key)
      owner[key] = math.tointeger(value) and value + 1 or value * (1 + 1e-5)
      local far = math.abs(owner[key] - value) > 1e-6 * owner[key]
      assert.are.equal(far and 1 or 0, run(raw, "totals").failed, key)
      owner[key] = value * 2 + 1
      assert.are.equal(1, run(raw, "totals").failed, key)
    end)
  end)

  it("fails on rows that one side lacks", function()
    for _, list in ipairs { "actions", "energy", "leak_energy", "memory_usage", "reservations",
      "spatial_usage" } do
      local raw, c = costs()
      table.remove(c[list])
      assert_fails(raw, "." .. list, "costs")
    end
    local raw, c = costs()
    table.insert(c.energy, { component = "Reg", tensor = "A", action = "compute", value = 0 })
    assert_fails(raw, "energy[Reg,A,compute]", "costs")
  end)

  it("fails on unknown keys and on missing parts", function()
    local raw, c, t = costs()
    c.area, t.area = 1, 1
    assert_fails(raw, "costs.area", "costs")
    assert_fails(raw, "totals.area", "totals")
    local other, _, _, case = costs()
    case.expected.totals = nil
    assert_fails(other, "totals", "totals")
  end)

  it("fails on another kind of limit, and on a limit that is met", function()
    for id, kind in pairs { errors_009 = "fanout", errors_010 = "capacity",
      errors_020 = "capacity" } do
      local raw, case = load_case("errors", id)
      assert_passes(raw, "costs")
      case.expected.error = kind
      assert_fails(raw, "error", "costs")
    end
    local raw, case = load_case("errors", "errors_009")
    for _, node in ipairs(case.arch.nodes) do
      if node.size then node.size = "inf" end
    end
    assert_fails(raw, "got a result", "costs")
  end)
end)

describe("verify on tiles", function()
  local function tile_case(id)
    local raw, case = load_case("tiles", id)
    return raw, case
  end

  it("fails on changed sequences and geometry", function()
    local raw, case = tile_case "tiles_0001"
    assert_passes(raw)
    case.expected.stride = 2
    assert_fails(raw, "stride")
    raw, case = tile_case "tiles_0308"
    assert_passes(raw)
    case.expected.tensors[1].relevancy.n = "relevant"
    assert_fails(raw, "relevancy.n")
    raw, case = tile_case "tiles_0308"
    case.expected.tensors[1].dense_tile_occupancy[1].value = 7
    assert_fails(raw, "dense_tile_occupancy")
    raw, case = tile_case "tiles_0308"
    case.expected.tensors[1].dense_tile_occupancy_formula = "t_k*t_m + 1"
    assert_fails(raw, "dense_tile_occupancy_formula")
    raw, case = tile_case "tiles_0308"
    table.remove(case.expected.variables_only_used_alone)
    assert_fails(raw, "variables_only_used_alone")
    raw, case = tile_case "tiles_0308"
    case.expected.tensors[2].stride_and_halo[1].halo = 1
    assert_fails(raw, "halo")
  end)
end)

describe("verify on expressions", function()
  local function expressions()
    local raw = core.json.decode(files.read(files.path "golden/expr/expressions.json"))
    raw.expressions = setmetatable({ raw.expressions[1] }, core.json.array)
    raw.count = 1
    return raw, raw.expressions[1]
  end

  it("fails on a changed value and a missing expression", function()
    local raw, entry = expressions()
    assert_passes(raw)
    entry.points[2].value = "1/7"
    assert_fails(raw, "points[2]")
    raw = expressions()
    raw.count = 2
    assert.are.equal(1, run(raw).failed)
  end)
end)

describe("verify on files", function()
  local function fails(text, message)
    files.scratch(text, function(path)
      local lines = {}
      local summary = verify.files({ path }, "reuse", function(line) lines[#lines + 1] = line end)
      assert.are.equal(1, summary.failed)
      assert.truthy(lines[1]:find(message, 1, true), lines[1])
      assert.truthy(lines[1]:find(path, 1, true), lines[1])
    end)
  end

  it("fails on what is no file of cases", function()
    fails("", "empty")
    fails("{", ":1:")
    fails("\0\1\2", ":1:")
    fails("[]", "a JSON object was expected")
    fails("{}", "unknown schema (none given)")
    fails('{"schema": "mapping/9", "cases": []}', "unknown schema 'mapping/9'")
    fails('{"schema": "mapping/1", "cases": []}', "no cases")
    fails('{"schema": "mapping/1", "cases": [{"id": "a"}, {"id": "a"}]}', "two cases")
  end)

  it("fails on a file that is not there", function()
    local lines = {}
    local summary = verify.files({ "/nonexistent/x.json" }, "reuse", function(line)
      lines[#lines + 1] = line
    end)
    assert.are.equal(1, summary.failed)
    assert.truthy(lines[1]:find "No such file")
  end)

  it("gives the lines and the counts to scripts", function()
    local summary = require "einloom".verify(files.path "golden/mapping/order.json", "reuse")
    assert.are.equal("4 passed, 0 failed, 0 disputed", verify.verdict(summary))
    assert.are.equal(0, #summary)
  end)
end)

describe("verify on shapes", function()
  local array = core.json.array
  local function list(...) return setmetatable({ ... }, array) end

  it("fails on an object where a list belongs, and on a list where an object belongs", function()
    local raw, case = load_case("matmul", "matmul_001")
    local function walk(parent, key)
      local value = parent[key]
      if type(value) ~= "table" then return end
      local is_list = getmetatable(value) == array
      parent[key] = is_list and { a = 1 } or list(1)
      assert.are.equal(1, (run(raw, "all")).failed, tostring(key))
      parent[key] = is_list and {} or list()
      assert.are.equal(1, (run(raw, "all")).failed, tostring(key))
      parent[key] = value
      for inner in pairs(value) do
        if inner == 1 or not is_list then walk(value, inner) end
      end
    end
    walk(case, "expected")
    assert_passes(raw, "all")
  end)

  it("fails on a name that no component or einsum has, even with 0", function()
    local raw, case = load_case("matmul", "matmul_001")
    local einsum = case.expected.per_einsum.MM
    for _, map in ipairs { einsum.reuse.temporal_steps, einsum.costs.latency_per_component,
      einsum.costs.memory_usage_total, case.expected.totals.energy_per_component } do
      map.Bogus = 0
      assert_fails(raw, "Bogus", "all")
      map.Bogus = nil
    end
    assert_passes(raw, "all")
  end)

  it("fails on keys of a case that are of the wrong type, and goes on", function()
    for key, values in pairs {
      expected = { core.json.null, 5, "x", list() },
      tags = { core.json.null, 5, {} },
      samples = { 5, {}, list(5), core.json.null },
      disputed = { "yes", 1, {} },
      disputed_fields = { 5, core.json.null, list(5), list(core.json.null), "x" },
    } do
      for _, value in ipairs(values) do
        local raw, case = load_case("matmul", "matmul_001")
        local sound = core.json.decode(core.json.encode(case))
        sound.id = "sound"
        raw.cases = list(case, sound)
        case[key] = value
        local summary, lines = run(raw, "all")
        local text = table.concat(lines, "\n")
        assert.are.same({ passed = 1, failed = 1, disputed = 0, left_out = 0 }, summary, text)
        assert.truthy(text:find("matmul_001: " .. key, 1, true), text)
        assert.is_nil(text:find("traceback", 1, true), text)
      end
    end
  end)

  it("fails on disputed fields that are no fields", function()
    local raw, case = load_case("matmul", "matmul_001")
    case.disputed, case.disputed_fields = true, list "leak_energi"
    assert_fails(raw, "disputed_fields: expected names of fields, got leak_energi", "all")
  end)

  it("refuses a head that it does not understand", function()
    for key, values in pairs {
      model = { "exact", 5, core.json.null },
      tolerance = {
        1e-9, "x", { default = 1 }, { default = -1 }, { default = "x" }, { other = 0 },
      },
      extra = { 1 },
    } do
      for _, value in ipairs(values) do
        local raw = load_case("matmul", "matmul_001")
        raw[key] = value
        local summary, lines = run(raw, "all")
        assert.are.same({ passed = 0, failed = 1, disputed = 0, left_out = 0 }, summary,
          table.concat(lines, "\n"))
      end
    end
  end)

  it("fails on points of expressions without the value that is meant", function()
    for _, change in ipairs {
      function(e) e.points[1].value = nil end,
      function(e) e.exact = not e.exact end,
      function(e) e.exact = nil end,
    } do
      local entry = { id = "L", expr = "x - 1", symbols = list "x", domain = "positive integers",
        exact = true, points = list { at = list(1), value = "0" } }
      change(entry)
      local summary = run { format = "loopnest-expressions", version = 1, count = 1,
        expressions = list(entry) }
      assert.are.same({ passed = 0, failed = 1, disputed = 0, left_out = 0 }, summary)
    end
  end)
end)
