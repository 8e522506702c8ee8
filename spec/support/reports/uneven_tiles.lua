-- SPDX-License-Identifier: MIT
-- Reports (support/reports.lua) on tiles that do not divide what is around them, at any depth, of
-- reductions too.

return {
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
}
