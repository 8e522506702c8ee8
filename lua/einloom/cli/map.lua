-- SPDX-License-Identifier: MIT
-- einloom map: the best mapping of a workload on an architecture, or the front of several figures.

local answer = require "einloom.cli.answer"
local core = require "einloom.core"
local drive = require "einloom.cli.drive"
local input = require "einloom.cli.input"
local outputs = require "einloom.cli.outputs"
local problem = require "einloom.cli.problem"
local terminal = require "einloom.cli.terminal"

local map = {}

function map.declare(parser)
  local command = parser:command("map", "Search for the best mapping, or for the front of several "
    .. "figures; print it as a script that eval takes. Exit status: 0 all of the space is "
    .. "searched, 1 an error or no mapping fits, 2 wrong usage, 75 stopped before the end.")
  command:argument("files", "A script that returns a workload and one that returns an "
    .. "architecture, or one that returns both; or a JSON case (mapping/1 or search/1)."):args "1-2"
  command:option("--minimize", "What is best: energy, latency, energy_delay_product (edp), usage, "
    .. "or a formula in energy and latency.")
  command:option("--pareto", "Figures, e.g. energy,latency: all mappings that no other one beats.")
  command:option("--keep", "A mapping with holes (a text, or a script that returns it): what is "
    .. "fixed stays.")
  command:option("--strategy", "How is searched: a name, or a script that returns a strategy.")
    :default "optimal"
  command:option("--set", "An option of the strategy, NAME=VALUE."):args(1):count "*"
  command:option("--seed", "Seed of strategies that draw at random.")
  command:option("--evaluations", "Mappings that are evaluated, at most; not of the strategy "
    .. "optimal, which evaluates none.")
  command:option("--time-limit", "Seconds, after which the best so far is the answer; "
    .. "strategies then have no number of evaluations of their own.")
    :target "time_limit"
  command:option("--store", "A file that keeps what was found: the same command goes on where it "
    .. "was stopped or killed.")
  command:option("--shard", "I/N: the I-th of N parts of the space, for `einloom merge`.")
  command:option("--case", "The one case of the file with this id.")
  input.declare_scripts(command)
  answer.declare(command)
  problem.declare(command)
end

-- ---- the search -----------------------------------------------------------------------------

-- A strategy, and what tells it from others.
local function strategy_of(name)
  if not name:match "%.lua$" then return name, { strategy = name } end
  local text = input.read_file(name)
  local strategy = input.run_lua(name, text)[1]
  local has_search = type(strategy) == "table" and type(strategy.search) == "function"
  if not has_search and type(strategy) ~= "function" then
    terminal.fail("script", ("the script should return a strategy, a function or a table with a "
      .. "function `search`, not %s"):format(strategy == nil and "nothing" or "a "
      .. type(strategy)), name)
  end
  return strategy, { strategy = name, text = text }
end

-- Options of the search, and those that make it what it is, as plain data.
local function search_options(args)
  local strategy, identity = strategy_of(args.strategy)
  local options = {
    strategy = strategy, seed = input.number(args, "seed", "integer"),
    evaluations = input.number(args, "evaluations", "integer"),
    time = input.number(args, "time_limit"), threads = input.number(args, "threads", "integer"),
  }
  identity.seed, identity.evaluations = options.seed or 1, options.evaluations
  if options.evaluations and strategy == "optimal" then
    terminal.fail("usage", "--evaluations: the strategy optimal evaluates no mapping; "
      .. "--time-limit ends it")
  end
  for _, text in ipairs(args.set) do
    local name, value = text:match "^%s*([%w_]+)%s*=%s*(.-)%s*$"
    if not name then terminal.fail("usage", ("--set expects NAME=VALUE, not '%s'"):format(text)) end
    options[name] = tonumber(value) or value
    identity["set " .. name] = options[name]
  end
  return options, identity
end

local function shard_of(args)
  if not args.shard then return { number = 1, of = 1 } end
  local number_text, of_text = args.shard:match "^(%d+)/(%d+)$"
  local shard = { number = math.tointeger(number_text), of = math.tointeger(of_text) }
  if not shard.number or not shard.of or shard.number < 1 or shard.number > shard.of then
    terminal.fail("usage", ("--shard expects I/N with I from 1 to N, not '%s'"):format(args.shard))
  end
  if not args.store then terminal.fail("usage", "--shard needs a --store for what it finds") end
  if args.certificate then
    terminal.fail("usage", "--shard proves nothing alone: `einloom merge` takes --certificate")
  end
  if args.strategy ~= "optimal" then
    terminal.fail("usage", "--shard is for the strategy optimal: others have no units of work")
  end
  return shard
end

-- What a store says it is of.
local function store_data(space, identity)
  local data = require "einloom.store.problem".data(space)
  data.search = identity
  return data
end

local function open_store(work, path)
  local given = work.given
  return require "einloom.store".open(path, {
    identity = work.identity, shard = work.shard,
    source = { lines = given.source, names = given.names },
  }, work.units)
end

-- A search, and what keeps where it stands.
local function start(space, options, shard, kept)
  if options.strategy == "optimal" then
    options.ledger = require "einloom.store.ledger".new(shard, kept)
    local search = space:search(options)
    return search, function(is_last)
      if is_last and search.flush then search.flush() end
    end
  end
  local position = kept and kept:position()
  local limits = { time = options.time, strategy = options.strategy }
  local search = position
    and require "einloom.store".trust(kept.path, space.resume, space, position, limits)
    or space:search(options)
  return search, function() if kept then kept:keep_position(search:save()) end end
