"""Everything over n: the headline, the sweep, other types and modes, and where CUB is not beaten."""

from collections import Counter

from rungs_report import charts, compare, words
from rungs_report.compare import Best
from rungs_report.data import Cell, Machine
from rungs_report.page import MARKS, SAID, Page, cubs_time, flags, fold, interval, marked, over_cub, over_each, over_headers, verdict
from rungs_report.topics import ATOMICS, COSTS, Topic
from rungs_report.words import code, section, spaced, table, text

MODES = {
    "cold": "the data comes from memory",
    "warm": "the same buffers again and again, so the data may lie in L2",
    "graph": "many calls captured in one graph, time a call",
    "dirty": "caches flushed by writing, as nvbench does, so that the write-back is charged to the call",
    "host": "what runs on the CPU",
}
FEW_SIZES = 3
MANY_LINES = 12  # more are folded


def headline_table(machine: Machine, problem: Cell) -> list[str]:
    """At each n: CUB, the best rung, the speed-up and its verdict; a column a CCCL release where there are two."""
    found = [each for each in compare.bests(machine, problem) if each.ratio]
    alone = len(compare.cccl_versions(machine)) == 1
    rows = [
        [words.size(each.cell.items), cubs_time(machine, each.cell), code(machine.labels[each.variant]), words.time(each.median_us)]
        + [words.percent(each.percent_of_ceiling), *over_each(machine, each.all_ratios), *[interval(each.ratio)] * alone]
        + [verdict(each.ratio), ", ".join(flags(machine, each.variant))]
        for each in found
    ]
    return table([">n", ">CUB", "best rung", ">time", ">% of ceiling", *over_headers(machine), *["interval"] * alone, "verdict", "asks for"], rows)


FASTEST_OF_EACH = spaced(
    "The table has the fastest rung of each size. [Which variant to use](index.md#which-variant-to-use) names fewer: it keeps a rung while that is within 3 % of the fastest.",
)


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


def counts(found: list[Best]) -> str:
    """The same in numbers: 21 / 1 / 0 / 3 of 25 sizes."""
    verdicts = [each.ratio.verdict for each in found if each.ratio]
    told = " / ".join(str(verdicts.count(kind)) for kind in ("FASTER", "SAME", "SLOWER", "AMBIGUOUS"))
    return f"{told} of {words.plural(len(verdicts), 'size')}"


def how_compared(machine: Machine) -> list[str]:
    versions = compare.cccl_versions(machine)
    said = [
        f"CUB is its fastest entry in the cell, sampled in the same run, interleaved. {words.plural(len(machine.runs), 'run')}"
    ]
    if len(machine.runs) > 1:
        said.append(
            "; a ratio is taken within each run, its median over the runs is shown, the interval is the widest of them, and a verdict"
            " needs all runs to agree. A rung that only some runs of a release have is moved to the scale of the median run, by the rungs that all of"
            " them have, for CUB's own time differs from run to run"
        )
    if len(versions) > 1:
        said.append(
            f". Runs were built against CCCL {words.listed([text(v) for v in versions])}: the ratio over each one's CUB is shown, the verdict is"
            f" that of the lower ratio, times are from the runs with {text(compare.main_cccl(machine))}. Which rung is best is asked of"
            f" {text(compare.main_cccl(machine))}, which most runs were built against; the ratio of a rung that was not measured with a release is carried over by the rungs that"
            " met both, and marked ≈"
        )
    return spaced("".join(said) + ".")


def mains(machine: Machine, topics: list[Topic]) -> list[tuple[Topic, Cell]]:
    """The problem that heads each topic, where it can be compared with CUB at all."""
    found = [(topic, compare.main_problem(machine, topic)) for topic in topics]
    return [(t, p) for t, p in found if p is not None and any(each.ratio for each in compare.bests(machine, p))]


def few(counts: set[int]) -> list[int]:
    """Powers of four where there are enough of them, else all: a table for the front, not chosen by its results."""
    powers = [n for n in counts if n and n & (n - 1) == 0 and n.bit_length() % 2 == 1]
    return sorted(powers if len(powers) >= FEW_SIZES else counts)


def contest(machine: Machine, each: Best | None) -> list[str]:
    """CUB's time, the best rung's, which that is, and the speed-up over each release's CUB."""
    if each is None:
        return [words.UNKNOWN] * 4
    over = " / ".join(over_each(machine, each.all_ratios))
    return [cubs_time(machine, each.cell), words.time(each.median_us), code(machine.labels[each.variant]), over + SAID[each.ratio.verdict]]


