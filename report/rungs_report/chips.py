"""What changes from one GPU to another: the front door on both, in runs of one commit beside one release of CUB."""

import statistics
from itertools import combinations

from rungs_report import against_cub, compare, words
from rungs_report.data import Cell, Collection, Machine, Row, Run
from rungs_report.predict import launch_us
from rungs_report.words import code, spaced, table, text

FILE, TITLE = "chips.md", "What changes from GPU to GPU"
SMALL, LARGE = 1 << 20, 1 << 24  # items up to which a launch is most of a call, and from which memory is
READ = "stream_read"

Met = tuple[Row, Row]  # the front door's row on the one GPU and on the other


def facts(machines: list[Machine]) -> list[str]:
    device = [machine.device for machine in machines]
    rows = [
        ["multiprocessors", *(words.number(each.get("multiprocessors")) for each in device)],
        ["L2", *(words.byte_size(each.get("l2_bytes")) for each in device)],
        ["memory", *(words.byte_size(each.get("memory_bytes")) for each in device)],
        ["GB/s, by the datasheet's clock and bus", *(words.number(each.get("peak_gb_per_s")) for each in device)],
        ["GB/s, read by the plainest kernel", *(words.number((compare.roof_rate(machine.runs, READ) or (0, None))[1]) for machine in machines)],
        ["an empty kernel in a stream", *(words.time(launch_us(machine)) for machine in machines)],
    ]
    return spaced(table(["", *(f">{text(machine.name)}" for machine in machines)], rows))


def alike(one: Machine, other: Machine) -> tuple[list[tuple[Run, Run]], dict[Cell, Met]]:
    """Runs of the two that have one commit and one release, and the cells that the front door met in both; the latest run counts."""
    pairs, found = [], dict[Cell, Met]()
    for here in one.runs:
        for there in other.runs:
            if (here.cccl, here.document["commit"]) != (there.cccl, there.document["commit"]):
                continue
            pairs.append((here, there))
            for cell, rows in here.cells.items():
                both = [next((row for v, row in own.items() if compare.is_door(v) and row.verdict), None) for own in (rows, there.cells.get(cell, {}))]
                if all(both) and (cell.operation, cell.operator) in against_cub.CALLS:
                    found[cell] = both[0], both[1]
    return pairs, found


def mean(values: list[float]) -> str:
    return words.ratio(statistics.geometric_mean(values) if values else None)


def compared(one: Machine, other: Machine) -> list[str]:
    """A line for each call and mode."""
    pairs, found = alike(one, other)
    if not found:
        return []
    grouped: dict[tuple[str, str], dict[Cell, Met]] = {}
    for cell, both in found.items():
        grouped.setdefault((against_cub.CALLS[cell.operation, cell.operator][0], cell.mode), {})[cell] = both
    calls = list(dict.fromkeys(call for call, _ in against_cub.CALLS.values()))
    rows, changed = [], []
    for (call, mode), cells in sorted(grouped.items(), key=lambda item: (calls.index(item[0][0]), against_cub.MODES.index(item[0][1]) if item[0][1] in against_cub.MODES else 9)):
        times = [(cell.items, a.median_us / b.median_us) for cell, (a, b) in cells.items()]
        over = [[both[place].speedup_over_cub for both in cells.values()] for place in (0, 1)]
        shares = [[ratio for n, ratio in times if n <= SMALL], [ratio for n, ratio in times if n >= LARGE]]
        changed += [(call, cell, both) for cell, both in cells.items() if both[0].verdict != both[1].verdict and "SLOWER" in (both[0].verdict, both[1].verdict)]
        rows.append([code(call), text(mode), str(len(cells)), *map(mean, shares), *map(mean, over)])
    a, b = text(one.name), text(other.name)
    lines = spaced(
        f"## {a} beside {b}",
        f"The front door in the {words.plural(len(found), 'cell')} that runs of one commit and one release of CUB have on both: "
        + "; ".join(f"{code(here.name)} and {code(there.name)} (CUB {text(here.cccl)})" for here, there in pairs)
        + f". Geometric means. A ratio of times above 1 says that {b} is faster.",
        table(["call", "mode", ">cells", f">{a} / {b}, to {words.size(SMALL)} items", f">from {words.size(LARGE)} items", f">over CUB, {a}", f">over CUB, {b}"], rows),
    )
    if not changed:
        return spaced(lines, "No cell is slower than CUB on one of them and not on the other.")
    rows = [[code(call), cell.input_type, ", ".join(filter(None, (against_cub.shape(cell), cell.mode))), words.size(cell.items), *(f"{words.ratio(each.speedup_over_cub)} {against_cub.SAID[each.verdict]}" for each in both)] for call, cell, both in changed]
    return spaced(lines, "Slower than CUB on one of them, and not on the other:", table(["call", "type", "problem", ">n", f">{a}", f">{b}"], rows))


def contents(collection: Collection) -> list[str]:
    """The page; nothing where there are not two GPUs to compare."""
    machines = [machine for machine in collection.machines if machine.device]
    if len(machines) < 2:
        return []
    names = " ".join(machine.gpu for machine in machines[:2])
    return spaced(
        f"# {TITLE}",
        f"[All results](index.md). [What one chip's tables are worth on another](index.md#what-one-chips-tables-are-worth-on-another) predicts chips that were not measured. `report/run compare {names}` compares every rung, each by its share of its own GPU's ceiling.",
        facts(machines),
        list(line for one, other in combinations(machines, 2) for line in compared(one, other)),
    )
