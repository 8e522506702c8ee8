-- SPDX-License-Identifier: MIT
-- Whether an address can be computed in 32 bits: decided on the whole address, on every constant
-- and part of it, and on the number of iterations. After reports about a compiler that looked at
-- element counts alone (pytorch/pytorch #186057, #190857, pull #179333; pytorch/torchdynamo #1821).

local core = require "einloom.core"

-- Index, loops as { variable, size }, whether it fits.
local cases = {
  { "2779000000 + i + 3072*j", { { "i", 3072 }, { "j", 4 } }, false },
  { "i + 3072*j", { { "i", 3072 }, { "j", 699050 } }, true },
  { "i + 3072*j", { { "i", 3072 }, { "j", 699051 } }, false },
  { "70000*s + i", { { "s", 30000 }, { "i", 4096 } }, true },
  { "70000*s + i", { { "s", 32000 }, { "i", 4096 } }, false },
  { "131072*b + i", { { "b", 16384 }, { "i", 131072 } }, false },
  { "131072*b + i", { { "b", 16385 }, { "i", 131072 } }, false },
  { "i - 2147483648", { { "i", 16 } }, false },
  { "2147483647 - i", { { "i", 16 } }, true },
  { "0*i", { { "i", 2147483648 } }, false },
  { "70000*s*i", { { "s", 300 }, { "i", 100 } }, true },
  { "70000*s*i", { { "s", 300 }, { "i", 104 } }, false },
  { "4294967296*i // 4294967297", { { "i", 2 } }, false },
  { "(i + 65536*j) // 2 - 65536*j", { { "i", 65536 }, { "j", 32768 } }, false },
  { "i % 7 + 1000000*(i // 1000)", { { "i", 2000000 } }, true },
  { "i % 7 + 1000000*(i // 1000)", { { "i", 3000000 } }, false },
  { "n*i", { { "i", 4 } }, false }, -- n has no upper bound
}

local function loops_of(list)
  local loops, symbols = {}, {}
  for i, loop in ipairs(list) do
    symbols[i] = core.symbol(loop[1], { min = 0 })
    loops[i] = { symbols[i], loop[2] }
  end
  return loops, symbols
end

describe("addresses in 32 bits", function()
  for _, case in ipairs(cases) do
    local loops, symbols = loops_of(case[2])
    it(("%s over %s"):format(case[1], tostring(case[2][#case[2]][2])), function()
      assert.equal(case[3], core.address_narrow(core.parse(case[1], nil, symbols), loops))
    end)
  end

  it("never leave them where they are said to fit", function()
    local seed = tonumber(os.getenv "LOOM_SEED") or os.time()
    print("LOOM_SEED=" .. seed)
    math.randomseed(seed)
    local loops, symbols = loops_of { { "i", 1 }, { "j", 1 } }
    local fitting = 0
    for _ = 1, 300 do
      local a, b = math.random(-70000, 70000), math.random(-70000, 70000)
      local c = math.random(-3000000000, 3000000000)
      loops[1][2], loops[2][2] = math.random(1, 40000), math.random(1, 40000)
      local index = a * symbols[1] + b * symbols[2] + c
      if core.address_narrow(index, loops) then
        fitting = fitting + 1
        for _, i in ipairs { 0, loops[1][2] - 1 } do
          for _, j in ipairs { 0, loops[2][2] - 1 } do
            assert.is_true(math.abs(a * i + b * j + c) <= 2147483647)
          end
        end
      end
    end
    assert.is_true(fitting > 5)
  end)
end)

describe("extents in 32 bits", function()
  it("are decided by hints, or proved where strict", function()
    local s = core.symbol("s0", { min = 2 })
    local hints = { [s] = 100 }
    assert.is_true(core.index_narrow(s * 1000, { s }, { hints = hints }))
    assert.is_false(core.index_narrow(s * 1000, { s }, { hints = hints, strict = true }))
    assert.is_false(core.index_narrow(s * 1000, { s }))
    assert.is_true(core.index_narrow(s * 1000, { s }, { extents = { [s] = 201 }, strict = true }))
  end)
end)
