"""The studies of costs: what one collective inside a warp or a block takes, and what waiting for each other takes, from a barrier of a
warp to a launch. A cost is a slope: the difference of two chains' times over the difference of their lengths, so that what a call
takes besides drops out. Nothing is read and there is no CUB to compare whole calls with."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from rungs_report import charts, compare, words
from rungs_report.charts import HeatMap
from rungs_report.data import Cell, Machine, Run, Variant
from rungs_report.page import Page, study_findings, study_ideas
from rungs_report.words import code, spaced, table

REDUCE, SCAN, BARRIER = "collective_reduce", "collective_scan", "barrier"
OPERATIONS = (REDUCE, SCAN, BARRIER)
SHUFFLES = {REDUCE: "shuffle_down", SCAN: "shuffle_up"}  # what the others are compared with in a warp
BLOCKS = {REDUCE: "warps_of_warps", SCAN: "scan_of_warps"}  # and in a block
KINDS = (("plus", "f32"), ("plus", "i32"), ("maximum", "f32"), ("maximum", "i32"))
WARP, BLOCK = 32, 256
LAUNCHES = ("kernels", "programmatic")  # what is a launch for each barrier
ALIKE = 0.05  # costs within so much of each other count as the same


class Cost(NamedTuple):
    """Nanoseconds a link of the chain; low and high from the ends of the two times' intervals."""

    ns: float
    low: float
    high: float
    cycles: float | None


class Asked(NamedTuple):
    """What a chain is made of, and who takes part."""

    operation: str
    blocks: int = 1
    threads: int = WARP
    operator: str = "plus"
    input_type: str = "f32"
    mode: str = "cold"

    def cell(self, items: int = 0) -> Cell:
        if self.operation == BARRIER:
            return Cell(BARRIER, "", "u32", "u32", "u32", f"blocks={self.blocks} threads={self.threads}", "uniform", self.mode, items)
        kind = self.input_type
        return Cell(self.operation, self.operator, kind, kind, "u32", f"threads={self.threads}", "uniform", self.mode, items)


def clock_mhz(run: Run) -> float | None:
    """The SM clock under load: the higher of the two readings, for a GPU that has just rested reads low."""
    read = [run.context["environment"].get(when, {}).get("sm_clock_mhz") for when in ("before", "after")]
    return max((value for value in read if value), default=None)


class Study:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.cells = [cell for cell in machine.cells if cell.operation in OPERATIONS and machine.is_problem(cell)]
        present = {variant for cell in self.cells for variant in compare.contenders(machine, cell)}
        self.variants = sorted(present, key=machine.order.__getitem__)

    def find(self, name: str, operation: str) -> Variant | None:
        ladder = "barriers" if operation == BARRIER else "collectives"
        return next((v for v in self.variants if v.rung == name and v.ladder == ladder), None)

    def of(self, operation: str) -> list[Variant]:
        present = {v for cell in self.cells if cell.operation == operation for v in compare.contenders(self.machine, cell)}
        return [variant for variant in self.variants if variant in present]

    def groups(self, operation: str) -> list[tuple[int, int]]:
        """Blocks and threads, ascending."""
        found = {(cell.sizes.get("blocks", 1), cell.sizes["threads"]) for cell in self.cells if cell.operation == operation}
        return sorted(found)

    def lengths(self, asked: Asked, variant: Variant) -> list[int]:
        return [c.items for c in compare.sizes(self.machine, asked.cell()) if self.machine.rows(c, variant)]

    def cost(self, asked: Asked, name: str, longest: bool = False) -> Cost | None:
        """From the two longest chains; of launches from the two shortest, of which the host has enqueued all before the first
        kernel starts, unless the longest are asked for. In each run by itself, the median of the runs."""
        variant = self.find(name, asked.operation)
        lengths = self.lengths(asked, variant) if variant else []
        if len(lengths) < 2:
            return None
        short, long = lengths[:2] if name in LAUNCHES and not longest else lengths[-2:]
        slopes = []
        for run in self.machine.runs:
            two = [run.cells.get(asked.cell(items), {}).get(variant) for items in (short, long)]
            if None in two:
                continue
            first, second = two
            links = (long - short) / 1e3
            clock = clock_mhz(run)
            ns = (second.median_us - first.median_us) / links
            ends = (second.low_us - first.high_us) / links, (second.high_us - first.low_us) / links
            slopes.append(Cost(ns, *ends, ns * clock / 1e3 if clock else None))
        if not slopes:
            return None
        found = Cost(
            words.median(each.ns for each in slopes), min(each.low for each in slopes), max(each.high for each in slopes),
            words.median(each.cycles for each in slopes),
        )  # fmt: skip
        return found if found.ns > 0 else None

    def times(self, asked: Asked, slow: str, fast: str) -> float | None:
        """cost(slow) / cost(fast)."""
        numerator, denominator = self.cost(asked, slow), self.cost(asked, fast)
        return numerator.ns / denominator.ns if numerator and denominator else None

    @property
    def multiprocessors(self) -> int:
        return (self.machine.device or {}).get("multiprocessors") or 0


