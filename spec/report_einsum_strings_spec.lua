-- SPDX-License-Identifier: MIT
-- Einsum strings of the array libraries: verdict, message and column (report ES_einsum_strings,
--- which
-- counts columns from 0; messages count them from 1).

local subscripts = require "einloom.subscripts"
local front = require "support.front"

local function accepted(text, shapes, out_shape)
  return function()
    local parsed = subscripts.parse(text, shapes)
    assert.same(out_shape, parsed.out_shape)
    local einsum = require("einloom.einsum").parse(parsed.text)
    assert.equal(#shapes + 1, #einsum.accesses)
    assert.equal(#out_shape, #einsum.accesses[#einsum.accesses].indices)
  end
end

local function refused(text, shapes, column, words, others)
  return function()
    local e = front.raised(subscripts.parse, text, shapes)
    assert.equal("bad_einsum_string", e.kind)
    assert.equal(1, e.line)
    assert.equal(column, e.column)
    front.mentions(e.message, words, others)
  end
end

describe("report ES_einsum_strings", function()
  local two = { { 2, 3 }, { 3, 4 } }
  it("1: ij,jk->ik", accepted("ij,jk->ik", two, { 2, 4 }))
  it("2: ij->jij repeats j in the output", refused("ij->jij", { { 2, 2 } }, 7, { "j", "output" }))
  it("3: A,A->A names operand 1, not the comma",
    refused("A,A->A", { { 2 }, { 2, 2 } }, 3, { "operand 1", "A" }, { "','" }))
  it("4: aabcb,abc blames b, not c", refused("aabcb,abc", { { 3, 3, 4, 5, 6 }, { 3, 4, 5 } }, 5,
    { "label b", "operand 0", "4", "6" }, { "label c", "label a" }))
  it("5: ij,jk->il names l", refused("ij,jk->il", two, 9, { "label l", "output" }))
  it("6: ij,jk,->ik has a scalar operand",
    accepted("ij,jk,->ik", { { 2, 3 }, { 3, 4 }, {} }, { 2, 4 }))
  it("7: ij,jk-> is a full reduction", accepted("ij,jk->", two, {}))
  it("8: ij,jk has the implicit output ik", accepted("ij,jk", two, { 2, 4 }))
  it("9: ba has the implicit output ab", accepted("ba", { { 2, 3 } }, { 3, 2 }))
  it("10: ij,jk->ik->k has a second arrow", refused("ij,jk->ik->k", two, 10, { "->" }))
  it("11: blanks are ignored", accepted("i j , j k -> i k", two, { 2, 4 }))
  it("12: i1,1k->ik names 1", refused("i1,1k->ik", two, 2, { "'1'" }))
  it("13: the empty string is empty", refused("", {}, 1, { "empty" }))
  it("14: ...i,ij->...j broadcasts", accepted("...i,ij->...j", { { 5, 2 }, { 2, 3 } }, { 5, 3 }))
  it("15: ij,jk->ik with sizes 3 and 4 for j",
    refused("ij,jk->ik", { { 2, 3 }, { 4, 4 } }, 4, { "label j", "3", "4" }))
end)

describe("einsum strings beside the report", function()
  it("broadcast a size of 1 only through '...'", function()
    local parsed = subscripts.parse("...i,...i->...", { { 5, 1, 2 }, { 4, 2 } })
    assert.same({ 5, 4 }, parsed.out_shape)
    assert.equal("Z[_2,_1] = T0[_2,0,i] * T1[_1,i]", parsed.text)
    refused("i,i->i", { { 1 }, { 4 } }, 3, { "label i" })()
  end)

  it("count operands and shapes", function()
    refused("ij,jk->ik", { { 2, 3 } }, 4, { "operand 1", "shape" })()
    refused("ij->ij", { { 2, 3 }, { 3 } }, 7, { "2 shapes", "1 operand" })()
    refused("ij->ij", { { 2, 0 } }, 1, { "operand 0", "0" })()
  end)

  it("refuse half arrows and labels that are no letters", function()
    refused("ij-jk->ik", { { 2, 3 } }, 3, { "'-'" })()
    refused("ij>k", { { 2, 3 } }, 3, { "'>'" })()
    refused("....i->i", { { 2, 3 } }, 4, { "'.'" })()
    refused("...i->i", { { 2, 3 } }, 7, { "..." })()
    refused("......i->i", { { 2, 3 } }, 4, { "second" })()
  end)
end)
