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

-- A kernel of one operation that reads index from a buffer and writes elsewhere; what is known of
-- it, and of the read.
local function kernel_of(loops, buffer, index)
  local g, extent, at = core.graph(), 1, core.int(0)
  for _, loop in ipairs(loops) do
    at, extent = at * loop[2] + loop[1], extent * loop[2]
  end
  g:buffer { name = "from", sizes = buffer.sizes, offset = buffer.offset }
  g:buffer { name = "to", sizes = { extent }, output = true }
  assert(g:op { name = "op", pointwise = loops, reads = { { buffer = "from", index = index } },
    writes = { { buffer = "to", index = at } } })
  local plan = g:plan()
  assert(plan:kernel { schedule = { "op" }, extents = { extent, 1 },
    tiling = { { "x", extent }, { "r0_", 1 } } })
  local kernel = plan:kernels()[1]
  return kernel, kernel.ops[1].accesses[1]
end

describe("kernels in 32 bits", function()
  for k = 1, 10 do -- those of the report: kernels simplify others to what fits
    local case = cases[k]
    local loops, symbols = loops_of(case[2])
    local points = 1
    for _, loop in ipairs(case[2]) do points = points * loop[2] end
    it(("read %s over %s"):format(case[1], tostring(case[2][#case[2]][2])), function()
      local index = core.parse(case[1], nil, symbols)
      local kernel, access = kernel_of(loops, { sizes = { 16 } }, index)
      assert.are.equal(case[3], kernel.narrow_proved)
      -- An address may fit where the number of points does not.
      if points <= 2147483647 then assert.are.equal(case[3], access.narrow) end
    end)
  end

  local row = core.symbol("indirect0", { min = 0 })
  local any = core.symbol("indirect0", { integer = true })
  local i, j = core.symbol("i", { min = 0 }), core.symbol("j", { min = 0 })

  it("load what memory that is short enough can hold", function()
    for _, case in ipairs {
      { { 1000, 64 }, 64 * row + j, true },
      { { 33554432, 64 }, 64 * row + j, true }, -- the last element is number 2^31 - 1
      { { 33554433, 64 }, 64 * row + j, false },
      { { 40000, 70000 }, 70000 * row + j, false },
      { { 1000, 64 }, 64 * any + j, true },
      { { 1000, 64 }, 64 * (row // 2) + j, false }, -- not a term of its own
      { { 1000 }, 999 - any, true },
      { { 1000, 64 }, 3000000000 * any + j, false },
      { { 1000, 64 }, row * i + j, false },
    } do
      local _, access = kernel_of({ { i, 8 }, { j, 64 } }, { sizes = case[1] }, case[2])
      assert.is_true(access.indirect)
      assert.are.equal(case[3], access.narrow, tostring(case[2]))
    end
    local kernel = kernel_of({ { i, 8 }, { j, 64 } },
      { sizes = { 1000, 64 }, offset = 2147483648 }, 64 * row + j)
    assert.is_false(kernel.narrow_proved)
  end)

  it("never leave them where loads of any element are said to fit", function()
    local seed = tonumber(os.getenv "LOOM_SEED") or os.time()
    print("LOOM_SEED=" .. seed)
    math.randomseed(seed)
    local fitting, most = 0, 2147483647
    for _ = 1, 300 do
      local size, span = math.random(1, 20000), math.random(1, 3) == 1 and 3000000000 or 100000000
      local factor, step = math.random(-3, 70000), math.random(-70000, 70000)
      if factor == 0 then factor = 1 end
      local elements, offset = math.random(1, span), math.random(0, 3) * 700000000
      local index = factor * any + step * j
      local _, access = kernel_of({ { i, 2 }, { j, size } },
        { sizes = { elements }, offset = offset }, index)
      if access.narrow then
        fitting = fitting + 1
        for _, at in ipairs { 0, size - 1 } do
          -- The loaded values that lead to the first and to the last element.
          for _, address in ipairs { 0, offset + elements - 1 } do
            local value = (address - offset - step * at) // factor
            for _, loaded in ipairs { value, value + 1 } do
              local found = offset + factor * loaded + step * at
              if found >= 0 and found < offset + elements then
                for _, part in ipairs { loaded, factor * loaded, step * at, found, offset,
                  factor * loaded + step * at, offset + factor * loaded } do
                  assert.is_true(math.abs(part) <= most)
                end
              end
            end
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
