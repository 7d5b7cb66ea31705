"""Everything over n: the headline, the sweep, other types and modes, and where CUB is not beaten."""

from collections.abc import Callable

from rungs_report import charts, compare, words
from rungs_report.compare import Best
from rungs_report.data import Cell, Machine, Variant
from rungs_report.page import Page, flags, interval, over_cub, verdict
from rungs_report.words import code, table, text


def headline_table(machine: Machine, problem: Cell) -> list[str]:
    """At each n: CUB, the best rung, the speed-up and its verdict; a column a CCCL release where there are two."""
    found = [each for each in compare.bests(machine, problem) if each.ratio]
    versions = compare.cccl_versions(machine)
    several = len(versions) > 1
    headers = [">n", ">CUB", "best rung", ">time", ">% of ceiling"]
    headers += [f">over CUB {version}" for version in versions] if several else [">over CUB", "interval"]
    rows = []
    for each in found:
        cub = compare.fastest_cub(machine, each.cell)
        row = [
            words.size(each.cell.items),
            words.time(cub[1] if cub else None),
            code(each.variant.rung),
            words.time(each.median_us),
            words.percent(each.percent_of_ceiling),
        ]
        if several:
            by_version = {ratio.cccl: ratio for ratio in each.all_ratios}
            row += [over_cub(by_version.get(version)) for version in versions]
        else:
            row += [over_cub(each.ratio), interval(each.ratio)]
        rows.append([*row, verdict(each.ratio), ", ".join(flags(machine, each.variant))])
    return table([*headers, "verdict", "asks for"], rows) if rows else []


def tally(found: list[Best]) -> str:
    verdicts = [each.ratio.verdict for each in found if each.ratio]
    said = [
        f"faster than CUB at {verdicts.count('FASTER')}",
        f"level with it at {verdicts.count('SAME')}",
        f"slower at {verdicts.count('SLOWER')}",
    ]
    if undecided := verdicts.count("AMBIGUOUS"):
        said.append(f"undecided at {undecided}")
    return f"{words.listed(said)} of {words.plural(len(verdicts), 'size')}"


def how_compared(machine: Machine) -> list[str]:
    versions = compare.cccl_versions(machine)
    said = [
        f"CUB is its fastest entry in the cell, sampled in the same run, interleaved. {words.plural(len(machine.runs), 'run')}"
    ]
    if len(machine.runs) > 1:
        said.append(
            "; a ratio is taken within each run, its median over the runs is shown, the interval is the widest of them, and a verdict"
            " needs all runs to agree"
        )
    if len(versions) > 1:
        said.append(
            f". Runs were built against CCCL {words.listed([text(v) for v in versions])}: both ratios are shown, the verdict is that of"
            f" the lower one, times are from the runs with {text(compare.main_cccl(machine))}"
        )
    return ["".join(said) + ".", ""]


def in_short(page: Page) -> list[str]:
    if page.main is None:
        return []
    found = compare.bests(page.machine, page.main)
    if not any(each.ratio for each in found):
        if page.machine.device:
            return []
        return ["Measured without a GPU: only what runs on the host is here, and there is no CUB to compare with.", ""]
    return [
        f"**{text(charts.describe(page.main))}: the best rung is {tally(found)}.**",
        "",
        *page.drawn(charts.best_of_all(page.machine, page.looks, page.main, "headline")),
        *headline_table(page.machine, page.main),
        "",
        *how_compared(page.machine),
    ]


def sweep(page: Page) -> list[str]:
    if page.main is None or len(compare.sizes(page.machine, page.main)) < 2:
        return []
    machine = page.machine
    lines = ["## The sweep over n", ""]
    lines += page.drawn(charts.sweep_rate(machine, page.looks, page.main, "sweep_rate"))
    lines += page.drawn(charts.sweep_speedup(machine, page.looks, page.main, "sweep_speedup"))
    named = any(compare.best(machine, cell) for cell in compare.sizes(machine, page.main))
    if named:
        lines += [
            "Coloured are CUB and whatever wins somewhere; grey is everything else that was measured. The best rung of each n is bold below.",
            "",
        ]
    lines += sweep_tables(machine, page.main)
    return lines


def grid(
    machine: Machine, cells: list[Cell], title: str, value: Callable[[Cell, Variant], str], first: list[list[str]]
) -> list[str]:
    """Variants down, n across, the best rung of each n bold."""
    variants = sorted(
        {v for cell in cells for v in compare.contenders(machine, cell) if v.ladder != compare.SWEEP_OF_LAUNCHES},
        key=machine.order.__getitem__,
    )
    winners = {cell: found.variant for cell in cells if (found := compare.best(machine, cell))}
    body = list(first)
    for variant in variants:
        row = [code(variant.rung)]
        for cell in cells:
            said = value(cell, variant)
            row.append(f"**{said}**" if said != words.UNKNOWN and winners.get(cell) == variant else said)
        body.append(row)
    return [f"{title}:", "", *table(["rung", *[f">{words.size(cell.items)}" for cell in cells]], body), ""]