@cache
def study_of(machine: Machine) -> Study:
    return Study(machine)


def written(cost: Cost | None) -> str:
    """14.1 ns, 27.9 cycles."""
    if cost is None:
        return words.UNKNOWN
    return f"{words.significant(cost.ns)} ns" + (f", {words.significant(cost.cycles)} cycles" if cost.cycles is not None else "")


def who(blocks: int, threads: int) -> str:
    if blocks == 1:
        return "one warp" if threads == WARP else "half a warp" if threads == WARP // 2 else f"a block of {threads:,}"
    return f"{blocks:,} blocks of {threads:,}"


# ---- findings, each a sentence or nothing


def warp_against_memory(study: Study) -> str | None:
    asked = Asked(REDUCE)
    ratio = study.times(asked, "shared_memory", "shuffle_down")
    if ratio is None:
        return None
    fast, slow = (study.cost(asked, name) for name in ("shuffle_down", "shared_memory"))
    return f"A sum of 32 floats by shuffles takes {written(fast)}; through shared memory it takes {written(slow)}, {words.ratio(ratio)} as long."


def compared(operation: str, threads: int, names: tuple[str, ...], base: str, what: str) -> Callable[[Study], str | None]:
    """How others stand to one, in the same group, over types and operators."""

    def told(study: Study) -> str | None:
        said = []
        for name in names:
            ratios = {}
            for operator, kind in KINDS:
                if ratio := study.times(Asked(operation, 1, threads, operator, kind), name, base):
                    ratios[f"{kind} {operator}"] = ratio
            if not ratios:
                continue
            least, most = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
            if ratios[most] / ratios[least] < 1 + ALIKE:
                said.append(f"`{name}` {words.ratio(words.median(ratios.values()))} in all of {words.plural(len(ratios), 'case')}")
            else:
                said.append(f"`{name}` {words.ratio(ratios[least])} ({least}) to {words.ratio(ratios[most])} ({most})")
        return f"{what}, time over that of `{base}`: {'; '.join(said)}." if said else None

    return told