def brief_table(machine: Machine, topics: list[Topic], times: bool = False) -> list[str]:
    """All topics beside each other at a few sizes, in columns that fit a screen: the best rung's speed-ups, and its times."""
    heads = mains(machine, topics)
    found = [{each.cell.items: each for each in compare.bests(machine, p) if each.ratio} for _, p in heads]
    versions = compare.cccl_versions(machine)

    def over(best: Best) -> str:
        told = " / ".join(over_each(machine, best.all_ratios))
        return (told if words.UNKNOWN in told else told.replace("x / ", " / ")) + MARKS[best.ratio.verdict]

    def took(best: Best) -> str:
        return f"{words.time(best.median_us)} : {cubs_time(machine, best.cell)}"

    sizes = few({count for each in found for count in each})
    if not sizes:
        return []
    shown = [(topic.name, by_size) for (topic, _), by_size in zip(heads, found, strict=True) if by_size.keys() & sizes]
    carried = any(ratio.carried for by_size in found for each in by_size.values() for ratio in each.all_ratios)
    carried = " ≈: the rung has not met that release; its speed-up is carried over by the rungs that met both." * carried
    releases = " / ".join(text(version) for version in versions)
    lower = " The mark belongs to the lower of the two." * (len(versions) > 1)
    tables = [(over, f"The speed-up of the best rung over the CUB of CCCL {releases}. = is a tie, ? undecided, − CUB wins.{lower}{carried}")]
    if times:
        tables.append((took, f"The time of the best rung : that of {text(compare.main_cub(machine))}'s fastest entry. Which rung it is stands on the topic's page."))
    lines = []
    for tell, about in tables:
        rows = [[words.size(n), *(tell(by_size[n]) if n in by_size else words.UNKNOWN for _, by_size in shown)] for n in sizes]
        lines += spaced(about, table([">n", *(f">[{name}]({name}.md)" if times else f">{name}" for name, _ in shown)], rows))
    return lines


def front(page: Page, more: list[str], others: list[tuple[str, str]]) -> list[str]:
    """What the pages of this GPU say, in one screen: the headline of each topic, more that is said of them, the tallies, the
    links, the others' too."""
    machine = page.machine
    lines = []
    heads = mains(machine, page.topics)
    if heads:
        lines += spaced(
            "A rung is one variant of a reduction, a scan or a histogram, written by hand and called as CUB's is. The best rung of a problem and a size"
            " is the one with the highest speed-up over CUB there. Cold: the data comes from memory.",
        )
    for topic, problem in heads:
        found = compare.bests(machine, problem)
        lines.append(f"- **{text(charts.describe(problem))}: the best rung is {tally(found)}** ([{topic.name}]({topic.name}.md)).")
    lines += [""] * bool(heads) + more
    if not heads and not machine.device:
        lines += spaced("Measured without a GPU: only what runs on the host is here, and there is no CUB to compare with.")
    lines += page.drawn(charts.headline, [(topic.name, problem) for topic, problem in heads])
    lines += brief_table(machine, page.topics, times=True)
    lines += where_cub_wins(page, [topic for topic, _ in heads])
    pages = [(f"{COSTS}.md#{ATOMICS}" if topic.name == ATOMICS else f"{topic.name}.md", topic) for topic in page.topics]
    links = [f"- [{topic.name}]({where}): {topic.contents}" for where, topic in pages]
    links += ["- " + ", ".join(f"[{what}]({where})" for what, where in others)] if others else []
    if machine.device:
        links.append("- [claims](claims.md): what the texts behind the ladders claim, and what was measured")
    links.append("- all rows as `results.csv`, and pages to filter, sort and zoom them: `report/run site` writes both into `report/site`")
    return spaced(lines, links)


def floors_of(machine: Machine, topic: Topic) -> str:
    """The noise floors of a topic's cells: median and most."""
    twins = [t for run in machine.runs for t in run.document["twins"] if t.get("operation") in topic.operations]
    known = sorted(twin["noise_floor"] * 100 for twin in twins if twin["noise_floor"] is not None)
    return f"{words.median(known):.2f} %, at most {known[-1]:.2f} %" if known else words.UNKNOWN


# Which rungs are asked: all, or those that take their workspace as it is.
CONTRACTS = ((False, "any workspace"), (True, "CUB's contract"))


def of_verdict(page: Page, found: list[Topic], verdict: str, contract: bool) -> tuple[int, list[str]]:
    """How many problems ended so, and a table of them, a line for what differs in n only."""
    machine, rows, total = page.machine, [], 0
    for problem in (problem for topic in found for problem in compare.problems(machine, topic)):
        own = [each for each in compare.bests(machine, problem, contract) if each.ratio and each.ratio.verdict == verdict]
        if own:
            ratios = dict.fromkeys(words.ratio(pick(each.ratio.value for each in own)) for pick in (min, max))
            where = ", ".join(words.size(each.cell.items) for each in own)
            rungs = dict.fromkeys(page.label(each.variant) for each in own)
            rows.append([text(charts.describe(problem)), where, ", ".join(rungs), " to ".join(ratios)])
            total += len(own)
    return total, spaced(table(["problem", "at n", "our best", ">over CUB"], rows))


