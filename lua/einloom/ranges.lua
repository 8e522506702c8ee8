-- SPDX-License-Identifier: MIT
-- The ranges of a kernel: loom.ranges{ x = 1024, r0_ = 64 } has one flat index for each prefix, and
-- a tree of variables over it; loop nests are split onto them and indices written in them.
-- Sizes and indices may be numbers, expressions or texts; a text knows the names of the kernel.

local core = require "einloom.core"
local errors = require "einloom.errors"
local value = require "einloom.value"

local ranges = {}

local KIND = "bad_ranges"
local prefixes = { "z", "y", "x", "r0_", "r1_" }

local function set(...)
  local names = {}
  for _, name in ipairs { ... } do names[name] = true end
  return names
end

local is_prefix = set(table.unpack(prefixes))
local option_names = set("hints", "strict", "span", "one_pass", "no_x")

-- ---- names ---------------------------------------------------------------------------------

---@class einloom.Ranges
---@field x einloom.Tree the tree of a prefix; so are z, y, r0_ and r1_
local Ranges = { __name = "einloom.ranges" }

---@class einloom.Tree
---@field kernel einloom.Ranges
---@field prefix string
---@field index einloom.Expr the flat index
---@field extent einloom.Expr
---@field position integer x 0, y 1, z 2; of a reduction its place among the ranges
---@field grid_dim? integer
---@field tensor_dim? integer
---@field is_loop boolean
---@field is_reduction boolean
local Tree = { __name = "einloom.tree" }

local data = setmetatable({}, { __mode = "k" }) -- kernel or tree -> what is behind it

local function core_of(self)
  local found = data[self]
  if not found then error("a kernel expected: call methods with ':'", 3) end
  return found.core
end

-- Symbols of the kernel by name: variables, flat indices, sizes.
local function known_names(own)
  local known = {}
  for name, symbol in pairs(own.sizes) do known[name] = symbol end
  for _, root in ipairs(own.core:trees()) do known[root.index:name()] = root.index end
  for _, entry in ipairs(own.core:entries()) do known[entry.name] = entry.variable end
  return known
end

-- Values that are loaded at run time need no declaration.
local function is_loaded(name) return name:match "^tmp%d+$" or name:match "^indirect%d+$" end

local function check_names(e, known, given)
  for _, symbol in ipairs(e:symbols()) do
    local name = symbol:name()
    if known[name] ~= symbol and not is_loaded(name) then
      errors.raise(KIND, ("'%s': the kernel has no '%s'%s"):format(given, name,
        errors.hint(name, errors.keys(known))))
    end
  end
  return e
end

