-- SPDX-License-Identifier: MIT
-- Costs of results in Lua: totals, breakdowns, points, limits, latency functions; and the userdata
-- of the core behind them.

local core = require "einloom.core"
local files = require "support.files"
local loom = require "einloom"
local model = require "einloom.model"

local function int(n) return core.int(n) end

local w = loom.workload {
  sizes = { m = 8, k = 4, n = 6 }, bits = 8,
  "E0: Z[m,n] = A[m,k] * B[k,n]",
  "E1: Y[m,n] = Z[m,n]",
}

local function machine(size, rule)
  return loom.arch {
    loom.memory { "Main", size = math.huge, read = { energy = 100, bits_per_action = 8 },
      write = { energy = 120, bits_per_action = 8 } },
    loom.memory { "Buf", size = size or 4096, read = { energy = 2, bits_per_action = 8,
      throughput = 8 }, write = { energy = 3, bits_per_action = 8, throughput = 4 },
      leak_power = 0.5, area = 7, latency_rule = rule },
    loom.compute { "MAC", energy = 1, throughput = 1, leak_power = 0.25 },
  }
end

local text = [[
Main: A B Z Y
sequential
  branch
    for m tile %s
      Buf: A B Z
      for m, k, n
        E0 on MAC
  branch
    for m, n
      E1 on MAC
]]

local function analyze(a, tile)
  return assert(loom.analyze(w, a, loom.mapping(text:format(tile))))
end

local function sum(t)
  if type(t) ~= "table" then return t end
  local total = int(0)
  for _, x in pairs(t) do total = total + sum(x) end
  return total
end

