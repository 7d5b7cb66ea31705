#!/usr/bin/env python3
"""Times rungs_torch beside torch, eager and compiled, in one process, on the same tensors.

Before each sample the caches are emptied by reading a buffer of more than four times the L2, which leaves nothing in them
that would have to be written back. The host is ahead of the GPU, so that its time is hidden. All entries of a cell are
sampled in turn, forwards and backwards. A cell is verified before and after it is timed: on its first and last rows
against torch in float64. A roof moves the same bytes: torch's copy_, or for what is only read the sum of all items.
The suite of inference has top-k, routing, sampling, quantisation and sums of fp8. There, torch draws tokens by
multinomial, which waits for the GPU twice, or by exponential noise, which does not.

    python3 bench_torch.py --output=torch.json.gz
    python3 bench_torch.py --suite=inference --output=torch_inference.json.gz
    python3 bench_torch.py --select='softmax|rms_norm' --no-compile

Compiling takes most of the time, and torch keeps what it compiled: a second run gets further within the same budget. The
report has a page where report/data/<gpu>/ holds one or several files torch*.json.gz of complete or partial runs.
"""

import argparse
import gzip
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

FLUSH_BYTES = 512 << 20
# In an order that leaves rows of every length where the budget ends a run early.
NORM_SHAPES = [
    (65536, 2048), (32768, 256), (32768, 65536), (8192, 262144), (32768, 1024), (32768, 8192), (16384, 131072),
    (32768, 4096), (32768, 16384), (32768, 512), (32768, 32768), (32768, 2048),
]  # fmt: skip
SUM_SHAPES = [
    (4 << 20, 32), (1 << 20, 128), (256 << 10, 512), (16 << 10, 8192), (1024, 128 << 10), (128, 1 << 20), (16, 1 << 20),
]  # fmt: skip


def main():
    options = parse()
    global torch, functional, rungs_torch
    try:
        import torch
        from torch.nn import functional

        import rungs_torch
    except ImportError as error:
        sys.exit(f"bench_torch.py: {error}")
    if not torch.cuda.is_available():
        sys.exit("bench_torch.py: torch finds no usable GPU")
    rungs_torch.version()

    began = time.monotonic()
    suites = {"rows": row_suite, "inference": inference_suite}
    made = [cell for name, suite in suites.items() if options.suite in ("all", name) for cell in suite()]
    chosen = [cell for cell in made if re.search(options.select, cell.name)]
    if options.list:
        print("\n".join(cell.name for cell in chosen))
        return
    if not chosen:
        sys.exit(f"bench_torch.py: no cell's name matches {options.select!r}: --list prints them")
    result = {"schema": "rungs.torch/1", "gpu": slug(torch.cuda.get_device_name(0)),
              "environment": environment(options.commit), "cells": [], "left_out": []}  # fmt: skip
    print(f"{result['environment']['gpu']}, torch {torch.__version__}, rungs {rungs_torch.version()}: {len(chosen)} cells, "
          f"{options.budget} s", flush=True)  # fmt: skip
    print(f"{'cell':38} {'rungs':>9} {'eager':>9} {'compiled':>9} {'roof':>9}  {'TB/s':>5} {'of roof':>7} {'speed-up':>8}")
    told = False
    bench = Sampler(options.samples)
    wrong = 0
    for number, cell in enumerate(chosen):
        left = options.budget - (time.monotonic() - began)
        free, _ = torch.cuda.mem_get_info()
        if left < 0 or cell.footprint > free - (2 << 30):
            result["left_out"].append({"cell": cell.name, "why": "the budget" if left < 0 else "memory"})
            continue
        row = bench.measure(cell, options.compile)
        row["seconds"] = round(time.monotonic() - began, 1)
        wrong += not row["verified"]
        result["cells"].append(row)
        print(line(row) + f"   [{number + 1}/{len(chosen)}, {row['seconds']:.0f} s]", flush=True)
        if "not_compiled" in row and not told:
            print(f"not compiled: {row['not_compiled']}", flush=True)
            told = True
        torch.cuda.empty_cache()
        if options.output:
            write(options.output, {**result, "complete": False})
    result["complete"] = not result["left_out"]
    if result["left_out"]:
        print(f"left out: {', '.join(each['cell'] for each in result['left_out'])}")
    summary(result["cells"])
    if options.output:
        write(options.output, result)
    sys.exit(1 if wrong else 0)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=220, metavar="SECONDS", help="begin no cell after it (220)")
    parser.add_argument("--samples", type=int, default=16, help="of each entry of a cell (16)")
    parser.add_argument("--suite", choices=("all", "rows", "inference"), default="all", help="which cells (all)")
    parser.add_argument("--select", default="", metavar="REGEX", help="only cells whose name matches")
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="without torch.compile")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results there as JSON; packed where it ends with .gz")
    parser.add_argument("--commit", metavar="NAME", help="of the library, where git does not know it")
    parser.add_argument("--list", action="store_true", help="print the cells")
    return parser.parse_args()


