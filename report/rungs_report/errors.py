"""Errors of sums of floats and of dot products: how far each way to add is from the exact sum, over ten kinds of data. From accuracy.json
(SCHEMA.md), which joins what rungs_accuracy wrote with what each accumulator takes in instructions, counted in the machine code."""

import gzip
import json
import math
import re
import statistics
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rungs_report import sass, words
from rungs_report.data import ACCURACY_SCHEMA, Machine, Unusable
from rungs_report.page import Page, fold
from rungs_report.words import code, section, spaced, table, text

STUDY_SCHEMA = "rungs.accuracy_study/1"
LADDER = "accumulators"
ROUNDING = 2.0**-24  # half a unit in the last place of 1
RIGHT = 0.5000001  # ulp: rounded correctly, or a tie
BRIEF = (1 << 20, 1 << 24)  # sizes that the front of a GPU tells
COUNTED_ITEMS = 32  # of a thread in a tile: parts/accumulation.cuh
LABELS = {"front_door": "rungs::DeviceReduce::Sum", "transform_reduce": "rungs::DeviceReduce::TransformReduce"}
SERIAL, FROM_DOUBLE = "host_serial_float", "host_float_from_double"  # rungs of the host, of sums and of dot products
FLOATS = ("FADD", "FMUL", "FFMA", "FSEL", "FSETP", "FMNMX", "DADD", "DMUL", "DFMA", "F2F")  # what computes with floats


# ---- from files to accuracy.json


def instructions(disassembly: str) -> dict[str, dict[str, int]]:
    """By accumulator, the opcodes of the block that adds a thread's items of a tile: of those between branches, the one that computes
    most with floats."""
    found = {}
    for name, _, body in sass.functions(disassembly):
        match = re.search(r"accumulate_kernelINS0_12accumulators\d+(\w+?)_accumulator", name)
        if match is None:
            continue
        blocks, opcodes = [Counter()], Counter()
        for _, opcode, _, _ in body:
            if opcode in ("BRA", "BSYNC", "EXIT", "WARPSYNC"):
                blocks.append(Counter())
            elif opcode not in ("NOP", "BSSY"):
                blocks[-1][opcode] += 1
        opcodes = max(blocks, key=lambda block: sum(block[name] for name in FLOATS))
        found["double_precision" if match[1] == "double" else match[1]] = dict(sorted(opcodes.items()))
    return found


def collect(files: list[Path], build: Path | None, cuobjdump: Path | None) -> dict[str, Any]:
    """accuracy.json: the studies of one GPU, that of the newest CCCL first, and the instructions of a build's accumulators."""
    studies = []
    for path in files:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["schema"] != STUDY_SCHEMA:
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError):
            raise Unusable(f"{path} is no study of schema {STUDY_SCHEMA!r}; name files that rungs_accuracy --out wrote") from None
        studies.append(document)
    if len({study["gpu"] for study in studies}) != 1:
        raise Unusable("the studies are of several GPUs: name those of one")
    studies.sort(key=lambda study: [int(part) for part in study["versions"]["cccl"].split(".")], reverse=True)
    counted = {}
    if build is not None:
        tool = sass.disassembler(cuobjdump)
        for unit in sorted(build.glob(f"CMakeFiles/rungs_catalog.dir/catalog/handwritten_{LADDER}_*.cu.o")):
            counted |= instructions(sass.run(tool, "-sass", str(unit)))
        if not counted:
            raise Unusable(f"{build} holds no object of an accumulator; build the target rungs_catalog first")
    return {"schema": ACCURACY_SCHEMA, "gpu": studies[0]["gpu"], "studies": studies, "instructions": counted}


def packed(document: dict[str, Any]) -> bytes:
    """The same bytes for the same facts: gzip would note the hour."""
    return gzip.compress((json.dumps(document, indent=None, separators=(",", ":")) + "\n").encode("utf-8"), 9, mtime=0)


# ---- what a page asks


