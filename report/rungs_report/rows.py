"""Reductions of the rows of a matrix. A problem has two sizes here, rows and columns, so the page has tables by shape where others have
sweeps over n."""

import statistics

from rungs_report import against_cub, compare, words
from rungs_report.against_cub import Stand
from rungs_report.data import Cell, Machine, Variant, is_cub
from rungs_report.page import Page
from rungs_report.topics import ROW_NORM, ROW_REDUCE
from rungs_report.words import columns, section, spaced, table, text

CALL = "DeviceSegmentedReduce::Sum"
FIXED, OFFSETS = "cub_device_segmented_reduce_fixed_size", "cub_device_segmented_reduce"
TEXT_SHAPE = (65536, 2048)  # rows and columns of the text "from many to one"
TEXT_MS = {"shared_accumulation": 0.454, "register_accumulation": 0.415, "final_warp": 0.414}  # what it measured


def cells(machine: Machine, mode: str = "cold", operation: str = ROW_REDUCE) -> list[Cell]:
    """Sums of floats, or norms, the largest first, and of equals those of the shortest rows."""
    found = [c for c in machine.cells if (c.operation, c.operator, c.input_type, c.mode) == (operation, "plus" * (operation == ROW_REDUCE), "f32", mode)]
    return sorted((c for c in found if machine.is_problem(c)), key=lambda c: (-c.items, c.sizes["columns"]))


def measured(machine: Machine) -> bool:
    return bool(cells(machine)) or norms_measured(machine)


def norms_measured(machine: Machine) -> bool:
    return bool(cells(machine, operation=ROW_NORM))


def named(machine: Machine, cell: Cell, rung: str) -> Variant | None:
    return next((v for v in compare.contenders(machine, cell) if v.rung == rung), None)


def time(machine: Machine, cell: Cell, variant: Variant | None) -> float | None:
    return compare.figure(machine, cell, variant, "median_us") if variant else None


def shape(cell: Cell) -> str:
    return f"{words.size(cell.sizes['rows'])} x {words.size(cell.sizes['columns'])}"


def over_cub(machine: Machine, cell: Cell, variant: Variant) -> float | None:
    """Over the better of CUB's two calls, in the same runs."""
    ratios = [compare.within_runs(machine, cell, v, variant) for v in compare.contenders(machine, cell) if is_cub(v)]
    return min((ratio for ratio in ratios if ratio), default=None)


def stands(machine: Machine) -> dict[Cell, Stand]:
    """The front door beside each release of CUB, in one run each."""
    return {stand.cell: stand for stand in against_cub.stands(machine).get(CALL, ()) if stand.cell in cells(machine)}


def findings(page: Page) -> list[str]:
    found = stands(page.machine).values()
    if not found:
        return []
    every = against_cub.releases(found)
    told = [stand.speedup for stand in found]
    lower = " Of each shape the release counts that leaves us less." * (len(every) > 1)
    return spaced(
        f"`rungs::DeviceSegmentedReduce` over the fastest call of CUB {words.listed([text(each) for each in every])} for the same segments:"
        f" {words.ratio(statistics.geometric_mean(told))} in the geometric mean of {words.plural(len(told), 'shape')}, {words.ratio(min(told))} at least.{lower}",
    )


def shapes(page: Page) -> list[str]:
    """The front door shape by shape beside each release's calls, every time beside those of its own run; and the best rung."""
    machine, found = page.machine, stands(page.machine)
    every = against_cub.releases(found.values())
    met = {release: {v.rung for stand in found.values() if release in stand.met for v in stand.met[release].run.cells[stand.cell]} for release in every}
    theirs = {release: [(rung, called) for rung, called in ((FIXED, "one size"), (OFFSETS, "offsets")) if rung in met[release]] for release in every}
    headers, lines = ["rows x columns"], []
    for release in every:
        headers += [">front door", *(f">CUB {text(release)}, {called}" for _, called in theirs[release]), ">speed-up"]
    for cell in cells(machine):
        row = [shape(cell)]
        for release in every:
            own = found[cell].met.get(release) if cell in found else None
            took = {v.rung: one.median_us for v, one in own.run.cells[cell].items()} if own else {}
            row += [words.time(own.row.median_us if own else None), *(words.time(took.get(rung)) for rung, _ in theirs[release]), words.ratio(own.row.speedup_over_cub if own else None)]
        ours = [v for v in compare.ranked(machine, cell) if compare.is_ours(machine, v)]
        best = min(ours, key=lambda v: time(machine, cell, v)) if ours else None
        door = named(machine, cell, "front_door")
        row += [words.percent(compare.figure(machine, cell, door, "percent_of_ceiling") if door else None)]
        lines.append([*row, f"{page.label(best)} {words.time(time(machine, cell, best))}" if best else words.UNKNOWN])
    of = f", of the runs beside CUB {text(compare.main_cccl(machine))}" * (len(every) > 1)
    about = f"A speed-up is over the fastest of the CUB calls to its left, whose times and the front door's are of one run. The front door's share is of the read-only roof; it and the best rung come last{of}."
    return section("## Shape by shape", about, table([*headers, ">share", "best rung"], lines))


def ladder(page: Page) -> list[str]:
    """Every rung at the text's shape, with the text's own times."""
    machine = page.machine
    cell = next((c for c in cells(machine) if (c.sizes["rows"], c.sizes["columns"]) == TEXT_SHAPE), None)
    if cell is None:
        return []
    told = {
        "rung": page.label,
        ">time": lambda variant: words.time(time(machine, cell, variant)),
        ">share": lambda variant: words.percent(compare.figure(machine, cell, variant, "percent_of_ceiling")),
        ">GFLOP/s": lambda variant: words.significant(cell.items / time(machine, cell, variant) / 1e3),
        ">in the text": lambda variant: words.time(TEXT_MS[variant.rung] * 1e3) if variant.rung in TEXT_MS else "",
        "idea": lambda variant: text(machine.variants[variant].get("idea", "")),
    }
    return section(f"## The ladder at {shape(cell)}", columns(compare.contenders(machine, cell), told))


def by_shape(page: Page) -> list[str]:
    """Shares of the roof, rung by shape."""
    machine = page.machine
    found = cells(machine)
    variants = sorted({v for cell in found for v in compare.contenders(machine, cell)}, key=machine.order.__getitem__)

    def share(cell: Cell, variant: Variant) -> str:
        value = compare.figure(machine, cell, variant, "percent_of_ceiling")
        return "" if value is None else f"{value:.0f}"

    lines = [[page.label(variant), *(share(cell, variant) for cell in found)] for variant in variants]
    return section("## Every rung, in percent of the roof", table(["rung", *(f">{shape(cell)}" for cell in found)], lines))


def norms(page: Page) -> list[str]:
    """Root-mean-square norms, shape by shape, in the order of the ladder."""
    machine = page.machine
    found = cells(machine, operation=ROW_NORM)
    variants = sorted({v for cell in found for v in compare.contenders(machine, cell)}, key=machine.order.__getitem__)
    lines = []
    for cell in found:
        told = []
        for variant in variants:
            share = compare.figure(machine, cell, variant, "percent_of_ceiling")
            told += [words.time(time(machine, cell, variant)), words.UNKNOWN if share is None else f"{share:.0f}"]
        lines.append([shape(cell), *told])
    headers = [">rows x columns", *(header for v in variants for header in (f">{page.label(v)}", ">% of a copy"))]
    return section(
        "## Root-mean-square norms",
        "Every row divided by the root of its mean square, times a row of weights. A copy reads and writes as many bytes.",
        table(headers, lines),
    )
