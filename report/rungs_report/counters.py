"""Hardware counters: from what bench/counters left (cases.json of the bench, counters.csv of Nsight Compute) to counters.json
(SCHEMA.md), and what the pages say of them. A counter that ncu did not give is left out; none is computed here."""

import csv
import math
import re
from pathlib import Path
from typing import Any

from rungs_report import compare, costs, data, sass, schema, words
from rungs_report.data import Cell, Machine, Unusable, Variant
from rungs_report.page import Page
from rungs_report.words import code, spaced, table

CASES, COUNTED, TOLD = "cases.json", "counters.csv", "ncu.txt"
# dram__bytes_read.sum: what describes the device or the launch (device__attribute_cores, launch__grid_size) has no dot.
COUNTER = re.compile(r"[a-z0-9]+__[a-z0-9_]+(\.[a-z0-9_]+)+")
RANGE = re.compile(r"\brungs_case_\d+\b")
SCALES = {
    "Kbyte": ("byte", 1e3), "Mbyte": ("byte", 1e6), "Gbyte": ("byte", 1e9), "nsecond": ("ns", 1), "us": ("ns", 1e3), "usecond": ("ns", 1e3),
    "ms": ("ns", 1e6), "msecond": ("ns", 1e6), "s": ("ns", 1e9), "second": ("ns", 1e9),
}  # fmt: skip

TIME = "gpu__time_duration.sum"
DRAM = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
RESIDENT = "sm__warps_active.avg.pct_of_peak_sustained_active"
ISSUED = "smsp__issue_active.avg.per_cycle_active"
DRAM_BYTES = ("dram__bytes_read.sum", "dram__bytes_write.sum")
L2_ATOMICS = ("lts__t_sectors_op_atom.sum", "lts__t_sectors_op_red.sum")
REMOTE = "l1tex__t_requests_pipe_lsu_mem_dshared.sum"
REMOTE_BUSY = "l1tex__m_l1tex2xbar_throughput_pipe_lsu_mem_dshared.avg.pct_of_peak_sustained_elapsed"
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
SHOWN = frozenset((TIME, DRAM, RESIDENT, ISSUED, *DRAM_BYTES, *L2_ATOMICS, REMOTE, REMOTE_BUSY))
NOT_STALLED = ("selected", "not_selected")  # it issues, or it could have

Kernel = dict[str, Any]


# ---- from the folder that bench/counters left to the document