class Cell:
    """One problem. `make` returns the tensors; ours and theirs take them."""

    def __init__(self, operation, dtype, shape, ours, theirs, make, bytes_moved, footprint, writes, exact, compiles=True):
        self.operation, self.dtype, self.shape, self.ours, self.theirs = operation, dtype, shape, ours, theirs
        self.make, self.bytes, self.footprint, self.writes = make, bytes_moved, footprint, writes
        self.exact, self.compiles = exact, compiles
        self.name = f"{operation} {dtype} {'x'.join(str(size) for size in shape)}"


def row_suite():
    found = []
    for shape in NORM_SHAPES:
        for dtype in ("float32", "bfloat16"):
            found += row_cells(dtype, shape)
    for shape in SUM_SHAPES:
        found.append(
            rows_to_items("sum", "float32", shape, lambda x: rungs_torch.sum(x, -1), lambda x: x.sum(-1))
        )
    for log2 in (20, 24, 28):
        n = 1 << log2
        found.append(
            Cell("cumsum", "float32", (n,), lambda x: rungs_torch.cumsum(x, 0), lambda x: x.cumsum(0),
                 lambda n=n: (normal((n,), "float32") / 64,), 8 * n, 12 * n, True, exact_cumsum)
        )  # fmt: skip
    n = 1 << 24
    found.append(
        Cell("histc_256", "float32", (n,), lambda x: rungs_torch.histc(x, 256, -4, 4), lambda x: torch.histc(x, 256, -4, 4),
             lambda: (normal((n,), "float32"),), 4 * n, 8 * n, False, exact_integers, compiles=False)
    )  # fmt: skip
    for name, ours in (("bincount_256", lambda x: rungs_torch.bincount(x)),
                       ("bincount_256_known", lambda x: rungs_torch.bincount(x, num_bins=256))):  # fmt: skip
        found.append(
            Cell(name, "int32", (n,), ours, lambda x: torch.bincount(x),
                 lambda: (torch.randint(0, 256, (n,), dtype=torch.int32, device="cuda"),), 4 * n, 8 * n, False,
                 exact_integers, compiles=False)
        )  # fmt: skip
    return found


def row_cells(dtype, shape):
    rows, columns = shape
    item = 4 if dtype == "float32" else 2
    both = 2 * item * rows * columns

    def with_parameters():
        return normal(shape, dtype), normal((columns,), dtype), normal((columns,), dtype)

    def with_targets():
        return normal(shape, dtype), torch.randint(0, columns, (rows,), device="cuda")

    def cell(operation, ours, theirs, make):
        return Cell(operation, dtype, shape, ours, theirs, make, both, 2 * both, True, exact_rows)

    found = [
        cell("softmax", lambda x: rungs_torch.softmax(x), lambda x: torch.softmax(x, -1), lambda: (normal(shape, dtype),)),
        cell("layer_norm", lambda x, w, b: rungs_torch.layer_norm(x, columns, w, b),
             lambda x, w, b: functional.layer_norm(x, (columns,), w, b), with_parameters),
        cell("rms_norm", lambda x, w, b: rungs_torch.rms_norm(x, columns, w, 1e-6),
             lambda x, w, b: functional.rms_norm(x, (columns,), w, 1e-6), with_parameters),
        rows_to_items("logsumexp", dtype, shape, lambda x: rungs_torch.logsumexp(x, -1), lambda x: x.logsumexp(-1)),
        rows_to_items("sum", dtype, shape, lambda x: rungs_torch.sum(x, -1), lambda x: x.sum(-1)),
        rows_to_items("amax", dtype, shape, lambda x: rungs_torch.amax(x, -1), lambda x: x.amax(-1)),
    ]  # fmt: skip
    found.append(
        Cell("cross_entropy", dtype, shape, lambda x, t: rungs_torch.cross_entropy(x, t),
             lambda x, t: functional.cross_entropy(x, t), with_targets, item * rows * columns, 4 * item * rows * columns,
             False, exact_mean)
    )  # fmt: skip
    return found


