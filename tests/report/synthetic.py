"""Result files for a GPU that does not exist, from a model of time = floor + bytes / bandwidth.

Every name says synthetic, so that no such number can be mistaken for a measurement.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

GPU = "synthetic-gpu"
TWIN_FIELDS = ("operation", "operator", "input_type", "accumulator_type", "shape", "distribution", "mode", "items")
PEAK, CEILING, FLOOR = 4800.0, 4500.0, 3.1
BYTES = {"f32": 4, "i32": 4, "u32": 4, "f64": 8, "u8": 1, "i8": 1, "u16": 2, "i16": 2, "f16": 2, "bf16": 2, "affine": 8, "u64": 8, "f16x2": 4, "bf16x2": 4}
ACCUMULATOR = {"u8": "u32", "bf16": "f32"}
# rung: (share of the ceiling at large n, extra microseconds a call)
LADDER = {
    "atomic_per_element": (0.005, 1.0), "atomic_per_block": (0.20, 1.0), "divergent_tree": (0.15, 1.0),
    "sequential_addressing": (0.22, 1.0), "first_add_on_load": (0.40, 0.9), "unrolled_last_warp": (0.52, 0.8),
    "warp_shuffle": (0.55, 0.8), "chunk_per_thread": (0.12, 1.2), "grid_stride": (0.85, 1.0),
    "vector_loads": (0.93, 1.0), "two_passes": (0.92, 2.5), "host_finish": (0.90, 9.0), "last_block": (0.96, 1.2),
    "cooperative_grid": (0.93, 2.4), "one_block": (0.01, 0.8), "early_ticket": (0.985, 1.0), "tile_per_block": (0.97, 0.9),
}  # fmt: skip
CUB = {"cub_device_reduce": (0.955, 2.2), "cub_device_reduce_expert": (0.957, 2.25)}
OTHERS = {"thrust_reduce": (0.93, 12.0), "cg_warp_shuffle": (0.55, 0.8), "cub_block_reduce_raking": (0.80, 1.0), "cub_block_reduce_warp_reductions": (0.82, 1.0)}
# The same for scans. warp_shuffle and one_block are on both ladders, as different things.
SCANS = {
    "hillis_steele": (0.21, 4.0), "blelloch": (0.28, 4.0), "blelloch_padded": (0.33, 4.0), "warp_shuffle": (0.40, 4.0),
    "vector_items": (0.58, 4.0), "three_phases": (0.63, 4.0), "reduce_then_scan": (0.70, 4.0), "chained": (0.45, 1.6),
    "look_back": (0.74, 1.7), "warp_look_back": (0.79, 1.6), "one_block": (0.012, 0.9), "one_wave": (0.88, 1.3),
    "bulk_pipeline": (0.96, 1.9), "fixed_order_pipeline": (0.94, 2.0),
}  # fmt: skip
SCAN_CUB = {"cub_device_scan": (0.72, 3.4), "cub_device_scan_expert": (0.73, 3.3)}
SCAN_OTHERS = {
    "thrust_scan": (0.70, 12.0), "cg_inclusive_scan": (0.42, 4.0), "cub_warp_scan": (0.41, 4.0),
    "cub_block_scan_raking": (0.50, 4.0), "cub_block_scan_warp_scans": (0.52, 4.0),
}  # fmt: skip
# The study of atomics: operations per microsecond on one address, and on very many.
ATOMICS = {
    "global": (1400.0, 90e3), "returning": (1400.0, 60e3), "system_scope": (1400.0, 90e3), "warp_aggregated": (40e3, 50e3),
    "one_per_block": (300e3, 0.0), "compare_and_swap": (30.0, 40e3), "ordered_bits": (1400.0, 90e3), "shared": (90e3, 20e3),
}  # fmt: skip
# The studies of costs: nanoseconds a link in a warp and in a block of 256 (0: not there), reductions and scans.
COLLECTIVES = {
    "shared_memory": (160.0, 300.0), "shuffle_down": (70.0, 0.0), "shuffle_xor": (71.0, 0.0), "redux": (20.0, 0.0),
    "warps_of_warps": (0.0, 110.0), "shuffle_up": (72.0, 0.0), "scan_of_warps": (0.0, 140.0),
}  # fmt: skip
LIBRARY_COLLECTIVES = {
    "cg_tile_reduction": (70.5, 0.0), "cg_coalesced_reduction": (210.0, 0.0), "cg_tile_scan": (90.0, 0.0), "cub_warp_reduction": (66.0, 0.0),
    "cub_warp_inclusive_scan": (75.0, 0.0), "cub_block_reduction_warp_reductions": (0.0, 121.0), "cub_block_inclusive_scan_warp_scans": (0.0, 150.0),
}  # fmt: skip
# Nanoseconds a phase with one block, with a cluster of two (each doubling adds a tenth), and with a block a multiprocessor.
BARRIERS = {
    "warp": (30.0, 0.0, 0.0), "block": (40.0, 0.0, 0.0), "grid": (0.0, 900.0, 1300.0), "kernels": (0.0, 1800.0, 2000.0),
    "programmatic": (0.0, 1100.0, 1200.0),
}  # fmt: skip
LIBRARY_BARRIERS = {"cg_block": (40.0, 0.0, 0.0), "cg_grid": (0.0, 1000.0, 1500.0), "cg_cluster": (0.0, 260.0, 0.0)}
HOSTS = (
    "host_serial", "host_parallel", "host_serial_scan", "host_parallel_scan", "host_serial_histogram", "host_parallel_histogram",
)  # fmt: skip
# The same for histograms of uniform samples; DISTRIBUTIONS says what the others cost.
HISTOGRAMS = {
    "global_atomics": (0.04, 1.0), "block_private": (0.30, 1.2), "grid_stride": (0.45, 1.3), "warp_private": (0.42, 1.4),
    "vector_loads": (0.70, 1.3), "bin_ranges": (0.55, 1.6), "one_block": (0.010, 0.8), "overlapped_clear": (0.97, 1.5),
}  # fmt: skip
HISTOGRAM_CUB = {"cub_device_histogram": (0.45, 3.2), "cub_device_histogram_expert": (0.60, 3.3)}
HISTOGRAM_OTHERS = {"thrust_histogram": (0.02, 30.0), "cub_block_histogram_atomic": (0.5, 1.4)}
# Microseconds beyond the floor for the rows of 65,536 rows of 2,048 floats.
ROWS = {"shared_accumulation": 454 - FLOOR, "register_accumulation": 415 - FLOOR, "final_warp": 414 - FLOOR, "warp_a_row": 130.0}
ROW_CUB = {"cub_device_segmented_reduce": 200.0, "cub_device_segmented_reduce_fixed_size": 160.0}
# Likewise for 1 Mi pairs of floats: the number of the rung, and its microseconds.
DOTS = {
    "atomic_per_element": (0, 800.0), "shared_tree": (1, 4.0), "shared_tree_128": (1, 3.5), "shared_tree_512": (1, 4.5), "warp_shuffle": (2, 3.0),
    "two_passes": (3, 3.2), "tagged_sums": (5, 1.9),
}  # fmt: skip
DOT_LIBRARIES = {"cub_device_transform_reduce": 2.5, "cublas_dot": 2.4}
# Likewise for the place of the least of 1 Mi floats.
EXTREMA = {"shared_tree": (0, 2.4), "warp_shuffle": (1, 2.0), "packed_word": (2, 2.9), "tile_found_last": (3, 1.2)}
EXTREMA_LIBRARIES = {"cub_device_arg": 1.3, "thrust_extremum_element": 9.0}
# Likewise for half of 1 Mi floats chosen.
SELECTIONS = {"flags_scan_scatter": 14.0, "tile_counts": 6.0, "look_back": 4.0, "warp_look_back": 3.0, "vector_items": 2.4, "staged": 2.0}
SELECTION_LIBRARIES = {"cub_device_select": 2.2, "thrust_copy_if": 9.0}
# Likewise for the 64 greatest of 64 Ki floats in rows.
TOP_K = {"rounds_of_arg_max": 90.0, "bitonic_registers": 30.0, "radix_digits": 5.0, "sampled_bound": 2.0}
TOP_K_LIBRARIES = {"cub_device_sort": 12.0}
DISTRIBUTIONS = ("uniform", "constant", "eight_hot", "zipf", "sorted", "runs", "out_of_range")
SIZES = [1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 24, 1 << 28, 1 << 30, 1_000_003]


def variant(family: str, ladder: str, rung: str, number: int, **changes: Any) -> dict[str, Any]:
    name = f"{number:02d}_{rung}" if number >= 0 else rung
    roots = {"cluster": "cluster/rungs/cluster"}
    return {
        "family": family, "ladder": ladder, "rung": rung, "number": number,
        "source": f"{roots.get(family, family + '/rungs')}/{ladder}/{name}.cuh",
        "idea": f"the synthetic idea of {rung.replace('_', ' ')}", "block_threads": 256, "items_per_thread": 4,
        "deterministic": rung not in ("atomic_per_element", "atomic_per_block", "grid_stride"), "min_cc": 75,
        "workspace_contract": "zeroed_once" if rung == "early_ticket" else "uninitialised",
        "waits_for_host": rung in ("host_finish", "thrust_reduce"), "progress": "guaranteed",
        "executes_on": "host" if rung.startswith("host_") and family == "library_baselines" else "device", **changes,
    }  # fmt: skip


def variants() -> list[dict[str, Any]]:
    ladders = {
        "reductions": LADDER, "scans": SCANS, "histograms": HISTOGRAMS, "atomics": ATOMICS, "collectives": COLLECTIVES, "barriers": BARRIERS,
    }  # fmt: skip
    numbered = ((ladder, *each) for ladder, rungs in ladders.items() for each in enumerate(rungs, 1 if ladder == "reductions" else 0))
    found = [variant("handwritten", ladder, rung, number) for ladder, number, rung in numbered]
    found.append(variant("cluster", "barriers", "cluster", 0, min_cc=90))
    found += [variant("library_baselines", "collectives", rung, -1) for rung in LIBRARY_COLLECTIVES]
    found += [variant("library_baselines", "barriers", rung, -1) for rung in LIBRARY_BARRIERS]
    found.append(variant("cluster", "reductions", "remote_stores", 1, min_cc=90, progress="assumed"))
    found.append(variant("cluster", "scans", "remote_prefixes", 0, min_cc=90, progress="assumed"))
    found += [variant("library_baselines", "baselines", rung, -1) for rung in (
        *CUB, *OTHERS, *SCAN_CUB, *SCAN_OTHERS, *HISTOGRAM_CUB, *HISTOGRAM_OTHERS, "cub_device_multi_histogram", *HOSTS,
    )]
    found += [variant("library_baselines", "roofs", rung, -1) for rung in ("stream_read", "copy", "fill", "empty")]
    return found


def row(document: dict[str, Any], family: str, rung: str, items: int, median: float, **changes: Any) -> dict[str, Any]:
    """One case; the derived columns follow from the time unless they are given."""
    input_type = changes.get("input_type", "f32")
    accumulator_type = ACCUMULATOR.get(input_type, input_type)
    operation = changes.get("operation", "reduce")
    outputs = 1
    if operation.endswith("_scan"):
        outputs = items
    if operation == "atomics":
        outputs = int(changes["shape"].split("=")[1])
    if operation == "select_if":
        outputs = items * int(changes["shape"].split("=")[1]) // 100
    if operation == "top_k":
        sizes = dict(part.split("=") for part in changes["shape"].split())
        outputs = 2 * int(sizes["rows"]) * int(sizes["k"])
    if "histogram" in operation:
        accumulator_type = "u32"
        sizes = dict(part.split("=") for part in changes["shape"].split())
        outputs = int(sizes["bins"]) * int(sizes.get("active", 1))
    moved = items * BYTES[input_type] + BYTES[accumulator_type] * outputs
    ceiling_us = 2.9 + moved / CEILING / 1e3
    values = {
        "family": family, "rung": rung, "operation": "reduce", "operator": "plus", "input_type": input_type,
        "accumulator_type": accumulator_type, "output_type": accumulator_type,
        "items": items, "shape": "", "distribution": "uniform", "mode": "cold", "median_us": median,
        "low_us": median * 0.997, "high_us": median * 1.003, "samples": 40, "set_aside": 1, "bytes": moved,
        "gb_per_s": moved / median / 1e3, "percent_of_ceiling": ceiling_us / median * 100,
        "percent_of_peak": moved / median / 1e3 / PEAK * 100, "speedup_over_cub": None, "speedup_low": None,
        "speedup_high": None, "verdict": "", "verified": "yes", "error": 0.5 if input_type in ("f32", "f64") else 0,
        "repeatable": "yes", "kernels": 1, "workspace_bytes": 1024, "workspace_contract": "uninitialised",
        "gpu": document["gpu"], "commit": document["commit"], "run": document["run"],
        "iqr_us": median * 0.004, "min_us": median * 0.99, "p95_us": median * 1.01, "implausible": False, "twin": False,
        **changes,
    }  # fmt: skip
    return values


def document(run: str = "2030-01-02T030405Z-abc1234", cccl: str = "3.0.1", gpu: str = GPU, **changes: Any) -> dict[str, Any]:
    environment = {
        "sm_clock_mhz": 1980, "sm_clock_max_mhz": 1980, "memory_clock_mhz": 3201, "throttle_reasons": [],
        "temperature_c": 41, "power_w": 118.2, "power_limit_w": 700, "ecc": True, "mig": False, "persistence": True,
        "other_processes": 0,
    }  # fmt: skip
    return {
        "schema": "rungs.results/1", "run": run, "complete": True, "seconds": 312.4, "arguments": ["--budget=420"],
        "gpu": gpu, "commit": run.rsplit("-", 1)[-1],
        "context": {
            "device": {"name": "Synthetic GPU 9000", "card": "1a2b3c4d", "compute_capability": 90, "multiprocessors": 132,
                       "l2_bytes": 50 << 20, "memory_bytes": 141 << 30, "memory_bus_bits": 6144, "peak_gb_per_s": PEAK},
            "host": {"cpu": "Synthetic CPU", "cores": 16, "memory_bytes": 128 << 30, "kernel": "6.1"},
            "versions": {"driver": "580.1", "cuda_runtime": "13.0", "nvcc": "13.0.88", "cccl": cccl,
                         "compiler": "g++ 12.2", "architectures": [90], "build_type": "Release"},
            "environment": {"before": environment, "after": {**environment, "temperature_c": 48}},
            "variables": {"CUDA_VISIBLE_DEVICES": "0"}, "banners": [],
        },
        "variants": variants(), "ceilings": [], "floors": [], "twins": [], "rows": [], "skipped": [], **changes,
    }  # fmt: skip


def ours(**times: float) -> dict[tuple[str, str], float]:
    return {("handwritten", rung): time for rung, time in times.items()}


def libraries(**times: float) -> dict[tuple[str, str], float]:
    return {("library_baselines", rung): time for rung, time in times.items()}


def add_cell(run: dict[str, Any], items: int, times: dict[tuple[str, str], float], **changes: Any) -> None:
    """One cell's rows with their speed-ups over the fastest CUB entry."""
    cub = min((time for (_, rung), time in times.items() if rung.startswith("cub_device")), default=None)
    for (family, rung), time in times.items():
        values = row(run, family, rung, items, time, **changes)
        if cub is not None:
            ratio = cub / time
            verdict = "SAME" if abs(ratio - 1) < 0.008 else ("FASTER" if ratio > 1 else "SLOWER")
            values |= {"speedup_over_cub": ratio, "speedup_low": ratio * 0.995, "speedup_high": ratio * 1.005, "verdict": verdict}
        run["rows"].append(values)


