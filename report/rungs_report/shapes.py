"""Topics whose cells differ in more than n: a line a cell, a column for each of the front door, the rungs and the libraries."""

from collections.abc import Callable

from rungs_report import compare, rows, words
from rungs_report.data import Cell, Machine, Variant, is_cub
from rungs_report.page import Page
from rungs_report.topics import EXTREMA, SELECTIONS, TOP_K
from rungs_report.words import section, table

Times = dict[Variant, float | None]


def cells(page: Page, topic: str, wanted: Callable[[Cell], bool]) -> list[Cell]:
    """Cold ones of floats, on the topic's page alone."""
    own = page.machine.cells if page.topic and page.topic.name == topic else []
    return [cell for cell in own if cell.operation in page.topic.operations and (cell.input_type, cell.mode) == ("f32", "cold") and wanted(cell)]


def compared(page: Page, found: list[Cell], first: dict[str, Callable[[Cell], str]], last: dict[str, Callable[[Cell, Times], float | None]]) -> list[str]:
    """first: the columns before the times. last: the ratios behind them, or times."""
    machine = page.machine
    present = {variant for cell in found for variant in compare.contenders(machine, cell)}
    variants = sorted(present, key=lambda variant: (not compare.is_door(variant), variant.family == compare.YARDSTICKS, machine.order[variant]))
    lines = []
    for cell in found:
        times = {variant: compare.figure(machine, cell, variant, "median_us") for variant in variants}
        ends = [(words.ratio if "over" in header else words.time)(tell(cell, times)) for header, tell in last.items()]
        lines.append([*(tell(cell) for tell in first.values()), *map(words.time, times.values()), *ends])
    return table([*first, *(f">{page.label(variant)}" for variant in variants), *last], lines)


def door(times: Times) -> float | None:
    return next((time for variant, time in times.items() if compare.is_door(variant)), None)


def over_cub(cell: Cell, times: Times) -> float | None:
    own, cub = door(times), min((time for variant, time in times.items() if time and is_cub(variant)), default=None)
    return cub / own if cub and own else None


def the_least_alone(machine: Machine, cell: Cell) -> float | None:
    """The front door's time for one of the two extrema."""
    alone = cell._replace(operator="minimum")
    own = next(filter(compare.is_door, compare.contenders(machine, alone)), None)
    return compare.figure(machine, alone, own, "median_us") if own else None


def both_extrema(page: Page) -> list[str]:
    """What one read saves over two."""

    def over_two(cell: Cell, times: Times) -> float | None:
        alone, both = the_least_alone(page.machine, cell), door(times)
        return 2 * alone / both if alone and both else None

    last = {">the least alone": lambda cell, times: the_least_alone(page.machine, cell), ">over two such calls": over_two}
    about = "Cold. The least alone: the front door's `ArgMin` at the same n. Over two such calls: twice that time over the time of both at once, by the front door."
    found = cells(page, EXTREMA, lambda cell: cell.operator == "both")
    return section("## Both at once: one read instead of two", about, compared(page, found, {">n": lambda cell: words.size(cell.items)}, last))


def shares_chosen(page: Page) -> list[str]:
    """Share by share, at the largest size that has several."""
    found = cells(page, SELECTIONS, lambda cell: "percent" in cell.sizes)
    several = [cell.items for cell in found if sum(other.items == cell.items for other in found) > 1]
    at = sorted((cell for cell in found if cell.items == max(several, default=0)), key=lambda cell: cell.sizes["percent"])
    shown = compared(page, at, {">chosen": lambda cell: f"{cell.sizes['percent']} %"}, {">front door over CUB": over_cub})
    return section("## By the share of chosen items", f"{words.size(max(several, default=0))} floats, cold.", shown)


def top_k(page: Page) -> list[str]:
    found = sorted(cells(page, TOP_K, lambda cell: "k" in cell.sizes), key=lambda cell: (cell.items, cell.sizes["rows"], cell.sizes["k"]))
    about = "Floats, cold. CUB has no such call with sorted results: it sorts whole rows, or k of them behind `cub::DeviceTopK`."
    first = {"rows x columns": rows.shape, ">k": lambda cell: words.number(cell.sizes["k"])}
    return section("## By rows, columns and k", about, compared(page, found if len(found) > 1 else [], first, {">front door over CUB": over_cub}))