def where_cub_wins(page: Page, found: list[Topic]) -> list[str]:
    """Wins, ties and losses over everything measured, each problem named, and the noise they stand against."""
    machine, rows = page.machine, []
    if not found:
        return []
    for topic in found:
        for contract, called in CONTRACTS:
            counts = compare.verdicts(machine, topic, contract)
            told = [f"{n:,}" for n in (counts.total(), *(counts[v] for v in ("FASTER", "SAME", "SLOWER", "AMBIGUOUS")))]
            rows.append([topic.name, called, *told, floors_of(machine, topic)])
    lines = spaced(
        "## Where CUB wins, and where it is a tie",
        "A problem is a type, an operator, a mode and a size. In each of them the best rung stands against CUB's fastest entry. A difference below"
        " the noise floor, the farthest that CUB lies from itself in like cells, is a tie; undecided is what runs disagree in, or an interval that"
        " holds both.",
        "The best rung is asked for twice. Under any workspace: of all rungs, also of those whose workspace has to be zeroed once beforehand, as"
        " `rungs::workspace` does. Under CUB's contract: only of the rungs that take the workspace as it is, like CUB's calls, and of the front"
        " door, which takes it so, too. Under any workspace the front door does not compete, for it only hands over rungs. So CUB can win more problems there."
        " [Which variant to use](#which-variant-to-use) also asks for the same bits every time, which CUB does not always promise, and keeps a rung while it is"
        " near the fastest: there CUB may win over the rung that is named and lose to another.",
        table(["", "rungs of", ">problems", ">a rung wins", ">tie", ">CUB wins", ">undecided", ">noise floor, median"], rows),
    )
    for contract, called in CONTRACTS:
        total, shown = of_verdict(page, found, "SLOWER", contract)
        said = f"Against the best rung of {called} CUB wins"
        lines += fold(f"{said}: {total:,}", shown) if total and contract else spaced(f"{said}:", shown) if total else spaced(f"{said} nowhere.")
    free, kept = (sum(compare.verdicts(machine, topic, contract).total() for topic in found) for contract, _ in CONTRACTS)
    if free > kept:
        lines += spaced(f"In {words.plural(free - kept, 'problem')} nothing of ours that keeps CUB's contract was measured.")
    for kind, title in (("SAME", "Ties"), ("AMBIGUOUS", "Undecided")):
        for contract, called in CONTRACTS:
            total, shown = of_verdict(page, found, kind, contract)
            lines += fold(f"{title}, {called}: {total:,}", shown) if total else []
    return [*lines, *how_compared(machine)]


def in_short(page: Page) -> list[str]:
    found = compare.bests(page.machine, page.main)
    if not any(each.ratio for each in found):
        if page.machine.device:
            return []
        return spaced("Measured without a GPU: only what runs on the host is here, and there is no CUB to compare with.")
    return spaced(
        f"**{text(charts.describe(page.main))}: the best rung is {tally(found)}.**",
        page.drawn(charts.best_of_all, page.main),
        headline_table(page.machine, page.main),
        FASTEST_OF_EACH if page.machine.device else [],
        how_compared(page.machine),
    )


def sweep(page: Page) -> list[str]:
    if len(compare.sizes(page.machine, page.main)) < 2:
        return []
    machine = page.machine
    lines = spaced("## The sweep over n")
    lines += page.drawn(charts.sweep_rate, page.main)
    lines += page.drawn(charts.sweep_speedup, page.main)
    if any(compare.best(machine, cell) for cell in compare.sizes(machine, page.main)):
        roof = f" The ceiling is {page.topic.roof}." if machine.device else ""
        lines += spaced(f"Coloured are CUB and whatever wins somewhere; grey is everything else that was measured.{roof}")
    return lines