def timed(
    time: Callable[[float, float, float, str], float], rungs: dict[str, tuple[float, float]], moved: float, mode: str, family: str = "library_baselines"
) -> dict[tuple[str, str], float]:
    return {(family, rung): time(share, extra, moved, mode) for rung, (share, extra) in rungs.items()}


def add_twin(made: dict[str, Any], **changes: Any) -> None:
    """CUB against itself in the cell of the last row."""
    cell = {name: made["rows"][-1][name] for name in TWIN_FIELDS}
    made["twins"].append({**cell, "ratio": 1.0, "low": 0.994, "high": 1.006, "noise_floor": 0.006, "different": False, **changes})


def add_ceiling(made: dict[str, Any], kind: str, moved: float, rate: float, **more: Any) -> None:
    made["ceilings"].append({"kind": kind, "mode": "cold", "bytes": moved, "gb_per_s": rate, "marked": False, **more})


def add_skipped(made: dict[str, Any], rung: str, items: int, reason: str, **about: Any) -> None:
    made["skipped"].append({"family": "handwritten", "rung": rung, "items": items, "reason": reason, **about})


def full(
    run: str = "2030-01-02T030405Z-abc1234",
    cccl: str = "3.0.1",
    seed: int = 1,
    topics: Sequence[str] = ("reductions", "scans", "histograms", "atomics", "costs"),
    sizes: Sequence[int] = SIZES,
) -> dict[str, Any]:
    """A run as the default suite would write it. The reductions have fewer sizes in a graph than cold, and none warm beyond
    L2; exclusive scans have fewer types than inclusive ones."""
    noise = random.Random(seed)
    made = document(run, cccl)
    newer = 0.0 if cccl.startswith("3.0") else -0.4

    def time(share: float, extra: float, moved: float, mode: str) -> float:
        base = {"cold": FLOOR, "warm": FLOOR, "graph": 0.8}[mode]
        return (base + extra + moved / (CEILING * share) / 1e3) * (1 + noise.uniform(-0.002, 0.002))

    problems = [("plus", t, "cold", sizes) for t in ("f32", "i32", "u8", "bf16")]
    problems += [("plus", "f32", "graph", sizes), ("plus", "f32", "warm", [s for s in sizes if s <= 1 << 24])]
    problems += [("plus", "i32", "graph", [1 << 20, 1 << 24]), ("maximum", "f32", "cold", sizes), ("plus", "f64", "cold", sizes[:-1])]
    if "reductions" not in topics:
        problems = []
    for operator, input_type, mode, counts in problems:
        about = {"operator": operator, "input_type": input_type, "mode": mode}
        for items in counts:
            moved = items * BYTES[input_type]
            times = timed(time, LADDER, moved, mode, "handwritten")
            for family, rung in [each for each, us in times.items() if us >= 1e4]:
                del times[family, rung]
                if mode == "cold":
                    add_skipped(made, rung, items, "one sample passes 10 ms", operation="reduce", **about)
            if items <= 1 << 24:
                times["cluster", "remote_stores"] = time(0.7, 0.7, moved, mode)
            newer_cub = {rung: (share, extra + newer) for rung, (share, extra) in CUB.items()}
            times |= timed(time, newer_cub | OTHERS, moved, mode)
            add_cell(made, items, times, **about)
            add_twin(made, ratio=1 + noise.uniform(-0.004, 0.004))
    if "scans" in topics:
        add_scans(made, time, sizes)
    if "histograms" in topics:
        add_histograms(made, time)
    if "atomics" in topics:
        add_atomics(made, noise)
    if "costs" in topics:
        add_costs(made)
    for items in sizes:
        if items <= 1 << 24:
            add_host_cells(made, items, topics)
        for kind, rate in (("stream_read", 4500.0), ("copy", 4260.0), ("fill", 4530.0)):
            us = 2.9 + items * 4 / rate / 1e3
            more = {"before_us": us, "after_us": us * 1.004, "low_us": us * 0.998, "high_us": us * 1.006, "drift_percent": 0.4}
            add_ceiling(made, kind, items * 4, items * 4 / us / 1e3, **more)
    for mode, us in (("cold", FLOOR), ("graph", 0.7)):
        made["floors"].append({"mode": mode, "kind": "empty", "median_us": us, "low_us": us * 0.99, "high_us": us * 1.01})
    for values in made["rows"]:
        if values["rung"] in ("atomic_per_element", "atomic_per_block", "grid_stride") and values["input_type"] == "f32":
            values |= {"repeatable": "no", "error": 3.5}
    return made


