"""What may be concluded from several runs of one GPU.

A ratio exists within one run, between samples that were interleaved; runs are only ever put side by side. So every figure
here is taken in each run first, then the median over the runs is the figure and the widest of their intervals is its
interval. Runs built against different releases of CCCL hold different contenders: they are kept apart, and the release
that leaves us the lower ratio is the one that headlines; a rung that has not met a release is carried over to it by those that
have (`over`), or it would gain by not having met the faster CUB. Which rung is best is asked of one release (`told`).
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from rungs_report import words
from rungs_report.data import YARDSTICKS, Cell, Machine, Row, Run, Variant, is_cub
from rungs_report.topics import Topic

SWEEP_OF_LAUNCHES = "launch_sweep"
FRONT_DOOR = "front_door_of_"
LADDER_ITEMS = 1 << 24
NARROW, WORDS = ("u8", "i8", "f16", "bf16"), ("u32", "i32", "f32")


class Ratio(NamedTuple):
    """A speed-up over CUB, over the runs built against one CCCL."""

    value: float
    low: float
    high: float
    verdict: str
    runs: int
    cccl: str
    carried: bool = False  # over from another release, whose runs it counts


def version_key(version: str) -> list[tuple[int, str]]:
    """3.10.0 after 3.9.1; words after numbers of the same place."""
    return [(int(part), "") if part.isdigit() else (1 << 30, part) for part in version.replace("-", ".").split(".")]


@cache
def cccl_versions(machine: Machine) -> list[str]:
    return sorted({run.cccl for run in machine.runs}, key=version_key)


@cache
def main_cccl(machine: Machine) -> str:
    """The release most runs were built against (the newer one of equals): where the tables' times come from."""
    versions = cccl_versions(machine)
    return max(versions, key=lambda version: (sum(run.cccl == version for run in machine.runs), version_key(version)))


def main_runs(machine: Machine) -> list[Run]:
    release = main_cccl(machine)
    return [run for run in machine.runs if run.cccl == release]


def joint_verdict(verdicts: list[str]) -> str:
    """FASTER or SLOWER only where every run says so; runs that contradict each other are AMBIGUOUS."""
    said = set(verdicts)
    if len(said) == 1:
        return said.pop()
    if {"FASTER", "SLOWER"} <= said or "SAME" not in said:
        return "AMBIGUOUS"
    return "SAME"


@cache
def scales(machine: Machine, cell: Cell, release: str) -> tuple[int, dict[str, float]]:
    """How many runs of the release a rung has at most, and by run how far the median run lies from it, by the rungs with so many. CUB's own
    time wanders by several per cent from process to process, and a rung that only some runs have must not gain by that."""
    rows: dict[Variant, dict[str, float]] = {}
    for variant, found in machine.by_cell.get(cell, {}).items():
        for run, row in () if is_cub(variant) else found:
            if run.cccl == release and (speedup := row.values["speedup_over_cub"]):
                rows.setdefault(variant, {})[run.name] = speedup
    most = max(map(len, rows.values()), default=0)
    shared = [(words.median(own.values()), own) for own in rows.values() if len(own) == most]
    names = {name for own in rows.values() for name in own}
    return most, {name: words.median(middle / own[name] for middle, own in shared if name in own) or 1.0 for name in names}


def judged(verdict: str, low: float, high: float) -> str:
    """The verdict, unless the interval has been moved over 1."""
    moved = (verdict == "FASTER" and low <= 1) or (verdict == "SLOWER" and high >= 1)
    return "AMBIGUOUS" if moved else verdict


@cache
def ratios(machine: Machine, cell: Cell, variant: Variant) -> tuple[Ratio, ...]:
    """This variant's speed-up over CUB, one entry a CCCL release. Where it lacks runs that others have, its own are moved to the
    scale of the median run."""
    found = []
    rows = ((run, row.values) for run, row in machine.rows(cell, variant) if row.values["speedup_low"] is not None)
    by_release = words.grouped(rows, lambda each: each[0].cccl)
    for version in cccl_versions(machine):
        if own := by_release.get(version):
            most, moved = scales(machine, cell, version)
            partial = len(own) < most and not is_cub(variant)
            by = [moved[run.name] if partial and values["speedup_over_cub"] else 1.0 for run, values in own]
            middle, low, high = (
                [values[column] * scale for (_, values), scale in zip(own, by, strict=True)]
                for column in ("speedup_over_cub", "speedup_low", "speedup_high")
            )
            verdict = joint_verdict([values["verdict"] for _, values in own])
            verdict = judged(verdict, min(low), max(high)) if partial else verdict
            found.append(Ratio(words.median(middle), min(low), max(high), verdict, len(own), version))
    return tuple(found)


