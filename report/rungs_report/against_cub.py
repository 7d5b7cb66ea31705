"""The front door beside CUB: every cell that its rungs met CUB in, by call, and all cells in which a call of ours is slower."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from rungs_report import by_key, charts, compare, words
from rungs_report.data import Cell, Machine, Row, Run
from rungs_report.page import MARKS, Page
from rungs_report.storage import Storage
from rungs_report.words import code, spaced, table, text

# Operations and operators of result files, in the order of the page: the call, and where the whole ladder is.
CALLS = {
    ("reduce", "plus"): ("DeviceReduce::Sum", "reductions.md"),
    ("reduce", "minimum"): ("DeviceReduce::Min, Max", "reductions.md"),
    ("reduce", "maximum"): ("DeviceReduce::Min, Max", "reductions.md"),
    ("arg_extremum", "minimum"): ("DeviceReduce::ArgMin, ArgMax", "extrema.md"),
    ("arg_extremum", "maximum"): ("DeviceReduce::ArgMin, ArgMax", "extrema.md"),
    ("arg_extremum", "both"): ("DeviceReduce::ArgMinMax", "extrema.md"),
    ("row_reduce", "plus"): ("DeviceSegmentedReduce::Sum", "rows.md"),
    ("inclusive_scan", "plus"): ("DeviceScan::InclusiveSum", "scans.md"),
    ("inclusive_scan", "maximum"): ("DeviceScan::InclusiveScan", "scans.md"),
    ("inclusive_scan", "compose"): ("DeviceScan::InclusiveScan", "scans.md"),
    ("exclusive_scan", "plus"): ("DeviceScan::ExclusiveSum", "scans.md"),
    ("histogram_even", ""): ("DeviceHistogram::HistogramEven", "histograms.md"),
    ("histogram_range", ""): ("DeviceHistogram::HistogramRange", "histograms.md"),
    ("select_if", ""): ("DeviceSelect::If", "selections.md"),
    ("top_k", ""): ("DeviceBatchedTopK::MaxPairs", "top_k.md"),
}
NOTES = {
    "DeviceReduce::ArgMinMax": "CUB has no such call before 3.6: its `ArgMin`, then its `ArgMax` stand beside ours.",
    "DeviceSegmentedReduce::Sum": "Segments of one size, which are rows of a matrix. CUB's faster of the calls for one size and between offsets.",
    "DeviceBatchedTopK::MaxPairs": "Where CUB has no top-k, its stable radix sort stands beside ours.",
}
MODES = ("cold", "warm", "graph")
SAID = {"FASTER": "faster", "SLOWER": "**slower**", "SAME": "level", "AMBIGUOUS": "undecided"}
FULL, FEW = "f32", 10  # the type that has a line for each size, where these are more than a few; others share one


class Met(NamedTuple):
    """The front door in one cell beside one release."""

    run: Run
    row: Row

    @property
    def cub_us(self) -> float:
        """CUB's fastest entry's time: the speed-up is over that."""
        return self.row.median_us * self.row.speedup_over_cub


@dataclass(frozen=True)
class Stand:
    """A cell of the front door's, with what it met: the latest run beside each release."""

    cell: Cell
    met: dict[str, Met]

    @cached_property
    def decisive(self) -> tuple[str, Met]:
        """The release that leaves us the lowest speed-up."""
        return min(self.met.items(), key=lambda item: item[1].row.speedup_over_cub)

    @property
    def speedup(self) -> float:
        return self.decisive[1].row.speedup_over_cub

    @property
    def verdict(self) -> str:
        return self.decisive[1].row.verdict

    @property
    def latest(self) -> Row:
        return max(self.met.values(), key=lambda met: met.run.name).row


