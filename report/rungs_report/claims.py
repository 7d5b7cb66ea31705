"""What the texts behind the ladders claim, each beside what this GPU measured.

A claim is the text's figure, the chip it was read off, and a function from the measurements to the same figure here. No
measured figure is written in this file: what the data cannot answer reads "not measured in this run". This is the one module
that knows rungs by name, because the texts do.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

from rungs_report import across, atomics, compare, costs, errors, inference, topics, torch_rows, words
from rungs_report.data import Cell, Machine, Row, Variant
from rungs_report.rows import TEXT_MS, TEXT_SHAPE, norms_measured, measured as rows_measured, named as of_row, time as row_time

HOLDS, FAILS, CANNOT, UNMEASURED = (
    "holds", "does not hold", "cannot be re-measured on this chip", "not measured in this run",
)  # fmt: skip
FALSE = "false as stated"
# How near is near enough; `rules` says it in words.
TEXTS = (
    "A, on atomics and reductions; B, on dot products; C, a chapter on reductions, scans and atomics; D, on patterns of atomics, histograms and"
    " scans; E, on getting from many values to one"
)
NEAR = 1.25  # the factor by which ours may lie to either side of a figure
ABOUT = 2.0  # the same where the text says about
ALIKE = 1.05  # what is said to cost the same
LIMIT = 90.0  # per cent of a limit at which it is reached
LARGE, HARDLY = 1.5, 1.15  # a gain called large, and one called hardly any
SUM = Cell("reduce", "plus", "f32", "f32", "f32", "", "uniform", "cold", 0)
SCAN = SUM._replace(operation="inclusive_scan")
COUNTS = Cell("histogram_even", "", "i32", "u32", "u32", "bins=256", "uniform", "cold", 0)
BYTE_COUNTS = COUNTS._replace(input_type="u8")
ROW_SUMS = SUM._replace(operation=topics.ROW_REDUCE, shape="rows={} columns={}".format(*TEXT_SHAPE))
NORMS = ROW_SUMS._replace(operation=topics.ROW_NORM, operator="")
DOT = SUM._replace(operation="dot")
EXTREMUM = SUM._replace(operation="arg_extremum", operator="minimum", output_type="i64")
MI, GI = 1 << 20, 1 << 30
# The text's four scans, and the milliseconds it gives for 16 Mi floats on an A100.
CLASSIC_SCANS = {"hillis_steele": 2.45, "blelloch": 0.82, "warp_shuffle": 0.51, "cub_device_scan": 0.38}
# The text's four histograms, and the milliseconds it gives for 10 million integers in 256 bins on an A100.
CLASSIC_HISTOGRAMS = {"global_atomics": 1.82, "grid_stride": 0.28, "warp_private": 0.19, "cub_device_histogram": 0.16}
# Rungs that keep all bins of a block in shared memory, the ones that would win first.
BINS_IN_SHARED_MEMORY = ("overlapped_clear", "vector_loads", "grid_stride", "block_private")
CLASSIC = ("divergent_tree", "sequential_addressing", "first_add_on_load", "unrolled_last_warp", "warp_shuffle")
THREADS_PER_MULTIPROCESSOR = {75: 1024, 86: 1536, 87: 1536, 89: 1536, 120: 1536, 121: 1536}


class Answer(NamedTuple):
    """What was measured, in words, and what follows for the claim."""

    measured: str
    verdict: str
    ratio_of_ratios: float | None = None  # ours over the text's, where the figure is a ratio or a share of the chip's own limit


@dataclass(frozen=True)
class Claim:
    identity: str
    says: str
    figure: str  # the text's figure; empty where it gives none
    chip: str  # the chip it was read off; empty where the text names none
    measure: Callable[["Evidence"], Answer | None]


class Unmeasured(Exception):
    """What a claim asks is not in this machine's rows."""


def known(value: Any) -> Any:
    """The value, where there is one: else the claim has no answer."""
    if not value:
        raise Unmeasured
    return value


class Evidence:
    """The questions claims ask of a machine's rows. Every answer is None where a row is missing.

    A rung is looked for on the ladders of the problem's topic and among the yardsticks, never on those of another topic:
    a reduction and a scan may share a name.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def rung(self, name: str, problem: Cell = SUM) -> Variant | None:
        ladder = topics.name_of(problem.operation)
        found = [v for v in self.machine.variants if v.rung == name and (v.ladder == ladder or v.family == compare.YARDSTICKS)]
        return min(found, key=lambda v: (v.family == compare.YARDSTICKS, v.family != "handwritten"), default=None)

    def has(self, name: str, cell: Cell) -> bool:
        variant = self.rung(name, cell)
        return variant is not None and bool(self.machine.rows(cell, variant))

    def sizes(self, *names: str, problem: Cell = SUM) -> list[int]:
        """Every n at which all of these rungs were measured, ascending."""
        return [c.items for c in compare.sizes(self.machine, problem) if all(self.has(name, c) for name in names)]

    def take(self, name: str, items: int, column: str, problem: Cell = SUM) -> float | None:
        variant = self.rung(name, problem)
        return compare.figure(self.machine, problem._replace(items=items), variant, column) if variant else None

    def slower(self, slow: str, fast: str, items: int, problem: Cell = SUM) -> float | None:
        """time(slow) / time(fast), within runs."""
        numerator, denominator = self.rung(slow, problem), self.rung(fast, problem)
        if numerator is None or denominator is None:
            return None
        return compare.within_runs(self.machine, problem._replace(items=items), numerator, denominator)

    def over_cub(self, name: str, items: int, problem: Cell = SUM) -> compare.Ratio | None:
        variant = self.rung(name, problem)
        return compare.headline(self.machine, problem._replace(items=items), variant) if variant else None

    def nearest(self, wanted: int, *names: str, problem: Cell = SUM) -> int | None:
        """The n measured for all of these that lies nearest the text's, within a factor of two."""
        near = [n for n in self.sizes(*names, problem=problem) if wanted / 2 <= n <= wanted * 2]
        return min(near, key=lambda n: (abs(n - wanted), n), default=None)


def at(items: int) -> str:
    return f"at {words.size(items)}"


def between(value: float, low: float, high: float) -> str:
    return HOLDS if low <= value <= high else FAILS


def agrees(ours_over_theirs: float, factor: float = NEAR) -> str:
    return between(ours_over_theirs, 1 / factor, factor)


def rules() -> list[str]:
    """Everything a verdict is decided by."""
    return [
        f"- A figure holds where ours is within a factor of {NEAR:g} of it to either side, or within a factor of {ABOUT:g} where the text says"
        " about. A range holds where ours lies inside it.",
        f"- What is said to cost the same may differ by {(ALIKE - 1) * 100:.0f} %; operators and types of atomics that are said to be as fast as"
        f" others by a factor of {NEAR:g}.",
        f"- A limit is reached at {LIMIT:.0f} % of it. A large gain, or much slower, is {LARGE:g}x or more; hardly any gain is less than {HARDLY:g}x.",
        "- An order has to be kept at every step, whatever the distance. What is said of all sizes or cases has to be so at more than half of them.",
        f"- {FALSE.capitalize()}: wrong on any chip, so that no figure can decide it.",
    ]


# ---- predicates: what a claim asks of the measurements. `@predicate def f(seen, ...)` is used in the tables below as f(...).


def predicate(measure: Callable[..., Answer | None]) -> Callable[..., Callable[[Evidence], Answer | None]]:
    @wraps(measure)
    def asked(*arguments: Any, **named: Any) -> Callable[[Evidence], Answer | None]:
        return lambda seen: measure(seen, *arguments, **named)

    return asked


@predicate
def stated_wrongly(seen: Evidence, what_is_true: str) -> Answer:
    return Answer(what_is_true, FALSE)


