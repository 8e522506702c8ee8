-- SPDX-License-Identifier: MIT
-- Tokens of a text, one at a time, by LPeg patterns that never look back: a whole text is read in
-- linear time and no pattern nests, so no LPeg stack can overflow.

local lpeg = require "lpeg"
local errors = require "einloom.errors"

local P, R, S, C, Cc, Cp, Cs = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cc, lpeg.Cp, lpeg.Cs

local lexer = {}

local digit = R "09"
local letter = R("az", "AZ") + P "_"
local exponent = S "eE" * S "+-" ^ -1 * digit ^ 1
local patterns = {
  name = letter * (letter + digit) ^ 0,
  number = (digit ^ 1 * (P "." * digit ^ 1) ^ -1 + P "." * digit ^ 1) * exponent ^ -1
    * -(letter + digit),
}

---@class einloom.Lexer
---@field source { name: string, text: string }
---@field kind string kind of the current token: "name", "number", "string", "newline", an
--- operator, "end"
---@field value string text of the current token
---@field position integer where it starts
---@field stop integer where the token before it ended (exclusive)
---@field load? fun(name: string, position: integer): string reads an access inside an index
---@field size_of? fun(name: string): integer|true|nil a number or a size by its name in an index
local Lexer = {}
Lexer.__index = Lexer

local escapes = { n = "\n", t = "\t", r = "\r" }
local quoted = P '"'
  * Cs((P "\\" * C(P(1)) / function(c) return escapes[c] or c end + (1 - S '"\\\n')) ^ 0)
  * P '"'

--- A tokeniser for texts with names, numbers and the operators given (longest first).  A text of
--- `lines` has tokens "newline", comments from -- to the end of a line, and quoted names
--- ("string").
---@param operators string[]
---@param lines? boolean
---@return fun(source: { name: string, text: string }, start?: integer): einloom.Lexer
function lexer.new(operators, lines)
  local operator = P(false)
  for _, text in ipairs(operators) do operator = operator + C(text) * Cc(nil) end
  local blank, extra = S " \t\r\n" ^ 0, P(false)
  if lines then
    blank = (S " \t\r" + P "--" * (1 - P "\n") ^ 0) ^ 0
    extra = Cc "newline" * C "\n" + Cc "string" * quoted
  end
  local token = blank
    * Cp()
    * (Cc "name" * C(patterns.name) + Cc "number" * C(patterns.number) + extra + operator
      + -P(1) * Cc "end" * Cc "" + Cc "bad" * C(P(1)))
    * Cp()
  return function(source, start)
    local lex = setmetatable({ source = source, token = token, next = start or 1, stop = 1 }, Lexer)
    lex:advance()
    return lex
  end
end

--- Moves to the next token.
function Lexer:advance()
  local position, kind, value, stop = self.token:match(self.source.text, self.next)
  self.stop = self.next
  self.position, self.kind, self.value, self.next = position, kind, value or kind, stop
  if kind == "bad" then
    local byte = value:byte()
    if value == '"' then self:fail "a quoted name does not end on its line" end
    if value:find "[%d.]" then
      self:fail("malformed number '" .. self.source.text:match("^[%w_.]+", position) .. "'")
    end
    local shown = byte >= 32 and byte < 127 and "'" .. value .. "'" or ("byte 0x%02X"):format(byte)
    if self.source.text:find("^\xEF\xBB\xBF", position) then
      self:fail "unexpected byte order mark (UTF-8): save the text without it"
    end
    self:fail(("unexpected %s"):format(shown))
  end
end

--- The kind of the token after the current one.
---@return string
function Lexer:peek()
  local _, kind = self.token:match(self.source.text, self.next)
  return kind
end

--- The current token if it is of this kind, moving past it; else nil.
---@param kind string
---@return string? value
function Lexer:accept(kind)
  if self.kind ~= kind then return nil end
  local value = self.value
  self:advance()
  return value
end

--- As accept, but raises if the token is of another kind.
---@param kind string
---@param what? string how to call it
---@return string value, integer position
function Lexer:expect(kind, what)
  local position = self.position
  local value = self:accept(kind)
  if not value then
    self:fail(("expected %s, found %s"):format(what or "'" .. kind .. "'", self:shown()))
  end
  return value, position
end

--- The current token for a message.
---@return string
function Lexer:shown()
  if self.kind == "end" then return "the end of the text" end
  if self.kind == "newline" then return "the end of the line" end
  return "'" .. self.value .. "'"
end

--- Moves to a position in the text.
---@param position integer
function Lexer:jump(position)
  self.next = position
  self:advance()
end

--- Raises a syntax error at the current token, or at a position.
---@param message string
---@param position? integer
---@param kind? string
---@param fields? table
function Lexer:fail(message, position, kind, fields)
  errors.raise_at(kind or "syntax", self.source, position or self.position, message, fields)
end

--- The text between two positions, without blanks at its ends.
---@param first integer
---@param stop integer exclusive
---@return string
function Lexer:slice(first, stop)
  return (self.source.text:sub(first, stop - 1):gsub("^%s+", ""):gsub("%s+$", ""))
end

return lexer
