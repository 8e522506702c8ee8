#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Searches recorded cases (spec/golden/search/README.md) with AccelForge, in one process, and says
what each took: a line of JSON per case, for scripts/bench map --peer.

Usage: bench_peer_accelforge.py CASES.json ID...    (run by a Python that has accelforge)

What a case says for each einsum on its own (what is held, what loops may be spread, widths, which
unit computes) becomes renames of that einsum, so that one architecture serves all of them.  A case
that uses what is not translated here is refused, with the reason.
"""
import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import json
import sys
import time
import warnings

OBJECTIVES = {
    "energy": "ENERGY",
    "latency": "LATENCY",
    "energy_delay_product": "ENERGY_DELAY_PRODUCT",
}
TIMES = {
    "sum_of_actions": "sum(a.n_calls / a.throughput for a in actions)",
    "max_of_actions": "max(a.n_calls / a.throughput for a in actions)",
}
DIRECTIONS = {"up": "up", "down": "down", "both": "up_and_down"}
TOLERANCE = 1e-4


class Refused(Exception):
    """A case that cannot be put to the peer."""


def known(given, *names):
    for key in given:
        if key not in names:
            raise Refused(f"{key} is not translated")


def number(x):
    return float("inf") if x == "inf" else x


def set_of(tensors):
    return " | ".join(tensors) if tensors else "Nothing"


class Renames:
    """Sets of tensors by einsum, under names that the architecture can use."""

    def __init__(self, einsums):
        self.by_einsum = {name: {} for name in einsums}

    def add(self, name, by_einsum):
        for einsum, sets in self.by_einsum.items():
            sets[name] = set_of(by_einsum.get(einsum, []))
        return name


def same(values, what):
    """The one value that all einsums have."""
    first = next(iter(values))
    if any(value != first for value in values):
        raise Refused(f"{what} differs by einsum")
    return first


def dimension(level, dim, place, paths, copies, renames):
    given = {}
    for path in paths:
        for own in path["fanout"].get(level["name"], []):
            if own["dim"] == dim["dim"]:
                known(own, "dim", "count", "loops_must_reuse", "multicast_tensors",
                      "min_fraction_used", "loop_bounds")
                given[path["einsum"]] = own
    name = f"{place}_{dim['dim']}"
    shares = [d["min_fraction_used"] for e, d in given.items() if e not in copies]
    counts = [d["count"] for d in given.values()] + [dim["count"]]
    bounds = [d.get("loop_bounds", []) for d in given.values()] or [[]]
    return {
        "name": dim["dim"],
        "fanout": same(counts, "a count of instances"),
        "min_usage": same(shares, "a share of instances") if shares else 0,
        "reuse": renames.add(
            f"loops_{name}", {e: d["loops_must_reuse"] for e, d in given.items()}),
        "may_reuse": renames.add(
            f"cast_{name}", {e: d["multicast_tensors"] for e, d in given.items()}),
        "loop_bounds": [
            {"expression": " | ".join(b["variables"]), "operator": b["op"], "value": b["value"]}
            for b in same(bounds, "a bound of loops")],
    }


def widths(level, place, paths, renames):
    """Set of tensors to bits per value, where they differ from the workload's."""
    sets = {}
    for path in paths:
        own = path.get("overrides", {}).get(level["name"], {})
        known(own, "bits_per_value")
        tensors = own.get("bits_per_value", level.get("bits_per_value", {}))
        for tensor, bits in tensors.items():
            if tensor in path["tensors"]:
                sets.setdefault(bits, {}).setdefault(path["einsum"], []).append(tensor)
    return {renames.add(f"width_{place}_{bits}", own): bits for bits, own in sets.items()}


def held(level, place, paths, renames):
    """What a level keeps: tensors by name, or those that other levels do not keep."""
    must, may, once, others = {}, {}, {}, []
    for path in paths:
        own = path["hold"].get(level["name"])
        if own is None:
            if level["name"] in path["levels"]:
                raise Refused(f"{level['name']} says nothing about {path['einsum']}")
            continue
        known(own, "must_hold", "may_hold", "no_refetch_from_above")
        may[path["einsum"]] = own["may_hold"]
        once[path["einsum"]] = own.get("no_refetch_from_above", [])
        if isinstance(own["must_hold"], dict):
            others.append(tuple(own["must_hold"]["all_not_held_in"]))
        else:
            must[path["einsum"]] = own["must_hold"]
    if others and must:
        raise Refused(f"what {level['name']} must hold differs by einsum")
    keep = (f"~({' | '.join(same(others, 'what is kept'))})" if others
            else renames.add(f"must_{place}", must))
    result = {"keep": keep, "may_keep": renames.add(f"may_{place}", may)}
    if any(once.values()):
        result["no_refetch_from_above"] = renames.add(f"once_{place}", once)
    return result


def actions(level):
    result = []
    for name, given in level["actions"].items():
        known(given, "energy", "per_second", "bits")
        own = {"name": name, "energy": given["energy"], "throughput": number(given["per_second"])}
        if "bits" in given:
            own["bits_per_action"] = given["bits"]
        result.append(own)
    return result


def total_time(level):
    rule = level["time"]
    if rule["rule"] == "all_calls_at_rate":
        return f"sum(a.n_calls for a in actions) / {rule['calls_per_second']!r}"
    if rule["rule"] not in TIMES:
        raise Refused(f"time {rule['rule']} is not translated")
    return TIMES[rule["rule"]]


