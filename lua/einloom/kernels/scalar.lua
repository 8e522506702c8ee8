-- SPDX-License-Identifier: MIT
-- Arithmetic of kernel bodies on doubles, the same in direct evaluation and in generated C: each
-- function in Lua and as a C expression of its arguments.

local errors = require "einloom.errors"

local scalar = {}

local function truth(x) return x and 1.0 or 0.0 end
local function larger(a, b) return a < b and b or a end
local function smaller(a, b) return b < a and b or a end
local function remainder(a, b)
  local r = math.fmod(a + 0.0, b + 0.0)
  return r * b < 0 and r + b or r
end

--- Lua functions by operator or name; sums, products, max and min take two values.
scalar.functions = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return a / b end,
  ["//"] = function(a, b) return (a + 0.0) // b end,
  ["%"] = remainder,
  ["^"] = function(a, b) return (a + 0.0) ^ b end,
  ["<"] = function(a, b) return truth(a < b) end,
  ["<="] = function(a, b) return truth(a <= b) end,
  [">"] = function(a, b) return truth(a > b) end,
  [">="] = function(a, b) return truth(a >= b) end,
  ["=="] = function(a, b) return truth(a == b) end,
  ["~="] = function(a, b) return truth(a ~= b) end,
  neg = function(a) return -a end,
  exp = math.exp,
  log = math.log,
  sqrt = math.sqrt,
  rsqrt = function(a) return 1.0 / math.sqrt(a) end,
  abs = math.abs,
  relu = function(a) return larger(a, 0.0) end,
  sigmoid = function(a) return 1.0 / (1.0 + math.exp(-a)) end,
  tanh = function(a) return 1.0 - 2.0 / (math.exp(2.0 * a) + 1.0) end,
  floor = function(a) return (a + 0.0) // 1.0 end,
  ceil = function(a) return -((-a + 0.0) // 1.0) end,
  sin = math.sin,
  cos = math.cos,
  max = larger,
  min = smaller,
}
--- C of the same: %1 and %2 stand for the arguments.
scalar.c = {
  ["//"] = "floor(%1 / %2)", ["%"] = "el_mod(%1, %2)", ["^"] = "el_pow(%1, %2)",
  neg = "(-%1)", exp = "exp(%1)", log = "log(%1)", sqrt = "sqrt(%1)",
  rsqrt = "(1.0 / sqrt(%1))", abs = "fabs(%1)", relu = "el_max(%1, 0.0)",
  sigmoid = "(1.0 / (1.0 + exp(-%1)))", tanh = "(1.0 - 2.0 / (exp(2.0 * %1) + 1.0))",
  floor = "floor(%1)", ceil = "ceil(%1)", sin = "sin(%1)", cos = "cos(%1)",
  max = "el_max(%1, %2)", min = "el_min(%1, %2)",
}
for _, op in ipairs { "+", "-", "*", "/", "<", "<=", ">", ">=", "==" } do
  scalar.c[op] = "(%1 " .. op .. " %2)"
end
scalar.c["~="] = "(%1 != %2)"

--- C functions that the expressions call.
scalar.prelude = [[
static inline double el_max(double a, double b) { return a < b ? b : a; }
static inline double el_min(double a, double b) { return b < a ? b : a; }
static inline double el_pow(double a, double b) { return b == 2.0 ? a * a : pow(a, b); }
static inline double el_mod(double a, double b) {
  double r = fmod(a, b);
  return r * b < 0 ? r + b : r;
}
static inline int64_t el_floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t el_floor_mod(int64_t a, int64_t b) { return a - b * el_floor_div(a, b); }
]]

--- What a reduction starts from, and how it takes a value.
scalar.reductions = {
  sum = { start = 0.0, op = "+" },
  prod = { start = 1.0, op = "*" },
  max = { start = -math.huge, op = "max" },
  min = { start = math.huge, op = "min" },
}

local function by_format(format)
  return function(x) return (string.unpack(format, string.pack(format, x))) end
end

-- Whole numbers of so many bits; others are cut off towards 0.
local function whole(bits)
  local most = math.maxinteger >> (64 - bits)
  return function(x)
    local n = math.tointeger(math.type(x) == "integer" and x or x < 0 and math.ceil(x)
      or math.floor(x))
    if not n or n > most or n < -most - 1 then
      errors.raise("bad_data", ("%s is not in the range of i%d"):format(x, bits))
    end
    return n
  end
end

--- What a value becomes when a tensor of the dtype keeps it.
scalar.keep = {
  f64 = function(x) return x + 0.0 end,
  f32 = by_format "<f",
  i64 = whole(64),
  i32 = whole(32),
  i8 = whole(8),
  bool = function(x) return x ~= 0 and 1 or 0 end,
}

--- C types of dtypes.
scalar.types = {
  f64 = "double", f32 = "float", i64 = "int64_t", i32 = "int32_t", i8 = "int8_t", bool = "_Bool",
}

return scalar
