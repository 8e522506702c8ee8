-- SPDX-License-Identifier: MIT
-- Certificates: what a search found is proved, nothing else is, and no part of a proof can be
-- missing or changed.

local certificates = require "support.certificates"
local core = require "einloom.core"
local every_tile = require "support.every_tile"
local files = require "support.files"
local goals = require "einloom.search.goals"
local read = require "einloom.case.search"
local rng = require "einloom.search.rng"
local small = require "support.small_cases"

local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time() % 1000000

local kinds = small.kinds

local function pick(list) return list[math.random(#list)] end

-- Lines of a leaf that has a field.
local function leaves(lines, field)
  local list = {}
  for i, data in ipairs(lines) do
    if data.at and (not field or data[field]) then list[#list + 1] = i end
  end
  return list
end

-- Changes of which every one spoils a certificate; each returns false where it does not apply.
local changes = {
  ["a leaf left out"] = function(lines) table.remove(lines, pick(leaves(lines))) end,
  ["a leaf twice"] = function(lines)
    local i = pick(leaves(lines))
    table.insert(lines, i, lines[i])
  end,
  ["a bound raised"] = function(lines)
    local i = pick(leaves(lines, "energy"))
    if not i then return false end
    lines[i].energy = lines[i].energy * (1 + 1e-6) + 1
  end,
  ["a bound lowered"] = function(lines)
    local i = pick(leaves(lines, "latency"))
    if not i then return false end
    lines[i].latency = lines[i].latency * (1 - 1e-6) - 1
  end,
  ["another need"] = function(lines)
    local i = pick(leaves(lines, "exceeds"))
    if not i then return false end
    lines[i].needs = lines[i].needs + 1
  end,
  ["another reason"] = function(lines)
    local i = pick(leaves(lines, "energy"))
    if not i then return false end
    lines[i] = { at = lines[i].at, exceeds = "Buf", needs = 1e9 }
  end,
  ["a bound in the place of a limit"] = function(lines)
    local i, k = pick(leaves(lines, "exceeds")), pick(leaves(lines, "energy"))
    if not i or not k then return false end
    lines[i] = { at = lines[i].at, energy = lines[k].energy, latency = lines[k].latency }
  end,
  ["another tile"] = function(lines)
    local i = pick(leaves(lines))
    local step = lines[i].at[#lines[i].at]
    if not step then return false end
    step[2] = step[2] + 1
  end,
  ["a wider range of tiles"] = function(lines)
    local i = pick(leaves(lines))
    local step = lines[i].at[#lines[i].at]
    if not step then return false end
    step[3] = (step[3] or step[2]) * 2
  end,
  ["another variable"] = function(lines)
    local i = pick(leaves(lines))
    local step = lines[i].at[#lines[i].at]
    if not step then return false end
    step[1] = step[1] .. "x"
  end,
  ["a template left out"] = function(lines)
    local heads = {}
    for i, data in ipairs(lines) do
      if data.text then heads[#heads + 1] = i end
    end
    local i = pick(heads)
    repeat table.remove(lines, i) until not lines[i].at
  end,
  ["a template of another name"] = function(lines) lines[2].text = lines[2].text .. " " end,
  ["a lower optimum"] = function(lines)
    local claim = lines[1].claims[1]
    if not claim then return false end
    claim.energy = claim.energy * 0.999
  end,
  ["a claim left out"] = function(lines)
    if #leaves(lines, "energy") == 0 then return false end
    lines[1].claims = setmetatable({}, core.json.array)
  end,
  ["another mapping"] = function(lines)
    local claim = lines[1].claims[1]
    if not claim then return false end
    claim.mapping = claim.mapping:gsub("Main", "Buf", 1)
  end,
  ["another choice of tiles"] = function(lines)
    local claim = lines[1].claims[1]
    if not claim then return false end
    claim.choices[1].tiles[1] = claim.choices[1].tiles[1] * 2
  end,
  ["a dearer operation"] = function(lines)
    if not lines[1].claims[1] then return false end
    local nodes = lines[1].arch.nodes
    nodes[#nodes].actions[1].energy = nodes[#nodes].actions[1].energy * 2
  end,
  ["a larger variable"] = function(lines)
    local sizes = lines[1].workload.rank_variables
    local names = {}
    for name in pairs(sizes) do names[#names + 1] = name end
    table.sort(names)
    local name = pick(names)
    sizes[name] = sizes[name] * 2
  end,
  ["the end left out"] = function(lines) table.remove(lines) end,
  ["more after the end"] = function(lines) lines[#lines + 1] = lines[#lines] end,
  ["another number of leaves"] = function(lines)
    lines[#lines].leaves = lines[#lines].leaves + 1
  end,
  ["a head with something else in it"] = function(lines)
    local head = lines[1]
    local key = pick { "workload", "arch", "options", "claims", "slack" }
    head[key] = pick { 3, "x", { 1 }, { a = { b = 1 } } }
  end,
  ["a choice with something else in it"] = function(lines)
    local claim = lines[1].claims[1]
    if not claim then return false end
    claim.choices[1][pick { "template", "tiles", "fused" }] = pick { "x", { "y" }, 0, { {} } }
  end,
  ["a large slack"] = function(lines) lines[1].slack = 0.5 end,
  ["another schema"] = function(lines) lines[1].schema = "certificate/2" end,
}

-- A space with what a search found and a point of it that is worse.
local function with_worse(source)
  while true do
    local space, found, raw = certificates.small(pick(kinds))
    local point = certificates.random_point(space, source)
    local best = found.points[1] and goals.values(space.case, found.points[1])[1]
    if point and goals.values(space.case, point)[1] > best * (1 + 1e-6) then
      return space, found, point, ("LOOM_SEED=%d, %s"):format(seed, raw)
    end
  end
end

describe("certificates of small cases", function()
  for k, kind in ipairs(small.all) do
    it("hold, and no mapping is better than what they claim: " .. kind, function()
      math.randomseed(seed + k)
      for round = 1, small.is_pair(kind) and 3 or 6 do
        local space, found, raw = certificates.small(kind)
        local about = ("LOOM_SEED=%d, round %d, %s"):format(seed, round, raw)
        local lines = assert(certificates.lines(space, found.points), about)
        local report = assert(certificates.check(lines), about)
        local best = certificates.best_of_all(space)
        local claimed = report.claims[1] and report.claims[1][1] or math.huge
        assert.is_true(claimed == best or math.abs(claimed - best) <= 1e-12 * best,
          ("%s claimed, %s best: %s"):format(claimed, best, about))
        assert.are.equal(#space:units(), report.templates, about)
      end
    end)
  end

  it("are refused when they are changed", function()
    math.randomseed(seed)
    local names, applied = {}, {}
    for name in pairs(changes) do names[#names + 1] = name end
    table.sort(names)
    local function all_applied()
      for _, name in ipairs(names) do
        if not applied[name] then return false end
      end
      return true
    end
    local round = 0
    while round < 6 or not all_applied() do
      round = round + 1
      local space, found, raw = certificates.small(pick(kinds))
      local lines = assert(certificates.lines(space, found.points))
      for _, name in ipairs(names) do
        local changed = certificates.copy(lines)
        if changes[name](changed) ~= false then
          applied[name] = true
          local report, message = certificates.check(changed)
          assert.is_nil(report, ("%s is not noticed: LOOM_SEED=%d, round %d, %s")
            :format(name, seed, round, raw))
          assert.matches("^certificate:%d+:1: ", message)
        end
      end
    end
  end)

  it("are not made for mappings that are not best", function()
    math.randomseed(seed)
    local source = rng.new(seed)
    for _ = 1, 12 do
      local space, found, point, about = with_worse(source)
      local lines, message = certificates.lines(space, { point })
      assert.is_nil(lines, about)
      assert.matches("better than what was found", message)
      -- Nor does a proof of something else hold for them.
      lines = assert(certificates.lines(space, found.points), about)
      local head = require "einloom.certify.head".new(space, { point })
      lines[1] = core.json.decode(core.json.encode(head))
      local report, problem = certificates.check(lines)
      assert.is_nil(report, about)
      assert.truthy(problem:find "below what is claimed" or problem:find "join to something better",
        about)
    end
  end)

  it("are of nothing where nothing fits", function()
    local raw = core.json.decode(files.read(files.path "golden/search/cases.json")).cases
    for _, case in ipairs(raw) do
      if case.id == "chain1_two_M128K64G8192_E" then
        case.hardware.levels[2].capacity_bits = 16
        local space = read.space(read.from_json(case))
        local report = assert(certificates.check(assert(certificates.lines(space, {}))))
        assert.are.same({}, report.claims)
        assert.are.equal(0, report.reasons[1].count)
      end
    end
  end)
end)

describe("certificates with least shares and bounds of loops", function()
  -- A case with dimensions that ask for shares, small memories and perhaps bounds of loops.
  local function asking()
    local raw = small.case(pick { "array", "bounded" })
    for _, d in ipairs(raw.hardware.paths[1].fanout.Array) do
      d.min_fraction_used = pick { 0.5, 1, 1 }
    end
    for _, level in ipairs(raw.hardware.levels) do
      if level.name == "Buf" then level.capacity_bits = 8 * pick { 2, 3, 4, 5, 6 } end
      if level.name == "Reg" then level.capacity_bits = 8 * pick { 1, 2, 3 } end
    end
    return raw
  end

  -- The same without what is asked of dimensions.
  local function freed(raw)
    local copy = core.json.decode(core.json.encode(raw))
    for _, d in ipairs(copy.hardware.paths[1].fanout.Array) do
      d.min_fraction_used, d.loop_bounds = 0, nil
    end
    return copy
  end

  local function claimed(report) return report.claims[1] and report.claims[1][1] or math.huge end

  it("hold for the fullest uses that limits leave tiles for, and for nothing else", function()
    math.randomseed(seed)
    local round, n_fallen, n_beaten = 0, 0, 0
    while round < 12 or n_fallen < 3 or n_beaten < 3 do
      round = round + 1
      local raw = asking()
      local about = ("LOOM_SEED=%d, round %d, %s"):format(seed, round, core.json.encode(raw))
      local space = read.space(read.from_json(raw))
      local found, best, fell = space:search(), every_tile.best(space)
      local lines = assert(certificates.lines(space, found.points), about)
      local value = claimed(assert(certificates.check(lines), about))
      assert.is_true(value == best or math.abs(value - best) <= 1e-12 * best,
        ("%s claimed, %s best: %s"):format(value, best, about))
      n_fallen = n_fallen + (fell and 1 or 0)
      if best < math.huge then assert.is_nil(certificates.lines(space, {}), about) end
      -- What is best without shares and bounds is no claim with them.
      local free = read.space(read.from_json(freed(raw)))
      local other = free:search()
      local free_lines = assert(certificates.lines(free, other.points), about)
      local lower = claimed(assert(certificates.check(free_lines), about))
      if lower < best * (1 - 1e-6) then
        n_beaten = n_beaten + 1
        assert.is_nil(certificates.lines(space, other.points), about)
        local head = certificates.copy(free_lines[1])
        head.arch = lines[1].arch
        lines[1] = head
        assert.is_nil(certificates.check(lines), about)
        free_lines[1] = head
        assert.is_nil(certificates.check(free_lines), about)
      end
    end
  end)

  it("say what they are not about, written and read", function()
    math.randomseed(seed)
    local raw
    repeat raw = asking() until #read.space(read.from_json(raw)):search().points > 0
    local space = read.space(read.from_json(raw))
    local lines = assert(certificates.lines(space, space:search().points))
    local function refused(name, value, expected)
      local changed = certificates.copy(lines)
      changed[1].options[name] = value
      local report, message = certificates.check(changed)
      assert.is_nil(report)
      assert.truthy(message:find(expected, 1, true), message)
    end
    refused("model", "exact", "no certificate is about the model exact")
    refused("mapping", "Main[A]", "mapping")
    refused("no_such_option", 1, "no_such_option")
    raw.limits.temporal_factors = "imperfect"
    raw.workload.einsums[1].iterate.m = 3
    local uneven = read.space(read.from_json(raw))
    local _, message = certificates.lines(uneven, {})
    assert.matches("no certificate is about a least share %(min_usage%) of Array%.X", message)
    refused("temporal_factors", "imperfect", "no certificate is about a least share (min_usage)")
  end)

  it("refuse uses that are not decided", function()
    local reach = require "einloom.certify.reach"
    local function yes() return true end
    local b = {
      root = function() return {} end, share_uses = function() return { 2 }, { 2 } end,
      loops_fit = yes, fused_fit = yes, exceeded = function() return nil end,
      surely_fits = function() return false end,
    }
    assert.is_nil(reach.has(b, { 2 }))
    assert.is_false(reach.has(b, { 3 }))
    assert.has_error(function()
      reach.fullest(b, { dims = {}, names = { "PE.x" }, uses = { { 2 } }, goals = { { 2 } } })
    end)
    b.surely_fits = yes
    assert.is_true(reach.has(b, { 2 }))
  end)
end)

describe("certificates of recorded cases", function()
  -- Those that take a fraction of a second.
  local quick = {
    "conv1_two_EL", "prime_two_imperfect_E", "toll_mm_E", "ski_snowcat_mm_EU", "trade_conv_EL",
    "three_mm_E", "chain4_simple_EDP", "chain2_two_EDP", "chain5_two_M32K32G8192_E",
    "chain3_two_bw_EDP", "reg_simba_matmuls_unfused", "convpair_two_E", "attn_two_EL",
    "trade_mm2_EL",
  }

  it("hold", function()
    local cases = {}
    for _, case in ipairs(read.load(files.path "golden/search/cases.json")) do
      cases[case.id] = case
    end
    for _, id in ipairs(quick) do
      local space = read.space(cases[id])
      local lines = assert(certificates.lines(space, space:search().points), id)
      assert(certificates.check(lines), id)
    end
  end)
end)

describe("einloom certify", function()
  local certify = require "einloom.certify"

  local function with_certificate(use)
    math.randomseed(seed)
    local _, found = certificates.small "product"
    files.scratch("", function(path)
      assert(certify.write(found, path))
      use(path)
    end)
  end

  it("says what is proved", function()
    with_certificate(function(path)
      local status, out, err = files.command("certify", path)
      assert.are.equal("", err)
      assert.are.equal(0, status)
      assert.matches("no mapping is better than [%a_]+ = [%d.e+-]+; ", out)
      assert.matches("%d+ templates, %d+ leaves: %d+ ", out)
      status, out = files.command("certify", "--json", path)
      assert.are.equal(0, status)
      local data = core.json.decode(out)
      assert.is_true(data.holds)
      assert.are.equal(path, data.file)
      assert.is_true(data.templates > 0 and data.leaves >= data.templates)
    end)
  end)

  it("says where a certificate does not hold, with status 1", function()
    with_certificate(function(path)
      local text = files.read(path)
      files.scratch(text:gsub("\n[^\n]*\n$", "\n"), function(changed)
        local status, out, err = files.command("certify", changed)
        assert.are.equal(1, status)
        assert.are.equal("", out)
        assert.truthy(err:find(changed .. ":", 1, true))
        status, out = files.command("certify", changed, "--json")
        assert.are.equal(1, status)
        assert.is_false(core.json.decode(out).holds)
      end)
      local status, _, err = files.command("certify", path .. ".none")
      assert.are.equal(1, status)
      assert.truthy(err:find "No such file")
    end)
  end)

  it("ends a proof when it is told to, and leaves the file as it was", function()
    math.randomseed(seed)
    local _, found = certificates.small "pair"
    files.scratch("before", function(path)
      local said = {}
      local n, message, kind = certify.write(found, path, function(state)
        said[#said + 1] = state.text
        return #said > 2 and "a test" or nil
      end)
      assert.is_nil(n)
      assert.matches("^no certificate: stopped by a test", message)
      assert.are.equal("stopped", kind)
      assert.matches("^proving", said[#said])
      assert.are.equal("before", files.read(path))
      assert.is_nil(debug.gethook())
    end)
  end)

  it("is told to end by the limit of time", function()
    local caught, why = require "einloom.cli.drive".watch(function(watch)
      local reason
      repeat reason = watch { text = "" } until reason
      return reason
    end, { time = 0.05, shown = false })
    assert.are.equal("time", caught)
    assert.are.equal("time", why)
  end)

  it("leaves the file as it was where there is no proof", function()
    math.randomseed(seed)
    local space, _, point = with_worse(rng.new(seed))
    files.scratch("before", function(path)
      local n, message, kind = certify.write({ space = space, points = { point } }, path)
      assert.is_nil(n)
      assert.matches("better than what was found", message)
      assert.are.equal("certificate", kind)
      assert.are.equal("before", files.read(path))
    end)
  end)
end)

describe("a certificate that is a folder", function()
  it("is refused by name", function()
    local status, out, err = files.command("certify", files.path "")
    assert.are.same({ 1, "", 1 }, { status, out, select(2, err:gsub("\n", "")) })
    assert.truthy(err:find(files.path "" .. ": ", 1, true), err)
  end)
end)