@dataclass(frozen=True)
class Result:
    """Of one way on one kind of data: each different result's error, None where it is not finite, with how often it came."""

    kind: str
    time: float | None
    values: tuple[tuple[float | None, float | None, int], ...]  # error in ulp, error over the sum of magnitudes, count
    answers: tuple[float, ...]  # the results themselves

    @property
    def ulp(self) -> float:
        """The largest error of all runs."""
        return max((math.inf if error is None else abs(error) for error, _, _ in self.values), default=math.inf)

    @property
    def relative(self) -> float:
        return max((math.inf if error is None else abs(error) for _, error, _ in self.values), default=math.inf)

    def beyond(self, other: "Result") -> float:
        """The largest distance from the other's one result, in units of its last place."""
        reference = other.answers[0]
        return max(0.0 if each == reference else abs(each - reference) / last_place(reference) if math.isfinite(each - reference) else math.inf for each in self.answers)

    def relative_to(self, other: "Result") -> float:
        """The same as a share of the other's."""
        return self.beyond(other) * last_place(other.answers[0]) / abs(other.answers[0]) if other.answers[0] else math.inf


def last_place(value: float) -> float:
    """A unit in the last place of a finite float32."""
    return math.ldexp(1.0, max(math.frexp(value)[1] if value else -125, -125) - 24)


@dataclass
class Way:
    family: str
    rung: str
    label: str
    idea: str
    deterministic: bool
    on_host: bool
    cccl: str
    results: dict[str, Result] = field(default_factory=dict)

    @cached_property
    def time(self) -> float | None:
        """The median over the kinds of data."""
        known = [result.time for result in self.results.values() if result.time]
        return statistics.median(known) if known else None

    @cached_property
    def repeats(self) -> bool:
        return all(len(result.values) == 1 for result in self.results.values())

    def right(self) -> int:
        """On how many kinds it is rounded correctly."""
        return sum(result.ulp <= RIGHT for result in self.results.values())


def measured(machine: Machine) -> bool:
    return bool(machine.accuracy)


def parts(machine: Machine, dots: bool) -> list[tuple[str, dict[str, Any]]]:
    """By CCCL, kinds and ways of sums or of dot products; studies without them left out."""
    found = [(each["versions"]["cccl"], each.get("dots", {"ways": ()}) if dots else each) for each in machine.accuracy["studies"]]
    return [(cccl, part) for cccl, part in found if part["ways"] or not dots]


def ways(machine: Machine, dots: bool = False) -> list[Way]:
    """Those of the newest CCCL, and of others what is CCCL's."""
    found: list[Way] = []
    for number, (cccl, part) in enumerate(parts(machine, dots)):
        for entry in part["ways"]:
            library = entry["family"] == "library_baselines" and entry["executes_on"] == "device" and not entry["rung"].startswith("cublas")
            if number and not library:
                continue
            label = LABELS.get(entry["rung"], entry["rung"])
            way = Way(
                entry["family"], entry["rung"], code(label) + (f" ({text(cccl)})" if library else ""), entry["idea"],
                entry["deterministic"], entry["executes_on"] == "host", cccl,
            )  # fmt: skip
            for result in entry["results"]:
                if "values" in result:
                    values = tuple((v["error_ulp"], v["error_of_magnitudes"], v["count"]) for v in result["values"])
                    answers = tuple(struct.unpack("<f", struct.pack("<I", v["bits"]))[0] for v in result["values"])
                    way.results[result["kind"]] = Result(result["kind"], result.get("median_us"), values, answers)
            if way.results:
                found.append(way)
    return found


def named(machine: Machine, rung: str, dots: bool = False) -> Way | None:
    return next((way for way in ways(machine, dots) if way.rung == rung), None) if measured(machine) else None


def study(machine: Machine) -> dict[str, Any]:
    return machine.accuracy["studies"][0]


def kinds(machine: Machine, dots: bool = False) -> list[dict[str, Any]]:
    return next((part["kinds"] for _, part in parts(machine, dots)), [])


def short(error: float) -> str:
    """0.31, 12.5, 560, 5.6e+03; not finite: no sum at all."""
    if math.isinf(error):
        return "no sum"
    if error == 0:
        return "0"
    return f"{error:.2g}" if error >= 1000 or error < 0.01 else words.significant(error, 2)


# ---- the page


