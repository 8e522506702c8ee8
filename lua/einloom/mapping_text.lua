-- SPDX-License-Identifier: MIT
-- The loop-nest text of mappings: one statement a line, outermost first.  A chain of nodes nests by
-- order alone; indentation matters only for `branch`: its lines stand deeper than the word.

local core = require "einloom.core"
local errors = require "einloom.errors"
local holes = require "einloom.mapping_holes"
local lexer = require "einloom.lexer"

local mapping_text = {}

mapping_text.max_depth = 200

local scan = lexer.new({
  "...", "..", "(", ")", ",", ":", ".", "-", "+", "*", "/", "%", "^", "?", "{", "}",
}, true)

local keywords = {
  ["for"] = true, par = true, tile = true, first = true, step = true, on = true,
  toll = true, custom = true,
  sequential = true, pipeline = true, parallel = true, branch = true,
}

-- Where a parsed node stands: {source, position, tensors = positions}.  Kept aside, so that nodes
-- hold only fields.
local positions = setmetatable({}, { __mode = "k" })

--- The source and position of a node that came out of parse and is not yet checked, or nil.
---@param node table
---@return table?
function mapping_text.position_of(node)
  return positions[node]
end

--- Keeps what position_of gives of a parsed node for the checked one.
---@param node table
---@param position table
function mapping_text.keep_position(node, position)
  positions[node] = position
end

local function place(lex, node, position)
  local line, column = errors.position(lex.source, position)
  node.where = ("%s:%d:%d"):format(lex.source.name, line, column)
  positions[node] = { lex.source, position }
  return node
end

-- A name, plain or quoted.
local function name(lex, what)
  return lex:accept "string" or (lex:expect("name", what))
end

local function word(lex, text)
  if lex.kind ~= "name" or lex.value ~= text then return false end
  lex:advance()
  return true
end

-- Words that can follow the variable of a loop.
local after_variable = {
  temporal = { "tile", "first", "step" }, spatial = { "tile", "first", "step", "on" },
}

-- "; nearest: tile" if the current token is nearly a word of the list.
local function hint(lex, words)
  local near = lex.kind == "name" and errors.nearest(lex.value, words) or {}
  return #near > 0 and "; nearest: " .. table.concat(near, ", ") or ""
end

-- ---- tile shapes ----

-- The position of the bracket that closes the one at `open`, on the same line.
local function closing(lex, open)
  local depth, position, text = 0, open, lex.source.text
  while true do
    position = text:find("[()\n]", position)
    local c = position and text:sub(position, position) or "\n"
    if c == "\n" then lex:fail("expected ')' to close this '('", open) end
    depth = depth + (c == "(" and 1 or -1)
    if depth == 0 then return position end
    position = position + 1
  end
end

