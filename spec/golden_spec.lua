-- SPDX-License-Identifier: MIT
-- Every golden file through `einloom verify`: nothing fails, and no case goes missing.  One
-- recorded number is disputed: the tool multiplied 2688089063424 by 184683593728 in 64 bits.

local core = require "einloom.core"
local files = require "support.files"
local lfs = require "lfs"
local verify = require "einloom.verify"

local function json_files(folder)
  local list = {}
  for name in lfs.dir(files.path(folder)) do
    if name:match "%.json$" then list[#list + 1] = files.path(folder .. "/" .. name) end
  end
  table.sort(list)
  return list
end

local wrapped = {
  ["special.json"] = "special_032: totals.energy_delay_product: disputed: "
    .. 2688089063424 * 184683593728
    .. " was recorded modulo 2^64, exact is 496445948494078040604672",
}

local function check(path)
  local lines = {}
  local summary = verify.files({ path }, "all", function(line) lines[#lines + 1] = line end)
  assert.are.equal(wrapped[path:match "[^/]*$"] or "", table.concat(lines, "\n"))
  assert.are.equal(0, summary.failed)
  local raw = core.json.decode(files.read(path))
  local cases = raw.cases or raw.expressions
  local undisputed = 0
  for _, case in ipairs(cases) do
    if not case.disputed or case.disputed_fields then undisputed = undisputed + 1 end
  end
  assert.are.equal(undisputed, summary.passed + summary.failed + summary.left_out)
end

describe("golden data", function()
  local found = 0
  for _, folder in ipairs { "golden/mapping", "golden/exact", "golden/expr", "golden/simd" } do
    for _, path in ipairs(json_files(folder)) do
      found = found + 1
      it(path:match "golden/(.*)$", function() check(path) end)
    end
  end

  it("is all there", function() assert.is_true(found >= 30) end)
end)