def beside(page: Page) -> list[str]:
    """The operations of a topic beside each other: exclusive scans beside inclusive ones."""
    machine = page.machine
    if len(page.topic.operations) < 2:
        return []
    alike = [page.main._replace(operation=operation) for operation in page.topic.operations]
    alike = [problem for problem in alike if compare.sizes(machine, problem)]
    if len(alike) < 2:
        return []
    names = [problem.operation.split("_")[0] for problem in alike]
    said = " beside ".join(reversed(names))
    lines = spaced(f"## {text(said.capitalize())}")
    lines += page.drawn(charts.operations, [(name, problem) for name, problem in zip(names, alike, strict=True)])
    found = [{each.cell.items: each for each in compare.bests(machine, problem)} for problem in alike]
    headers = [">n"]
    for name in names:
        headers += [f">{text(name)}: CUB", ">best rung", "which", ">over CUB"]
    rows = []
    counts = Counter(count for each in found for count in each)
    shared = {count for count in counts if counts[count] > 1} or set(counts)
    for count in sorted(shared):
        row = [words.size(count)]
        for by_size in found:
            row += contest(machine, by_size.get(count))
        rows.append(row)
    if rows:
        lines += spaced(table(headers, rows))
    cell = compare.ladder_cell(machine, page.main)
    cells = [cell._replace(operation=problem.operation) for problem in alike] if cell else []
    variants = {v for each in cells for v in compare.contenders(machine, each) if v.ladder != compare.SWEEP_OF_LAUNCHES}
    rows = []
    for variant in sorted(variants, key=machine.order.__getitem__):
        row = [page.label(variant)]
        for each in cells:
            row += [words.time(compare.figure(machine, each, variant, "median_us"))]
            ratio = compare.told(machine, each).get(variant)
            row += [words.number(compare.figure(machine, each, variant, "gb_per_s")), over_cub(ratio)]
        rows.append(row)
    if cell and rows:
        headers = ["rung"]
        for name in names:
            headers += [f">{text(name)}: time", ">GB/s", f">{compare.over_main(machine)}"]
        lines += spaced(f"Every rung at {words.size(cell.items)} items:", table(headers, rows))
    lines += spaced("Each is compared with CUB's call for the same operation; no ratio is taken between the two.")
    return lines


def losses(page: Page) -> list[str]:
    """Where CUB wins and where nobody does, for every problem and mode."""
    machine = page.machine
    if not machine.device:
        return []
    found = [(problem, each) for problem in compare.problems(machine, page.topic) for each in compare.bests(machine, problem) if each.ratio]
    if not found:
        return []
    told, counts = (compare.verdicts(machine, page.topic, contract) for contract in (False, True))
    lines = spaced("## Where CUB wins, and where it is a tie")
    lines.append(
        f"Over all types, operators and modes there are {words.plural(told.total(), 'problem')} with a size. CUB wins {told['SLOWER']},"
        f" {told['SAME']} are ties, {told['AMBIGUOUS']} are undecided, and a rung wins {told['FASTER']}."
    )
    if counts != told:
        lines[-1] += (
            " These are the best of all rungs, whatever workspace they ask for. Of what keeps CUB's workspace contract, the front door among it, the best"
            f" loses to CUB in {counts['SLOWER']:,}, ties in {counts['SAME']:,}, is undecided in {counts['AMBIGUOUS']:,} and wins {counts['FASTER']:,} of"
            f" {words.plural(counts.total(), 'problem')} ([by name](index.md#where-cub-wins-and-where-it-is-a-tie))."
        )
    lines.append("")
    for title, kind in (("CUB wins", "SLOWER"), ("Ties", "SAME"), ("Undecided", "AMBIGUOUS")):
        rows = [
            [text(charts.describe(problem)), words.size(each.cell.items), page.label(each.variant), over_cub(each.ratio), interval(each.ratio)]
            for problem, each in found
            if each.ratio.verdict == kind
        ]
        if rows:
            shown = spaced(table(["problem", ">n", "our best", ">over CUB", "interval"], rows))
            lines += fold(f"{title}: {len(rows)}", shown) if len(rows) > MANY_LINES else spaced(f"{title}:", shown)
    return lines


def matrix(machine: Machine, problems: list[Cell]) -> list[str]:
    """Problems down, n across: the best rung's speed-up."""
    counts = sorted({cell.items for problem in problems for cell in compare.sizes(machine, problem)})
    rows = []
    for problem in problems:
        found = {each.cell.items: each for each in compare.bests(machine, problem)}
        row = [text(charts.describe(problem))]
        for count in counts:
            row.append(marked(found[count].ratio if count in found else None))
        if any(entry != words.UNKNOWN for entry in row[1:]):
            rows.append(row)
    return table(["problem", *[f">{words.size(count)}" for count in counts]], rows)


def other_types(page: Page) -> list[str]:
    machine = page.machine
    alike = compare.problems(machine, page.topic, page.main.mode)
    if len(alike) < 2:
        return []
    lines = spaced("## Other types and operators")
    if overview := matrix(machine, alike):
        lines += spaced("The best rung's speed-up over CUB; = is a tie, ? undecided, − CUB wins.", overview)
    return spaced(lines, "`report/run site` shows the times behind each line.")


def other_modes(page: Page) -> list[str]:
    """Warm, graph and dirty figures in tables of their own; which sizes they have is the suite's choice."""
    machine = page.machine
    lines = []
    for mode, means in MODES.items():
        if mode == page.main.mode:
            continue
        lines += section(f"### {mode}: {means}", "The best rung's speed-up over CUB:", matrix(machine, compare.problems(machine, page.topic, mode)))
    return section("## Other ways of running", "Never to be mixed with the figures above.", lines)