def headline(machine: Machine, cell: Cell, variant: Variant) -> Ratio | None:
    """The ratio against the better CUB."""
    return min(over(machine, cell, variant), key=lambda ratio: ratio.value, default=None)


def measured(machine: Machine, cell: Cell, variant: Variant) -> Ratio | None:
    """The ratio against the better CUB that it met itself."""
    return min(ratios(machine, cell, variant), key=lambda ratio: ratio.value, default=None)


def main_cub(machine: Machine) -> str:
    """CUB, with the main release where several were met."""
    return f"CUB {main_cccl(machine)}" if len(cccl_versions(machine)) > 1 else "CUB"


def over_main(machine: Machine) -> str:
    """What a column or an axis of ratios against the main release is called."""
    return f"over {main_cub(machine)}"


@cache
def reference(machine: Machine, cell: Cell) -> str:
    """The release in whose CUB a cell's contenders are told when they are ranked: the main one, or where nobody met that the
    newest that somebody met."""
    releases = {ratio.cccl for variant in contenders(machine, cell) for ratio in ratios(machine, cell, variant)}
    main = main_cccl(machine)
    return main if main in releases or not releases else max(releases, key=version_key)


@cache
def met(machine: Machine, cell: Cell) -> dict[Variant, dict[str, Ratio]]:
    """Every contender's ratios by release, its own only."""
    return {v: {ratio.cccl: ratio for ratio in ratios(machine, cell, v)} for v in contenders(machine, cell)}


@cache
def apart(machine: Machine, cell: Cell, release: str, other: str) -> float | None:
    """How much lower a ratio over the other release's CUB is, by the rungs of ours that met both; None where none did. What a library does may
    itself change with the release."""
    both = (own for v, own in met(machine, cell).items() if v.family != YARDSTICKS and release in own and other in own)
    return words.median(own[other].value / own[release].value for own in both if own[release].value)


def noise(machine: Machine, cell: Cell, release: str) -> float:
    """The largest noise floor of the cell in the release's runs."""
    return max((run.noise_floor(cell) or 0.0 for run in machine.runs if run.cccl == release), default=0.0)


def carried(machine: Machine, cell: Cell, ratio: Ratio, by: float, release: str) -> Ratio:
    """Over to another release's CUB. The verdict stays where the interval says the same of it, and becomes a tie within what is noise
    there, as it does for what met that release."""
    value, low, high = ratio.value * by, ratio.low * by, ratio.high * by
    same = low > 1 if ratio.verdict == "FASTER" else high < 1 if ratio.verdict == "SLOWER" else low <= 1 <= high
    tied = ratio.verdict in ("FASTER", "SLOWER") and max(value, 1 / value) <= 1 + noise(machine, cell, release)
    return Ratio(value, low, high, "SAME" if tied else ratio.verdict if same else "AMBIGUOUS", ratio.runs, release, True)


@cache
def over(machine: Machine, cell: Cell, variant: Variant) -> tuple[Ratio, ...]:
    """The variant's speed-up over the CUB of every release that any rung met in the cell: its own ratios, and for releases that it
    has not met its first one, carried over."""
    own = met(machine, cell).get(variant, {})
    releases = {release for v, theirs in met(machine, cell).items() if not is_cub(v) for release in theirs}
    found = dict(own)
    for release in releases - set(own) if own and not is_cub(variant) else ():
        first = next(iter(own.values()))
        if by := apart(machine, cell, first.cccl, release):
            found[release] = carried(machine, cell, first, by, release)
    return tuple(found[release] for release in sorted(found, key=version_key))


@cache
def told(machine: Machine, cell: Cell) -> dict[Variant, Ratio]:
    """Every contender's speed-up, told in one release's CUB: what may stand beside each other in a column, and the only thing
    by which rungs are ranked, for not all have met the same releases."""
    unit = reference(machine, cell)
    found = {}
    for variant, own in met(machine, cell).items():
        if own:
            first = next(iter(own.values()))
            found[variant] = own.get(unit) or carried(machine, cell, first, apart(machine, cell, first.cccl, unit) or 1.0, unit)
    return found


