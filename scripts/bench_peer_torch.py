# SPDX-License-Identifier: MIT
"""Times what PyTorch's compiler does between its graph of loop nests and code: kernels planned by
its scheduling for tiled kernels, on the CPU.  Prints figures as KEY=MICROSECONDS, one a line, and
writes the graphs themselves to the file it is given, in the format of g_graphs (spec/golden/simd),
so that einloom plans the same ones in the same run.  Run by scripts/bench kernels --peer."""
import contextlib
import json
import os
import statistics
import sys
import time

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"

import sympy
import torch
from sympy.core.cache import clear_cache
from sympy.printing.str import StrPrinter
from torch._inductor import config, dependencies, ir, scheduler, tiling_utils
from torch._inductor import utils as inductor_utils
from torch._inductor.codegen.simd import DisableReduction, EnableReduction
from torch._inductor.codegen.simd_kernel_features import SIMDKernelFeatures
from torch._inductor.codegen.triton import TritonKernel, TritonScheduling
from torch._inductor.loop_body import MemoryUsageType
from torch._inductor.virtualized import V
from torch.utils._sympy.functions import FloorDiv

config.cpu_backend = "triton"
config.compile_threads = 1
config.reorder_for_peak_memory = False

# Private in later versions.
ANALYZE = getattr(tiling_utils, "analyze_memory_coalescing",
                  getattr(tiling_utils, "_analyze_memory_coalescing", None))

REPEATS = 7  # of a kernel
MANY = 31  # of questions about one index or nest
F = torch.nn.functional


class Planned(BaseException):
    """Thrown where code would be made."""


# ---- the graphs ---------------------------------------------------------------------------------

def draw(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


def graphs():
    """(name, function, arguments)"""
    def twice(f, *shape):
        return [draw(*shape), draw(*shape)]
    yield "softmax", lambda a: torch.softmax(a, 1), [draw(96, 1027)]
    yield "transposed", lambda a, b: a + b.t(), [draw(256, 384), draw(384, 256)]
    yield "layer_norm", lambda a: F.layer_norm(a, (384,)), [draw(64, 384)]
    yield "rms_norm", lambda a, w: a * torch.rsqrt((a * a).mean(-1, keepdim=True) + 1e-6) * w, \
        [draw(64, 320), draw(320)]
    yield "gelu", lambda a, b: F.gelu(a + b), [draw(128, 256), draw(256)]
    yield "permuted", lambda a: a.permute(2, 0, 1).contiguous() * 2, [draw(24, 32, 48)]
    yield "columns", lambda a: a.sum(0), [draw(200, 96)]
    yield "middle", lambda a: (a * 2).sum(1) + 1, [draw(12, 20, 32)]
    yield "windows", lambda a: F.max_pool2d(a, 2), [draw(4, 8, 32, 32)]
    yield "joined", lambda a, b: torch.cat([a, b], 1) * 2, [draw(32, 16), draw(32, 48)]
    yield "halves", lambda a: a[:, :64] * torch.sigmoid(a[:, 64:]), [draw(48, 128)]
    yield "gathered", lambda a, i: a[i] + 1, [draw(100, 64), torch.randint(0, 100, (40,))]
    yield "variance", lambda a: torch.var_mean(a, 1), [draw(40, 500)]
    yield "three", lambda a, b: a + b.permute(2, 1, 0), [draw(16, 24, 40), draw(40, 24, 16)]
    yield "entropy", lambda a: -(torch.softmax(a, 1) * torch.log_softmax(a, 1)).sum(1), \
        [draw(32, 200)]
    yield "mixed", lambda a: (a.float() * 3).to(torch.bfloat16), [draw(64, 72, dtype=torch.bfloat16)]
    yield "rolled", lambda a: a.roll(3, 1) + a, [draw(36, 52)]
    yield "upsampled", lambda a: F.interpolate(a, scale_factor=2), [draw(2, 4, 16, 16)]
    yield "running", lambda a: torch.relu(a).reshape(-1, 12).sum(1), [draw(24, 60)]


# ---- writing them -------------------------------------------------------------------------------

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
          torch.int64: "i64", torch.int32: "i32", torch.int8: "i8", torch.bool: "bool"}