@cache
def stands(machine: Machine) -> dict[str, list[Stand]]:
    """By call, in the page's order."""
    found: dict[Cell, dict[str, Met]] = {}
    for run in machine.runs:
        for cell, rows in run.cells.items():
            for variant, row in rows.items():
                if compare.is_door(variant) and row.speedup_over_cub and row.verdict and (cell.operation, cell.operator) in CALLS:
                    found.setdefault(cell, {})[run.cccl] = Met(run, row)
    order = list(CALLS)
    cells = sorted(found, key=lambda cell: (order.index((cell.operation, cell.operator)), place(cell)))
    return words.grouped(cells, lambda cell: CALLS[cell.operation, cell.operator][0], lambda cell: Stand(cell, found[cell]))


def place(cell: Cell) -> tuple[object, ...]:
    """Shapes and sizes up; of a size its modes."""
    mode = MODES.index(cell.mode) if cell.mode in MODES else len(MODES)
    return (cell.sizes.get("bins", 0), cell.items, tuple(cell.sizes.values()), mode, cell.input_type)


def measured(machine: Machine) -> bool:
    return bool(stands(machine))


def releases(found: Iterable[Stand]) -> list[str]:
    return sorted({release for each in found for release in each.met}, key=compare.version_key)


def all_releases(page: Page) -> list[str]:
    return releases(each for found in stands(page.machine).values() for each in found)


# ---- how a cell is written


def ratios(stand: Stand, of: list[str]) -> str:
    """1.21x / 1.15x =, by release."""
    told = [words.ratio(stand.met[each].row.speedup_over_cub) if each in stand.met else words.UNKNOWN for each in of]
    return " / ".join(told) + MARKS[stand.verdict]


def shape(cell: Cell) -> str:
    """What the problem has beside its number of items: 256 bins; 64 x 131,072, k = 8; 50 % chosen."""
    sizes = cell.sizes
    if "rows" in sizes:
        return f"{sizes['rows']:,} x {sizes['columns']:,}" + (f", k = {sizes['k']:,}" if "k" in sizes else "")
    if "percent" in sizes:
        return f"{sizes['percent']} % chosen"
    return f"{sizes['bins']:,} bins" if list(sizes) == ["bins"] else text(cell.shape)


def naming(found: list[Stand], size: bool = True) -> tuple[list[str], Callable[[Cell], list[str]]]:
    """The first columns of a table, and what stands in them: no more than tells the cells apart."""
    told: list[tuple[str, Callable[[Cell], str]]] = []
    if len({each.cell.operator for each in found}) > 1:
        told.append(("operator", lambda cell: {"compose": "affine maps"}.get(cell.operator, cell.operator)))
    if any(each.cell.shape for each in found):
        told.append(("shape", shape))
    if size:
        told += [(">n", lambda cell: words.size(cell.items)), ("mode", lambda cell: cell.mode)]
    return [header for header, _ in told], lambda cell: [tell(cell) for _, tell in told]


def whole(found: list[Stand]) -> list[str]:
    """A line for each cell."""
    headers, named = naming(found)
    of = releases(found)
    headers = headers + [column for each in of for column in (">ours, µs", f">CUB {text(each)}, µs", ">speed-up")] + ["verdict", ">workspace, bytes", ">CUB's"]
    rows = []
    for stand in found:
        row = named(stand.cell)
        for release in of:
            met = stand.met.get(release)
            row += [words.significant(met.row.median_us), words.significant(met.cub_us), words.ratio(met.row.speedup_over_cub)] if met else [words.UNKNOWN] * 3
        rows.append([*row, SAID[stand.verdict], f"{int(stand.latest.workspace_bytes or 0):,}", words.span(cubs_bytes(stand))])
    return spaced(table(headers, rows))


def compact(found: list[Stand]) -> list[str]:
    """A line for each size, a column for each type."""
    headers, named = naming(found)
    of = releases(found)
    fields: dict[tuple[str, ...], dict[str, str]] = {}
    for stand in found:
        _, met = stand.decisive
        told = f"{words.significant(met.row.median_us)} : {words.significant(met.cub_us)}, {ratios(stand, of)}"
        fields.setdefault(tuple(named(stand.cell)), {})[stand.cell.input_type] = told
    types = sorted({each.cell.input_type for each in found}, key=lambda each: (each != FULL, each))
    return spaced(table([*headers, *types], [[*names, *(own.get(each, words.UNKNOWN) for each in types)] for names, own in fields.items()]))