def add_scans(made: dict[str, Any], time: Callable[[float, float, float, str], float], sizes: Sequence[int]) -> None:
    cold = [("inclusive_scan", "plus", t) for t in ("f32", "i32", "f64", "u8", "bf16")]
    cold += [("inclusive_scan", "maximum", "f32"), ("inclusive_scan", "compose", "affine")]
    cold += [("exclusive_scan", "plus", t) for t in ("f32", "i32")]
    problems = [(*each, "cold") for each in cold] + [("inclusive_scan", "plus", "f32", mode) for mode in ("graph", "warm")]
    for operation, operator, input_type, mode in problems:
        for items in sizes:
            if mode == "warm" and items > 1 << 24:
                continue
            about = {"operation": operation, "operator": operator, "input_type": input_type, "mode": mode}
            moved = items * (BYTES[input_type] + BYTES[ACCUMULATOR.get(input_type, input_type)])
            whole = input_type in ("f32", "i32")
            rungs = SCANS if whole else {rung: SCANS[rung] for rung in ("look_back", "one_block", "one_wave", "bulk_pipeline")}
            times = timed(time, rungs, moved, mode, "handwritten")
            if times["handwritten", "one_block"] > 2e3:
                del times["handwritten", "one_block"]
                add_skipped(made, "one_block", items, "one sample passes 2 ms", **about)
            if items <= 1 << 20:
                times["cluster", "remote_prefixes"] = time(0.5, 0.8, moved, mode)
            times |= timed(time, SCAN_CUB | (SCAN_OTHERS if whole and mode == "cold" else {}), moved, mode)
            add_cell(made, items, times, **about)


