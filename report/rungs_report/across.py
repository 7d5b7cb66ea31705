"""All-reduce across the GPUs of one machine, from what rungs_across wrote: our plan and every rung beside NCCL. All numbers of a cell come
from one process, whose contenders took turns."""

from rungs_report import studies, words
from rungs_report.data import Machine
from rungs_report.page import SAID, Page
from rungs_report.studies import Cell, Result, Run
from rungs_report.words import code, columns, section, spaced, table, text

NAMES = {
    "nccl": "NCCL", "nccl_symmetric": "NCCL symmetric", "cub_then_nccl": "CUB, then NCCL", "cub_then_nccl_symmetric": "CUB, then NCCL symmetric",
}  # fmt: skip
OPERATORS = {"plus": "sum", "maximum": "maximum", "minimum": "minimum"}
MODES = ("graph", "stream")  # as the page orders them
FILLED = 1 << 20  # bytes from which a share of the link says something: below, latency is all


def runs(machine: Machine) -> list[Run]:
    """The latest of each number of GPUs."""
    return studies.latest(machine.across, lambda run: run["ranks"])


def result(cell: Cell, name: str) -> Result | None:
    return next((each for each in cell["results"] if each["name"] == name), None)


def time(cell: Cell, name: str | None) -> float | None:
    return (result(cell, name) or {}).get("median_us") if name else None


def named(run: Run, kind: str, *cells: Cell) -> list[str]:
    """The contenders of a kind that have a time in one of the cells."""
    names = [each["name"] for each in run["contenders"] if each["kind"] == kind]
    return [name for name in names if any(time(cell, name) for cell in cells)]


def own(run: Run, *cells: Cell) -> str | None:
    """What users call."""
    return next(iter(named(run, "planned", *cells)), None)


def rival(run: Run, cell: Cell) -> str | None:
    """The faster of the library's entries in the cell."""
    return min(named(run, "library", cell), key=lambda name: time(cell, name), default=None)


def over(cell: Cell, name: str | None, other: str | None) -> Result | None:
    """The speed-up of one over another, with its verdict."""
    found = result(cell, name) if name else None
    return (found or {}).get("over", {}).get(other)


def bus(run: Run, cell: Cell, name: str | None) -> float | None:
    """GB/s that each GPU has to send at least, and to receive: 2 (p - 1) / p of the array. NCCL's tests call it bus bandwidth."""
    microseconds = time(cell, name) if cell["operation"] == "all_reduce" else None
    return cell["bytes"] * 2 * (run["ranks"] - 1) / run["ranks"] / microseconds / 1e3 if microseconds else None


def groups(run: Run) -> dict[tuple[str, str], list[Cell]]:
    """By problem and mode, the fewest bytes first; of the problems all-reduce first, and of these sums of floats."""
    order = sorted(run["cells"], key=lambda cell: (cell["operation"], cell["type"] != "f32", cell["type"], MODES.index(cell["mode"]), cell["items"]))
    return words.grouped(order, lambda cell: (problem(cell), cell["mode"]))


def problem(cell: Cell) -> str:
    what = OPERATORS.get(cell["operator"], cell["operator"])
    return f"{cell['type']} {what}" if cell["operation"] == "all_reduce" else f"{cell['type']} {what} of all items"


def gpus(run: Run) -> str:
    return words.plural(run["ranks"], "GPU")


def told(speedup: Result | None) -> str:
    return words.ratio(speedup["value"]) + SAID[speedup["verdict"]].replace("CUB", "NCCL") if speedup else words.UNKNOWN


def findings(page: Page) -> list[str]:
    """A line for each number of GPUs, problem and mode, and what was verified."""
    lines, rows = [], []
    for run in runs(page.machine):
        for (what, mode), found in groups(run).items():
            ours = own(run, *found)
            for name in named(run, "library", *found):
                compared = [cell for cell in found if over(cell, ours, name)]
                if compared:
                    told = studies.ratios([over(cell, ours, name) for cell in compared], compared, lambda cell: f"at {words.byte_size(cell['bytes'])}")
                    rows.append([str(run["ranks"]), what, mode, code(ours), NAMES.get(name, code(name)), *told[:2], told[3]])
        lines.append(verified(run))
    headers = [">GPUs", "", "mode", "ours", "beside", ">over it", "least", ">faster / tie / slower / undecided"]
    return [*(spaced(table(headers, rows))), *[line for each in lines for line in (each, "")]]


def verified(run: Run) -> str:
    """What follows from the file having been believed: wrong results refuse it."""
    results = [each for cell in run["cells"] + run["checks"] for each in cell["results"]]
    other_bits = sorted({NAMES.get(each["name"], each["name"]) for each in results if not each["same_bits"]})
    same = f"but for some of {words.listed(other_bits)} every GPU" if other_bits else "every GPU"
    counts = sorted({cell["items"] for cell in run["checks"]})
    odd = f", and at {words.plural(len(counts), 'count')} more, from {counts[0]:,} to {counts[-1]:,} items" if counts else ""
    return (
        f"{gpus(run)}: all {words.plural(len(results), 'result')} were right, and {same} held the same bits. Each timed one was looked at before the first"
        f" sample, after the last and on changed input{odd}."
    )