def rows_to_items(operation, dtype, shape, ours, theirs):
    item = 4 if dtype == "float32" else 2
    size = item * math.prod(shape)
    # torch's logsumexp needs room for the exponentials.
    return Cell(operation, dtype, shape, ours, theirs, lambda: (normal(shape, dtype),), size, 4 * size, False, exact_rows)


# --- inference

VOCABULARY = 128512


def inference_suite():
    found = []
    for rows in (1, 8, 64):
        for k in (64, 1024):
            found.append(top_k_cell((rows, 128 << 10), k))
    for tokens in (4096, 65536):
        for dtype in ("float32", "bfloat16"):
            found.append(
                Cell("route_8", dtype, (tokens, 256), lambda x: rungs_torch.route(x, 8, renormalize=True), torch_route,
                     lambda shape=(tokens, 256), dtype=dtype: (normal(shape, dtype),), size_of(dtype) * tokens * 256,
                     32 * tokens * 256, False, exact_routes)
            )  # fmt: skip
    for rows in (1, 64, 256):
        for dtype in ("float32", "bfloat16"):
            found += sample_cells(dtype, (rows, VOCABULARY))
    for rows in (4096, 65536):
        for name, group in (("quantize_fp8_token", None), ("quantize_fp8_128", 128)):
            found.append(quantize_cell(name, (rows, 4096), group))
    for rows in (16384, 65536):
        size = rows * 4096
        found.append(
            Cell("sum", "float8_e4m3fn", (rows, 4096), lambda x: rungs_torch.sum(x, -1), lambda x: x.float().sum(-1),
                 lambda shape=(rows, 4096): (normal(shape, "float32").to(torch.float8_e4m3fn),), size, 12 * size, False,
                 exact_sums_of_codes)
        )  # fmt: skip
    return found


def size_of(dtype):
    return {"float32": 4, "bfloat16": 2, "float8_e4m3fn": 1}[dtype]


def top_k_cell(shape, k):
    size = 4 * math.prod(shape)
    return Cell(f"topk_{k}", "float32", shape, lambda x: rungs_torch.topk(x, k), lambda x: torch.topk(x, k),
                lambda: (normal(shape, "float32"),), size, 8 * size, False, exact_top_k)  # fmt: skip


def torch_route(x):
    weights, experts = torch.topk(torch.softmax(x, -1, dtype=torch.float32), 8)
    return weights / weights.sum(-1, keepdim=True), experts.int()


def sample_cells(dtype, shape):
    size = size_of(dtype) * math.prod(shape)

    def cell(operation, ours, theirs, exact):
        # A sort of float32 and of its int64 indices, twice, and what is around it.
        return Cell(operation, dtype, shape, ours, theirs, lambda: (normal(shape, dtype) * 3,), size,
                    size + 48 * math.prod(shape), False, exact)  # fmt: skip

    return [
        cell("sample", lambda x: rungs_torch.sample(x, seed=1),
             lambda x: torch.multinomial(torch.softmax(x, -1, dtype=torch.float32), 1).squeeze(-1), exact_draws),
        cell("sample_gumbel", lambda x: rungs_torch.sample(x, draw="gumbel", seed=1),
             lambda x: drawn(torch.softmax(x, -1, dtype=torch.float32)), exact_gumbel),
        cell("sample_top_p", lambda x: rungs_torch.sample(x, top_p=0.9, seed=1), torch_top_p, exact_draws),
    ]  # fmt: skip


