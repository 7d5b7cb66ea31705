"""How far the front door is from the best: at sizes, bins and alignments that its tables were not made from (bench/run
--grid=held_out), the time of what it chose over that of the fastest record in the same cell of the same run."""

from dataclasses import dataclass, replace
from functools import cache

from rungs_report import charts, compare, data, topics, words
from rungs_report.charts import HeatMap
from rungs_report.circumstances import banners
from rungs_report.data import Cell, Machine, Row, Run
from rungs_report.page import Page, fold
from rungs_report.tune import middle
from rungs_report.words import columns, spaced, table, text

THRESHOLD = 0.03  # what the geometric mean is to stay under
LEAST_FLOOR = 0.01  # where no twins tell
UNMEASURED = "Not measured yet: `bench/run --grid=held_out` measures it."


@dataclass(frozen=True)
class Point:
    """The front door's call in a cell, the fastest record there that takes the storage as it is, and CUB's fastest entry."""

    cell: Cell
    release: str  # of CCCL, where there are several
    door: Row
    best: Row
    cub: Row | None
    floor: float  # the cell's noise floor

    @property
    def behind(self) -> float:
        """1 where nothing is faster."""
        return self.door.median_us / self.best.median_us

    @property
    def over_cub(self) -> float | None:
        return self.cub.median_us / self.door.median_us if self.cub else None

    @property
    def is_within_floor(self) -> bool:
        return self.behind <= 1 + self.floor

    @property
    def loses_to_cub(self) -> bool:
        """By more than the noise floor, however wide the interval is."""
        return self.cub is not None and self.door.median_us > self.cub.median_us * (1 + self.floor)


def newest(machine: Machine) -> list[tuple[Cell, Run]]:
    """Each cell's newest run, of each release of CCCL."""
    found = {(cell, run.cccl): run for run in machine.runs for cell in run.cells if cell.mode == "cold"}
    return [(cell, run) for (cell, _), run in sorted(found.items(), key=lambda item: item[0])]


@cache
def points(machine: Machine) -> list[Point]:
    """The front door takes its storage as it is, as CUB does. What wants it zeroed once is no rival, nor is what waits for the host."""
    found = []
    several = len(compare.cccl_versions(machine)) > 1
    for cell, run in newest(machine):
        rows = [row for v, row in run.cells[cell].items() if not machine.variants[v].get("waits_for_host") and row.workspace_contract != "zeroed_once"]
        door = next((row for row in rows if compare.is_door(row.variant)), None)
        if door is None:
            continue
        fastest = min(rows, key=lambda row: (row.median_us, row is not door))
        cub = min((row for row in rows if data.is_cub(row.variant)), key=lambda row: row.median_us, default=None)
        floor = run.noise_floor(cell)
        found.append(Point(cell, run.cccl if several else "", door, fastest, cub, LEAST_FLOOR if floor is None else floor))
    return found


# ---- in words


def plain(cell: Cell) -> Cell:
    """Without its offset."""
    return cell._replace(shape=" ".join(part for part in cell.shape.split() if not part.startswith("offset=")))


def offset(cell: Cell) -> str:
    behind = cell.sizes.get("offset")
    return f", {words.plural(behind, 'item')} off" if behind else ""


def named(cell: Cell, release: str = "") -> str:
    against = f", CCCL {release}" if release else ""
    return charts.describe(plain(cell)._replace(mode="")) + offset(cell) + against


def where(cell: Cell, release: str = "") -> str:
    return f"{named(cell, release)} at {words.size(cell.items)}"


def lag(value: float) -> str:
    """How much longer, in per cent: what the regret is called by."""
    return f"{(value - 1) * 100:.1f} %"


def summary(found: list[Point]) -> list[str]:
    worst = max(found, key=lambda each: each.behind)
    against = [each.over_cub for each in found if each.over_cub]
    return [
        f"{len(found):,}",
        lag(middle(each.behind for each in found)),
        lag(worst.behind),
        text(where(worst.cell, worst.release)),
        words.percent(100 * sum(each.is_within_floor for each in found) / len(found)),
        words.ratio(middle(against)) if against else words.UNKNOWN,
        f"{sum(each.loses_to_cub for each in found):,}",
    ]


def by_operation(found: list[Point]) -> list[str]:
    operations = words.grouped(found, lambda each: each.cell.operation)
    known = [operation for topic in topics.KNOWN for operation in topic.operations if operation in operations]
    rows = [[text(name), *summary(operations[name])] for name in known]
    headers = ["", ">points", ">regret, mean", ">regret at worst", "where", ">points within the noise", ">over CUB, mean", ">points slower than CUB"]
    return table(headers, [*rows, ["**in all**", *summary(found)]])


def sentence(found: list[Point]) -> str:
    """Whether the threshold is kept, and whether CUB is faster anywhere."""
    mean = middle(each.behind for each in found)
    kept = "under" if mean < 1 + THRESHOLD else "not under"
    worst = max(found, key=lambda each: each.behind)
    slower = sum(each.loses_to_cub for each in found)
    judged = sum(each.cub is not None for each in found)
    return (
        f"{lag(mean)} behind the fastest in the geometric mean over {words.plural(len(found), 'point')}, which is {kept} the"
        f" {THRESHOLD * 100:.0f} % that was set for it; {lag(worst.behind)} at worst ({text(where(worst.cell, worst.release))}); slower than CUB beyond the noise floor at {f'{slower:,}' if slower else 'none'} of"
        f" {words.plural(judged, 'point')}"
    )