def add_histograms(made: dict[str, Any], time: Callable[[float, float, float, str], float]) -> None:
    """What the default suite has of them. Half the bins' counters are slower at eight hot bins, CUB at one bin."""
    mi = 1 << 20
    four, two, three = (mi >> 4, mi, 16 * mi, 256 * mi), (mi, 16 * mi), (mi, 16 * mi, 256 * mi)
    hard, heads = DISTRIBUTIONS[:4], (("u8", 256), ("i32", 256), ("f32", 256), ("i32", 4096), ("i32", 16384), ("i32", 65536))
    asked = [("histogram_even", t, b, d, "cold", four) for t, b in heads for d in hard]
    asked += [("histogram_even", t, b, d, "cold", (16 * mi,)) for t, b in heads for d in DISTRIBUTIONS[4:]]
    asked += [("histogram_even", t, 256, d, "cold", two) for t in ("i8", "u16", "i16", "u32", "f64", "f16") for d in hard[::2]]
    asked += [("histogram_even", t, 65536, d, "cold", two) for t in ("i16", "u32") for d in hard[::2]]
    asked += [("histogram_even", "i32", b, d, "cold", three) for b in (2, 64, 1000, mi) for d in hard[:2]]
    asked += [("histogram_range", t, 256, "uniform", "cold", two) for t in ("u8", "i32", "f32")]
    asked += [("multi_histogram_even", "u8", 256, d, "cold", three) for d in hard[:2]]
    asked += [("histogram_even", t, 256, "uniform", mode, four[:3]) for t in ("u8", "i32") for mode in ("warm", "graph")]
    for operation, input_type, bins, distribution, mode, counts in asked:
        shape = f"bins={bins}" + (" channels=4 active=3" if operation.startswith("multi") else "")
        about = {"operation": operation, "operator": "", "input_type": input_type, "accumulator_type": "u32", "output_type": "u32"}
        about |= {"shape": shape, "distribution": distribution, "mode": mode, "error": 0}
        for items in counts:
            moved = items * BYTES[input_type]
            whole = input_type in ("u8", "i32", "f32") and bins == 256 and operation == "histogram_even"
            slowed = {"constant": 0.85, "eight_hot": 0.6}.get(distribution, 1.0)
            times = {}
            for rung, (share, extra) in HISTOGRAMS.items():
                if whole or rung in ("overlapped_clear", "bin_ranges"):
                    if (bins <= 16384 or rung == "bin_ranges") and (rung != "one_block" or items <= mi):
                        loss = 0.02 if rung == "global_atomics" and distribution == "constant" else slowed
                        times["handwritten", rung] = time(share * loss, extra, moved, mode)
            cub = {"cub_device_multi_histogram": (0.4, 3.2)} if operation.startswith("multi") else HISTOGRAM_CUB
            for rung, (share, extra) in cub.items():
                if rung.endswith("expert") and input_type not in ("i8", "u16", "i16", "i32", "u32"):
                    continue
                if rung == "cub_device_histogram" and (input_type == "i8" or (input_type == "i16" and bins > 32768)):
                    lost = "wrong before timing: bin 0 counts 0 instead of 131072"
                    add_fault(made, rung, items, "wrong", lost, **about)
                else:
                    loss = 1 if bins <= 256 else 0.2 if bins <= 4096 else 0.04
                    slow = 0.5 if distribution == "constant" else 1
                    times["library_baselines", rung] = time(share * loss * slow, extra, moved, mode)
            if whole and distribution == "uniform" and mode == "cold":
                times |= timed(time, HISTOGRAM_OTHERS, moved, mode)
            add_cell(made, items, times, **about)