def spread(found: list[Stand]) -> list[str]:
    """The speed-ups of samples that are not uniform, over all sizes."""
    headers, named = naming(found, size=False)
    ordered = sorted(found, key=lambda each: (each.cell.input_type, place(each.cell)))
    columns = list(dict.fromkeys(charts.distribution(each.cell.distribution) for each in found))
    rows = []
    for names, alike in words.grouped(ordered, lambda each: (each.cell.input_type, *named(each.cell))).items():
        own = words.grouped(alike, lambda each: charts.distribution(each.cell.distribution), lambda each: each.speedup)
        rows.append([*names, *(words.ratio(min(own[each]) if each in own else None) for each in columns)])
    return spaced(
        "Other distributions, the lowest speed-up over all n ([each n](histograms.md)):",
        table(["type", *headers, *(f">{each}" for each in columns)], rows),
    )


# ---- the sections


def line(name: str, mode: str, found: list[Stand]) -> list[str]:
    verdicts = Counter(each.verdict for each in found)
    speedups = [each.speedup for each in found]
    faster, slower = verdicts["FASTER"], verdicts["SLOWER"]
    told = [statistics.geometric_mean(speedups), statistics.median(speedups), min(speedups)]
    return [name, mode, str(len(found)), *(f"{each:.2f}x" for each in told), str(faster), str(len(found) - faster - slower), str(slower)]


def tallies(page: Page) -> list[str]:
    """What the README's table tells of some calls, of all of them."""
    rows = []
    for name, found in stands(page.machine).items():
        for mode in MODES:
            if own := [each for each in found if each.cell.mode == mode]:
                rows.append(line(f"`{name}`", mode, own))
    every = all_releases(page)
    lower = " A cell counts by the lower of its speed-ups. The README's table has only the cells that met both." if len(every) > 1 else ""
    return spaced(
        f"Measured beside CUB {words.listed([text(each) for each in every])}. A speed-up is the time of CUB's fastest device-wide entry in the cell over the front door's, both taken in one run: above 1 we are faster.{lower} Cold calls read"
        " from DRAM, warm ones may find their data in L2, graph is one call inside a captured CUDA graph. Both libraries' times are of the second of CUB's two phases:"
        " the storage, whose bytes [workspace](#workspace) tells, was allocated before. [How a number comes to be](../../docs/measuring.md#how-a-number-comes-to-be).",
        table(["call", "mode", ">cells", ">geometric mean", ">median", ">lowest", ">faster", ">level or undecided", ">slower"], rows),
        "Calls without a section were not timed through the front door here."
        + (" Calls by key, partitions and runs were measured by another program: [selections and runs of keys](by_key.md)." if page.machine.by_key else ""),
    )


def unmeasured(page: Page, found: list[Stand]) -> list[str]:
    """Sizes of the same problem that rungs were measured at, and the front door was not."""
    machine, told = page.machine, []
    own = {each.cell for each in found}
    for problem in dict.fromkeys(each.cell.problem for each in found):
        missing = [words.size(cell.items) for cell in compare.sizes(machine, problem) if cell not in own and any(compare.is_ours(machine, v) for v in compare.contenders(machine, cell))]
        if missing:
            told.append(f"{text(charts.describe(problem))}: {words.listed(missing)}")
    return spaced(f"The front door was not measured beside CUB, and rungs were, at these sizes: {'; '.join(told)}.") if told else []