def findings(page: Page) -> list[str]:
    machine = page.machine
    first, versions = study(machine), sorted({each["versions"]["cccl"] for each in machine.accuracy["studies"]})
    lines = spaced(
        f"{words.size(first['items'])} floats of ten kinds, added by every way below; errors against the exact sum, of integers on the host."
        f" {first['runs']} calls a way and kind. CCCL {words.listed([text(each) for each in versions])}. An error is in units of the last place of"
        " the exact sum, and the worst of all calls: 0.5 or less is a sum that is rounded correctly. *No sum* stands for infinity or NaN.",
    )
    all_ways = ways(machine)
    exact = [way.label for way in all_ways if way.right() == len(kinds(machine))]
    if exact:
        lines += spaced(f"Rounded correctly on every kind: {words.listed(exact)}.")
    return lines


def errors_of(way: Way, names: list[str], relative: bool) -> list[str]:
    """By kind; in ulp, where those that are rounded correctly are bold, or over the rounding of the sum of magnitudes."""
    told = []
    for name in names:
        result = way.results.get(name)
        if result is None:
            told.append(words.UNKNOWN)
        elif relative:
            told.append(short(result.relative / ROUNDING))
        else:
            told.append(f"**{short(result.ulp)}**" if result.ulp <= RIGHT else short(result.ulp))
    return told


def by_cold_time(found: list[Way]) -> list[Way]:
    return sorted(found, key=lambda way: (way.on_host, way.time or math.inf))


def timed(ordered: list[Way], names: list[str]) -> list[list[str]]:
    return [[way.label, words.time(way.time), "yes" if way.repeats else "**no**", *errors_of(way, names, False)] for way in ordered]


def by_time(page: Page) -> list[str]:
    machine = page.machine
    names = [kind["kind"] for kind in kinds(machine)]
    ordered = by_cold_time(ways(machine))
    if not ordered:
        return []
    rows = timed(ordered, names)
    over_magnitudes = [[way.label, *errors_of(way, names, True)] for way in ordered]
    about = [[text(kind["kind"].replace("_", " ")), text(kind["description"]), short(condition(kind))] for kind in kinds(machine)]
    columns = [f">{text(name.replace('_', ' '))}" for name in names]
    return spaced(
        "## Error and time",
        "Ways by their cold time, those of the host last. Same bits: in all calls of all kinds. Bold: rounded correctly.",
        table(["way", ">time", "same bits", *columns], rows),
        "The kinds, and how much cancels: the sum of magnitudes over the magnitude of the sum.",
        table(["kind", "items", ">cancels"], about),
        fold(
            "The same errors over 2<sup>-24</sup> times the sum of magnitudes",
            spaced(
                "The share of the order of additions and of the accumulator: cancellation does not enlarge it.",
                table(["way", *columns], over_magnitudes),
            ),
        ),
    )


def sized(sweep: dict[str, Any]) -> list[list[str]]:
    """A row a size: the plain time, the exact one, and CUB's that promises the same bits on every GPU."""
    rows = []
    for each in sweep["sizes"]:
        times = {way["rung"]: way.get("median_us") for way in each["ways"]}
        wrong = any(way.get("wrong") for way in each["ways"])
        plain = times.get("sum") or times.get("dot")
        exact, cub = times.get("exact_sum") or times.get("exact_dot"), times.get("cub_device_reduce_gpu_to_gpu")
        share = words.percent(100 * plain / exact) if plain and exact else words.UNKNOWN
        over = words.ratio(cub / exact) if cub and exact else words.UNKNOWN
        rows.append([words.size(each["items"]), words.time(plain), "**wrong**" if wrong else words.time(exact), share, words.time(cub), over])
    return rows


def by_size(page: Page) -> list[str]:
    """What exactness costs at every size."""
    lines = []
    for sweep in study(page.machine).get("sweeps", ()):
        what = "dot product" if sweep["operation"] == "dot" else "sum"
        rows = sized(sweep)
        if all(row[4] == words.UNKNOWN for row in rows):
            rows, headers = [row[:4] for row in rows], []
        else:
            headers = [">CUB, `gpu_to_gpu`", ">exact over it"]
        lines += spaced(f"### {text(sweep['input_type'])} {what}, {text(sweep['kind'].replace('_', ' '))}")
        lines += spaced(table([">n", ">plain", ">exact", ">speed of the plain one", *headers], rows))
    return section(
        "## Exact sums at every size",
        "Cold, all ways of a table together. Plain: `rungs::DeviceReduce::Sum`, of pairs the rung `dots/tagged_sums`. Each exact result was"
        " compared with the exact sum, bit for bit. Longer inputs repeat 16 Mi items. Halves are summed to a float.",
        lines,
    )


