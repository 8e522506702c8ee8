-- SPDX-License-Identifier: MIT
-- Memories that have exactly what some mapping needs: the best of all mappings that fit is found,
-- though a template counts loops that run only once.

local brute = require "support.brute"
local core = require "einloom.core"
local read = require "einloom.case.search"
local small = require "support.small_cases"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time()
local plenty = 1e6

-- Energy, latency and bits in the buffer of every mapping, and which bits there are.
local function all_of(raw)
  local list, sizes, seen = {}, {}, {}
  raw.hardware.levels[2].capacity_bits = plenty
  local case = read.from_json(raw)
  brute.mappings(read.space(case), function(mapping)
    local energy, latency, r = brute.evaluate(case, mapping)
    if not energy then return end
    local bits = math.floor(r:usage { by = "memory" }.Buf:tonumber() * plenty + 0.5)
    list[#list + 1] = { energy = energy, latency = latency, bits = bits }
    if not seen[bits] then sizes[#sizes + 1] = bits end
    seen[bits] = true
  end)
  return list, sizes
end

local function least_within(list, key, bits)
  local least = math.huge
  for _, x in ipairs(list) do
    if x.bits <= bits then least = math.min(least, x[key]) end
  end
  return least
end

local windows = {
  { iterate = { p = 4, r = 3, c = 2 }, reads = { { H = "p + r", C = "c" }, { R = "r", C = "c" } },
    write = { P = "p" } },
  { iterate = { p = 2, q = 2, r = 2, s = 2 },
    reads = { { H = "p + r", C = "q + s" }, { R = "r", C = "s" } }, write = { P = "p", Q = "q" } },
}

-- Loops of several variables in a sum may stand in one place.
local function with_window(raw, window)
  local e = raw.workload.einsums[1]
  e.iterate, e.writes[1].index = window.iterate, window.write
  for i, index in ipairs(window.reads) do e.reads[i].index = index end
  return raw
end

describe("memories of just the size that a mapping needs", function()
  local function check(raw, about)
    local list, sizes = all_of(raw)
    for _, bits in ipairs(sizes) do
      raw.hardware.levels[2].capacity_bits = bits
      for _, key in ipairs { "energy", "latency" } do
        raw.minimise = { key }
        local point = read.space(read.from_json(raw)):search().points[1]
        local best, got = least_within(list, key, bits), point and point[key] or math.huge
        assert.is_true(got == best or math.abs(got - best) <= 1e-12 * best,
          ("%s found, %s best of %d bits: %s"):format(got, best, bits, about))
      end
    end
  end

  for _, kind in ipairs { "product", "window", "deep", "pair" } do
    it("let the best that fits be found: " .. kind, function()
      math.randomseed(seed)
      for round = 1, kind == "pair" and 1 or 3 do
        local raw = small.case(kind)
        if kind == "window" then raw = with_window(raw, windows[round % 2 + 1]) end
        check(raw, ("seed %d, round %d, %s"):format(seed, round, core.json.encode(raw)))
      end
    end)
  end
end)
