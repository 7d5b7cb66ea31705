"""Selections, partitions, run lengths and calls on runs of equal keys beside CUB's, from what rungs_by_key wrote. All numbers of a cell come
from one process, whose contenders took turns."""

from collections import Counter
from statistics import geometric_mean
from typing import Any

from rungs_report import studies, words
from rungs_report.data import Machine
from rungs_report.page import SAID, Page
from rungs_report.storage import Storage
from rungs_report.studies import Cell, Result, Run
from rungs_report.words import code, spaced, table, text

NAMES = {
    "select_flagged": "DeviceSelect::Flagged", "select_if": "DeviceSelect::If", "partition_flagged": "DevicePartition::Flagged",
    "partition_if": "DevicePartition::If", "unique": "DeviceSelect::Unique", "unique_by_key": "DeviceSelect::UniqueByKey",
    "encode": "DeviceRunLengthEncode::Encode", "non_trivial_runs": "DeviceRunLengthEncode::NonTrivialRuns",
    "reduce_by_key": "DeviceReduce::ReduceByKey", "inclusive_sum_by_key": "DeviceScan::InclusiveSumByKey",
    "exclusive_sum_by_key": "DeviceScan::ExclusiveSumByKey", "inclusive_segmented_sum": "DeviceSegmentedScan::InclusiveSegmentedSum",
}  # fmt: skip
ONE_RUN, MIXED = 1 << 60, 1 << 61  # order behind all lengths


def runs(machine: Machine) -> list[Run]:
    return studies.latest(machine.by_key)


def result(cell: Cell, name: str) -> Result | None:
    return next((each for each in cell["results"] if each["name"] == name and "median_us" in each), None)


def structure(cell: Cell) -> tuple[int, str]:
    """How many items are chosen, or how long runs are: what orders it, and what the page calls it."""
    if "chosen_percent" in cell:
        return cell["chosen_percent"], f"{cell['chosen_percent']} % chosen"
    if "longest_run" in cell:
        return MIXED, "one run of half the items, then runs of 4 in the mean"
    if cell["mean_run"] == cell["items"]:
        return ONE_RUN, "one run"
    return cell["mean_run"], "runs of 1" if cell["mean_run"] == 1 else f"runs of {cell['mean_run']:,} in the mean"


def types(cell: Cell) -> str:
    return f"{cell['keys']}, {cell['values']}" if cell["values"] else cell["keys"]


def about(cell: Cell) -> tuple[Any, ...]:
    return cell["operation"], cell["keys"], cell["values"], cell["items"], structure(cell)


def decisive(page: Page) -> list[Cell]:
    """Of each problem the cell of the release that we are the least ahead of."""
    found = words.grouped((cell for run in runs(page.machine) for cell in run["cells"]), about)
    return [min(cells, key=lambda cell: cell["speedup"]["value"] if "speedup" in cell else float("inf")) for cells in found.values()]


def met_once(page: Page) -> int:
    """Problems that not every release was run on."""
    met = Counter(about(cell) for run in runs(page.machine) for cell in run["cells"] if "speedup" in cell)
    return sum(count < len(runs(page.machine)) for count in met.values())


def groups(page: Page) -> dict[str, list[Cell]]:
    """The cells by operation, as CUB's headers order them."""
    cells = decisive(page)
    found = {name: [cell for cell in cells if cell["operation"] == name] for name in NAMES}
    return {name: cells for name, cells in found.items() if cells}


def beside(*several: Run) -> str:
    return f"CUB {words.listed([run['versions']['cccl'] for run in several])}"


def where(cell: Cell) -> str:
    return f"{types(cell)}, {structure(cell)[1]}, {words.size(cell['items'])} items"


def at_the_copy(cells: list[Cell]) -> str:
    """How many times as fast as CUB's a call that takes the copy's time would be."""
    shares = [(cell["speedup"]["value"], result(cell, "rungs")) for cell in cells]
    bounds = [speedup * 100 / own["percent_of_copy"] for speedup, own in shares if own and own["percent_of_copy"]]
    return words.ratio(geometric_mean(bounds)) if bounds else words.UNKNOWN


def findings(page: Page) -> list[str]:
    """A line for each call, and what was verified."""
    rows = []
    for name, found in groups(page).items():
        if compared := [cell for cell in found if "speedup" in cell]:
            ratios = studies.ratios([cell["speedup"] for cell in compared], compared, lambda cell: f"({where(cell)})")
            rows.append([code(NAMES[name]), ratios[0], at_the_copy(compared), *ratios[1:]])
    every = runs(page.machine)
    lines = spaced(
        table(["", f">over {text(beside(*every))}", ">at the copy's speed", "least", ">most", ">faster / tie / slower / undecided"], rows),
    )
    if len(every) > 1:
        once = met_once(page)
        lines += spaced(
            "Of each problem the release counts that we are the least ahead of." + (f" {words.plural(once, 'problem')} met one release only." if once else ""),
        )
    return lines + [line for run in every for line in (verified(run), "")]


