-- SPDX-License-Identifier: MIT
-- The recorded searches of the golden files, by id.

local core = require "einloom.core"
local files = require "support.files"
local read = require "einloom.case.search"

local searches = { cases = {} }

-- All in order, those that the other tool recorded behind the others.
local all = {}

for _, name in ipairs { "cases", "cases_timeloop" } do
  local path = files.path(("golden/search/%s.json"):format(name))
  for _, raw in ipairs(core.json.decode(files.read(path)).cases) do
    all[#all + 1], searches.cases[raw.id] = raw, raw
  end
end

--- All recorded searches in order, as JSON data.
---@return table[]
function searches.all() return all end

--- A recorded search as a case.
---@param id string
---@return einloom.SearchCase
function searches.case(id) return read.from_json(searches.cases[id] or error("no case " .. id)) end

--- The space of a recorded search.
---@param id string
---@return einloom.Space
function searches.space(id) return read.space(searches.case(id)) end

return searches
