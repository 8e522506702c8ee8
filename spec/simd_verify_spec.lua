-- SPDX-License-Identifier: MIT
-- `einloom verify` on the families of kernel ranges: changing anything that is recorded fails the
-- case.

local core = require "einloom.core"
local files = require "support.files"
local verify = require "einloom.verify"

local array = core.json.array

-- Keys whose values are input, or of which one of two answers may be given.
local inputs = {
  id = true, sizes = true, tiling = true, persistent = true, groups = true, lengths = true,
  reduction_numel = true, no_x = true, one_pass = true, index = true, buffer_elements = true,
  extent = true, storage = true, op = true, tree = true, divisor = true, length = true,
}

-- Lists of paths to leaves of the answers.
local function leaves(value, path, found)
  if type(value) ~= "table" then
    found[#found + 1] = path
    return found
  end
  for key, item in pairs(value) do
    local below = table.move(path, 1, #path, 1, {})
    below[#below + 1] = key
    local is_input = #path < 3 and inputs[key] or #path == 0 and key == "vars" and value.merged
    if not is_input then leaves(item, below, found) end
  end
  return found
end

local function changed(value)
  if type(value) == "boolean" then return not value end
  if math.type(value) == "integer" then return value + 1 end
  if type(value) == "string" then return value:match "^%d+$" and value .. "1" or value .. "9" end
  return "7"
end

local function outcome(family, case)
  local file = { schema = "simd/1", family = family, cases = setmetatable({ case }, array) }
  return files.scratch(core.json.encode(file), function(path)
    return verify.files({ path }, "all", function() end)
  end)
end

describe("verify of simd/1", function()
  for _, family in ipairs {
    "b_range_trees", "c_split", "f_roots", "f_accesses", "f_index_width",
  } do
    local path = files.path("golden/simd/" .. family .. ".json")
    local cases = core.json.decode(files.read(path)).cases
    it("sees changes of " .. family, function()
      local seen = 0
      for i = 1, #cases, family == "b_range_trees" and 5 or 7 do
        for k, place in ipairs(leaves(cases[i], {}, {})) do
          if family ~= "b_range_trees" or k % 5 == 0 then
            local at = cases[i]
            for j = 1, #place - 1 do at = at[place[j]] end
            local key = place[#place]
            local before = at[key]
            at[key] = changed(before)
            assert.equal(1, outcome(family, cases[i]).failed,
              cases[i].id .. ": " .. table.concat(place, "."))
            at[key] = before
            seen = seen + 1
          end
        end
        cases[i].surplus = 1
        assert.equal(1, outcome(family, cases[i]).failed)
        cases[i].surplus = nil
        assert.equal(1, outcome(family, cases[i]).passed)
      end
      assert.is_true(seen > 1)
    end)
  end
end)