def verified(run: Run) -> str:
    """What follows from the file having been believed: wrong results of ours refuse it."""
    by_host = sum(cell["compared_with"] == "host" for cell in run["cells"])
    lines = (
        f"Beside {text(beside(run))}: our outputs were right in all cells. In {by_host:,} of {words.plural(len(run['cells']), 'cell')} the host made the right outputs, too;"
        " in the others ours equal CUB's, bit for bit. Sums of floats are of whole numbers, so that they are exact."
    )
    wrong = [cell for cell in run["cells"] if any(each["name"] == "cub" and not each["verified"] for each in cell["results"])]
    return lines + (f" CUB's outputs were wrong in {words.plural(len(wrong), 'cell')}, first at {where(wrong[0])} of {code(NAMES[wrong[0]['operation']])}." if wrong else "")


def told(cell: Cell | None) -> str:
    """Our time, the speed-up and the share of the copy."""
    own = result(cell, "rungs") if cell else None
    if not own:
        return words.UNKNOWN
    speedup = cell.get("speedup")
    parts = [words.time(own["median_us"]), *([words.ratio(speedup["value"]) + SAID[speedup["verdict"]]] if speedup else [])]
    return ", ".join([*parts, *([words.percent(own["percent_of_copy"])] if own["percent_of_copy"] is not None else [])])


def times(page: Page) -> list[str]:
    """A table of each call: types and items down, what is chosen or how long runs are across."""
    lines = []
    for name, found in groups(page).items():
        columns = sorted({structure(cell) for cell in found})
        rows = []
        for line in dict.fromkeys((types(cell), cell["items"]) for cell in sorted(found, key=lambda cell: (types(cell), cell["items"]))):
            own = {structure(cell): cell for cell in found if (types(cell), cell["items"]) == line}
            rows.append([line[0], words.size(line[1]), *(told(own.get(column)) for column in columns)])
        lines += spaced(f"## {NAMES[name]} beside {text(beside(*runs(page.machine)))}", rival(page, name))
        lines += spaced(table(["types", ">items", *(f">{column[1]}" for column in columns)], rows))
    return lines


def workspace(page: Page) -> list[str]:
    """The storage that both libraries' calls ask for."""
    asked = Storage()
    for run in runs(page.machine):
        for cell in run["cells"]:
            ours, cub = result(cell, "rungs"), result(cell, "cub")
            if ours and cub:
                asked.add(NAMES.get(cell["operation"], cell["operation"]), f"({types(cell)})" if cell["values"] else cell["keys"], cell["items"], ours["storage_bytes"], {cub["storage_bytes"]})
    return spaced("## Workspace", "The temporary storage that a call asks for in its first phase.", asked.table()) if asked.asked else []


def rival(page: Page, name: str) -> list[str]:
    """What stands for CUB's call of this name in releases that have none."""
    old = [run for run in runs(page.machine) if tuple(map(int, run["versions"]["cccl"].split("."))) < (3, 3)]
    if name != "inclusive_segmented_sum" or not old:
        return []
    return spaced(
        f"{text(beside(*old))} has no scan of segments between offsets. Its `DeviceScan::InclusiveSumByKey` stands beside ours, with the number of the segment beside each item."
        " The numbers were in memory before; making them is not timed.",
    )


left_out = studies.left_out(
    runs, ["run beside", "whose call", ""], lambda run, each: (text(beside(run)), each["name"], code(NAMES.get(each["operation"], each["operation"])))
)


def how(page: Page) -> list[str]:
    """What was measured, and with what."""
    return spaced(
        "## How this was measured",
        "A field tells our time, how many times as fast as CUB's that is, and the share of the copy: the time of a kernel that copies as many bytes as the call"
        " has to read and write, over ours. `rungs_by_key` times both libraries' calls cold: a clean flush comes before each sample, and all contenders of a cell take turns."
        " Storage is allocated before. Times are medians. Run lengths are random but for runs of 1 and one run."
        " At the copy's speed: what the geometric mean would be of calls that take the copy's time.",
        studies.undecided(runs(page.machine), "CUB lies"),
        studies.measured_with(runs(page.machine), "run", "card", "driver", "CCCL", "nvcc", "commit", ">cells"),
    )
