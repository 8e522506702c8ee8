-- SPDX-License-Identifier: MIT
-- Loop nests counted point by point, from reports about other tools: what is known to be right of
-- uneven tiles, windows, strides, constants and parallel units, one file for each kind. Of each
-- buffet (moves): values read from the holder above, values delivered to all instances (-: not
-- said), values written to it; net of first reads.

local reports = {}

for _, kind in ipairs { "uneven_tiles", "windows", "holders", "units" } do
  local own = require("support.reports." .. kind)
  table.move(own, 1, #own, #reports + 1, reports)
end

return reports
