-- SPDX-License-Identifier: MIT
-- Runs the shell examples of README.md and doc/manual.md, in order, in a folder that has the
-- scripts which the documents show: every line has to succeed.

local documents = require "support.documents"
local files = require "support.files"
local program = require "support.program"

local function shell(line)
  local pipe = assert(io.popen(("bash -c %s 2>&1"):format(files.quoted(line))))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return status, text
end

local function has_parallel() return shell "parallel --version | grep -q '^GNU'" == 0 end

-- Runs the blocks; the program is found as `einloom` and as `scripts/einloom`.
local function run_blocks(path, name_of)
  local _, folder = shell "mktemp -d"
  folder = folder:match "%S+"
  local _, einloom = shell("readlink -f " .. program.path())
  einloom = einloom:match "[^\n]+"
  assert.are.equal(0, (shell(("mkdir '%s/scripts' && ln -s '%s' '%s/scripts/einloom'"):format(
    folder, einloom, folder))))
  local n, problem = 0, nil
  for _, block in ipairs(documents.blocks(path)) do
    local name = block.language == "lua" and name_of(block.text)
    if name then files.write(folder .. "/" .. name, block.text) end
    local needed = block.language == "sh" and (not block.text:find "^parallel" or has_parallel())
    if needed and not problem then
      n = n + 1
      local status, text = shell(("set -e -o pipefail; cd '%s'; export PATH='%s/scripts':$PATH\n%s")
        :format(folder, folder, block.text))
      if status ~= 0 then problem = ("%s line %d: %s"):format(path, block.line, text) end
    end
  end
  shell(("rm -r '%s'"):format(folder))
  assert.is_nil(problem)
  return n
end

describe("shell examples", function()
  it("of the manual run", function()
    local n = run_blocks("doc/manual.md", function(text) return text:match "^%-%- (%w+%.lua)\n" end)
    assert.is_true(n >= 5)
  end)

  it("of the README run", function()
    local first = true
    local n = run_blocks("README.md", function()
      local name = first and "first.lua" or nil
      first = false
      return name
    end)
    assert.is_true(n >= 1)
  end)
end)
