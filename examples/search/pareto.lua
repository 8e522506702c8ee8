-- SPDX-License-Identifier: MIT
-- Energy and latency at once: all mappings that no other one beats in both, from the search and
-- from blocks of points of the templates, with a figure of one's own.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local example = dofile(here .. "machine.lua")

local space = loom.space(example.product(32, 16, 32), example.machine(2 * 1024), {
  minimise = { "energy", "latency" },
})

print "   energy   latency"
for _, point in ipairs(loom.pareto(space:search().points, { "energy", "latency" })) do
  print(("%9d %9d"):format(point.energy, point.latency))
end

-- The same of every point of every template, and with the bits that the buffer needs.
local two, three, n = loom.pareto(nil, { "energy", "latency" }),
  loom.pareto(nil, { "energy", "latency", "bits" }), 0
for _, template in ipairs(space:templates()) do
  for columns in template:blocks() do
    local figures = template:evaluate(columns)
    for p, rule in ipairs(figures.rule) do
      n = n + 1
      if not rule then
        local bits = figures.bits.Buffer
        local point = {
          energy = figures.energy[p], latency = figures.latency[p], bits = bits and bits[p] or 0,
        }
        two:add(point)
        three:add(point)
      end
    end
  end
end
print(("%d points of %d templates: %d on the front, %d with the bits of the buffer"):format(n,
  #space:templates(), #two, #three))
