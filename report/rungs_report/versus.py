"""report/run compare A B: two runs on one GPU, or two GPUs.

Elsewhere ratios never cross runs. Here they have to, so the bar is higher: a difference counts where the intervals of the
medians are apart and it exceeds the noise floor of both runs' cells and also what the ceilings, the same code in both, differ by
at like footprints. Two GPUs are not compared in time at all but in the share of each one's own ceiling.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rungs_report import charts, compare, data, words
from rungs_report.data import Cell, Machine, Unusable, Variant
from rungs_report.words import table

FAST, SLOW, SAME, AMBIGUOUS = "FAST", "SLOW", "SAME", "AMBIGUOUS"
WIDE = 0.10  # an interval wider than this decides nothing
LIKE = 4.01  # footprints within a factor of four are alike; an output adds a few bytes
LEAST_FLOOR = 0.01  # where neither twins nor ceilings tell


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
    """The results that a word on the command line means: a file, a folder of one GPU's, the name of a GPU or of a run."""
    path = Path(named)
    if not path.exists():
        runs = [file for file in data.all_result_files(source, earlier=True) if data.stem(file) == named]
        path = source / named if (source / named).is_dir() else runs[0] if runs else path
    files = [path] if path.is_file() else data.result_files(path) if path.is_dir() else []
    if not files:
        raise Unusable(f"{named}: no result file, no folder of result files, and no GPU or run in {source}")
    runs = []
    for file in files:
        try:
            run, refusals = data.read_run(file, str(file), data.Records(None), placed=False)
        except data.Refused as refusal:
            refusals, run = [data.Refusal.of(str(file), refusal)], None
        for refusal in refusals:
            complain(str(refusal))
        if run and run.rows and (path.is_file() or not run.grid):
            runs.append(run)
    gpus = sorted({run.document["gpu"] for run in runs})
    if len(gpus) != 1:
        raise Unusable(f"{named}: " + (f"holds results of {words.listed(gpus)}; name one" if gpus else "holds no row that can be believed"))
    return Machine(gpus[0], sorted(runs, key=lambda run: run.name))


def about(letter: str, machine: Machine) -> str:
    runs = words.listed([run.name for run in machine.runs])
    cards = "".join(f", card {card}" for card in machine.cards if card)
    return f"{letter}: {machine.name}{cards}, {words.plural(len(machine.runs), 'run')} ({runs}), CCCL {words.listed(compare.cccl_versions(machine))}"


# ---- two runs on one GPU


def ceilings_apart(a: Machine, b: Machine) -> dict[str, list[tuple[int, float]]]:
    """By mode: footprint, and how far the two measurements of the same roof lie apart."""
    rates: list[dict[tuple[str, str, int], list[float]]] = [{}, {}]
    for found, machine in zip(rates, (a, b), strict=True):
        for run in machine.runs:
            for entry in run.document["ceilings"]:
                if entry["gb_per_s"]:
                    found.setdefault((entry["mode"], entry["kind"], entry["bytes"]), []).append(entry["gb_per_s"])
    apart: dict[str, list[tuple[int, float]]] = {}
    for key in rates[0].keys() & rates[1].keys():
        ratio = words.median(rates[0][key]) / words.median(rates[1][key])
        apart.setdefault(key[0], []).append((key[2], max(ratio, 1 / ratio) - 1))
    return apart


def differences(a: Machine, b: Machine) -> list[Difference]:
    """Every variant in every cell that both have, roofs and what ran on the host left out."""
    apart = ceilings_apart(a, b)
    found = []
    for cell in sorted(set(a.cells) & set(b.cells)):
        if cell.mode == "host" or not a.is_problem(cell):
            continue
        twins = [floor for run in (*a.runs, *b.runs) if (floor := run.noise_floor(cell)) is not None]
        for variant in compare.contenders(a, cell):
            ours, theirs = a.rows(cell, variant), b.rows(cell, variant)
            if not theirs or variant.ladder == data.ROOFS:
                continue
            size = ours[0][1].bytes
            roofs = [far for footprint, far in apart.get(cell.mode, []) if size / LIKE <= footprint <= size * LIKE]
            low, high = (pick(row.values[f"{end}_us"] for _, row in own) for own, end, pick in ((theirs, "low", min), (ours, "high", max)))
            least, most = (pick(row.values[f"{end}_us"] for _, row in own) for own, end, pick in ((ours, "low", min), (theirs, "high", max)))
            before, after = (words.median(row.median_us for _, row in own) for own in (ours, theirs))
            floor = max([*twins, *roofs], default=LEAST_FLOOR)
            found.append(Difference(cell, variant, before, after, low / high, most / least, floor))
    return found