def drawn(probabilities):
    """As multinomial draws one, without its checks, for which the host waits."""
    return (probabilities / torch.empty_like(probabilities).exponential_()).argmax(-1)


def torch_top_p(x):
    probabilities, order = torch.softmax(x, -1, dtype=torch.float32).sort(-1, descending=True)
    before = probabilities.cumsum(-1) - probabilities
    token = drawn(probabilities.masked_fill(before >= 0.9, 0))
    return order.gather(-1, token[:, None]).squeeze(-1)


def quantize_cell(name, shape, group):
    rows, columns = shape
    items = rows * columns

    def theirs(x):
        x = x.view(rows, -1, group or columns)
        scale = (x.abs().amax(-1, keepdim=True).float() / 448).clamp(min=2**-126)
        return (x.float() * (1 / scale)).to(torch.float8_e4m3fn).view(rows, columns), scale.squeeze(-1)

    return Cell(name, "bfloat16", shape, lambda x: rungs_torch.quantize_fp8(x, group), theirs,
                lambda: (normal(shape, "bfloat16"),), 3 * items + 4 * items // (group or columns), 20 * items, True,
                exact_codes)  # fmt: skip


def normal(shape, dtype):
    return torch.empty(shape, dtype=getattr(torch, dtype), device="cuda").normal_()


# --- verified: on the first and the last rows, or whole where that is cheap


def ends(x, rows):
    if x.dim() == 0 or x.shape[0] != rows or rows <= 128:
        return x
    return torch.cat((x[:64], x[-64:]))


def exact_rows(cell, tensors, found):
    rows = cell.shape[0]
    # Parameters are as long as a row, and may by chance be as many as rows.
    some = [ends(tensors[0], rows).double()] + [each.double() for each in tensors[1:]]
    exact = cell.theirs(*some)
    found = ends(found, rows).double()
    rounding = 2**-8 if cell.dtype == "bfloat16" else 1e-5
    size = ends(tensors[0], rows).double().abs().sum(-1) * 1e-6 if cell.operation == "sum" else 1e-5
    return bool(((found - exact).abs() <= exact.abs() * rounding + size).all())


def exact_mean(cell, tensors, found):
    """The losses of the first and last rows, and the mean as near to torch's as float32 sums are to each other."""
    logits, target = (ends(each, cell.shape[0]) for each in tensors)
    rounding = 2**-8 if cell.dtype == "bfloat16" else 1e-5
    exact = functional.cross_entropy(logits.double(), target, reduction="none")
    losses = rungs_torch.cross_entropy(logits, target, reduction="none").double()
    mean = float(cell.theirs(*tensors))
    near = abs(float(found) - mean) <= mean * (2**-7 if cell.dtype == "bfloat16" else 1e-4)
    return near and bool(((losses - exact).abs() <= exact.abs() * rounding + 1e-5).all())


def exact_cumsum(cell, tensors, found):
    exact = tensors[0].double().cumsum(0)
    size = tensors[0].double().abs().cumsum(0)
    return bool(((found.double() - exact).abs() <= size * 1e-5 + 1e-6).all())


def exact_integers(cell, tensors, found):
    return bool((found == cell.theirs(*tensors)).all())


def exact_top_k(cell, tensors, found):
    values, columns = found
    exact = tensors[0].sort(dim=-1, descending=True, stable=True)
    k = columns.shape[1]
    return bool((values == exact.values[:, :k]).all() and (columns == exact.indices[:, :k]).all())


def exact_routes(cell, tensors, found):
    logits, weights, experts = (ends(each, cell.shape[0]) for each in (tensors[0], *found))
    exact, order = logits.double().softmax(-1).sort(dim=-1, descending=True, stable=True)
    exact = exact[:, :8] / exact[:, :8].sum(-1, True)
    # Probabilities of different logits may be equal where those are near, so logits decide.
    order = logits.sort(dim=-1, descending=True, stable=True).indices[:, :8]
    return bool((experts == order).all() and ((weights - exact).abs() <= 1e-4 * exact).all())


