-- SPDX-License-Identifier: MIT
-- The recorded searches of the golden files, by id.

local core = require "einloom.core"
local files = require "support.files"
local read = require "einloom.case.search"

local searches = { cases = {} }

for _, raw in ipairs(core.json.decode(files.read(files.path "golden/search/cases.json")).cases) do
  searches.cases[raw.id] = raw
end

--- The space of a recorded search.
---@param id string
---@return einloom.Space
function searches.space(id) return read.space(read.from_json(searches.cases[id])) end

return searches