def widens(cell: Cell) -> bool:
    """A scan that makes words of bytes or of halves."""
    return cell.operation.endswith("_scan") and cell.input_type in NARROW and cell.output_type in WORDS


def bounded_alike(machine: Machine, run: Run, cell: Cell) -> bool:
    """Whether this run's ceiling of the cell is the machine's: of scans that widen there are older runs that knew no roof which
    widens, and took the faster of a copy and a fill of as many bytes."""
    return run.widens or not machine.widens or not widens(cell)


def figure(machine: Machine, cell: Cell, variant: Variant, column: str) -> float | None:
    """The median over the runs of the main CCCL of one column; over all runs where those lack it."""
    rows = machine.rows(cell, variant)
    if column == "percent_of_ceiling":
        rows = [(run, row) for run, row in rows if bounded_alike(machine, run, cell)]
    release = main_cccl(machine)
    own = words.median(row.values[column] for run, row in rows if run.cccl == release)
    return own if own is not None else words.median(row.values[column] for _, row in rows)


def within_runs(machine: Machine, cell: Cell, numerator: Variant, denominator: Variant) -> float | None:
    """time(numerator) / time(denominator), taken in each run, the median of them."""
    return words.median(
        run.cells[cell][numerator].median_us / run.cells[cell][denominator].median_us
        for run in machine.runs
        if numerator in run.cells.get(cell, {}) and denominator in run.cells.get(cell, {})
    )


def is_door(variant: Variant) -> bool:
    return variant.ladder.startswith(FRONT_DOOR)


@cache
def ours(machine: Machine) -> frozenset[Variant]:
    """Hand-written or cluster, on the device, and neither a mere launch shape of another rung nor the choice of one."""
    return frozenset(
        variant
        for variant, entry in machine.variants.items()
        if variant.family != YARDSTICKS
        and variant.ladder != SWEEP_OF_LAUNCHES
        and not is_door(variant)
        and entry.get("executes_on", "device") == "device"
    )


def is_ours(machine: Machine, variant: Variant) -> bool:
    return variant in ours(machine)


@cache
def contenders(machine: Machine, cell: Cell) -> list[Variant]:
    """Every variant with a row in this cell, in ladder order."""
    return sorted(machine.by_cell.get(cell, {}), key=machine.order.__getitem__)


@dataclass(frozen=True)
class Best:
    """The variant of ours to take for a problem of this size."""

    machine: Machine
    cell: Cell
    variant: Variant

    @cached_property
    def ratio(self) -> Ratio | None:
        return headline(self.machine, self.cell, self.variant)

    @cached_property
    def all_ratios(self) -> tuple[Ratio, ...]:
        return over(self.machine, self.cell, self.variant)

    @cached_property
    def median_us(self) -> float:
        return figure(self.machine, self.cell, self.variant, "median_us")

    @cached_property
    def gb_per_s(self) -> float | None:
        return figure(self.machine, self.cell, self.variant, "gb_per_s")

    @cached_property
    def percent_of_ceiling(self) -> float | None:
        return figure(self.machine, self.cell, self.variant, "percent_of_ceiling")


def rank(machine: Machine, cell: Cell, variant: Variant) -> tuple[float, float, int]:
    """By what every page finds the best: the speed-up over one release's CUB, or the least time where CUB has none."""
    ratio = told(machine, cell).get(variant)
    return (ratio.value if ratio else 0.0, -figure(machine, cell, variant, "median_us"), -machine.order[variant])


@cache
def ranked(machine: Machine, cell: Cell) -> list[Variant]:
    """What of ours is in the cell and the front door, by rank."""
    ours_or_door = [v for v in contenders(machine, cell) if is_ours(machine, v) or is_door(v)]
    return sorted(ours_or_door, key=lambda variant: rank(machine, cell, variant), reverse=True)


def keeps_cubs_contract(machine: Machine, variant: Variant) -> bool:
    """Takes its workspace as it is, as CUB does: nobody has to zero it beforehand."""
    return machine.variants[variant].get("workspace_contract") != "zeroed_once"


def best(machine: Machine, cell: Cell, contract: bool = False) -> Best | None:
    """The first by rank of what could stand where CUB's call stood. contract: only of the rungs that keep CUB's workspace contract, and
    of the front door, which keeps it."""
    could = (v for v in ranked(machine, cell) if (keeps_cubs_contract(machine, v) if contract else is_ours(machine, v)))
    chosen = next(could, None)
    return Best(machine, cell, chosen) if chosen else None


