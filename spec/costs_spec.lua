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

-- The names and values of a record.
local function fields(record)
  local t = {}
  for name, value in pairs(record) do t[name] = value end
  return t
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
    assert.same({ E0 = int(192), E1 = int(48) }, fields(r:latency { by = "einsum" }))
    assert.equal(int(134), r:latency { by = { "einsum", "component" } }.E0.Buf)
    assert.equal(int(240), r:latency { by = "component" }.MAC)
    assert.same({ E0 = "MAC", E1 = "MAC" }, fields(r:bound_by()))
    r = analyze(machine(nil, function(n) return n.read * 10 end), "M0")
    assert.equal("Buf", r:bound_by().E0)
    r = analyze(machine(nil, function(n) return n.write - 60 end), "M0") -- 164 + 192 / M0
    assert.is_false(r:bound_by().E0)
    assert.equal("MAC", r { M0 = 8 }:bound_by().E0)
    assert.equal("Buf", r { M0 = 4 }:bound_by().E0)
  end)

  it("tell what is in memory", function()
    local r = analyze(machine(), 8)
    local bits = 8 * (32 + 24 + 48)
    assert.equal(int(bits) / 4096, r:usage().Buf)
    assert.equal(int(8 * 24) / 4096, r:usage { by = "tensor" }.Buf.B)
    assert.equal(int(bits) / 4096, sum(r:usage { by = "tensor" }.Buf))
    assert.same({ E0 = int(bits) / 4096, E1 = int(0) }, fields(r:usage { by = "step" }.Buf))
    assert.same({}, fields(r:usage { by = "dimension" }))
    assert.equal(int(7), r:area())
    assert.equal(int(7), r:area { by = "component" }.Buf)
  end)

  local enforcing = { "energy", "latency", "actions", "area", "bound_by", "costs_text" }

  local function assert_refused(r, expected_kind, words)
    for _, name in ipairs(enforcing) do
      local x, message, kind = r[name](r)
      assert.is_nil(x, name)
      assert.equal(expected_kind, kind)
      assert.truthy(message:find(words, 1, true), message)
    end
  end

  local function exceeded_of(r)
    local list = {}
    for _, row in ipairs(r:constraints()) do
      if row.condition == int(0) then list[#list + 1] = row end
    end
    return list
  end

  it("are refused where a limit is not met", function()
    local r = analyze(machine(300), 8)
    assert_refused(r, "capacity", "'Buf' needs 832 bits, 300 are available")
    assert_refused(analyze(machine(100), "M0"), "capacity", "'Buf' needs 192 + 80*M0 bits")
    local open = analyze(machine(300), "M0")
    assert.truthy(open:energy())
    local at = open { M0 = 8 }
    assert_refused(at, "capacity", "'Buf' needs 832 bits, 300 are available")
    for _, asked in ipairs { r, at } do
      local limit = exceeded_of(asked)[1]
      assert.equal("E0", limit.einsum)
      assert.equal(int(832), limit.needed)
      assert.equal(int(300), limit.available)
      assert.equal(int(832) / 300, asked:usage().Buf)
      assert.equal(int(8 * 24) / 300, asked:usage { by = "tensor" }.Buf.B)
    end
    local size = loom.symbol "S"
    open = analyze(machine(size), 8)
    assert.equal(int(832), exceeded_of(open { S = 100 })[1].needed)
    assert_refused(open { S = 831 }, "capacity", "'Buf' needs 832 bits, 831 are available")
    assert.truthy(open { S = 832 }:energy():is_number())
  end)

  it("are refused where numbers exceed instances, or memory together", function()
    local function pair(tile, size, units)
      local a = loom.arch {
        loom.memory { "Main", size = math.huge, read = { energy = 1 } },
        loom.memory { "Buf", size = size }, loom.fanout { "PE", x = units }, loom.compute { "MAC" },
      }
      return assert(loom.analyze(w, a, loom.mapping(([[
        Main: A B Y
        for m tile %s
          Buf: Z
          sequential
            branch
              Buf: A B
              par n tile 1 on PE.x
                for m, n, k
                  E0 on MAC
            branch
              for m, n
                E1 on MAC
      ]]):format(tile))))
    end
    local open = pair("M0", loom.symbol "S", loom.symbol "U")
    for _, case in ipairs {
      { { M0 = 2, S = 512, U = 5 }, "fanout" }, { { M0 = 8, S = 800, U = 6 } },
      { { M0 = 8, S = 831, U = 6 } }, { { M0 = 8, S = 10, U = 5 }, "fanout" },
      { { M0 = 8, S = 383, U = 6 }, "capacity" },
    } do
      local p = case[1]
      local x, message, kind = pair(p.M0, p.S, p.U):energy()
      if case[2] then assert.equal(case[2], kind) end
      local there, at_message, at_kind = open(p):energy()
      assert.equal(x, there)
      assert.equal(kind, at_kind)
      if kind then
        for _, part in ipairs { "'%w+'", "needs %d+ %w+, %d+ are" } do
          assert.equal(message:match(part), at_message:match(part))
        end
        assert.truthy(#exceeded_of(open(p)) > 0)
        assert.equal(#exceeded_of(pair(p.M0, p.S, p.U)), #exceeded_of(open(p)))
      end
    end
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
    refused("by = \"einsum\", not a table with keys %('component'%)", "energy",
      { by = { component = true } })
    refused("energy: by%[2%] is missing", "energy", { by = { "einsum", nil, "component" } })
    refused("no breakdown by '3'; known", "energy", { by = { 3 } })
    refused("no option '1'; known: by", "energy", { "tensor" })
    refused("bound_by takes no options", "bound_by", { by = "einsum" })
    refused("constraints takes no options", "constraints", { kind = "capacity" })
    refused("costs_text takes no options", "costs_text", {})
  end)

  it("tell where a mistake was made", function()
    local r = analyze(machine(), 8)
    local open = analyze(machine(), "M0")
    local chain = loom.workload { sizes = { m = 8, k = 4, n = 6, l = 5 }, bits = 8,
      "E0: T[m,n] = A[m,k] * B[k,n]", "E1: Z[m,l] = T[m,n] * C[n,l]" }
    local undecided = assert(loom.analyze(chain, machine(), loom.mapping [[
      Main: A B T C Z
      sequential
        branch
          for m tile M0
            Buf: A
            for n, m, k
              E0 on MAC
        branch
          for m tile M1
            Buf: T
            for l, m, n
              E1 on MAC
    ]]))
    for _, case in ipairs {
      { function() local _ = r:energy { by = "colour" } end, "no breakdown by 'colour'" },
      { function() local _ = r:energy({ by = "tensor" }, 3) end, "takes one table of options" },
      { function() local _ = r:bound_by { by = "einsum" } end, "takes no options" },
      { function() local _ = r.energy() end, "call it with a colon: r:energy%(%)$" },
      { function() local _ = r.latency { by = "einsum" } end, "r:latency%(%)$" },
      { function() local _ = r.notes() end, "r:notes%(%)$" },
      { function() local _ = r.E0.nest "A" end, "r:nest%(%)$" },
      { function() local _ = r.E0.path(r) end, "r:path%(%)$" },
      { function() local _ = r:energy { by = "component" }.Buff end, "nearest: Buf$" },
      { function() local _ = r:energy { by = { "component", "tensor" } }.Buf.Q end,
        "the energy by component, tensor of Buf has no 'Q'; known: " },
      { function() local _ = r:bound_by().EO end, "bound_by has no 'EO'; nearest: E0" },
      { function() local _ = open { M0 = 2 }:usage { by = "dimension" }.E2 end, "has no 'E2'" },
      { function() local _ = undecided:usage { by = "tensor" } end,
        "symbols decide when most of Buf is in use" },
      { function() r:energy { by = "component" }.Buf = 3 end, "cannot be changed" },
    } do
      local line = debug.getinfo(case[1], "S").linedefined
      local ok, message = pcall(case[1])
      assert.is_false(ok, case[2])
      assert.truthy(message:find(case[2]), message)
      assert.equal(tostring(line), message:match "costs_spec.lua:(%d+):", message)
    end
  end)

  it("are records in the order of their names", function()
    local r = analyze(machine(), 8)
    local names_seen = {}
    for name in pairs(r:energy { by = "component" }) do names_seen[#names_seen + 1] = name end
    assert.same({ "Buf", "MAC", "Main" }, names_seen)
    local by = r:energy { by = "component" }
    assert.is_nil(by[1])
    assert.is_nil(r:usage { by = "memory" }.MAC)
    assert.is_nil(r:energy { by = { "component", "tensor" } }.MAC.A)
    assert.equal(0, #by)
    assert.equal("E0 MAC\nE1 MAC", tostring(r:bound_by()))
    assert.truthy(tostring(r:latency { by = { "einsum", "component" } }):find "^E0\n  Buf 134\n")
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
