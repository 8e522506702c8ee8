-- SPDX-License-Identifier: MIT
-- Kernels as readable loops: the grid, the variables of its ranges, sections inside and behind the
-- reduction, every load and store at its index in the kernel's variables.

local program = require "einloom.kernels.program"

local loops = {}

local reductions = { sum = "+=", prod = "*=", max = "max=", min = "min=" }
local joins = { ["+"] = "+=", ["*"] = "*=", max = "max=", min = "min=" }
local calls = { welford_reduce = "welford", argmax = "argmax", argmin = "argmin" }
local power = {
  ["<"] = 4, ["<="] = 4, [">"] = 4, [">="] = 4, ["=="] = 4, ["~="] = 4, ["+"] = 5, ["-"] = 5,
  ["*"] = 6, ["/"] = 6, ["//"] = 6, ["%"] = 6, neg = 7, ["^"] = 8,
}

local access_text

local named = program.named

--- An index with the loads in place of the values that they give.
---@param statement einloom.Statement
---@param index einloom.Expr
---@return string
function loops.index_text(statement, index)
  return (tostring(index):gsub("indirect%d+", function(name)
    local n = statement.node.loaded[name]
    return n and access_text(statement, n)
  end))
end

local index_text = loops.index_text

-- A value that the kernel holds is called by its name alone.
function access_text(statement, n)
  local load = statement.loads[n]
  if load.held then return named(load.tensor) end
  return ("%s[%s]"):format(named(load.tensor), index_text(statement, load.index))
end

local function number_text(x)
  if x == math.huge then return "inf" end
  return math.tointeger(x) and ("%d"):format(x) or ("%.14g"):format(x)
end

local body_text

local function operation_text(statement, node)
  local own, parts = power[node.op], {}
  for i, child in ipairs(node) do
    -- The left operand of ^ and right operands of others need brackets at the same power.
    local least = own + ((node.op == "^") == (i == 1) and 1 or 0)
    if node.op == "+" or node.op == "*" then least = own + (i > 1 and 1 or 0) end
    parts[i] = body_text(statement, child, least)
  end
  if node.op == "neg" then return "-" .. parts[1], own end
  local between = node.op == "^" and "^" or " " .. node.op .. " "
  return table.concat(parts, between), own
end

-- The text of a tree, in brackets where it binds less than `least`.
function body_text(statement, node, least)
  local text, own
  if node.op == "number" then
    text, own = number_text(node.value), node.value < 0 and 7 or 9
  elseif node.op == "load" then
    text, own = access_text(statement, node[1]), 9
  elseif node.op == "loop" then
    text = tostring(statement.loops[node.name])
    own = text:find "[^%w_]" and 0 or 9
  elseif node.op == "size" then
    text, own = node.name, 9
  elseif node.op == "call" then
    local parts = {}
    for i, child in ipairs(node) do parts[i] = body_text(statement, child, 0) end
    text, own = ("%s(%s)"):format(node.name, table.concat(parts, ", ")), 9
  else
    text, own = operation_text(statement, node)
  end
  return own < least and "(" .. text .. ")" or text
end

local function left_text(made, statement)
  local names = {}
  for i, write in ipairs(statement.writes) do
    local name = named(write.tensor)
    names[i] = made.stored[write.tensor]
      and ("%s[%s]"):format(name, index_text(statement, write.index)) or name
  end
  return (statement.node.updates and "update " or "") .. table.concat(names, ", ")
end

-- One line; a result with an index is stored there, one without stays in the kernel.
local function statement_text(made, statement)
  local node = statement.node
  local left, value = left_text(made, statement), body_text(statement, node.body, 0)
  local call = calls[node.reduce]
  if call then return ("%s = %s(%s)"):format(left, call, value) end
  if node.kind == "scan" then
    return ("%s = scan%s(%s)"):format(left, node.reduce and "_" .. node.reduce or "", value)
  end
  if node.start then value = ("%s, from %s"):format(value, access_text(statement, node.start)) end
  return ("%s %s %s"):format(left, reductions[node.reduce] or joins[node.join] or "=", value)
end

local function open(lines, depth, trees)
  for _, tree in ipairs(trees) do
    if not program.is_one(tree.extent) then
      lines[#lines + 1] = ("%sfor %s < %s"):format(("  "):rep(depth), tree.index,
        tostring(tree.extent))
      depth = depth + 1
      for _, entry in ipairs(tree.variables) do
        lines[#lines + 1] = ("%s%s = %s"):format(("  "):rep(depth), entry.name,
          tostring(entry.expr))
      end
    end
  end
  return depth
end

local function call_text(made)
  local node, reads, writes = made.call, {}, {}
  if node.kind == "nop" then return "  launches nothing" end
  for i, read in ipairs(node.reads) do reads[i] = named(read.tensor) end
  for i, write in ipairs(node.writes) do writes[i] = named(write.tensor) end
  return ("  %s = %s(%s)"):format(table.concat(writes, ", "), node.call or "call",
    table.concat(reads, ", "))
end

--- A kernel as readable loops.
---@param made einloom.Program
---@return string
function loops.text(made)
  local lines = { made.name .. ": " .. table.concat(made.facts.schedule, ", ") }
  if made.call then return lines[1] .. "\n" .. call_text(made) end
  local outer = open(lines, 1, made.grid)
  for _, section in ipairs(made.sections) do
    local depth = section.inside and open(lines, outer, made.reduction) or outer
    for _, statement in ipairs(section.statements) do
      lines[#lines + 1] = ("  "):rep(depth) .. statement_text(made, statement)
    end
  end
  return table.concat(lines, "\n")
end

return loops