def quantity(cell: str, unit: str) -> tuple[float | int, str] | None:
    """A number in ncu's CSV, and its unit, both in units without a prefix; None where there is none: n/a, nan, nothing."""
    try:
        value = float(cell.replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    base, scale = SCALES.get(unit, (unit, 1))
    value *= scale
    return (int(value) if value.is_integer() else value), base


def rows(text: str) -> tuple[list[dict[str, str]], dict[str, str]]:
    """The lines of ncu's raw page, a kernel each, by column, and the columns' units. ncu may talk before the header; the line of
    units after it has no ID, and is not always there."""
    lines = list(csv.reader(text.splitlines()))
    start = next((position for position, line in enumerate(lines) if "ID" in line and "Kernel Name" in line), None)
    if start is None:
        raise Unusable("has no line of column names; ncu writes one with --csv --page raw")
    header, units, found = lines[start], {}, []
    for line in lines[start + 1 :]:
        if len(line) != len(header):
            if line and not line[0].startswith("=="):
                raise Unusable("has a line that is cut short; let bench/counters run to its end")
            continue
        row = dict(zip(header, line, strict=True))
        if row["ID"].isdigit():
            found.append(row)
        elif not found:
            units = row
    return found, units


def assigned(found: list[dict[str, str]], cases: list[dict[str, Any]]) -> list[list[dict[str, str]]]:
    """Each case's kernels: in order, by how many kernels the bench counted of each call, as long as no NVTX range that a line names
    says otherwise (a library has ranges of its own, behind which ours may not show); else by the ranges, if all lines have one."""
    ranges = [next((match[0] for cell in row.values() if (match := RANGE.search(cell))), None) for row in found]
    in_order = [case["range"] for case in cases for _ in range(case["kernels"])]
    if len(found) == len(in_order) and all(own in (None, name) for own, name in zip(ranges, in_order, strict=True)):
        ranges = in_order
    if None in ranges or not found:
        raise Unusable(f"has {len(found)} kernels of the {len(in_order)} that the cases launch, and not all name their case")
    return [[row for row, own in zip(found, ranges, strict=True) if own == case["range"]] for case in cases]


def kernel(row: dict[str, str], units: dict[str, str], seen: dict[str, str]) -> Kernel:
    """A line's name and counters; seen collects their units."""
    counted = {}
    for name, cell in row.items():
        value = quantity(cell, units.get(name, "")) if COUNTER.fullmatch(name) else None
        if value is not None:
            counted[name], seen[name] = value
    return {"kernel": sass.describe(row["Kernel Name"])["kernel"], "counters": dict(sorted(counted.items()))}


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(f"{path} cannot be read ({error}); bench/counters --out={path.parent} makes it") from None


def collect(folder: Path, told: list[str]) -> dict[str, Any]:
    """The document. told collects the cases that had to be left out, and why."""
    try:
        about = data.parse(folder / CASES)
        if fault := schema.fault(about, "profile"):
            raise data.Refused(fault)
    except data.Refused as refused:
        raise Unusable(f"{folder / CASES} {refused}; rungs_bench --profile writes it, by bench/counters --out={folder}") from None
    cases = about["cases"]
    raw, note = read_text(folder / COUNTED), read_text(folder / TOLD)
    try:
        found, units = rows(raw)
        grouped = assigned(found, cases)
    except Unusable as fault:
        raise Unusable(f"{folder / COUNTED} {fault}") from None
    version, replay = re.search(r"Version ([\d.]+)", note), re.search(r"^replay: (\w+)$", note, re.MULTILINE)
    seen: dict[str, str] = {}
    entries = []
    for case, own in zip(cases, grouped, strict=True):
        if len(own) == case["kernels"]:
            named = {name: case[name] for name in (*Variant._fields, *Cell._fields)}
            entries.append({**named, "kernels": [kernel(row, units, seen) for row in own]})
        else:
            where = f"{case['rung']} at {case['items']} items ({case['range']})"
            told.append(f"{where} launches {case['kernels']} kernels, of which ncu saw {len(own)}")
    return {
        "schema": data.COUNTERS_SCHEMA, "gpu": about["gpu"], "commit": about["commit"], "run": about["run"], "driver": about["context"]["versions"].get("driver"),
        "ncu": version[1] if version else None, "replay": replay[1] if replay else None, "units": dict(sorted(seen.items())), "entries": entries,
        "skipped": [{key: value for key, value in each.items() if key != "range"} for each in about.get("skipped", [])],
    }  # fmt: skip


def shown(document: dict[str, Any]) -> dict[str, Any]:
    """The digest: the counters that pages show, of the cases that they show them of."""

    def of(kernel: Kernel) -> Kernel:
        return {**kernel, "counters": {name: value for name, value in kernel["counters"].items() if name in SHOWN or STALL.fullmatch(name)}}

    entries = [{**entry, "kernels": [of(kernel) for kernel in entry["kernels"]]} for entry in document["entries"]]
    seen = {name for entry in entries for kernel in entry["kernels"] for name in kernel["counters"]}
    units = {name: unit for name, unit in document["units"].items() if name in seen}
    return {**document, "digest": True, "units": units, "entries": entries}


# ---- what the pages say


def of(machine: Machine, cell: Cell, variant: Variant) -> list[Kernel]:
    return machine.counters.get((cell, variant), [])


def total(kernels: list[Kernel], *names: str) -> float | None:
    """The sum over a call's kernels; None where none of them has any of these."""
    known = [each["counters"][name] for each in kernels for name in names if name in each["counters"]]
    return sum(known) if known else None


def stalls(counted: dict[str, float]) -> list[tuple[str, float]]:
    """Why a warp that did not issue did not, the most frequent first: reasons, and their shares of all time that warps spent."""
    found = {match[1]: value for name, value in counted.items() if (match := STALL.fullmatch(name))}
    whole = sum(found.values())
    reasons = [(name, value / whole) for name, value in found.items() if name not in NOT_STALLED and whole > 0]
    return sorted(reasons, key=lambda pair: (-pair[1], pair[0]))


def over_the_call(kernels: list[Kernel], name: str) -> float | None:
    """A counter that is a share or a rate, over all kernels of a call by the time that each took; None where one lacks it."""
    known = [(each["counters"][TIME], each["counters"][name]) for each in kernels if {TIME, name} <= each["counters"].keys()]
    time = sum(own for own, _ in known)
    return sum(own * value for own, value in known) / time if time and len(known) == len(kernels) else None


def waits(kernels: list[Kernel]) -> list[tuple[str, float]]:
    """What the warps of a call wait for, the most first, and for how much of their time: all kernels by the time that each took."""
    time = total(kernels, TIME) or 1
    shares: dict[str, float] = {}
    for each in kernels:
        for name, share in stalls(each["counters"]):
            shares[name] = shares.get(name, 0) + share * each["counters"].get(TIME, 0) / time
    return sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))