@predicate
def gain(
    seen: Evidence, slow: str, fast: str, figure: float | None = None, problem: Cell = SUM, *, factor: float = NEAR, low: float = 0.0, high: float = inf,
    wanted: int | None = 16 * MI, says: str = "{gain} {at}", unit: str = "", verdict: str = "",
) -> Answer:  # fmt: skip
    """time(slow) / time(fast) at about the text's size, or at the largest, beside the text's ratio or its range, whose middle stands
    for it. unit: of the rates that it tells, too."""
    n = seen.nearest(wanted, slow, fast, problem=problem) if wanted else max(seen.sizes(slow, fast, problem=problem), default=None)
    ours = known(n and seen.slower(slow, fast, n, problem))
    if figure:
        low, high = figure / factor, figure * factor
    elif high < inf:
        figure = (low + high) / 2
    rates = [words.significant(seen.take(name, n, unit, problem)) for name in (slow, fast)] if unit else []
    told = says.format(*rates, gain=words.ratio(ours), at=at(n))
    return Answer(told, verdict or between(ours, low, high), ours / figure if figure else None)


@predicate
def in_order(seen: Evidence, names: Sequence[str], wanted: int, problem: Cell, column: str) -> Answer:
    """Each faster than the one before: told by their times, or by their rates."""
    n = known(seen.nearest(wanted, *names, problem=problem))
    told = [(words.time if column == "median_us" else words.significant)(seen.take(name, n, column, problem)) for name in names]
    gains = [seen.slower(before, after, n, problem) for before, after in pairwise(names)]
    unit = "" if column == "median_us" else " GB/s"
    return Answer(f"{words.listed(told)}{unit} {at(n)}", HOLDS if all(gain > 1 for gain in gains) else FAILS)


@predicate
def share(
    seen: Evidence, name: str, column: str, low: float, high: float, figure: float, *, least: int = 0, wanted: int | None = None, says: str = "{share} {at}"
) -> Answer:
    """Per cent of peak or of the ceiling, at the text's size or at the largest from `least` on."""
    near = seen.nearest(wanted, name) if wanted else None
    sizes = [n for n in ([near] if wanted else seen.sizes(name)) if n and n >= least]
    n, ours = known([(n, ours) for n in sizes if (ours := seen.take(name, n, column)) is not None])[-1]
    return Answer(says.format(share=words.percent(ours), at=at(n)), between(ours, low, high), ours / figure)


@predicate
def scan_share(seen: Evidence, name: str, theirs: float) -> Answer:
    """Whether a scan comes near its limit: the share of peak beside the share that the text's GB/s are of an A100's 1,555."""
    n = seen.nearest(16 * MI, name, problem=SCAN)
    share, limit = (n and seen.take(name, n, column, SCAN) for column in ("percent_of_peak", "percent_of_ceiling"))
    known(share and limit)
    told = f"{name} runs at {words.percent(share)} of peak, {words.percent(limit)} of what a copy reaches, {at(n)}"
    return Answer(told, between(limit, LIMIT, inf), share / (theirs / 1555 * 100))


@predicate
def ends(seen: Evidence, slow: str, fast: str, holds: Callable[[list[float]], bool], problem: Cell = SUM) -> Answer:
    """time(slow) / time(fast) at both ends of the sizes that both have, and at how many of them it is over 1."""
    sizes = known(seen.sizes(slow, fast, problem=problem))
    gains = [seen.slower(slow, fast, n, problem) for n in sizes]
    told = f"{fast} over {slow}: {words.ratio(gains[0])} {at(sizes[0])}, {words.ratio(gains[-1])} {at(sizes[-1])};"
    told += f" ahead at {sum(gain > 1 for gain in gains)} of {words.plural(len(gains), 'size')}"
    return Answer(told, HOLDS if holds(gains) else FAILS)


def mostly(gains: list[float]) -> bool:
    return sum(gain > 1 for gain in gains) > len(gains) / 2


@predicate
def alike(seen: Evidence, one: str, other: str, holds: Callable[[float], bool], problem: Cell = SUM) -> Answer:
    """time(one) / time(other) at every n that both have; the median decides. One rung's is its time as a maximum over that as a sum."""
    maximum = problem._replace(operator="maximum")
    if one == other:
        sizes = [n for n in seen.sizes(one, problem=problem) if seen.has(one, maximum._replace(items=n))]
        ratios = [seen.take(one, n, "median_us", maximum) / seen.take(one, n, "median_us", problem) for n in sizes]
    else:
        ratios = [seen.slower(one, other, n, problem) for n in seen.sizes(one, other, problem=problem)]
    known(ratios)
    outer = dict.fromkeys((words.ratio(min(ratios)), words.ratio(max(ratios))))
    middle = words.median(ratios)
    named = f"{one} as a maximum over that as a sum" if one == other else f"{one} over {other}"
    told = f"time of {named}: {' to '.join(outer)} at {words.plural(len(ratios), 'size')}, median {words.ratio(middle)}"
    return Answer(told, HOLDS if holds(middle) else FAILS)


def level(median: float) -> bool:
    return 1 / ALIKE <= median <= ALIKE


def no_slower(median: float) -> bool:
    return median <= ALIKE


@predicate
def best_against_cub(seen: Evidence, topic: str) -> Answer:
    """How often CUB wins over every problem, mode and size of a topic: the front page's count."""
    own = next((each for each in topics.of(seen.machine) if each.name == topic), None)
    found = known(compare.verdicts(seen.machine, own) if own else None)
    told = f"CUB wins {found['SLOWER']:,}, the best rung wins {found['FASTER']:,}, {found['SAME']:,} are ties, {found['AMBIGUOUS']:,} are undecided"
    return Answer(f"of {words.plural(found.total(), 'problem')} {told}", HOLDS if found["SLOWER"] > found.total() / 2 else FAILS)


@predicate
def classic_against_cub(seen: Evidence, name: str, problem: Cell = SUM) -> Answer:
    """Whether CUB is faster than this rung at the size the texts speak of."""
    n = seen.nearest(16 * MI, name, problem=problem)
    ratio = known(seen.over_cub(name, n, problem) if n else None)
    return Answer(f"{name} runs at {words.ratio(ratio.value)} of CUB's speed {at(n)}", HOLDS if ratio.verdict == "SLOWER" else FAILS)


