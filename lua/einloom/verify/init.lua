-- SPDX-License-Identifier: MIT
-- `einloom verify`: computes every case of files of expected results and compares strictly. A case
-- passes, fails or is disputed; what a layer leaves out is none of these.

local case = require "einloom.case"
local compare = require "einloom.verify.compare"
local core = require "einloom.core"
local errors = require "einloom.errors"

local verify = {}

verify.layers = { "reuse", "costs", "totals", "search", "all" }

local null, array = core.json.null, core.json.array

local function set(...)
  local names = {}
  for _, name in ipairs { ... } do names[name] = true end
  return names
end

local head_of_cases =
  set("schema", "family", "model", "conventions", "tolerance", "cases", "note", "search")
local adapters = {
  ["mapping/1"] = { module = "einloom.verify.mapping", list = "cases", head = head_of_cases },
  ["tiles/1"] = { module = "einloom.verify.tiles", list = "cases", head = head_of_cases },
  ["fixed/1"] = { module = "einloom.verify.fixed", list = "cases", head = head_of_cases },
  ["simd/1"] = {
    module = "einloom.verify.simd", list = "cases",
    head = set("schema", "family", "about", "cases", "note"),
  },
  ["search/1"] = {
    module = "einloom.verify.search", list = "cases",
    head = set("schema", "model", "tolerance", "source", "about", "cases", "note"),
  },
  ["expr/1"] = {
    module = "einloom.verify.expr", list = "expressions",
    head = set("schema", "format", "version", "count", "expressions", "note"),
  },
}

local function schema_of(raw, path)
  local schema = raw.schema
  if schema == nil and raw.format == "loopnest-expressions" then schema = "expr/1" end
  if schema == nil and raw.workload ~= nil and raw.mapping ~= nil then schema = case.schema end
  if adapters[schema] then return schema end
  local known = errors.keys(adapters)
  errors.raise("bad_case", ("unknown schema %s; known: %s"):format(
    schema == nil and "(none given)" or "'" .. tostring(schema) .. "'",
    table.concat(known, ", ")), { file = path })
end

