"""report/run compare A B, or RUN --against=committed: two runs on one GPU, or two GPUs.

Elsewhere ratios never cross runs. Here they have to, so the bar is higher: a difference counts where the intervals of the
medians are apart and it exceeds the noise floor of both runs' cells and also what the ceilings, the same code in both, differ by
at like footprints. Two GPUs are not compared in time at all but in the share of each one's own ceiling.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rungs_report import charts, compare, data, words
from rungs_report.data import Cell, Machine, Unusable, Variant
from rungs_report.words import table

FAST, SLOW, SAME, AMBIGUOUS = "FAST", "SLOW", "SAME", "AMBIGUOUS"
WIDE = 0.10  # an interval wider than this decides nothing
LIKE = 4.01  # footprints within a factor of four are alike; an output adds a few bytes
LEAST_FLOOR = 0.01  # where neither twins nor ceilings tell
SCHEMA = "rungs.comparison/1"
SUFFIXES = {"": 0, "Ki": 10, "Mi": 20, "Gi": 30}


def _size(text: str) -> int:
    found = re.fullmatch(r"([0-9]+)(Ki|Mi|Gi|)", text)
    if not found:
        raise Unusable(f"--size: {text!r} is no number of items such as 1048576, 1Mi or 1Ki:1Gi")
    return int(found[1]) << SUFFIXES[found[2]]


# What a case is called by each option.
OF_CELLS: dict[str, Callable[[Cell], set[str]]] = {
    "operation": lambda cell: {cell.operation},
    "type": lambda cell: {cell.input_type, f"{cell.input_type}:{cell.accumulator_type}"},
    "mode": lambda cell: {cell.mode},
}
OF_VARIANTS: dict[str, Callable[[Variant], set[str]]] = {"family": lambda variant: {variant.family}, "variant": lambda variant: {variant.rung}}


class Filter:
    """Which cases are compared: lists of names apart by commas, sizes also as ranges; what is empty lets everything pass."""

    OPTIONS = ("family", "operation", "type", "size", "variant", "mode")

    def __init__(self, **options: str | None) -> None:
        named = {option: [part for part in (options.get(option) or "").split(",") if part] for option in self.OPTIONS}
        self.told = {option: names for option, names in named.items() if names}
        self.spans = {part: [_size(end) for end in part.split(":")] for part in self.told.get("size", ())}

    def passes_cell(self, cell: Cell) -> bool:
        sized = not self.spans or any(span[0] <= cell.items <= span[-1] for span in self.spans.values())
        return sized and all(tell(cell) & {*self.told.get(option, tell(cell))} for option, tell in OF_CELLS.items())

    def passes(self, variant: Variant) -> bool:
        return all(tell(variant) & {*self.told.get(option, tell(variant))} for option, tell in OF_VARIANTS.items())

    def check(self, *machines: Machine) -> None:
        """Raises where a name is of nothing that was measured."""
        for options, found in ((OF_VARIANTS, {v for m in machines for v in m.variants}), (OF_CELLS, {c for m in machines for c in m.cells})):
            for option, tell in options.items():
                names = {name for each in found for name in tell(each)}
                if unknown := [name for name in self.told.get(option, ()) if name not in names]:
                    there = "" if option == "variant" else f"; there are {', '.join(sorted(name for name in names if ':' not in name))}"
                    raise Unusable(f"--{option}: nothing that was measured is called {unknown[0]!r}{there}")
        for part, ends in self.spans.items():
            if len(ends) > 2 or ends[0] > ends[-1]:
                raise Unusable(f"--size: {part!r} is no range such as 1Ki:1Gi")


@dataclass(frozen=True)
class Report:
    """What was found: for a reader, whose table is Markdown, and for a program."""

    lines: list[str]
    document: dict[str, Any] = field(default_factory=dict)
    worse: bool = False


@dataclass(frozen=True)
class Difference:
    cell: Cell
    variant: Variant
    before: float
    after: float
    low: float
    high: float
    floor: float

    @property
    def ratio(self) -> float:
        return self.after / self.before

    @property
    def verdict(self) -> str:
        if self.low > 1 and self.ratio > 1 + self.floor:
            return SLOW
        if self.high < 1 and self.ratio < 1 / (1 + self.floor):
            return FAST
        return AMBIGUOUS if self.high - self.low > WIDE else SAME


def side(named: str, source: Path, complain: Callable[[str], None]) -> Machine:
    """The results that a word on the command line means: a file, a folder of one GPU's, the name of a GPU or of a run. Told is what was
    refused of them, where something can be done about it."""
    path = Path(named)
    if not path.exists():
        runs = [file for file in data.all_result_files(source, earlier=True) if data.stem(file) == named]
        path = source / named if (source / named).is_dir() else runs[0] if runs else path
    files = [path] if path.is_file() else data.result_files(path) if path.is_dir() else []
    if not files:
        raise Unusable(f"{named}: no result file, no folder of result files, and no GPU or run in {source}")
    return _read(named, files, path.is_file(), complain)


def committed(of: Machine, source: Path, complain: Callable[[str], None]) -> Machine:
    """What is committed of the same model of GPU, the run itself left out."""
    folder = source / of.gpu
    there = {path.name for path in source.glob("*") if data.result_files(path)}
    tracked = subprocess.run(["git", "-C", str(source), "ls-files", of.gpu], capture_output=True, text=True, check=False)
    own = {run.name for run in of.runs}
    files = [file for file in data.result_files(folder) if data.stem(file) not in own] if folder.is_dir() else []
    if tracked.returncode == 0 and tracked.stdout:
        names = {Path(line).name for line in tracked.stdout.splitlines()}
        files = [file for file in files if file.name in names]
    if not files:
        raise Unusable(f"--against=committed: {source} holds no other results of {of.gpu}; it has {words.listed(sorted(there)) or 'none'}")
    return _read(f"committed results of {of.gpu}", files, False, complain)


def _read(named: str, files: Iterable[Path], any_grid: bool, complain: Callable[[str], None]) -> Machine:
    runs = []
    for file in files:
        try:
            run, refusals = data.read_run(file, str(file), data.Records(None), placed=False)
        except data.Refused as refusal:
            refusals, run = [data.Refusal.of(str(file), refusal)], None
        for refusal in refusals:
            if refusal.whole_file or refusal.todo != data.NOTHING:
                complain(str(refusal))
        if run and run.rows and (any_grid or not run.grid):
            runs.append(run)
    gpus = sorted({run.document["gpu"] for run in runs})
    if len(gpus) != 1:
        raise Unusable(f"{named}: " + (f"holds results of {words.listed(gpus)}; name one" if gpus else "holds no row that can be believed"))
    return Machine(gpus[0], sorted(runs, key=lambda run: run.name))


def about(letter: str, machine: Machine) -> str:
    names = [run.name for run in machine.runs]
    runs = words.listed(names) if len(names) < 4 else f"{names[0]} to {names[-1]}"
    known = [card for card in machine.cards if card]
    cards = "".join(f", card {card}" for card in known) if len(known) < 4 else f", {len(known)} cards"
    return f"{letter}: {machine.name}{cards}, {words.plural(len(machine.runs), 'run')} ({runs}), CCCL {words.listed(compare.cccl_versions(machine))}"


# ---- two runs on one GPU


def ceilings_apart(a: Machine, b: Machine) -> dict[str, list[tuple[int, float]]]:
    """By mode: footprint, and how far the two measurements of the same roof lie apart."""
    known = ((entry for run in machine.runs for entry in run.document["ceilings"] if entry["gb_per_s"]) for machine in (a, b))
    ours, theirs = (words.grouped(own, lambda entry: (entry["mode"], entry["kind"], entry["bytes"]), lambda entry: entry["gb_per_s"]) for own in known)
    ratios = {key: words.median(ours[key]) / words.median(theirs[key]) for key in ours.keys() & theirs.keys()}
    return words.grouped(ratios.items(), lambda item: item[0][0], lambda item: (item[0][2], max(item[1], 1 / item[1]) - 1))


def differences(a: Machine, b: Machine, wanted: Filter = Filter(), threshold: float = 0.0) -> list[Difference]:
    """Every variant in every cell that both have and that is wanted, roofs and what ran on the host left out. Libraries are compared
    where both sides met the same release. threshold: the least difference that counts, where the noise is less."""
    apart = ceilings_apart(a, b)
    releases = set(compare.cccl_versions(a)) & set(compare.cccl_versions(b))
    found = []
    for cell in sorted(set(a.cells) & set(b.cells)):
        if cell.mode == "host" or not a.is_problem(cell) or not wanted.passes_cell(cell):
            continue
        twins = [floor for run in (*a.runs, *b.runs) if (floor := run.noise_floor(cell)) is not None]
        for variant in filter(wanted.passes, compare.contenders(a, cell)):
            library = variant.family == compare.YARDSTICKS
            ours, theirs = ([each for each in m.rows(cell, variant) if not library or each[0].cccl in releases] for m in (a, b))
            if not ours or not theirs or variant.ladder == data.ROOFS:
                continue
            size = ours[0][1].bytes
            roofs = [far for footprint, far in apart.get(cell.mode, []) if size / LIKE <= footprint <= size * LIKE]
            low, high = (pick(row.values[f"{end}_us"] for _, row in own) for own, end, pick in ((theirs, "low", min), (ours, "high", max)))
            least, most = (pick(row.values[f"{end}_us"] for _, row in own) for own, end, pick in ((ours, "low", min), (theirs, "high", max)))
            before, after = (words.median(row.median_us for _, row in own) for own in (ours, theirs))
            floor = max(max([*twins, *roofs], default=LEAST_FLOOR), threshold)
            same = [run.name for run, _ in ours] == [run.name for run, _ in theirs]  # the same measurement
            found.append(Difference(cell, variant, before, after, *((1.0, 1.0) if same else (low / high, most / least)), floor))
    return found


def count_alone(a: Machine, b: Machine, wanted: Filter) -> int:
    """Variants in cells that only the first has."""
    own, other = ({(cell, v) for run in m.runs for cell, rows in run.cells.items() for v in rows} for m in (a, b))
    return sum(wanted.passes_cell(cell) and wanted.passes(variant) for cell, variant in own - other)


def _side_json(machine: Machine) -> dict[str, Any]:
    named = {"gpu": machine.gpu, "name": machine.name, "cards": [card for card in machine.cards if card]}
    return {**named, "runs": [run.name for run in machine.runs], "cccl": compare.cccl_versions(machine)}


def _document(a: Machine, b: Machine, wanted: Filter, **more: Any) -> dict[str, Any]:
    return {"schema": SCHEMA, "a": _side_json(a), "b": _side_json(b), "filters": wanted.told, **more}


def _case_json(each: Difference) -> dict[str, Any]:
    times = {"a_us": each.before, "b_us": each.after, "ratio": each.ratio, "low": each.low, "high": each.high, "noise_floor": each.floor}
    return {"verdict": each.verdict, **each.variant._asdict(), **each.cell._asdict(), **times}


def two_runs(
    a: Machine, b: Machine, everything: bool, libraries: bool = False, wanted: Filter = Filter(), threshold: float = 0.0
) -> Report:
    wanted.check(a, b)
    found = differences(a, b, wanted, threshold)
    if not found:
        raise Unusable("the two have no case in common" + (" that passes the filters" if wanted.told else ""))
    counts = Counter(each.verdict for each in found)
    ours = [each for each in found if each.variant.family != compare.YARDSTICKS]
    theirs = Counter(each.verdict for each in found if each.variant.family == compare.YARDSTICKS)
    slower = sum(each.verdict == SLOW for each in ours)
    order = {SLOW: 0, FAST: 1, AMBIGUOUS: 2, SAME: 3}
    found.sort(key=lambda each: (order[each.verdict], -abs(each.ratio - 1), each.cell, each.variant))
    shown = found if everything or libraries or not ours else ours
    rows = [
        [
            each.verdict,
            charts.describe(each.cell.problem),
            words.size(each.cell.items),
            a.labels[each.variant],
            words.time(each.before),
            words.time(each.after),
            words.ratio(each.ratio),
            words.interval(each.low, each.high),
            f"{each.floor * 100:.1f} %",
        ]
        for each in shown
        if everything or each.verdict in (SLOW, FAST)
    ]
    lines = [about("A", a), about("B", b), ""]
    if rows:
        lines += [*table(["", "problem", ">n", "variant", ">A", ">B", ">time B / A", "interval", ">noise floor"], rows), ""]
    if shown is ours and (theirs[SLOW] or theirs[FAST]):
        lines.append(f"of libraries {theirs[SLOW]:,} SLOW and {theirs[FAST]:,} FAST; --libraries shows them")
    if threshold:
        lines.append(f"differences under {threshold * 100:g} % count as none")
    lines.append(
        f"{words.plural(len(found), 'case')} in both: " + ", ".join(f"{counts[kind]:,} {kind}" for kind in (SLOW, FAST, AMBIGUOUS, SAME))
        + f"; only in A {count_alone(a, b, wanted):,}, only in B {count_alone(b, a, wanted):,}"
    )  # fmt: skip
    lines.append(f"regressions of ours: {slower:,}" if slower else "no regression of ours")
    numbers = {"threshold": threshold, "counts": {kind: counts[kind] for kind in order}, "regressions": slower}
    alone = {"only_in_a": count_alone(a, b, wanted), "only_in_b": count_alone(b, a, wanted)}
    return Report(lines, _document(a, b, wanted, **numbers, **alone, cases=[_case_json(each) for each in found]), bool(slower))


# ---- two GPUs


def standing(machine: Machine, cell: Cell) -> tuple[str, float | None, str] | None:
    """The best rung of ours, its share of this GPU's ceiling, and how it stands against CUB."""
    best = compare.best(machine, cell)
    if best is None:
        return None
    said = {"FASTER": "wins", "SAME": "tie", "SLOWER": "CUB wins", "AMBIGUOUS": "undecided"}
    return machine.labels[best.variant], best.percent_of_ceiling, said[best.ratio.verdict] if best.ratio else words.UNKNOWN