class Printer(StrPrinter):
    """Expressions as einloom reads them."""
    NAMES = {"FloorDiv": "fdiv", "ModularIndexing": "modidx", "PythonMod": "pmod", "Mod": "mod",
             "Identity": "opaque", "Max": "max", "Min": "min"}

    def _print(self, e, **options):
        name = self.NAMES.get(type(e).__name__)
        if name:
            return f"{name}({', '.join(self._print(a) for a in e.args)})"
        return super()._print(e, **options)


def text(e):
    return Printer().doprint(sympy.sympify(e)).replace("**", "^")


def buffer(name):
    known = V.graph.graph_inputs.get(name) or V.graph.get_buffer(name)
    layout = known.get_layout()
    return {"size": [text(s) for s in layout.size], "stride": [text(s) for s in layout.stride],
            "offset": text(layout.offset), "dtype": DTYPES[layout.dtype],
            "itemsize": layout.dtype.itemsize}


def accesses(node, kinds):
    body = node._body
    found = {(m.buffer_name, text(body.indexing_exprs[m.index_name])): None
             for kind in kinds for m in body.memory_usage[kind]}
    return [{"buf": name, "index": index} for name, index in found]


def kind_of(node):
    data = node.node.data
    if isinstance(data, ir.Scan):
        return "scan"
    if isinstance(data, ir.Scatter):
        return "scatter"
    if isinstance(data, ir.Reduction):
        return "reduction:" + data.reduction_type
    return "pointwise"


def whole(dep):
    if isinstance(dep, dependencies.StarDep):
        return {"kind": "whole", "buf": dep.name}
    if isinstance(dep, dependencies.WeakDep):
        return {"kind": "order", "buf": dep.name}
    return {"kind": "index", "buf": dep.name, "index": text(dep.index)}


def written(node):
    """The node of a graph as a record."""
    if not isinstance(node, scheduler.SchedulerNode):
        return {"name": node.get_name(), "kind": "nop",
                "reads": [whole(d) for d in node.read_writes.reads],
                "writes": [d.name for d in node.read_writes.writes]}
    body = node._body
    loops = [[[str(v), text(s)] for v, s in zip(variables, sizes)]
             for variables, sizes in zip(body.vars, body.sizes)]
    usage = MemoryUsageType
    record = {"name": node.get_name(), "kind": kind_of(node), "pointwise": loops[0],
              "reduction": loops[1], "reads": accesses(node, [usage.LOAD]),
              "writes": accesses(node, [usage.STORE, usage.STORE_REDUCTION])}
    mutated = [m for o in node.get_outputs() for m in o.get_mutations()]
    return record | ({"mutates": mutated} if mutated else {})


def case(title, nodes):
    own = [o.get_name() for n in nodes for o in n.get_outputs()]
    inputs = [n for n, v in V.graph.graph_inputs.items() if hasattr(v, "get_layout")]
    return {"title": title, "inputs": {n: buffer(n) for n in inputs},
            "buffers": {n: buffer(n) for n in own}, "outputs": list(V.graph.get_output_names()),
            "nodes": [written(n) for n in nodes]}


# ---- timing -------------------------------------------------------------------------------------

def forget():
    """Empties the caches of the compiler and of its algebra."""
    clear_cache()
    inductor_utils.clear_caches()


def time_of(work):
    start = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - start) / 1e3


class Clock:
    """Times by key."""
    def __init__(self):
        self.times = {}

    def add(self, key, us):
        self.times.setdefault(key, []).append(us)

    def report(self):
        for key, times in self.times.items():
            print(f"{key}={statistics.median(times):.2f}")


def reached(schedule, kernel):
    """The nodes of a schedule, each in the state of the kernel that it is in."""
    stack = contextlib.ExitStack()
    for node in schedule:
        if node is DisableReduction:
            stack.enter_context(kernel.disable_reduction())
        elif node is EnableReduction:
            stack.close()
        else:
            yield node