local function cases_of(raw, adapter, path)
  if raw[adapter.list] == nil and raw.workload ~= nil then return { raw } end
  local cases = raw[adapter.list]
  if type(cases) ~= "table" or #cases == 0 then
    errors.raise("bad_case", ("no %s in the file"):format(adapter.list), { file = path })
  end
  if raw.count ~= nil and raw.count ~= #cases then
    errors.raise("bad_case", ("%s cases were announced, %d are there"):format(raw.count, #cases),
      { file = path })
  end
  return cases
end

---@class einloom.VerifySummary
---@field passed integer cases
---@field failed integer cases
---@field disputed integer cases that are disputed, whole or in some fields
---@field left_out integer cases that the layer does not ask for

-- ---- the head of a file --------------------------------------------------------------------

local largest_tolerance = 1e-3

local function is_object(value)
  return type(value) == "table" and value ~= null and getmetatable(value) ~= array
end

local function tolerances_of(raw, path)
  local given = raw.tolerance
  local found = { default = 1e-9, totals = 1e-6, objective = 1e-5, front = 1e-4 }
  if given ~= nil and not is_object(given) then
    errors.raise("bad_case", "tolerance is no object", { file = path })
  end
  for name, value in pairs(given or {}) do
    local fits = type(value) == "number" and value >= 0 and value <= largest_tolerance
    if found[name] == nil or not fits then
      errors.raise("bad_case", ("tolerance.%s: %s is no tolerance from 0 to %s of %s"):format(name,
        tostring(value), largest_tolerance, table.concat(errors.keys(found), ", ")),
        { file = path })
    end
    found[name] = value
  end
  return found
end

local function check_head(raw, adapter, path)
  for key in pairs(raw) do
    if not adapter.head[key] then
      errors.raise("bad_case", ("unknown key '%s' in the head of the file"):format(key),
        { file = path })
    end
  end
  local ok, problem = pcall(case.conventions, raw)
  if not ok then
    problem.file = path
    error(problem, 0)
  end
end

-- ---- cases ---------------------------------------------------------------------------------

local function is_list_of(value, is_item)
  if type(value) ~= "table" or getmetatable(value) ~= array then return false end
  for _, item in ipairs(value) do
    if not is_item(item) then return false end
  end
  return true
end

local function is_text(value) return type(value) == "string" end

-- What every adapter relies on: name of the first key of a wrong type and what it should be.
local function malformed(raw)
  if raw.expected ~= nil and not is_object(raw.expected) then return "expected", "an object" end
  if raw.disputed ~= nil and type(raw.disputed) ~= "boolean" then return "disputed", "a boolean" end
  if raw.disputed_fields ~= nil and not is_list_of(raw.disputed_fields, is_text) then
    return "disputed_fields", "a list of names"
  end
  if raw.tags ~= nil and not is_list_of(raw.tags, is_text) then return "tags", "a list of texts" end
  if raw.samples ~= nil and not is_list_of(raw.samples, is_object) then
    return "samples", "a list of points"
  end
  return nil
end

local function protected(adapter, run, raw, layer)
  return xpcall(adapter.check, function(problem)
    if type(problem) == "table" and problem.kind then return tostring(problem) end
    return debug.traceback(tostring(problem), 2)
  end, run, raw, layer)
end

local function check_disputed_names(raw, seen, run)
  for _, name in ipairs(raw.disputed_fields or {}) do
    if not seen[name] then run.differ("disputed_fields", "names of fields", name) end
  end
end

-- One case. Differences go to `differ`, numbers recorded modulo 2^64 to `wrapped`. Returns
-- "passed", "failed", "disputed" or "left out", and whether some of its fields are disputed.
local function check_case(adapter, family, tolerances, raw, layer, differ, wrapped)
  local key, wanted = malformed(raw)
  if key then
    differ(key, wanted, core.json.encode(raw[key]))
    return "failed", false
  end
  if not adapter.answers_inside and raw.expected == nil and raw.points == nil then
    differ("expected", "a result", "a case without one")
    return "failed", false
  end
  local failed, overflowed, seen = false, false, {}
  local whole = raw.disputed == true and raw.disputed_fields == nil
  local run = {
    tolerance = tolerances.default,
    totals_tolerance = tolerances.totals,
    objective_tolerance = tolerances.objective,
    front_tolerance = tolerances.front,
    samples = {},
    names = {},
    family = family,
    disputed = raw.disputed and raw.disputed_fields and
      compare.disputed_names(raw.disputed_fields, seen),
    differ = function(...)
      failed = true
      if not whole then differ(...) end
    end,
    wrapped = function(...)
      overflowed = true
      if not whole then wrapped(...) end
    end,
  }
  local ok, answer = protected(adapter, run, raw, layer)
  if not ok then
    differ("", "a result", answer)
    return "failed", false
  end
  if answer == "left out" then return answer, false end
  if whole then return "disputed", false end
  if layer == "all" then check_disputed_names(raw, seen, run) end
  return failed and "failed" or "passed", overflowed or next(seen) ~= nil
end

local function check_duplicates(cases, path)
  local seen = {}
  for i, raw in ipairs(cases) do
    local id = type(raw) == "table" and raw.id or nil
    if type(id) ~= "string" then
      errors.raise("bad_case", ("case %d has no text as id"):format(i), { file = path })
    elseif seen[id] then
      errors.raise("bad_case", ("two cases are called '%s'"):format(id), { file = path })
    end
    seen[id] = true
  end
end

local function single_id(raw, cases)
  if #cases == 1 and cases[1] == raw and raw.id == nil then raw.id = "case" end
end

--- Checks one file; raises an error object when it is no file of cases.
---@param path string
---@param layer string
---@param write fun(line: string)
---@param summary einloom.VerifySummary
function verify.file(path, layer, write, summary)
  local raw = case.decode_file(path)
  local adapter = adapters[schema_of(raw, path)]
  local cases = cases_of(raw, adapter, path)
  if cases[1] ~= raw then check_head(raw, adapter, path) end
  local tolerances = tolerances_of(raw, path)
  single_id(raw, cases)
  case.inherit(raw, cases)
  check_duplicates(cases, path)
  local module = require(adapter.module)
  for _, entry in ipairs(cases) do
    local function differ(field, expected, got)
      write(("%s: %s: expected %s, got %s"):format(entry.id, field ~= "" and field or "result",
        expected, got))
    end
    local function wrapped(field, expected, got)
      write(("%s: %s: disputed: %s was recorded modulo 2^64, exact is %s"):format(entry.id, field,
        expected, got))
    end
    local outcome, some_disputed = check_case(module, raw.family, tolerances, entry, layer, differ,
      wrapped)
    local key = outcome == "left out" and "left_out" or outcome
    summary[key] = summary[key] + 1
    if some_disputed then summary.disputed = summary.disputed + 1 end
  end
end

--- Checks files; a file that cannot be read as cases is written as a line and fails. Of several
--- files every line begins with the path.
---@param paths string[]
---@param layer? string "reuse", "costs", "totals", "search" or "all" (default)
---@param write fun(line: string)
---@param complain? fun(message: string) for files that cannot be read; `write` without it
---@return einloom.VerifySummary
function verify.files(paths, layer, write, complain)
  local summary = { passed = 0, failed = 0, disputed = 0, left_out = 0 }
  for _, path in ipairs(paths) do
    local function write_line(line)
      write(#paths > 1 and ("%s: %s"):format(errors.printable(path), line) or line)
    end
    local ok, problem = pcall(verify.file, path, layer or "all", write_line, summary)
    if not ok then
      if type(problem) ~= "table" or not problem.kind then error(problem, 0) end
      problem.caller = nil
      if complain then complain(tostring(problem)) else write(tostring(problem)) end
      summary.failed = summary.failed + 1
    end
  end
  return summary
end

--- The last line of a report.
---@param summary einloom.VerifySummary
---@return string
function verify.verdict(summary)
  return ("%d passed, %d failed, %d disputed"):format(summary.passed, summary.failed,
    summary.disputed)
end

return verify