def briefly(machine: Machine) -> str:
    """What an exact sum of floats costs, at a few sizes."""
    told = []
    for sweep in study(machine).get("sweeps", ()) if measured(machine) else ():
        if (sweep["operation"], sweep["input_type"]) == ("reduce", "f32"):
            rows = {each["items"]: row for each, row in zip(sweep["sizes"], sized(sweep), strict=True)}
            told += [f"f32, {text(sweep['kind'].replace('_', ' '))}, {rows[n][0]}: {rows[n][2]} exact, {rows[n][1]} plain" for n in BRIEF if n in rows]
    return "; ".join(told)


def condition(kind: dict[str, Any]) -> float:
    return kind["magnitudes"] / abs(kind["exact"]) if kind["exact"] else math.inf


def quantiles(values: tuple[tuple[float | None, float | None, int], ...]) -> Iterator[float | None]:
    """Least, median and largest error, by how often they came; those that are not finite left out."""
    known = sorted((error, count) for error, _, count in values if error is not None)
    if not known:
        yield from (None, None, None)
        return
    half, seen, middle = sum(count for _, count in known) / 2, 0, known[0][0]
    for error, count in known:
        seen += count
        if seen >= half:
            middle = error
            break
    yield from (known[0][0], middle, known[-1][0])


def signed(error: float | None) -> str:
    return words.UNKNOWN if error is None else ("−" if error < 0 else "") + short(abs(error))


def changing(found: list[Way], spread: bool) -> list[str]:
    """A table of what atomics answer from call to call; empty where all answer the same."""
    rows = []
    for way in found:
        for result in way.results.values():
            if len(result.values) > 1:
                calls = sum(count for *_, count in result.values)
                most = max(count for *_, count in result.values)
                lost = sum(count for error, _, count in result.values if error is None)
                least, middle, largest = quantiles(result.values)
                apart = [words.UNKNOWN if least is None or largest is None else short(largest - least)] * spread
                rows.append(
                    [way.label, text(result.kind.replace("_", " ")), str(len(result.values)), words.percent(100 * most / calls),
                     signed(least), signed(middle), signed(largest), *apart, str(lost) if lost else ""]
                )  # fmt: skip
    headers = ["way", "kind", ">different results", ">the most frequent", ">least error", ">median", ">largest", *[">spread"] * spread, ">calls with no sum"]
    return spaced(table(headers, rows))


def runs(page: Page) -> list[str]:
    """What atomics answer from call to call."""
    rows = changing(ways(page.machine), spread=False)
    return section(
        "## Results that change from call to call",
        f"Of {study(page.machine)['runs']} calls on the same items. Errors with their sign, in ulp. What is not listed answered the same bits in all calls.",
        rows,
    )


def ranked(machine: Machine, rungs: tuple[str, ...], dots: bool) -> list[str]:
    """A table of errors by kind, the nearest bold; empty where there are no two to compare."""
    orders = [way for rung in rungs if (way := named(machine, rung, dots))]
    if len(orders) < 2:
        return []
    shown = [kind["kind"] for kind in kinds(machine, dots) if all(kind["kind"] in way.results for way in orders)]
    rows = []
    for name in shown:
        errors = [way.results[name].ulp for way in orders]
        best = min(errors)
        rows.append([text(name.replace("_", " ")), *(f"**{short(error)}**" if error == best and error < math.inf else short(error) for error in errors)])
    wins = [sum(way.results[name].ulp == min(other.results[name].ulp for other in orders) < math.inf for name in shown) for way in orders]
    rows.append(["kinds on which it is nearest", *map(str, wins)])
    return spaced(table(["kind", *(f">{way.label}" for way in orders)], rows))


def nearer(page: Page) -> list[str]:
    """Which order of additions comes nearer to the exact sum: one float each, added in different orders."""
    rows = ranked(page.machine, (SERIAL, "atomic_per_element", "atomic_per_block", "cub_device_reduce", "front_door", "plain", "pairwise"), dots=False)
    return section(
        "## Which order comes nearer",
        "Every way here adds in floats alone; only the order differs. The nearest is bold. The host's order is one chain of all items; a"
        " GPU's is a tree over short chains.",
        rows,
    )


