-- SPDX-License-Identifier: MIT
-- What a file of cases gives a search: a workload and an architecture, of schema mapping/1 (the
-- mapping may be missing) or search/1 (with options of its space).

local core = require "einloom.core"
local errors = require "einloom.errors"
local read = require "einloom.case.read"

local problem = {}

---@class einloom.Problem
---@field id string
---@field workload einloom.Workload
---@field arch einloom.Arch
---@field options table of the space

local function fail(path, message)
  error(errors.new("bad_case", message, { file = path }), 0)
end

local function choose(list, wanted, path)
  local ids = {}
  for i, raw in ipairs(list) do
    ids[i] = read.label(list, i)
    if ids[i] == wanted or wanted == nil and #list == 1 then return raw, ids[i] end
  end
  if wanted then fail(path, ("no case '%s'%s"):format(wanted, errors.hint(wanted, ids))) end
  return fail(path, ("the file has %d cases: say which"):format(#list))
end

local function of_search(raw)
  local case = require "einloom.case.search".from_json(raw)
  return { id = case.id, workload = case.workload, arch = case.arch, options = case.options }
end

local function of_mapping(raw, id)
  local copy = {}
  for key, value in pairs(raw) do copy[key] = value end
  copy.mapping = { nodes = setmetatable({}, core.json.array) }
  copy.expected, copy.samples = nil, nil
  local case = read.from_json(copy)
  return {
    id = id, workload = case.workload, arch = case.arch, options = { model = case.options.model },
  }
end

--- The problem of a case of a file: that with the id, or the only one. Raises an error object.
---@param path string
---@param id? string
---@param text? string what the file holds, if it has been read
---@return einloom.Problem
function problem.load(path, id, text)
  local decoded = read.decode_file(path, text)
  local is_search = decoded.schema == "search/1"
  local list = decoded.cases or { decoded }
  if not is_search and decoded.schema ~= nil then list = read.list(decoded, path) end
  local raw, label = choose(list, id, path)
  local ok, answer = pcall(is_search and of_search or of_mapping, raw, label)
  if ok then return answer end
  if errors.is(answer) then
    answer.path = ("%s: %s%s"):format(path, label, answer.path and ": " .. answer.path or "")
    answer.file = nil
  end
  return error(answer, 0)
end

return problem
