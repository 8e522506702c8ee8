-- SPDX-License-Identifier: MIT
-- The costs as text: what is printed is what the methods give, as formulas and at points, within
-- 100 columns; limits that are exceeded are reported.

local case = require "einloom.case"
local files = require "support.files"
local lfs = require "lfs"
local loom = require "einloom"

local function example(path) return dofile(files.root("examples/" .. path .. ".lua")) end

local function block(way)
  return assert(loom.analyze(example "workload/gpt3" "prefill", example "arch/tpu_v4i",
    example "mapping/tpu_block"("gpt3", "prefill", way)))
end

-- The lines that are indented below the first line that matches, without their indentation.
local function section(text, pattern)
  local lines, depth = {}, nil
  for line in text:gmatch "[^\n]+" do
    local indent = #line:match "^ *"
    if depth and indent <= depth then break end
    if depth then lines[#lines + 1] = line:match "^ *(.*)$" end
    if not depth and line:find(pattern) then depth = indent end
  end
  assert.is_not_nil(depth, pattern .. " in\n" .. text)
  return lines
end

local function joined(text, pattern) return table.concat(section(text, pattern), "\n") end

-- The exact number that a row shows, the one at the point if there is one.
local function number_of(line)
  return loom.number(line:match "= ([%d/]+)" or line:match "  ([%d/]+)")
end

local function assert_fits(text, id)
  for line in text:gmatch "[^\n]+" do
    assert.is_true(#line <= 100, id .. ": " .. line)
    assert.is_nil(line:find "%s$", id .. ": " .. line)
  end
end

local small = loom.workload { sizes = { m = 8, k = 4 }, bits = 8, "Z[m] = A[m,k] * B[k]" }

local function machine(change)
  local buffer = {
    "Buf", size = 512, read = { energy = 2 }, write = { energy = 3, throughput = 4 },
  }
  local unit = { "MAC", energy = 1, throughput = 1 }
  for key, value in pairs(change or {}) do (unit[key] and unit or buffer)[key] = value end
  return loom.arch {
    loom.memory { "Main", size = math.huge }, loom.memory(buffer),
    loom.fanout { "PE", x = 2, y = 3 }, loom.compute(unit),
  }
end

local function analyze(arch, tile, units)
  return assert(loom.analyze(small, arch, loom.mapping(([[
    Main: A B Z
    for m tile %s
      Buf: A
      par k tile %s on PE.x
      for m, k
        MAC
  ]]):format(tile, units or 2))))
end

describe("the costs as text", function()
  it("show what the methods give", function()
    for _, r in ipairs {
      example "matmul" { M0 = 16 }, example "fused" { M0 = 8 }, block "fused",
    } do
      local text = r:costs_text()
      assert.are.equal(r:energy(), number_of(text:match "^energy[^\n]*"))
      for _, by in ipairs { "component", "tensor", "action" } do
        local rows, known, count = section(text, "^  by " .. by .. "$"), r:energy { by = by }, 0
        for _, line in ipairs(rows) do
          assert.are.equal(known[line:match "^%S+"], number_of(line), line)
          count = count + 1
        end
        for _, energy in pairs(known) do
          if energy ~= loom.number(0) then count = count - 1 end
        end
        assert.are.equal(0, count)
      end
      assert.are.equal(r:latency(), number_of(text:match "\n(latency[^\n]*)"))
      local latency, bound = r:latency { by = "einsum" }, r:bound_by()
      for _, line in ipairs(section(text, "^  by einsum$")) do
        local name = line:match "^%S+"
        assert.are.equal(latency[name], number_of(line), line)
        local component, kind = line:match "bound by (%S+) %((%a[%a ]+)%)$"
        assert.are.equal(bound[name], component)
        local class = r.arch:component(component).class
        assert.are.equal(class == "Compute" and "compute unit" or "memory", kind)
      end
    end
  end)

  it("fit 100 columns for every golden case, with and without a point", function()
    local shown, refused = 0, 0
    for name in lfs.dir(files.path "golden/mapping") do
      if name:match "%.json$" and name ~= "tiles.json" and name ~= "errors.json" then
        for _, c in ipairs(case.load(files.path("golden/mapping/" .. name))) do
          local r = assert(loom.analyze(c.workload, c.arch, c.mapping, c.options))
          for _, at in ipairs { r, r(c.samples[1] or {}) } do
            local text, _, kind = at:costs_text()
            if text then
              assert_fits(text, c.id)
              shown = shown + 1
            else
              assert.truthy(kind:find "^capacity" or kind == "fanout", kind)
              refused = refused + 1
            end
          end
        end
      end
    end
    assert.is_true(shown > 400 and refused > 0 and refused < shown // 10)
  end)

  it("put numbers beside formulas, with shares", function()
    local r = analyze(machine(), "M0")
    local text = r:costs_text()
    assert.truthy(text:find("\n  Buf +32%*M0 of 512 bits\n    A +32%*M0 bits\n"), text)
    assert.truthy(text:find("\nlimits\n  Buf +32%*M0 <= 512 bits$"), text)
    text = r { M0 = 4 }:costs_text()
    assert.truthy(text:find("\n  Buf +32%*M0 of 512 bits += 128 bits, 25 %%\n"), text)
    assert.truthy(text:find("\n    A +32%*M0 bits += 128 bits\n"), text)
    assert.truthy(text:find("\n  Buf +32%*M0 <= 512 bits += 128$"), text)
    text = analyze(machine(), 4):costs_text()
    assert.truthy(text:find("\n  Buf +128 of 512 bits, 25 %%\n"), text)
    assert.is_nil(text:find("limits", 1, true))
  end)

  it("wrap formulas that are long", function()
    local sizes, terms = {}, {}
    for i = 1, 9 do
      sizes["m" .. i], terms[i] = 64, "m" .. i
    end
    local w = loom.workload { sizes = sizes, bits = 8,
      ("Z[%s] = A[%s]"):format(table.concat(terms, ","), table.concat(terms, "+")) }
    local loops = {}
    for i = 1, 9 do loops[i] = ("for m%d tile LongName%d"):format(i, i) end
    local m = loom.mapping(("Main: A Z\n%s\nBuf: A\nfor %s\nMAC"):format(table.concat(loops, "\n"),
      table.concat(terms, ", ")))
    local r = assert(loom.analyze(w, machine { size = math.huge }, m))
    local text = r:costs_text()
    assert_fits(text, "wide")
    for i = 1, 9 do assert.truthy(text:find("LongName" .. i, 1, true)) end
    local point = {}
    for i = 1, 8 do point["LongName" .. i] = "2*Other" .. i end
    assert_fits(r(point):costs_text(), "wide, other formulas")
    assert_fits(tostring(r(point)), "wide, nest with other formulas")
  end)

  it("say what bounds an einsum, or what may", function()
    local r = analyze(machine { throughput = 1, latency_rule = function(n) return n.write / 3 end },
      4)
    assert.truthy(r:costs_text():find "Z +256/3 %(85.3333%), bound by Buf %(memory%)\n")
    r = analyze(machine { latency_rule = function(n) return n.write / loom.symbol "R" end }, 4)
    assert.truthy(joined(r:costs_text(), "^  by einsum"):find
      "bound by Buf or MAC: symbols decide$")
    assert.truthy(r:costs_text():find "latency +max%(16, 256/R%)\n")
    local layer = example "workload/resnet50" "conv3"
    r = assert(loom.analyze(layer, example "arch/eyeriss_like",
      (example "mapping/row_stationary"(layer))))
    assert.truthy(joined(r:costs_text(), "^  by einsum"):find
      "bound by DRAM or GLB or InputSpad or PsumSpad: symbols decide$")
    assert.truthy(joined(r { M1 = 64, C1 = 16 }:costs_text(), "^  by einsum"):find
      "= 1476608, bound by PsumSpad %(memory%)$")
  end)

  it("leave out what nothing was given for", function()
    local r = assert(loom.analyze(small, loom.arch {
      loom.memory { "Main", size = math.huge }, loom.compute { "MAC" },
    }, loom.mapping "Main: A B Z\nfor m, k\nMAC"))
    assert.are.equal("energy: none is given\nlatency: no throughput is limited\n"
      .. "memory (the most in use)\n  Main  352 bits\n    A   256 bits\n    B   32 bits\n"
      .. "    Z   64 bits", r:costs_text())
  end)

  it("show leakage and area where they are given", function()
    local text = analyze(machine(), 4):costs_text()
    assert.is_nil(text:find "leak")
    assert.is_nil(text:find "area")
    local r = analyze(machine { leak_power = 2, area = 5 }, 4)
    text = r:costs_text()
    assert.truthy(joined(text, "^  by action"):find("leak +128, "), text)
    assert.are.same({ "Buf      128" }, section(text, "^  leakage +128, "))
    assert.truthy(text:find("\narea +5\n  Buf +5, 100 %%"), text)
  end)

  it("name einsums as einsums, whatever they are called", function()
    local w = loom.workload { sizes = { m = 16, k = 8 }, bits = 8, "compute: Z[m] = A[m,k]",
      "all: Y[m] = Z[m]" }
    local a = loom.arch {
      loom.memory { "DRAM", size = math.huge }, loom.memory { "GLB", size = 1024 },
      loom.fanout { "PE", x = 4 }, loom.compute { "MAC", throughput = 1 },
    }
    local text = assert(loom.analyze(w, a, loom.mapping [[
      DRAM: A Y Z
      sequential
        branch
          for m tile M0
            GLB: A
            for m, k
              compute on MAC
        branch
          for m
            all on MAC]])):costs_text()
    for _, line in ipairs {
      "    compute                      128, bound by MAC (compute unit)\n",
      "    during einsum compute, peak ", "    during einsum all ",
      "\ninstances in use (by einsum)\n  compute ", "\n  GLB, einsum compute",
    } do assert.truthy(text:find(line, 1, true), text) end
  end)

  it("show the instances in use", function()
    local r = analyze(machine(), 4)
    assert.truthy(joined(r:costs_text(), "^instances in use"):find
      "^Z +PE.x 2 of 2, PE.y 1 of 3: 33.33 %%$")
    r = analyze(machine(), 4, "K0")
    assert.truthy(r:costs_text():find "Z +PE.x ceil%(4/K0%) of 2, PE.y 1 of 3\n")
    assert.truthy(r { K0 = 4 }:costs_text():find
      "Z +PE.x ceil%(4/K0%) = 1 of 2, PE.y 1 of 3: 16.67 %%\n")
  end)
end)

describe("the costs of several einsums", function()
  it("show memory over time and what is there at the peak", function()
    local r = example "fused" { M0 = 8 }
    local rows = section(r:costs_text(), "^  GLB +65536")
    assert.truthy(rows[1]:find "^during einsum First, peak  65536 %+ 1024%*M0 bits += 73728 bits$")
    for i, pattern in ipairs { "^A +512%*M0 bits += 4096 bits$", "^B +32768 bits$",
      "^T +512%*M0 bits += 4096 bits$", "^C +32768 bits$",
      "^during einsum Second +65536 %+ 1024%*M0 bits += 73728 bits$" } do
      assert.truthy(rows[i + 1]:find(pattern), rows[i + 1])
    end
    assert.are.equal(6, #rows)
  end)

  it("show what is there at all times where symbols decide which is the peak", function()
    local r = assert(loom.analyze(loom.workload {
      sizes = { m = 8, n = 8, k = 2 }, bits = 8, "E0: Y[m,k] = A[m]", "E1: Z[n,k] = B[n]",
    }, machine(), loom.mapping [[
      Main: A Y B Z
      sequential
        branch
          for m tile M0
            Buf: A
            for k, m
              E0 on MAC
        branch
          for n tile N0
            Buf: B
            for k, n
              E1 on MAC
    ]]))
    local text = joined(r:costs_text(), "^  Buf +max")
    assert.truthy(text:find("^during einsum E0 +8%*M0 bits\nA +8%*M0 bits\n"
      .. "during einsum E1 +8%*N0 bits\nB "), text)
    text = joined(r { M0 = 2, N0 = 4 }:costs_text(), "^  Buf +max")
    assert.truthy(text:find("^during einsum E0 +8%*M0 bits += 16 bits\n"
      .. "during einsum E1, peak "), text)
    assert.truthy(r:costs_text():find "limits\n  Buf, einsum E0 +8%*M0 <= 512 bits\n")
  end)

  it("tell that stages of a pipeline run at the same time", function()
    local text = block "pipelined":costs_text()
    assert_fits(text, "pipelined")
    assert.are.equal(10, #section(text, "^  by einsum %(some run at the same time%)$"))
    assert.truthy(block "fused":costs_text():find "\n  by einsum\n")
  end)
end)

describe("a limit that is exceeded", function()
  it("is told instead of costs, for numbers and at points", function()
    local text, message, kind = analyze(machine { size = 100 }, 4):costs_text()
    assert.is_nil(text)
    assert.are.equal("capacity", kind)
    assert.truthy(message:find("in 'Buf' needs 128 bits, 100 are available", 1, true), message)
    local open = analyze(machine { size = 100 }, "M0")
    assert.truthy(open:costs_text():find "32%*M0 <= 100 bits")
    assert.truthy(open { M0 = 2 }:costs_text():find "32%*M0 <= 100 bits += 64$")
    text, message, kind = open { M0 = 4 }:costs_text()
    assert.is_nil(text)
    assert.are.equal("capacity", kind)
    assert.are.equal("einsum 'Z': what is reserved in 'Buf' needs 128 bits, 100 are available",
      message)
    text, message, kind = analyze(machine(), 4, "K0") { K0 = 1 }:costs_text()
    assert.is_nil(text)
    assert.are.equal("fanout", kind)
    assert.are.equal("einsum 'Z': dimension 'x' of 'PE' needs 4 instances, 2 are available",
      message)
  end)

  it("gives eval the status 1 after the nest; other points are shown", function()
    local script = ([[
      local loom = require "einloom"
      return loom.analyze(loom.workload { sizes = { m = 8, k = 2 }, bits = 8, "Z[m,k] = A[m]" },
        loom.arch { loom.memory { "Main", size = math.huge }, loom.memory { "Buf", size = 32 },
          loom.compute { "MAC" } },
        loom.mapping "Main: A Z\nfor m tile %s\nBuf: A\nfor k, m\nMAC")
    ]])
    files.scratch(script:format "M0", function(path)
      local status, out, err = files.command("eval", path, "--at", "M0=8", "--at", "M0=4")
      assert.are.equal(1, status)
      assert.are.equal("einloom: --at M0=8: einsum 'Z': what is reserved in 'Buf' needs 64 bits, "
        .. "32 are available (capacity)\n", err)
      assert.truthy(out:find("; at M0=8\n", 1, true) and out:find("; at M0=4\n", 1, true))
      local _, count = out:gsub("memory %(the most in use%)", "")
      assert.are.equal(1, count)
      status, out, err = files.command("eval", path)
      assert.are.equal(0, status)
      assert.are.equal("", err)
      assert.truthy(out:find("8*M0 <= 32 bits", 1, true))
    end, ".lua")
    files.scratch(script:format "8", function(path)
      local status, out, err = files.command("eval", path)
      assert.are.equal(1, status)
      assert.truthy(err:find "needs 64 bits, 32 are available %(capacity%)\n$")
      assert.truthy(out:find "^Z: Z%[m, k%] = A%[m%]" and out:find "operations", out)
      assert.is_nil(out:find "memory")
    end, ".lua")
  end)
end)
