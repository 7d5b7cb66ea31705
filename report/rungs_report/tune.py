"""The front door's tables, written from the committed results: which rung answers which call.

A table is a list of steps, read by best/rungs/tuning/table.cuh. At every size that was measured the rung is taken that is
least behind the best one; of histograms, whose speed depends on the samples, the rung whose worst distribution is. A rung
is kept from one size to the next while that costs less than GAIN. Where the next one begins is estimated between the two sizes: each
time is taken to be linear there, a cost of the call and one of the items. Times of different runs meet as
multiples of CUB's time in the same run, so that a run need not hold every rung.
What was not measured is answered by what is most like it: sums stand for other operators, even bins for edges of as many bins, and
samples of one width for those of another. The grid of histograms counts as the suite does; of what is held out no table is made: it
says how good the tables are (regret.py).
"""

import math
import re
import string
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rungs_report import data, words
from rungs_report.data import Cell, Machine, Run, Unusable, Variant

GAIN = 0.02  # CUB's two entries in a cell differ by more
POINTS = 16  # between two measured sizes a crossover is sought at so many, less one
LEAST = 75  # the compute capability from which on the rungs run
SIZES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "f32": 4}  # all others: 8
CLASSES = {"plus": "sum", "minimum": "order", "maximum": "order", "compose": "any"}


Candidates = dict[str, Variant]  # the rungs that the front door may come to, by their names in the table
CLUSTER = "compact_cluster"


def _of(ladder: str, *rungs: str) -> Candidates:
    return {rung: Variant("cluster" if rung == CLUSTER else "handwritten", ladder, rung) for rung in rungs}


# In the order of the enumeration. cooperative_grid is not among them: its header alone takes 1.5 s to compile.
REDUCE = _of("reductions", "one_block", CLUSTER, "two_passes", "tagged_aggregates")
SCAN = _of("scans", "one_block", CLUSTER, "tagged_look_back", "tagged_wave", "claimed_pipeline")
HISTOGRAM = _of("histograms", "one_block", "overlapped_clear", "lane_private", "split_bins", "hot_bins", CLUSTER)

# The tables of reductions and scans: operations, candidates, what the file says of itself, and the rung for chips that were never measured
# and for what is not read by vectors: no clusters, nothing that asks for sm_90.
FLAT = {
    "reduce": (("reduce",), REDUCE, "Which rung reduces: see table.cuh.", "tagged_aggregates"),
    "scan": (("inclusive_scan", "exclusive_scan"), SCAN, "Which rung scans: see table.cuh.", "tagged_look_back"),
}
UNMEASURED_HISTOGRAM = ("split_bins", "hot_bins", 65537)  # likewise; from that many bins on the second one
MOST_COMPACT_BINS = 3000
MANY_SAMPLES = 1048577  # beyond the most edges measured the second one is taken for so many, since the first reads them once a part
ONE_BLOCK_UP_TO = 4096


class Times(NamedTuple):
    """One cell over all runs: microseconds of every candidate that was measured there, and of the fastest CUB."""

    cell: Cell
    runs: tuple[str, ...]
    of: dict[str, float]
    cub: float | None


def _over_runs(cell: Cell, runs: list[Run], candidates: Candidates) -> Times | None:
    """Of each CCCL release the median multiple of CUB's time, times the median of those; the median over the releases. Where CUB
    was not measured, a time stands for itself."""
    told: dict[str, list[tuple[dict[str, float], float | None]]] = {}
    names = []
    for run in runs:
        rows = run.cells.get(cell, {})
        of = {name: rows[variant].median_us for name, variant in candidates.items() if variant in rows}
        if of:
            names.append(run.name)
            cub = min((row.median_us for variant, row in rows.items() if data.is_cub(variant)), default=None)
            told.setdefault(run.cccl, []).append((of, cub))
    estimates: dict[str, list[float]] = {}
    middles = []
    for own in told.values():
        unit = words.median(cub for _, cub in own)
        middles.append(unit)
        for name in {name for of, _ in own for name in of}:
            multiples = [of[name] / (cub or 1.0) for of, cub in own if name in of]
            estimates.setdefault(name, []).append(words.median(multiples) * (unit or 1.0))
    if not estimates:
        return None
    of = {name: words.median(estimates[name]) for name in candidates if name in estimates}
    return Times(cell, tuple(names), of, min((cub for cub in middles if cub is not None), default=None))