def add_atomics(made: dict[str, Any], noise: random.Random) -> None:
    """Every power of two for additions of u32, a few addresses for other types and operators."""
    items = 1 << 20
    asked = [("plus", "u32", [1 << e for e in range(21)], n) for n in (items, items * 16)]
    asked += [("plus", t, [1, 1 << 10, 1 << 16, 1 << 20], items) for t in ("i32", "u64", "f32", "f64", "f16x2", "bf16x2")]
    asked += [(op, "u32", [1, 1 << 10, 1 << 20], items) for op in ("minus", "increment", "minimum", "maximum", "exchange")]
    asked += [("maximum", "f32", [1, 1 << 10, 1 << 20], items)]
    for operator, input_type, counts, n in asked:
        for count in counts:
            times = {}
            for rung, (one, many) in ATOMICS.items():
                if rung == "ordered_bits" and (operator, input_type) != ("maximum", "f32"):
                    continue
                if rung == "one_per_block" and count > 1:
                    continue
                if rung == "global" and (operator, input_type) == ("maximum", "f32"):
                    continue
                near = one ** (1 / count**0.5) * (many or one) ** (1 - 1 / count**0.5)
                near *= {"f64": 0.5, "u64": 0.6}.get(input_type, 1.0) * (1 + noise.uniform(-0.002, 0.002))
                times["handwritten", rung] = FLOOR + n / near
            about = {"operation": "atomics", "operator": operator, "input_type": input_type, "accumulator_type": input_type}
            about |= {"output_type": input_type, "shape": f"addresses={count}", "error": 0}
            add_cell(made, n, times, percent_of_ceiling=None, percent_of_peak=None, **about)


