-- SPDX-License-Identifier: MIT
-- The model `exact` on loop nests that were counted point by point (support/reports.lua).
local counted = require "support.counted"
local loom = require "einloom"
local reports = require "support.reports"

local function count(w, a, m, options)
  return loom.analyze(w, a, m,
    { model = "exact", lifetime = options.lifetime, allow_growing_tiles = true })
end

describe("the model exact counts what is there in report", function()
  for _, report in ipairs(reports) do
    for _, variant in ipairs(report.variants) do
      for _, expected in ipairs(variant.counts) do
        local network = ({ [true] = ", multicast", [false] = ", unicast" })[expected.multicast]
        it(("%s %s (%s%s)"):format(report.id, variant.name, expected.lifetime, network or ""),
          function() counted.check_report(count, report, variant, expected) end)
      end
    end
  end
end)