def half_a_warp(study: Study) -> str | None:
    said = []
    for name in ("shuffle_down", "redux", "cg_tile_reduction", "cg_coalesced_reduction", "cub_warp_reduction"):
        for _, kind in KINDS[1:2] if name == "redux" else KINDS[:1]:
            whole, half = (study.cost(Asked(REDUCE, 1, threads, "plus", kind), name) for threads in (WARP, WARP // 2))
            if whole and half:
                said.append(f"`{name}` {words.ratio(half.ns / whole.ns)}")
    return f"A sum over the lower 16 lanes takes, of one over 32: {', '.join(said)}." if said else None


def launches(study: Study) -> str | None:
    """A grid barrier beside what else makes a whole grid wait, one block a multiprocessor."""
    blocks = study.multiprocessors
    asked = Asked(BARRIER, blocks, BLOCK)
    names = (("grid", "a barrier inside a cooperative launch"), ("cg_grid", "cooperative groups' own"), ("kernels", "a kernel of its own"),
             ("programmatic", "one launched while the one before still runs"))  # fmt: skip
    said = [f"{what} {written(cost)}" for name, what in names if (cost := study.cost(asked, name))]
    node = study.cost(asked._replace(mode="graph"), "kernels")
    if node:
        said.append(f"a kernel as a node of a graph {written(node)}")
    return f"To make {who(blocks, BLOCK)} wait for each other: {'; '.join(said)}." if len(said) > 1 else None


def by_blocks(name: str, what: str) -> Callable[[Study], str | None]:
    def told(study: Study) -> str | None:
        costs = {blocks: cost for blocks, threads in study.groups(BARRIER) if (cost := study.cost(Asked(BARRIER, blocks, threads), name))}
        if len(costs) < 2:
            return None
        few, many = min(costs), max(costs)
        return f"{what} takes {written(costs[few])} with {few:,} blocks and {written(costs[many])} with {many:,}."

    return told


def cluster_against_grid(study: Study) -> str | None:
    ratios = {blocks: ratio for blocks, threads in study.groups(BARRIER) if (ratio := study.times(Asked(BARRIER, blocks, threads), "grid", "cluster"))}
    if not ratios:
        return None
    told = words.listed([f"{words.ratio(ratio)} with {blocks}" for blocks, ratio in ratios.items()])
    return f"Of as many blocks, a grid barrier takes as long as this many cluster barriers: {told}."


FINDINGS: tuple[Callable[[Study], str | None], ...] = (
    warp_against_memory,
    compared(REDUCE, WARP, ("shuffle_xor", "redux", "cg_tile_reduction", "cg_coalesced_reduction", "cub_warp_reduction"), "shuffle_down", "Reductions of a warp"),
    half_a_warp,
    compared(SCAN, WARP, ("cg_tile_scan", "cub_warp_inclusive_scan"), "shuffle_up", "Inclusive scans of a warp"),
    compared(
        REDUCE, BLOCK,
        ("shared_memory", "cub_block_reduction_warp_reductions", "cub_block_reduction_raking", "cub_block_reduction_raking_commutative_only"),
        "warps_of_warps", "Reductions of a block of 256",
    ),
    compared(
        SCAN, BLOCK,
        ("cub_block_inclusive_scan_warp_scans", "cub_block_inclusive_scan_raking", "cub_block_inclusive_scan_raking_memoize"),
        "scan_of_warps", "Inclusive scans of a block of 256",
    ),
    by_blocks("cluster", "A barrier of a cluster"),
    by_blocks("grid", "A barrier of a grid"),
    cluster_against_grid,
    launches,
)  # fmt: skip


def findings(page: Page) -> list[str]:
    study = study_of(page.machine)
    about = "A cost is the difference of two chains' times over the difference of their lengths. Every chain's every link was verified."
    return study_findings(page, about, (finding(study) for finding in FINDINGS))


def headline(page: Page) -> list[str]:
    """For the front."""
    sentence = warp_against_memory(study_of(page.machine)) if page.machine.device else None
    return spaced(f"**Costs: {sentence}** ([costs](costs.md)).") if sentence else []


# ---- tables


def collectives(page: Page) -> list[str]:
    """A table for each kind and group: what one takes by type and operator, and against shuffles."""
    study = study_of(page.machine)
    lines: list[str] = []
    for operation, called in ((REDUCE, "Reductions"), (SCAN, "Inclusive scans")):
        for blocks, threads in study.groups(operation):
            base = (SHUFFLES if threads <= WARP else BLOCKS)[operation]
            kinds = [kind for kind in KINDS if any(study.cost(Asked(operation, 1, threads, *kind), v.rung) for v in study.of(operation))]
            body = []
            for variant in study.of(operation):
                costs = {kind: study.cost(Asked(operation, 1, threads, *kind), variant.rung) for kind in kinds}
                if not any(costs.values()):
                    continue
                row = [page.label(variant)]
                for kind in kinds:
                    cost, ratio = costs[kind], study.times(Asked(operation, 1, threads, *kind), variant.rung, base)
                    row += [words.significant(cost.ns) if cost else words.UNKNOWN]
                    row += [words.significant(cost.cycles) if cost and cost.cycles is not None else words.UNKNOWN, words.ratio(ratio)]
                body.append(row)
            if body:
                heads = [head for operator, kind in kinds for head in (f">{kind} {operator}: ns", ">cycles", f">over {base}")]
                lines += spaced(f"## {called} of {who(1, threads)}", table(["", *heads], body))
    if lines:
        lines += spaced(
            "A link of the chain is one collective and what makes the next one's input of its result: a negation and a choice between"
            " two registers. In a block it also is a barrier that keeps two collectives apart.",
        )
    return lines


def rows_of_barriers(study: Study) -> list[tuple[str, int, int, str, Cost]]:
    """Everything that makes threads wait, by how many there are: name, blocks, threads, how it was launched, cost."""
    found = []
    for blocks, threads in study.groups(BARRIER):
        for variant in study.of(BARRIER):
            ways = {"in one launch": (Asked(BARRIER, blocks, threads), False)}
            if variant.rung in LAUNCHES:
                ways = {
                    "enqueued ahead": (Asked(BARRIER, blocks, threads), False),
                    "while the host launches": (Asked(BARRIER, blocks, threads), True),
                    "nodes of a graph": (Asked(BARRIER, blocks, threads, mode="graph"), False),
                }  # fmt: skip
            for way, (asked, longest) in ways.items():
                if cost := study.cost(asked, variant.rung, longest):
                    found.append((variant.rung, blocks, threads, way, cost))
    return found


def barriers(page: Page) -> list[str]:
    study = study_of(page.machine)
    found = rows_of_barriers(study)
    if not found:
        return []
    body = [
        [code(name), who(blocks, threads), way, words.significant(cost.ns), words.significant(cost.cycles) if cost.cycles is not None else words.UNKNOWN, words.interval(cost.low, cost.high)]
        for name, blocks, threads, way, cost in found
    ]  # fmt: skip
    lines = spaced("## Barriers and launches", table(["", "who waits", "how", ">ns", ">cycles", ">ns, interval"], body))
    points = [(name if way == "in one launch" else f"{name}, {way}", blocks, cost.ns) for name, blocks, threads, way, cost in found if threads == BLOCK]
    picture = HeatMap("Nanoseconds a barrier of blocks of 256 threads, by the number of blocks", "blocks", points, lambda ns: words.significant(ns) if ns else words.UNKNOWN)
    return spaced(
        lines,
        page.drawn(charts.heat_map, picture, "barriers"),
        "A phase is the barrier and what it is for: a word is stored, everyone waits, and the word of a neighbour in another warp and"
        " another block is read. Where a launch is the barrier, what is enqueued ahead shows what the GPU takes for one, and longer"
        " chains show what it waits for the host.",
    )


ideas = study_ideas("What they are", "", lambda machine: study_of(machine).variants)