def add_costs(made: dict[str, Any]) -> None:
    """Chains: a launch of 5 microseconds, and so many nanoseconds a link."""

    def chains(costs: dict[tuple[str, str], float], lengths: Sequence[int], **about: Any) -> None:
        for items in lengths:
            times = {each: 5.0 + items * ns / 1e3 for each, ns in costs.items() if ns}
            add_cell(made, items, times, output_type="u32", percent_of_ceiling=None, percent_of_peak=None, error=0, **about)

    named = [("handwritten", rung, ns) for rung, ns in COLLECTIVES.items()]
    named += [("library_baselines", rung, ns) for rung, ns in LIBRARY_COLLECTIVES.items()]
    for operator in ("plus", "maximum"):
        for kind in ("f32", "i32"):
            for position, threads in enumerate((32, 256)):
                for operation in ("collective_reduce", "collective_scan"):
                    scans = operation == "collective_scan"
                    rungs = [each for each in named if ("scan" in each[1] or each[1] == "shuffle_up") == scans]
                    rungs = [each for each in rungs if each[1] != "redux" or kind == "i32"]
                    costs = {(family, rung): ns[position] * (1 if operator == "plus" else 1.1) for family, rung, ns in rungs}
                    about = {"operation": operation, "operator": operator, "input_type": kind, "accumulator_type": kind}
                    chains(costs, (1024, 16384), shape=f"threads={threads}", **about)
                    if threads == 32:
                        chains({each: ns * 0.8 for each, ns in costs.items()}, (1024, 16384), shape="threads=16", **about)
    named = [("handwritten", rung, ns) for rung, ns in BARRIERS.items()]
    named += [("library_baselines", rung, ns) for rung, ns in LIBRARY_BARRIERS.items()]
    about = {"operation": "barrier", "operator": "", "input_type": "u32", "accumulator_type": "u32"}
    for threads in (32, 256, 1024):
        costs = {(family, rung): ns[0] * (threads / 32) ** 0.2 for family, rung, ns in named if rung != "warp" or threads == 32}
        chains(costs, (1024, 16384), shape=f"blocks=1 threads={threads}", **about)
    for doublings, blocks in enumerate((2, 4, 8, 16)):
        costs = {(family, rung): ns[1] * (1 + 0.1 * doublings) for family, rung, ns in named}
        costs["cluster", "cluster"] = 200.0 * (1 + 0.1 * doublings)
        chains(costs, (4, 16, 256), shape=f"blocks={blocks} threads=256", **about)
    for more in (1, 2, 8):
        costs = {(family, rung): ns[2] * more**0.5 for family, rung, ns in named}
        for mode, quicker in (("cold", 1.0), ("graph", 0.6)):
            lengths = (4, 16, 256) if mode == "cold" else (4, 16)
            chains({each: ns * quicker for each, ns in costs.items()}, lengths, shape=f"blocks={132 * more} threads=256", mode=mode, **about)