describe("costs of a result", function()
  local names = { "einsum", "component", "tensor", "action" }

  local function each_breakdown(visit)
    for mask = 1, 15 do
      local by = {}
      for i, name in ipairs(names) do
        if mask >> (i - 1) & 1 == 1 then by[#by + 1] = name end
      end
      visit(by)
    end
  end

  it("add up in every breakdown, as formulas and at points", function()
    local open = analyze(machine(), "M0")
    for _, r in ipairs { open, open { M0 = 2 }, analyze(machine(), 4) } do
      local total = r:energy()
      each_breakdown(function(by)
        assert.equal(total, sum(r:energy { by = by }), table.concat(by, " "))
      end)
      assert.equal(total, sum(r:energy { by = "tensor" }))
      assert.equal(sum(r:latency { by = "einsum" }), r:latency())
    end
    assert.equal(analyze(machine(), 2):energy(), open { M0 = 2 }:energy())
    assert.equal(analyze(machine(), 2):latency(), open { M0 = 2 }:latency())
  end)

  it("nest in the order asked for", function()
    local r = analyze(machine(), 8)
    local by = r:energy { by = { "component", "tensor", "action" } }
    assert.equal(int(48 * 120), by.Main.Z.write)
    assert.equal(int(48 * 120), by.Main.Y.write)
    assert.equal(int(192 + 48), by.MAC.none.compute)
    assert.equal(by.Main.Z.write,
      r:energy { by = { "action", "tensor", "component" } }.write.Z.Main)
    local actions = r:actions()
    assert.equal(int(32), actions.E0.Main.A.read)
    assert.equal(int(48), actions.E1.Main.Z.read)
    assert.equal(int(0), actions.E0.Main.A.write)
    assert.equal(int(32 + 24 + 48), r:actions { by = { "component", "action" } }.Main.read)
  end)

  it("tell where time goes", function()
    local r = analyze(machine(), 8)
    assert.equal(int(192 + 48), r:latency())
    assert.same({ E0 = int(192), E1 = int(48) }, r:latency { by = "einsum" })
    assert.equal(int(134), r:latency { by = { "einsum", "component" } }.E0.Buf)
    assert.equal(int(240), r:latency { by = "component" }.MAC)
    assert.same({ E0 = "MAC", E1 = "MAC" }, r:bound_by())
    r = analyze(machine(nil, function(n) return n.read * 10 end), "M0")
    assert.equal("Buf", r:bound_by().E0)
    r = analyze(machine(nil, function(n) return n.write - 60 end), "M0") -- 164 + 192 / M0
    assert.is_false(r:bound_by().E0)
    assert.equal("MAC", r { M0 = 8 }:bound_by().E0)
    assert.equal("Buf", r { M0 = 4 }:bound_by().E0)
  end)

  it("tell what is in memory", function()
    local r = analyze(machine(), 8)
    local bits = 8 * (32 + 24 + 6)
    assert.equal(int(bits) / 4096, r:usage().Buf)
    assert.equal(int(8 * 24) / 4096, r:usage { by = "tensor" }.Buf.B)
    assert.equal(int(bits) / 4096, sum(r:usage { by = "tensor" }.Buf))
    assert.same({ E0 = int(bits) / 4096, E1 = int(0) }, r:usage { by = "step" }.Buf)
    assert.same({}, r:usage { by = "dimension" })
    assert.equal(int(7), r:area())
    assert.equal(int(7), r:area { by = "component" }.Buf)
  end)

  it("are refused where a limit is not met", function()
    local r = analyze(machine(100), 8)
    for _, name in ipairs { "energy", "latency", "actions", "usage", "area", "bound_by",
      "constraints" } do
      local x, message, kind = r[name](r)
      assert.is_nil(x)
      assert.equal("capacity", kind)
      assert.truthy(message:find("'Buf' needs 496 bits, 100 are available", 1, true), message)
    end
    local open = analyze(machine(100), "M0")
    local limit
    for _, row in ipairs(open { M0 = 8 }:constraints()) do
      if row.kind == "capacity" and row.einsum == "E0" then limit = row end
    end
    assert.equal(int(496), limit.needed)
    assert.equal(int(100), limit.available)
    assert.equal(int(0), limit.condition)
  end)

  it("name the breakdowns that exist", function()
    local r = analyze(machine(), 8)
    local function refused(pattern, name, options)
      local ok, message = pcall(function() return r[name](r, options) end)
      assert.is_false(ok)
      assert.truthy(message:find(pattern), message)
    end
    refused("energy has no breakdown by 'colour'; known: einsum, component, tensor, action",
      "energy", { by = "colour" })
    refused("latency has no breakdown by 'tensor'; known: einsum, component", "latency",
      { by = { "einsum", "tensor" } })
    refused("twice", "energy", { by = { "tensor", "tensor" } })
    refused("usage .* one", "usage", { by = { "memory", "step" } })
    refused("no option 'bye'; known: by", "actions", { bye = "tensor" })
    refused("takes a table", "area", "component")
    refused("has no 'enrgy'", "enrgy")
  end)
end)

describe("latency functions", function()
  it("get formulas once and what they are asked for", function()
    local calls = {}
    local r = analyze(machine(nil, function(n, query)
      calls[#calls + 1] = query.einsum
      assert.equal("Buf", query.component)
      assert.equal(int(8), query.throughput.read)
      collectgarbage()
      return core.max(n.read, n.write) + 5
    end), "M0")
    local latency = r:latency { by = { "einsum", "component" } }.E0.Buf
    r:energy()
    assert.same({ "E0" }, calls)
    assert.equal(int(576 + 5), r { M0 = 8 }:latency { by = { "einsum", "component" } }.E0.Buf)
    assert.is_true(#latency:symbols() <= 1)
  end)

  it("raise their errors", function()
    local r = analyze(machine(nil, function() error { mine = true } end), 8)
    local ok, e = pcall(r.latency, r)
    assert.is_false(ok)
    assert.is_true(e.mine)
    r = analyze(machine(nil, function() return "soon" end), 8)
    ok, e = pcall(r.latency, r)
    assert.is_false(ok)
    assert.truthy(tostring(e):find("latency", 1, true))
  end)
end)

describe("core.cost", function()
  local a, m = machine(), loom.mapping(text:format(8))
  local function parts()
    local core_w, core_a, core_m = model.compile(w, a, m)
    return assert(core.analyze(core_w, core_a, core_m)), core_w, core_a, core_m
  end

  it("outlives what it comes from", function()
    local r, core_w, core_a, core_m = parts()
    local c = assert(core.cost(r, core_w, core_a, core_m))
    r:close()
    collectgarbage()
    collectgarbage()
    assert.same({ "E0", "E1" }, c:einsums())
    assert.equal(c:total().energy, c:energy()[1].energy)
    c:close()
    assert.has_error(function() c:total() end)
  end)

  it("refuses what does not fit", function()
    local r, core_w, core_a, core_m = parts()
    assert.has_error(function() core.cost(core_w, r, core_a, core_m) end)
    assert.has_error(function() core.cost(r, core_w, core_a, core_m, { limits = true }) end)
    local c, message, kind = core.cost(r, core_w, core_a, core_m,
      { latencies = { Bug = function() end } })
    assert.is_nil(c)
    assert.equal("unknown_component", kind)
    assert.truthy(message:find("Buf", 1, true), message)
    assert.has_error(function()
      core.cost(r, core_w, core_a, core_m, { latencies = { Buf = 3 } })
    end)
    c = assert(core.cost(r, core_w, core_a, core_m))
    assert.has_error(function() c:einsum "E2" end)
    assert.has_error(function() c:energy "colour" end)
    assert.has_error(function() core.cost(r, core_w, core_a, core.mapping()) end)
  end)

  it("adds up for a whole block of GPT-3", function()
    local function load(path) return dofile(files.root("examples/" .. path .. ".lua")) end
    local block, tpu = load "workload/gpt3" "prefill", load "arch/tpu_v4i"
    local r = assert(loom.analyze(block, tpu, load "mapping/tpu_block"("gpt3", "prefill", "fused")))
    assert.equal(10, #r.einsums)
    assert.equal(r:energy(), sum(r:energy { by = { "component", "tensor", "action" } }))
  end)
end)

describe("a latency rule that is a function", function()
  local function failed(rule)
    local r = analyze(machine(nil, rule), 2)
    local ok, e = pcall(function() return r:latency() end)
    assert.is_false(ok)
    return e
  end

  it("returns a number or a formula that is not negative", function()
    for words, rule in pairs {
      ["returned -3: a latency is not negative"] = function() return -3 end,
      ["a latency is not negative"] = function(n) return -1 - n.read end,
      ["returned nothing: a number or an expression expected"] = function() end,
      ["returned a string"] = function() return "soon" end,
      ["nan: not a number"] = function() return 0 / 0 end,
      ["inf: not a number"] = function() return math.huge end,
      ["failed: spec/costs_spec.lua"] = function(n) return n.reads + 1 end,
      ["boom"] = function() error "boom" end,
    } do
      local e = failed(rule)
      local told = tostring(e)
      assert.equal("bad_arch", e.kind)
      assert.equal("arch.Buf.latency_rule", e.path)
      assert.truthy(told:find(words, 1, true), told)
      assert.is_nil(told:find "traceback")
      assert.is_nil(told:find "%.lua:%d+: in ")
    end
    local own = setmetatable({}, {})
    assert.equal(own, failed(function() error(own) end))
  end)

  it("may return 0", function()
    assert.is_true(core.is_expr(analyze(machine(nil, function() return 0 end), 2):latency()))
  end)
end)
