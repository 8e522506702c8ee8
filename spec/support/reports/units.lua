-- SPDX-License-Identifier: MIT
-- Reports (support/reports.lua) on loops that run side by side.

return {
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
}