def add_ladder(made: dict[str, Any], ladder: str, numbers: dict[str, int], libraries: Iterable[str] = (), door: str = "front_door") -> None:
    """The variants of a family: rungs by their numbers, the front door and libraries."""
    made["variants"] += [variant("handwritten", ladder, rung, number) for rung, number in numbers.items()]
    made["variants"] += [variant("handwritten", f"front_door_of_{ladder}", door, -1)] if door else []
    made["variants"] += [variant("library_baselines", ladder, rung, -1) for rung in libraries]


def grown(scale: float, own: dict[str, float], libraries: dict[str, float]) -> dict[tuple[str, str], float]:
    """Times that grow from the floor on."""
    return {(family, rung): FLOOR + us * scale for family, named in (("handwritten", own), ("library_baselines", libraries)) for rung, us in named.items()}


def numbered(rungs: Iterable[str], first: int = 0) -> dict[str, int]:
    return {rung: number for number, rung in enumerate(rungs, first)}


def add_rows(made: dict[str, Any], shapes: Sequence[tuple[int, int]] = ((65536, 2048), (19, 2048))) -> None:
    """Sums of the rows of a matrix. The rungs of the text take its own times, at its shape."""
    add_ladder(made, "rows", numbered(ROWS, 1), ROW_CUB)
    for count, columns in shapes:
        times = grown(count * columns / 2**27, ROWS | {"front_door": 120.0}, ROW_CUB)
        add_cell(made, count * columns, times, operation="row_reduce", shape=f"rows={count} columns={columns}")


def add_norms(made: dict[str, Any], shapes: Sequence[tuple[int, int]] = ((65536, 2048), (19, 2048))) -> None:
    """Norms of rows."""
    own = {"norm_by_block": 400.0, "norm_in_registers": 320.0, "front_door_of_norms": 300.0}
    add_ladder(made, "rows", {"norm_by_block": 10, "norm_in_registers": 11}, door="front_door_of_norms")
    for count, columns in shapes:
        add_cell(made, count * columns, grown(count * columns / 2**27, own, {}), operation="row_norm", operator="", shape=f"rows={count} columns={columns}")


def add_dots(made: dict[str, Any], sizes: Sequence[int] = (1 << 20, 1 << 24)) -> None:
    """Dot products of floats."""
    add_ladder(made, "dots", {rung: number for rung, (number, _) in DOTS.items()}, DOT_LIBRARIES, door="")
    for items in sizes:
        add_cell(made, items, grown(items / 2**20, {rung: us for rung, (_, us) in DOTS.items()}, DOT_LIBRARIES), operation="dot")


def add_extrema(made: dict[str, Any], sizes: Sequence[int] = (1 << 20, 1 << 24)) -> None:
    """Places of the least and of the greatest float."""
    add_ladder(made, "extrema", {rung: number for rung, (number, _) in EXTREMA.items()}, EXTREMA_LIBRARIES)
    own = {rung: us for rung, (_, us) in EXTREMA.items()} | {"front_door": 1.25}
    for operator in ("minimum", "maximum"):
        for items in sizes:
            add_cell(made, items, grown(items / 2**20, own, EXTREMA_LIBRARIES), operation="arg_extremum", operator=operator, output_type="i64")


def add_both_extrema(made: dict[str, Any], sizes: Sequence[int] = (1 << 20, 1 << 24)) -> None:
    """Both places of one call."""
    add_ladder(made, "extrema", {"both_at_once": 5}, ("cub_device_arg_twice",), door="front_door_of_both")
    for items in sizes:
        times = grown(items / 2**20, {"both_at_once": 1.6, "front_door_of_both": 1.5}, {"cub_device_arg_twice": 4.0})
        add_cell(made, items, times, operation="arg_extremum", operator="both", output_type="i64")


