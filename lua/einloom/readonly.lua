-- SPDX-License-Identifier: MIT
-- Views of tables that can be read, walked and measured like the tables themselves, never written.
-- A view is made when it is first looked at; inside the front end the raw tables are used.

local errors = require "einloom.errors"

local readonly = {}

-- The key under which a view keeps its table.
local RAW = setmetatable({}, { __tostring = function() return "einloom.raw" end })

-- Table -> view, so that one table has one view.
local views = setmetatable({}, { __mode = "k" })

--- The table behind a view; anything else as it is.
---@param x any
---@return any
function readonly.raw(x)
  return type(x) == "table" and rawget(x, RAW) or x
end

local function view_of(x, meta)
  if type(x) ~= "table" then return x end
  local view = views[x]
  if not view then
    view = setmetatable({ [RAW] = x }, meta)
    views[x] = view
  end
  return view
end

--- Makes a metatable with methods into the class of immutable objects; returns the function that
--- makes an object of a table, and the one that shows a part of one. Objects read methods first,
--- then the fields of their table.
---@param class table metatable and methods
---@param what string what the objects are called, in the plural
---@return fun(data: table): table object, fun(x: any): any view
function readonly.class(class, what)
  local part = { __name = class.__name }
  local function refuse(_, key)
    errors.raise("bad_argument", ("cannot set '%s': %s are immutable: make a new one")
      :format(tostring(key), what))
  end
  local function step(self, key)
    local next_key, x = next(rawget(self, RAW), key)
    return next_key, view_of(x, part)
  end
  for _, meta in ipairs { class, part } do
    meta.__newindex = refuse
    function meta:__pairs() return step, self, nil end
    function meta:__len() return #rawget(self, RAW) end
  end
  function part:__index(key) return view_of(rawget(self, RAW)[key], part) end
  function class:__index(key)
    local method = class[key]
    if method ~= nil then return method end
    return view_of(rawget(self, RAW)[key], part)
  end
  return function(data) return setmetatable({ [RAW] = data }, class) end,
    function(x) return view_of(x, part) end
end

return readonly