def component(af, level, place, paths, copies, renames):
    known(level, "name", "kind", "capacity_bits", "actions", "leak_power_per_instance", "time",
          "bits_per_value", "fanout", "charged_direction")
    fields = {
        "name": level["name"],
        "spatial": [dimension(level, dim, place, paths, copies, renames)
                    for dim in level.get("fanout", [])],
    }
    if level["kind"] == "array":
        return af.arch.Container(**fields)
    fields.update(area=0, leak_power=level["leak_power_per_instance"], actions=actions(level),
                  total_latency=total_time(level))
    if level["kind"] == "compute":
        runs = {p["einsum"]: p["tensors"] for p in paths if p["compute"] == level["name"]}
        fields["enabled"] = f"len({renames.add(f'runs_{place}', runs)}) > 0"
        return af.arch.Compute(**fields)
    fields.update(tensors=held(level, place, paths, renames),
                  bits_per_value=widths(level, place, paths, renames))
    if level["kind"] == "pass_through":
        return af.arch.Toll(direction=DIRECTIONS[level["charged_direction"]], **fields)
    return af.arch.Memory(size=number(level["capacity_bits"]), **fields)


def access(given, einsum, output):
    known(given, "tensor", "index", "bits_per_value")
    return {
        "name": given["tensor"],
        "projection": given["index"],
        "bits_per_value": given["bits_per_value"],
        "output": output,
        "persistent": given["tensor"] in einsum["persistent"],
    }


def einsum_of(given, renames):
    known(given, "name", "iterate", "reads", "writes", "copy", "repeat", "persistent", "roles")
    return {
        "name": given["name"],
        "tensor_accesses": [access(a, given, False) for a in given["reads"]]
        + [access(a, given, True) for a in given["writes"]],
        "iteration_space_shape": [f"0 <= {v} < {n}" for v, n in given["iterate"].items()],
        "is_copy_operation": bool(given.get("copy")),
        "n_instances": given.get("repeat", 1),
        "renames": renames.by_einsum[given["name"]],
    }


def limit(mapper, limits):
    known(limits, "max_shared_loops", "max_shared_loops_per_rank", "temporal_factors",
          "spatial_factors", "objective_slack", "usage_slack", "force_memory_hierarchy_order",
          "explore_loop_orders")
    mapper.max_fused_loops = number(limits["max_shared_loops"])
    mapper.max_fused_loops_per_rank_variable = number(limits["max_shared_loops_per_rank"])
    mapper.explore_imperfect_temporal_loops = limits["temporal_factors"] == "imperfect"
    mapper.explore_imperfect_spatial_loops = limits["spatial_factors"] == "imperfect"
    mapper.objective_tolerance = limits.get("objective_slack", 0)
    mapper.resource_usage_tolerance = limits.get("usage_slack", 0)
    mapper.force_memory_hierarchy_order = limits.get("force_memory_hierarchy_order", True)
    mapper.explore_loop_orders = limits.get("explore_loop_orders", True)


def paths_of(case):
    """The paths, one for each einsum, with the tensors that it uses."""
    tensors = {e["name"]: [a["tensor"] for a in e["reads"] + e["writes"]]
               for e in case["workload"]["einsums"]}
    paths = [dict(p, tensors=tensors[p["einsum"]]) for p in case["hardware"]["paths"]]
    if len({p["einsum"] for p in paths}) < len(paths):
        raise Refused("an einsum that several units may compute is not translated")
    return paths


def spec_of(af, case):
    known(case["hardware"], "levels", "paths")
    known(case["workload"], "repeat", "einsums")
    for objective in case["minimise"]:
        if objective not in OBJECTIVES:
            raise Refused(f"an objective {objective} is not translated")
    einsums = case["workload"]["einsums"]
    renames = Renames([e["name"] for e in einsums])
    copies = {e["name"] for e in einsums if e.get("copy")}
    paths = paths_of(case)
    nodes = [component(af, level, place, paths, copies, renames)
             for place, level in enumerate(case["hardware"]["levels"])]
    spec = af.Spec(
        arch=af.arch.Arch(nodes=nodes),
        workload=af.Workload(
            einsums=[einsum_of(e, renames) for e in einsums],
            n_instances=case["workload"].get("repeat", 1)))
    limit(spec.mapper, case["limits"])
    metrics = [af.Metrics[OBJECTIVES[o]] for o in case["minimise"]]
    spec.mapper.metrics = metrics[0] if len(metrics) == 1 else metrics[0] | metrics[1]
    return spec


def least(mappings, objective):
    columns = mappings.data
    if objective == "energy_delay_product" and f"Total<SEP>{objective}" not in columns:
        values = columns["Total<SEP>energy"] * columns["Total<SEP>latency"]
    else:
        values = columns[f"Total<SEP>{objective}"]
    return float(values.min())


def search(af, case):
    from accelforge.mapper.FFM.main import join_pmappings, make_pmappings

    start, wall = time.process_time(), time.perf_counter()
    spec = spec_of(af, case)
    parts = make_pmappings(spec, print_progress=False)
    found = join_pmappings(parts, metrics=spec.mapper.metrics, print_progress=False)
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    for objective in case["minimise"]:
        expected = min(point[objective] for point in case["peer"]["front"])
        value = least(found, objective)
        if abs(value - expected) > TOLERANCE * abs(expected):
            raise Refused(f"least {objective} is {value!r}, recorded is {expected!r}")
    return {"seconds": seconds, "wall": wall, "points": len(found.data)}


def main():
    import accelforge as af

    warnings.simplefilter("ignore")
    af.set_n_parallel_jobs(1)
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = {case["id"]: case for case in json.load(file)["cases"]}
    out, sys.stdout = sys.stdout, sys.stderr
    for n, name in enumerate(sys.argv[2:]):
        try:
            if n == 0:
                search(af, cases[name])
            result = search(af, cases[name])
        except Refused as why:
            result = {"refused": str(why)}
        print(json.dumps({"id": name, **result}), file=out, flush=True)


if __name__ == "__main__":
    main()