def fastest_cub(machine: Machine, cell: Cell) -> tuple[Variant, float] | None:
    """CUB's fastest entry in the cell and its time, over the runs of the main CCCL; of entries that those runs lack, where they
    have none."""
    entries = [variant for variant in contenders(machine, cell) if is_cub(variant)]
    of_main = [v for v in entries if any(run.cccl == main_cccl(machine) for run, _ in machine.rows(cell, v))]
    times = {variant: figure(machine, cell, variant, "median_us") for variant in of_main or entries}
    chosen = min(times, key=lambda variant: (times[variant], machine.order[variant]), default=None)
    return (chosen, times[chosen]) if chosen else None


def fastest(machine: Machine, cell: Cell) -> Variant | None:
    """The best rung, or CUB's entry where that is faster."""
    ours, cub = best(machine, cell), fastest_cub(machine, cell)
    if ours and (cub is None or (ratio := told(machine, cell).get(ours.variant)) is None or ratio.value >= 1):
        return ours.variant
    return cub[0] if cub else None


def of_main_runs(machine: Machine, cell: Cell, told: Callable[[Row], float | None]) -> float | None:
    """What rows with a ceiling tell of it: the median over the runs, whose rows agree but for rounding. Runs differ in how many rows
    they have."""
    runs = (run.cells.get(cell, {}).values() for run in main_runs(machine) if bounded_alike(machine, run, cell))
    return words.median(words.median(told(row) for row in rows if row.percent_of_ceiling) for rows in runs)


@cache
def ceiling(machine: Machine, cell: Cell) -> float | None:
    """GB/s of the ceiling at this footprint, as the rows' own percentages imply it."""
    return of_main_runs(machine, cell, lambda row: row.gb_per_s / row.percent_of_ceiling * 100 if row.gb_per_s else None)


@cache
def launch_floor(machine: Machine, mode: str) -> float | None:
    """What an empty kernel takes."""
    floors = [f for run in main_runs(machine) for f in run.document["floors"] if f["mode"] == mode and f["kind"] == "empty"]
    return words.median(floor["median_us"] for floor in floors)


def roof_rate(runs: list[Run], kind: str) -> tuple[int, float] | None:
    """Of the largest buffer that a roof was measured with: its bytes, and GB/s from memory."""
    rates = [(each["bytes"], each["gb_per_s"]) for run in runs for each in run.document["ceilings"] if (each["mode"], each["kind"]) == ("cold", kind) and each["gb_per_s"]]
    largest = max(rates, default=(0, 0.0))[0]
    return (largest, words.median(rate for size, rate in rates if size == largest)) if rates else None


def ceiling_time(machine: Machine, cell: Cell) -> float | None:
    """How long the roof takes at this footprint."""
    return of_main_runs(machine, cell, lambda row: row.median_us * row.percent_of_ceiling / 100)


def floor_share(machine: Machine, cell: Cell) -> float | None:
    """How much of the ceiling's time an empty launch would take, in per cent."""
    floor, time = launch_floor(machine, cell.mode), ceiling_time(machine, cell)
    return floor / time * 100 if floor and time else None


def is_headline(problem: Cell) -> bool:
    """A sum of floats, whatever its operation and mode, the place of the least float, a selection of half of the floats, the 64 greatest floats of
    64 rows, or a histogram of bytes, at which CUB is at its best: what a topic is headed by."""
    if problem.operation == "arg_extremum":
        return problem[1:7] == ("minimum", "f32", "f32", "i64", "", "uniform")
    if problem.operation == "select_if":
        return problem[1:7] == ("", "f32", "f32", "f32", "percent=50", "uniform")
    if problem.operation == "top_k":
        return problem[1:7] == ("", "f32", "f32", "u32", "rows=64 columns=131072 k=64", "uniform")
    if problem.operation == "histogram_even":
        return (problem.input_type, problem.shape, problem.distribution) == ("u8", "bins=256", "uniform")
    return problem[1:7] == ("plus", "f32", "f32", "f32", "", "uniform")


@cache
def problems(machine: Machine, topic: Topic, mode: str | None = None) -> list[Cell]:
    """Every problem of the topic (a cell at no particular size): cold first, sums of floats before others, then the
    most-measured, then by name."""
    counts: dict[Cell, int] = {}
    for cell in machine.cells:
        if mode in (None, cell.mode) and cell.operation in topic.operations and machine.is_problem(cell):
            counts[cell.problem] = counts.get(cell.problem, 0) + len(contenders(machine, cell))

    def rank(problem: Cell) -> tuple[bool, bool, int, int, Cell]:
        heads = is_headline(problem)
        place = topic.operations.index(problem.operation) if heads else 0
        return (problem.mode != "cold", not heads, place, -counts[problem], problem)

    return sorted(counts, key=rank)


