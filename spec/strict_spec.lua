-- SPDX-License-Identifier: MIT
-- Nothing that is written down is left out: what has no place is refused.
local loom = require "einloom"
local front = require "support.front"

local function refused(kind, words, f, ...)
  local e = front.raised(f, ...)
  assert.equal(kind, e.kind, tostring(e))
  front.mentions(tostring(e), words)
end

describe("constructors of nodes", function()
  it("refuse what has no place", function()
    for _, case in ipairs {
      { loom.temporal, { "m", 4, 5 }, "loom.temporal: [3]" },
      { loom.spatial, { "m", 4, 5, 6, on = "P.x" }, "loom.spatial: [" },
      { loom.compute_node, { "MAC", "Z" }, "loom.compute_node: [2]" },
      { loom.compute_node, { "MAC", component = "MAC" }, "component is given twice" },
      { loom.temporal, { "m", 4, tile = 4 }, "tile_shape is given twice" },
      { loom.temporal, { "m", tile = 4, tile_shape = 4 }, "tile_shape is given twice" },
      { loom.temporal, { "m", [2.5] = 4 }, "[2.5]" },
      { loom.temporal, { "m", [0] = 4 }, "[0]" },
      { loom.storage, { "G", "A", tensors = { "B" } }, "tensors is given twice" },
      { loom.storage, { "G", "A", nil, "B" }, "" },
      { loom.storage, { "G", "A", [true] = "B" }, "[true]" },
      { loom.sequential, { {}, branches = {} }, "branches is given twice" },
      { loom.spatial, { "m", 4, on = "P.x", dim = "y" }, "on says" },
    } do
      refused("bad_mapping", { case[3] }, case[1], case[2])
    end
  end)

  it("take names in either way", function()
    assert.equal("G", loom.storage { "A", component = "G" }.component)
    assert.equal("A", loom.storage { "A", component = "G" }.tensors[1])
    assert.equal("A", loom.toll_node { "G", tensors = { "A" } }.tensors[1])
    assert.equal(1, loom.temporal { "m" }.tile_shape)
  end)
end)

