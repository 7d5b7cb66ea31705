"""What each rung gained, and why: the ladder as a waterfall, each gain beside what the rung changed and what it is made of."""

import re
from collections import Counter
from typing import Any

from rungs_report import charts, compare, counters, diffs, histograms, reasons, sass, topics, words
from rungs_report.compare import YARDSTICKS
from rungs_report.data import Cell, Machine, Variant
from rungs_report.ladders import anchor, before, ladder_groups
from rungs_report.page import Page, fold
from rungs_report.topics import Topic
from rungs_report.words import columns, spaced, table, text

# What the kernels of other bins than a histogram's have among their template's arguments: of edges, of even bins, of several channels.
CHANNELS = r"active_channels<(?!1,)"
OF_OTHER_BINS = {
    "histogram_even": re.compile(rf"range_bins<|near_edges<|edge_table<|{CHANNELS}"),
    "histogram_range": re.compile(rf"even_bins<|shifted_bins<|{CHANNELS}"),
}
MADE_OF = (">registers a thread", ">shared memory a block", "instructions in the code")
FAR = 4  # a rung for other sizes would make every other bar of a waterfall too short to be seen
SASS_GUIDE = (
    " Registers are a thread's and shared memory a block's, at most of the kernels that the case may launch; instructions are counted in all of"
    " their code, a loop's body once."
)
OCCUPANCY_GUIDE = (
    " Where the run read them from the launch, registers are those of the kernel with most blocks, and shared memory is what that one takes, what"
    " the launch adds included, where no other kernel takes more; warps that fit are of the most that a multiprocessor holds, by that kernel's registers, shared memory and block."
)


def ladders(page: Page, cell: Cell) -> dict[tuple[str, str], list[Variant]]:
    """The ladders that are climbed: no yardsticks, no front door, which only chooses among rungs, and of a rung's sizes the rung."""
    climbed: dict[tuple[str, str], list[Variant]] = {}
    for (family, ladder), variants in ladder_groups(page, cell).items():
        if family == YARDSTICKS or ladder.startswith(compare.FRONT_DOOR):
            continue
        rungs: dict[str, Variant] = {}
        for variant in variants:
            rungs.setdefault(page.machine.variants[variant]["source"], variant)
        if len(rungs) > 1:
            climbed[family, ladder] = list(rungs.values())
    return climbed


def problems(machine: Machine, topic: Topic) -> list[Cell]:
    if topic.name == topics.HISTOGRAMS:
        return histograms.heads(machine, "cold", histograms.LADDERS)
    return [problem for problem in compare.problems(machine, topic, "cold") if problem == compare.main_problem(machine, topic)]


def kernels(machine: Machine, cell: Cell, variant: Variant) -> list[dict[str, Any]]:
    """The kernels in sass.json that this case may launch: the variant's, of no other operator and no other types."""
    own = {cell.input_type, cell.accumulator_type, cell.output_type}
    foreign = OF_OTHER_BINS.get(cell.operation)

    def fits(kernel: dict[str, Any]) -> bool:
        types = kernel.get("types") or []
        if foreign:  # the levels have a type, too
            return (not types or types[0] == cell.input_type) and not foreign.search(kernel.get("arguments", ""))
        return kernel.get("operator", "") in ("", cell.operator) and (not types or (cell.input_type in types and set(types) <= own))

    return [kernel for kernel in machine.sass.get(variant, []) if fits(kernel)]


def instructions(found: list[dict[str, Any]]) -> Counter[str]:
    """Loads of 128 bits, shuffles: how many there are in the kernels' code, not how many a thread runs."""
    counts: Counter[str] = Counter()
    for kernel in found:
        for name in kernel["opcodes"].keys() & sass.COUNTED.keys():
            widths = kernel.get("widths", {}).get(name) if name in sass.WITH_WIDTH else None
            for wide, count in (widths or {"": kernel["opcodes"][name]}).items():
                counts[f"{sass.COUNTED[name]} of {wide} bits" if wide else sass.COUNTED[name]] += count
    return counts


def opcodes(found: list[dict[str, Any]]) -> str:
    """4 loads of 128 bits, 10 shuffles."""
    counts = instructions(found)
    order = {says: place for place, says in enumerate(sass.COUNTED.values())}
    told = sorted(counts.items(), key=lambda item: (order[item[0].split(" of ")[0]], len(item[0]), item[0]))
    return ", ".join(f"{count:,} {name if count > 1 else singular(name)}" for name, count in told)


def singular(name: str) -> str:
    first, of, rest = name.partition(" of ")
    ending = {"matches": "match", "copies": "copy"}.get(first.split()[-1], first.split()[-1].removesuffix("s"))
    return " ".join([*first.split()[:-1], ending]) + of + rest


def launched(machine: Machine, cell: Cell, variant: Variant, name: str) -> Any:
    """What the newest run that read it from the launch says: its registers, shared_bytes or occupancy."""
    return next((row.values[name] for _, row in reversed(machine.rows(cell, variant)) if row.values.get(name) is not None), None)