# ---- the page


def field(cell: Cell) -> tuple[str, int]:
    """Where a point stands in its topic's map: histograms by bins, all others by n."""
    if bins := cell.sizes.get("bins"):
        return (f"{cell.input_type}, uneven bins" if cell.operation == "histogram_range" else cell.input_type), bins
    return named(plain(cell)), cell.items


def pictures(page: Page, found: list[Point]) -> list[str]:
    """A map a topic of the largest regrets."""
    lines: list[str] = []
    for topic in topics.KNOWN:
        worst: dict[tuple[str, int], float] = {}
        for each in found:
            if each.cell.operation in topic.operations:
                worst[field(each.cell)] = max(worst.get(field(each.cell), 1.0), each.behind)
        if not worst:
            continue
        counts = topic.name == topics.HISTOGRAMS
        most = "n, distribution and alignment" if counts else "alignment"
        title = f"Regret of {topic.name}: how much longer than the best the front door takes, the most of any {most}"
        shown = [(name, count, value) for (name, count), value in worst.items()]
        about = HeatMap(title, "bins" if counts else "n", shown, lambda value: f"{(value - 1) * 100:.0f} %")
        lines += page.drawn(charts.heat_map, about, f"regret_{topic.name}")
    return lines


def slower(found: list[Point]) -> list[str]:
    """Every point at which CUB is faster, by name."""
    lost = sorted((each for each in found if each.loses_to_cub), key=lambda each: each.over_cub)
    told = {
        "": lambda each: text(named(each.cell, each.release)),
        ">n": lambda each: words.size(each.cell.items),
        ">front door": lambda each: words.time(each.door.median_us),
        ">CUB": lambda each: words.time(each.cub.median_us),
        ">over CUB": lambda each: words.ratio(each.over_cub),
        "interval": lambda each: words.interval(each.door.speedup_low, each.door.speedup_high) or words.UNKNOWN,
        ">noise floor": lambda each: f"{each.floor * 100:.1f} %",
    }
    where = f"{words.plural(len(lost), 'point')}:" if lost else "no point."
    return spaced(f"CUB is faster beyond the noise floor at {where}", columns(lost, told))


def judged(page: Page) -> list[str]:
    found = points(page.machine)
    if not found:
        return []
    far = sorted((each for each in found if each.behind > 1 + max(THRESHOLD, each.floor)), key=lambda each: -each.behind)
    told = {
        "": lambda each: text(named(each.cell, each.release)),
        ">n": lambda each: words.size(each.cell.items),
        ">front door": lambda each: words.time(each.door.median_us),
        "fastest": lambda each: "CUB" if data.is_cub(each.best.variant) else page.label(each.best.variant),
        ">its time": lambda each: words.time(each.best.median_us),
        ">regret": lambda each: lag(each.behind),
        ">noise floor": lambda each: f"{each.floor * 100:.1f} %",
    }
    return spaced(
        f"**The front door is {sentence(found)}.**",
        by_operation(found),
        slower(found),
        pictures(page, found),
        fold(f"Points more than {THRESHOLD * 100:.0f} % and the noise floor behind the best: {len(far)}", columns(far, told)),
    )


def doorless(machine: Machine) -> list[Cell]:
    """Cells in which the front door has no time, though others have."""
    return [cell for cell, run in newest(machine) if not any(map(compare.is_door, run.cells[cell]))]


def measured(machine: Machine) -> bool:
    """Whether there is anything to tell: without a run of held-out problems there is no page."""
    return data.HELD_OUT in machine.grids


def contents(page: Page) -> list[str]:
    if not measured(page.machine):
        return []
    machine = page.machine.grids[data.HELD_OUT]
    own = replace(page, machine=machine)
    runs = words.listed([f"{words.code(run.name)} (CCCL {text(run.cccl)})" for run in machine.runs])
    lines = [
        *banners(own),
        "The front door (`rungs::DeviceReduce` and its neighbours) picks a rung by tables, which were made from other runs. This page asks how much"
        " time a better pick would have saved.",
        "",
        f"- What was measured: problems that no table was made from, with other sizes, numbers of bins and alignments, by {runs}. Each problem is a"
        " point.",
        "- Against what: in each point CUB's entries, and the three rungs that a pilot call found fastest there. All take storage that may hold"
        " anything, as the front door does. What waits for the host is left out.",
        "- Regret: how much longer the front door's call took than the fastest call of the point, in the same run. 0 % means that nothing was"
        " faster; 5 % means that the fastest took 1.00 where the front door took 1.05.",
        "- Noise floor: how far apart CUB's two entries were in points like it. A smaller regret may be chance.",
        "- `1 item off`: the input, and a scan's output, begins one item behind an allocation, so that it is not aligned to 16 bytes.",
        "",
    ]
    if missing := doorless(machine):
        lines += spaced(f"The front door has no time in {words.plural(len(missing), 'cell')}: {text('; '.join(map(where, missing)))}.")
    return [*lines, *judged(own)]


def briefly(page: Page) -> str:
    """The front's line."""
    if not measured(page.machine):
        return UNMEASURED
    found = points(page.machine.grids[data.HELD_OUT])
    return sentence(found) if found else ""
