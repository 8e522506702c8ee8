-- SPDX-License-Identifier: MIT
-- Types of the module einloom.core, which is written in C (lua/bind), for editors: never loaded.
-- luacheck: ignore 212 241, no max line length
---@meta einloom.core

local core = {}

---@type string
core.version = ""

---Seconds since some moment; it never goes back.
---@return number
function core.clock() end

--- What is at a path, and of a file its path without symbolic links; nil where nothing is there.
---@param path string
---@return "file"|"directory"|"other"|nil kind other: a device, a pipe, a link to nothing
---@return string? path
function core.file_kind(path) end

---What a list of terms, an operand or a tile may be: floats are read as their shortest decimal.
---@alias einloom.Number einloom.Expr|number|string

---Three-valued: nil is unknown.
---@alias einloom.Answer boolean?

---@class einloom.Assumptions
---@field integer? boolean true unless given
---@field min? integer 1 unless given (none if the value need not be an integer or max is below 1)
---@field max? integer
---@field multiple? integer the value is a multiple of this
---@field divides? einloom.Number the value divides this

-- ---- expressions ----------------------------------------------------------------------------

---An exact expression.  Equal expressions of a context are the same object: == and table keys work.
---@class einloom.Expr: userdata
---@operator add(einloom.Number): einloom.Expr
---@operator sub(einloom.Number): einloom.Expr
---@operator mul(einloom.Number): einloom.Expr
---@operator div(einloom.Number): einloom.Expr
---@operator idiv(einloom.Number): einloom.Expr
---@operator mod(einloom.Number): einloom.Expr
---@operator pow(integer): einloom.Expr
---@operator unm: einloom.Expr
---@operator concat(any): string
---@operator call(table<string|einloom.Expr, einloom.Number>): einloom.Expr
local Expr = {}

---@return "num"|"sym"|"pow"|"mul"|"add"|"min"|"max"|"floor"|"ceil"|"floor_div"|"mod"|"mod_index"|"lt"|"le"|"eq"|"select"|"opaque"|"call"
function Expr:kind() end
---@return integer
function Expr:arity() end
---@param i integer from 1
---@return einloom.Expr
function Expr:arg(i) end
---@return einloom.Expr[]
function Expr:args() end
---@return einloom.Expr[]
function Expr:symbols() end
---@return string? name of a symbol
function Expr:name() end
---@return string? name of the named function of a call
function Expr:called() end
---@return einloom.Assumptions? assumptions of a symbol
function Expr:assumptions() end
---@return boolean
function Expr:is_number() end
---@return einloom.Answer
function Expr:is_integer() end
---@return einloom.Expr? lo, einloom.Expr? hi
function Expr:bounds() end
---@return integer modulus, integer remainder modulus 0: the constant remainder
function Expr:residue() end
---@param other einloom.Number
---@return einloom.Answer
function Expr:lt(other) end
---@param other einloom.Number
---@return einloom.Answer
function Expr:le(other) end
---@param other einloom.Number
---@return einloom.Answer
function Expr:eq(other) end
---@param other einloom.Number
---@return einloom.Answer
function Expr:divides(other) end
---@param other einloom.Number
---@return -1|0|1
function Expr:order(other) end
---@return integer distinct sub-expressions
function Expr:size() end
---@return integer? nil if it is no number or does not fit
function Expr:tointeger() end
---@return number? rounded once; nil if it is no number
function Expr:tonumber() end
---@return integer? numerator, integer? denominator
function Expr:ratio() end
---@return einloom.Expr
function Expr:expand() end
---@param symbol einloom.Expr
---@return einloom.Expr
function Expr:diff(symbol) end
---@param symbol einloom.Expr
---@param step? einloom.Number 1 unless given
---@return einloom.Expr
function Expr:difference(symbol, step) end
---@param symbol einloom.Expr
---@param lo integer
---@param hi integer
---@return integer[]
function Expr:breakpoints(symbol, lo, hi) end
---@param style? "infix"|"c"|"latex"|"lua"
---@return string
function Expr:print(style) end

---0 <= variable < size, by symbols or their names; those of other expressions are not read.
---@alias einloom.Extents table<string|einloom.Expr, einloom.Number>
---Example values of sizes, false for a size without one.
---@alias einloom.Hints table<string|einloom.Expr, einloom.Number|false>

---Products distributed over sums; with extents also joined and resolved under them.
---@param extents? einloom.Extents
---@return einloom.Expr
function Expr:simplify(extents) end
---Neighbouring remainders and quotients of sums joined.
---@return einloom.Expr
function Expr:join() end
---Opaque nodes replaced by what is in them.
---@return einloom.Expr
function Expr:reveal() end
---@param extents? einloom.Extents
---@return einloom.Expr
function Expr:pair_mod(extents) end
---@param extents? einloom.Extents
---@return einloom.Expr? numerator, einloom.Expr? divisor nil if it has another form
function Expr:expand_div(extents) end
---@param relation "eq"|"le"|"lt"|"ge"|"gt"|"multiple"
---@param other einloom.Number
---@param given? { extents: einloom.Extents?, hints: einloom.Hints?, strict: boolean? }
---@return boolean proved
function Expr:known(relation, other, given) end
---@param hints einloom.Hints
---@param fallback? integer
---@return einloom.Expr? value nil where a symbol has no hint and there is no fallback
function Expr:hint(hints, fallback) end
---@param variables einloom.Expr[]
---@param support? einloom.Expr[] the other variables that are 0; the same ones unless given
---@return einloom.Expr[]
function Expr:strides(variables, support) end
---@param variables einloom.Expr[]
---@param hints einloom.Hints
---@param support? einloom.Expr[]
---@return einloom.Expr[] integers
function Expr:stride_hints(variables, hints, support) end
---@param variables einloom.Expr[]
---@return einloom.Expr
function Expr:offset(variables) end
---@param variable einloom.Expr
---@return einloom.Expr
function Expr:terms_of(variable) end
---@param variable einloom.Expr
---@return einloom.Expr? stride
function Expr:affine(variable) end
---@param variable einloom.Expr
---@param extent einloom.Number
---@param n integer dimensions
---@return { dims: einloom.Expr[], strides: einloom.Expr[], pieces: einloom.Expr[] }?
function Expr:match_blocks(variable, extent, n) end

