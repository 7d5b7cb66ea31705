"""Operations on rows beside PyTorch, from what python/bench_torch.py wrote: tables of rows by columns, which a reader scans for the cell
that is not like the others. All numbers of a cell come from one process, whose contenders took turns."""

import statistics
from typing import Any

from rungs_report import published, words
from rungs_report.data import Machine
from rungs_report.page import Page
from rungs_report.words import code, columns, section, spaced, table, text

Cell = dict[str, Any]
TYPES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "float8_e4m3fn": "e4m3", "int32": "i32"}
NAMES = {
    "logsumexp": "log-sum-exp", "sum": "sums", "amax": "greatest items", "cross_entropy": "cross-entropy", "layer_norm": "LayerNorm",
    "rms_norm": "RMSNorm", "topk_64": "top-k of 64", "topk_1024": "top-k of 1,024", "route_8": "routing to 8 experts", "sample": "draws",
    "sample_gumbel": "Gumbel draws", "sample_top_p": "top-p draws", "quantize_fp8_token": "quantisation to fp8 by row",
    "quantize_fp8_128": "quantisation to fp8 by 128 columns", "cumsum": "cumulative sum", "histc_256": "histogram of 256 bins",
    "bincount_256": "counts of 256 values", "bincount_256_known": "counts of 256 values, their number given",
}  # fmt: skip

DRAWS = (
    "Draws of torch are `multinomial` of a softmax, which waits for the GPU. Beside Gumbel draws it divides by exponential noise and takes "
    "`argmax`, which does not wait; beside top-p of 0.9 it sorts and adds up before that.",
    "",
)

SPEEDUPS, SHARES = (1, 1.1, 1.5), (70, 80, 90)  # where a shade begins


def latest(machine: Machine) -> list[Cell]:
    """The latest run's word counts."""
    return list({cell["cell"]: cell for run in machine.torch for cell in run["cells"]}.values())


def verified(machine: Machine, dimensions: int) -> list[Cell]:
    return [cell for cell in latest(machine) if len(cell["shape"]) == dimensions and cell["verified"] and cell["rungs"]]


def cells(machine: Machine) -> list[Cell]:
    """Of rows."""
    return verified(machine, 2)


def measured(machine: Machine) -> bool:
    return bool(cells(machine))


def time(cell: Cell, name: str) -> float | None:
    return (cell.get(name) or {}).get("median_us")


def rival(cell: Cell) -> str:
    """The better of torch's."""
    return min((name for name in ("eager", "compiled") if time(cell, name)), key=lambda name: time(cell, name))


def speedup(cell: Cell) -> float:
    return time(cell, rival(cell)) / time(cell, "rungs")


def share(cell: Cell) -> float:
    """Of the speed of a copy, or of reading alone, in percent."""
    return 100 * time(cell, "roof_time") / time(cell, "rungs")


def spread(cell: Cell) -> float:
    """How far our quartiles lie apart, as a share of the median."""
    return (cell["rungs"]["high_us"] - cell["rungs"]["low_us"]) / cell["rungs"]["median_us"]


def shaded(value: float, *steps: float) -> str:
    """The darker, the more of the three steps are reached: what a heat map's colour says."""
    return "░▒▓█"[sum(value >= step for step in steps)] + " "


def groups(machine: Machine) -> dict[tuple[str, str], list[Cell]]:
    """By operation and type, the shortest rows first."""
    found = words.grouped(sorted(cells(machine), key=lambda cell: cell["shape"][::-1]), lambda cell: (cell["operation"], cell["type"]))
    return dict(sorted(found.items(), key=lambda pair: (pair[0][0], pair[0][1] != "float32")))


def title(operation: str, type_name: str) -> str:
    name = NAMES.get(operation, operation)
    return f"{name[0].upper()}{name[1:]}, {TYPES.get(type_name, type_name)}"


SHADES = (
    f"In the tables by shape ░ is below {SPEEDUPS[0]}x and █ from {SPEEDUPS[2]}x, or a share below {SHARES[0]} % and one from {SHARES[2]} %; "
    f"▒ and ▓ begin at {SPEEDUPS[0]}x and {SPEEDUPS[1]}x, {SHARES[0]} % and {SHARES[1]} %."
)


def briefly(machine: Machine) -> str:
    """The mean speed-up of each operation and type, and at how many shapes torch is faster."""
    told: dict[str, list[str]] = {}
    for (operation, type_name), found in groups(machine).items():
        ratios = [speedup(cell) for cell in found]
        slower = sum(ratio < 1 for ratio in ratios)
        lost = f" (slower at {slower} of {len(ratios)} shapes)" if slower else ""
        told.setdefault(operation, []).append(f"{TYPES.get(type_name, type_name)} {words.ratio(statistics.geometric_mean(ratios))}{lost}")
    lines = [text(f"{NAMES.get(operation, operation)}: {', '.join(own)}") for operation, own in told.items()]
    return "; ".join(["over the better of eager and compiled, cold, in the geometric mean", *lines]) if told else ""


