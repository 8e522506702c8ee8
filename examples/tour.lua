-- SPDX-License-Identifier: MIT
-- Machines, workloads and mappings together: `einloom run examples/tour.lua` goes through all of
-- them, `einloom run examples/tour.lua cim simba` through those whose names begin like this.
local loom = require "einloom"

local starts = { ... }
local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""

local function load(folder, name) return dofile(here .. folder .. "/" .. name .. ".lua") end
local function machine(name) return load("arch", name) end
local function workload(name, ...) return load("workload", name)(...) end
local function mapping(name) return load("mapping", name) end

local all = {}

-- A pair: its name, machine, workload, mapping, and values of open tile shapes: a point, or a list
-- of points of which the first that fits is taken.
local function pair(name, ...) all[#all + 1] = { name, ... } end

for _, way in ipairs { "unfused", "fused" } do
  local chain = workload("matmul_chain", { m = 1024, widths = { 256, 256, 256 } })
  pair("chain, " .. way, machine "simple", chain, mapping "chain"(way, "Main", "MAC"), { M0 = 64 })
  pair("snowcat chain, " .. way, machine "snowcat", chain, mapping "chain"(way, "Backing", "Unit"),
    { M0 = 64 })
end
for _, way in ipairs { "unfused", "fused" } do
  pair("mobilenet bottleneck4, " .. way, machine "simple",
    workload("mobilenet_v2", "bottleneck4", 8, "repeats"), mapping "inverted_residual"[way],
    { E0 = 32 })
end

-- Layers of networks for image classification, on arrays whose mappings serve all of them.
local layers = {
  resnet50 = {
    "conv1", "conv2", "conv3_shortcut", "conv3", "conv3_reduce", "conv3_expand", "conv4",
    "conv4_reduce", "conv4_expand", "conv5", "conv5_reduce", "conv5_expand", "fc",
  },
  mobilenet_v2 = {
    "first", "bottleneck2_filter", "bottleneck5_expand", "bottleneck5_filter",
    "bottleneck5_project", "bottleneck7_filter", "last", "classifier",
  },
}

local function convolutions(name, arch, map, bits)
  for _, network in ipairs { "resnet50", "mobilenet_v2" } do
    for _, layer in ipairs(layers[network]) do
      local load_ = workload(network, layer, bits)
      pair(("%s %s %s"):format(name, network, layer), arch, load_, map(load_))
    end
  end
end

convolutions("eyeriss", machine "eyeriss_like", mapping "row_stationary", 16)
convolutions("nvdla", machine "nvdla", mapping "nvdla_conv", 8)
convolutions("simba", machine "simba", mapping "simba_conv", 8)
pair("cim matmul", machine "cim_macro",
  workload("matmul_chain", { m = 256, widths = { 256, 64 }, bits = 4 }), mapping "cim_matmul")
for _, way in ipairs { "unfused", "late", "rows" } do
  pair("snowcat attention, " .. way, machine "snowcat",
    workload("attention", { h = 32, m = 2048, p = 2048, e = 128 }),
    mapping "snowcat_attention"[way], { M0 = 128 })
end
-- About as large as the MLP0 of "In-Datacenter Performance Analysis of a Tensor Processing Unit",
-- ISCA 2017, table 1: five layers, 20 million weights, 200 rows at once.
for _, way in ipairs { "unfused", "fused" } do
  local widths = { 2048, 2048, 2048, 2048, 2048, 2048 }
  local chain = workload("matmul_chain", { m = 200, widths = widths, bits = 16 })
  pair("tpu chain, " .. way, machine "tpu_v4i", chain, mapping "tpu_chain"(chain, way))
end
for _, way in ipairs { "unfused", "fused", "pipelined" } do
  pair("tpu attention, " .. way, machine "tpu_v4i",
    workload("attention", { h = 32, m = 2048, p = 2048, e = 128 }), mapping "tpu_attention"[way])
end
local ways = { prefill = { "unfused", "fused", "pipelined" }, decode = { "unfused", "fused" } }
for _, model in ipairs { "gpt3", "llama3" } do
  for _, phase in ipairs { "prefill", "decode" } do
    for _, way in ipairs(ways[phase]) do
      pair(("%s %s, %s"):format(model, phase, way), machine "tpu_v4i",
        workload(model, phase, phase == "decode" and 8 or 1),
        mapping "tpu_block"(model, phase, way))
    end
  end
end

local function number(e)
  local exact = e:tointeger()
  return exact and exact < 1e15 and ("%d"):format(exact) or ("%.6g"):format(e:tonumber())
end

local labels = { { "compute", "operations" }, { "read", "reads" }, { "write", "writes" } }

-- Of every component that is used: what it does, the energy that takes, and how full it gets.
local function components(result, arch)
  local actions = assert(result:actions { by = { "component", "action" } })
  local energy = assert(result:energy { by = "component" })
  local full = assert(result:usage { by = "memory" })
  for _, node in ipairs(arch.components) do
    local counts = actions[node.name]
    if counts then
      local done = {}
      for _, label in ipairs(labels) do
        local count = counts[label[1]]
        if count then done[#done + 1] = ("%15s %s"):format(number(count), label[2]) end
      end
      local part = full[node.name] and full[node.name]:tonumber() or 0
      local filled = part > 0 and (", %.1f %% full"):format(100 * part) or ""
      print(("  %-10s %-44s energy %s%s"):format(node.name, table.concat(done, " "),
        number(energy[node.name]), filled))
    end
  end
end

-- What each einsum waits for.
local function bounds(result)
  local by, names = assert(result:bound_by()), {}
  for _, einsum in ipairs(result.einsums) do
    local component = by[einsum.name]
    if not names[component] then
      names[#names + 1], names[component] = component, {}
    end
    table.insert(names[component], einsum.name)
  end
  local parts = {}
  for i, component in ipairs(names) do
    parts[i] = component .. " (" .. table.concat(names[component], ", ") .. ")"
  end
  return table.concat(parts, ", ")
end

-- The result at the first point at which no limit is exceeded.
local function fitting(result, points)
  for _, point in ipairs(points) do
    local there = result(point)
    if there:energy() then return there end
  end
  error "no point fits"
end

local function report(name, arch, load_, map, point)
  local result = assert(loom.analyze(load_, arch, map))
  if point then result = point[1] and fitting(result, point) or result(point) end
  print(name)
  components(result, arch)
  print(("  energy %s, latency %s"):format(number(result:energy()), number(result:latency())))
  print("  bound by " .. bounds(result))
end

local function wanted(name)
  if #starts == 0 then return true end
  for _, start in ipairs(starts) do
    if name:sub(1, #start) == start then return true end
  end
  return false
end

for _, t in ipairs(all) do
  if wanted(t[1]) then report(table.unpack(t, 1, 5)) end
end