-- `first` is the position of the text's first byte.
local function parse_expression(lex, text, first, symbols)
  local list = {}
  for _, name_ in ipairs(errors.keys(symbols)) do list[#list + 1] = symbols[name_] end
  local ok, e = pcall(core.parse, text, lex.source.name, list)
  if ok then return e end
  if type(e) ~= "table" then lex:fail("tile shape: " .. tostring(e), first) end
  lex:fail("tile shape: " .. e.message, first + (e.column or 1) - 1)
end

local function bad_shape(lex, text, position)
  lex:fail(("tile shape %s is not a positive integer"):format(text), position, "bad_tile_shape")
end

local function number(lex)
  local position = lex.position
  local digits = lex:expect("number", "a tile shape")
  local x = math.tointeger(tonumber(digits))
  if not x or x < 1 then bad_shape(lex, digits, position) end
  return x
end

-- {8, 16}: any of these.
local function shape_set(lex)
  local list = {}
  lex:advance()
  repeat list[#list + 1] = number(lex) until not lex:accept ","
  lex:expect("}", "',' or '}'")
  return list
end

-- The end of a range that began with a number.
local function shape_range(lex, low, position)
  local high = number(lex)
  local result, message = holes.shape(("%s..%s"):format(low, high))
  if not result then lex:fail("tile shape: " .. message, position, "bad_tile_shape") end
  return result
end

local function shape(lex, symbols)
  local position = lex.position
  if lex:accept "?" then return "?" end
  if lex.kind == "{" then return shape_set(lex) end
  if lex.kind == "-" then
    lex:advance()
    bad_shape(lex, "-" .. (lex.kind == "number" and lex.value or ""), position)
  end
  local digits = lex:accept "number"
  if digits then
    local whole = math.tointeger(tonumber(digits))
    if not whole and digits:find "^%d+$" then return core.parse(digits) end
    if not whole or whole < 1 then bad_shape(lex, digits, position) end
    if lex:accept ".." then return shape_range(lex, whole, position) end
    return whole
  end
  if lex.kind == "(" then
    local stop = closing(lex, position)
    local text = lex.source.text:sub(position + 1, stop - 1)
    lex:jump(stop + 1)
    return parse_expression(lex, text, position + 1, symbols)
  end
  local symbol = lex:expect("name", "a tile shape: a number, a symbol or an expression in brackets")
  if keywords[symbol] then
    lex:fail(("expected a tile shape, found '%s'"):format(symbol), position)
  end
  if symbol == "inf" or symbol == "nan" then bad_shape(lex, symbol, position) end
  return symbols[symbol] or core.symbol(symbol)
end

-- ---- statements ----

-- tile shape, first shape, step shape: whether any of them was there.
local function shapes(lex, node, symbols)
  local given = false
  for _, part in ipairs {
    { "tile", "tile_shape" }, { "first", "initial_tile_shape" }, { "step", "step" },
  } do
    if word(lex, part[1]) then node[part[2]], given = shape(lex, symbols), true end
  end
  return given
end

-- The tiles of one einsum of a shared loop, or nil where it has none of its own.
local function own_tiles(lex, einsum, symbols)
  local own = { einsum = einsum }
  for _, overlap in ipairs { "keep", "recompute" } do
    if word(lex, overlap) then
      own.overlap = overlap
      return own
    end
  end
  own.tile_shape = 1
  return shapes(lex, own, symbols) and own or nil
end

-- m, or (E1: m, E2: p recompute, E3: q tile 6 step 4); what differs by einsum goes to `node`.
local function variable(lex, node, symbols)
  if lex.kind ~= "(" then return name(lex, "a rank variable") end
  local by_einsum = {}
  lex:advance()
  repeat
    local position = lex.position
    local einsum = name(lex, "an einsum")
    if by_einsum[einsum] then lex:fail(("einsum %s is named twice"):format(einsum), position) end
    lex:expect ":"
    by_einsum[einsum] = name(lex, "a rank variable")
    local own = own_tiles(lex, einsum, symbols)
    if own then
      node.tiles = node.tiles or {}
      table.insert(node.tiles, own)
    end
  until not lex:accept ","
  if lex.kind ~= ")" then
    lex:fail(("expected ')', found %s%s"):format(lex:shown(),
      hint(lex, { "keep", "recompute", "tile", "first", "step" })))
  end
  lex:advance()
  return by_einsum
end

local function loop(lex, kind, symbols)
  local node = place(lex, { node = kind, tile_shape = 1 }, lex.position)
  node.rank_variable = variable(lex, node, symbols)
  shapes(lex, node, symbols)
  if kind == "spatial" then
    if not word(lex, "on") then
      lex:fail(("expected 'on' after the loop, found %s%s")
        :format(lex:shown(), hint(lex, after_variable.spatial)))
    end
    node.component = name(lex, "a component")
    lex:expect(".", "'.' and a dimension")
    node.dim = name(lex, "a dimension")
  end
  return node
end

local function loops(lex, list, kind, symbols)
  repeat
    local position = lex.position
    list[#list + 1] = lex:accept "*" and place(lex, { node = "loops", kind = kind }, position)
      or loop(lex, kind, symbols)
  until not lex:accept ","
end

-- What a flag of a holder sets: field, value; nothing where there is none.
local function flag(lex, node)
  if word(lex, "no") then
    if word(lex, "lowering") then return "may_lower", false end
  elseif node.node == "storage" then
    if word(lex, "persistent") then return "persistent", true end
    for _, lifetime in ipairs { "retain", "scope" } do
      if word(lex, lifetime) then return "lifetime", lifetime end
    end
  end
end

local function flags(lex, node)
  if not lex:accept "(" then return end
  repeat
    local position = lex.position
    local field, x = flag(lex, node)
    if not field then
      local known = node.node == "storage" and "persistent, retain, scope or no lowering"
        or "no lowering"
      lex:fail("expected " .. known, position)
    end
    if node[field] ~= nil then
      lex:fail(node[field] == x and "the flag is given twice"
        or ("the flags %s and %s exclude each other"):format(node[field], x), position)
    end
    node[field] = x
  until not lex:accept ","
  lex:expect ")"
end

-- component: tensor ... [(flag, ...)]
local function holder(lex, kind, position, fields)
  local node = place(lex, fields or {}, position)
  node.node, node.component, node.tensors = kind, name(lex, "a component"), {}
  lex:expect ":"
  local places = {}
  positions[node].tensors = places
  while lex.kind == "name" or lex.kind == "string" do
    places[#places + 1] = lex.position
    node.tensors[#node.tensors + 1] = name(lex)
    if lex:accept "?" then
      node.optional = node.optional or {}
      table.insert(node.optional, node.tensors[#node.tensors])
    end
    if lex:accept "," and lex.kind ~= "name" and lex.kind ~= "string" and lex.kind ~= "*" then
      lex:fail("expected a tensor after ','")
    end
  end
  if lex:accept "*" then node.more = true end
  flags(lex, node)
  return node
end

local function compute(lex, position)
  local node = place(lex, { node = "compute", component = name(lex, "a statement") }, position)
  if word(lex, "on") then
    node.einsum, node.component = node.component, name(lex, "a compute unit")
  end
  return node
end

-- ---- blocks ----

-- Column of a position as shown, tabs to multiples of 8.
local function indentation(source, position)
  local _, bytes = errors.position(source, position)
  local column = 0
  for i = position - bytes + 1, position - 1 do
    column = source.text:byte(i) == 9 and (column // 8 + 1) * 8 or column + 1
  end
  return column
end

local splits = { sequential = true, pipeline = true, parallel = true }
local split_words = { "sequential", "pipeline", "parallel" }

local function open_split(state, lex, kind, position, column)
  local node = place(lex, { node = kind, branches = {} }, position)
  table.insert(state[#state].list, node)
  if #state > mapping_text.max_depth then
    lex:fail(("%s nodes nested beyond depth %d"):format(kind, mapping_text.max_depth), position,
      "depth")
  end
  state[#state + 1] = { split = node, column = column, position = position }
end

local function close_block(state, lex)
  local block = table.remove(state)
  if block.split and #block.split.branches == 0 then
    lex:fail(block.split.node .. " without a branch", block.position)
  end
end

-- Raises if the statement before a branch is a word nearly that of a split.
local function check_split_word(lex, last)
  local at = last and last.node == "compute" and not last.einsum and positions[last]
  local near = at and errors.nearest(last.component, split_words) or {}
  if #near == 0 then return end
  lex:fail(("'%s' is no statement that has branches; nearest: %s"):format(last.component,
    table.concat(near, ", ")), at[2])
end

local function open_branch(state, lex, position, column)
  local block, list = state[#state], state[#state].list or {}
  local last = list[#list]
  while block do
    if block.split and (block.branch_column or column) == column
      and column >= block.column then
      break
    end
    close_block(state, lex)
    block = state[#state]
  end
  if not block then
    check_split_word(lex, last)
    lex:fail("branch does not line up with the branches of a sequential, pipeline or parallel",
      position)
  end
  block.branch_column, block.list = column, {}
  table.insert(block.split.branches, block.list)
end

-- The list that a line at this column belongs to.
local function current_list(state, lex, position, column)
  local block = state[#state]
  if block.split and not block.list then
    lex:fail("expected branch after " .. block.split.node, position)
  end
  if block.split and column <= block.branch_column then
    lex:fail(("this line is not deeper than its branch: nothing can follow a %s")
      :format(block.split.node), position)
  end
  return block.list
end

local function statement(state, lex, symbols)
  local position, keyword = lex.position, lex.kind == "name" and lex.value
  local column = indentation(lex.source, position)
  local named = lex:peek() == ":"
  if keyword == "branch" and not named then
    lex:advance()
    return open_branch(state, lex, position, column)
  end
  local list = current_list(state, lex, position, column)
  if named then
    list[#list + 1] = holder(lex, "storage", position)
  elseif lex:accept "*" then
    list[#list + 1] = place(lex, { node = "loops" }, position)
  elseif lex:accept "..." then
    list[#list + 1] = place(lex, { node = "anything" }, position)
  elseif word(lex, "for") then
    loops(lex, list, "temporal", symbols)
  elseif word(lex, "par") then
    loops(lex, list, "spatial", symbols)
  elseif word(lex, "toll") then
    list[#list + 1] = holder(lex, "toll", position)
  elseif word(lex, "custom") then
    list[#list + 1] = holder(lex, "custom", position, { kind = name(lex, "a kind of holder") })
  elseif splits[keyword] then
    lex:advance()
    open_split(state, lex, keyword, position, column)
  else
    list[#list + 1] = compute(lex, position)
  end
end

local statements = {
  "for", "par", "toll", "custom", "sequential", "pipeline", "parallel", "branch",
}

-- The statement just read goes on: a word in it, or the word it begins with, may be misspelt.
local function unfinished(state, lex)
  local list = state[#state].list or {}
  local last = list[#list]
  local more = ""
  if last and last.node == "compute" then
    local first = last.einsum or last.component
    local near = errors.nearest(first, statements)
    more = #near == 0 and hint(lex, { "on" })
      or ("; '%s' is no statement; nearest: %s"):format(first, table.concat(near, ", "))
  elseif last and after_variable[last.node] then
    more = hint(lex, after_variable[last.node])
  end
  lex:fail(("expected the end of the line, found %s%s"):format(lex:shown(), more))
end

--- Parses a loop-nest text into unchecked nodes in the normal form.
---@param text string
---@param chunk string name for messages
---@param symbols table<string, einloom.Expr> symbols with assumptions, by name
---@return table[] nodes
function mapping_text.parse(text, chunk, symbols)
  local lex = scan { name = chunk, text = text }
  local state = { { list = {} } }
  while lex.kind ~= "end" do
    if not lex:accept "newline" then
      statement(state, lex, symbols)
      if lex.kind ~= "end" and lex.kind ~= "newline" then unfinished(state, lex) end
    end
  end
  local root = state[1].list
  while #state > 0 do close_block(state, lex) end
  return root
end

-- ---- printing ----

local function quote(text)
  if text:find "^[%a_][%w_]*$" and not keywords[text] then return text end
  local escaped = text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n"):gsub("\t", "\\t"):gsub("\r", "\\r")
  return '"' .. escaped .. '"'
end

local function shape_text(x)
  if holes.is_open(x) then return holes.text(x) end
  if not core.is_expr(x) then return tostring(x) end
  local text = tostring(x)
  if text:find "^%d+$" then return text end
  local plain = x:kind() == "sym" and quote(x:name()) == x:name()
  return plain and x:name() or "(" .. text .. ")"
end

-- The shapes of a loop, or of one of its einsums, which says a tile shape of 1 too.
local function shapes_text(t, all)
  local text = ""
  if all or t.tile_shape ~= 1 then text = " tile " .. shape_text(t.tile_shape) end
  if t.initial_tile_shape then text = text .. " first " .. shape_text(t.initial_tile_shape) end
  return t.step and text .. " step " .. shape_text(t.step) or text
end

local function variable_text(v, tiles)
  if type(v) == "string" then return quote(v) end
  local parts, own = {}, {}
  for _, t in ipairs(tiles or {}) do
    own[t.einsum] = t.overlap and " " .. t.overlap or shapes_text(t, true)
  end
  for _, einsum in ipairs(errors.keys(v)) do
    parts[#parts + 1] = quote(einsum) .. ": " .. quote(v[einsum]) .. (own[einsum] or "")
  end
  return "(" .. table.concat(parts, ", ") .. ")"
end

local function loop_text(node)
  local text = variable_text(node.rank_variable, node.tiles) .. shapes_text(node)
  if node.node == "spatial" then
    text = text .. " on " .. quote(node.component) .. "." .. quote(node.dim)
  end
  return text
end

local function holder_text(node)
  local names, marks, optional = {}, {}, {}
  for _, tensor in ipairs(node.optional or {}) do optional[tensor] = "?" end
  for i, tensor in ipairs(node.tensors) do names[i] = quote(tensor) .. (optional[tensor] or "") end
  if node.more then names[#names + 1] = "*" end
  if node.persistent then marks[#marks + 1] = "persistent" end
  if node.lifetime then marks[#marks + 1] = node.lifetime end
  if not node.may_lower then marks[#marks + 1] = "no lowering" end
  local parts = { quote(node.component) .. ":" }
  if #names > 0 then parts[2] = table.concat(names, " ") end
  if #marks > 0 then parts[#parts + 1] = "(" .. table.concat(marks, ", ") .. ")" end
  return table.concat(parts, " ")
end

local words = { storage = "", toll = "toll " }

local any_loops = { temporal = "for *", spatial = "par *" }

local function node_text(node)
  if node.node == "loops" then return any_loops[node.kind] or "*" end
  if node.node == "anything" then return "..." end
  if node.node == "temporal" then return "for " .. loop_text(node) end
  if node.node == "spatial" then return "par " .. loop_text(node) end
  if node.node == "custom" then return "custom " .. quote(node.kind) .. " " .. holder_text(node) end
  if node.node == "compute" then
    return (node.einsum and quote(node.einsum) .. " on " or "") .. quote(node.component)
  end
  return words[node.node] .. holder_text(node)
end

local function is_unit(node)
  return node and node.node == "temporal" and node.tile_shape == 1
    and not node.initial_tile_shape and not node.step
end

--- The text of a list of checked nodes.
---@param nodes einloom.Node[]
---@return string
function mapping_text.print(nodes)
  local lines = {}
  local function emit(depth, text) lines[#lines + 1] = ("  "):rep(depth) .. text end
  local function print_list(list, base)
    local depth, i = base, 1
    while i <= #list do
      local node = list[i]
      if node.branches then
        emit(depth, node.node)
        for _, branch in ipairs(node.branches) do
          emit(depth + 1, "branch")
          print_list(branch, depth + 2)
        end
      else
        local text = node_text(node)
        while is_unit(node) and is_unit(list[i + 1]) do
          i = i + 1
          text = text .. ", " .. variable_text(list[i].rank_variable, list[i].tiles)
        end
        emit(depth, text)
        if node.node == "temporal" or node.node == "spatial" then
          depth = math.min(depth + 1, base + 20)
        end
      end
      i = i + 1
    end
  end
  print_list(nodes, 0)
  return table.concat(lines, "\n") .. "\n"
end

return mapping_text
