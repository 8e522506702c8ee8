-- SPDX-License-Identifier: MIT
-- einloom kernels: the kernels of the graph that a script returns, or of graph cases, as text, as
-- loops, as JSON or as C.

local core = require "einloom.core"
local errors = require "einloom.errors"
local input = require "einloom.cli.input"
local outputs = require "einloom.cli.outputs"
local terminal = require "einloom.cli.terminal"

local kernels = {}

function kernels.declare(parser)
  local command = parser:command("kernels", "Print the kernels that a graph becomes.")
  command:argument("file", "A Lua script that returns a loom.graph, or a JSON file of graph cases "
    .. "(schema simd/1, family g_graphs); - is the standard input.")
  command:option("--case", "The one case of the file with this id or title.")
  command:option("--tiling", "How tilings are chosen."):choices { "rules", "coalescing", "best" }
  command:option("--max-tiles", "Pointwise tiles of a kernel, at most."):target "max_tiles"
    :choices { "1", "2", "3" }
  command:flag("--loops", "Print the kernels as loops.")
  command:flag("--explain", "Print also why kernels that use a tensor in common are apart.")
  command:option("--c", "Write the kernels as C11 to this file.")
  command:flag("--json", "Print all that is known of the kernels as JSON.")
end

-- ---- what is asked about -------------------------------------------------------------------

local function graph_of_script(path, values)
  local graph = values[1]
  local meta = type(graph) == "table" and getmetatable(graph) or {}
  if meta.__name == "einloom.graph" then return graph end
  if graph == nil and type(values[2]) == "string" then
    terminal.refuse(values[3] or "script", errors.printable(path) .. ": " .. values[2])
  end
  terminal.fail("script", "the script should return a graph: return loom.graph { ... }", path)
end

local function label(case, i) return case.id or case.title or "case " .. i end

-- The cases of a file that have the id or the title wanted, all without one.
local function chosen(cases, wanted, path)
  if not wanted then return cases end
  local known = {}
  for i, case in ipairs(cases) do
    if case.id == wanted or case.title == wanted then return { case } end
    known[i] = label(case, i)
  end
  terminal.fail("usage", ("%s has no case '%s'%s"):format(path, wanted,
    errors.hint(wanted, known)))
end

local function check_kind(decoded, key, expected, path)
  local got = decoded[key]
  if got == expected then return end
  terminal.fail("bad_case", ("%s: '%s' expected, got %s"):format(key, expected,
    got == nil and "nothing" or core.json.encode(got)), path)
end

local function cases_of(path, decoded, wanted)
  local cases = decoded.cases == nil and { decoded } or decoded.cases
  if type(cases) ~= "table" then terminal.fail("bad_case", "cases: a list expected", path) end
  for i, case in ipairs(cases) do
    if type(case) ~= "table" or type(case.nodes) ~= "table" then
      terminal.fail("bad_case", ("case %d has no graph: buffers, inputs, outputs and nodes, as"
        .. " those of family g_graphs of schema simd/1"):format(i), path)
    end
  end
  if #cases == 0 then terminal.fail("bad_case", "no case with a graph", path) end
  check_kind(decoded, "schema", "simd/1", path)
  check_kind(decoded, "family", "g_graphs", path)
  return chosen(cases, wanted, path)
end

local function title_of(case, i)
  local id = label(case, i)
  return case.title and case.title ~= id and ("%s: %s"):format(id, case.title) or id
end

local function subjects(args)
  local path, text = args.file, input.read_file(args.file)
  if not input.is_json(path, text) then
    if args.case then terminal.fail("usage", "--case is for files of cases") end
    return { { open = function() return graph_of_script(path, input.run_lua(path, text)) end } }
  end
  local list = {}
  local decoded = require "einloom.case".decode_file(path, text)
  for i, case in ipairs(cases_of(path, decoded, args.case)) do
    list[i] = {
      id = label(case, i), title = title_of(case, i), raw = case,
      name = ("%s: %s: "):format(path, label(case, i)),
      open = function() return require "einloom.kernels.recorded".read(case) end,
    }
  end
  return list
end

-- ---- what is printed -----------------------------------------------------------------------

local function print_text(data, programs, args)
  local show = require "einloom.show.kernels"
  if args.loops then
    for i, made in ipairs(programs) do terminal.say(i > 1 and "\n" or "", tostring(made)) end
  else
    terminal.say(show.text(data))
  end
  if args.explain then terminal.say("\n", show.refusals(data)) end
end

local function write_c(graph, programs, path)
  if not graph.c_source then
    terminal.fail("usage", "--c needs what operations compute; cases say their loops alone")
  end
  outputs.write("--c", path, graph:c_source(programs))
end

local function print_json(filled)
  local all = #filled == 1 and filled[1]
    or { schema = filled[1].schema, cases = setmetatable(filled, core.json.array) }
  terminal.say(core.json.encode(all, { indent = 2, sort_keys = true }))
end

local function print_one(subject, args, filled, titled)
  local graph = subject.open()
  local data, programs = require "einloom.kernels.listing".of(graph,
    { tiling = args.tiling, max_tiles = args.max_tiles and tonumber(args.max_tiles) })
  data.id = subject.id
  if args.c then write_c(graph, programs, args.c) end
  if args.json then
    filled[#filled + 1] = data
  else
    if titled then terminal.say("-- ", subject.title) end
    print_text(data, programs, args)
  end
end

function kernels.run(args)
  if args.json then terminal.print_to_err() end
  local list, filled = subjects(args), {}
  if args.c and #list > 1 then
    terminal.fail("usage", "--c takes one graph: choose it with --case")
  end
  if args.c then outputs.check("--c", args.c, { args.file }) end
  local status = input.each(list, function(subject, i)
    if i > 1 and not args.json then terminal.say "" end
    print_one(subject, args, filled, #list > 1)
  end)
  if args.json and #filled > 0 then print_json(filled) end
  return status
end

return kernels