def made_of(machine: Machine, cell: Cell, variant: Variant) -> list[str]:
    """Registers, shared memory and instructions: of the launch where a run read it, else at most of the code that may run."""
    found = kernels(machine, cell, variant)

    def at_most(name: str) -> int | None:
        return max((kernel[name] for kernel in found), default=None)

    registers, shared = (launched(machine, cell, variant, name) for name in ("registers", "shared_bytes"))
    registers = at_most("registers") if registers is None else registers
    shared = max((each for each in (shared, at_most("shared_bytes")) if each is not None), default=None)
    return [words.number(registers), words.byte_size(shared), (opcodes(found) or "none of them") if found else words.UNKNOWN]


def how_disassembled(machine: Machine) -> str:
    """Which build the machine code is of."""
    about = machine.made_by
    if not about.get("commit"):
        return ""
    compiler = f", compiled by nvcc {about['nvcc']}" if about.get("nvcc") else ""
    return f" The code is of commit {words.code(about['commit'])}{compiler}.{counters.aged(machine, about['commit'])}"


def fastest_before(machine: Machine, cell: Cell, variants: list[Variant], variant: Variant) -> Variant | None:
    return max(variants[: variants.index(variant)], key=lambda v: compare.rank(machine, cell, v), default=None)


def over_the_fastest(machine: Machine, cell: Cell, variants: list[Variant], variant: Variant) -> float | None:
    """The gain over the fastest of all rungs before: what a step past a rung that is no step up has really won."""
    fastest = fastest_before(machine, cell, variants, variant)
    return compare.within_runs(machine, cell, fastest, variant) if fastest else None


def changed(page: Page, topic: Topic, previous: Variant | None, variant: Variant) -> str:
    """How many lines the rung changed, and where its diff is: of neighbours on the ladder, on the page of their topic."""
    diff = diffs.between(page.root, *(page.machine.variants[each]["source"] for each in (previous, variant))) if previous else None
    if diff is None:
        return words.UNKNOWN
    ladder = [each for each in page.machine.variants if each[:2] == variant[:2]]
    neighbours = ladder.index(variant) - ladder.index(previous) == 1
    return f"[{diffs.changed(diff)}](#{anchor(variant)})" if neighbours else diffs.changed(diff)


def in_one_kernel(found: list[dict[str, Any]]) -> Counter[str]:
    """Of each instruction, how many there are in the kernel that has most of them: a rung may have a kernel for each of several cases."""
    counts: Counter[str] = Counter()
    for kernel in found:
        counts |= instructions([kernel])
    return counts


def is_far(machine: Machine, cell: Cell, variants: list[Variant], variant: Variant) -> bool:
    """A rung for other sizes: so much slower here than the fastest before it that nothing can be learned from it."""
    gained = over_the_fastest(machine, cell, variants, variant)
    return gained is not None and gained < 1 / FAR


def reference(page: Page, cell: Cell, variants: list[Variant], variant: Variant) -> tuple[Variant | None, str]:
    """The rung that a step is measured against, and what the source says of it: the rung that the source names, else the one before;
    where that is for other sizes, the fastest before."""
    machine = page.machine
    named, reason = reasons.of(page.root, machine, cell, variant)
    other = named or before(page, cell, variant)
    if other in variants and is_far(machine, cell, variants, other):
        other = fastest_before(machine, cell, variants, variant)
    says = text(reason.says if reason else machine.variants[variant]["idea"])
    if reason and (named is None or named != other):
        says = f"(against {words.code(reason.against)}{'' if named else ', not run here'}) {says}"
    return other, says


def gained(machine: Machine, cell: Cell, other: Variant, variant: Variant) -> str:
    """1.20x; 1.01x = where CUB is as far from itself in the cell."""
    value = compare.within_runs(machine, cell, other, variant)
    level = value is not None and max(value, 1 / value) <= 1 + compare.noise(machine, cell, compare.main_cccl(machine))
    return words.ratio(value) + " =" * level


def why(page: Page, cell: Cell, variants: list[Variant]) -> list[str]:
    """Each rung's step in a line: its gain, what the source says of it, and what was counted that moved."""
    machine, rows = page.machine, []
    for variant in variants:
        other, says = reference(page, cell, variants, variant)
        told = [words.UNKNOWN, words.UNKNOWN, says, words.UNKNOWN]
        if other:
            code = tuple(in_one_kernel(kernels(machine, cell, each)) for each in (other, variant))
            told = [page.label(other), gained(machine, cell, other, variant), says, reasons.moved(machine, cell, other, variant, code)]
        rows.append([page.label(variant), words.time(compare.figure(machine, cell, variant, "median_us")), *told])
    return spaced(table(["rung", ">time", "against", ">gain", "why, as its source says", "what moved, counted"], rows))


