-- SPDX-License-Identifier: MIT
-- What C is asked of: kernels of the graph, and a name for the function that runs them which C and
-- the source leave free.

local errors = require "einloom.errors"

local names = {}

local KIND = "bad_plan"

local function set_of(text)
  local set = {}
  for word in text:gmatch "%S+" do set[word] = true end
  return set
end

local keywords = set_of [[
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while asm fortran typeof main
]]

-- Names of math.h, those with a trailing f or l left out.
local of_math = set_of [[
acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp
log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil
floor nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo copysign nan
nextafter nexttoward fdim fmax fmin fma j0 j1 jn y0 y1 yn gamma signgam drem significand
scalb finite exp10 pow10 sincos isnan isinf isfinite isnormal signbit fpclassify isgreater
isgreaterequal isless islessequal islessgreater isunordered float_t double_t math_errhandling
]]

local function of_headers(name)
  return of_math[name] or of_math[name:match "^(.*)[fl]$"] or name:find "^u?int[%w_]*_t$"
    or name:find "^U?INT[%u%d_]*$" or name:find "^FP_" or name:find "^HUGE_VAL" or name:find "^M_"
    or name:find "^MATH_" or name:find "_MAX$" or name:find "_MIN$" or name == "NAN"
    or name == "INFINITY" or name == "NULL"
end

--- The name of a function; raises unless it is one that C leaves free.
---@param name any
---@return string
function names.check(name)
  local function fail(message) errors.raise(KIND, message, { path = "name" }) end
  if type(name) ~= "string" then fail(("text expected, got %s"):format(type(name))) end
  if not name:find "^[%a_][%w_]*$" then fail(("'%s' is no name in C"):format(name)) end
  if keywords[name] or name:find "^_[_%u]" then fail(("C keeps the name '%s'"):format(name)) end
  if of_headers(name) then fail(("'%s' is a name of the headers"):format(name)) end
  if name:find "^[mn]_" then
    fail(("'%s': names of tensors and sizes begin like this"):format(name))
  end
  return name
end

--- Raises if a source has the name of the function other than where that is declared and defined.
---@param name string
---@param text string
function names.check_free(name, text)
  local _, n = text:gsub("%f[%w_]" .. name .. "%f[^%w_]", "")
  if n > 2 then
    errors.raise(KIND, ("the source has the name '%s' itself"):format(name), { path = "name" })
  end
end

--- Raises unless these are kernels of the graph.
---@param graph einloom.Graph
---@param programs any
function names.check_kernels(graph, programs)
  for i, made in ipairs(errors.list(KIND, programs, "kernels", "kernels")) do
    local path, meta = ("kernels[%d]"):format(i), type(made) == "table" and getmetatable(made)
    if not (meta and meta.__name == "einloom.kernel") then
      errors.raise(KIND, ("a kernel expected, got %s"):format(type(made)), { path = path })
    end
    if made.graph ~= graph then
      errors.raise(KIND, ("%s is a kernel of another graph"):format(made.name), { path = path })
    end
  end
end

return names