DOT_ORDERS = (
    SERIAL, "host_serial_dot", "atomic_per_element", "shared_tree", "warp_shuffle", "two_passes", "tagged_sums", "transform_reduce",
    "cub_device_transform_reduce", "thrust_inner_product", "cublas_dot",
)  # fmt: skip


def beside(found: list[Way], reference: Way | None, names: list[str], title: str) -> list[str]:
    """By kind, how far each way lies from the one result of a reference."""
    if reference is None:
        return []
    rows = []
    for way in found:
        if way.rung != reference.rung:
            pairs = [(way.results.get(name), reference.results.get(name)) for name in names]
            rows.append([way.label, *(short(own.beyond(other)) if own and other else words.UNKNOWN for own, other in pairs)])
    return spaced(f"### {title}", table(["way", *(f">{text(name.replace('_', ' '))}" for name in names)], rows))


def dots(page: Page) -> list[str]:
    """The same of dot products: errors against three references, results that change, and orders."""
    machine = page.machine
    ordered = by_cold_time(ways(machine, dots=True))
    if not ordered:
        return []
    names = [kind["kind"] for kind in kinds(machine, dots=True)]
    columns = [f">{text(name.replace('_', ' '))}" for name in names]
    exact = [way.label for way in ordered if way.right() == len(names)]
    first = study(machine)
    rows, orders = changing(ordered, spread=True), ranked(machine, DOT_ORDERS, dots=True)
    return spaced(
        "## Dot products",
        f"{words.size(first['items'])} pairs: an item of each kind above, times a factor in \\[0.5, 1), of whole numbers 1 or 2. Items that cancel have the same factor."
        " The exact result is a sum of unrounded products. Columns as in the table of sums.",
        spaced(f"Rounded correctly on every kind: {words.listed(exact)}.") if exact else [],
        "### Error against the exact result",
        table(["way", ">time", "same bits", *columns], timed(ordered, names)),
        beside(ordered, named(machine, SERIAL, dots=True), names, "Distance from a serial sum of floats, in ulp of that"),
        beside(ordered, named(machine, FROM_DOUBLE, dots=True), names, "Distance from a float that was a sum of doubles, in ulp of that"),
        spaced(
            "### Dot products that change from call to call",
            f"Of {first['runs']} calls on the same pairs. Errors with their sign, and the spread from the least to the largest, in ulp.",
            rows,
        ) if rows else [],
        spaced(
            "### Which order of products comes nearer",
            "Every way here adds in floats alone. The rungs round a product and its addition once, as one instruction; the host rounds both.",
            orders,
        ) if orders else [],
    )


def opcodes_of(machine: Machine) -> dict[str, dict[str, int]]:
    return machine.accuracy.get("instructions") or {}


def float_instructions(machine: Machine, rung: str) -> int:
    """For a thread's items of a tile; 0 where they were not counted."""
    return sum(count for name, count in opcodes_of(machine).get(rung, {}).items() if name in FLOATS)


def accumulators(page: Page) -> list[str]:
    """What each accumulator takes in instructions and in time, over the plain one."""
    machine, base = page.machine, named(page.machine, "plain")
    rows = []
    for rung, opcodes in sorted(opcodes_of(machine).items(), key=lambda pair: sum(pair[1].values())):
        way = named(machine, rung)
        told = [f"{count} {name}" for name, count in sorted(opcodes.items(), key=lambda pair: -pair[1]) if name in FLOATS]
        time = way.time / base.time if way and way.time and base and base.time else None
        each = [words.significant(count / COUNTED_ITEMS, 2) for count in (float_instructions(machine, rung), sum(opcodes.values()))]
        rows.append([code(rung), *each, words.ratio(time), str(way.right()) if way else words.UNKNOWN, ", ".join(told)])
    if not rows:
        return []
    headers = ["accumulator", ">float instructions an item", ">all instructions an item", ">time over plain", ">kinds rounded correctly", f"for {COUNTED_ITEMS} items"]
    return spaced(
        "## What an accumulator costs",
        f"Counted in the machine code: the instructions between two branches that add a thread's {COUNTED_ITEMS} items of a tile. Loads, grid and finish"
        " are the same for all. Memory is the limit of a sum, so instructions take time only where they outnumber what the loads leave free.",
        table(headers, rows),
    )
