-- SPDX-License-Identifier: MIT
-- Numbers of 16 bits: every pattern, rounding against the two neighbours, and the same in C.

local compiled = require "support.compiled"
local loom = require "einloom"
local scalar = require "einloom.kernels.scalar"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time() % 1000000

local formats = { f16 = { infinite = 0x7C00, largest = 65504.0, least = 2.0 ^ -24 },
  bf16 = { infinite = 0x7F80, largest = 0x1.FEp127, least = 2.0 ^ -133 } }

-- The pattern nearest to a positive number, ties to the even one, by looking at all.
local function nearest(x, dtype)
  local format, low, high = formats[dtype], 0, formats[dtype].infinite - 1
  if x > format.largest then
    local step = format.largest - scalar.unpack(high - 1, dtype)
    return x - format.largest < step / 2 and high or format.infinite
  end
  while high - low > 1 do
    local middle = (low + high) // 2
    if scalar.unpack(middle, dtype) <= x then low = middle else high = middle end
  end
  local below, above = x - scalar.unpack(low, dtype), scalar.unpack(high, dtype) - x
  if below == above then return low % 2 == 0 and low or high end
  return below < above and low or high
end

-- Numbers around every kind of edge of a format, and random ones of all sizes.
local function numbers(dtype)
  local format, list = formats[dtype], { 0.0, 1.0, 1.0 / 3 }
  for _, edge in ipairs { format.least, format.least / 2, format.largest, 1024 * format.least,
    128 * format.least, format.largest * (1 + 2.0 ^ -12), format.largest * (1 + 2.0 ^ -9) } do
    for _, factor in ipairs { 1, 1 - 2.0 ^ -50, 1 + 2.0 ^ -50, 0.5, 1.5, 2.5 } do
      list[#list + 1] = edge * factor
    end
  end
  math.randomseed(seed)
  for _ = 1, 400 do
    local pattern = math.random(0, format.infinite - 2)
    local a, b = scalar.unpack(pattern, dtype), scalar.unpack(pattern + 1, dtype)
    list[#list + 1] = a
    list[#list + 1] = (a + b) / 2
    list[#list + 1] = a + (b - a) * math.random()
  end
  return list
end

describe("numbers of 16 bits", function()
  for dtype, format in pairs(formats) do
    it("are read and written as they are: " .. dtype, function()
      for packed = 0, 0xFFFF do
        local x = scalar.unpack(packed, dtype)
        if x == x and scalar.pack(x, dtype) ~= packed then
          error(("%s 0x%04X is read as %a, written as 0x%04X"):format(dtype, packed, x,
            scalar.pack(x, dtype)))
        end
        if x ~= x then
          local again = scalar.unpack(scalar.pack(x, dtype), dtype)
          assert.is_true(again ~= again)
        end
      end
      assert.are.equal(format.largest, scalar.unpack(format.infinite - 1, dtype))
      assert.are.equal(format.least, scalar.unpack(1, dtype))
      assert.are.equal(math.huge, scalar.unpack(format.infinite, dtype))
    end)

    it("are rounded once, to the nearest: " .. dtype, function()
      for _, x in ipairs(numbers(dtype)) do
        local expected = nearest(x, dtype)
        if scalar.pack(x, dtype) ~= expected or scalar.pack(-x, dtype) ~= expected | 0x8000 then
          error(("seed %d: %s of %a is 0x%04X, expected 0x%04X"):format(seed, dtype, x,
            scalar.pack(x, dtype), expected))
        end
      end
    end)

    it("are the same in C: " .. dtype, function()
      if not compiled.available then return pending "no C compiler" end
      local list = numbers(dtype)
      for i = 1, #list do list[i] = i % 2 == 0 and -list[i] or list[i] end
      local g = loom.graph { einsums = { "y[i] = x[i]", "z[i] = y[i] * 1", "w[i] = sqrt(y[i])" },
        sizes = { i = #list },
        tensors = { x = { dtype = "f64" }, y = { dtype = dtype }, z = { dtype = "f64" },
          w = { dtype = dtype } }, outputs = { "y" } }
      local expected = g:evaluate { x = list }
      local data, asked = { x = list }, { y = true, z = true, w = true }
      for name in pairs(asked) do
        data[name] = {}
        for i = 1, #list do data[name][i] = 0.0 end
      end
      local got = compiled.run(g, (g:c_source()), {}, {}, data, asked)
      for name in pairs(asked) do
        for i, x in ipairs(expected[name]) do
          local y = got[name][i]
          if not (x == y or x ~= x and y ~= y) then
            error(("seed %d: %s[%d] of %a is %a, expected %a"):format(seed, name, i, list[i], y, x))
          end
        end
      end
    end)
  end
end)
