"""report/run choose: what to take for one problem, and what was measured of it in each mode."""

from collections.abc import Iterator
from pathlib import Path

from rungs_report import charts, compare, export, front_door, tune, words
from rungs_report.choose import DOORS
from rungs_report.data import Cell, Machine, Run
from rungs_report.export import Question

MODES = {"cold": "in a stream, cold", "warm": "in a stream, warm", "graph": "in a captured graph"}
CALLS = {"reduce": "reductions", "inclusive_scan": "scans", "exclusive_scan": "scans", "histogram_even": "histograms", "histogram_range": "histograms"}


def nearest(machine: Machine, asked: Question, mode: str) -> tuple[Cell | None, bool]:
    """The measured cell that tells most of this mode, and whether it has the types that were asked for: else those whose items are
    nearest in bytes, and of these floats first."""

    def far(cell: Cell) -> tuple[float, bool, float, bool, Cell]:
        bytes_of, bytes_asked = (tune.SIZES.get(each, 8) for each in (cell.input_type, asked.types[0]))
        apart = max(cell.items, asked.items) / min(cell.items, asked.items)
        return max(bytes_of, bytes_asked) / min(bytes_of, bytes_asked), not cell.input_type.startswith("f"), apart, cell.distribution != "uniform", cell

    found = [cell for cell in machine.cells if machine.is_problem(cell) and export.asked_for(cell, asked, mode, any_type=True)]
    exact = [cell for cell in found if export.asked_for(cell, asked, mode)]
    return min(exact or found, key=far, default=None), bool(exact)


def told(machine: Machine, cell: Cell, asked: Question) -> str:
    """Times of one run, the newest that tells most: the front door's time, CUB's, and that of a rung."""
    found = sorted((len(said := list(times(machine, run, cell, asked))), run.name, ", ".join(said)) for run in machine.runs if cell in run.cells)
    _, name, said = found[-1]
    return f"{said} (run {name})"


def times(machine: Machine, run: Run, cell: Cell, asked: Question) -> Iterator[str]:
    medians = {variant: row.median_us for variant, row in run.cells[cell].items() if row.median_us}
    ours = {v: t for v, t in medians.items() if export.allowed(machine, asked, v) and not machine.variants[v].get("waits_for_host")}
    for says, own in (
        ("the front door", {v: t for v, t in medians.items() if compare.is_door(v)}),
        (f"CUB {run.cccl}", {v: t for v, t in medians.items() if compare.is_cub(v)}),
    ):
        if own:
            yield f"{says} {words.time(min(own.values()))}"
    if ours:
        best = min(ours, key=lambda variant: (ours[variant], machine.order[variant]))
        yield f"the fastest rung {best.rung} {words.time(ours[best])}"


def answer(machine: Machine, asked: Question, terms: list[str], root: Path) -> list[str]:
    found = export.winner(machine, asked, root)
    rung = f"{found.variant.rung} ({found.facts['source']})"
    call = DOORS.get(CALLS.get(asked.operation, ""))
    if found.by_table and call:
        take = f"{call}, which launches {rung}"
    else:
        take = f"{rung}, the fastest at {words.size(found.cell.items)} of what keeps the conditions"
    lines = [f"{machine.name}, {export.describe(asked)}, n = {words.size(asked.items)}", f"  take: {take}"]
    for mode, says in MODES.items():
        cell, exact = nearest(machine, asked, mode)
        if cell is None:
            lines.append(f"  {says}: not measured")
            continue
        instead = "" if exact else f"no {asked.types[0]} was measured; "
        lines.append(f"  {says}: {instead}{charts.describe(cell._replace(mode=''))} of {words.size(cell.items)}: {told(machine, cell, asked)}")
    options = [f"--workspace={asked.contract}"] * bool(asked.contract) + ["--repeatable"] * asked.repeatable + ["--measured"] * asked.measured
    lines.append(f"  as one header: report/run export {' '.join([*terms, *options])} --gpu={machine.gpu}")
    return lines