end

-- ---- the best so far in a store ---------------------------------------------------------------

-- Seconds between two times at which the best so far is kept; what keeping takes, at most.
local keep_every, keep_share = 1, 0.05

-- Keeps the best so far whenever there is a new one, and not too often.
local function keeper(kept, search, known)
  local last, due = search.points, 0
  return function()
    local now = core.clock()
    if not kept or search.points == last or now < due then return end
    last = search.points
    kept:keep_answer(answer.kept(answer.points(search, known)))
    due = core.clock() + math.max(keep_every, (core.clock() - now) / keep_share)
  end
end

-- What the store of a search holds that was stopped before it was opened.
local function peek(args, space, shard, identity)
  local store = require "einloom.store"
  local ok, list = pcall(function()
    local kept <close> = store.read(args.store)
    return store.is_of(kept, { identity = identity, shard = shard }) and kept:answer() or {}
  end)
  return ok and answer.known(space, list) or {}
end

-- ---- the command ----------------------------------------------------------------------------

-- The files that the command reads.
local function read_files(args)
  local list = table.move(args.files, 1, #args.files, 1, {})
  table.move(args.with, 1, #args.with, #list + 1, list)
  for _, name in ipairs { "keep", "strategy" } do list[#list + 1] = args[name] end
  return list
end

-- What a shard has done, as plain data.
local function about_shard(search, shard, kept, stopped)
  local p = kept:progress()
  return {
    schema = "shard/1", shard = shard, store = kept.path, points = p.points, seconds = p.seconds,
    units = { all = p.all, mine = p.mine, done = p.done },
    search = answer.about(search, stopped, "optimal"),
  }
end

-- The same of one that was stopped before its store was open.
local function about_early(args, shard, stopped)
  return {
    schema = "shard/1", shard = shard, store = args.store, points = 0, seconds = 0,
    search = { strategy = "optimal", stopped = stopped },
  }
end

local function encoded(about) return core.json.encode(about, { indent = 2, sort_keys = true }) end

local function say_shard(about, json)
  if json then
    terminal.say(encoded(about))
  else
    local units, stopped = about.units, about.search.stopped
    terminal.say(("-- shard %d/%d: %d of its %d units explored (%d in all), %d points in %s%s")
      :format(about.shard.number, about.shard.of, units.done, units.mine, units.all, about.points,
        about.store, stopped and "; the same command goes on" or ""))
  end
  return about.search.stopped and terminal.STOPPED or terminal.OK
end

---@class einloom.MapWork what a command line comes to, as far as it is known
---@field shard einloom.Shard
---@field given? table of problem.read
---@field space? einloom.Space
---@field options? table of the search
---@field identity? table of the store
---@field units? einloom.SearchUnit[] for the store
---@field kept? einloom.Store
---@field known? einloom.FoundPoint[] the best so far of the store
---@field search? einloom.Search
---@field keep? fun(is_last: boolean?) keeps where the search stands

-- What is searched; it may be ended at any point.
local function prepare(work, args)
  local inputs = read_files(args)
  work.given = problem.read(args.files, args.case)
  work.given.strategy = args.strategy
  local space = problem.space(work.given, args)
  inputs[#inputs + 1] = args.store
  answer.check(space, args, inputs)
  local options, identity = search_options(args)
  if args.store then work.identity = store_data(space, identity) end
  work.space, work.options = space, options
  problem.check(space, args)
  work.units = args.store and args.strategy == "optimal" and space:units() or {}
end

-- The search, in the store that is open.
local function begin(work)
  if work.kept then work.known = answer.known(work.space, work.kept:answer()) end
  work.options.time = work.catch:left()
  work.search, work.keep = start(work.space, work.options, work.shard, work.kept)
end

-- The answer of a command that was stopped before its search began.
local function give_early(work, args, stopped)
  if work.shard.of > 1 and args.json then
    terminal.say(encoded(about_early(args, work.shard, stopped)))
  end
  if not work.space or work.shard.of > 1 then return answer.complain(stopped, args) end
  local known = work.known
    or work.identity and peek(args, work.space, work.shard, work.identity) or {}
  local search = work.search or work.space:search { strategy = work.options.strategy }
  search:stop(stopped)
  return answer.give(search, known, stopped, work.given, args)
end

local function search(work, args)
  local found, kept, keep = work.search, work.kept, work.keep
  local keep_best = keeper(kept, found, work.known)
  local stopped = drive.run(found, {
    catch = work.catch, shown = terminal.is_terminal(),
    keep = function()
      keep()
      keep_best()
    end,
  })
  keep(true)
  local points = answer.points(found, work.known)
  if kept then
    kept:finish(stopped or "done", answer.kept(points))
    work.given.sessions = kept:sessions()
  end
  if work.shard.of > 1 then
    return say_shard(about_shard(found, work.shard, kept, stopped), args.json)
  end
  return answer.give(found, points, stopped, work.given, args)
end

function map.run(args)
  terminal.print_to_err()
  local catch <close> = drive.catch(input.number(args, "time_limit"))
  local work = { shard = shard_of(args), catch = catch }
  if args.store then
    require "einloom.store".check_path(args.store)
    outputs.check("--store", args.store, read_files(args))
  end
  local stopped = catch:during(function()
    input.run_first(args.with)
    prepare(work, args)
  end)
  local kept <close> = not stopped and args.store and open_store(work, args.store) or nil
  work.kept = kept
  stopped = stopped or catch:during(begin, work)
  if not stopped then return search(work, args) end
  catch:release()
  return give_early(work, args, stopped)
end

return map