def calls(page: Page) -> list[str]:
    lines = []
    for name, found in stands(page.machine).items():
        ladder = CALLS[found[0].cell.operation, found[0].cell.operator][1]
        entries = dict.fromkeys(entry(met, each.cell) for each in found for met in each.met.values())
        lines += spaced(
            f"## `{name}`",
            f"CUB's fastest: {words.listed([code(each) for each in entries])}. {NOTES.get(name, '')}".rstrip() + f" [All rungs]({ladder}).",
        )
        uniform = [each for each in found if each.cell.distribution == "uniform"]
        single = [each for each in uniform if each.cell.input_type == FULL and "histogram" not in each.cell.operation]
        single = single if len(single) > FEW else []
        for about, own in ((whole, single), (compact, [each for each in uniform if each not in single])):
            lines += about(own) if own else []
        if len(uniform) < len(found):
            lines += spread([each for each in found if each not in uniform])
        lines += unmeasured(page, uniform)
    return lines


def entry(met: Met, cell: Cell) -> str:
    """CUB's entry that was fastest."""
    theirs = {variant: row.median_us for variant, row in met.run.cells[cell].items() if compare.is_cub(variant)}
    return min(theirs, key=lambda variant: theirs[variant]).rung


def guide(page: Page) -> list[str]:
    every = all_releases(page)
    of_releases = f"; one speed-up for each of CUB {words.listed([text(each) for each in every])}, the times beside the lower" if len(every) > 1 else ""
    return spaced(
        f"Tables with a workspace are of {FULL}; times of one run stand beside each other. In tables with columns of types a field reads `ours : CUB's, speed-up`, times in µs{of_releases}."
        " = is level, ? undecided, − slower.",
    )


def cubs_bytes(stand: Stand) -> set[int]:
    """The storage that CUB's entries ask for in a cell, of each release."""
    return {int(row.workspace_bytes or 0) for met in stand.met.values() for variant, row in met.run.cells[stand.cell].items() if compare.is_cub(variant)}


def brief_workspace(machine: Machine) -> str:
    """In how many cells ours asks for more than CUB, and the extremes."""
    told = []
    for name, found in stands(machine).items():
        for stand in found:
            ours, cubs = int(stand.latest.workspace_bytes or 0), cubs_bytes(stand)
            told.append((ours - min(cubs), ours - max(cubs), f"{ours:,} bytes beside {words.span(cubs)} (`{name}`, {words.size(stand.cell.items)} items)"))
    least, most = (sum(each[place] <= 0 for each in told) for place in (0, 1))
    return (
        f"in {least:,} of {words.plural(len(told), 'cell')} ours asks for no more than any entry of CUB's, in {most - least:,} for no more than some, in {len(told) - most:,} for more than all."
        f" The farthest below CUB: {min(told)[2]}. The farthest above: {max(told)[2]}"
    )


def workspace(page: Page) -> list[str]:
    """The storage that each call asks for beside CUB's, and by how much the two differ."""
    asked, told = Storage(), brief_workspace(page.machine)
    for name, found in stands(page.machine).items():
        for stand in found:
            cell = stand.cell
            of = shape(cell) if cell.sizes.keys() & {"rows", "bins"} else cell.input_type
            asked.add(name, of, cell.items, int(stand.latest.workspace_bytes or 0), cubs_bytes(stand))
    keys = " Calls by key have [their own table](by_key.md#workspace)." if page.machine.by_key else ""
    return spaced("## Workspace", f"The temporary storage that a call asks for in CUB's first phase: {told}.{keys}", asked.table())


class Slower(NamedTuple):
    speedup: float
    call: str
    types: str
    problem: str
    items: int
    ours: float
    cub: float
    release: str


