-- SPDX-License-Identifier: MIT
-- Cases of schema mapping/1 as JSON: a workload, an architecture, a mapping, points to evaluate
-- them at, and what is expected. One name for the parts that read, compute and write them.

local case = {}

for _, part in ipairs { "read", "computed", "write" } do
  for name, value in pairs(require("einloom.case." .. part)) do case[name] = value end
end

return case