def add_selections(made: dict[str, Any], percents: Sequence[int] = (1, 50, 100), sizes: Sequence[int] = (1 << 20, 1 << 24)) -> None:
    """Shares of floats chosen: the time grows with what is written."""
    add_ladder(made, "selections", numbered(SELECTIONS), SELECTION_LIBRARIES)
    for percent in percents:
        for items in sizes:
            times = grown((1 + percent / 100) / 1.5 * items / 2**20, SELECTIONS | {"front_door": 1.8}, SELECTION_LIBRARIES)
            add_cell(made, items, times, operation="select_if", operator="", shape=f"percent={percent}")


def add_top_k(made: dict[str, Any], shapes: Sequence[tuple[int, int, int]] = ((64, 1 << 17, 64), (4096, 256, 8))) -> None:
    """Rows, columns and k: the time grows with what is read."""
    add_ladder(made, "top_k", numbered(TOP_K), TOP_K_LIBRARIES)
    for rows, columns, k in shapes:
        times = grown(rows * columns / 2**20, TOP_K | {"front_door": 1.5}, TOP_K_LIBRARIES)
        add_cell(made, rows * columns, times, operation="top_k", operator="", output_type="u32", shape=f"rows={rows} columns={columns} k={k}")


def add_fault(made: dict[str, Any], rung: str, items: int, kind: str, defect: str, **about: Any) -> None:
    """A case whose library was wrong, or refused it: a row without a time."""
    none = dict.fromkeys(("median_us", "low_us", "high_us", "gb_per_s", "percent_of_ceiling", "percent_of_peak", "error"))
    values = row(made, "library_baselines", rung, items, 1.0, **about)
    made["rows"].append({**values, **none, "samples": 0, "verified": "no", "fault": kind, "defect": defect, "repeatable": "no"})


def add_host_cells(made: dict[str, Any], items: int, topics: Sequence[str] = ("reductions",)) -> None:
    histogram = {"operator": "", "input_type": "u8", "accumulator_type": "u32", "output_type": "u32", "shape": "bins=256"}
    operations = {
        "reductions": ("reduce", "", {}),
        "scans": ("inclusive_scan", "_scan", {}),
        "histograms": ("histogram_even", "_histogram", histogram),
    }
    for operation, ending, about in (operations[topic] for topic in topics if topic in operations):
        times = {"host_serial": 1 + items / 2000, "host_parallel": 30 + items / 20000}
        add_cell(
            made,
            items,
            libraries(**{f"{rung}{ending}": us for rung, us in times.items()}),
            operation=operation,
            mode="host",
            percent_of_ceiling=None,
            percent_of_peak=None,
            kernels=None,
            workspace_contract="none",
            workspace_bytes=0,
            **about,
        )


def host_only(run: str = "2030-01-03T030405Z-abc1234") -> dict[str, Any]:
    """A run on a machine without a GPU."""
    made = document(run, gpu="synthetic-cpu")
    made["context"]["device"] = None
    made["context"]["banners"] = ["no usable GPU: only the host baselines ran"]
    for items in SIZES:
        if items <= 1 << 24:
            add_host_cells(made, items, ("reductions", "histograms"))
    return made


def section(text: str, heading: str) -> str:
    """What stands on a page under a heading of the second level."""
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def verdict(ratio: float) -> str:
    return "SAME" if 0.99 < ratio < 1.01 else "FASTER" if ratio > 1 else "SLOWER"


def speedup(ratio: float) -> dict[str, Any]:
    return {"value": ratio, "low": ratio * 0.998, "high": ratio * 1.002, "verdict": verdict(ratio)}


def right(median: float) -> dict[str, Any]:
    """A right result of a study, without its name."""
    return {
        "verified": True, "storage_bytes": 0, "samples": 30, "median_us": median, "low_us": median * 0.999, "high_us": median * 1.001,
        "iqr_us": median * 0.002, "min_us": median * 0.998,
    }  # fmt: skip


def write(data: Path, made: dict[str, Any], folder: str | None = None, name: str | None = None) -> Path:
    path = data / (folder or made["gpu"]) / f"{name or made['run']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


def pack(path: Path) -> Path:
    """As `gzip -n` does: the file packed in its place."""
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
    return packed


def write_sources(root: Path) -> None:
    """A source for every rung, each a small change of the one before."""
    for each in variants():
        path = root / each["source"]
        path.parent.mkdir(parents=True, exist_ok=True)
        body = [f"// Rung {each['number']}. {each['idea']}.", "#pragma once", "", f"struct {each['rung']} {{"]
        body += [f"  static constexpr int step_{i} = {i};" for i in range(max(each["number"], 0))]
        path.write_text("\n".join([*body, "};"]) + "\n", encoding="utf-8")