def sweep_tables(machine: Machine, problem: Cell) -> list[str]:
    """Speed-up, GB/s under the ceiling, and time."""
    cells = compare.sizes(machine, problem)
    limits = [compare.ceiling(machine, cell) for cell in cells]
    lines = []
    if any(found.ratio for found in compare.bests(machine, problem)):

        def ratio(cell: Cell, variant: Variant) -> str:
            found = compare.headline(machine, cell, variant)
            return over_cub(found) + ("" if found is None or found.verdict != "SAME" or compare.is_cub(variant) else " =")

        lines += grid(machine, cells, "Speed-up over CUB (= is a tie)", ratio, [])
    top = [["measured ceiling", *[words.number(limit) for limit in limits]]] if any(limits) else []
    lines += grid(machine, cells, "GB/s", lambda c, v: words.number(compare.figure(machine, c, v, "gb_per_s")), top)
    return lines + time_table(machine, problem)


def time_table(machine: Machine, problem: Cell) -> list[str]:
    cells = compare.sizes(machine, problem)
    return grid(machine, cells, "Time", lambda c, v: words.time(compare.figure(machine, c, v, "median_us")), [])


def losses(page: Page) -> list[str]:
    """Where CUB wins and where nobody does, for every problem and mode."""
    machine = page.machine
    if not machine.device:
        return []
    beaten, level, undecided, total = [], [], [], 0
    for problem in compare.problems(machine):
        for found in compare.bests(machine, problem):
            if not found.ratio:
                continue
            total += 1
            entry = [
                text(charts.describe(problem)),
                words.size(found.cell.items),
                code(found.variant.rung),
                over_cub(found.ratio),
                interval(found.ratio),
            ]
            {"SLOWER": beaten, "SAME": level, "AMBIGUOUS": undecided}.get(found.ratio.verdict, []).append(entry)
    if not total:
        return []
    headers = ["problem", ">n", "our best", ">over CUB", "interval"]
    lines = ["## Where CUB wins, and where it is a tie", ""]
    lines.append(
        f"Over all types, operators and modes there are {words.plural(total, 'problem')} with a size. CUB wins {len(beaten)},"
        f" {len(level)} are ties, {len(undecided)} are undecided, and a rung wins {total - len(beaten) - len(level) - len(undecided)}."
    )
    lines.append("")
    for title, entries in (("CUB wins", beaten), ("Ties", level), ("Undecided", undecided)):
        if not entries:
            continue
        shown = [f"{title}:", "", *table(headers, entries), ""]
        if len(entries) > 12:
            shown = [
                "<details>",
                f"<summary>{title}: {len(entries)}</summary>",
                "",
                *table(headers, entries),
                "",
                "</details>",
                "",
            ]
        lines += shown
    return lines


def matrix(machine: Machine, problems: list[Cell]) -> list[str]:
    """Problems down, n across: the best rung's speed-up."""
    counts = sorted({cell.items for problem in problems for cell in compare.sizes(machine, problem)})
    rows = []
    for problem in problems:
        found = {each.cell.items: each for each in compare.bests(machine, problem)}
        row = [text(charts.describe(problem))]
        for count in counts:
            each = found.get(count)
            if each is None or each.ratio is None:
                row.append(words.UNKNOWN)
            else:
                mark = {"SAME": " =", "AMBIGUOUS": " ?", "SLOWER": " −"}.get(each.ratio.verdict, "")
                row.append(words.ratio(each.ratio.value) + mark)
        if any(entry != words.UNKNOWN for entry in row[1:]):
            rows.append(row)
    return table(["problem", *[f">{words.size(count)}" for count in counts]], rows) if rows else []


def other_types(page: Page) -> list[str]:
    machine = page.machine
    mode = page.main.mode if page.main else None
    others = [problem for problem in compare.problems(machine, mode) if problem != page.main]
    if not others:
        return []
    lines = ["## Other types and operators", ""]
    overview = matrix(machine, ([page.main] if page.main else []) + others)
    if overview:
        lines += ["The best rung's speed-up over CUB; = is a tie, ? undecided, − CUB wins.", "", *overview, ""]
    return lines + folded_problems(machine, others)


def folded_problems(machine: Machine, problems: list[Cell]) -> list[str]:
    lines = []
    for problem in problems:
        best = headline_table(machine, problem)
        # Times only: the full set of tables for every problem would make a page too long to be rendered.
        body = (best + [""] if best else []) + time_table(machine, problem)
        lines += ["<details>", f"<summary>{words.html(charts.describe(problem))}</summary>", "", *body, "</details>", ""]
    return lines


def other_modes(page: Page) -> list[str]:
    """Warm, graph and dirty figures in tables of their own, and the host's where the page is a GPU's."""
    machine = page.machine
    meaning = {
        "warm": "the same buffers again and again, so the data may lie in L2",
        "graph": "many calls captured in one graph, time a call",
        "dirty": "caches flushed by writing, as nvbench does, so that the write-back is charged to the call",
        "host": "what runs on the CPU",
    }
    lines = []
    for mode, means in meaning.items():
        found = compare.problems(machine, mode)
        if not found or (page.main and page.main.mode == mode):
            continue
        lines += [f"### {mode}: {means}", ""]
        overview = matrix(machine, found)
        lines += [*overview, ""] if overview else []
        lines += folded_problems(machine, found)
    return ["## Other ways of running", "", "Never to be mixed with the cold figures above.", "", *lines] if lines else []