def main_problem(machine: Machine, topic: Topic) -> Cell | None:
    """What the topic's page is about: sums of floats, cold; where there are none, what was measured most."""
    return next(iter(problems(machine, topic)), None)


@dataclass(frozen=True)
class Recommended:
    """The one rung to take for a problem whose distribution is not known, and what CUB does in its place."""

    setting: Cell  # the cells without their distribution
    variant: Variant
    times: dict[str, float]  # by distribution
    ratios: dict[str, Ratio]  # over CUB, likewise; none where CUB has no time
    cub: dict[str, float]  # its fastest entry's times

    @property
    def worst(self) -> Ratio | None:
        return min(self.ratios.values(), key=lambda ratio: ratio.value, default=None)


def spread(times: dict[str, float]) -> float | None:
    """The worst time over the best; None where there are not two to compare."""
    return max(times.values()) / min(times.values()) if len(times) > 1 else None


@cache
def settings(machine: Machine, operation: str, mode: str = "cold") -> dict[Cell, dict[str, Cell]]:
    """The cells of an operation that differ in nothing but the distribution, by distribution."""
    found: dict[Cell, dict[str, Cell]] = {}
    for cell in machine.cells:
        if cell.operation == operation and cell.mode == mode and machine.is_problem(cell):
            found.setdefault(cell._replace(distribution=""), {})[cell.distribution] = cell
    return found


def rank_over(machine: Machine, cells: list[Cell], variant: Variant) -> tuple[int, int, float, float, int]:
    """The rank over several cells: measured in most of them, against CUB in most, and by the worst of them."""
    own = [cell for cell in cells if variant in contenders(machine, cell)]
    found = [ratio.value for cell in own if (ratio := told(machine, cell).get(variant))]
    longest = max(figure(machine, cell, variant, "median_us") for cell in own)
    return (len(own), len(found), min(found, default=0.0), -longest, -machine.order[variant])


@cache
def recommended(machine: Machine, setting: Cell) -> Recommended | None:
    """Of the rungs measured with the most distributions, the one whose lowest speed-up over CUB among them is highest; where CUB
    has no time at all, the one whose longest time is least."""
    cells = settings(machine, setting.operation, setting.mode).get(setting, {})
    present = {d: found for d, cell in cells.items() if (found := [v for v in contenders(machine, cell) if is_ours(machine, v)])}
    if not present:
        return None
    over_these = [cells[distribution] for distribution in present]
    chosen = max({v for variants in present.values() for v in variants}, key=lambda variant: rank_over(machine, over_these, variant))
    own = {d: cells[d] for d, variants in present.items() if chosen in variants}
    cub = {d: found[1] for d, cell in cells.items() if (found := fastest_cub(machine, cell))}
    return Recommended(
        setting,
        chosen,
        {d: figure(machine, cell, chosen, "median_us") for d, cell in own.items()},
        {d: ratio for d, cell in own.items() if (ratio := headline(machine, cell, chosen))},
        cub,
    )


def sizes(machine: Machine, problem: Cell) -> list[Cell]:
    return machine.sweeps.get(problem, [])


def bests(machine: Machine, problem: Cell, contract: bool = False) -> list[Best]:
    return [found for cell in sizes(machine, problem) if (found := best(machine, cell, contract))]


@cache
def verdicts(machine: Machine, topic: Topic, contract: bool = False) -> Counter[str]:
    """How the best rung stands against CUB, over every problem of the topic, every mode and every size."""
    found = (each for problem in problems(machine, topic) for each in bests(machine, problem, contract))
    return Counter(each.ratio.verdict for each in found if each.ratio)


def ladder_cell(machine: Machine, problem: Cell) -> Cell | None:
    """The size at which the ladder is shown: 16 Mi, else where most rungs were measured (the largest of equals)."""
    found = sizes(machine, problem)
    for cell in found:
        # The host's baselines stop early, and each of them is to be seen.
        if cell.items == LADDER_ITEMS and cell.mode != "host":
            return cell
    return max(found, key=lambda cell: (len(contenders(machine, cell)), cell.items), default=None)
