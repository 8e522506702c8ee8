-- SPDX-License-Identifier: MIT
-- The examples print what is stored beside their names; EINLOOM_STORE=1 stores what they print.

local files = require "support.files"

local examples = {
  ["resnet50_conv3"] = { "run", "resnet50_conv3.lua" },
  ["matmul"] = { "eval", "matmul.lua", "--at", "M0=16" },
  ["fused"] = { "eval", "fused.lua", "--at", "M0=8" },
  ["snowcat"] = { "run", "snowcat.lua" },
  ["tour"] = { "run", "tour.lua" },
  ["search_own_strategy"] = { "run", "search/own_strategy.lua" },
  ["search_holes"] = { "run", "search/holes.lua" },
  ["search_buffer_sweep"] = { "run", "search/buffer_sweep.lua" },
  ["search_pareto"] = { "run", "search/pareto.lua" },
  ["kernel_energy"] = { "run", "kernel_energy.lua" },
  ["kernels_histogram"] = { "kernels", "kernels/histogram.lua", "--explain" },
  ["kernels_templates"] = { "kernels", "kernels/templates.lua" },
  ["kernels_softmax"] = { "kernels", "kernels/softmax.lua" },
  ["kernels_layernorm"] = { "kernels", "kernels/layernorm.lua" },
  ["kernels_attention"] = { "kernels", "kernels/attention.lua", "--explain" },
  ["kernels_mlp"] = { "kernels", "kernels/mlp.lua", "--loops" },
  ["kernels_transpose"] = { "kernels", "kernels/transpose.lua" },
}

local function stored(name, out)
  local path = files.path("support/examples/" .. name .. ".txt")
  if os.getenv "EINLOOM_STORE" then
    local file = assert(io.open(path, "wb"))
    file:write(out)
    file:close()
  end
  return files.read(path)
end

describe("example", function()
  for name, arguments in pairs(examples) do
    it(name, function()
      local status, out, err =
        files.command(arguments[1], files.root("examples/" .. arguments[2]),
          table.unpack(arguments, 3))
      assert.are.equal("", err)
      assert.are.equal(0, status)
      for line in out:gmatch "[^\n]*" do assert.is_true(#line <= 100, line) end
      assert.are.equal(stored(name, out), out)
    end)
  end
end)
