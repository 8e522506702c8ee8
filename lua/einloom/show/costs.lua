-- SPDX-License-Identifier: MIT
-- What a whole workload costs, as text: energy, latency, memory over time, dimensions, area and
-- limits, as formulas and at a point. Only says what the costs of the core hold; parts for which
-- the architecture gives nothing are left out.

local core = require "einloom.core"
local layout = require "einloom.show.layout"
local points = require "einloom.points"
local readonly = require "einloom.readonly"
local values = require "einloom.value"

local costs = {}

-- ---- values ---------------------------------------------------------------------------------

local longest_fraction = 24

-- A number exactly; a fraction that would be long is rounded and says so.
local function value_text(value)
  local text = tostring(value)
  if not value:is_number() or value:is_integer() then return text end
  local rounded = ("%.6g"):format(value:tonumber())
  if #text > longest_fraction then return "about " .. rounded end
  return ("%s (%s)"):format(text, rounded)
end

local function is_zero(value) return value:is_number() and tostring(value) == "0" end

local function percent(fraction) return ("%.4g %%"):format(100 * fraction:tonumber()) end

-- ---- rows -----------------------------------------------------------------------------------

---@class einloom.CostsView
---@field costs userdata
---@field total table
---@field point? table<string, any>
---@field arch einloom.Arch
---@field rows table[] { short text } or { margin, left, right }

local function at(view, value) return points.at(value, view.point) end

