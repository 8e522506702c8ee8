-- SPDX-License-Identifier: MIT
-- Loop nests counted point by point, from reports about other tools: what is known to be right of
-- uneven tiles, windows, strides, constants and parallel units. Of each buffet (moves): values read
-- from the holder above, values delivered to all instances (-: not said), values written to it; net
-- of first reads.

return {
  {
    id = "AF_repeated_unit_tiles",
    about = "Two tile-1 loops over the same rank",
    source = "Accelergy-Project/accelforge commit 68c49c6d",
    workload = { sizes = { m = 4, k = 2, n = 2 }, bits = 1, "Z[m, n] = A[m, k] * B[k, n]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "twice",
        mapping = [[
Main: A B Z
for m
  Glb: A B
  for m
    Glb: Z
    for m, k, n
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 16, steps = 16, instances = 1,
            moves = [[
Glb.A 8 8 0, Glb.B 16 16 0, Glb.Z 0 0 8
Compute.A 16 - 0, Compute.B 16 - 0, Compute.Z 8 - 16
]],
            tiles = [[
Main.A 8, Main.B 4, Main.Z 8
Glb.A 2, Glb.B 4, Glb.Z 2
]],
          },
        },
      },
      {
        name = "once",
        mapping = [[
Main: A B Z
for m
  Glb: A B
  Glb: Z
  for k, n
    MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 16, steps = 16, instances = 1,
            moves = [[
Glb.A 8 8 0, Glb.B 16 16 0, Glb.Z 0 0 8
Compute.A 16 - 0, Compute.B 16 - 0, Compute.Z 8 - 16
]],
            tiles = [[
Main.A 8, Main.B 4, Main.Z 8
Glb.A 2, Glb.B 4, Glb.Z 2
]],
          },
        },
      },
    },
  },
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
    id = "N05_imperfect_reduction_accumulate",
    about = "Uneven outer reduction tile: accumulations exceed the number of multiplications",
    workload = { sizes = { m = 4, k = 4, n = 4 }, bits = 1, "Z[m, n] = A[m, k] * B[k, n]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "k_tile_3",
        mapping = [[
Main: A B Z
for k tile 3
  Glb: A B Z
  for m, k, n
    MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 64, steps = 64, instances = 1,
            moves = [[
Glb.A 16 16 0, Glb.B 16 16 0, Glb.Z 16 16 32
Compute.A 64 - 0, Compute.B 64 - 0, Compute.Z 48 - 64
]],
            tiles = [[
Main.A 16, Main.B 16, Main.Z 16
Glb.A 12, Glb.B 12, Glb.Z 16
]],
          },
        },
      },
      {
        name = "k_tile_2",
        mapping = [[
Main: A B Z
for k tile 2
  Glb: A B Z
  for m, k, n
    MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 64, steps = 64, instances = 1,
            moves = [[
Glb.A 16 16 0, Glb.B 16 16 0, Glb.Z 16 16 32
Compute.A 64 - 0, Compute.B 64 - 0, Compute.Z 48 - 64
]],
            tiles = [[
Main.A 16, Main.B 16, Main.Z 16
Glb.A 8, Glb.B 8, Glb.Z 16
]],
          },
        },
      },
    },
  },
  {
    id = "N06_nested_uneven_tiles",
    about = "Two nested uneven tiles of one rank",
    workload = { sizes = { m = 10, k = 2, n = 2 }, bits = 1, "Z[m, n] = A[m, k] * B[k, n]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "4_then_3",
        mapping = [[
Main: A B Z
for m tile 4
  Glb: A
  for m tile 3
    Glb: B
    Glb: Z
    for m, k, n
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 40, steps = 40, instances = 1,
            moves = [[
Glb.A 20 20 0, Glb.B 20 20 0, Glb.Z 0 0 20
Compute.A 40 - 0, Compute.B 40 - 0, Compute.Z 20 - 40
]],
            tiles = [[
Main.A 20, Main.B 4, Main.Z 20
Glb.A 8, Glb.B 4, Glb.Z 6
]],
          },
        },
      },
      {
        name = "5_then_2",
        mapping = [[
Main: A B Z
for m tile 5
  Glb: A
  for m tile 2
    Glb: B
    Glb: Z
    for m, k, n
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 40, steps = 40, instances = 1,
            moves = [[
Glb.A 20 20 0, Glb.B 24 24 0, Glb.Z 0 0 20
Compute.A 40 - 0, Compute.B 40 - 0, Compute.Z 20 - 40
]],
            tiles = [[
Main.A 20, Main.B 4, Main.Z 20
Glb.A 10, Glb.B 4, Glb.Z 4
]],
          },
        },
      },
      {
        name = "6_then_4",
        mapping = [[
Main: A B Z
for m tile 6
  Glb: A
  for m tile 4
    Glb: B
    Glb: Z
    for m, k, n
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 40, steps = 40, instances = 1,
            moves = [[
Glb.A 20 20 0, Glb.B 12 12 0, Glb.Z 0 0 20
Compute.A 40 - 0, Compute.B 40 - 0, Compute.Z 20 - 40
]],
            tiles = [[
Main.A 20, Main.B 4, Main.Z 20
Glb.A 12, Glb.B 4, Glb.Z 8
]],
          },
        },
      },
    },
  },
  {
    id = "N09_tile_larger_than_bound",
    about = "Tile larger than the rank",
    workload = { sizes = { m = 4, k = 2, n = 2 }, bits = 1, "Z[m, n] = A[m, k] * B[k, n]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "m_tile_6",
        mapping = [[
Main: A B Z
for m tile 6
  Glb: A B Z
  for m, k, n
    MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 16, steps = 16, instances = 1,
            moves = [[
Glb.A 8 8 0, Glb.B 4 4 0, Glb.Z 0 0 8
Compute.A 16 - 0, Compute.B 16 - 0, Compute.Z 8 - 16
]],
            tiles = [[
Main.A 8, Main.B 4, Main.Z 8
Glb.A 8, Glb.B 4, Glb.Z 8
]],
          },
        },
      },
    },
  },
  {
    id = "N10_order_inside_one_store_list",
    about = "Order of names inside one storage list",
    workload = { sizes = { p = 12, r = 3 }, bits = 1, "O[p] = I[p + r] * W[r]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "I_W_O",
        mapping = [[
Main: I W O
Glb: I W O
for p tile 4
  for p, r
    MAC
]],
        fewest_live = "Glb.I 2, Glb.W 3, Glb.O 1",
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
      {
        name = "O_W_I",
        mapping = [[
Main: I W O
Glb: O W I
for p tile 4
  for p, r
    MAC
]],
        fewest_live = "Glb.O 1, Glb.W 3, Glb.I 2",
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
    id = "TL153_imperfect_reduction_split",
    about = "Where an uneven reduction factor is split must not change total operand traffic",
    source = "NVlabs/timeloop #153 (DRAM access count with imperfect factorisation)",
    workload = { sizes = { p = 4, c = 14, k = 3 }, bits = 1, "O[p, k] = I[p, c] * W[c, k]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "c_tile_5",
        mapping = [[
Main: I W O
for p tile 2
  for c tile 5
    Glb: I W O
    for p, k, c
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 168, steps = 168, instances = 1,
            moves = [[
Glb.I 56 56 0, Glb.W 84 84 0, Glb.O 24 24 36
Compute.I 168 - 0, Compute.W 168 - 0, Compute.O 156 - 168
]],
            tiles = [[
Main.I 56, Main.W 42, Main.O 12
Glb.I 10, Glb.W 15, Glb.O 6
]],
          },
        },
      },
      {
        name = "c_tile_10",
        mapping = [[
Main: I W O
for p tile 2
  for c tile 10
    Glb: I W O
    for p, k, c
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 168, steps = 168, instances = 1,
            moves = [[
Glb.I 56 56 0, Glb.W 84 84 0, Glb.O 12 12 24
Compute.I 168 - 0, Compute.W 168 - 0, Compute.O 156 - 168
]],
            tiles = [[
Main.I 56, Main.W 42, Main.O 12
Glb.I 20, Glb.W 30, Glb.O 6
]],
          },
        },
      },
      {
        name = "c_tile_7_perfect",
        mapping = [[
Main: I W O
for p tile 2
  for c tile 7
    Glb: I W O
    for p, k, c
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 168, steps = 168, instances = 1,
            moves = [[
Glb.I 56 56 0, Glb.W 84 84 0, Glb.O 12 12 24
Compute.I 168 - 0, Compute.W 168 - 0, Compute.O 156 - 168
]],
            tiles = [[
Main.I 56, Main.W 42, Main.O 12
Glb.I 14, Glb.W 21, Glb.O 6
]],
          },
        },
      },
    },
  },
  {
    id = "TL162_one_rank_on_two_mesh_axes",
    about = "Rank m=16 over a 4x4 array",
    source = "NVlabs/timeloop #162 (split one dimension over both mesh axes)",
    workload = { sizes = { m = 16, k = 2, n = 2 }, bits = 1, "Z[m, n] = A[m, k] * B[k, n]" },
    levels = { "Main", "Glb", { "Reg", X = 4, Y = 4 } },
    variants = {
      {
        name = "m_over_X_and_Y",
        mapping = [[
Main: A B Z
Glb: A B Z
par m tile 4 on Reg.X
  par m on Reg.Y
    Reg: A B Z
    for k, n
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 64, steps = 4, instances = 16,
            moves = [[
Glb.A 32 32 0, Glb.B 4 4 0, Glb.Z 0 0 32
Reg.A 32 32 0, Reg.B 4 64 0, Reg.Z 0 0 32
Compute.A 64 - 0, Compute.B 64 - 0, Compute.Z 32 - 64
]],
            tiles = [[
Main.A 32, Main.B 4, Main.Z 32
Glb.A 32, Glb.B 4, Glb.Z 32
Reg.A 2, Reg.B 4, Reg.Z 2
]],
          },
        },
      },
    },
  },
  {
    id = "TL218_output_bypasses_main",
    about = "Output held on chip only: fills must be 0, never a wrapped unsigned number",
    workload = { sizes = { m = 4, k = 6, n = 2 }, bits = 1, "Z[m, n] = A[m, k] * B[k, n]" },
    levels = { "Main", "Glb" },
    variants = {
      {
        name = "Z_only_in_Glb",
        mapping = [[
Main: A B
Glb: Z
for k tile 3
  Glb: A B
  for m, k, n
    MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 48, steps = 48, instances = 1,
            moves = [[
Glb.A 24 24 0, Glb.B 12 12 0, Glb.Z 0 0 0
Compute.A 48 - 0, Compute.B 48 - 0, Compute.Z 40 - 48
]],
            tiles = [[
Main.A 24, Main.B 12
Glb.A 12, Glb.B 6, Glb.Z 8
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
    id = "TL328_imperfect_spatial_total",
    about = "8 columns on 6 units: total work must not be padded",
    workload = { sizes = { n = 8, k = 3, m = 2 }, bits = 1, "Z[m, n] = A[m, k] * B[k, n]" },
    levels = { "Main", "Glb", { "Reg", X = 6 } },
    variants = {
      {
        name = "six_then_two",
        mapping = [[
Main: A B Z
for n tile 6
  Glb: A B Z
  par n on Reg.X
    Reg: A B Z
    for m, k
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 48, steps = 12, instances = 6,
            moves = [[
Glb.A 12 12 0, Glb.B 24 24 0, Glb.Z 0 0 16
Reg.A 12 48 0, Reg.B 24 24 0, Reg.Z 0 0 16
Compute.A 48 - 0, Compute.B 48 - 0, Compute.Z 32 - 48
]],
            tiles = [[
Main.A 6, Main.B 24, Main.Z 16
Glb.A 6, Glb.B 18, Glb.Z 12
Reg.A 6, Reg.B 3, Reg.Z 2
]],
          },
        },
      },
      {
        name = "four_then_four",
        mapping = [[
Main: A B Z
for n tile 4
  Glb: A B Z
  par n on Reg.X
    Reg: A B Z
    for m, k
      MAC
]],
        counts = {
          {
            lifetime = "scope", computes = 48, steps = 12, instances = 4,
            moves = [[
Glb.A 12 12 0, Glb.B 24 24 0, Glb.Z 0 0 16
Reg.A 12 48 0, Reg.B 24 24 0, Reg.Z 0 0 16
Compute.A 48 - 0, Compute.B 48 - 0, Compute.Z 32 - 48
]],
            tiles = [[
Main.A 6, Main.B 24, Main.Z 16
Glb.A 6, Glb.B 12, Glb.Z 8
Reg.A 6, Reg.B 3, Reg.Z 2
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
