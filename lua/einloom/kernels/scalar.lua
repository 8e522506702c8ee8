-- SPDX-License-Identifier: MIT
-- Arithmetic of kernel bodies on doubles, the same in direct evaluation and in generated C: each
-- function in Lua and as a C expression of its arguments.

local errors = require "einloom.errors"

local scalar = {}

local function truth(x) return x and 1.0 or 0.0 end
local function larger(a, b) return (a < b or b ~= b) and b or a end
local function smaller(a, b) return (b < a or b ~= b) and b or a end
local function remainder(a, b)
  local r = math.fmod(a + 0.0, b + 0.0)
  return r * b < 0 and r + b or r
end

--- Lua functions by operator or name; sums, products, max and min take two values, and max and min
--- are no number if one of them is none.
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
static inline double el_max(double a, double b) { return a < b || b != b ? b : a; }
static inline double el_min(double a, double b) { return b < a || b != b ? b : a; }
static inline double el_pow(double a, double b) { return b == 2.0 ? a * a : pow(a, b); }
static inline double el_mod(double a, double b) {
  double r = fmod(a, b);
  return r * b < 0 ? r + b : r;
}
static inline int64_t el_whole(double x, int64_t most) {
  const double end = (double)most + 1.0;
  if (x != x) return 0;
  return x >= end ? most : x <= -end ? -most - 1 : (int64_t)x;
}
static inline int64_t el_floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t el_floor_mod(int64_t a, int64_t b) { return a - b * el_floor_div(a, b); }
]]

--- And those for f16 and bf16.
scalar.prelude_small = [[
static inline uint16_t el_pack(double x, int bits, int bias) {
  const unsigned sign = signbit(x) ? 0x8000u : 0u, infinite = (2u * (unsigned)bias + 1u) << bits;
  const double magnitude = fabs(x);
  if (isnan(x)) return (uint16_t)(sign | infinite | 1u << (bits - 1));
  if (isinf(x)) return (uint16_t)(sign | infinite);
  int exponent = 0;
  frexp(magnitude, &exponent);
  exponent = exponent - 1 > 1 - bias && magnitude > 0 ? exponent - 1 : 1 - bias;
  if (exponent > bias) return (uint16_t)(sign | infinite);
  const double scaled = ldexp(magnitude, bits - exponent), whole = floor(scaled);
  const double over = scaled - whole;
  const unsigned up = over > 0.5 || (over == 0.5 && fmod(whole, 2.0) == 1.0);
  const unsigned packed = (unsigned)whole + up + ((unsigned)(exponent + bias - 1) << bits);
  return (uint16_t)(sign | (packed < infinite ? packed : infinite));
}
static inline double el_unpack(uint16_t packed, int bits, int bias) {
  const double sign = packed >> 15 ? -1.0 : 1.0;
  const int exponent = (packed & 0x7fff) >> bits, mantissa = packed & ((1 << bits) - 1);
  if (exponent == 2 * bias + 1) return mantissa ? NAN : sign * INFINITY;
  const int whole = exponent > 0 ? mantissa + (1 << bits) : mantissa;
  return sign * ldexp(whole, (exponent > 1 ? exponent : 1) - bias - bits);
}
]]

--- What a reduction starts from, and how it takes a value.
scalar.reductions = {
  sum = { start = 0.0, op = "+" },
  prod = { start = 1.0, op = "*" },
  max = { start = -math.huge, op = "max" },
  min = { start = math.huge, op = "min" },
}

-- Half-size numbers: a sign, an exponent with this bias, and a mantissa of so many bits.
local small = { f16 = { bits = 10, bias = 15 }, bf16 = { bits = 7, bias = 127 } }

-- To the nearest whole number, ties to the even one.
local function nearest(x)
  local whole = x // 1.0
  local over = x - whole
  if over > 0.5 or over == 0.5 and whole % 2 == 1 then whole = whole + 1 end
  return math.tointeger(whole)
end

--- The 16 bits of a number as f16 or bf16, rounded once.
---@param x number
---@param dtype "f16"|"bf16"
---@return integer
function scalar.pack(x, dtype)
  local format = small[dtype]
  local bits, infinite = format.bits, (2 * format.bias + 1) << format.bits
  local double = string.unpack("<I8", string.pack("<d", x))
  local sign, magnitude = double >> 63 << 15, math.abs(x + 0.0)
  if x ~= x then return sign | infinite | 1 << (bits - 1) end
  if magnitude == math.huge then return sign | infinite end
  local exponent = math.max((double >> 52 & 0x7FF) - 1023, 1 - format.bias)
  local mantissa = nearest(magnitude * 2.0 ^ (bits - exponent))
  local packed = mantissa + (exponent + format.bias - 1 << bits)
  return sign | math.min(packed, infinite)
end

--- The number that 16 bits are.
---@param packed integer
---@param dtype "f16"|"bf16"
---@return number
function scalar.unpack(packed, dtype)
  local format = small[dtype]
  local sign = packed >> 15 == 1 and -1.0 or 1.0
  local exponent, mantissa = (packed & 0x7FFF) >> format.bits, packed & (1 << format.bits) - 1
  if exponent == 2 * format.bias + 1 then return mantissa == 0 and sign * math.huge or 0 / 0 end
  if exponent > 0 then mantissa = mantissa + (1 << format.bits) end
  return sign * mantissa * 2.0 ^ (math.max(exponent, 1) - format.bias - format.bits)
end

local function by_bits(dtype)
  return function(x) return scalar.unpack(scalar.pack(x, dtype), dtype) end
end

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
  f16 = by_bits "f16",
  bf16 = by_bits "bf16",
  i64 = whole(64),
  i32 = whole(32),
  i8 = whole(8),
  bool = function(x) return x ~= 0 and 1 or 0 end,
}

--- C types of dtypes; f16 and bf16 are their bits.
scalar.types = {
  f64 = "double", f32 = "float", f16 = "uint16_t", bf16 = "uint16_t", i64 = "int64_t",
  i32 = "int32_t", i8 = "int8_t", bool = "_Bool",
}

--- C of the double that an element is, and of the element that a double becomes; %1 stands for it.
--- What is beyond the range of an integer type becomes the nearest value in it, no number 0.
scalar.from, scalar.to = {}, {
  bool = "%1 != 0", i64 = "el_whole(%1, INT64_MAX)", i32 = "(int32_t)el_whole(%1, INT32_MAX)",
  i8 = "(int8_t)el_whole(%1, INT8_MAX)",
}
for dtype, format in pairs(small) do
  scalar.from[dtype] = ("el_unpack(%%1, %d, %d)"):format(format.bits, format.bias)
  scalar.to[dtype] = ("el_pack(%%1, %d, %d)"):format(format.bits, format.bias)
end
for dtype, name in pairs(scalar.types) do
  scalar.from[dtype] = scalar.from[dtype] or "(double)%1"
  scalar.to[dtype] = scalar.to[dtype] or "(" .. name .. ")%1"
end

return scalar