local function heading(view, text) view.rows[#view.rows + 1] = { text } end

local function row(view, depth, label, left, right)
  view.rows[#view.rows + 1] = { ("  "):rep(depth) .. label, left, right }
end

-- A value as a row; beside a formula its number at the point. `more` gives what follows a number.
local function value_row(view, depth, label, value, unit, more)
  local function text_of(x)
    local text = value_text(x)
    if unit then text = ("%s %s"):format(text, text == "1" and unit:sub(1, -2) or unit) end
    local after = x:is_number() and more and more(x)
    return after and text .. ", " .. after or text
  end
  local there = at(view, value)
  row(view, depth, label, text_of(value), there ~= value and "= " .. text_of(there) or nil)
end

-- What a number is of a total at the point.
local function share_of(view, total)
  local whole = at(view, total)
  if not whole:is_number() or is_zero(whole) then return nil end
  return function(x) return percent(x / whole) end
end

local function print_rows(rows)
  local column, out = 0, {}
  for _, r in ipairs(rows) do
    if r[2] then column = math.max(column, #r[1] + 2) end
  end
  column = math.min(column, 36)
  local second = math.max(column + 26, 72)
  for _, r in ipairs(rows) do
    if not r[2] then
      out[#out + 1] = r[1]
    else
      layout.row(out, r[1], r[2], r[3], column, second)
    end
  end
  return table.concat(out, "\n")
end

-- ---- energy ---------------------------------------------------------------------------------

-- Rows of components, outermost first.
local function by_place(view, list)
  local place = {}
  for i, node in ipairs(view.arch.components) do place[node.name] = i end
  table.sort(list, function(a, b) return place[a.component] < place[b.component] end)
  return list
end

local function energy_rows(view, name, list)
  heading(view, "  by " .. name)
  local share = share_of(view, view.total.energy)
  for _, r in ipairs(list) do
    if not is_zero(r.energy) and r[name] then value_row(view, 2, r[name], r.energy, nil, share) end
  end
  for _, r in ipairs(list) do
    local of_none = not r[name] and not is_zero(r.energy)
    if of_none then value_row(view, 2, "none", r.energy, nil, share) end
  end
end

-- Whether anything of an architecture takes energy.
local function has_energies(arch)
  for _, component in ipairs(readonly.raw(arch).components) do
    if values.equal(component.leak_power or 0, 0) ~= true then return true end
    for _, action in ipairs(component.actions or {}) do
      if values.equal(action.energy or 0, 0) ~= true then return true end
    end
  end
  return false
end

local function energy(view)
  local t = view.total
  if is_zero(t.energy) then
    return heading(view, has_energies(view.arch) and "energy: 0" or "energy: none is given")
  end
  value_row(view, 0, "energy", t.energy)
  energy_rows(view, "component", by_place(view, view.costs:energy "component"))
  energy_rows(view, "tensor", view.costs:energy "tensor")
  energy_rows(view, "action", view.costs:energy "action")
  if is_zero(t.leak_energy) then return end
  value_row(view, 1, "leakage", t.leak_energy, nil, share_of(view, t.energy))
  for _, r in ipairs(t.components) do
    if not is_zero(r.leak_energy) then value_row(view, 2, r.component, r.leak_energy) end
  end
end

-- ---- latency --------------------------------------------------------------------------------

-- What bounds an einsum, or nil where symbols decide.
local function bound_text(view, e)
  local bound = view.bound_by[e.einsum]
  if not bound then return nil end
  return ("bound by %s (%s)"):format(bound, view.compute[bound] and "compute unit" or "memory")
end

-- Whether another component is known to take longer, or as long and comes first.
local function is_outdone(list, i)
  for j, other in ipairs(list) do
    if j ~= i and list[i].latency:le(other.latency) and
      (j < i or not other.latency:le(list[i].latency)) then return true end
  end
  return false
end

local function undecided_text(e)
  local list, names = {}, {}
  for _, k in ipairs(e.components) do
    if k.latency then list[#list + 1] = k end
  end
  for i, k in ipairs(list) do
    if not is_outdone(list, i) then names[#names + 1] = k.component end
  end
  return ("bound by %s: symbols decide"):format(table.concat(names, " or "))
end

local function einsum_latency(view, e)
  local there, bound = at(view, e.latency), bound_text(view, e)
  local left, right = value_text(e.latency), there ~= e.latency and "= " .. value_text(there) or nil
  if bound and not is_zero(e.latency) then
    if right then right = right .. ", " .. bound else left = left .. ", " .. bound end
  end
  row(view, 2, e.einsum, left, right)
  if not bound then row(view, 2, "", undecided_text(e)) end
end

-- The time that each component works, outermost first.
local function component_times(view)
  local sums, list = {}, {}
  for _, e in ipairs(view.einsums) do
    for _, k in ipairs(e.components) do
      if k.latency then
        local sum = sums[k.component]
        if not sum then
          sum = { component = k.component, time = core.int(0) }
          sums[k.component], list[#list + 1] = sum, sum
        end
        sum.time = sum.time + k.latency * e.n_instances
      end
    end
  end
  return by_place(view, list)
end

local function latency(view)
  local t = view.total
  if is_zero(t.latency) then return heading(view, "latency: no throughput is limited") end
  value_row(view, 0, "latency", t.latency)
  local sum = core.int(0)
  for _, e in ipairs(view.einsums) do sum = sum + e.latency end
  local in_turn = is_zero((sum - t.latency):expand())
  heading(view, in_turn and "  by einsum" or "  by einsum (some run at the same time)")
  for _, e in ipairs(view.einsums) do einsum_latency(view, e) end
  heading(view, "  by component (the time that it works)")
  for _, r in ipairs(component_times(view)) do
    if not is_zero(r.time) then
      value_row(view, 2, r.component, r.time, nil, share_of(view, t.latency))
    end
  end
end

-- ---- memory ---------------------------------------------------------------------------------

local function of_component(list, component)
  local found = {}
  for _, r in ipairs(list) do
    if r.component == component then found[#found + 1] = r end
  end
  return found
end

-- The step at which most of a memory is in use, or nil where symbols decide.
local function peak_step(view, peak, steps)
  if peak.step then return peak.step end
  local best, most
  for _, r in ipairs(steps) do
    local bits = at(view, r.bits)
    if not bits:is_number() then return nil end
    if not most or most:lt(bits) then best, most = r.step, bits end
  end
  return best
end

local function residents(view, peak, step, depth)
  for _, r in ipairs(of_component(view.total.residents, peak.component)) do
    if r.step == step then value_row(view, depth, r.tensor, r.bits, "bits") end
  end
end

-- The size of a memory at the point, or nil of one without limit.
local function size_of(view, component)
  local size = view.arch:component(component).size
  if size == nil or size == math.huge then return nil end
  return at(view, core.sum { size })
end

local function peak_row(view, peak)
  local size, there = size_of(view, peak.component), at(view, peak.bits)
  local function part(bits)
    if not size or not (bits / size):is_number() then return "" end
    return ", " .. percent(bits / size)
  end
  local of_size = size and (" of %s bits"):format(value_text(size)) or " bits"
  local left = value_text(peak.bits) .. of_size
  local right = there ~= peak.bits and ("= %s bits%s"):format(value_text(there), part(there)) or nil
  row(view, 1, peak.component, right and left or left .. part(peak.bits), right)
end

local function one_memory(view, peak)
  local steps = of_component(view.total.steps, peak.component)
  peak_row(view, peak)
  local full = peak_step(view, peak, steps)
  if #view.einsums == 1 then return residents(view, peak, full or 1, 2) end
  for _, r in ipairs(steps) do
    local label = "during einsum " .. view.einsums[r.step].einsum
    value_row(view, 2, r.step == full and label .. ", peak" or label, r.bits, "bits")
    if r.step == full or not full then residents(view, peak, r.step, 3) end
  end
end

local function memory(view)
  if #view.total.peaks == 0 then return end
  heading(view, "memory (the most in use" .. (#view.einsums > 1 and ", and over time)" or ")"))
  for _, peak in ipairs(by_place(view, view.total.peaks)) do one_memory(view, peak) end
end

-- ---- dimensions, area, limits -----------------------------------------------------------------

local function used_text(view, r)
  local used, text = at(view, r.used), ("%s.%s %s"):format(r.component, r.dim, r.used)
  if used ~= r.used then text = ("%s = %s"):format(text, used) end
  return ("%s of %s"):format(text, at(view, r.fanout))
end

-- "PE.x 16 of 16, PE.y 1 of 16: 6.25 %" for all dimensions above a compute unit.
local function dimensions_text(view, e)
  local parts, part = {}, core.int(1)
  for i, r in ipairs(e.spatial) do
    parts[i], part = used_text(view, r), part * at(view, r.fraction)
  end
  local text = table.concat(parts, ", ")
  return part:is_number() and ("%s: %s"):format(text, percent(part)) or text
end

local function dimensions(view)
  local any = false
  for _, e in ipairs(view.einsums) do
    if #e.spatial > 0 then
      if not any then heading(view, "instances in use (by einsum)") end
      any = true
      row(view, 1, e.einsum, dimensions_text(view, e))
    end
  end
end

local function area(view)
  local t = view.total
  if is_zero(t.area) then return end
  value_row(view, 0, "area", t.area)
  for _, r in ipairs(by_place(view, t.components)) do
    if not is_zero(r.area) then
      value_row(view, 1, r.component, r.area, nil, share_of(view, t.area))
    end
  end
end

-- Limits that symbols decide.
local function limits(view)
  local any, seen = false, {}
  for _, r in ipairs(view.total.constraints) do
    local label = r.dim and ("%s.%s"):format(r.component, r.dim) or r.component
    local key = label .. "\0" .. tostring(r.needed)
    if not r.condition:is_number() and not seen[key] then
      if not any then heading(view, "limits") end
      any, seen[key] = true, true
      local left = ("%s <= %s %s"):format(r.needed, r.available, r.dim and "instances" or "bits")
      local needed = at(view, r.needed)
      local name = r.einsum and "einsum " .. r.einsum or "all einsums"
      row(view, 1, #view.einsums > 1 and label .. ", " .. name or label, left,
        needed ~= r.needed and "= " .. tostring(needed) or nil)
    end
  end
end

-- ---- the text ---------------------------------------------------------------------------------

local function read(view)
  view.total, view.einsums, view.compute = view.costs:total(), {}, {}
  for i, name in ipairs(view.costs:einsums()) do view.einsums[i] = view.costs:einsum(name) end
  for _, node in ipairs(view.arch.components) do
    view.compute[node.name] = node.class == "Compute"
  end
end

--- The costs as lines of text.
---@param c userdata costs of the core
---@param arch einloom.Arch
---@param point? table<string, any>
---@param bound_by table<string, string|false> what bounds each einsum
---@return string
function costs.text(c, arch, point, bound_by)
  local view = { costs = c, arch = arch, point = point, bound_by = bound_by, rows = {} }
  read(view)
  for _, part in ipairs { energy, latency, memory, dimensions, area, limits } do part(view) end
  return print_rows(view.rows)
end

return costs
