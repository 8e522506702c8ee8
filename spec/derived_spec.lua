-- SPDX-License-Identifier: MIT
local loom = require "einloom"
local front = require "support.front"

local function machine(glb)
  glb[1], glb.size = "GLB", glb.size or 1024
  return loom.arch { loom.memory(glb), loom.compute { "MAC", energy = 1 } }
end

local function refused(glb, words)
  local e = front.raised(machine, glb)
  assert.equal("bad_arch", e.kind)
  front.mentions(tostring(e), words)
end

describe("a number of a component given as a function", function()
  it("is what the function returns for the component and the action", function()
    local calls = {}
    local function energy(component, action)
      calls[#calls + 1] = component.name .. "." .. action.name .. "." .. tostring(action)
      return component.size * action.bits_per_action / (action.name == "read" and 1 or 2)
    end
    local a = machine {
      read = { energy = energy, bits_per_action = 16 },
      write = { energy = energy, bits_per_action = 64 },
      leak_power = function(component, action)
        assert.is_nil(action)
        return component.size / 8
      end,
    }
    table.sort(calls)
    assert.same({ "GLB.read.read", "GLB.write.write" }, calls)
    local glb = a:component "GLB"
    assert.equal(16384, glb.actions[1].energy)
    assert.equal(32768, glb.actions[2].energy)
    assert.equal(128, glb.leak_power)
    assert.equal("integer", math.type(glb.leak_power))
  end)

  it("stands wherever a number may", function()
    local function n(x) return function() return x end end
    local a = loom.arch {
      loom.memory { "DRAM", size = n(math.huge), read = { throughput = n(math.huge),
        bits_per_action = n(8), values_per_action = { A = n(3), All = 2 } },
        bits_per_value = { Outputs = n(20) }, values_per_action = n(4), area = n(7),
        actions_scale = n(2), n_parallel_instances = n(5) },
      loom.toll { "Link", read = { energy = n(2.5) } },
      loom.fanout { "PE", x = n(4), leak_power = n(3), spatial = nil,
        y = { function(component, d) return #component.name + #d.name + d.usage_scale end,
          usage_scale = n(2) } },
      loom.compute { "MAC", energy = n(1), throughput = n(9) },
    }
    local b = loom.arch {
      loom.memory { "DRAM", size = math.huge, read = { throughput = math.huge, bits_per_action = 8,
        values_per_action = { A = 3, All = 2 } }, bits_per_value = { Outputs = 20 },
        values_per_action = 4, area = 7, actions_scale = 2, n_parallel_instances = 5 },
      loom.toll { "Link", read = { energy = 2.5 } },
      loom.fanout { "PE", x = 4, leak_power = 3, y = { 5, usage_scale = 2 } },
      loom.compute { "MAC", energy = 1, throughput = 9 },
    }
    assert.same(b.nodes, a.nodes)
  end)

  it("works in the normal form", function()
    local a = loom.arch { nodes = {
      { class = "Container", name = "PE", spatial = {
        { name = "x", fanout = function(c, d) return #c.name + #d.name end } } },
      { class = "Compute", name = "MAC", actions = {
        { name = "compute", energy = function(c, action) return #c.name + #action.name end } } },
    } }
    assert.equal(3, a:component("PE").spatial[1].fanout)
    assert.equal(10, a:component("MAC").actions[1].energy)
  end)

  it("may be a formula", function()
    local size = loom.symbol "S"
    local a = machine { size = size, read = { energy = function(c) return c.size / 2 + 1 end } }
    assert.is_true(a:component("GLB").actions[1].energy == size / 2 + 1)
  end)

  it("may use other numbers that are functions, each called once", function()
    local count = 0
    local a = machine {
      size = function() count = count + 1; return 512 end,
      area = function(c) return c.size * 2 end,
      leak_power = function(c) return c.area + c.size + c.read.energy end,
      read = { energy = function(c, action) return c.area + action.bits_per_action end,
        bits_per_action = function() return 8 end },
    }
    assert.equal(1, count)
    assert.equal(512 + 1024 + 1032, a:component("GLB").leak_power)
  end)

  it("sees the component as it is written, by pairs too, and cannot change it", function()
    local keys, failed = {}, nil
    machine {
      keep = "All", bits_per_value = { A = 4 },
      area = function(c)
        for key in pairs(c) do keys[#keys + 1] = key end
        failed = not pcall(function() c.size = 1 end)
        return c.bits_per_value.A
      end,
    }
    table.sort(keys)
    assert.same({ "bits_per_value", "class", "keep", "name", "size" }, keys)
    assert.is_true(failed)
  end)

  it("is refused with its place when it goes wrong", function()
    refused({ read = { energy = function() end } },
      { "arch[1] (GLB).read.energy", "returned nothing" })
    refused({ read = { energy = function() return {} end } }, { "a table", "read.energy" })
    refused({ read = { energy = function() return "5" end } }, { "a string", "read.energy" })
    refused({ leak_power = function() return 0 / 0 end }, { "(GLB).leak_power", "nan" })
    refused({ area = function() return -2 end }, { "(GLB).area", "-2 is less than 0" })
    refused({ area = function() error "no such thing" end },
      { "(GLB).area", "its function failed", "no such thing", "derived_spec.lua" })
    refused({ keep = function() return 3 end }, { "(GLB).keep", "set expression expected" })
    refused({ area = function(c) return c.leak_power end,
      leak_power = function(c) return c.area end }, { "depends on itself" })
    refused({ aera = function() error "never called" end }, { "unknown key 'aera'", "area" })
  end)

  it("ends on tables that hold themselves", function()
    local circle = {}
    circle.circle = circle
    refused({ bits_per_value = circle }, { "(GLB).bits_per_value.circle" })
    refused({ area = function() return 1 end, bits_per_value = circle },
      { "(GLB).bits_per_value.circle" })
  end)

  it("names the innermost place that went wrong", function()
    refused({ area = function(c) return c.read.energy end,
      read = { energy = function() error "broken" end } }, { "(GLB).read.energy: ", "broken" })
  end)
end)