def first_wait(kernels: list[Kernel]) -> str:
    found = waits(kernels)
    return f"{found[0][0]} {words.percent(100 * found[0][1])}" if found else words.UNKNOWN


def whole(value: float | None) -> str:
    return words.UNKNOWN if value is None else f"{round(value):,}"


HEADERS = [">DRAM busy, of its peak", ">warps seen, of the most", "first stall, of warps' time", ">atomics in L2, sectors"]
GUIDE = (
    " DRAM busy, warps seen (of the most that a multiprocessor holds, while it had any) and the first stall (why its warps did not issue, and"
    " for how much of their time, as Nsight Compute calls it) are of all kernels of the call, by the time that each took; atomics in L2, in sectors,"
    " their sum."
)


def columns(machine: Machine, cell: Cell, variant: Variant) -> list[str]:
    kernels = of(machine, cell, variant)
    shares = (words.percent(over_the_call(kernels, name)) for name in (DRAM, RESIDENT))
    return [*shares, first_wait(kernels), whole(total(kernels, *L2_ATOMICS))]


def aged(machine: Machine, commit: str) -> str:
    others = {run.document["commit"] for run in compare.main_runs(machine)} - {commit}
    return " The times are of other builds." if others else ""


def how_counted(machine: Machine) -> str:
    """Where the counters come from, and what cold means there."""
    about = machine.counted_by
    if not about:
        return ""
    how = {
        "application": "the program ran once for each pass, and each call found the caches as the bench's clean flush left them",
        "kernel": "each kernel ran once for each pass, after Nsight Compute had emptied the caches",
    }.get(about.get("replay"), "")
    tool = f"Nsight Compute {about['ncu']}" if about.get("ncu") else "Nsight Compute"
    return f" Counted by {tool} at commit {code(about['commit'])}" + (f": {how}." if how else ".") + aged(machine, about["commit"])


# ---- why bins spread over a cluster lose, where they do

SPREAD, OWN = "distributed_bins", "cluster_merged"
RIVALS = 2  # shown beside it, besides the one with a copy of all bins in each block


def opcodes(machine: Machine, cell: Cell, variant: Variant) -> dict[str, int]:
    """Of the variant's kernels for these samples, summed."""
    found: dict[str, int] = {}
    for each in machine.sass.get(variant, []):
        if each.get("types", [])[:1] == [cell.input_type] and "even_bins" in each.get("arguments", ""):
            for name, count in each["opcodes"].items():
                found[name] = found.get(name, 0) + count
    return found


def instructions(machine: Machine, cell: Cell, spread: Variant, own: Variant) -> str:
    """How the two count a sample, from their machine code."""
    theirs, ours = opcodes(machine, cell, own), opcodes(machine, cell, spread)
    if not ours.get("ATOM") or not theirs.get("ATOMS") or ours.get("ATOMS"):
        return ""
    return (
        f"In machine code {code(spread.rung)} counts by `ATOM`, an atomic on an address that may be anywhere ({words.plural(ours['ATOM'], 'place')}), where"
        f" {code(own.rung)} has `ATOMS` ({words.plural(theirs['ATOMS'], 'place')}), one on the shared memory of its own multiprocessor."
    )