def times(machine: Machine, cells: Iterable[Cell], candidates: Candidates) -> list[Times]:
    found = (_over_runs(cell, machine.runs, candidates) for cell in cells)
    return [each for each in found if each is not None]


def middle(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def behind(measured: list[Times], together: Callable[[Iterable[float]], float]) -> dict[str, float]:
    """How far every rung that was measured in all of these is behind the best of each."""
    everywhere = set.intersection(*(set(each.of) for each in measured))
    return {name: together(each.of[name] / min(each.of.values()) for each in measured) for name in sorted(everywhere)}


class Step(NamedTuple):
    begins: int
    rung: str
    evidence: str


def evidence(measured: list[Times], rung: str, items: int) -> str:
    cub = [each.cub for each in measured if each.cub is not None]
    against = f", CUB {middle(cub):.2f}" if len(cub) == len(measured) else ""
    cells = {each.cell for each in measured}
    types = " ".join(sorted({cell.input_type for cell in cells}))
    operators = " ".join(sorted({cell.operator or cell.operation.removeprefix("histogram_") for cell in cells}))
    runs = " and ".join(sorted({run for each in measured for run in each.runs}))
    took = f"{middle(each.of[rung] for each in measured):.2f} us{against}"
    return f"at {words.size(items)} {took}; {operators} of {types}, {words.plural(len(cells), 'cell')} of {runs}"


def _linear(lower: list[Times], upper: list[Times], items: int) -> list[Times]:
    """What was measured at both sizes, at a size between."""
    above = {each.cell._replace(items=0): each for each in upper}
    found = []
    for low in lower:
        if high := above.get(low.cell._replace(items=0)):
            share = (items - low.cell.items) / (high.cell.items - low.cell.items)
            of = {rung: us + (high.of[rung] - us) * share for rung, us in low.of.items() if rung in high.of}
            found.append(Times(low.cell._replace(items=items), (), of, None))
    return found


def _between(lower: list[Times], upper: list[Times], leaving: str, coming: str, together: Callable[[Iterable[float]], float]) -> list[tuple[int, str]]:
    """From where on which rung is the fastest, up to the larger size, at which `coming` is; right behind the smaller size where nothing
    tells."""
    first, last = lower[0].cell.items, upper[0].cell.items
    found: list[tuple[int, str]] = []
    for point in range(1, POINTS):
        items = math.ceil(first * (last / first) ** (point / POINTS))
        here = _linear(lower, upper, items)
        far = behind(here, together) if here else {}
        current = found[-1][1] if found else leaving
        if current not in far or coming not in far:
            return [*found, (max(first, found[-1][0] if found else 0) + 1, coming)]
        if far[coming] <= far[current]:
            return [*found, (items, coming)]
        best = min(far, key=far.__getitem__)
        if far[current] > far[best] * (1 + GAIN):
            found.append((items, best))
    return [*found, (last, coming)]


def steps(measured: list[Times], together: Callable[[Iterable[float]], float]) -> list[Step]:
    """From no items on."""
    by_items = words.grouped(measured, lambda each: each.cell.items)
    found: list[Step] = []
    before: list[Times] = []
    for items, here in sorted(by_items.items()):
        far = behind(here, together)
        if not far:
            continue
        best = min(far, key=far.__getitem__)
        kept = found[-1].rung if found else best
        if kept not in far or far[kept] > far[best] * (1 + GAIN):
            kept = best
        if not found:
            found.append(Step(0, kept, evidence(here, kept, items)))
        elif kept != found[-1].rung:
            around = f"estimated between {words.size(before[0].cell.items)} and {words.size(items)}"
            for begins, rung in _between(before, here, found[-1].rung, kept, together):
                found.append(Step(begins, rung, evidence(here, kept, items) if rung == kept else around))
        before = here
    return found


def _row(columns: Iterable[str | int | bool], comment: str) -> str:
    told = ", ".join(str(column).lower() if isinstance(column, bool) else str(column) for column in columns)
    return f"    {{{told}}},  // {comment}"


def _file(name: str, about: str, rungs: list[str], row: str, rows: list[str], collection: data.Collection) -> str:
    machines = [machine for _, machine in _measured(collection)]
    known = set(rungs)
    runs = sorted(
        run.name
        for machine in machines
        for run in machine.runs
        if any(variant.rung in known and variant.ladder[:4] == name[:4] for of_cell in run.cells.values() for variant in of_cell)
    )
    if len(runs) > len(string.ascii_uppercase):
        raise Unusable(f"{len(runs)} runs have rungs of {name}, and a table names at most {len(string.ascii_uppercase)}: choose some by --runs")
    letters = dict(zip(runs, string.ascii_uppercase, strict=False))
    for run, letter in letters.items():
        rows = [row.replace(run, letter) for row in rows]
    told = "".join(f"\n// Run {letter} is {run}." for run, letter in letters.items())
    devices = " and ".join(machine.name for machine in machines) or "no GPU yet"
    derived = ""
    if len(_sources(collection, {})) > len(machines):
        derived = f"""
// Rows of {LEAST} are derived, for no such chip was measured: they are of {machines[0].name}'s runs, without the rungs that do
// not run there."""
    return f"""// Generated by report/run tune from report/data. Do not edit.
//
// {about}
// Measured on {devices}. A row says what the first size that was measured in it took, as the
// geometric mean over the cells that it was chosen by, and what the fastest of CUB's calls took there.
// Where it begins between two sizes is estimated.{derived}{told}
#pragma once

#include "rungs/tuning/table.cuh"

namespace rungs::RUNGS_ABI::tuning {{

// clang-format off
enum class {name}_rung : unsigned char {{ {", ".join(rungs)} }};

inline constexpr {row}<{name}_rung> {name}_rows[] = {{
{chr(10).join(rows)}
}};
// clang-format on

}}  // namespace rungs::RUNGS_ABI::tuning
"""


def _measured(collection: data.Collection) -> list[tuple[int, Machine]]:
    found = [(int(machine.device["compute_capability"]), machine) for machine in collection.machines if machine.device]
    capabilities = [capability for capability, _ in found]
    if len(set(capabilities)) != len(capabilities):
        names = words.listed([machine.gpu for _, machine in found])
        raise Unusable(f"two GPUs of one compute capability, and a table has one row for both; name one with --gpu ({names})")
    return sorted(found, key=lambda pair: pair[0])


def on_least(machine: Machine, candidates: Candidates) -> Candidates:
    """The rungs that run on every chip."""
    return {name: variant for name, variant in candidates.items() if machine.variants.get(variant, {}).get("min_cc", LEAST) <= LEAST}


def _sources(collection: data.Collection, candidates: Candidates) -> list[tuple[int, Machine, Candidates]]:
    """What the rows of each compute capability are made of. Chips below all that were measured take the lowest one's runs, of the rungs
    that run there."""
    measured = [(capability, machine, candidates) for capability, machine in _measured(collection)]
    if not measured or measured[0][0] <= LEAST:
        return measured
    lowest = measured[0][1]
    return [(LEAST, lowest, on_least(lowest, candidates)), *measured]


def _cells(machine: Machine, operations: tuple[str, ...]) -> list[Cell]:
    return [cell for cell in machine.cells if cell.operation in operations and cell.mode == "cold"]


def _bytes(cell: Cell) -> int:
    return SIZES.get(cell.input_type, 8)


def _sizes(cells: Iterable[Cell]) -> list[tuple[int, int]]:
    """The bytes of an item that were measured, and from how many on that answers: the least also for narrower items."""
    return [(size if position else 0, size) for position, size in enumerate(sorted({_bytes(cell) for cell in cells}))]


def _filled(own: list[Cell], others: Iterable[Cell]) -> list[Cell]:
    """These cells, and the others at sizes that these lack."""
    known = {cell.items for cell in own}
    return own + [cell for cell in others if cell.items not in known]


def _flat(collection: data.Collection, name: str) -> str:
    operations, candidates, about, unmeasured = FLAT[name]
    rows = [
        _row(("operators::sum", 0, 0, begins, f"{name}_rung::{rung}"), "not measured")
        for begins, rung in ((0, "one_block"), (ONE_BLOCK_UP_TO + 1, unmeasured))
    ]
    of_sums: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for operation in ("sum", "order", "any"):
        start = f"operators::{operation}"
        for capability, machine, own_candidates in _sources(collection, candidates):
            cells = _cells(machine, operations)
            for begins, size in _sizes(cells):
                of_size = [cell for cell in cells if _bytes(cell) == size]
                own, sums = ([cell for cell in of_size if CLASSES[cell.operator] == kind] for kind in (operation, "sum"))
                found = steps(times(machine, _filled(own, sums), own_candidates), middle)
                decided = [(step.begins, step.rung) for step in found]
                if operation != "sum" and decided == of_sums[capability, begins]:
                    continue
                of_sums.setdefault((capability, begins), decided)
                for step in found:
                    rows.append(_row((start, capability, begins, step.begins, f"{name}_rung::{step.rung}"), step.evidence))
    return _file(name, about, list(candidates), "row", rows, collection)


def _of_edges(own: list[Cell], even: list[Cell], size: int) -> dict[int, list[Cell]]:
    """The cells of edges by their number of bins: of samples of that size, or of others if there are none, and even bins where only
    these were measured with so many samples. Not even bins where there were no edges: they are found by a multiplication, so what wins
    with more of them says nothing about edges."""
    mine = [c for c in own if _bytes(c) == size] or [c for c in own if size > 1 and _bytes(c) > 1]
    found = words.grouped(mine, lambda cell: cell.sizes["bins"])
    alike = [c for c in even if _bytes(c) == size]
    return {bins: _filled(cells, [c for c in alike if c.sizes["bins"] == bins]) for bins, cells in found.items()} or _stand_ins(own, even, size)


def _stand_ins(own: list[Cell], even: list[Cell], size: int) -> dict[int, list[Cell]]:
    """The cells of samples of that size by their number of bins; beyond the most bins of theirs, other cells. A byte has
    no more than 256 values, and needs none."""
    found: dict[int, list[Cell]] = {}
    for pool in ([c for c in own if _bytes(c) == size], [c for c in even if _bytes(c) == size], even):
        most = max(found, default=0)
        for cell in pool:
            if cell.sizes["bins"] > most and (size > 1 or not found or _bytes(cell) == size):
                found.setdefault(cell.sizes["bins"], []).append(cell)
    return found


def _counting(candidates: Candidates, bins: int) -> Candidates:
    """Of more bins than a small cluster holds, compact_cluster's time is split_bins'."""
    return {rung: variant for rung, variant in candidates.items() if rung != CLUSTER or bins <= MOST_COMPACT_BINS}


def _by_bins(machine: Machine, candidates: Candidates, start: tuple[bool, int, int], by_bins: dict[int, list[Cell]]) -> list[str]:
    rows: list[str] = []
    before, last = -1, None
    for bins, of_bins in sorted(by_bins.items()):
        found = steps(times(machine, of_bins, _counting(candidates, bins)), max)
        chosen = [(step.begins, step.rung) for step in found]
        if found and chosen != last:
            for step in found:
                columns = (*start, before + 1 if last else 0, step.begins, f"histogram_rung::{step.rung}")
                rows.append(_row(columns, f"{words.size(bins)} bins {step.evidence}"))
            last = chosen
        before = bins
    return rows


def _beyond(start: tuple[bool, int, int], bins: int) -> list[str]:
    """For more edges than were measured."""
    few, many, from_bins = UNMEASURED_HISTOGRAM
    answers = [(bins, 0, few)] if bins < from_bins else []
    answers += [(max(bins, from_bins), 0, few), (max(bins, from_bins), MANY_SAMPLES, many)]
    return [_row((*start, *at, f"histogram_rung::{rung}"), "not measured") for *at, rung in answers]


def with_grid(machine: Machine) -> Machine:
    """The machine with the grid of histograms among its runs."""
    grid = machine.grids.get(data.HISTOGRAMS)
    return replace(machine, runs=[*machine.runs, *grid.runs]) if grid else machine


def histogram_table(collection: data.Collection) -> str:
    collection = replace(collection, machines=[with_grid(machine) for machine in collection.machines])
    rows = []
    few, many, from_bins = UNMEASURED_HISTOGRAM
    for has_edges, operation in ((False, "histogram_even"), (True, "histogram_range")):
        rows.append(_row((has_edges, 0, 0, 0, 0, f"histogram_rung::{few}"), "not measured"))
        rows.append(_row((has_edges, 0, 0, from_bins, 0, f"histogram_rung::{many}"), "not measured"))
        for capability, machine, candidates in _sources(collection, HISTOGRAM):
            even, own = _cells(machine, ("histogram_even",)), _cells(machine, (operation,))
            for begins, size in _sizes(own + even):
                by_bins = _of_edges(own, even, size) if has_edges else _stand_ins(own, even, size)
                rows += _by_bins(machine, candidates, (has_edges, capability, begins), by_bins)
                if has_edges and size > 1:
                    rows += _beyond((has_edges, capability, begins), max(by_bins, default=0) + 1)
    about = "Which rung makes a histogram: see table.cuh. Chosen by the distribution of samples that suits it least."
    return _file("histogram", about, list(HISTOGRAM), "histogram_row", rows, collection)


def named_runs(tables: Path) -> list[str]:
    """The runs that the tables in a folder say they were made from. A later run changes no table before tune is asked to: what the
    front door takes, and what was tested and measured of it, stays as it is."""
    return sorted({name for path in sorted(tables.glob("*.cuh")) for name in re.findall(r"^// Run [A-Z] is (\S+)\.$", path.read_text(), re.M)})


def preferring(collection: data.Collection, gpu: str | None) -> data.Collection:
    """Without the other GPUs of this one's compute capability."""
    if gpu is None:
        return collection
    capabilities = {machine.gpu: machine.device["compute_capability"] for machine in collection.machines if machine.device}
    if gpu not in capabilities:
        raise Unusable(f"there are no results of {gpu}; there are those of {words.listed(sorted(capabilities))}")
    kept = [machine for machine in collection.machines if machine.gpu == gpu or capabilities.get(machine.gpu) != capabilities[gpu]]
    return replace(collection, machines=kept)


def files(collection: data.Collection, runs: list[str] | None = None) -> dict[str, str]:
    """The tables by their names in best/rungs/tuning, from the runs of these names, or from all."""
    if runs is not None:
        known = {run.name for machine in collection.machines for run in with_grid(machine).runs}
        if missing := sorted(set(runs) - known):
            raise Unusable(f"there is no run {' and no run '.join(missing)}")

        def among(machine: Machine) -> Machine:
            grids = {name: among(grid) for name, grid in machine.grids.items()}
            return replace(machine, runs=[run for run in machine.runs if run.name in runs], grids=grids)

        machines = [machine for machine in map(among, collection.machines) if with_grid(machine).runs]
        if lacking := [machine.gpu for machine in machines if not machine.runs]:
            raise Unusable(f"of {' and '.join(lacking)} only runs of a grid are named, which holds histograms: name one of the suite, too")
        collection = replace(collection, machines=machines)
    return {f"{name}.cuh": _flat(collection, name) for name in FLAT} | {"histogram.cuh": histogram_table(collection)}


def folder(root: Path) -> Path:
    return root / "best" / "rungs" / "tuning"
