-- SPDX-License-Identifier: MIT
-- The module `einloom`: workloads, architectures and mappings go in, exact formulas come out.
-- Parts are loaded when they are first used.

local core = require "einloom.core"

local loom = { version = core.version }

-- Where the functions of the module live.
local parts = {
  workload = { "einloom.workload", "new" },
  arch = { "einloom.arch", "new" },
  memory = { "einloom.arch", "memory" },
  toll = { "einloom.arch", "toll" },
  compute = { "einloom.arch", "compute" },
  fanout = { "einloom.arch", "fanout" },
  fork = { "einloom.arch", "fork" },
  mapping = { "einloom.mapping", "new" },
  storage = { "einloom.mapping", "storage" },
  toll_node = { "einloom.mapping", "toll_node" },
  custom = { "einloom.mapping", "custom" },
  temporal = { "einloom.mapping", "temporal" },
  spatial = { "einloom.mapping", "spatial" },
  any_loops = { "einloom.mapping", "any_loops" },
  anything = { "einloom.mapping", "anything" },
  sequential = { "einloom.mapping", "sequential" },
  pipeline = { "einloom.mapping", "pipeline" },
  parallel = { "einloom.mapping", "parallel" },
  compute_node = { "einloom.mapping", "compute_node" },
  container = { "einloom.arch", "container" },
  models = { "einloom.models" },
  lift = { "einloom.lift", "checked" },
  compare = { "einloom.compare", "models" },
  certify = { "einloom.certify" },
  einsum_string = { "einloom.subscripts", "parse" },
  explain = { "einloom.show.explain", "explain" },
  ranges = { "einloom.ranges", "new" },
  graph = { "einloom.graph", "new" },
  space = { "einloom.space", "new" },
  simplify = { "einloom.index", "simplify" },
  strides = { "einloom.index", "strides" },
  merge_loops = { "einloom.index", "merge_loops" },
  match_blocks = { "einloom.index", "match_blocks" },
  pareto = { "einloom.search.pareto", "of" },
  read_case = { "einloom.case", "load" },
  write_case = { "einloom.case", "encode" },
}

for _, name in ipairs {
  "symbol", "number", "sum", "product", "min", "max", "floor", "ceil", "floor_div", "mod",
  "mod_index", "lt", "le", "eq", "select", "opaque", "compile", "is_expr",
} do
  loom[name] = core[name]
end

--- An expression from its text, e.g. loom.expr "ceil(M / 4) * 2".
loom.expr = core.parse

-- Analyzers of holder kinds made by the user, by kind.
local analyzers = {}

--- Adds a kind of mapping node: `analyze(node, shape, stats, as)` gets the node, the extents of the
--- tile there and the statistics of what it holds, and returns the statistics of the node;
--- as("storage") and as("toll") give what a memory or a toll would make of them. Without a function
--- the kind is taken away.
---@param kind string
---@param analyze? fun(node: table, shape: table, stats: table, as: function): table
function loom.analyzer(kind, analyze)
  require "einloom.model".check_analyzer(kind, analyze or function() end)
  analyzers[kind] = analyze
end

-- The options with the analyzers that were added; what is wrong with them the analysis says.
local function with_analyzers(options)
  if not next(analyzers) or options ~= nil and type(options) ~= "table" then return options end
  local own = options and options.analyzers
  if own ~= nil and type(own) ~= "table" then return options end
  local all = setmetatable({}, { __index = options })
  for key, value in pairs(options or {}) do all[key] = value end
  all.analyzers = {}
  for kind, analyze in pairs(analyzers) do all.analyzers[kind] = analyze end
  for kind, analyze in pairs(own or {}) do all.analyzers[kind] = analyze end
  return all
end

--- Analyses a mapping. A mapping that is not valid gives nil, a message and its kind.
---@param workload einloom.Workload
---@param arch einloom.Arch
---@param mapping einloom.Mapping
---@param options? { allow_unknown_tensors: boolean?, allow_growing_tiles: boolean?,
--- allow_unmapped_einsums: boolean?, analyzers: table<string, function>? }|einloom.Conventions
---@return einloom.Result? result
---@return string? message
---@return string? kind
function loom.analyze(workload, arch, mapping, options)
  local model = require "einloom.model"
  local raw, message, kind = model.analyze(workload, arch, mapping, with_analyzers(options))
  if not raw then return nil, message, kind end
  return require "einloom.result".new(raw, workload, arch, mapping, options)
end

--- Counts a mapping by walking every point of its loops: the figures of the model `exact`, of nests
--- of limited size whose sizes and tiles are numbers, or formulas that the point `at` makes numbers
--- of. Otherwise as `loom.analyze`.
---@param workload einloom.Workload
---@param arch einloom.Arch
---@param mapping einloom.Mapping
---@param options? { allow_unknown_tensors: boolean?, allow_unmapped_einsums: boolean?,
--- at: table<string, any>?, lifetime: string?, drain_reads: boolean?, partial_sums: string? }
---@return einloom.Result? result
---@return string? message
---@return string? kind
function loom.simulate(workload, arch, mapping, options)
  return require "einloom.simulate".run(workload, arch, mapping, options)
end

--- Computes the cases of a file and compares: a summary with the lines of differences in it.
---@param path string
---@param layer? string "reuse", "costs", "totals" or "all"
---@return table
function loom.verify(path, layer)
  local lines = {}
  local summary = require "einloom.verify".files({ path }, layer, function(line)
    lines[#lines + 1] = line
  end)
  for i, line in ipairs(lines) do summary[i] = line end
  return summary
end

local function names()
  local known = {}
  for name in pairs(parts) do known[#known + 1] = name end
  for name in next, loom do
    if not parts[name] then known[#known + 1] = name end
  end
  table.sort(known)
  return known
end

return setmetatable(loom, {
  __index = function(self, name)
    local part = parts[name]
    if not part then
      local hint = require "einloom.errors".hint(tostring(name), names())
      error(("einloom has no '%s'%s"):format(tostring(name), hint), 2)
    end
    local value = require(part[1])
    if part[2] then value = value[part[2]] end
    rawset(self, name, value)
    return value
  end,
  -- All names in order, those of parts not yet loaded too.
  __pairs = function(self)
    local list, i = names(), 0
    return function()
      i = i + 1
      if list[i] then return list[i], self[list[i]] end
    end, self, nil
  end,
  __tostring = function()
    return ("einloom %s: %s"):format(loom.version, table.concat(names(), ", "))
  end,
})
