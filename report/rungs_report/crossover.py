"""When does a cluster beat a grid? What a call launched, as the benchmark read it from the captured call, says which design it is; the
fastest of each design, over n and type, and over bins, says where one overtakes another."""

from operator import itemgetter
from typing import NamedTuple

from rungs_report import atomics, charts, compare, topics, words
from rungs_report.charts import HeatMap
from rungs_report.data import Cell, Machine, Row, Variant
from rungs_report.page import Page, fold
from rungs_report.words import spaced, table, text

CLUSTER, CLUSTERS = "one cluster", "grid of clusters"
DESIGNS = ("one block", CLUSTER, CLUSTERS, "grid, one launch", "grid with atomics", "cooperative grid", "several kernels")
MAPPED = ("u8", "i32", "f32")  # whose histograms have their map on the committed page
MOST_ITEMS = 1 << 24  # beyond, everything is as fast as memory


class Best(NamedTuple):
    cost: float  # its time in units of one release's CUB, as every page ranks; where CUB has none its time
    us: float
    design: str
    variant: Variant
    cluster_blocks: int


rank = itemgetter(0, 1)  # of equals the first in ladder order


def design(machine: Machine, variant: Variant, row: Row) -> str | None:
    """None where the row does not say what was launched."""
    blocks, cluster = row.values.get("blocks"), row.values.get("cluster_blocks")
    if not blocks or not cluster or not row.kernels:
        return None
    if row.values.get("cooperative"):
        return "cooperative grid"
    if cluster > 1:
        return CLUSTER if blocks == cluster else CLUSTERS
    if row.kernels == 1:
        return "one block" if blocks == 1 else "grid, one launch"
    counts = "histogram" in row.cell.operation
    return "grid with atomics" if counts or not machine.variants[variant]["deterministic"] else "several kernels"


def bests(machine: Machine, cell: Cell) -> dict[str, Best]:
    """The fastest of each design among our rungs."""
    found: dict[str, Best] = {}
    ratios = compare.told(machine, cell)
    for variant in compare.contenders(machine, cell):
        if not compare.is_ours(machine, variant) or (ratios and variant not in ratios):
            continue
        us = compare.figure(machine, cell, variant, "median_us")
        cost = 1 / ratios[variant].value if ratios else us
        for _, row in machine.rows(cell, variant):
            named = design(machine, variant, row)
            if named and (named not in found or (cost, us) < rank(found[named])):
                found[named] = Best(cost, us, named, variant, row.values["cluster_blocks"])
    return found


def ahead(found: dict[str, Best]) -> float | None:
    """How many times as fast the best cluster is as the best of everything else."""
    clusters = [best.cost for best in found.values() if best.design in (CLUSTER, CLUSTERS)]
    others = [best.cost for best in found.values() if best.design not in (CLUSTER, CLUSTERS)]
    return min(others) / min(clusters) if clusters and others else None


def shown(machine: Machine, problem: Cell) -> list[Cell]:
    """Powers of two, as far as designs differ."""
    return [cell for cell in compare.sizes(machine, problem) if cell.items & (cell.items - 1) == 0 and 1024 <= cell.items <= MOST_ITEMS]


def spans(winners: list[tuple[int, str]]) -> list[tuple[str, int, int]]:
    """Neighbouring sizes with one winner, as (design, first size, last size)."""
    found: list[tuple[str, int, int]] = []
    for items, name in winners:
        if found and found[-1][0] == name:
            found[-1] = (name, found[-1][1], items)
        else:
            found.append((name, items, items))
    return found


def sentence(what: str, by_size: dict[int, dict[str, Best]]) -> str:
    """Where which design wins, and by how much a cluster does where it does so most."""
    winners = [(items, min(found.values(), key=rank).design) for items, found in by_size.items() if found]
    told = [
        f"{name} {f'at {words.size(first)}' if first == last else f'from {words.size(first)} to {words.size(last)}'}"
        for name, first, last in spans(winners)
    ]
    gains = {items: gain for items, found in by_size.items() if (gain := ahead(found))}
    if not gains:
        return f"{what}: {', then '.join(told)}."
    most = max(gains, key=gains.__getitem__)
    if gains[most] > 1:
        best = min((best for best in by_size[most].values() if best.design in (CLUSTER, CLUSTERS)), key=rank)
        end = f"A cluster gains most at {words.size(most)}: {words.ratio(gains[most])} over the best of everything else, with {best.cluster_blocks} blocks."
    else:
        end = f"A cluster wins nowhere; it comes closest at {words.size(most)}, with {words.ratio(gains[most])} the speed of the best."
    return f"{what}: {', then '.join(told)}. {end}"


def of_designs(page: Page, problem: Cell) -> list[str]:
    """The map of one problem: each design's share of the fastest one's speed, by n."""
    machine = page.machine
    by_size = {cell.items: found for cell in shown(machine, problem) if len(found := bests(machine, cell)) > 1}
    if len(by_size) < 2:
        return []
    points, rows = [], []
    for name in DESIGNS:
        for items, found in by_size.items():
            if name in found:
                points.append((name, items, min(found.values(), key=rank).cost / found[name].cost))
    for items, found in by_size.items():
        best, second, *_ = sorted(found.values(), key=rank)
        rows.append(
            [words.size(items), best.design, page.label(best.variant), words.time(best.us), second.design, words.ratio(second.cost / best.cost)]
        )
    picture = HeatMap(f"{charts.describe(problem)}: the fastest rung of each design, as a share of the fastest of all", "n", points, words.ratio)
    what = text(charts.describe(problem))
    return spaced(
        sentence(what, by_size),
        page.drawn(charts.heat_map, picture, f"designs_{problem.operation}_{problem.input_type}"),
        table([">n", "fastest design", "its best rung", ">time", "next design", ">gain over the next"], rows),
    )  # fmt: skip