@predicate
def against_cub(seen: Evidence, name: str) -> Answer:
    """How one rung stands against CUB over all n."""
    found = known([(n, ratio) for n in seen.sizes(name) if (ratio := seen.over_cub(name, n)) is not None])
    parts = [f"{words.ratio(ratio.value)} {at(n)}" for n, ratio in (found[0], found[len(found) // 2], found[-1])]
    ahead = sum(ratio.verdict in ("FASTER", "SAME") for _, ratio in found)
    told = f"{name} over CUB: {words.listed(list(dict.fromkeys(parts)))}; level or ahead at {ahead} of {words.plural(len(found), 'size')}"
    return Answer(told, HOLDS if ahead > len(found) / 2 else FAILS)


def of_cubs_speed(ratio: compare.Ratio | None) -> str:
    return f", {words.ratio(ratio.value)} of CUB's speed" if ratio else ""


@predicate
def verified(seen: Evidence, name: str, problem: Cell = SUM, least: int = 0, what: str = "") -> Answer:
    """What is said to be possible, and was: up to which size, in which time there."""
    sizes = seen.sizes(name, problem=problem)
    last = known(sizes and sizes[-1] >= least and sizes[-1])
    kernels = words.median(row.kernels for _, row in seen.machine.rows(problem._replace(items=last), seen.rung(name, problem)))
    told = f"verified at {words.plural(len(sizes), 'size')}, {words.time(seen.take(name, last, 'median_us', problem))}{what} {at(last)}"
    told += f" in {words.plural(int(kernels), 'kernel')}" if kernels is not None else ""
    return Answer(told + of_cubs_speed(seen.over_cub(name, last, problem)), HOLDS)


# ---- reductions


@predicate
def flat(seen: Evidence, name: str) -> Answer:
    """Whether the rate stays as it is with more threads, of which there is one an item."""
    sizes = [n for n in seen.sizes(name) if n >= MI]
    first, last = (known(len(sizes) > 1 and seen.take(name, sizes[place], "gb_per_s")) for place in (0, -1))
    told = f"{words.significant(first)} GB/s {at(sizes[0])}, {words.significant(last)} GB/s {at(sizes[-1])}"
    return Answer(told, HOLDS if last / first < NEAR else FAILS)


def copy_share(seen: Evidence) -> Answer:
    peak = known(seen.machine.device and seen.machine.device.get("peak_gb_per_s"))
    largest, rate = known(compare.roof_rate(compare.main_runs(seen.machine), "copy"))
    ours = rate / peak * 100
    return Answer(f"{words.percent(ours)} of peak at {words.byte_size(largest)}", between(ours, LIMIT, 100))


def best_share(seen: Evidence) -> Answer:
    found = known([each for each in compare.bests(seen.machine, SUM) if each.percent_of_ceiling is not None])
    last = found[-1]
    told = f"{last.variant.rung} runs at {words.percent(last.percent_of_ceiling)} of the read-only ceiling {at(last.cell.items)}"
    return Answer(told, between(last.percent_of_ceiling, LIMIT, inf))


def c11_cluster(seen: Evidence) -> Answer:
    """Where the cluster's rung is the best of ours; the text recommends it for the largest inputs."""
    found = compare.bests(seen.machine, SUM)
    known(found and seen.sizes("remote_stores"))
    own = [each.cell.items for each in found if each.variant.family == "cluster"]
    n = seen.sizes("remote_stores")[-1]
    slower = seen.slower("remote_stores", found[-1].variant.rung, n)
    told = f"a cluster is the best rung at {len(own)} of {words.plural(len(found), 'size')}"
    told += f", {words.size(own[0])} to {words.size(own[-1])}" if own else ""
    told += f"; {at(n)} it takes {words.ratio(slower)} the time of {found[-1].variant.rung}" if slower else ""
    return Answer(told, HOLDS if own and found[-1].cell.items in own else FAILS)


# ---- dot products


@predicate
def equally_fast(seen: Evidence, names: Sequence[str], wanted: int, problem: Cell) -> Answer:
    """Whether it does not matter which of these one takes."""
    n = known(seen.nearest(wanted, *names, problem=problem))
    times = {name: seen.take(name, n, "median_us", problem) for name in names}
    told = words.listed([f"{name} {words.time(time)}" for name, time in times.items()])
    return Answer(f"{told} {at(n)}", HOLDS if max(times.values()) < NEAR * min(times.values()) else FAILS)


# ---- places of extrema


def like_a_sum(seen: Evidence) -> Answer:
    """How near the ceiling the best of either is at the largest size, which is as large for both."""
    shares = {}
    for problem in (EXTREMUM, SUM):
        for each in compare.bests(seen.machine, problem):
            if each.percent_of_ceiling is not None:
                shares.setdefault(each.cell.items, {})[problem] = each.percent_of_ceiling
    both = known([n for n, share in shares.items() if len(share) == 2])
    found = shares[max(both)]
    told = f"the best runs at {words.percent(found[EXTREMUM])} of the read-only ceiling, that of sums at {words.percent(found[SUM])} {at(max(both))}"
    return Answer(told, HOLDS if found[EXTREMUM] * NEAR > found[SUM] else FAILS)


# ---- histograms


def bins_4096(seen: Evidence) -> Answer:
    """4096 counters of 4 bytes are 16 KiB; some rung that keeps them in shared memory was verified."""
    problem = COUNTS._replace(shape="bins=4096")
    name = known(next((each for each in BINS_IN_SHARED_MEMORY if seen.sizes(each, problem=problem)), None))
    n = seen.nearest(16 * MI, name, problem=problem) or seen.sizes(name, problem=problem)[-1]
    time, beside = words.time(seen.take(name, n, "median_us", problem)), of_cubs_speed(seen.over_cub(name, n, problem))
    return Answer(f"they are 16 KiB and fit: {name} counts them there in {time} {at(n)}{beside}", FALSE)


@predicate
def bins_beyond(seen: Evidence, bins: int) -> Answer:
    """Bins that truly do not fit: several passes against whatever is best."""
    problem = COUNTS._replace(shape=f"bins={bins}")
    n = seen.nearest(16 * MI, "bin_ranges", problem=problem)
    found = compare.best(seen.machine, problem._replace(items=n)) if n else None
    slower = known(found and seen.slower("bin_ranges", found.variant.rung, n, problem))
    time = words.time(seen.take("bin_ranges", n, "median_us", problem))
    if found.variant.rung == "bin_ranges":
        return Answer(f"bin_ranges is the best rung {at(n)}, at {time}", HOLDS)
    return Answer(f"bin_ranges takes {time} {at(n)}, {words.ratio(slower)} the time of {found.variant.rung}", HOLDS if slower <= ALIKE else FAILS)


# ---- atomics


@predicate
def addresses_apart(seen: Evidence, count: int, theirs: float) -> Answer:
    """Rate on this many addresses over the rate on one."""
    study = atomics.study_of(seen.machine)
    # The text adds ones; where those were not measured, other numbers.
    operator = next((each for each in ("increment", "plus") if study.rate(atomics.PLAIN, 1, each) and study.rate(atomics.PLAIN, count, each)), "plus")
    one, many = (known(study.rate(atomics.PLAIN, n, operator)) for n in (1, count))
    ours = many / one
    told = f"{words.ratio(ours)}: {atomics.per_second(one)} and {atomics.per_second(many)} operations a second"
    return Answer(told + " (increments)" * (operator == "increment"), agrees(ours / theirs), ours / theirs)


@predicate
def rising(seen: Evidence, *counts: int) -> Answer:
    rates = [known(atomics.study_of(seen.machine).rate(atomics.PLAIN, count)) for count in counts]
    told = words.listed([atomics.per_second(rate) for rate in rates])
    return Answer(f"{told} operations a second", HOLDS if all(a < b for a, b in pairwise(rates)) else FAILS)


def operators_alike(seen: Evidence) -> Answer:
    """Every operator that 32-bit words have, on the most addresses that all were measured on."""
    study = atomics.study_of(seen.machine)
    operators = study.operators(atomics.WORD)
    counts = study.shared(*((atomics.PLAIN, operator, atomics.WORD) for operator in operators))
    known(len(operators) > 2 and counts)
    rates = {operator: study.rate(atomics.PLAIN, counts[-1], operator) for operator in operators}
    least, most = min(rates, key=rates.get), max(rates, key=rates.get)
    apart = rates[most] / rates[least]
    told = f"{words.plural(len(rates), 'operator')} lie {words.ratio(apart)} apart on {atomics.on(counts[-1])}, {most} to {least}"
    return Answer(told, HOLDS if apart < NEAR else FAILS)


@predicate
def types_against(seen: Evidence, slow: str, fast: str, least: float, most: float) -> Answer:
    """time(additions of slow) / time(additions of fast) at both ends of the addresses; the many decide."""
    study = atomics.study_of(seen.machine)
    counts = known(study.shared((atomics.PLAIN, "plus", slow), (atomics.PLAIN, "plus", fast)))
    ratios = {n: study.rate(atomics.PLAIN, n, "plus", fast) / study.rate(atomics.PLAIN, n, "plus", slow) for n in (counts[0], counts[-1])}
    told = words.listed([f"{words.ratio(ratio)} on {atomics.on(n)}" for n, ratio in ratios.items()])
    return Answer(f"time of {slow} over {fast}: {told}", between(ratios[counts[-1]], least, most))


def swapped(seen: Evidence) -> Answer:
    study = atomics.study_of(seen.machine)
    told = []
    for input_type in ("u32", "f32"):
        counts = study.shared(("compare_and_swap", "plus", input_type), (atomics.PLAIN, "plus", input_type))
        if counts:
            ratios = [study.slower("compare_and_swap", atomics.PLAIN, n, "plus", input_type) for n in counts]
            told.append(f"{input_type} {words.ratio(max(ratios))} on {atomics.on(counts[ratios.index(max(ratios))])}")
    return Answer(f"verified; at worst its time over the addition's: {words.listed(told)}", HOLDS) if told else None


def one_a_block(seen: Evidence) -> Answer:
    study = atomics.study_of(seen.machine)
    slower = known(study.slower(atomics.PLAIN, "one_per_block", 1))
    return Answer(f"{words.ratio(slower)} at {words.size(study.items or 0)} operations", agrees(slower / 100, ABOUT), slower / 100)


# ---- building blocks and barriers


@predicate
def cost_of(seen: Evidence, asked: costs.Asked, name: str, cycles: float) -> Answer:
    """The cycles of one, against the text's, which rounds."""
    cost = known(costs.study_of(seen.machine).cost(asked, name))
    over = known(cost.cycles) / cycles
    return Answer(costs.written(cost), agrees(over, ABOUT), over)


@predicate
def cost_against(seen: Evidence, asked: costs.Asked, slow: str, fast: str, figure: float | None = None, factor: float = NEAR) -> Answer:
    """cost(slow) / cost(fast), beside the text's; without one it has to exceed 1. No blocks: one a multiprocessor."""
    study = costs.study_of(seen.machine)
    asked = asked._replace(blocks=asked.blocks or study.multiprocessors)
    ratio = known(study.times(asked, slow, fast))
    told = f"{words.ratio(ratio)}: {slow} {costs.written(study.cost(asked, slow))}, {fast} {costs.written(study.cost(asked, fast))}"
    return Answer(told, agrees(ratio / figure, factor), ratio / figure) if figure else Answer(told, HOLDS if ratio > 1 else FAILS)


@predicate
def libraries_ahead(seen: Evidence, *pairs: tuple[costs.Asked, str, str]) -> Answer:
    """Whether a library's building block takes less time than the one written by hand, in most of the cases."""
    study = costs.study_of(seen.machine)
    ratios = known(
        {
        f"{theirs}, {kind} {operator}": ratio
        for asked, theirs, ours in pairs
        for operator, kind in costs.KINDS
        if (ratio := study.times(asked._replace(operator=operator, input_type=kind), theirs, ours))
        }
    )
    faster = sum(ratio < 1 - costs.ALIKE for ratio in ratios.values())
    least, most = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
    told = f"faster in {faster} of {words.plural(len(ratios), 'case')}: {words.ratio(ratios[least])} of the time by hand ({least}) to {words.ratio(ratios[most])} ({most})"
    return Answer(told, HOLDS if faster > len(ratios) / 2 else FAILS)


@predicate
def one_pass(seen: Evidence, operation: str) -> Answer:
    """Whether an operation on rows moves its bytes about as fast as a plain kernel that moves them once. A second read would halve a share of
    reading, and take a third of a share of copying."""
    rows, columns = TEXT_SHAPE
    cell = known(next((c for c in torch_rows.cells(seen.machine) if (c["operation"], c["type"], tuple(c["shape"])) == (operation, "float32", (rows, columns))), None))
    share = torch_rows.share(cell)
    roof = "a copy" if cell["roof"] == "copy" else "reading alone"
    told = f"{words.percent(share)} of the speed of {roof} at {words.size(rows)} x {words.size(columns)} floats, verified in float64"
    return Answer(told, HOLDS if share >= LIMIT else FAILS)


# ---- inference


@predicate
def as_fast_as_ours(seen: Evidence, rival: str, called: str, *works: str) -> Answer:
    """Whether what the text describes, made of a library's calls, is level with ours or ahead in more than half of the cells."""
    compared = known(
        [
        (cell, each["speedup"])
        for work in works
        for _, cell in inference.find(seen.machine, work)
        for each in inference.timed(cell, "rival")
        if each["name"] == rival and "speedup" in each
        ]
    )
    level = sum(speedup["verdict"] in ("SLOWER", "SAME") for _, speedup in compared)
    ends = [pick(compared, key=lambda pair: pair[1]["value"]) for pick in (min, max)]
    told = " to ".join(dict.fromkeys(f"{words.ratio(speedup['value'])} ({inference.where(cell)})" for cell, speedup in ends))
    return Answer(f"time of {called} over ours: {told}; level or ahead in {level} of {words.plural(len(compared), 'cell')}", HOLDS if level > len(compared) / 2 else FAILS)


def top_p_is_cut(seen: Evidence) -> Answer:
    """The same of a sort, a scan and a cut, and how long the rung of the text takes where it was measured."""
    answer = as_fast_as_ours("cub_sort_and_scan", "sort, scan and cut", "sample_top_p", "sample_top_k")(seen)
    over = [
        each["median_us"] / own["median_us"]
        for _, cell in inference.find(seen.machine, "sample_top_p")
        for each in inference.timed(cell, "rungs")
        if each["name"] == "scan_then_cut" and (own := inference.ours(cell))
    ]
    if not over:
        return answer
    told = " to ".join(dict.fromkeys(words.ratio(each) for each in (min(over), max(over))))
    return answer._replace(measured=f"{answer.measured}; of the rung scan_then_cut, a block a row: {told}")


@predicate
def at_its_roof(seen: Evidence, work: str) -> Answer:
    """Whether a work moves its bytes about as fast as a plain kernel, at the largest shape."""
    shares = known([(cell, share) for _, cell in inference.find(seen.machine, work) if (share := inference.share(cell)) is not None])
    cell, share = max(shares, key=lambda pair: inference.moved(pair[0]))
    plain = "a plain copy" if cell["roof"] == "copy" else "a plain read"
    return Answer(f"{words.percent(share)} of the speed of {plain} of its bytes, {inference.shape(cell)} of {cell['input']}, verified on the host", HOLDS if share >= LIMIT else FAILS)


def ratios_verify(seen: Evidence) -> Answer:
    """Whether exact verification takes as long as the maximum of p/q at each position, in the same cells of one run."""
    pairs = known(
        [
        (cell, ours["median_us"], other["median_us"])
        for run, cell in inference.find(seen.machine, "verify")
        for whole in run["cells"]
        if whole["work"] == "greatest_ratio" and all(whole[name] == cell[name] for name in ("rows", "columns", "parameter"))
        if (ours := inference.ours(cell)) and (other := inference.ours(whole))
        ]
    )
    as_long = sum(own * ALIKE >= other for _, own, other in pairs)
    cell, own, other = max(pairs, key=lambda each: inference.moved(each[0]))
    told = f"verifying takes {words.time(own)}, the maxima {words.time(other)} ({cell['rows']:,} requests, {cell['parameter']}): of a request it reads the rows of one position"
    return Answer(f"{told}; it takes as long in {as_long} of {words.plural(len(pairs), 'cell')}", HOLDS if as_long > len(pairs) / 2 else FAILS)


# ---- what the texts get wrong


def rows_of(seen: Evidence, topic: str, types: Sequence[str] = ()) -> list[Row]:
    rows = (row for run in seen.machine.runs for row in run.rows)
    return [row for row in rows if topics.name_of(row.cell.operation) == topic and (not types or row.cell.input_type in types)]


def whole_scans(seen: Evidence) -> Answer:
    """A scan whose blocks lack their offsets is right within each block, so only a check of all items finds it."""
    rows = known(rows_of(seen, topics.SCANS))
    told = f"all {len(rows):,} rows of scans, up to {words.size(max(row.items for row in rows))} items, were checked over the whole output"
    return Answer(f"so it is, and a look at the first block would not find it: {told}", HOLDS)


def negative_samples(seen: Evidence) -> Answer:
    """The remainder of a negative sample is negative, and the addition lands before the histogram."""
    rows = rows_of(seen, topics.HISTOGRAMS, ("i8", "i16"))
    told = "the remainder of a negative sample is negative: its count lands in memory before the histogram"
    if rows:
        told += f"; {words.plural(len(rows), 'row')} of i8 and i16 here count samples of which half are negative, every counter checked"
    return Answer(told, FALSE)


@predicate
def repeats(seen: Evidence, *names: str, problem: Cell = SUM) -> Answer:
    rows = {
        name: [row for n in seen.sizes(name, problem=problem) for _, row in seen.machine.rows(problem._replace(items=n), seen.rung(name, problem))]
        for name in names
    }
    same = {name: all(row.repeatable == "yes" for row in found) for name, found in rows.items() if found}
    told = [f"{name} {'repeats' if always else 'does not repeat'}" for name, always in same.items()]
    return Answer(words.listed(told), FAILS if all(same.values()) else HOLDS) if told else None


def resident_threads(seen: Evidence) -> Answer:
    device = known(seen.machine.device)
    known(device.get("multiprocessors"))
    each = THREADS_PER_MULTIPROCESSOR.get(device.get("compute_capability"), 2048)
    return Answer(f"{device['multiprocessors']} multiprocessors hold {device['multiprocessors'] * each:,} threads at once", FAILS)


def same_bits(seen: Evidence) -> Answer:
    """Parallel rungs that give one answer, bit for bit, every time: the order is fixed though it is not the serial one."""
    ours = [row for run in seen.machine.runs for row in run.rows if compare.is_ours(seen.machine, row.variant)]
    rows = [row for row in ours if row.input_type == "f32"]
    steady = {row.variant for row in rows} - {row.variant for row in rows if row.repeatable != "yes"}
    known(rows)
    exact = [row for row in ours if row.error == 0]
    return Answer(
        f"{words.plural(len(steady), 'rung')} repeat bit for bit in f32, and {len(exact):,} rows have no error at all; a fixed order can be"
        " run in parallel, and for types whose sum does not round every order is the serial answer",
        FALSE,
    )


def fused_norm(seen: Evidence) -> Answer:
    """The block's norm at the shape of the other text, beside the row held in registers and the front door."""
    cell = NORMS._replace(items=128 * MI)
    times = {name: row_time(seen.machine, cell, of_row(seen.machine, cell, name)) for name in ("norm_by_block", "norm_in_registers", "front_door_of_norms")}
    known(times["norm_by_block"])
    told = words.listed([f"{name} {words.time(time)}" for name, time in times.items() if time])
    return Answer(f"verified; {told} for 65,536 rows of 2,048 floats", HOLDS)


# ---- accuracy

# Of one sign: what a mean or a norm adds up.
ORDINARY = ("uniform", "scaled")


@predicate
def no_further(seen: Evidence, *rungs: str, least: float = 0.0, dots: bool = False) -> Answer:
    """Whether the first is no further from the exact sum of ordinary data than the others, or than `least`."""
    ways = [known(errors.named(seen.machine, rung, dots)) for rung in rungs]
    known(all(way.results.keys() >= {*ORDINARY} for way in ways))
    found = [[way.results[kind].ulp for kind in ORDINARY] for way in ways]
    told = [f"{way.rung} {words.listed(list(map(errors.short, ulp)))} ulp, right on {way.right()} of {len(way.results)} kinds" for way, ulp in zip(ways, found, strict=True)]
    near = all(own <= max(other, least) for each in found[1:] for own, other in zip(found[0], each, strict=True))
    return Answer(f"{'; '.join(told)} (errors on {words.listed(ORDINARY)} items)", HOLDS if near else FAILS)


@predicate
def instructions_of(seen: Evidence, rung: str, wanted: float) -> Answer:
    """Instructions over floats of an accumulator, over those of a plain sum."""
    many, few = (known(errors.float_instructions(seen.machine, each)) for each in (rung, "plain"))
    way, plain = errors.named(seen.machine, rung), errors.named(seen.machine, "plain")
    time = f"; in time {words.ratio(way.time / plain.time)}" if way and plain and way.time and plain.time else ""
    told = f"{many} for {errors.COUNTED_ITEMS} items, plain {few}: {words.ratio(many / few)}{time}"
    return Answer(told, agrees(many / few / wanted), many / few / wanted)


@predicate
def atomics_stray(seen: Evidence, dots: bool = False) -> Answer:
    """How far a sum by atomics is from the exact one, as a share of it, and how many results it has."""
    way = errors.named(seen.machine, "atomic_per_element", dots)
    result = known(way.results.get("uniform") if way else None)
    calls = sum(count for *_, count in result.values)
    of = "dot product of uniform pairs" if dots else "sum of uniform items"
    told = f"{result.relative:.1e} of the {of}, and {words.plural(len(result.values), 'different result')} in {calls} calls"
    return Answer(told, HOLDS if 1e-6 <= result.relative <= 1e-4 and len(result.values) > 1 else FAILS)


def all_reduced(seen: Evidence) -> Answer:
    """How often NCCL, by the faster of its entries, is faster than what users of rungs call, over all that was measured across GPUs."""
    compared = known(
        [
        (run, cell, speedup)
        for run in across.runs(seen.machine)
        for cell in run["cells"]
        if (speedup := across.over(cell, across.own(run, cell), across.rival(run, cell)))
        ]
    )
    wins = Counter(speedup["verdict"] for _, _, speedup in compared)
    told = f"of {words.plural(len(compared), 'cell')} NCCL's faster entry wins {wins['SLOWER']}, ours wins {wins['FASTER']}, {wins['SAME']} are ties, {wins['AMBIGUOUS']} are undecided"
    floats = [(run, cell, speedup) for run, cell, speedup in compared if across.problem(cell) == "f32 sum" and cell["mode"] == "graph"]
    for pick in (min, max) if floats else ():
        run, cell, speedup = pick(floats, key=lambda each: (each[1]["items"], -each[0]["ranks"]))
        told += f"; {words.ratio(speedup['value'])} over it at {words.byte_size(cell['bytes'])} on {across.gpus(run)}"
    return Answer(told, HOLDS if wins["SLOWER"] > len(compared) / 2 else FAILS)


def of_uniform_pairs(seen: Evidence, *rungs: str) -> list[errors.Result]:
    """Of each the dot product of uniform pairs."""
    return [known(known(errors.named(seen.machine, rung, dots=True)).results.get("uniform")) for rung in rungs]


@predicate
def near_the_host(seen: Evidence, rung: str, share: float) -> Answer:
    """How far a dot product is from the float of a sum of doubles, as a share of it: within ten times the text's."""
    own, host = of_uniform_pairs(seen, rung, errors.FROM_DOUBLE)
    far = own.relative_to(host)
    return Answer(f"{far:.1e} of the dot product of uniform pairs", HOLDS if far <= 10 * share else FAILS)


@predicate
def nearer_to_serial(seen: Evidence, near: str, far: str) -> Answer:
    """Whether one order of products answers what the host's does, item after item in floats, more nearly than another."""
    *both, serial = of_uniform_pairs(seen, near, far, errors.SERIAL)
    own, other = (each.beyond(serial) for each in both)
    told = f"{near} {errors.short(own)} and {far} {errors.short(other)} ulp from the host's serial sum of floats (uniform pairs)"
    return Answer(told, HOLDS if own < other else FAILS)


# ---- the claims


def classic_gain(slow: str, fast: str) -> Callable[[Evidence], Answer | None]:
    """Beside the ratio of the text's times."""
    return gain(slow, fast, CLASSIC_SCANS[slow] / CLASSIC_SCANS[fast], SCAN)


IN_A_WARP, IN_A_BLOCK = costs.Asked(costs.REDUCE), costs.Asked(costs.REDUCE, threads=costs.BLOCK)
SCANNED_WARP, SCANNED_BLOCK = costs.Asked(costs.SCAN), costs.Asked(costs.SCAN, threads=costs.BLOCK)
WHOLE_GRID = costs.Asked(costs.BARRIER, 0, costs.BLOCK)

REDUCTIONS = (
    Claim("A1", "One global atomic per element reaches about one percent of peak bandwidth", "1 to 2 %", "H100", share("atomic_per_element", "percent_of_peak", 1 / ABOUT, 2 * ABOUT, 1.5, least=MI)),
    Claim("A1", "and more threads do not help it", "flat", "H100", flat("atomic_per_element")),
    Claim("A2", "A shared-memory tree with one atomic per block leaves a thousandth of the atomics and is a large step", "", "H100", gain("atomic_per_element", "atomic_per_block", low=LARGE, says="{gain} faster {at}")),
    Claim("A3", "Warp shuffles hardly help where bandwidth is the limit", "no 2x", "H100", ends("unrolled_last_warp", "warp_shuffle", lambda gains: gains[-1] < HARDLY)),
    Claim("A4", "A grid-stride loop with one atomic per block reaches the high eighties of peak", "85 to 89 %", "H100", share("grid_stride", "percent_of_peak", 85, inf, 87)),
    Claim("A4", "which is 50 to 80 times the atomic per element", "50x to 80x", "H100", gain("atomic_per_element", "grid_stride", low=50, high=80, wanted=None)),
    Claim("A5", "A contiguous chunk per thread makes about 32 times the memory requests", "32x", "H100", gain(
        "chunk_per_thread", "grid_stride", wanted=None, verdict=CANNOT, says="requests are not among what was counted; in time it is {gain} slower than grid_stride {at}")),
    Claim("A9", "One add per four bytes: memory is the limit of a sum, the adder never", "0.25 FLOP/B", "H100", best_share),
    Claim("A9", "Even a copy reaches only ninety-odd percent of the datasheet's peak", "90 to 99 %", "H100", copy_share),
    Claim("C1", "Five classic rungs, each faster than the one before (16 Mi floats)", "13, 20, 40, 55 and 78 GB/s", "T4", in_order(CLASSIC, 16 * MI, SUM, "gb_per_s")),
    Claim("C1", "from the first of them to the fifth", "6.00x", "T4", gain(CLASSIC[0], CLASSIC[-1], 6)),
    Claim("C1", "The fifth is close to the memory roofline", "78 of 250 GB/s", "T4", share("warp_shuffle", "percent_of_ceiling", LIMIT, inf, 31.2, wanted=16 * MI, says="{share} of the ceiling {at}")),
    Claim("C6", "The shuffle rung is a maximum once its operator is changed, at the same speed", "", "", alike("warp_shuffle", "warp_shuffle", level)),
    Claim("C8", "CUB is usually faster than what one writes by hand (best rung, every type, operator, mode and size)", "", "", best_against_cub("reductions")),
    Claim("C8", "the same, for the rung the text ends with", "", "", classic_against_cub("warp_shuffle")),
    Claim("C7", "The shuffle rung may as well be written with cg::reduce: a question of style", "", "", alike("cg_warp_shuffle", "warp_shuffle", level)),
    Claim("C8", "CUB's BlockReduce leaves no reason to write a block's reduction (beside a rung of two kernels too)", "", "", alike("cub_block_reduce_warp_reductions", "two_passes", no_slower)),
    Claim("C8", "Nor does Thrust leave a reason to write a reduction", "", "", alike("thrust_reduce", "early_ticket", no_slower)),
    Claim("C9", "A million atomics on one address are about 100 times slower than the shuffle rung", "100x", "", gain("atomic_per_element", "warp_shuffle", 100, factor=ABOUT, wanted=MI, says="{gain} slower than warp_shuffle {at}")),
    Claim("C11", "A reduction over a cluster suits huge inputs with few outputs", "", "", c11_cluster),
    Claim("C12", "One cooperative launch over the whole grid is a way to reduce on a par with CUB's", "", "", against_cub("cooperative_grid")),
    Claim("C18", "A billion elements need one level only, the host adding the blocks' partials", "", "", verified("host_finish", least=GI // 2, what=" with copy and wait")),
    Claim("D6", "What one block cannot hold takes two kernels, the second over the blocks' sums", "", "A100", ends("two_passes", "last_block", lambda gains: not mostly(gains))),
    Claim("D7", "A cooperative launch saves the second kernel", "", "A100", ends("two_passes", "cooperative_grid", mostly)),
)  # fmt: skip

SCANS = (
    Claim("C3", "A block scans by warps: shuffles within a warp, one warp over the warps' sums, the offsets added back; a shuffle is twice as fast as shared memory", "2x", "", gain("hillis_steele", "warp_shuffle", 2, SCAN, says="warp_shuffle over hillis_steele: {gain} {at}")),
    Claim("C3", "Across blocks: scan each block, scan the blocks' sums, add them back; where the sums are too many, recurse", "", "", verified("three_phases", SCAN)),
    Claim("C8", "CUB is usually faster than what one writes by hand (best rung, every type, operator, mode and size)", "", "", best_against_cub("scans")),
    Claim("C8", "the same, for the block scan by warps", "", "", classic_against_cub("warp_shuffle", SCAN)),
    Claim("D9", "Hillis-Steele, Blelloch, warps and block, CUB: each faster than the one before (16 Mi floats)", "2.45, 0.82, 0.51 and 0.38 ms", "A100", in_order(tuple(CLASSIC_SCANS), 16 * MI, SCAN, "median_us")),
    Claim("D9", "from Hillis-Steele to Blelloch", "2.99x", "A100", classic_gain("hillis_steele", "blelloch")),
    Claim("D9", "from Blelloch to warps and block", "1.61x", "A100", classic_gain("blelloch", "warp_shuffle")),
    Claim("D9", "from warps and block to CUB", "1.34x", "A100", classic_gain("warp_shuffle", "cub_device_scan")),
    Claim("D9", "from Hillis-Steele to CUB", "6.45x", "A100", classic_gain("hillis_steele", "cub_device_scan")),
    Claim("D9", "Scans of warps make an efficient scan of many blocks", "252 GB/s", "A100", scan_share("warp_shuffle", 251.7)),
    Claim("D9", "and CUB's is highly optimised, tuned for each architecture", "338 GB/s", "A100", scan_share("cub_device_scan", 337.5)),
    Claim("D9", "The scan by warps is the faster one for small arrays", "", "A100", ends("blelloch", "warp_shuffle", lambda gains: gains[0] > 1, SCAN)),
)  # fmt: skip

HISTOGRAMS = (
    Claim("C4", "A histogram of 256 bins by atomics in global memory takes 35 times as long as with bins of a block's own (16 Mi bytes)", "35x", "T4", gain("global_atomics", "grid_stride", 35, BYTE_COUNTS)),
    Claim("C4", "the same, for samples of four bytes", "35x", "T4", gain("global_atomics", "grid_stride", 35, COUNTS)),
    Claim("C5", "4,096 bins cannot live in shared memory", "", "", bins_4096),
    Claim("C5", "Where the bins do not fit, count them in several passes (16,384 bins)", "", "", bins_beyond(16384)),
    Claim("C5", "the same, for 65,536 bins", "", "", bins_beyond(65536)),
    Claim("C8", "CUB is usually faster than what one writes by hand (best rung, every type, distribution, mode and size)", "", "", best_against_cub("histograms")),
    Claim("D8", "Global atomics, bins of a block's own, of a warp's own, CUB: each faster than the one before (10 million integers)", "1.82, 0.28, 0.19 and 0.16 ms", "A100", in_order(tuple(CLASSIC_HISTOGRAMS), 10 * MI, COUNTS, "median_us")),
    Claim("D8", "from global atomics to bins of a block's own", "6.50x", "A100", gain("global_atomics", "grid_stride", 6.5, COUNTS)),
    Claim("D8", "from there to bins of a warp's own", "1.47x", "A100", gain("grid_stride", "warp_private", 0.28 / 0.19, COUNTS)),
    Claim("D8", "from bins of a warp's own to CUB", "1.19x", "A100", gain("warp_private", "cub_device_histogram", 0.19 / 0.16, COUNTS)),
    Claim("D8", "from global atomics to CUB", "11.4x", "A100", gain("global_atomics", "cub_device_histogram", 1.82 / 0.16, COUNTS)),
    Claim("D8", "Where all threads meet in one bin, counting on chip first is 90 times faster", "2 against 180 GB/s, 90x", "A100", gain("global_atomics", "grid_stride", 90, COUNTS._replace(distribution="constant"), unit="gb_per_s", says="{} against {} GB/s, {gain}, {at}")),
)  # fmt: skip

ATOMICS = (
    Claim("C9", "A million threads' atomics on one address are about 100 times slower than one atomic per block", "100x", "", one_a_block),
    Claim("C4", "Compare-and-swap is what every other atomic can be built of", "", "", swapped),
    Claim("D1", "A million additions run faster the more addresses they go to: 1, 32, 256, 1,024, 65,536, a million", "0.33, 2.5, 9.5, 21.8, 49.8 and 58.1 G/s", "A100", rising(1, 32, 256, 1024, 65536, MI)),
    Claim("D1", "from one address to 1,024", "66x", "A100", addresses_apart(1024, 66)),
    Claim("D1", "from one address to a million", "176x", "A100", addresses_apart(MI, 176)),
    Claim("D2", "All atomics of integers have the fast path", "", "A100", operators_alike),
    Claim("D2", "Additions of float run in hardware, and fast (as fast as integers)", "", "A100", types_against("f32", "u32", 0.0, NEAR)),
    Claim("D2", "Additions of double are much slower than of float", "", "A100", types_against("f64", "f32", LARGE, 1e9)),
    Claim("D2", "Additions of half run in hardware (pairs of them, as fast as floats)", "", "A100", types_against("f16x2", "f32", 0.0, NEAR)),
)  # fmt: skip
COSTS = (
    Claim("C2", "Values exchanged by shuffles reduce twice as fast as through shared memory (a warp, floats)", "2x", "", cost_against(IN_A_WARP, "shared_memory", "shuffle_down", 2)),
    Claim("C7", "cg::reduce stands in for the shuffles written by hand, at the same cost (a tile of 32)", "", "", cost_against(IN_A_WARP, "cg_tile_reduction", "shuffle_down", 1, ALIKE)),
    Claim("C7", "and over a coalesced group", "", "", cost_against(IN_A_WARP, "cg_coalesced_reduction", "shuffle_down", 1, ALIKE)),
    Claim("C8", "CUB's building blocks of a warp are faster than what one writes by hand", "", "", libraries_ahead(
        (IN_A_WARP, "cub_warp_reduction", "shuffle_down"), (SCANNED_WARP, "cub_warp_inclusive_scan", "shuffle_up"))),
    Claim("C8", "and so are those of a block", "", "", libraries_ahead(
        (IN_A_BLOCK, "cub_block_reduction_warp_reductions", "warps_of_warps"), (SCANNED_BLOCK, "cub_block_inclusive_scan_warp_scans", "scan_of_warps"))),
    Claim("C12", "Cooperative groups' barrier of a whole grid replaces the second kernel", "", "", cost_against(WHOLE_GRID, "kernels", "cg_grid")),
    Claim("D3", "A warp reduces by shuffles in about 5 cycles", "5 cycles", "A100", cost_of(IN_A_WARP, "shuffle_down", 5)),
    Claim("D3", "and through shared memory in about 300", "300 cycles", "A100", cost_of(IN_A_WARP, "shared_memory", 300)),
    Claim("D3", "which is 60 times as long", "60x", "A100", cost_against(IN_A_WARP, "shared_memory", "shuffle_down", 60)),
    Claim("D4", "A block reduces by shuffles and shared memory in about 50 cycles", "50 cycles", "A100", cost_of(IN_A_BLOCK, "warps_of_warps", 50)),
    Claim("D7", "A barrier inside a cooperative launch is cheaper than a second kernel", "", "A100", cost_against(WHOLE_GRID, "kernels", "grid")),
)  # fmt: skip
ROWS = (
    Claim("E1", "A block a row sums in shared memory, in registers, and with shuffles at the end: each faster than the one before (65,536 rows of 2,048 floats)", "0.454, 0.415 and 0.414 ms", "", in_order(tuple(TEXT_MS), 128 * MI, ROW_SUMS, "median_us")),
    Claim("E1", "from shared memory to registers", "1.09x", "", gain("shared_accumulation", "register_accumulation", 0.454 / 0.415, ROW_SUMS, wanted=128 * MI)),
    Claim("E2", "Without the last five barriers it takes as long", "1.00x", "", gain("register_accumulation", "final_warp", 0.415 / 0.414, ROW_SUMS, factor=ALIKE, wanted=128 * MI)),
    Claim("E2", "for a barrier does nothing where one warp is active", "", "", stated_wrongly(
        "the barriers stand outside the branch: all 16 warps of the block arrive at each; at the 1,290 GB/s of the text's times its chip is likely to wait for memory")),
    Claim("E2", "The kernel with shuffles sums the row", "", "", stated_wrongly(
        "it leaves out half of it: its tree stops at 64 values, of which the warp folds 32")),
    Claim("A7", "Log-sum-exp is a sum with another fold, the pair of a running maximum and a sum, and touches memory once", "", "", one_pass("logsumexp")),
    Claim("A7", "and so does softmax", "", "", one_pass("softmax")),
    Claim("A8", "The mean and variance inside LayerNorm are the same structure", "", "", one_pass("layer_norm")),
    Claim("A8", "and so is the mean square inside RMSNorm", "", "", one_pass("rms_norm")),
)  # fmt: skip
DOTS = (
    Claim("B1", "An atomic for each product puts them all in one queue; a block's tree and one atomic a block are much faster (1 Mi pairs)", "", "", gain("atomic_per_element", "shared_tree", problem=DOT, low=LARGE, wanted=MI, says="{gain} faster {at}")),
    Claim("B1", "and what the atomics add up to varies from run to run", "", "", repeats("atomic_per_element", problem=DOT)),
    Claim("B2", "Blocks of 128, 256 or 512 threads are all recommended, at most 32 of them a multiprocessor", "", "", equally_fast(("shared_tree_128", "shared_tree", "shared_tree_512"), MI, DOT)),
    Claim("B2", "One atomic a block leaves the result nearly the same every time", "", "", stated_wrongly(
        "the order of the blocks still varies, and so do the last bits: only a fixed order repeats them")),
    Claim("B3", "A tree of barriers down to the last thread is usually a bit slower than warp shuffles", "", "", ends("shared_tree", "warp_shuffle", mostly, DOT)),
    Claim("B4", "Where blocks are many, their atomics can become the bottleneck, and two passes without atomics avoid it", "", "", ends("warp_shuffle", "two_passes", lambda gains: gains[-1] > 1, DOT)),
)  # fmt: skip
ACCURACY = (
    Claim("B5", "Where accuracy matters, accumulate in double", "", "", no_further("double_precision", "plain")),
    Claim("B5", "or compensate, by Kahan", "", "", no_further("kahan", "plain")),
    Claim("B5", "or by Neumaier", "", "", no_further("neumaier", "plain")),
    Claim("B6", "A sum by an atomic per element differs from the host's by about 1e-5 of it, and from run to run", "1e-5", "", atomics_stray()),
    Claim("B6", "A block's tree comes nearer to the host's sum of doubles than atomics do", "", "", no_further("atomic_per_block", "atomic_per_element")),
    Claim("B6", "and nearer than the host's own sum of floats", "", "", no_further("atomic_per_block", "host_serial_float")),
    Claim("C10", "Kahan's sum in floats is nearly as accurate as one in doubles", "", "", no_further("kahan", "double_precision", least=1.0)),
    Claim("C10", "and takes four times the instructions", "4x", "", instructions_of("kahan", 4)),
)  # fmt: skip
FUSED = (
    Claim("D5", "A block a row makes RMSNorm one kernel: it adds up squares, hands the factor to all threads, and scales the row", "", "", fused_norm),
)  # fmt: skip
ACCURACY_OF_DOTS = (
    Claim("B6", "A dot product by an atomic per product differs from the host's by about 1e-5 of it, and from run to run", "1e-5", "", atomics_stray(dots=True)),
    Claim("B6", "One by warp shuffles and an atomic a block differs from a float of a double sum by less than a millionth", "8e-7", "", near_the_host("warp_shuffle", 8e-7)),
    Claim("B6", "A tree in shared memory strays no further than the shuffles", "", "", no_further("shared_tree", "warp_shuffle", dots=True)),
    Claim("B6", "because its order of additions happens to be closer to the host's", "", "", nearer_to_serial("shared_tree", "warp_shuffle")),
)  # fmt: skip
EXTREMA = (
    Claim("A6", "With an index beside each value the skeleton of a sum finds the place of the least", "", "", verified("shared_tree", EXTREMUM)),
    Claim("A6", "and of the greatest", "", "", verified("shared_tree", EXTREMUM._replace(operator="maximum"))),
    Claim("A6", "which is the structure of a sum: reduce in registers, hand off through shared memory, touch global memory once", "", "", like_a_sum),
)  # fmt: skip
ACROSS = (
    Claim("C15", "An all-reduce across GPUs is best left to NCCL (ours beside it: every type, operator, mode and size)", "", "", all_reduced),
)  # fmt: skip
INFERENCE = (
    Claim("C13", "Routing chooses the experts of a token by a sort inside a block (a block sorts a row, by CUB)", "", "", as_fast_as_ours("cub_radix_sort", "CUB's sort", "route")),
    Claim("C13", "Sampling by top-k or top-p is a scan that is cut (sorted and scanned by CUB)", "", "", top_p_is_cut),
    Claim("C13", "Speculative verification takes the maximum of p_target / p_draft at each position", "", "", ratios_verify),
    Claim("C13", "and that maximum is a row's reduction like any other (it reads at its limit)", "", "", at_its_roof("greatest_ratio")),
    Claim("C13", "A cache is quantised by the absolute maximum of each group, fused with what writes it (one read, one write; groups of 128, to fp8)", "", "", at_its_roof("quantise_fp8")),
    Claim("C13", "Attention over two segments merges their states (m, l)", "", "", at_its_roof("merge_attention")),
    Claim("C14", "Sums of fp8 (e4m3) have to be accumulated in f32 (and still read at their limit)", "", "", at_its_roof("sum_e4m3")),
    Claim("C14", "the same, of e5m2", "", "", at_its_roof("sum_e5m2")),
    Claim("C14", "fp4 (e2m1) cannot be added as it is: it is converted first (to f16, by the toolkit's functions)", "", "", as_fast_as_ours("toolkit", "the toolkit's conversions", "sum_nvfp4", "sum_mxfp4")),
    Claim("C14", "Reduce inside a group, then apply its scale (groups of 32, mxfp4)", "", "", at_its_roof("sum_mxfp4")),
    Claim("C14", "the same, of 16 (nvfp4)", "", "", at_its_roof("sum_nvfp4")),
    Claim("C14", "Each group of 32 gets a scale of its own when it is made (mxfp4)", "", "", at_its_roof("quantise_mxfp4")),
    Claim("C14", "the same, of 16 (nvfp4)", "", "", at_its_roof("quantise_nvfp4")),
)  # fmt: skip
CLAIMS = {"reductions": REDUCTIONS, "scans": SCANS, "histograms": HISTOGRAMS, "atomics": ATOMICS, "costs": COSTS}

PITFALLS = (
    Claim("C17", "Float atomics do not repeat from run to run", "", "", repeats("atomic_per_element", "atomic_per_block", "grid_stride")),
    Claim("C17", "A few thousand threads are enough", "thousands", "H100", resident_threads),
    Claim("C17", "The exact serial answer cannot be had in parallel", "", "", same_bits),
    Claim("C17", "Reductions stray because addition does not commute", "", "", stated_wrongly(
        "floating-point addition commutes; it does not associate, and it is the grouping that changes between orders")),
    Claim("C17", "A warp runs in lockstep, so its last steps need no barrier", "", "", stated_wrongly(
        "not since Volta: lanes are scheduled independently, and shared memory between them needs __syncwarp")),
    Claim("C17", "The unrolled last warp works for any block", "", "", stated_wrongly(
        "it reads 64 values, so a block of 32 reads past its own; a static_assert belongs there")),
    Claim("C17", "A full-mask shuffle may stand where only part of the warp arrives", "", "", stated_wrongly(
        "every lane the mask names has to execute it; with fewer the result is undefined")),
    Claim("C17", "The output of an atomic reduction may hold anything beforehand", "", "", stated_wrongly(
        "atomics add to what is there: it has to be set to the initial value first, within the timed call")),
    Claim("C17", "A block may leave once the cluster's first has read its shared memory at leisure", "", "", stated_wrongly(
        "a peer's shared memory lives only as long as the peer: a last cluster barrier has to keep it")),
    Claim("C17", "cg::reduce takes a whole thread block", "", "", stated_wrongly(
        "it takes tiles of a warp or less and coalesced groups; a block does not compile")),
    Claim("C17", "A scan across blocks that leaves out its offsets is right within each block and wrong as a whole", "", "", whole_scans),
    Claim("C17", "The sums of a block's warps may be scanned by as many lanes as the block has warps", "", "", stated_wrongly(
        "the shuffles of that scan name all 32 lanes: every lane has to come, those without a warp with nothing to add")),
    Claim("C17", "From Volta on CUB's warp scan is made of cooperative groups", "", "", stated_wrongly(
        "it is made of shuffles, written as PTX, on every architecture")),
    Claim("C17", "A sample's bin may be its remainder by the number of bins", "", "", negative_samples),
    Claim("C17", "A barrier may sit in a loop whose trip count differs between threads", "", "", stated_wrongly(
        "every thread of the block has to reach every barrier; the loop has to run equally often for all")),
)  # fmt: skip


def of(machine: Machine) -> dict[str, tuple[Claim, ...]]:
    """The claims by topic; those about dot products, extrema, rows, accuracy, several GPUs and inference where such were measured."""
    operations = {cell.operation for cell in machine.cells}
    dots = {topics.DOTS: DOTS} if DOT.operation in operations else {}
    extrema = {topics.EXTREMA: EXTREMA} if EXTREMUM.operation in operations else {}
    by_rows = {"rows": ROWS + FUSED * norms_measured(machine)} if rows_measured(machine) else {}
    by_error = {"accuracy": ACCURACY + ACCURACY_OF_DOTS * bool(errors.ways(machine, dots=True))} if errors.measured(machine) else {}
    several = {"across GPUs": ACROSS} if machine.across else {}
    of_inference = {"inference": INFERENCE} if machine.inference else {}
    return CLAIMS | dots | extrema | by_rows | by_error | several | of_inference


# What has no row on the page of some machine, or of all, and why.
IDENTITIES = tuple(f"{text}{number}" for text, last in (("A", 9), ("B", 6), ("C", 18), ("D", 10), ("E", 2)) for number in range(1, last + 1))
LACKING = {
    "C13": "Reductions of inference were not measured on this machine, but for softmax and norms (A7, A8, D5) and what stands among the rows beside torch.",
    "C14": "Inputs of fp8 and fp4 were not measured on this machine.",
    "C15": "All-reduce across GPUs was not measured on this machine.",
    "C16": "What to use: [the texts' advice](index.md#what-the-texts-advise), row by row.",
    "D5": "RMSNorm in one kernel, a block a row, was not measured on this machine.",
    "D10": "What to use at which size: [the texts' advice](index.md#what-the-texts-advise), row by row.",
}


def lacking(machine: Machine) -> dict[str, str]:
    """The identities without a row on the page, and why there is none."""
    told = {claim.identity for own in (*of(machine).values(), PITFALLS) for claim in own}
    return {identity: LACKING.get(identity, "Its measurements are not among this machine's.") for identity in IDENTITIES if identity not in told}


def answer(claim: Claim, machine: Machine) -> Answer:
    """The claim's answer on this machine; a claim about a GPU has none on a CPU."""
    try:
        return known((machine.device or claim.chip == claim.figure == "") and claim.measure(Evidence(machine)))
    except Unmeasured:
        return Answer("–", UNMEASURED)