def plan(backend, nodes, extent, reduction):
    """Order, tiling, ranges, every address in the kernel's variables, width and hint: no code."""
    schedule = backend.generate_node_schedule(nodes, extent, reduction)
    features = SIMDKernelFeatures(schedule, extent, reduction)
    tiling = TritonScheduling.get_tiling_and_scores(schedule, extent, reduction, None)[0]
    kernel = TritonKernel(tiling, features=features)
    with kernel:
        for node in reached(schedule, kernel):
            variables = kernel.split_and_set_ranges(node.get_ranges())
            for index in dict.fromkeys(node._body.indexing_from_args(variables).values()):
                kernel.simplify_indexing(index)
    features.select_index_dtype()
    features.get_reduction_hint()
    return features


def time_kernel(clock, title, backend, group):
    nodes = list(group.get_nodes())
    if not all(isinstance(n, scheduler.SchedulerNode) for n in nodes):
        return
    extent, reduction = max(nodes, key=lambda n: int(n.is_reduction())).group[1]
    first, again, counted, choice, analysis = [], [], [], [], []
    for _ in range(REPEATS):
        forget()
        first.append(time_of(lambda: plan(backend, nodes, extent, reduction)))
        again.append(time_of(lambda: plan(backend, nodes, extent, reduction)))
        counted.append(time_of(lambda: plan(backend, nodes, extent, reduction).memory_stats()))
        schedule = backend.generate_node_schedule(nodes, extent, reduction)
        forget()
        choice.append(time_of(lambda: TritonScheduling.get_tiling_and_scores(
            schedule, extent, reduction, None)))
        forget()
        analysis.append(time_of(lambda: ANALYZE(group)))
    keys = {"first": first, "again": again, "counted": counted, "choices": choice, "analyses": analysis}
    if title == "softmax":
        keys["softmax"] = first
    if title == "transposed":
        keys |= {"tiling": choice, "coalescing": analysis}
    for key, times in keys.items():
        clock.add(key, statistics.median(times))


def time_ranges(clock):
    """Two loops of two pieces on a kernel, and an index of three variables, one of them divided.
    Sizes are new each time; the caches keep what they have, which is the peer's better case."""
    for i in range(MANY):
        a, b = sympy.Integer(8 + i), sympy.Integer(64 + i)
        lengths = [[a, sympy.Integer(4)], [b, sympy.Integer(2)]]
        clock.add("splitting", time_of(
            lambda: TritonKernel._split_iteration_ranges([4 * a, 2 * b], lengths)))
        tiling = {"x": 4 * a, "r0_": 2 * b}
        features = SIMDKernelFeatures([], 4 * a, 2 * b)
        kernel = TritonKernel(tiling, features=features)
        with kernel:
            x, y, z = [v for group in kernel.split_and_set_ranges(lengths) for v in group][:3]
            index = 8 * b * x + b * y + FloorDiv(z, 4)
            clock.add("simplifying", time_of(lambda: kernel.simplify_indexing(index)))


# ---- the run ------------------------------------------------------------------------------------

def main(path):
    clock, cases, now = Clock(), [], {}
    fuse = scheduler.Scheduler.fuse_nodes

    def before_fusing(self, nodes):
        now["case"] = case(now["title"], nodes)
        return fuse(self, nodes)

    def instead_of_code(self):
        backend = self.get_backend(torch.device("cpu"))
        cases.append(now["case"])
        with V.graph.set_current_device(torch.device("cpu")):
            for group in self.nodes:
                self.current_node = group
                time_kernel(clock, now["title"], backend, group)
            if now["title"] == "transposed":
                time_ranges(clock)
        raise Planned()

    scheduler.Scheduler.fuse_nodes = before_fusing
    scheduler.Scheduler.codegen = instead_of_code
    for title, function, arguments in graphs():
        now["title"] = title
        torch._dynamo.reset()
        try:
            with torch.no_grad():
                torch.compile(function, fullgraph=True, dynamic=False)(*arguments)
        except Planned:
            pass
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema": "simd/1", "family": "g_graphs", "cases": cases}, file)
    clock.report()


if __name__ == "__main__":
    main(sys.argv[1])