def count_alone(a: Machine, b: Machine) -> int:
    """Variants in cells that only the first has."""
    own, other = ({(cell, v) for run in m.runs for cell, rows in run.cells.items() for v in rows} for m in (a, b))
    return len(own - other)


def two_runs(a: Machine, b: Machine, everything: bool) -> tuple[list[str], bool]:
    found = differences(a, b)
    if not found:
        raise Unusable("the two have no case in common")
    counts = Counter(each.verdict for each in found)
    ours = [each for each in found if each.variant.family != compare.YARDSTICKS]
    slower = sum(each.verdict == SLOW for each in ours)
    order = {SLOW: 0, FAST: 1, AMBIGUOUS: 2, SAME: 3}
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
        for each in sorted(found, key=lambda each: (order[each.verdict], -abs(each.ratio - 1), each.cell, each.variant))
        if everything or each.verdict in (SLOW, FAST)
    ]
    lines = [about("A", a), about("B", b), ""]
    if rows:
        lines += [*table(["", "problem", ">n", "variant", ">A", ">B", ">time B / A", "interval", ">noise floor"], rows), ""]
    if compare.cccl_versions(a) != compare.cccl_versions(b):
        lines.append("The two were built against different CCCL: where CUB differs, that is why.")
    lines.append(
        f"{words.plural(len(found), 'case')} in both: " + ", ".join(f"{counts[kind]:,} {kind}" for kind in (SLOW, FAST, AMBIGUOUS, SAME))
        + f"; only in A {count_alone(a, b):,}, only in B {count_alone(b, a):,}"
    )  # fmt: skip
    lines.append(f"regressions of ours: {slower:,}" if slower else "no regression of ours")
    return lines, bool(slower)


# ---- two GPUs


def standing(machine: Machine, cell: Cell) -> tuple[str, float | None, str] | None:
    """The best rung of ours, its share of this GPU's ceiling, and how it stands against CUB."""
    best = compare.best(machine, cell)
    if best is None:
        return None
    said = {"FASTER": "wins", "SAME": "tie", "SLOWER": "CUB wins", "AMBIGUOUS": "undecided"}
    return machine.labels[best.variant], best.percent_of_ceiling, said[best.ratio.verdict] if best.ratio else words.UNKNOWN


def two_gpus(a: Machine, b: Machine, everything: bool) -> list[str]:
    rows, changed, turned, shares = [], 0, 0, []
    shared = [cell for cell in sorted(set(a.cells) & set(b.cells)) if cell.mode != "host" and a.is_problem(cell)]
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
        if everything or first[0] != second[0] or first[2] != second[2]:
            told = [part for name, share, stands in (first, second) for part in (name, words.percent(share), stands)]
            rows.append([charts.describe(cell.problem), words.size(cell.items), *told, words.ratio(quotient)])
    if not compared:
        raise Unusable("the two have no problem in common")
    headers = ["problem", ">n", "A: best rung", ">of its ceiling", "against CUB", "B: best rung", ">of its ceiling", "against CUB", ">share B / A"]
    lines = [about("A", a), about("B", b), "", "Times of two GPUs are not compared: each stands against the ceilings measured on it.", ""]
    lines += [*table(headers, rows), ""] if rows else []
    if shares:
        middle = [words.percent(words.median(each[position] for each in shares)) for position in (0, 1)]
        lines.append(f"share of the ceiling, median over {words.plural(len(shares), 'problem')}: A {middle[0]}, B {middle[1]}")
    lines.append(f"{words.plural(compared, 'problem')} in both: another rung is best in {changed:,}, the verdict against CUB changed in {turned:,}")
    return lines