describe("lists of the normal form", function()
  local function workload(change)
    local e = { name = "E", tensors = {
      { tensor = "A", projection = { { "M", "m" } }, bits_per_value = 8 },
      { tensor = "Z", projection = { { "M", "m" } }, output = true, bits_per_value = 8 },
    } }
    local def = { rank_variables = { m = 4 }, einsums = { e } }
    change(def, e)
    return def
  end

  it("of a workload have nothing but positions", function()
    for i, change in ipairs {
      function(_, e) e.tensors[1].projection[1][3] = "x" end,
      function(_, e) e.tensors[1].projection[1][2] = nil end,
      function(_, e) e.tensors[1].projection[1].rank = "M" end,
      function(_, e) e.tensors[1].projection.M = "m" end,
      function(_, e) e.tensors.extra = e.tensors[1] end,
      function(_, e) e.tensors[4] = e.tensors[1] end,
      function(_, e) e.tensors[1][1] = "A" end,
      function(_, e) e[2] = "A" end,
      function(def) def.einsums = { E = def.einsums[1] } end,
      function(def) def.einsums = "E" end,
      function(def) def[1.5] = "E" end,
      function(def) def[3] = "Y[m] = A[m]" end,
      function(def) def.shared_tensors = { A = true } end,
      function(def) def.renames = { input = { "A", "Z" } } end,
    } do
      local def = workload(change)
      local ok, e = pcall(loom.workload, def)
      assert.is_false(ok, "change " .. i)
      assert.equal("bad_workload", e.kind, tostring(e))
    end
    loom.workload(workload(function() end))
  end)

  it("of a mapping have nothing but positions", function()
    local function node() return { node = "storage", component = "D", tensors = { "A" } } end
    for i, nodes in ipairs {
      { { node = "storage", component = "D", tensors = { A = 1 } } },
      { { node = "storage", component = "D", tensors = { "A", nil, "B" } } },
      { { node = "storage", component = "D", tensors = { "A", x = "B" } } },
      { { node = "storage", component = "D", tensors = { "A" }, "B" } },
      { node(), nil, node() },
      { node(), x = node() },
      { nodes = { a = node() } },
      { nodes = { node() }, node() },
      { nodes = false },
      { { node = "sequential", branches = { a = { node() } } } },
      { { node = "sequential", branches = { { a = node() } } } },
      { { node = "sequential", branches = { 3 } } },
    } do
      local ok, e = pcall(loom.mapping, nodes)
      assert.is_false(ok, "mapping " .. i)
      assert.equal("bad_mapping", e.kind, tostring(e))
    end
  end)

  it("of an architecture have nothing but positions", function()
    local function mac() return loom.compute { "MAC" } end
    local function memory(t)
      t.size, t[1] = 4, "G"
      return { loom.memory(t), mac() }
    end
    for i, make in ipairs {
      function() return { nodes = { x = mac() } } end,
      function() return { nodes = mac() } end,
      function() return { mac(), nil, mac() } end,
      function() return memory { read = { 5 } } end,
      function() return memory { actions = { read = { energy = 1 } } } end,
      function() return memory { actions = 3 } end,
      function() return { loom.fanout { "P", x = { 14, 12 } }, mac() } end,
      function() return { loom.fanout { "P", x = { fanout = 14, 12 } }, mac() } end,
      function() return { loom.fanout { "P", x = { 14, may_reuse = { A = 1 } } }, mac() } end,
      function() return { loom.fanout { "P", spatial = { { name = "x", fanout = 2 }, y = 3 } },
        mac() } end,
      function() return { loom.fanout { "P", spatial = { { name = "x", fanout = 2 } }, y = 3 },
        mac() } end,
      function() return { loom.compute { "MAC", latency_rule = { constant = 3, 4 } } } end,
      function() return { loom.compute { "MAC", 4 } } end,
      function() return { loom.compute { "MAC", [1.5] = 4 } } end,
      function() return { mac(), name = {} } end,
      function() return { { class = "Fork", branches = { a = { mac() } } } } end,
      function() return { { class = "Fork", branches = { { a = mac() } } } } end,
      function() return { { class = "Fork", branches = 3 } } end,
      function() return { loom.fork { { mac() }, x = { mac() } } } end,
      function() return { loom.fork { { mac() }, branches = { { mac() } } } } end,
    } do
      local ok, e = pcall(function() return loom.arch(make()) end)
      assert.is_false(ok, "architecture " .. i)
      assert.equal("bad_arch", e.kind, tostring(e))
    end
  end)
end)

describe("a key of loom.fanout", function()
  it("that is a key of something, or nearly, is no dimension unless it is in spatial", function()
    for _, key in ipairs { "sise", "size", "read", "wrte", "fanout", "leak_powr", "troughput",
      "energi", "direction", "may_reuse", "clas" } do
      refused("bad_arch", { key, "spatial = {" }, loom.fanout, { "G", [key] = 4 })
      local a = loom.arch { loom.fanout { "G", spatial = { [key] = 4 } }, loom.compute { "M" } }
      assert.equal(4, a:component("G").spatial[1].fanout)
    end
  end)

  it("is a dimension otherwise", function()
    for _, key in ipairs { "x", "X", "row", "rows", "cols", "lane", "core", "bank", "pe" } do
      local a = loom.arch { loom.fanout { "G", [key] = 4 }, loom.compute { "M" } }
      assert.equal(key, a:component("G").spatial[1].name)
    end
  end)
end)

