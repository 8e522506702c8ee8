-- SPDX-License-Identifier: MIT
-- Kernels of a graph as text: for each its operations in order, its loops, every access in its
-- variables, what it moves and what is to be said about it; then totals, and refused fusions.

local layout = require "einloom.show.layout"

local show = {}

-- A line that begins with a name, its text wrapped beside it.
local function row(out, name, text)
  for i, part in ipairs(layout.wrap(text, layout.width - 16)) do
    out[#out + 1] = ("  %-13s %s"):format(i == 1 and name or "", part)
  end
end

local function several(n, unit) return layout.count(n, unit) end

-- ---- loops ---------------------------------------------------------------------------------

-- Operations in order; loops over the reduction end at each bar.
local function order_text(schedule)
  local parts, group = {}, {}
  for _, step in ipairs(schedule) do
    if step == "reduction_off" or step == "reduction_on" then
      if #group > 0 then parts[#parts + 1] = table.concat(group, ", ") end
      group = {}
    else
      group[#group + 1] = step
    end
  end
  if #group > 0 then parts[#parts + 1] = table.concat(group, ", ") end
  return table.concat(parts, " | ")
end

local function tiles_text(tiling)
  local parts = {}
  for i, tile in ipairs(tiling) do parts[i] = ("%s=%s"):format(tile[1], tile[2]) end
  return table.concat(parts, " ")
end

local function loops(out, kernel)
  local n, r = table.unpack(kernel.extents)
  row(out, "loops", r == 1 and tostring(n) or ("%s, with %s reduced"):format(n, r))
  row(out, "tiling", tiles_text(kernel.tiling))
  for i, range in ipairs(kernel.ranges) do
    row(out, i == 1 and "ranges" or "",
      ("%s = %s, %s long"):format(range.name, range.value, range.length))
  end
end

-- ---- accesses ------------------------------------------------------------------------------

local function steps_text(kernel, access)
  local parts = { access.gathered and "gathered" }
  for _, tile in ipairs(access.strides and kernel.tiling or {}) do
    local step = access.strides[tile[1]]
    if step and tile[2] ~= 1 then parts[#parts + 1] = ("%s+%s"):format(tile[1], step) end
  end
  if access.in_place then parts[#parts + 1] = "in place" end
  return table.concat(parts, " ")
end

local access_column, steps_column = 34, 76

-- The tensor with its index, then the steps along each tile, below where there is no room.
local function put_access(out, before, text, steps)
  local parts = layout.wrap(text, layout.width - access_column)
  for i, part in ipairs(parts) do
    out[#out + 1] = (i == 1 and before or (" "):rep(access_column)) .. part
  end
  if steps == "" then return end
  local last = out[#out]
  if #last + 2 > steps_column or steps_column + #steps > layout.width then
    last = (" "):rep(math.min(steps_column, layout.width - #steps) - 2)
    out[#out + 1] = last
  end
  out[#out] = last .. (" "):rep(steps_column - #last) .. steps
end

local function access_row(out, kernel, node, access)
  local what = access.memory and access.kind or access.kind == "load" and "held" or "keep"
  local text = access.memory and ("%s[%s]"):format(access.tensor, access.index or "")
    or access.tensor
  if #node > 11 then
    out[#out + 1] = (" "):rep(16) .. node
    node = ""
  end
  put_access(out, ("%16s%-11s %-5s "):format("", node, what), text,
    access.memory and steps_text(kernel, access) or "")
end

local function accesses(out, kernel)
  local first = #out + 1
  for _, operation in ipairs(kernel.operations) do
    for i, access in ipairs(operation.accesses) do
      access_row(out, kernel, i == 1 and operation.node or "", access)
    end
  end
  if out[first] then out[first] = ("  %-13s "):format "accesses" .. out[first]:sub(17) end
end

-- ---- facts ---------------------------------------------------------------------------------

local function reductions(kernel)
  local parts, seen = {}, {}
  for _, operation in ipairs(kernel.operations) do
    local how = operation.kind == "scan" and "scan" .. (operation.reduces and " " or "")
      .. (operation.reduces or "") or operation.reduces
    if how and not seen[how] then parts[#parts + 1] = how end
    if how then seen[how] = true end
  end
  return table.concat(parts, ", ") .. (kernel.hint and ("; hint %s"):format(kernel.hint) or "")
end

local function bytes_text(kernel)
  if not kernel.bytes then return "not known: a size has no hint" end
  return several(kernel.bytes, "bytes")
end

local function index_text(kernel)
  if kernel.index_bits == kernel.index_bits_proved then return kernel.index_bits .. " bits" end
  return ("%d bits by the sizes, %d are proved to do"):format(kernel.index_bits,
    kernel.index_bits_proved)
end

local function layout_text(one)
  local sizes, strides = {}, {}
  for i, size in ipairs(one.sizes) do sizes[i] = tostring(size) end
  for i, stride in ipairs(one.strides) do strides[i] = tostring(stride) end
  return ("%s (sizes %s, strides %s)"):format(one.tensor, table.concat(sizes, " "),
    table.concat(strides, " "))
end

-- Where the bytes are not what really moves.
local function counting(out, kernel)
  for _, name in ipairs(kernel.counted_twice) do
    row(out, "", ("%s counts twice, as if it overwrote another tensor: that one is never stored")
      :format(name))
  end
  for _, one in ipairs(kernel.uncounted) do
    row(out, "", ("not counted is what %s holds before: it is read to be updated%s"):format(
      one.tensor, one.bytes and ", " .. several(one.bytes, "bytes") or ""))
  end
end

local function facts(out, kernel)
  if kernel.launch then row(out, "launch", ("with others, number %d"):format(kernel.launch)) end
  if kernel.call then
    row(out, "around", ("%s; %s"):format(kernel.call, several(kernel.flops, "flops")))
  end
  row(out, "moves", bytes_text(kernel))
  counting(out, kernel)
  if kernel.sectors then
    row(out, "touches", ("%s in blocks of %s"):format(several(kernel.sectors, "sectors"),
      tiles_text(kernel.blocks)))
  end
  row(out, "index", index_text(kernel))
  local how = reductions(kernel)
  if how ~= "" then row(out, "reduces", how) end
  if #kernel.never_stored > 0 then
    row(out, "never stored", table.concat(kernel.never_stored, ", "))
  end
  for _, group in ipairs(kernel.in_place) do
    row(out, "in place", table.concat(group, " overwritten by "))
  end
  for _, pair in ipairs(kernel.mixed_layouts) do
    row(out, "warning", ("%s and %s walk the same sizes in different orders"):format(
      layout_text(pair[1]), layout_text(pair[2])))
  end
end

-- ---- calls ---------------------------------------------------------------------------------

local function call(out, kernel)
  if kernel.kind == "nop" then return row(out, "launches", "nothing") end
  row(out, "calls", ("%s(%s) -> %s"):format(kernel.call or "something not named",
    table.concat(kernel.reads, ", "), table.concat(kernel.writes, ", ")))
  row(out, "moves", bytes_text(kernel))
  row(out, "flops", tostring(kernel.flops))
end

-- ---- all -----------------------------------------------------------------------------------

local function put_kernel(out, kernel)
  out[#out + 1] = ("%s: %s"):format(kernel.name, order_text(kernel.schedule))
  if not kernel.extents then return call(out, kernel) end
  loops(out, kernel)
  accesses(out, kernel)
  facts(out, kernel)
end

local function totals_text(data)
  local totals = data.totals
  local text = ("%s of %s"):format(several(totals.kernels, "kernels"),
    several(totals.nodes, "operations"))
  if totals.bytes then text = ("%s; %s moved"):format(text, several(totals.bytes, "bytes")) end
  if totals.flops and totals.flops ~= 0 then
    text = ("%s; %s in calls"):format(text, several(totals.flops, "flops"))
  end
  return text
end

--- The kernels of a listing as text.
---@param data table as of kernels/listing.lua
---@return string
function show.text(data)
  local out = {}
  for _, kernel in ipairs(data.kernels) do
    put_kernel(out, kernel)
    out[#out + 1] = ""
  end
  out[#out + 1] = totals_text(data)
  return table.concat(out, "\n")
end

-- Which pairs were asked whether they fuse, and why the others were not.
local function pairs_text(pairs)
  local never = {}
  if pairs.unrelated > 0 then never[1] = pairs.unrelated .. " with no tensor in common" end
  if pairs.left_out > 0 then
    never[#never + 1] = pairs.left_out .. " with more than 64 users of what they share between "
      .. "them, or in lists, which are asked as a whole"
  end
  return ("%s of kernels: %d asked whether they fuse%s"):format(several(pairs.all, "pairs"),
    pairs.asked, #never > 0 and "; never asked: " .. table.concat(never, ", ") or "")
end

--- Why kernels that use a tensor in common are apart, and how many pairs were not asked about.
---@param data table
---@return string
function show.refusals(data)
  local out = {}
  local function put(indent, text)
    for _, part in ipairs(layout.wrap(text, layout.width - #indent)) do
      out[#out + 1] = indent .. part
    end
  end
  for _, refusal in ipairs(data.refusals) do
    put("", ("%s and %s stay apart (%s): %s of one, %s of the other use %s"):format(
      refusal.first, refusal.second, refusal.reason, refusal.nodes[1], refusal.nodes[2],
      table.concat(refusal.tensors, ", ")))
    put("  ", refusal.sentence)
  end
  if #data.refusals == 0 then put("", "no two kernels use a tensor in common") end
  if data.pairs.all > 0 then put("", pairs_text(data.pairs)) end
  return table.concat(out, "\n")
end

return show