def findings(page: Page) -> list[str]:
    """A line for each operation and type."""
    told = {
        "": lambda found: text(title(found[0]["operation"], found[0]["type"])),
        ">shapes": lambda found: str(len(found)),
        ">over torch": lambda found: words.ratio(statistics.geometric_mean(map(speedup, found))),
        "least": lambda found: f"{words.ratio(min(map(speedup, found)))} at {shape(min(found, key=speedup))}",
        ">slower": lambda found: str(sum(speedup(cell) < 1 for cell in found)),
        "share of a copy or a read": lambda found: " to ".join(words.percent(pick(map(share, found))) for pick in (min, max)),
    }
    runs = page.machine.torch
    beside = words.listed(sorted({f"torch {text(run['environment']['torch'])}" for run in runs}))
    lines = spaced(f"`rungs_torch` beside {beside}: over the better of eager and compiled, cold. {SHADES}", columns(groups(page.machine).values(), told))
    if bad := [cell for cell in latest(page.machine) if not cell["verified"]]:
        lines += spaced(f"Not verified, and without a time: {words.listed([code(cell['cell']) for cell in bad])}.")
    return lines


def shape(cell: Cell) -> str:
    return " x ".join(words.size(each) for each in cell["shape"])


def grid(found: list[Cell], written: Any) -> list[str]:
    """Rows down, columns across."""
    columns = sorted({cell["shape"][1] for cell in found})
    by_shape = {tuple(cell["shape"]): cell for cell in found}
    lines = [
        [words.size(rows), *(written(by_shape[rows, size]) if (rows, size) in by_shape else "" for size in columns)]
        for rows in sorted({cell["shape"][0] for cell in found}, reverse=True)
    ]
    return spaced(table(["rows \\ columns", *(f">{words.size(size)}" for size in columns)], lines))


def told(cell: Cell) -> str:
    """The speed-up and the share, each with its shade."""
    faster = f"{shaded(speedup(cell), *SPEEDUPS)}{words.ratio(speedup(cell))}{' c' * (rival(cell) == 'compiled')}"
    return f"{faster}, {shaded(share(cell), *SHARES)}{words.percent(share(cell))}"


def times(cell: Cell) -> str:
    return " / ".join(words.significant(time(cell, name)) for name in ("rungs", rival(cell)))


def tables(page: Page) -> list[str]:
    """Speed-up, share and times of every operation and type: one grid where rows have one length, else two."""
    lines = []
    for (operation, type_name), found in groups(page.machine).items():
        roof = "a copy" if found[0]["roof"] == "copy" else "reading alone"
        about = f"Over the better of torch's (c: compiled), the share of the speed of {roof}"
        lines += spaced(f"## {text(title(operation, type_name))}")
        if len({cell["shape"][1] for cell in found}) > 1:
            lines += spaced(f"{about}:", grid(found, told), "Ours / torch's, µs:", grid(found, times))
        else:
            lines += spaced(f"{about}, and ours / torch's time:", grid(found, lambda cell: f"{told(cell)}, {times(cell)} µs"))
    return lines


def arrays(page: Page) -> list[str]:
    """A line for each call on an array of one dimension."""
    found = sorted(verified(page.machine, 1), key=lambda cell: (cell["operation"], cell["type"], cell["shape"]))
    told = {
        "": lambda cell: text(title(cell["operation"], cell["type"])),
        ">items": lambda cell: words.size(cell["shape"][0]),
        ">ours": lambda cell: words.time(time(cell, "rungs")),
        ">torch's (c: compiled)": lambda cell: words.time(time(cell, rival(cell))) + " c" * (rival(cell) == "compiled"),
        ">over torch": lambda cell: words.ratio(speedup(cell)),
        ">share": lambda cell: f"{words.percent(share(cell))} of {cell['roof']}",
    }
    return section("## Arrays", columns(found, told))


def beside_quack(page: Page) -> list[str]:
    """Published shares of peak on the same shapes, where the GPU is the one they are of."""
    gpus = sorted({run["environment"]["gpu"] for run in page.machine.torch})
    return published.beside(cells(page.machine), gpus, lambda operation: text(title(operation, published.TYPE)))


def how(page: Page) -> list[str]:
    """What was measured, and with what."""
    of = {
        "began": lambda run: text(run["environment"]["began"]),
        "GPU": lambda run: text(run["environment"]["gpu"]),
        "driver": lambda run: text(run["environment"]["driver"] or words.UNKNOWN),
        "torch": lambda run: text(f"{run['environment']['torch']}, CUDA {run['environment']['cuda']}"),
        "commit": lambda run: code(run["environment"]["commit"] or run["environment"]["rungs"]),
        ">cells": lambda run: str(len(run["cells"])),
        ">compiled": lambda run: str(sum(bool(cell.get("compiled")) for cell in run["cells"])),
        "caches emptied by": lambda run: text(run["environment"]["cold_by"]),
    }
    wide = max(cells(page.machine), key=spread)
    return spaced(
        "## How this was measured",
        "`python/bench_torch.py` times one call of each contender on the same tensors, in turns, in one process. Caches are emptied "
        "before each call. The roof is timed with them: `copy_` of torch of as many bytes for what writes rows, the sum of all items for "
        "what is only read. Every cell is verified, in float64 or bit for bit. Times are medians.",
        DRAWS if any(cell["operation"].startswith("sample") for cell in cells(page.machine)) else (),
        f"The quartiles of ours lie {words.percent(100 * spread(wide))} of the median apart at most ({code(wide['cell'])}).",
        columns(page.machine.torch, of),
    )