def exact_draws(cell, tensors, found):
    """By uniform numbers: the set that is kept, and the token drawn from it, as sums in float64 have them. And that a token
    drawn at random is from the set."""
    logits, random = ends(tensors[0], cell.shape[0]), ends(found, cell.shape[0]).long()[:, None]
    top_p, near = (0.9 if "top_p" in cell.operation else 1), 1e-4
    uniforms = torch.rand(logits.shape[0], device="cuda")
    sampled = rungs_torch.sample(logits, top_p=top_p, uniforms=uniforms, details=True)
    token, last = (each.long()[:, None] for each in (sampled.tokens, sampled.last_kept))
    if not all(bool(((each >= 0) & (each < cell.shape[1])).all()) for each in (found, token, last)):
        return False
    order = logits.sort(dim=-1, descending=True, stable=True).indices
    exact = logits.double().softmax(-1).gather(1, order)
    sums = exact.cumsum(1)
    place = torch.empty_like(order).scatter_(1, order, torch.arange(order.shape[1], device="cuda").expand_as(order))
    last, token, random = (place.gather(1, each) for each in (last, token, random))
    mass, own, at = sums.gather(1, last), exact.gather(1, token), sums.gather(1, token)
    wanted = uniforms.double()[:, None] * mass
    kept = (mass >= top_p - near) & (mass - exact.gather(1, last) <= top_p + near)
    return bool((kept & (token <= last) & (random <= last) & (wanted < at + near) & (wanted >= at - own - near)).all())


def exact_gumbel(cell, tensors, found):
    """How often 10 tokens are drawn in 2^16 rows: chi-square, which a right result exceeds once in 10^6."""
    logits = torch.linspace(-1, 1, 10, device="cuda").to(tensors[0].dtype)
    counts = torch.bincount(rungs_torch.sample(logits.expand(1 << 16, 10), draw="gumbel", seed=1), minlength=10)
    exact = logits.double().softmax(-1) * (1 << 16)
    is_token = bool(((found >= 0) & (found < cell.shape[1])).all())
    return is_token and float(((counts - exact) ** 2 / exact).sum()) < 45


def exact_codes(cell, tensors, found):
    x, codes, scales = (ends(each, cell.shape[0]) for each in (tensors[0], found[0].view(torch.uint8), found[1]))
    items = x.float().view(x.shape[0], scales.shape[1], -1)
    greatest = items.abs().amax(-1)
    exact = (greatest / torch.full_like(greatest, 448)).clamp(min=2**-126)  # a divisor of Python is inverted
    exact_codes = (items * (1 / exact)[..., None]).to(torch.float8_e4m3fn).view(x.shape)
    return bool((scales == exact).all() and (codes == exact_codes.view(torch.uint8)).all())


def exact_sums_of_codes(cell, tensors, found):
    x = ends(tensors[0].view(torch.uint8), cell.shape[0]).view(tensors[0].dtype).double()
    return bool(((ends(found, cell.shape[0]).double() - x.sum(-1)).abs() <= x.abs().sum(-1) * 1e-6).all())


# --- timed