def two_gpus(a: Machine, b: Machine, everything: bool, wanted: Filter = Filter()) -> Report:
    if wanted.told.keys() & OF_VARIANTS.keys():
        raise Unusable("of two GPUs the best rungs are compared: leave out --family and --variant")
    wanted.check(a, b)
    rows, changed, turned, shares, cases = [], 0, 0, [], []
    both = sorted(set(a.cells) & set(b.cells))
    shared = [cell for cell in both if cell.mode != "host" and a.is_problem(cell) and wanted.passes_cell(cell)]
    compared = 0
    for cell in shared:
        first, second = standing(a, cell), standing(b, cell)
        if first is None or second is None:
            continue
        compared += 1
        changed += first[0] != second[0]
        turned += first[2] != second[2]
        quotient = second[1] / first[1] if first[1] and second[1] else None
        shares += [(first[1], second[1])] if quotient else []
        named = ({"rung": name, "percent_of_ceiling": share, "against_cub": stands} for name, share, stands in (first, second))
        cases.append({**cell._asdict(), **dict(zip("ab", named, strict=True)), "ratio_of_shares": quotient})
        if everything or first[0] != second[0] or first[2] != second[2]:
            told = [part for name, share, stands in (first, second) for part in (name, words.percent(share), stands)]
            rows.append([charts.describe(cell.problem), words.size(cell.items), *told, words.ratio(quotient)])
    if not compared:
        raise Unusable("the two have no problem in common" + (" that passes the filters" if wanted.told else ""))
    headers = ["problem", ">n", "A: best rung", ">of its ceiling", "against CUB", "B: best rung", ">of its ceiling", "against CUB", ">share B / A"]
    lines = [about("A", a), about("B", b), "", "Times of two GPUs are not compared: each stands against the ceilings measured on it.", ""]
    lines += [*table(headers, rows), ""] if rows else []
    if shares:
        middle = [words.percent(words.median(each[position] for each in shares)) for position in (0, 1)]
        lines.append(f"share of the ceiling, median over {words.plural(len(shares), 'problem')}: A {middle[0]}, B {middle[1]}")
    lines.append(f"{words.plural(compared, 'problem')} in both: another rung is best in {changed:,}, the verdict against CUB changed in {turned:,}")
    return Report(lines, _document(a, b, wanted, another_rung=changed, another_verdict=turned, cases=cases))
