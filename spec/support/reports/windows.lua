-- SPDX-License-Identifier: MIT
-- Reports (support/reports.lua) on windows: strides, holes, constants, halos of neighbouring units,
-- groups.

return {
  {
    id = "N01_negative_coefficient",
    about = "Index with a negative coefficient (flipped filter)",
    workload = { sizes = { p = 12, r = 3 }, bits = 1, "O[p] = I[p - r + 2] * W[r]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "p_tile_4",
        mapping = [[
Main: I W O
for p tile 4
  Glb: I W O
  for p, r
    MAC
]],
        fewest_live = "Glb.I 3, Glb.W 3, Glb.O 1",
        counts = {
          {
            lifetime = "scope", computes = 36, steps = 36, instances = 1,
            moves = [[
Glb.I 18 18 0, Glb.W 9 9 0, Glb.O 0 0 12
Compute.I 36 - 0, Compute.W 36 - 0, Compute.O 24 - 36
]],
            tiles = [[
Main.I 14, Main.W 3, Main.O 12
Glb.I 6, Glb.W 3, Glb.O 4
]],
          },
        },
      },
      {
        name = "whole",
        mapping = [[
Main: I W O
Glb: I W O
for p, r
  MAC
]],
        fewest_live = "Glb.I 3, Glb.W 3, Glb.O 1",
        counts = {
          {
            lifetime = "scope", computes = 36, steps = 36, instances = 1,
            moves = [[
Glb.I 14 14 0, Glb.W 3 3 0, Glb.O 0 0 12
Compute.I 36 - 0, Compute.W 36 - 0, Compute.O 24 - 36
]],
            tiles = [[
Main.I 14, Main.W 3, Main.O 12
Glb.I 14, Glb.W 3, Glb.O 12
]],
          },
        },
      },
    },
  },
  {
    id = "N03_strided_holes",
    about = "Stride larger than the filter tile leaves holes",
    workload = { sizes = { p = 4, r = 4, c = 2 }, bits = 1, "O[p] = I[2*p + r, c] * W[r, c]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "r_outer",
        mapping = [[
Main: I W O
for r
  Glb: I W O
  for p, c
    MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 32, steps = 32, instances = 1,
            moves = [[
Glb.I 32 32 0, Glb.W 8 8 0, Glb.O 12 12 16
Compute.I 32 - 0, Compute.W 32 - 0, Compute.O 28 - 32
]],
            tiles = [[
Main.I 20, Main.W 8, Main.O 4
Glb.I 8, Glb.W 2, Glb.O 4
]],
          },
        },
      },
      {
        name = "p_outer",
        mapping = [[
Main: I W O
for p tile 2
  Glb: I W O
  for p, r, c
    MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 32, steps = 32, instances = 1,
            moves = [[
Glb.I 24 24 0, Glb.W 16 16 0, Glb.O 0 0 4
Compute.I 32 - 0, Compute.W 32 - 0, Compute.O 28 - 32
]],
            tiles = [[
Main.I 20, Main.W 8, Main.O 4
Glb.I 12, Glb.W 8, Glb.O 2
]],
          },
        },
      },
      {
        name = "both_outer",
        mapping = [[
Main: I W O
for r
  for p tile 2
    Glb: I W O
    for p, c
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 32, steps = 32, instances = 1,
            moves = [[
Glb.I 32 32 0, Glb.W 16 16 0, Glb.O 12 12 16
Compute.I 32 - 0, Compute.W 32 - 0, Compute.O 28 - 32
]],
            tiles = [[
Main.I 20, Main.W 8, Main.O 4
Glb.I 4, Glb.W 2, Glb.O 2
]],
          },
        },
      },
    },
  },
  {
    id = "N12_halo_multicast",
    about = "Neighbouring units share window elements",
    workload = { sizes = { p = 8, r = 3 }, bits = 1, "O[p] = I[p + r] * W[r]" },
    levels = { "Main", "Glb", { "Reg", X = 4 } },
    variants = {
      {
        name = "p_over_X",
        mapping = [[
Main: I W O
Glb: I W O
par p tile 2 on Reg.X
  Reg: I W O
  for p, r
    MAC
]],
        counts = {
          {
            lifetime = "scope", multicast = true, computes = 24, steps = 6, instances = 4,
            moves = [[
Glb.I 10 10 0, Glb.W 3 3 0, Glb.O 0 0 8
Reg.I 10 16 0, Reg.W 3 12 0, Reg.O 0 0 8
Compute.I 24 - 0, Compute.W 24 - 0, Compute.O 16 - 24
]],
            tiles = [[
Main.I 10, Main.W 3, Main.O 8
Glb.I 10, Glb.W 3, Glb.O 8
Reg.I 4, Reg.W 3, Reg.O 2
]],
          },
          {
            lifetime = "scope", multicast = false, computes = 24, steps = 6, instances = 4,
            moves = [[
Glb.I 10 10 0, Glb.W 3 3 0, Glb.O 0 0 8
Reg.I 16 16 0, Reg.W 12 12 0, Reg.O 0 0 8
Compute.I 24 - 0, Compute.W 24 - 0, Compute.O 16 - 24
]],
            tiles = [[
Main.I 10, Main.W 3, Main.O 8
Glb.I 10, Glb.W 3, Glb.O 8
Reg.I 4, Reg.W 3, Reg.O 2
]],
          },
        },
      },
      {
        name = "r_over_X",
        mapping = [[
Main: I W O
Glb: I W O
par r on Reg.X
  Reg: I W O
  for p
    MAC
]],
        counts = {
          {
            lifetime = "scope", multicast = true, computes = 24, steps = 8, instances = 3,
            moves = [[
Glb.I 10 10 0, Glb.W 3 3 0, Glb.O 0 0 8
Reg.I 10 24 0, Reg.W 3 3 0, Reg.O 0 0 8
Compute.I 24 - 0, Compute.W 24 - 0, Compute.O 0 - 24
]],
            tiles = [[
Main.I 10, Main.W 3, Main.O 8
Glb.I 10, Glb.W 3, Glb.O 8
Reg.I 8, Reg.W 1, Reg.O 8
]],
          },
          {
            lifetime = "scope", multicast = false, computes = 24, steps = 8, instances = 3,
            moves = [[
Glb.I 10 10 0, Glb.W 3 3 0, Glb.O 0 0 8
Reg.I 24 24 0, Reg.W 3 3 0, Reg.O 0 0 24
Compute.I 24 - 0, Compute.W 24 - 0, Compute.O 0 - 24
]],
            tiles = [[
Main.I 10, Main.W 3, Main.O 8
Glb.I 10, Glb.W 3, Glb.O 8
Reg.I 8, Reg.W 1, Reg.O 8
]],
          },
        },
      },
    },
  },
  {
    id = "TL295_halo_delta",
    about = "1-D convolution, input kept across the filter loop",
    source = "NVlabs/timeloop #295 (ISPASS exercise input access mismatch)",
    workload = { sizes = { p = 10, k = 3, r = 4 }, bits = 1, "O[k, p] = I[p + r] * W[k, r]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "input_above_k",
        mapping = [[
Main: I W O
for p
  Glb: I
  for k
    Glb: W
    Glb: O
    for r
      MAC
]],
        fewest_live = "Glb.I 4, Glb.W 1, Glb.O 1",
        counts = {
          {
            lifetime = "scope", computes = 120, steps = 120, instances = 1,
            moves = [[
Glb.I 40 40 0, Glb.W 120 120 0, Glb.O 0 0 30
Compute.I 120 - 0, Compute.W 120 - 0, Compute.O 90 - 120
]],
            tiles = [[
Main.I 13, Main.W 12, Main.O 30
Glb.I 4, Glb.W 4, Glb.O 1
]],
          },
          {
            lifetime = "retain", computes = 120, steps = 120, instances = 1,
            moves = [[
Glb.I 13 13 0, Glb.W 120 120 0
]],
            tiles = [[
Main.I 13, Main.W 12, Main.O 30
Glb.I 4, Glb.W 4, Glb.O 1
]],
          },
        },
      },
      {
        name = "input_below_k",
        mapping = [[
Main: I W O
for p, k
  Glb: I W O
  for r
    MAC
]],
        fewest_live = "Glb.I 1, Glb.W 1, Glb.O 1",
        counts = {
          {
            lifetime = "scope", computes = 120, steps = 120, instances = 1,
            moves = [[
Glb.I 120 120 0, Glb.W 120 120 0, Glb.O 0 0 30
Compute.I 120 - 0, Compute.W 120 - 0, Compute.O 90 - 120
]],
            tiles = [[
Main.I 13, Main.W 12, Main.O 30
Glb.I 4, Glb.W 4, Glb.O 1
]],
          },
          {
            lifetime = "retain", computes = 120, steps = 120, instances = 1,
            moves = [[
Glb.I 13 13 0, Glb.W 120 120 0
]],
            tiles = [[
Main.I 13, Main.W 12, Main.O 30
Glb.I 4, Glb.W 4, Glb.O 1
]],
          },
        },
      },
      {
        name = "input_above_p",
        mapping = [[
Main: I W O
Glb: I
for p, k
  Glb: W
  Glb: O
  for r
    MAC
]],
        fewest_live = "Glb.I 4, Glb.W 1, Glb.O 1",
        counts = {
          {
            lifetime = "scope", computes = 120, steps = 120, instances = 1,
            moves = [[
Glb.I 13 13 0, Glb.W 120 120 0, Glb.O 0 0 30
Compute.I 120 - 0, Compute.W 120 - 0, Compute.O 90 - 120
]],
            tiles = [[
Main.I 13, Main.W 12, Main.O 30
Glb.I 13, Glb.W 4, Glb.O 1
]],
          },
          {
            lifetime = "retain", computes = 120, steps = 120, instances = 1,
            moves = [[
Glb.I 13 13 0, Glb.W 120 120 0
]],
            tiles = [[
Main.I 13, Main.W 12, Main.O 30
Glb.I 13, Glb.W 4, Glb.O 1
]],
          },
        },
      },
    },
  },
  {
    id = "TL56_grouped_convolution",
    about = "Grouped convolution as one einsum",
    workload = { sizes = { g = 2, k = 3, c = 2, p = 4, r = 2 }, bits = 1,
      "O[g, k, p] = I[g, c, p + r] * W[g, k, c, r]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "g_k_outer",
        mapping = [[
Main: I W O
for g, k
  Glb: I W O
  for c, p, r
    MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 96, steps = 96, instances = 1,
            moves = [[
Glb.I 60 60 0, Glb.W 24 24 0, Glb.O 0 0 24
Compute.I 96 - 0, Compute.W 96 - 0, Compute.O 72 - 96
]],
            tiles = [[
Main.I 20, Main.W 24, Main.O 24
Glb.I 10, Glb.W 4, Glb.O 4
]],
          },
        },
      },
      {
        name = "input_kept_over_k",
        mapping = [[
Main: I W O
for g
  Glb: I
  for k
    Glb: W
    Glb: O
    for c, p, r
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 96, steps = 96, instances = 1,
            moves = [[
Glb.I 20 20 0, Glb.W 24 24 0, Glb.O 0 0 24
Compute.I 96 - 0, Compute.W 96 - 0, Compute.O 72 - 96
]],
            tiles = [[
Main.I 20, Main.W 24, Main.O 24
Glb.I 10, Glb.W 4, Glb.O 4
]],
          },
        },
      },
    },
  },
}
