-- SPDX-License-Identifier: MIT
-- Shards of a search as jobs: under GNU parallel, and as a job array of a Slurm of this machine
-- alone, with one job killed on the way. What is not installed here is left pending.

local files = require "support.files"
local program = require "support.program"
local store = require "einloom.store"

local workload = [[
local loom = require "einloom"
return loom.workload {
  sizes = { m = 16, k = 12, n = 8, p = 10 }, bits = 8,
  "T[m,n] = A[m,k] * B[k,n]", "Z[m,p] = T[m,n] * C[n,p]",
}]]

local arch = [[
local loom = require "einloom"
local function access(energy) return { energy = energy, throughput = 3 } end
return loom.arch {
  loom.memory { "Main", size = math.huge, read = access(200), write = access(200),
    keep = "~Intermediates", may_keep = "All" },
  loom.memory { "Glb", size = 800, read = access(6), write = access(6), keep = "~Main",
    may_keep = "All" },
  loom.compute { "MAC", energy = 1, throughput = 1 },
}]]

-- A script that runs first: the job of shard 2, when it runs for the first time, notes its process
-- after its second unit and waits to be killed.
local trap = [[
local store, n = require "einloom.store", 0
if os.getenv "SLURM_ARRAY_TASK_ID" ~= "2" or io.open "killed" then return end
local prepared = store.open
function store.open(...)
  local kept = prepared(...)
  local keep = kept.keep
  function kept:keep(...)
    keep(self, ...)
    n = n + 1
    if n < 2 then return end
    local file = assert(io.open("killed", "w"))
    file:write(io.open "/proc/self/stat":read "a":match "^%d+")
    file:close()
    os.execute "sleep 60"
  end
  return kept
end]]

local function shell(line)
  local pipe = assert(io.popen(("bash -c %s 2>&1"):format(files.quoted(line))))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return status, text
end

-- The path of a file wherever a shell is.
local function whole_path(path) return select(2, shell("readlink -f " .. path)):match "[^\n]+" end

local einloom = whole_path(program.path())

local function without_time(text) return (text:gsub("^%-%- [^\n]* candidates in [^\n]*\n", "")) end

-- Calls use(folder, answer) with a folder that has the search in it, and its answer.
local function with_search(use)
  local _, folder = shell "mktemp -d"
  folder = folder:match "%S+"
  files.write(folder .. "/w.lua", workload)
  files.write(folder .. "/a.lua", arch)
  files.write(folder .. "/trap.lua", trap)
  local ok, problem = pcall(function()
    local status, answer = shell(("cd '%s' && '%s' map w.lua a.lua --pareto energy,latency"):format(
      folder, einloom))
    assert.are.equal(0, status, answer)
    use(folder, without_time(answer))
  end)
  shell(("rm -rf '%s'"):format(folder))
  if not ok then error(problem, 0) end
end

describe("shards", function()
  it("run under GNU parallel", function()
    if not select(2, shell "parallel --version"):find "^GNU parallel" then
      return pending "GNU parallel is not installed"
    end
    with_search(function(folder, answer)
      local status, text = shell(([[
        cd '%s' && parallel --will-cite -j 2 "'%s' map w.lua a.lua --pareto energy,latency" \
          --shard {}/4 --store part-{}.db ::: 1 2 3 4 >log && '%s' merge part-*.db]]):format(folder,
        einloom, einloom))
      assert.are.equal(0, status, text)
      assert.are.equal(answer, without_time(text))
    end)
  end)
end)

-- ---- Slurm ----------------------------------------------------------------------------------

local slurm = whole_path(files.path "support/slurm")

-- Runs a line with a Slurm in a folder; then ends it.
local function with_slurm(folder, use)
  local home = folder .. "/slurm"
  local status, text = shell(("'%s' start '%s' 2"):format(slurm, home))
  if status == 3 then return false end
  local ok, problem = pcall(function()
    assert.are.equal(0, status, text)
    use(("export SLURM_CONF='%s/slurm.conf'; cd '%s' && "):format(home, folder))
  end)
  shell(("'%s' stop '%s'"):format(slurm, home))
  if not ok then error(problem, 0) end
  return true
end

-- Waits until check() gives something; at most so many seconds.
local function wait_for(seconds, what, check)
  local last = os.time() + seconds
  while true do
    local answer = check()
    if answer then return answer end
    assert.is_true(os.time() < last, "waited too long for " .. what)
    shell "sleep 0.1"
  end
end

describe("a job array under Slurm", function()
  it("gives the answer of the whole search, one job killed on the way", function()
    local script = whole_path(files.root "scripts/einloom.sbatch")
    with_search(function(folder, answer)
      local there = with_slurm(folder, function(before)
        local status, numbers = shell(before .. ("EINLOOM='%s' '%s' 4 map w.lua a.lua --pareto "
          .. "energy,latency --with trap.lua"):format(einloom, script))
        local array, merging = numbers:match "^(%d+) (%d+)\n$"
        assert.is_true(status == 0 and merging ~= nil, numbers)
        local pid = wait_for(30, "the job to kill", function()
          return files.exists(folder .. "/killed") and files.read(folder .. "/killed"):match "%d+"
        end)
        assert.are.equal(0, (shell("kill -9 " .. pid)))
        local state = wait_for(60, "the end of the jobs", function()
          local _, text = shell(before .. "scontrol show job " .. merging)
          local found = text:match "JobState=(%S+)"
          return found ~= "PENDING" and found ~= "RUNNING" and found ~= "COMPLETING" and found
        end)
        local log = select(2, shell(("cd '%s' && tail -n 20 *.out"):format(folder)))
        assert.are.equal("COMPLETED", state, log)
        assert.are.equal(answer, without_time(files.read(
          ("%s/einloom-%s.out"):format(folder, merging))))
        local kept <close> = store.read(folder .. "/part-2.db")
        assert.are.same({ "done", 2 }, { kept:ended() })
        assert.matches("Restarts=1", select(2, shell(before .. ("scontrol show job %s_2"):format(
          array))), 1, true)
      end)
      if not there then pending "Slurm is not installed" end
    end)
  end)
end)