---@param name string
---@param assume? einloom.Assumptions
---@return einloom.Expr
function core.symbol(name, assume) end
---@param value number|string
---@return einloom.Expr
function core.number(value) end
---@param value integer
---@return einloom.Expr
function core.int(value) end
---Raises an error object with line and column.
---@param text string
---@param source? string name of the text in messages
---@param symbols? einloom.Expr[] names are looked up among these first
---@return einloom.Expr
function core.parse(text, source, symbols) end
---@param x any
---@return boolean
function core.is_expr(x) end
---@param terms einloom.Number[]
---@return einloom.Expr
function core.sum(terms) end
---@param factors einloom.Number[]
---@return einloom.Expr
function core.product(factors) end
---@param ... einloom.Number
---@return einloom.Expr
function core.min(...) end
---@param ... einloom.Number
---@return einloom.Expr
function core.max(...) end
---The value of e, into which no rule looks.
---@param e einloom.Number
---@return einloom.Expr
function core.opaque(e) end
---@param variables einloom.Expr[]
---@param sizes einloom.Number[]
---@param formulas einloom.Number[]
---@param keep_order? boolean
---@return { kept: integer[], sizes: einloom.Expr[] } positions from 1 of the loops that are left
function core.merge_loops(variables, sizes, formulas, keep_order) end
---@param e einloom.Number
---@return einloom.Expr
function core.floor(e) end
---@param e einloom.Number
---@return einloom.Expr
function core.ceil(e) end
---@param a einloom.Number
---@param b einloom.Number
---@return einloom.Expr
function core.floor_div(a, b) end
---@param a einloom.Number
---@param b einloom.Number
---@return einloom.Expr
function core.mod(a, b) end
---@param a einloom.Number
---@param d einloom.Number
---@param m einloom.Number
---@return einloom.Expr (a // d) % m
function core.mod_index(a, d, m) end
---@param a einloom.Number
---@param b einloom.Number
---@return einloom.Expr 1 or 0
function core.lt(a, b) end
---@param a einloom.Number
---@param b einloom.Number
---@return einloom.Expr 1 or 0
function core.le(a, b) end
---@param a einloom.Number
---@param b einloom.Number
---@return einloom.Expr 1 or 0
function core.eq(a, b) end
---@param c einloom.Number
---@param a einloom.Number value where c is not 0
---@param b einloom.Number value where c is 0
---@return einloom.Expr
function core.select(c, a, b) end

---A compiled set of expressions; #program is its number of instructions.
---@class einloom.Program: userdata
local Program = {}

---@param columns number[][] one column for each symbol, equally long
---@param most? number[] with it values have to be integers from 1 to those of their column
---@return number[][]? one column for each output; nil where a value is none of these
---@return integer? column of the first such value
---@return integer? point and its place
function Program:eval(columns, most) end
---@param values einloom.Number[]
---@return einloom.Expr[]
function Program:exact(values) end
function Program:close() end

---@param outputs einloom.Number[]
---@param symbols einloom.Expr[]
---@return einloom.Program
function core.compile(outputs, symbols) end

-- ---- contexts -------------------------------------------------------------------------------

---Owns expressions and objects; those of two contexts do not meet.  Has symbol, number, int, parse,
---workload, arch and mapping as methods.
---@class einloom.Context: userdata
---@field symbol fun(self: einloom.Context, name: string, assume?: einloom.Assumptions): einloom.Expr
---@field number fun(self: einloom.Context, value: number|string): einloom.Expr
---@field int fun(self: einloom.Context, value: integer): einloom.Expr
---@field parse fun(self: einloom.Context, text: string, source?: string): einloom.Expr
---@field workload fun(self: einloom.Context): einloom.CoreWorkload
---@field arch fun(self: einloom.Context): einloom.CoreArch
---@field mapping fun(self: einloom.Context): einloom.CoreMapping
---@field space fun(self: einloom.Context, options: table): einloom.CoreSpace
---@field ranges fun(self: einloom.Context, tiling: table, options?: einloom.RangesOptions): einloom.CoreRanges?
---@field split_loops fun(self: einloom.Context, ...: any): einloom.Split?
---@field map_loops fun(self: einloom.Context, ...: any): einloom.Split?
---@field loops_fit fun(self: einloom.Context, ...: any): boolean?
---@field loops_lack_reduction fun(self: einloom.Context, ...: any): boolean?
---@field address_merge fun(self: einloom.Context, ...: any): einloom.Expr?, einloom.Expr[][]
---@field address_look fun(self: einloom.Context, ...: any): table?
---@field address_narrow fun(self: einloom.Context, ...: any): boolean?
---@field index_narrow fun(self: einloom.Context, ...: any): boolean?
---@field graph fun(self: einloom.Context, options?: einloom.SplitOptions): einloom.CoreGraph?
---@field tiling_create fun(self: einloom.Context, ...: any): einloom.Tiling?
---@field tiling_complete fun(self: einloom.Context, ...: any): einloom.Tiling?
---@field tiling_good_size fun(self: einloom.Context, ...: any): boolean?
---@field zero_of fun(self: einloom.Context, ...: any): einloom.Expr?
---@field unit_factor fun(self: einloom.Context, ...: any): einloom.Expr?
---@field unit_split fun(self: einloom.Context, ...: any): einloom.Expr?
---@field unit_loop fun(self: einloom.Context, ...: any): integer?
---@field address_points fun(self: einloom.Context, ...: any): einloom.Expr
---@field moved_bytes fun(self: einloom.Context, ...: any): einloom.Expr?
---@field call_flops fun(self: einloom.Context, ...: any): einloom.Expr
---@field combine fun(self: einloom.Context, ...: any): integer[][]?
local Context = {}

---Closes everything made in it as well.
function Context:close() end
---@return integer live, integer bytes
function Context:nodes() end
---Frees the expressions that nobody holds, now.
---@return integer live
function Context:collect() end
---@return integer mark
function Context:mark() end
---Drops every expression made since the mark; their handles are stale.
---@param mark integer
function Context:release(mark) end

---@return einloom.Context
function core.context() end
---@type einloom.Context
core.default = nil

-- ---- models ---------------------------------------------------------------------------------
-- Indices are from 0.  Methods that set return the object, those that add return the index; a
-- mistake in the model gives nil, a message and its kind.

---@class einloom.CoreWorkload: userdata
---@field close fun(self: einloom.CoreWorkload)
---@field variable fun(self: einloom.CoreWorkload, name: string, size: einloom.Number)
---@field repeats fun(self: einloom.CoreWorkload, n: einloom.Number)
---@field einsum fun(self: einloom.CoreWorkload, name: string, is_copy?: boolean, n?: einloom.Number): integer
---@field access fun(self: einloom.CoreWorkload, einsum: integer, tensor: string, output: boolean, bits: einloom.Number): integer
---@field rank fun(self: einloom.CoreWorkload, einsum: integer, access: integer, rank: string, constant: integer, terms: table[])
---@field index fun(self: einloom.CoreWorkload, einsum: integer, access: integer, rank: string, steps: table[])
---@field relevancy fun(self: einloom.CoreWorkload, einsum: integer, access: integer, variable: string): string
---@field stride_halo fun(self: einloom.CoreWorkload, einsum: integer, access: integer, rank: integer, variable: string): einloom.Expr, einloom.Expr
---@field tile_occupancy fun(self: einloom.CoreWorkload, einsum: integer, access: integer, extents: table<string, einloom.Number>): einloom.Expr
---@field used_alone fun(self: einloom.CoreWorkload, einsum: integer, variable: string): boolean

---@class einloom.CoreArch: userdata
---@field close fun(self: einloom.CoreArch)
---@field component fun(self: einloom.CoreArch, class: "memory"|"toll"|"compute"|"container", name: string, list?: integer): integer
---@field fork fun(self: einloom.CoreArch, list: integer): integer
---@field branch fun(self: einloom.CoreArch, fork: integer): integer
---@field number fun(self: einloom.CoreArch, component: integer, which: string, value?: einloom.Number)
---@field skip_initial_output_write fun(self: einloom.CoreArch, component: integer, skip: boolean)
---@field latency_rule fun(self: einloom.CoreArch, component: integer, rule: string, value?: einloom.Number)
---@field action fun(self: einloom.CoreArch, component: integer, name: string, energy?: einloom.Number, throughput?: einloom.Number, bits_per_action?: einloom.Number)
---@field dimension fun(self: einloom.CoreArch, component: integer, name: string, fanout: einloom.Number, usage_scale?: einloom.Number, gateable?: boolean): integer
---@field may_reuse fun(self: einloom.CoreArch, component: integer, dimension: integer, einsum?: string, tensor?: string)
---@field bits_per_value fun(self: einloom.CoreArch, component: integer, einsum?: string, tensor: string, bits: einloom.Number)
---@field values_per_action fun(self: einloom.CoreArch, component: integer, action?: string, einsum?: string, tensor: string, values: einloom.Number)
---@field direction fun(self: einloom.CoreArch, component: integer, einsum?: string, tensor?: string, direction: "up"|"down"|"up_and_down")

---@class einloom.CoreMapping: userdata
---@field close fun(self: einloom.CoreMapping)
---@field storage fun(self: einloom.CoreMapping, list: integer, component: string, persistent?: boolean, may_lower?: boolean): integer
---@field toll fun(self: einloom.CoreMapping, list: integer, component: string, may_lower?: boolean): integer
---@field custom fun(self: einloom.CoreMapping, list: integer, kind: string, component: string, may_lower?: boolean): integer
---@field tensor fun(self: einloom.CoreMapping, node: integer, tensor: string)
---@field temporal fun(self: einloom.CoreMapping, list: integer, variable: string, tile: einloom.Number, first?: einloom.Number): integer
---@field spatial fun(self: einloom.CoreMapping, list: integer, variable: string, tile: einloom.Number, first: einloom.Number?, component: string, dimension: string): integer
---@field variable_in fun(self: einloom.CoreMapping, node: integer, einsum: string, variable: string)
---@field lifetime fun(self: einloom.CoreMapping, storage: integer, lifetime: "scope"|"retain")
---@field step fun(self: einloom.CoreMapping, loop: integer, step?: einloom.Number)
---@field tile_in fun(self: einloom.CoreMapping, loop: integer, einsum: string, tile: einloom.Number, first?: einloom.Number, step?: einloom.Number)
---@field sequential fun(self: einloom.CoreMapping, list: integer): integer
---@field pipeline fun(self: einloom.CoreMapping, list: integer): integer
---@field parallel fun(self: einloom.CoreMapping, list: integer): integer
---@field branch fun(self: einloom.CoreMapping, split: integer): integer
---@field compute fun(self: einloom.CoreMapping, list: integer, einsum: string, component: string): integer
---@field where fun(self: einloom.CoreMapping, node: integer, text: string)

---@return einloom.CoreWorkload
function core.workload() end
---@return einloom.CoreArch
function core.arch() end
---@return einloom.CoreMapping
function core.mapping() end

---@param mode "whole_trips"|"first_tile"|"exact_last_tile"|"average"
---@param outer einloom.Number
---@param tile einloom.Number
---@param first? einloom.Number
---@return { stride: einloom.Expr, pairs: einloom.Expr[][] }? tiles, string? message, string? kind
function core.tile_sequence(mode, outer, tile, first) end

---Statistics at a node: records with the fields of einloom.h.
---@class einloom.Stats
---@field buffets table[] innermost first
---@field compute table
---@field fanout table[]
---@field first_latency table[]
---@field temporal_steps einloom.Expr

---@alias einloom.Analyzer fun(node: table, shape: table<string, einloom.Expr>, stats: einloom.Stats, as: fun(kind: "storage"|"toll", stats?: einloom.Stats): einloom.Stats): einloom.Stats

---@class einloom.CoreResult: userdata
---@field close fun(self: einloom.CoreResult)
---@field einsums fun(self: einloom.CoreResult): string[]
---@field buffets fun(self: einloom.CoreResult, einsum: string): table[]
---@field buffet fun(self: einloom.CoreResult, einsum: string, level: string, tensor: string): table?
---@field compute fun(self: einloom.CoreResult, einsum: string): table
---@field fanout fun(self: einloom.CoreResult, einsum: string): table[]
---@field first_latency fun(self: einloom.CoreResult, einsum: string): table[]
---@field temporal_steps fun(self: einloom.CoreResult, einsum: string): einloom.Expr
---@field symbols fun(self: einloom.CoreResult, einsum: string): einloom.Expr[]
---@field path fun(self: einloom.CoreResult, einsum: string): table[]
---@field tensors fun(self: einloom.CoreResult, einsum: string): string[]
---@field nest fun(self: einloom.CoreResult, einsum: string, tensor: string): table[]

---An error of an analyzer is raised as it was.
---@param w einloom.CoreWorkload
---@param a einloom.CoreArch
---@param m einloom.CoreMapping
---@param options? { allow_unknown_tensors?: boolean, allow_growing_tiles?: boolean, allow_unmapped_einsums?: boolean, round_trips?: boolean, analyzers?: table<string, einloom.Analyzer>, model?: "reference"|"exact", lifetime?: "scope"|"retain", uncounted_drains?: boolean, partial_sums_to_one_unit?: boolean }
---@return einloom.CoreResult? result, string? message, string? kind
function core.analyze(w, a, m, options) end

---The figures of the model exact, counted by walking the loops.  Otherwise as core.analyze.
---@param w einloom.CoreWorkload
---@param a einloom.CoreArch
---@param m einloom.CoreMapping
---@param options? table
---@param symbols? einloom.Expr[] sizes and tiles are taken where these
---@param values? einloom.Number[] have these values
---@return einloom.CoreResult? result
---@return string? message
---@return string? kind
function core.simulate(w, a, m, options, symbols, values) end

---@alias einloom.LatencyFormula fun(counts: table<string, einloom.Expr>, about: { component: string, einsum: string, throughput: table<string, einloom.Expr> }): einloom.Number

---@class einloom.CoreCosts: userdata
---@field close fun(self: einloom.CoreCosts)
---@field einsums fun(self: einloom.CoreCosts): string[]
---@field einsum fun(self: einloom.CoreCosts, name: string): table
---@field total fun(self: einloom.CoreCosts): table
---@field energy fun(self: einloom.CoreCosts, ...: "einsum"|"component"|"tensor"|"action"): table[]

---An error of a formula is raised as it was.
---@param r einloom.CoreResult
---@param w einloom.CoreWorkload
---@param a einloom.CoreArch
---@param m einloom.CoreMapping
---@param options? { allow_exceeded_limits?: boolean, leave_undecided?: boolean, latencies?: table<string, einloom.LatencyFormula> }
---@return einloom.CoreCosts? costs, string? message, string? kind
function core.cost(r, w, a, m, options) end

-- ---- searching ------------------------------------------------------------------------------

---@class einloom.CoreSpace: userdata
---@field close fun(self: einloom.CoreSpace)
---@field memory fun(self: einloom.CoreSpace, component: string, bits: number, open?: boolean): integer
---@field einsum fun(self: einloom.CoreSpace, name: string, sizes: integer[], uneven?: integer[]): integer
---@field dimension fun(self: einloom.CoreSpace, einsum: integer, component: string, dimension: string, count: number, min_fraction?: number): integer
---@field tensor fun(self: einloom.CoreSpace, einsum: integer, name: string, ranks: integer[]): integer
---@field add fun(self: einloom.CoreSpace, einsum: integer, costs: einloom.CoreCosts, template: einloom.CoreTemplate): integer
---@field explore fun(self: einloom.CoreSpace, einsum: integer, template?: integer): einloom.CoreSpace?, string?, string?
---@field explore_some fun(self: einloom.CoreSpace, einsum: integer, n: integer): boolean?, string?, string?
---@field leave fun(self: einloom.CoreSpace, einsum: integer, template: integer): einloom.CoreSpace
---@field points fun(self: einloom.CoreSpace, einsum: integer, template?: integer): { template: integer, tiles: integer[], values: number[] }[]
---@field insert fun(self: einloom.CoreSpace, einsum: integer, template: integer, tiles: integer[]): einloom.CoreSpace?, string?, string?
---@field sketches fun(self: einloom.CoreSpace, einsum: integer): { template: integer, tiles: integer[], values: number[] }[]?, string?, string?
---@field may_restore fun(self: einloom.CoreSpace, einsum: integer, template: integer): boolean
---@field restore fun(self: einloom.CoreSpace, einsum: integer, template: integer, points: integer[][], least: number[]): einloom.CoreSpace?, string?, string?
---@field evaluate fun(self: einloom.CoreSpace, einsum: integer, template: integer, tiles: integer[][]): (number[]|false)[], (string|false)[]
---@field counts fun(self: einloom.CoreSpace, einsum: integer): table<string, number>
---@field join fun(self: einloom.CoreSpace, uses: { einsum: integer, tensors: integer[] }[], options?: { quick?: boolean })
---@field join_begin fun(self: einloom.CoreSpace, uses: { einsum: integer, tensors: integer[] }[], options?: { quick?: boolean })
---@field join_some fun(self: einloom.CoreSpace, work: integer): boolean?, string?, string?
---@field bound fun(self: einloom.CoreSpace): number[]?
---@field bound_loops fun(self: einloom.CoreSpace, einsum: integer, dimension: integer, variables: integer[], op: string, value: number): einloom.CoreSpace
---@field limit fun(self: einloom.CoreSpace, limits: number[], decided: boolean[]): einloom.CoreSpace
---@field limit_einsum fun(self: einloom.CoreSpace, einsum: integer, others: number[]): einloom.CoreSpace
---@field least fun(self: einloom.CoreSpace, einsum: integer, template?: integer): number[]
---@field joint_falls fun(self: einloom.CoreSpace, memory: integer): number
---@field falls fun(self: einloom.CoreSpace, einsum: integer): { size: number, points: number, rules: table<string, number> }
---@field results fun(self: einloom.CoreSpace): integer
---@field result fun(self: einloom.CoreSpace, result: integer): number[]
---@field choice fun(self: einloom.CoreSpace, result: integer, use: integer): integer, integer[], integer[]

---What is minimised, and the most loops with several trips above shared tensors.
---@param options { energy?: boolean, latency?: boolean, usage?: boolean, product?: boolean, threads?: integer, coarseness?: number, objective_slack?: number, usage_slack?: number, max_fused_loops?: integer, max_fused_loops_per_rank_variable?: integer, one_spatial_dim_per_variable?: boolean }
---@return einloom.CoreSpace
function core.space(options) end

-- ---- ranges of kernels ------------------------------------------------------------------------

---@alias einloom.Prefix "z"|"y"|"x"|"r0_"|"r1_"
---extents: sizes are in [0, extent). hints: example values of symbolic sizes, false for one without. strict: sound answers instead of those of the reference.
---any_span: a loop may span more than two groups.
---@alias einloom.SplitOptions { extents?: table<einloom.Expr, einloom.Number>, hints?: table<einloom.Expr, integer|false>, strict?: boolean, any_span?: boolean }
---@alias einloom.RangesOptions { extents?: table<einloom.Expr, einloom.Number>, hints?: table<einloom.Expr, integer|false>, strict?: boolean, any_span?: boolean, one_pass?: boolean, no_x?: boolean }
---@alias einloom.RangeEntry { name: string, tree: einloom.Prefix, variable: einloom.Expr, divisor: einloom.Expr, length: einloom.Expr, expr: einloom.Expr }
---@alias einloom.RangeTree { tree: einloom.Prefix, index: einloom.Expr, extent: einloom.Expr, position: integer, grid_dim?: integer, tensor_dim?: integer, is_loop: boolean, is_reduction: boolean, active: boolean }

---@class einloom.CoreRanges: userdata
---@field close fun(self: einloom.CoreRanges)
---@field trees fun(self: einloom.CoreRanges): einloom.RangeTree[]
---@field entries fun(self: einloom.CoreRanges, first?: integer): einloom.RangeEntry[]
---@field lookup fun(self: einloom.CoreRanges, tree: einloom.Prefix, divisor: einloom.Number, length: einloom.Number): einloom.Expr?, string?, string?
---@field construct fun(self: einloom.CoreRanges, tree: einloom.Prefix, lengths: einloom.Number[]): einloom.Expr[]?, string?, string?
---@field vars_and_sizes fun(self: einloom.CoreRanges, tree: einloom.Prefix, index: einloom.Number): einloom.Expr[]?, einloom.Expr[]|string, string?
---@field reduction fun(self: einloom.CoreRanges, on: boolean): einloom.CoreRanges
---@field set fun(self: einloom.CoreRanges, lengths: einloom.Number[][]): einloom.Expr[][]?, string?, string?
---@field map fun(self: einloom.CoreRanges, pointwise: einloom.Number[], reduction: einloom.Number[]): einloom.Expr[]?, einloom.Expr[]|string, string?
---@field simplify fun(self: einloom.CoreRanges, index: einloom.Number): einloom.Expr?, string?, string?
---@field merge_dims fun(self: einloom.CoreRanges, tree: einloom.Prefix, index: einloom.Number): einloom.Expr?, string?, string?
---@field pair_mod fun(self: einloom.CoreRanges, index: einloom.Number): einloom.Expr?, string?, string?
---@field prepare fun(self: einloom.CoreRanges, index: einloom.Number): einloom.Expr?, string?, string?
---@field hoisted fun(self: einloom.CoreRanges): { symbol: einloom.Expr, value: einloom.Expr }[]
---@field broadcasted fun(self: einloom.CoreRanges, index: einloom.Number, tree?: einloom.Prefix): boolean?, string?, string?
---@field tile_strides fun(self: einloom.CoreRanges, index: einloom.Number): table<einloom.Prefix, einloom.Expr>?, string?, string?

---@param tiling table<einloom.Prefix, einloom.Number>
---@param options? einloom.RangesOptions
---@return einloom.CoreRanges? ranges, string? message, string? kind
function core.ranges(tiling, options) end

---Pieces by group; a loop is the mixed-radix number of its pieces first .. first + count - 1 (counted over all groups).
---@alias einloom.Split { pieces: einloom.Expr[][], pointwise: { first: integer, count: integer }[], reduction: { first: integer, count: integer }[], direct: boolean }

---@param groups einloom.Number[]
---@param pointwise einloom.Number[]
---@param reduction einloom.Number[]
---@param options? einloom.SplitOptions
---@return einloom.Split? split, string? message, string? kind
function core.split_loops(groups, pointwise, reduction, options) end
---Without splitting where each list is a group.
---@param groups einloom.Number[]
---@param pointwise einloom.Number[]
---@param reduction einloom.Number[]
---@param options? einloom.SplitOptions
---@return einloom.Split? split, string? message, string? kind
function core.map_loops(groups, pointwise, reduction, options) end
---@param groups einloom.Number[]
---@param pointwise einloom.Number[]
---@param reduction einloom.Number[]
---@param reduction_extent? einloom.Number
---@param options? einloom.SplitOptions
---@return boolean? fits, string? kind
function core.loops_fit(groups, pointwise, reduction, reduction_extent, options) end
---@param groups einloom.Number[]
---@param pointwise einloom.Number[]
---@param reduction einloom.Number[]
---@param reduction_extent einloom.Number
---@param options? einloom.SplitOptions
---@return boolean? lack, string? message, string? kind
function core.loops_lack_reduction(groups, pointwise, reduction, reduction_extent, options) end
---Variables of the merged loops are called prefix0, prefix1, ...
---@param index einloom.Number
---@param loops { [1]: einloom.Expr, [2]: einloom.Number }[] variable and size
---@param prefix string
---@param by_stride? boolean
---@param options? einloom.SplitOptions
---@return einloom.Expr? index, einloom.Expr[][]|string loops, string? kind
function core.address_merge(index, loops, prefix, by_stride, options) end
---@param index einloom.Number
---@param loops { [1]: einloom.Expr, [2]: einloom.Number }[]
---@param elements einloom.Number of the buffer
---@param options? einloom.SplitOptions
---@return { contiguous: boolean, stride1_last: boolean, scalar: boolean, indirect: boolean, elements: einloom.Expr, offset: einloom.Expr }? look, string? message, string? kind
function core.address_look(index, loops, elements, options) end
---Whether an address can be computed in 32 bits, proved.
---@param index einloom.Number
---@param loops { [1]: einloom.Expr, [2]: einloom.Number }[]
---@return boolean? narrow, string? message, string? kind
function core.address_narrow(index, loops) end
---Whether 32-bit indices do for a kernel of that extent with buffers of these sizes.
---@param extent einloom.Number
---@param sizes einloom.Number[]
---@param options? einloom.SplitOptions
---@return boolean? narrow, string? message, string? kind
function core.index_narrow(extent, sizes, options) end

-- ---- graphs of loop nests -----------------------------------------------------------------------

---@alias einloom.Dtype "f64"|"f32"|"f16"|"bf16"|"i64"|"i32"|"i8"|"bool"
---strides: row-major without them. output: it leaves the graph.
---@alias einloom.BufferInfo { name: string, sizes: einloom.Number[], strides?: einloom.Number[], offset?: einloom.Number, dtype?: einloom.Dtype, output?: boolean }
---mode: index (with one), whole or order.
---@alias einloom.Use { buffer: string, index?: einloom.Number, mode?: "index"|"whole"|"order", accumulates?: boolean }
---@alias einloom.OpKind "pointwise"|"reduction"|"scan"|"scatter"|"opaque"|"nop"
---pointwise, reduction: loops {variable, size}, outermost first. mutates: buffers updated in place, the i-th one by the buffer of the i-th write. after: operations it comes behind. call, inputs: of opaque operations, what is called and the sizes it sees.
---@alias einloom.OpInfo { name: string, kind?: einloom.OpKind, reduce?: string, call?: string, inputs?: einloom.Number[][], pointwise?: einloom.Expr[][], reduction?: einloom.Expr[][], reads?: einloom.Use[], writes?: einloom.Use[], mutates?: string[], after?: string[], hint?: "default"|"inner"|"outer"|"outer_tiny", split?: boolean, extensible?: boolean, keeps_zero?: boolean, keeps_type?: boolean }
---@alias einloom.Dep { id: integer, buffer: string, mode: string, index?: einloom.Expr, loops?: einloom.Expr[][], elements: einloom.Expr, moved?: einloom.Expr, bytes: integer, accumulates?: boolean, indirect?: boolean, contiguous?: boolean, stride1_last?: boolean }
---@alias einloom.BufferFacts { name: string, sizes: einloom.Expr[], strides: einloom.Expr[], offset: einloom.Expr, dtype: einloom.Dtype, itemsize: integer, output: boolean, removed: boolean, elements: einloom.Expr, storage: einloom.Expr, writer?: string, updates?: string, updated_by?: string, users: { op: string, order: boolean }[] }
---@alias einloom.OpFacts { name: string, kind: einloom.OpKind, reduce?: string, call?: string, flops: einloom.Expr, pointwise: einloom.Expr[][], reduction: einloom.Expr[][], reads: einloom.Use[], writes: einloom.Use[], outputs: string[], mutates: string[], hint: string, split?: boolean, extensible?: boolean, keeps_zero?: boolean, keeps_type?: boolean, extent: einloom.Expr, reduction_extent: einloom.Expr, needs: string[], dep_reads: einloom.Dep[], dep_writes: einloom.Dep[] }

---@class einloom.CoreGraph: userdata
---@field close fun(self: einloom.CoreGraph)
---@field buffer fun(self: einloom.CoreGraph, info: einloom.BufferInfo): einloom.CoreGraph?, string?, string?
---@field op fun(self: einloom.CoreGraph, info: einloom.OpInfo): einloom.CoreGraph?, string?, string?
---@field remove fun(self: einloom.CoreGraph, buffer: string, removed?: boolean): einloom.CoreGraph?, string?, string?
---@field buffers fun(self: einloom.CoreGraph): einloom.BufferFacts[]
---@field ops fun(self: einloom.CoreGraph): einloom.OpFacts[]
---@field depends fun(self: einloom.CoreGraph, op: string, on: string): boolean
---@field ancestors fun(self: einloom.CoreGraph, op: string): string[]
---@field list fun(self: einloom.CoreGraph, operations: string[]): integer?, string?, string?
---@field lists fun(self: einloom.CoreGraph): string[][]
---@field schedule fun(self: einloom.CoreGraph, operations: string[], extents: einloom.Number[]): string[]?, string?, string?
---@field candidates fun(self: einloom.CoreGraph, op: string, extents: einloom.Number[]): { buffer?: string, score: einloom.Expr, tiling: einloom.Tiling }[]?, string?, string?
---@field block_tilings fun(self: einloom.CoreGraph, schedule: string[], extents: einloom.Number[], max_tiles?: integer): einloom.Tiling[]?, string?, string?
---@field fits fun(self: einloom.CoreGraph, schedule: string[], extents: einloom.Number[], tiling: einloom.Tiling): boolean?, string?, string?
---@field tiling fun(self: einloom.CoreGraph, schedule: string[], extents: einloom.Number[], options?: { max_tiles?: integer, blocks?: boolean, reductions?: boolean }): einloom.Tiling?, string?, string?
---@field coalesce fun(self: einloom.CoreGraph, schedule: string[], extents: einloom.Number[], options?: { exact?: boolean }): einloom.Coalescing?, string?, string?
---@field coalesced_tilings fun(self: einloom.CoreGraph, schedule: string[], extents: einloom.Number[], options?: { max_tiles?: integer, exact?: boolean }): einloom.ScoredTiling[]?, string?, string?
---@field coalesced_tiling fun(self: einloom.CoreGraph, schedule: string[], extents: einloom.Number[], options?: { max_tiles?: integer, exact?: boolean }): einloom.ScoredTiling?, string?, string?
---@field best_tiling fun(self: einloom.CoreGraph, schedule: string[], extents: einloom.Number[], options?: { max_tiles?: integer, reductions?: boolean, points?: integer }): einloom.CountedTiling?, string?, string?
---@field sectors fun(self: einloom.CoreGraph, schedule: string[], extents: einloom.Number[], tiling: einloom.Tiling, blocks?: einloom.Blocks): einloom.CountedTiling?, string?, string?
---@field plan fun(self: einloom.CoreGraph): einloom.CorePlan?, string?, string?
---@field fusion fun(self: einloom.CoreGraph, options?: einloom.FusionOptions): einloom.CoreFusion?, string?, string?

---@param options? einloom.SplitOptions extents and hints of symbolic sizes
---@return einloom.CoreGraph? graph, string? message, string? kind
function core.graph(options) end

-- ---- kernels of a graph -------------------------------------------------------------------------

---Extents by prefix, outermost first.
---@alias einloom.Tiling { [1]: einloom.Prefix, [2]: einloom.Number }[]
---schedule: operations, "reduction_off", "reduction_on". extents: of the kernel and of its reduction.
---launch: kernels of one number, planned in a row, are launched at once.
---@alias einloom.KernelInfo { schedule: string[], extents?: einloom.Number[], tiling?: einloom.Tiling, one_pass?: boolean, no_x?: boolean, launch?: integer }
---@alias einloom.KernelAccess { kind: "load"|"store"|"store_reduced", buffer: string, index?: einloom.Expr, simplified?: einloom.Expr, indirect?: boolean, broadcasted?: boolean, narrow?: boolean, strides?: table<einloom.Prefix, einloom.Expr> }
---@alias einloom.KernelOp { op: string, reduction_on: boolean, pointwise: einloom.Expr[], reduction: einloom.Expr[], accesses: einloom.KernelAccess[] }
---@alias einloom.TrafficDim { contiguous: integer, broadcast: integer, other: integer, bytes_contiguous_or_broadcast: einloom.Expr, bytes_other: einloom.Expr }
---@alias einloom.Traffic { accesses: integer, bytes_per_element: integer, bytes: einloom.Expr, bytes_contiguous_or_broadcast: einloom.Expr, bytes_other: einloom.Expr, dims: einloom.TrafficDim[], loops: { accesses: integer, bytes: integer }[] }
---@alias einloom.Traffics { reads: einloom.Traffic, writes: einloom.Traffic }
---What a template takes in for an input (role "input") or behind it: operations first to last of the
---kernel's ops, over the elements of the buffer.
---@alias einloom.TemplatePart { role: "input"|"output", buffer: string, tiling: einloom.Tiling, entries: einloom.RangeEntry[], first: integer, last: integer, keeps_zero: boolean, keeps_type: boolean }
---All but kind, schedule and flops only of kernels with loops; hint only of reductions; template and
---parts only around a template, memory only of others.
---@alias einloom.KernelFacts { kind: einloom.OpKind, schedule: string[], flops: einloom.Expr, launch?: integer, extents: einloom.Expr[], tiling: einloom.Tiling, one_pass: boolean, no_x: boolean, entries: einloom.RangeEntry[], ops: einloom.KernelOp[], narrow: boolean, narrow_proved: boolean, hint?: string, memory?: { one_pass: einloom.Traffics, looped: einloom.Traffics }, in_place: string[][], arguments: { kind: "buffer"|"in_place"|"size", buffer?: string, symbol?: einloom.Expr, written: boolean }[], never_stored: string[], mixed_layouts: string[][], bytes?: einloom.Expr, template?: string, parts?: einloom.TemplatePart[] }

---Addresses in the common loops of a kernel (n0, n1, ...), what is walked along each, a suggested split.
---@alias einloom.Coalescing { pointwise: einloom.Expr[][], reduction: einloom.Expr[][], reads: { index: einloom.Expr, buffers: string[] }[], writes: { index: einloom.Expr, buffers: string[] }[], coalesced: { variable: einloom.Expr, score: integer }[], split?: { variable: einloom.Expr, factor: integer|einloom.Expr, score: integer } }
---Scores by prefix, absent where there is none.
---Points of a block by range, as in the tiling.
---@alias einloom.Blocks { [1]: einloom.Prefix, [2]: integer }[]
---A tiling with the memory sectors that its blocks touch; without them where they are not counted.
---@alias einloom.CountedTiling { tiling: einloom.Tiling, blocks?: einloom.Blocks, sectors?: integer, accesses: { op: string, buffer: string, store: boolean, index: einloom.Expr, sectors?: integer }[] }
---@alias einloom.ScoredTiling { tiling: einloom.Tiling, scores: table<einloom.Prefix, integer>, total: integer }

---@class einloom.CorePlan: userdata
---@field close fun(self: einloom.CorePlan)
---@field kernel fun(self: einloom.CorePlan, info: einloom.KernelInfo): integer?, string?, string?
---@field kernels fun(self: einloom.CorePlan, first?: integer): einloom.KernelFacts[]

---@param pointwise einloom.Number[] up to three
---@param reduction einloom.Number[] up to two
---@return einloom.Tiling? tiling, string? message, string? kind
function core.tiling_create(pointwise, reduction) end
---Adds the side that is missing.
---@param side einloom.Tiling
---@param extents einloom.Number[] of a kernel and its reduction
---@return einloom.Tiling? tiling, string? message, string? kind
function core.tiling_complete(side, extents) end
---@param size einloom.Number
---@param options? einloom.SplitOptions
---@return boolean? good, string? message, string? kind
function core.tiling_good_size(size, options) end
---@param e einloom.Number a factor of a term
---@param variable einloom.Expr
---@return einloom.Expr? value at which it is 0
function core.zero_of(e, variable) end
---@param e einloom.Number an address in one variable
---@return einloom.Expr? factor split off, it lets the address grow by one along the outer part
function core.unit_factor(e) end
---@param e einloom.Number
---@param loops einloom.Expr[][] {variable, size}
---@param position integer of a loop
---@param options? einloom.SplitOptions
---@return einloom.Expr? split t of the loop in outer*t + inner: the address grows by one along outer everywhere
function core.unit_split(e, loops, position, options) end
---@param e einloom.Number
---@param loops einloom.Expr[][] {variable, size}
---@param options? einloom.SplitOptions
---@return integer? position of the loop along which the address grows by one
function core.unit_loop(e, loops, options) end
---@param e einloom.Number
---@param loops einloom.Expr[][] {variable, size}
---@param options? einloom.SplitOptions
---@return einloom.Expr points product of the sizes of the loops in it
function core.address_points(e, loops, options) end

-- ---- fusion -----------------------------------------------------------------------------------

---aggressive: pairs of equal extents too, also with no access in common. unshared: independent ones as
---well. max_ops, max_buffers: of one kernel.
---@alias einloom.FusionOptions { aggressive?: boolean, unshared?: boolean, max_ops?: integer, max_buffers?: integer }
---@alias einloom.FuseScore { kind: integer, same_kind: boolean, bytes: integer, nearness: integer }
---reason: of the scheduler, shape: of the loops alone; nil where nothing is against it.
---@alias einloom.FusePair { reason?: string, shape?: string, depends: boolean, score: einloom.FuseScore }
---launch: the same for the members of a list, which come in a row.
---@alias einloom.FusedKernel { ops: string[], extents: einloom.Expr[], launch: integer }

---@class einloom.CoreFusion: userdata
---@field close fun(self: einloom.CoreFusion)
---@field pair fun(self: einloom.CoreFusion, first: string, second: string): einloom.FusePair?, string?, string?
---@field run fun(self: einloom.CoreFusion): einloom.CoreFusion?, string?, string?
---@field kernels fun(self: einloom.CoreFusion): einloom.FusedKernel[]
---@field refusals fun(self: einloom.CoreFusion): { first: integer, second: integer, reason?: string }[]

---@param tiling einloom.Tiling
---@param arguments { elements: einloom.Number, bytes: integer, indices: integer }[]
---@param in_place integer
---@param options? einloom.SplitOptions
---@return einloom.Expr? bytes nil where a size has no hint
function core.moved_bytes(tiling, arguments, in_place, options) end
---@param call string mm, addmm, bmm, conv, ...
---@param inputs einloom.Number[][] sizes
---@param output einloom.Number[]
---@return einloom.Expr operations
function core.call_flops(call, inputs, output) end
---Positions of the kernels in each group. A group may be empty.
---@param kernels { tiling: einloom.Tiling, reduction?: boolean, one_pass?: boolean, no_x?: boolean, reduction_extent: einloom.Number, accesses: integer }[]
---@param how? { size_aware?: boolean, mixed?: 0|1|2 }
---@param options? einloom.SplitOptions
---@return integer[][]? groups, string? message, string? kind
function core.combine(kernels, how, options) end

-- ---- JSON -----------------------------------------------------------------------------------

core.json = {}
---@type lightuserdata
core.json.null = nil
---Metatable that marks arrays.
---@type table
core.json.array = {}

---Raises an error object with line and column.
---@param text string
---@param name? string name of the text in messages
---@return any
function core.json.decode(text, name) end
---@param value any
---@param options? { indent?: integer, sort_keys?: boolean }
---@return string
function core.json.encode(value, options) end

---Metatable of the error objects raised here.
---@type table
core.error = {}

return core