class Sampler:
    def __init__(self, samples):
        self.samples = max(2, samples)
        self.flushed = torch.zeros(FLUSH_BYTES // 4, device="cuda")
        self.sink = torch.empty((), device="cuda")

    def sample(self, call):
        """Microseconds of one call, with cold caches; the host is ahead."""
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(400_000)
        torch.sum(self.flushed, dim=None, out=self.sink)
        begin.record()
        call()
        end.record()
        return begin, end

    def measure(self, cell, compiles):
        torch.manual_seed(1)
        tensors = cell.make()
        assert tensors[0].shape == cell.shape, f"{cell.name} is made with the shape {tuple(tensors[0].shape)}"
        entries = {"rungs": lambda: cell.ours(*tensors), "eager": lambda: cell.theirs(*tensors)}
        notes = {}
        verified = cell.exact(cell, tensors, entries["rungs"]())
        if compiles and cell.compiles:
            began = time.monotonic()
            try:
                torch._dynamo.reset()
                compiled = torch.compile(cell.theirs, dynamic=False)
                for _ in range(2):
                    compiled(*tensors)
                torch.cuda.synchronize()
                entries["compiled"] = lambda: compiled(*tensors)
            except Exception as error:  # whatever a compiler may fail with
                notes["not_compiled"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
            notes["compile_seconds"] = round(time.monotonic() - began, 2)
        if cell.writes:
            source = tensors[0].view(-1).view(torch.uint8)[: cell.bytes // 2]
            target = torch.empty_like(source)
            entries["roof_time"] = lambda: target.copy_(source)
        else:
            source = tensors[0].view(torch.float32) if cell.dtype.startswith("float8") else tensors[0]
            entries["roof_time"] = lambda: rungs_torch.sum(source)
        for call in entries.values():
            for _ in range(2):
                call()
        times = {name: [] for name in entries}
        order = list(entries)
        for _ in range(self.samples // 2):
            pending = []
            for name in order + order[::-1]:
                pending.append((name, *self.sample(entries[name])))
            torch.cuda.synchronize()
            for name, begin, end in pending:
                times[name].append(begin.elapsed_time(end) * 1000)
        verified = verified and cell.exact(cell, tensors, entries["rungs"]())
        row = {"cell": cell.name, "operation": cell.operation, "type": cell.dtype, "shape": list(cell.shape),
               "bytes": cell.bytes, "roof": "copy" if cell.writes else "read", "verified": verified}  # fmt: skip
        for name, found in times.items():
            low, median, high = statistics.quantiles(found, n=4)
            row[name] = {"median_us": round(median, 3), "low_us": round(low, 3), "high_us": round(high, 3),
                         "samples": len(found)}  # fmt: skip
        if not verified:
            row["rungs"] = None
            return {**row, **notes}
        ours = row["rungs"]["median_us"]
        best = min(row[name]["median_us"] for name in ("eager", "compiled") if name in row)
        row["gb_per_s"] = round(cell.bytes / ours / 1000, 1)
        row["of_roof"] = round(row["roof_time"]["median_us"] / ours, 4)
        row["speedup"] = round(best / ours, 4)
        return {**row, **notes}


def line(row):
    def microseconds(name):
        return f"{row[name]['median_us']:9.1f}" if row.get(name) else f"{'-':>9}"

    if not row["verified"]:
        return f"{row['cell']:38} WRONG RESULT"
    return (
        f"{row['cell']:38} {microseconds('rungs')} {microseconds('eager')} {microseconds('compiled')} "
        f"{microseconds('roof_time')}  {row['gb_per_s'] / 1000:5.2f} {100 * row['of_roof']:6.1f}% {row['speedup']:7.2f}x"
    )


def summary(rows):
    for operation in dict.fromkeys(row["operation"] for row in rows):
        speedups = [row["speedup"] for row in rows if row["operation"] == operation and row["verified"]]
        if speedups:
            mean = math.exp(statistics.fmean(math.log(each) for each in speedups))
            slower = sum(each < 1 for each in speedups)
            print(f"{operation}: {len(speedups)} cells, {mean:.2f}x the better of torch's, lowest {min(speedups):.2f}x, "
                  f"{slower} slower")  # fmt: skip


def slug(name):
    """As the folders of report/data are called: nvidia-h200."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def said(*command):
    """The first line that a command prints, or None."""
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.split("\n") if done.returncode == 0 else [""]
    return lines[0].strip() or None


def environment(commit):
    properties = torch.cuda.get_device_properties(0)
    return {
        "gpu": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
        "l2_bytes": properties.L2_cache_size,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "rungs": rungs_torch.version(),
        "commit": commit or said("git", "describe", "--always", "--dirty"),
        "driver": said("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "cold_by": f"reading {FLUSH_BYTES >> 20} MiB",
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def write(path, result):
    aside = path.with_name(path.name + ".part")
    written = (json.dumps(result, indent=1) + "\n").encode()
    aside.write_bytes(gzip.compress(written, mtime=0) if path.suffix == ".gz" else written)
    os.replace(aside, path)


if __name__ == "__main__":
    main()