def barriers(machine: Machine, cell: Cell, spread: Variant) -> str:
    """What its barriers cost, by the study of costs: the other suspect."""
    study, count = costs.study_of(machine), opcodes(machine, cell, spread).get("UCGABAR_ARV")
    known = [cost.ns for blocks, threads in study.groups(costs.BARRIER) if (cost := study.cost(costs.Asked(costs.BARRIER, blocks, threads), "cluster"))]
    if not count or not known:
        return ""
    return f"Its {words.plural(count, 'barrier')} of the cluster take at most {words.time(count * max(known) / 1e3)} together ([costs](costs.md))."


def compared(page: Page, cell: Cell, spread: Variant) -> list[str]:
    """One number of bins: the counters side by side, and what they say in a sentence."""
    machine = page.machine
    kernels = of(machine, cell, spread)
    rivals = [
        variant
        for (other, variant), found in machine.counters.items()
        if other == cell and variant in machine.variants and compare.is_ours(machine, variant) and variant != spread and total(found, TIME)
    ]
    rivals.sort(key=lambda variant: (total(of(machine, cell, variant), TIME), machine.order[variant]))
    if not rivals or not total(kernels, TIME):
        return []
    shown = [spread, *rivals[:RIVALS], *(variant for variant in rivals[RIVALS:] if variant.rung == OWN)]
    lines = []
    for variant in shown:
        found = of(machine, cell, variant)
        lines.append(
            [
                page.label(variant), words.time(total(found, TIME) / 1e3), words.percent(over_the_call(found, DRAM)), words.number(over_the_call(found, ISSUED)),
                words.percent(over_the_call(found, RESIDENT)), first_wait(found), whole(total(found, REMOTE)), words.percent(over_the_call(found, REMOTE_BUSY)),
                whole(total(found, *L2_ATOMICS)),
            ]
        )  # fmt: skip
    headers = [
        "rung", ">time in the profiler", ">DRAM busy", ">issued a cycle", ">warps seen", "first stall", ">requests to other blocks",
        ">way there busy", ">atomics in L2",
    ]  # fmt: skip
    best = of(machine, cell, rivals[0])
    said = f"{cell.sizes.get('bins', 0):,} bins: {code(spread.rung)} takes {words.ratio(total(kernels, TIME) / total(best, TIME))}"
    said += f" the time of {page.label(rivals[0])}"
    mine, theirs = (over_the_call(each, DRAM) for each in (kernels, best))
    if mine is not None and theirs is not None:
        said += f", with DRAM busy for {words.percent(mine)} against {words.percent(theirs)}"
    if found := waits(kernels):
        said += f"; its warps spend {words.percent(100 * found[0][1])} of their time on {code(found[0][0])}"
        other = dict(waits(best)).get(found[0][0])
        said += f", the other's {words.percent(100 * other)}" if other is not None else ""
    return spaced(f"{said}.", table(headers, lines))


def spread_bins(page: Page) -> list[str]:
    """Histograms over distributed shared memory: what they wait for, from counters, machine code and the study of costs."""
    machine = page.machine
    cells = sorted(
        {(cell, variant) for cell, variant in machine.counters if variant.rung == SPREAD}, key=lambda pair: (pair[0].input_type, pair[0].sizes.get("bins", 0))
    )
    told = [line for cell, variant in cells for line in compared(page, cell, variant)]
    if not told:
        return []
    cell, spread = cells[0]
    own = next((variant for variant in machine.variants if variant.rung == OWN and variant.ladder == spread.ladder), None)
    why = [instructions(machine, cell, spread, own) if own else "", barriers(machine, cell, spread)]
    return spaced(
        "## Bins spread over a cluster, and what they wait for",
        told,
        spaced(" ".join(filter(None, why))) if any(why) else [],
        f"Requests to other blocks are a warp's.{how_counted(machine)}",
    )  # fmt: skip