def slower(page: Page) -> list[Slower]:
    """Every cell in which the release that leaves us the lowest speed-up is faster, the worst first."""
    found = []
    for name, several in stands(page.machine).items():
        for stand in several:
            release, met = stand.decisive
            if stand.verdict == "SLOWER":
                cell = stand.cell
                about = ", ".join(filter(None, (cell.operator if " " in name else "", shape(cell), "" if cell.distribution == "uniform" else charts.distribution(cell.distribution), cell.mode)))
                found.append(Slower(stand.speedup, name, cell.input_type, about, cell.items, met.row.median_us, met.cub_us, release))
    release_of = {id(cell): run["versions"]["cccl"] for run in by_key.runs(page.machine) for cell in run["cells"]}
    for cell in by_key.decisive(page):
        ours, cub = by_key.result(cell, "rungs"), by_key.result(cell, "cub")
        if cell.get("speedup", {}).get("verdict") == "SLOWER" and ours and cub:
            name = by_key.NAMES.get(cell["operation"], cell["operation"])
            about = f"{by_key.structure(cell)[1]}, cold"
            found.append(Slower(cell["speedup"]["value"], name, by_key.types(cell), about, cell["items"], ours["median_us"], cub["median_us"], release_of[id(cell)]))
    return sorted(found)


def brief_calls(machine: Machine) -> str:
    """The speed-up of each call, cold."""
    told = []
    for name, found in stands(machine).items():
        if own := [each.speedup for each in found if each.cell.mode == "cold"]:
            told.append(f"`{name}`: {words.ratio(statistics.geometric_mean(own))}, lowest {words.ratio(min(own))}")
    return "; ".join(["over CUB's fastest entry, cold, in the geometric mean", *told]) if told else ""


def brief_losses(found: list[Slower]) -> str:
    counts = Counter(each.call for each in found)
    return f"{words.plural(len(found), 'cell')}, the worst first: " + words.listed([f"{count} of `{name}`" for name, count in counts.most_common()])


LOSSES = "Where CUB is faster"


def losses(page: Page) -> list[str]:
    found = slower(page)
    if not found:
        return spaced(f"## {LOSSES}", "In no cell of this page.")
    rows = []
    for (call, problem, items), several in words.grouped(found, lambda each: (each.call, each.problem, each.items)).items():
        worst = several[0]
        speedups = " / ".join(words.ratio(each.speedup) for each in several)
        rows.append([speedups, f"`{call}`", " / ".join(each.types for each in several), problem, words.size(items), words.significant(worst.ours), words.significant(worst.cub), text(worst.release)])
    keys = " Calls by key, partitions and runs are counted on [their page](by_key.md), too." if page.machine.by_key else ""
    by_key_scans = any("SegmentedScan" in each.call and text(each.release) < "3.3" for each in found)
    scans = " CUB before 3.3 has no scan of segments. There its scan by key stands beside ours, over keys that are made beforehand." * by_key_scans
    return spaced(
        f"## {LOSSES}",
        f"{brief_losses(found)}. These are of the calls on this page. Not on it are segments between offsets"
        " ([rows](../../docs/rows.md#sums-extrema-and-any-other-operator-by-row)), and structs of odd sizes and iterators that compute"
        " ([what is fast](../../docs/drop_in.md#what-is-fast)). A cell counts by the release that leaves us the lowest speed-up. Cells that differ in nothing but the type share a line,"
        f" whose times are those of the first type.{keys}{scans}",
        table([">speed-up", "call", "type", "problem", ">n", ">ours, µs", ">CUB, µs", "CCCL"], rows),
    )


def sources(page: Page) -> list[str]:
    """Which runs the page is made of."""
    cells: Counter[str] = Counter()
    runs: dict[str, Run] = {}
    for found in stands(page.machine).values():
        for stand in found:
            for met in stand.met.values():
                cells[met.run.name] += 1
                runs[met.run.name] = met.run
    rows = [[code(name), text(run.cccl), code(run.document["commit"]), str(cells[name])] for name, run in sorted(runs.items())]
    rows += [[code(run["run"]), text(run["versions"]["cccl"]), code(run["commit"]), "by key"] for run in by_key.runs(page.machine)]
    return spaced("## The runs", "Of each cell the latest run beside each release counts.", table(["run", "CCCL", "commit", ">cells"], rows))