-- A number or expression as it is, a text as an expression in the names of the kernel.
local function read(own, given)
  if type(given) ~= "string" then return given end
  local known, symbols = known_names(own), {}
  for name in given:gmatch "[%a_][%w_]*" do
    local symbol = known[name] or is_loaded(name) and core.symbol(name, { min = 0 })
    if symbol then symbols[#symbols + 1] = symbol end
  end
  return check_names(core.parse(given, nil, symbols), known, given)
end

local size = { min = 0, integer = true }

local function read_size(own, given, path)
  return value.check(read(own, given), KIND, path, size)
end

local function read_list(own, list, path)
  if type(list) ~= "table" then
    errors.raise(KIND, ("a list of sizes expected, got %s"):format(type(list)), { path = path })
  end
  local out = {}
  for i, item in ipairs(list) do out[i] = read_size(own, item, ("%s[%d]"):format(path, i)) end
  return out
end

-- ---- making --------------------------------------------------------------------------------

local function read_tiling(t)
  local tiling, sizes = {}, {}
  for _, prefix in ipairs(prefixes) do
    local extent = t[prefix]
    if extent ~= nil then extent = value.check(extent, KIND, "ranges." .. prefix, size) end
    if core.is_expr(extent) then
      for _, symbol in ipairs(extent:symbols()) do sizes[symbol:name()] = symbol end
    end
    tiling[prefix] = extent
  end
  return tiling, sizes
end

local function check_keys(t)
  for key in pairs(t) do
    if not is_prefix[key] and not option_names[key] then
      local known = errors.keys(is_prefix)
      table.move(errors.keys(option_names), 1, 5, #known + 1, known)
      errors.raise(KIND, ("unknown range or option '%s'%s"):format(tostring(key),
        errors.hint(tostring(key), known)))
    end
  end
end

-- Hints by symbol; names are those of the sizes in the extents, other names become sizes.
local function read_hints(given, sizes)
  local hints = {}
  for key, hint in pairs(given or {}) do
    if type(key) == "string" then
      sizes[key] = sizes[key] or core.symbol(key)
      key = sizes[key]
    end
    hints[key] = hint
  end
  return hints
end

local function read_span(span)
  if span == nil or span == "two" then return false end
  if span == "any" then return true end
  errors.raise(KIND, ("span is 'two' or 'any', not '%s'"):format(tostring(span)))
end

local function new_tree(kernel, root)
  local tree = setmetatable({}, Tree)
  data[tree] = { core = data[kernel].core, kernel = kernel, prefix = root.tree, root = root }
  return tree
end

--- The ranges of a kernel: extents by prefix z, y, x (grid) and r0_, r1_ (reduction), and options.
--- hints: example values of symbolic sizes. strict: sound answers where the reference has quirks.
--- span: how many ranges one loop may be split over, "two" or "any". one_pass: the reduction is no
--- loop. no_x: blocks of values have no grid axes.
---@param t { z?: any, y?: any, x?: any, r0_?: any, r1_?: any, hints?: table, strict?: boolean,
--- span?: "two"|"any", one_pass?: boolean, no_x?: boolean }
---@return einloom.Ranges
function ranges.new(t)
  if type(t) ~= "table" then errors.raise(KIND, "a table of extents by prefix expected") end
  check_keys(t)
  local tiling, sizes = read_tiling(t)
  if not next(tiling) then
    errors.raise(KIND, "a kernel has at least one of z, y, x, r0_, r1_")
  end
  local split = {
    hints = read_hints(t.hints, sizes), strict = t.strict, any_span = read_span(t.span),
  }
  local options = { one_pass = t.one_pass, no_x = t.no_x }
  for key, option in pairs(split) do options[key] = option end
  local raw, message, kind = core.ranges(tiling, options)
  if not raw then errors.raise(kind, message) end
  local kernel = setmetatable({}, Ranges)
  data[kernel] = { core = raw, sizes = sizes, trees = {}, split = split }
  for i, root in ipairs(raw:trees()) do
    local tree = new_tree(kernel, root)
    data[kernel].trees[i] = tree
    data[kernel].trees[root.tree] = tree
  end
  return kernel
end

-- ---- kernels -------------------------------------------------------------------------------

function Ranges.__index(self, key)
  local method = Ranges[key]
  if method ~= nil then return method end
  local tree = data[self].trees[key]
  if tree then return tree end
  if is_prefix[key] then return nil end
  local names = errors.keys(Ranges)
  table.move(prefixes, 1, #prefixes, #names + 1, names)
  errors.raise(KIND, ("a kernel has no '%s'%s"):format(tostring(key),
    errors.hint(tostring(key), names)))
end

function Ranges.__newindex(_, key)
  errors.raise(KIND, ("cannot set '%s' of a kernel"):format(tostring(key)))
end

--- The trees, outermost first.
---@return einloom.Tree[]
function Ranges:trees()
  core_of(self)
  return table.move(data[self].trees, 1, #data[self].trees, 1, {})
end

--- The variables that were made, in order: {name, tree, variable, divisor, length, expr}.
---@return einloom.RangeEntry[]
function Ranges:entries() return core_of(self):entries() end

--- An expression from its text, in the variables of the kernel, its flat indices and sizes.
---@param given string|number|einloom.Expr
---@return einloom.Expr
function Ranges:expr(given)
  core_of(self)
  local e = read(data[self], given)
  return core.is_expr(e) and e or core.number(e)
end

-- The pointwise and the reduction loops of {64, 32} or {{64}, {32}}, and whether they were lists.
local function read_loops(own, lengths)
  if type(lengths) ~= "table" then
    errors.raise(KIND, "loops: a list of sizes, or two of them, expected")
  end
  local nested = type(lengths[1]) == "table"
  if nested and #lengths > 2 then errors.raise(KIND, "loops: at most two lists expected") end
  local pointwise = read_list(own, nested and lengths[1] or lengths, nested and "[1]" or "")
  return pointwise, read_list(own, nested and lengths[2] or {}, "[2]"), nested
end

--- What the loops of a nest become in the variables of the kernel: sizes outermost first, as a
--- list {8, 8}, or as two, {pointwise, reduction}; the answer has the same form.
---@param lengths any[]
---@return any[]? values
---@return string? message
---@return string? kind "cannot_split" or "incomplete_split"
function Ranges:split(lengths)
  local raw = core_of(self)
  local pointwise, reduction, nested = read_loops(data[self], lengths)
  local values, others, kind = raw:map(pointwise, reduction)
  if not values then return nil, others, kind end
  if nested then return { values, others } end
  return values
end

local function reduction_extent(self)
  local extent = core.int(1)
  for _, root in ipairs(core_of(self):trees()) do
    if root.is_reduction then extent = extent * root.extent end
  end
  return extent
end

local function groups_of(self)
  local groups = {}
  for i, root in ipairs(core_of(self):trees()) do groups[i] = root.extent end
  return groups
end

--- The two lists of loops with the reduction of the kernel added, where they have none and run over
--- the rest of it.
---@param lengths any[]
---@return any[][]
function Ranges:prepare_loops(lengths)
  core_of(self)
  local pointwise, reduction = read_loops(data[self], lengths)
  local extent = reduction_extent(self)
  local lack = core.loops_lack_reduction(groups_of(self), pointwise, reduction, extent,
    data[self].split)
  return { pointwise, lack and { extent } or reduction }
end

--- Whether a nest, prepared, can be split onto the kernel with its reduction; else the kind of
--- refusal too.
---@param lengths any[]
---@return boolean
---@return string? kind
function Ranges:fits(lengths)
  core_of(self)
  local pointwise, reduction = read_loops(data[self], lengths)
  return core.loops_fit(groups_of(self), pointwise, reduction, reduction_extent(self),
    data[self].split)
end

--- Variables for lengths of each tree, outermost first.
---@param lists any[][]
---@return einloom.Expr[][]
function Ranges:set(lists)
  local raw, given = core_of(self), {}
  for i, list in ipairs(lists) do given[i] = read_list(data[self], list, ("[%d]"):format(i)) end
  return raw:set(given)
end

--- Turns the reduction off or on: without it loops are split onto the grid alone.
---@param on boolean
---@return einloom.Ranges
function Ranges:reduction(on)
  core_of(self):reduction(on)
  return self
end

--- An index in as few variables and divisions as the ranges allow.
---@param index einloom.Number
---@return einloom.Expr
function Ranges:simplify(index) return core_of(self):simplify(self:expr(index)) end

--- The same, ready for use in code: what is computed from sizes alone is taken out (see hoisted).
---@param index einloom.Number
---@return einloom.Expr
function Ranges:prepare(index) return core_of(self):prepare(self:expr(index)) end

--- Sizes that were taken out of divisors and lengths: {symbol, value}.
---@return { symbol: einloom.Expr, value: einloom.Expr }[]
function Ranges:hoisted() return core_of(self):hoisted() end

--- Whether the variables of an index run over less than the kernel.
---@param index einloom.Number
---@return boolean
function Ranges:broadcasted(index) return core_of(self):broadcasted(self:expr(index)) end

--- The step of an index along each flat index, by prefix.
---@param index einloom.Number
---@return table<string, einloom.Expr>
function Ranges:tile_strides(index) return core_of(self):tile_strides(self:expr(index)) end

--- Gives the memory back at once.
function Ranges:close() core_of(self):close() end

local function place_of(root)
  if root.is_reduction then return root.is_loop and "reduction, a loop" or "reduction, one pass" end
  return ("grid %d"):format(root.grid_dim)
end

local function tree_lines(raw, root, lines)
  local axis = root.tensor_dim and (", axis %d"):format(root.tensor_dim) or ""
  local off = root.active and "" or ", off"
  lines[#lines + 1] = ("%s: %s, %s%s%s"):format(root.tree, root.extent, place_of(root), axis, off)
  for _, entry in ipairs(raw:entries()) do
    if entry.tree == root.tree then
      lines[#lines + 1] = ("  %s = %s, length %s"):format(entry.name, entry.expr, entry.length)
    end
  end
end

function Ranges:__tostring()
  local raw, lines = core_of(self), {}
  for _, root in ipairs(raw:trees()) do tree_lines(raw, root, lines) end
  return table.concat(lines, "\n")
end

-- ---- trees ---------------------------------------------------------------------------------

function Tree.__index(self, key)
  local method = Tree[key]
  if method ~= nil then return method end
  local own = data[self]
  if key == "kernel" or key == "prefix" then return own[key] end
  return own.root[key]
end

function Tree.__newindex(_, key)
  errors.raise(KIND, ("cannot set '%s' of a tree"):format(tostring(key)))
end

local function own_of(tree) return data[data[tree].kernel] end

--- Variables for lengths, outermost first, that together run over the tree.
---@param lengths any[]
---@return einloom.Expr[]
function Tree:construct(lengths)
  return core_of(self):construct(data[self].prefix, read_list(own_of(self), lengths, ""))
end

--- The variable floor(index / divisor) modulo length.
---@param divisor einloom.Number
---@param length einloom.Number
---@return einloom.Expr
function Tree:lookup(divisor, length)
  local own = own_of(self)
  return core_of(self):lookup(data[self].prefix, read_size(own, divisor, "divisor"),
    read_size(own, length, "length"))
end

--- The variables of the tree in an index, with those that fill the gaps between them, and their
--- sizes.
---@param index einloom.Number
---@return einloom.Expr[] variables
---@return einloom.Expr[] sizes
function Tree:variables(index)
  return core_of(self):vars_and_sizes(data[self].prefix, data[self].kernel:expr(index))
end

--- An index with variables of the tree that run together merged.
---@param index einloom.Number
---@return einloom.Expr
function Tree:merge(index)
  return core_of(self):merge_dims(data[self].prefix, data[self].kernel:expr(index))
end

--- Whether the variables of an index run over less than the tree.
---@param index einloom.Number
---@return boolean
function Tree:broadcasted(index)
  return core_of(self):broadcasted(data[self].kernel:expr(index), data[self].prefix)
end

function Tree:__tostring()
  local lines = {}
  for _, root in ipairs(core_of(self):trees()) do
    if root.tree == data[self].prefix then tree_lines(core_of(self), root, lines) end
  end
  return table.concat(lines, "\n")
end

return ranges
