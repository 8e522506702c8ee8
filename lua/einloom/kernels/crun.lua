-- SPDX-License-Identifier: MIT
-- The C function that runs kernels in order: which storages it takes, and which block of points of
-- kernels that are launched at once runs which of them.

local launches = require "einloom.kernels.launches"
local scalar = require "einloom.kernels.scalar"
local shapes = require "einloom.kernels.shapes"

local crun = {}

-- ---- storages ------------------------------------------------------------------------------

--- The name of the storage of each tensor. in_place: a tensor that takes over the storage of
--- another has one with it, that of the last one.
---@param graph einloom.Graph
---@param programs einloom.Program[]
---@param in_place? boolean
---@return table<string, string>
function crun.storage_names(graph, programs, in_place)
  local next_of = {}
  for _, made in ipairs(in_place and programs or {}) do
    for _, group in ipairs(made.facts.in_place or {}) do
      for i = 2, #group do
        local from, to = graph.tensors[group[i - 1]], graph.tensors[group[i]]
        if shapes.same_storage(from, to) then next_of[group[i - 1]] = group[i] end
      end
    end
  end
  local names = {}
  for name, tensor in pairs(graph.tensors) do
    local last = tensor.base or name
    while next_of[last] do last = next_of[last] end
    names[name] = last
  end
  return names
end

--- The storages that a kernel uses, by the tensors that have them, and which it writes.
---@param made einloom.Program
---@param shared table<string, string>
---@return string[] names
---@return table<string, boolean> written
function crun.storages(made, shared)
  local list, written, seen = {}, {}, {}
  for _, name in ipairs(made.tensors) do
    local base = shared[name]
    if not seen[base] then list[#list + 1] = base end
    seen[base], written[base] = true, written[base] or made.stored[name]
  end
  return list, written
end

-- ---- calls ---------------------------------------------------------------------------------

-- What a kernel is called with.
local function arguments_of(made, sizes, shared)
  local list = {}
  for i, tensor in ipairs((crun.storages(made, shared))) do list[i] = "m_" .. tensor end
  for _, size in ipairs(sizes) do list[#list + 1] = "n_" .. size end
  return list
end

-- The call of a kernel that is launched alone.
local function call_text(one, shared)
  local list = arguments_of(one.made, one.sizes, shared)
  return ("  %s(%s);"):format(one.made.name, table.concat(list, ", "))
end

-- Kernels that are launched at once: which block runs which, and up to which point.
local function launch_text(launch, written, shared)
  local lines, count = { "  {" }, {}
  for i, part in ipairs(launch.parts) do
    local one = written[part.kernel]
    lines[#lines + 1] = ("    const int64_t points%d = %s;"):format(i, one.points)
    lines[#lines + 1] = ("    const int64_t blocks%d = (points%d + %d) / %d;"):format(i, i,
      launch.block - 1, launch.block)
    count[i] = ("blocks%d"):format(i)
  end
  lines[#lines + 1] = ("    for (int64_t block = 0; block < %s; block++) {"):format(
    table.concat(count, " + "))
  lines[#lines + 1] = "      int64_t own = block;"
  for i, part in ipairs(launch.parts) do
    local one = written[part.kernel]
    local list = arguments_of(one.made, one.sizes, shared)
    local last = ("(own + 1) * %d"):format(launch.block)
    if launch.masked then last = ("%s < points%d ? %s : points%d"):format(last, i, last, i) end
    table.insert(list, 1, ("own * %d, %s"):format(launch.block, last))
    lines[#lines + 1] = ("      if (own >= 0 && own < blocks%d) %s(%s);"):format(i, one.made.name,
      table.concat(list, ", "))
    lines[#lines + 1] = ("      own -= blocks%d;"):format(i)
  end
  lines[#lines + 1] = "    }\n  }"
  return table.concat(lines, "\n")
end

local function size_names(written)
  local names, seen = {}, {}
  for _, one in ipairs(written) do
    for _, name in ipairs(one.sizes) do
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  return names
end

-- The function that runs all kernels, from its calls.
local function run_function(graph, sizes, calls, name)
  local list, unused = {}, {}
  for _, own in ipairs(graph.order) do
    local tensor = graph.tensors[own]
    if not tensor.base then
      local constant = not (tensor.writer or tensor.updated_by)
      list[#list + 1] = ("%s%s *m_%s"):format(constant and "const " or "",
        scalar.types[tensor.dtype], own)
      unused[#unused + 1] = ("  (void)m_%s;"):format(own)
    end
  end
  for _, size in ipairs(sizes) do list[#list + 1] = "int64_t n_" .. size end
  local head = ("void %s(%s)"):format(name, table.concat(list, ", "))
  return ("%s;\n%s {\n%s\n%s\n}\n"):format(head, head, table.concat(unused, "\n"),
    table.concat(calls, "\n"))
end

--- The function that runs all kernels. written: what each kernel is as C.
---@param graph einloom.Graph
---@param programs einloom.Program[]
---@param written { made: einloom.Program, sizes: string[], points: string }[]
---@param shared table<string, string>
---@param options { name?: string, block?: integer }
---@return string text
---@return string[] sizes
function crun.text(graph, programs, written, shared, options)
  local calls, sizes = {}, size_names(written)
  for i, launch in ipairs(launches.of(programs, options.block)) do
    local first = launch.parts[1].kernel
    calls[i] = programs[first].facts.launch and launch_text(launch, written, shared)
      or call_text(written[first], shared)
  end
  return run_function(graph, sizes, calls, options.name or "run"), sizes
end

return crun