def of_types(page: Page, operation: str, operator: str) -> list[str]:
    """Over n and type: how many times as fast the best cluster is as the best of everything else."""
    machine = page.machine
    points = []
    for cell in machine.cells:
        if (cell.operation, cell.operator, cell.mode) == (operation, operator, "cold") and cell in shown(machine, cell.problem):
            gain = ahead(bests(machine, cell)) if machine.is_problem(cell) else None
            if gain:
                points.append((cell.input_type, cell.items, gain))
    if len({items for _, items, _ in points}) < 2:
        return []
    wins = sorted({items for _, items, gain in points if gain > 1})
    told = "at none of these sizes"
    if wins:
        told = f"at {words.size(wins[0])} items" if len(wins) == 1 else f"between {words.size(wins[0])} and {words.size(wins[-1])} items"
    what = "Sums" if operation == "reduce" else "Inclusive sums"
    picture = HeatMap(f"{what}, cold: the best cluster's speed over the best of everything else", "n", points, words.ratio)
    return spaced(f"{what} of all types: a cluster is the faster design {told}.", page.drawn(charts.heat_map, picture, f"types_{operation}"))


def of_bins(page: Page) -> list[str]:
    """Histograms, over bins and n."""
    machine = page.machine
    lines: list[str] = []
    others: list[str] = []
    kinds = sorted({(c.operation, c.input_type) for c in machine.cells if "histogram" in c.operation and c.mode == "cold"})
    for operation, input_type in kinds:
        points = []
        for cell in machine.cells:
            named = (cell.operation, cell.input_type, cell.mode, cell.distribution) == (operation, input_type, "cold", "uniform")
            if named and machine.is_problem(cell) and (gain := ahead(bests(machine, cell))):
                points.append((f"{cell.sizes['bins']:,} bins", cell.sizes["bins"], cell.items, gain))
        points.sort(key=lambda point: point[1:])
        if len({items for _, _, items, _ in points}) < 2:
            continue
        wins = [(items, bins) for _, bins, items, gain in points if gain > 1]
        uneven = " with arbitrary edges" if operation == "histogram_range" else ""
        most = max(points, key=lambda point: point[3])
        where = _at_sizes(wins) if wins else "nowhere"
        closest = "" if wins else f"; it comes closest with {most[0]} at {words.size(most[2])}, {words.ratio(most[3])} the speed of the best"
        picture = HeatMap(
            f"{input_type} histograms{uneven}, cold: the best cluster's speed over the best of everything else", "n",
            [(name, items, gain) for name, _, items, gain in points], words.ratio,
        )  # fmt: skip
        lines += spaced(f"Histograms of {input_type}{uneven}: a cluster is the faster design {where}{closest}.")
        drawn = page.drawn(charts.heat_map, picture, f"bins_{operation}_{input_type}")
        (others if uneven or input_type not in MAPPED else lines).extend(drawn)
    return lines + fold("the maps of the other histograms", others)


def _at_sizes(wins: list[tuple[int, int]]) -> str:
    """Of pairs of a size and a number of bins: the sizes with the same numbers of bins together."""
    sizes_of = words.grouped(sorted({items for items, _ in wins}), lambda items: tuple(sorted(bins for size, bins in wins if size == items)))
    told = [
        f"at {words.listed([words.size(items) for items in sizes])} with {words.listed([f'{each:,}' for each in bins])} bins"
        for bins, sizes in sizes_of.items()
    ]
    return words.listed(told)


def atomics_by_place(machine: Machine) -> list[str]:
    """What bins in another block's shared memory cost: the rates of atomics there, in a block's own, and in memory."""
    for items in (1 << 24, 1 << 20):
        cell = atomics.problem(addresses=4096, items=items)
        found = {variant.rung: variant for variant in compare.contenders(machine, cell) if variant.ladder == "atomics"}
        names = ("shared", "remote_shared", "global")
        if set(names) <= set(found):
            own, remote, memory = (items / compare.figure(machine, cell, found[name], "median_us") * 1e6 for name in names)
            return spaced(
                f"Added to 4,096 counters, {atomics.per_second(own)} a second go into a block's own shared memory, {atomics.per_second(remote)}"
                f" into that of another block of the cluster, and {atomics.per_second(memory)} into memory: a counter that is not in the block costs"
                f" {words.ratio(own / remote)} as much in a cluster and {words.ratio(own / memory)} as much in memory ([atomics](costs.md#atomics)).",
            )  # fmt: skip
    return []


def contents(page: Page) -> list[str]:
    """When does a cluster beat a grid?"""
    lines: list[str] = []
    told = {topic.name for topic in page.topics}
    for topic, operation in (("reductions", "reduce"), (topics.SCANS, "inclusive_scan")):
        if topic in told:
            for input_type in ("f32", "i32"):
                lines += of_designs(page, Cell(operation, "plus", input_type, input_type, input_type, "", "uniform", "cold", 0))
            lines += of_types(page, operation, "plus")
    if topics.HISTOGRAMS in told and (counted := of_bins(page)):
        lines += [*counted, *atomics_by_place(page.machine)]
    if not lines:
        return []
    return spaced(
        "What a call launches says its design: blocks, blocks of a cluster, whether the launch was cooperative, and how many kernels. "
        "`grid, one launch` keeps state between calls (a ticket, mailboxes); `grid with atomics` puts its output in place by a launch "
        "before; `several kernels` have no atomics.",
        lines,
    )  # fmt: skip
