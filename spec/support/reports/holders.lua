-- SPDX-License-Identifier: MIT
-- Reports (support/reports.lua) on who holds what: loops of one step, orders inside a list, outputs
-- that bypass a memory.

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
}