def climb(page: Page, topic: Topic, cell: Cell, variants: list[Variant]) -> list[str]:
    machine = page.machine
    inside = any(kernels(machine, cell, variant) for variant in variants)
    fits = any(launched(machine, cell, variant, "occupancy") for variant in variants)
    counted = any(counters.of(machine, cell, variant) for variant in variants)

    def over(variant: Variant, other: Variant | None) -> str:
        return words.ratio(compare.within_runs(machine, cell, other, variant) if other else None)

    def occupancy(variant: Variant) -> str:
        found = launched(machine, cell, variant, "occupancy")
        return words.percent(found and 100 * found)

    told = {
        "rung": page.label,
        "its idea": lambda variant: text(machine.variants[variant]["idea"]),
        ">time": lambda variant: words.time(compare.figure(machine, cell, variant, "median_us")),
        ">gain over the rung before": lambda variant: over(variant, before(page, cell, variant)),
        ">gain over the fastest before": lambda variant: words.ratio(over_the_fastest(machine, cell, variants, variant)),
        ">gain over the first": lambda variant: over(variant, before(page, cell, variant) and variants[0]),
        ">kernels a call": lambda variant: words.number(machine.rows(cell, variant)[-1][1].kernels),
        ">lines changed": lambda variant: changed(page, topic, before(page, cell, variant), variant),
    }
    told |= {">warps that fit": occupancy} if fits else {}
    for headers, tell, known in ((counters.HEADERS, counters.columns, counted), (MADE_OF, made_of, inside or fits)):
        told |= {header: lambda variant, at=at, tell=tell: tell(machine, cell, variant)[at] for at, header in enumerate(headers if known else ())}
    return spaced(columns(variants, told))


def contents(page: Page) -> list[str]:
    machine = page.machine
    lines: list[str] = []
    for topic in page.topics:
        drawn: list[str] = []
        for problem in problems(machine, topic) if topic.roof else []:
            cell = compare.ladder_cell(machine, problem)
            for (family, ladder), variants in ladders(page, cell).items() if cell else ():
                own = drawn if problem == compare.main_problem(machine, topic) else []
                named = f"{text(charts.describe(problem))}, {words.size(cell.items)} items, {text(family)}"
                own += spaced(f"### {named}")
                several = f"{family}_{ladder}_{problem.operation}_{problem.input_type}_{problem.shape}"
                far = [variant for variant in variants if is_far(machine, cell, variants, variant)]
                near = [variant for variant in variants if variant not in far]
                if len(near) < 2:
                    near, far = variants, []
                own += page.drawn(charts.waterfall, (cell, near), re.sub(r"[= ]+", "_", several).strip("_"))
                if far:
                    told = words.listed([page.label(variant) for variant in far])
                    own += spaced(f"Not in the chart, because over {FAR} times as slow here as the fastest before: {told}.")
                own += why(page, cell, variants)
                own += fold("All figures of this ladder, and the diffs", climb(page, topic, cell, variants))
                drawn += fold(named, own) if own is not drawn else []
        if drawn:
            lines += drawn
    if not lines:
        return []
    about = spaced(
        "A gain is another rung's time over this one's, taken within a run: 2.00x is half the time, below 1.00x the step cost time, and = says that CUB"
        " is as far from itself there. Against: the rung that the source compares itself with, else the one before it on the ladder; where that is"
        f" for other sizes (over {FAR} times as slow here as the fastest before it), the fastest before. Why: from the comment that opens the rung's"
        " file, its beginning and what it says of the price. What moved: of what was counted of both.",
        fold(
            "What the figures are",
            f"What moved is the first {reasons.MOST} of these that did: {reasons.order(machine)}; instructions are counted in the kernel that has most"
                " of them."
                " Gains are over three rungs: the one before on the ladder (of those run at this size), the fastest of all before, and the ladder's first."
                " Lines changed: of the rung's file against the one before, and the diff behind them."
                + (SASS_GUIDE + how_disassembled(machine) if machine.sass else "")
                + (OCCUPANCY_GUIDE if any(row.values.get("occupancy") for run in machine.runs for row in run.rows) else "")
                + (counters.GUIDE + counters.how_counted(machine) if machine.counters else ""),
        ),
    )
    return [*about, *lines]


def briefly(page: Page) -> str:
    """The front's one line: the largest step of each topic's ladder past all rungs before it."""
    machine, told = page.machine, []
    for topic in page.topics:
        cell = next((compare.ladder_cell(machine, problem) for problem in problems(machine, topic)), None) if topic.roof else None
        steps = [
            (step, variant)
            for (family, _), variants in (ladders(page, cell).items() if cell else ())
            for variant in variants
            if family == "handwritten" and (step := over_the_fastest(machine, cell, variants, variant))
        ]
        if steps and cell:
            most, variant = max(steps)
            reason = reasons.of(page.root, machine, cell, variant)[1]
            # Its first sentence; a semicolon would end the answer's line.
            says = reasons.SENTENCE.split(reason.says)[0].removesuffix(".").replace("; ", ", ") if reason else ""
            told.append(
                f"{topic.name} at {words.size(cell.items)}: the largest step up of the hand-written ladder is {page.label(variant)}, {words.ratio(most)}"
                " over the fastest before it" + (f" ({text(says)})" if says else "")
            )
    return "; ".join(told)