describe("tables that hold themselves", function()
  it("are refused with their place", function()
    local nodes = { loom.storage { "D", "A" } }
    nodes[2] = { node = "sequential", branches = { nodes, nodes } }
    local e = front.raised(loom.mapping, { nodes = nodes })
    assert.equal("depth", e.kind)
    front.mentions(tostring(e), { "mapping.nodes[2].branches[1]", "inside itself" })
    local read = { energy = 1 }
    read.more = read
    assert.equal("bad_arch", front.raised(loom.arch,
      { loom.memory { "G", size = 1, read = read }, loom.compute { "M" } }).kind)
    local ways = {}
    ways[1] = { class = "Fork", branches = { ways, ways } }
    front.mentions(tostring(front.raised(loom.arch, ways)), { "branches[1]", "inside itself" })
    local def = { sizes = { m = 1 }, bits = 8 }
    def.einsums = { def }
    assert.equal("bad_workload", front.raised(loom.workload, def).kind)
  end)

  it("may stand side by side", function()
    local branch = { loom.temporal { "m" }, loom.compute_node "MAC" }
    local m = loom.mapping { loom.sequential { branch, branch } }
    assert.equal(2, #m.nodes[1].branches)
  end)
end)

describe("names of sets", function()
  it("are no names of tensors, in any spelling", function()
    for name in pairs(require "einloom.sets".names) do
      refused("bad_workload", { name, "set of tensors" }, loom.workload,
        { sizes = { m = 1 }, bits = 8, ("Z[m] = %s[m]"):format(name) })
      refused("bad_workload", { name, "set of tensors" }, loom.workload,
        { sizes = { m = 1 }, bits = 8, ("%s[m] = A[m]"):format(name) })
      refused("bad_workload", { name, "set of tensors" }, loom.workload,
        { sizes = { m = 1 }, bits = 8, { ("%s[m] = A[m]"):format(name), name = "E" } })
      refused("bad_workload", { name, "set of tensors" }, loom.workload,
        { rank_variables = { m = 1 }, einsums = { { name = "E", tensors = {
          { tensor = name, projection = { { "M", "m" } }, output = true },
        } } } })
    end
  end)
end)

describe("a mapping text", function()
  local function at(text, column, words, kind)
    local e = front.raised(loom.mapping, text)
    assert.equal(kind or "syntax", e.kind, tostring(e))
    assert.equal(column, e.column, tostring(e))
    front.mentions(tostring(e), words)
  end

  it("gives the nearest of its words", function()
    at("fro m", 5, { "found 'm'", "'fro'", "nearest: for" })
    at("pra m on P.x", 5, { "nearest: par" })
    at("tol Link: A", 5, { "nearest: toll" })
    at("custum k G: A", 8, { "nearest: custom" })
    at("for m til 4", 7, { "found 'til'", "nearest: tile" })
    at("for m tile 4 frist 2", 14, { "nearest: first" })
    at("par m til 4 on P.x", 7, { "'on'", "found 'til'", "nearest: tile" })
    at("Z onn MAC", 3, { "nearest: on" })
    at("MAC x", 5, { "found 'x'" })
  end)

  it("takes a flag once", function()
    at("G: A (persistent, persistent)", 19, { "twice" })
    at("G: A (no lowering, persistent, no lowering)", 32, { "twice" })
  end)

  it("names a byte order mark", function()
    at("\xEF\xBB\xBFfor m", 1, { "byte order mark" })
    assert.truthy(tostring(front.raised(loom.workload, { "\xEF\xBB\xBFZ[m] = A[m]", bits = 8 }))
      :find "byte order mark")
  end)

  it("has no tile shapes but integers above 0", function()
    local half = loom.symbol("H", { integer = false })
    local wide = loom.symbol("W", { min = -5 })
    local zero = loom.symbol("N", { min = 0 })
    for _, case in ipairs {
      { "inf", {} }, { "nan", {} }, { "(1/M0)", {} }, { "(M0/2)", {} }, { "(1/2)", {} },
      { "H", { H = half } }, { "(H + 1)", { H = half } }, { "W", { W = wide } },
      { "N", { N = zero } }, { "(2*H)", { H = half } }, { "(0)", {} }, { "(-M0)", {} },
    } do
      for _, word in ipairs { "tile", "first" } do
        local e = front.raised(loom.mapping, ("for m %s %s"):format(word, case[1]),
          { symbols = case[2] })
        assert.equal("bad_tile_shape", e.kind, tostring(e))
      end
    end
    local even = loom.symbol("E", { multiple = 2 })
    local divisor = loom.symbol("D", { divides = 24 })
    for text, symbol in pairs { ["(E/2)"] = even, ["(24/D)"] = divisor, ["(D + 1)"] = divisor } do
      loom.mapping("for m tile " .. text, { symbols = { [symbol:name()] = symbol } })
    end
    loom.mapping "for m tile (ceil(M0/2))"
    for _, shape in ipairs { half, wide, zero, 1 / loom.symbol "M0", 0.5, "1/M0", 0 } do
      refused("bad_tile_shape", {}, loom.mapping, { loom.temporal { "m", shape } })
    end
  end)

  it("uses every symbol it is given", function()
    local Q, M0 = loom.symbol "Q", loom.symbol "M0"
    refused("bad_argument", { "'Q'", "M0" }, loom.mapping, "for m tile M0", { symbols = { Q = Q } })
    refused("bad_argument", { "'Q'" }, loom.mapping, { loom.temporal { "m", M0 } },
      { symbols = { Q = Q } })
    refused("bad_argument", { "M0" }, loom.mapping, "for m tile M0", { symbols = { M0 = Q } })
    refused("bad_argument", { "M0" }, loom.mapping, "for m tile M0", { symbols = { M0 = 4 } })
    refused("bad_argument", {}, loom.mapping, "for m tile M0", { symbols = "M0" })
    loom.mapping("for m tile M0, k tile (Q*M0)", { symbols = { Q = Q, M0 = M0 } })
  end)
end)

describe("the analysis", function()
  local w = loom.workload { sizes = { m = 4 }, bits = 8, "Z[m] = A[m]" }
  local a = loom.arch { loom.memory { "D", size = math.huge }, loom.compute { "MAC" } }
  local m = loom.mapping "D: A Z\nfor m\nMAC"

  it("refuses options that are none", function()
    local model = require "einloom.model"
    for _, case in ipairs {
      { "x", "table expected" }, { 3, "table expected" }, { { allow_unknown_tensors = 1 },
        "allow_unknown_tensors: boolean expected, got number" },
      { { analyzers = 3 }, "analyzers: table expected" },
      { { analyzers = { packed = 3 } }, "packed: function expected, got number" },
      { { analyzers = { print } }, "name of a kind" },
      { { analyzers = { [""] = print } }, "name of a kind" },
      { { analyzers = { storage = print } }, "storage is a built-in kind" },
      { { analyzers = { reservation = print } }, "reservation is a built-in kind" },
      { { allow_unknown_tensor = true }, "nearest: allow_unknown_tensors" },
    } do
      refused("bad_argument", { case[2] }, model.analyze, w, a, m, case[1])
    end
    assert(model.analyze(w, a, m, { allow_growing_tiles = false }))
  end)

  it("points at a tensor that is unknown", function()
    for text, place in pairs {
      ["D: A Z Q\nfor m\nMAC"] = "mapping:1:8:", ["D: Q, A Z\nfor m\nMAC"] = "mapping:1:4:",
      ["D: A Z\nfor m\n  D: \"Q\"\nMAC"] = "mapping:3:6:",
    } do
      local none, message, kind = loom.analyze(w, a, loom.mapping(text))
      assert.is_nil(none)
      assert.equal("unknown_tensor", kind)
      assert.equal(place, message:match "^[^ ]*", message)
      local line, caret = message:match "\n  ([^\n]*)\n( *%^)"
      assert.equal("Q", line:sub(#caret - 2):match "%a")
    end
  end)
end)

describe("numbers beyond 64 bits", function()
  it("are integers when whole", function()
    for _, x in ipairs { 2 ^ 63, 1e30, 1e19, 2.0 ^ 100 } do
      local w = loom.workload { sizes = { m = x }, bits = 8, "Z[m] = A[m]" }
      assert.equal(loom.number(x), w.rank_variables.m)
      local a = loom.arch { loom.memory { "D", size = x }, loom.compute { "MAC" } }
      assert.equal(loom.number(x), a.nodes[1].size)
      loom.mapping { loom.temporal { "m", x } }
      local r = assert(loom.analyze(w, loom.arch { loom.memory { "D", size = math.huge },
        loom.compute { "MAC" } }, loom.mapping { loom.storage { "D", "A", "Z" },
        loom.temporal { "m", 1 }, loom.compute_node "MAC" }))
      assert.equal(loom.number(x), r.D.A.values)
    end
    refused("bad_workload", {}, loom.workload, { sizes = { m = -1e30 }, bits = 8, "Z[m] = A[m]" })
  end)
end)