def speeds(page: Page) -> list[str]:
    """Time of what users call by size, beside NCCL's, and what the link would allow."""
    lines = []
    for run in runs(page.machine):
        for (what, mode), found in groups(run).items():
            ours, libraries, rungs = own(run, *found), named(run, "library", *found), named(run, "rung", *found)
            sends, rows = found[0]["operation"] == "all_reduce", []
            for cell in found:
                best = min(named(run, "rung", cell), key=lambda name: time(cell, name), default=None)
                row = [words.byte_size(cell["bytes"]), words.time(time(cell, ours))]
                row += [part for name in libraries for part in (words.time(time(cell, name)), told(over(cell, ours, name)))]
                row += [f"{words.time(time(cell, best))} {code(best)}" if best else words.UNKNOWN] * bool(rungs)
                rows.append(row + [words.number(bus(run, cell, ours)), share(run, cell)] * sends)
            headers = [">size", f">{code(ours)}", *(part for name in libraries for part in (f">{NAMES.get(name, name)}", ">over it"))]
            headers += [">fastest rung"] * bool(rungs) + [">bus GB/s", ">of the link"] * sends
            lines += spaced(f"## {gpus(run)}: {what}, {mode}", table(headers, rows))
    return lines


def share(run: Run, cell: Cell) -> str:
    """Of what plain copies reach in each direction while both are busy, in percent."""
    rate = bus(run, cell, own(run, cell))
    known = run["link"] and rate and cell["bytes"] >= FILLED
    return words.percent(100 * rate / run["link"]["both_ways_gb_per_s"]) if known else words.UNKNOWN


def ladder(page: Page) -> list[str]:
    """Every rung by size, where there are any; the fastest is bold."""
    lines = []
    for run in runs(page.machine):
        for (what, mode), found in groups(run).items():
            rungs = named(run, "rung", *found)
            if not rungs:
                continue
            rows = []
            for cell in found:
                least = min(filter(None, (time(cell, name) for name in rungs)), default=None)
                times = [(time(cell, name), words.time(time(cell, name))) for name in rungs]
                rows.append([words.byte_size(cell["bytes"]), *(f"**{said}**" if value and value == least else said for value, said in times)])
            lines += spaced(f"## The ladder on {gpus(run)}: {what}, {mode}")
            lines += spaced(table([">size", *(f">{code(name)}" for name in rungs)], rows))
    return lines


def beside_torch(page: Page) -> list[str]:
    """Times of torch.distributed's symmetric memory. They come from other processes, so no speed-up is told."""
    lines = []
    for theirs in studies.latest(page.machine.across_torch, lambda run: run["ranks"]):
        ours = next((run for run in runs(page.machine) if run["ranks"] == theirs["ranks"]), None)
        cells = {cell["bytes"]: cell for cell in (groups(ours).get(("f32 sum", "graph"), []) if ours else [])}
        names = list(dict.fromkeys(result["name"] for cell in theirs["cells"] for result in cell["results"]))
        rows = []
        for cell in sorted(theirs["cells"], key=lambda cell: cell["bytes"]):
            found = {result["name"]: words.time(result["median_us"]) if result["verified"] else "**wrong**" for result in cell["results"]}
            known = cells.get(cell["bytes"])
            rows.append([words.byte_size(cell["bytes"]), words.time(time(known, own(ours, known)) if known else None), *(found.get(name, words.UNKNOWN) for name in names)])
        lines += spaced(
            f"## Beside torch {text(theirs['environment']['torch'])} on {gpus(theirs)}",
            "Sums of f32 in graphs by `torch.distributed`'s symmetric memory, multicast off. These are other processes than ours, which took no turns with"
            " it, so no speed-up is told.",
            table([">size", ">ours", *(f">{code(name)}" for name in names)], rows),
        )
    return lines


def ideas(page: Page) -> list[str]:
    """What each contender is about; the latest run's word counts."""
    merged = {each["name"]: each for run in runs(page.machine) for each in run["contenders"]}
    told = {"": lambda each: code(each["name"]), "against": lambda each: code(each["against"])}
    told |= {name: lambda each, name=name: text(each[name]) for name in ("idea", "gains", "costs")}
    return section("## What each does", columns(merged.values(), told))


left_out = studies.left_out(runs, [">GPUs", ""], lambda run, each: (str(run["ranks"]), code(each["name"])))


def how(page: Page) -> list[str]:
    """What was measured, and with what."""
    multicast = "NVLink's multicast is off in all contenders."
    if any(run["nccl"]["version"] and run["variables"].get("NCCL_NVLS_ENABLE") != "0" for run in runs(page.machine)):
        multicast = "NCCL was free to use NVLink's multicast in a run; the others never use it."
    return spaced(
        "## How this was measured",
        "`rungs_across` runs one host thread for each GPU. A sample is several calls of one contender, in a graph or in a stream. Its time is the slowest"
        " GPU's between two events, over the calls. Before each sample all GPUs meet and make a call, or replay the graph, that is not timed. All contenders of a cell take turns."
        " Times are medians. Bus GB/s count what each GPU has to send at least. The link's share is of plain copies in each direction while both are busy.",
        f"{multicast} {studies.undecided(runs(page.machine), 'one contender lies')}",
        studies.measured_with(
            runs(page.machine), "run", ">GPUs", "cards", "driver", "NCCL", "commit", ">cells", ">link one way (GB/s)", ">both ways, each (GB/s)", "NCCL's variables"
        ),
    )
