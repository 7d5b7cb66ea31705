"""Which variant to use: the measured decision tables, and the texts' own advice beside what was measured.

A table is made of steps over n. A rung stays for as many sizes as it can while it is no more than NEAR slower than the fastest
one there: who chooses wants few steps, and less than that is within the noise of another day.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from rungs_report import charts, claims, compare, topics, words
from rungs_report.claims import GI, MI, Answer, Claim, Evidence
from rungs_report.data import Cell, Machine, Variant
from rungs_report.histograms import EVEN
from rungs_report.histograms import place as histogram_place
from rungs_report.page import Page, flags, fold, over_cub
from rungs_report.topics import Topic
from rungs_report.words import code, table, text

NEAR = 0.03
DOORS = {"reductions": "rungs::DeviceReduce", "extrema": "rungs::DeviceReduce", "scans": "rungs::DeviceScan", "histograms": "rungs::DeviceHistogram", "selections": "rungs::DeviceSelect", "top_k": "rungs::DeviceBatchedTopK"}
SHOWN = ("uniform", "constant")  # distributions whose choice stands in the first table
INTEGERS = ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64")


@dataclass(frozen=True)
class Need:
    """What the caller asks for beyond speed. The front door answers what asks for CUB's contract, for it keeps that."""

    says: str
    heading: str
    same_bits: bool = False
    contract: bool = False

    def admits(self, machine: Machine, cell: Cell, variant: Variant) -> bool:
        if self.same_bits and not repeats(machine, cell, variant):
            return False
        return not self.contract or compare.keeps_cubs_contract(machine, variant)


ANY = Need("no further wish", "Just the fastest")
NEEDS = (
    ANY,
    Need("the same bits every time", "With the same bits every time", same_bits=True),
    Need("CUB's workspace contract", "With CUB's workspace contract, nothing zeroed beforehand", contract=True),
    Need("both", "With both", same_bits=True, contract=True),
)


@dataclass(frozen=True)
class Step:
    """One rung for these sizes."""

    variant: Variant
    cells: tuple[Cell, ...]


def repeats(machine: Machine, cell: Cell, variant: Variant) -> bool:
    """Promised by the variant or owed to integers, whose sums do not round, and never seen otherwise."""
    exact = cell.accumulator_type in INTEGERS
    seen = all(row.repeatable == "yes" for _, row in machine.rows(cell, variant))
    return seen and (exact or bool(machine.variants[variant].get("deterministic")))


def admitted(machine: Machine, cell: Cell, need: Need) -> dict[Variant, float]:
    """What of ours meets the need, and CUB, each with its cost: the time in units of one release's CUB, as `compare.told`
    has it; where CUB has none the time. Where all entries of CUB meet it they count as the plain one, at the better release's time; else
    those that do stand for themselves."""
    present = compare.contenders(machine, cell)
    rungs = [v for v in present if compare.is_ours(machine, v) or (need.contract and compare.is_door(v))]
    # A call that waits for the host cannot stand where CUB's stood: it is shown, not advised.
    ours = [v for v in rungs if not machine.variants[v].get("waits_for_host") and need.admits(machine, cell, v)]
    cub = [v for v in present if compare.is_cub(v)]
    if not cub:
        return {v: compare.figure(machine, cell, v, "median_us") for v in ours}
    speedups = compare.told(machine, cell)
    costs = {v: 1 / speedups[v].value for v in ours if v in speedups}
    release = compare.reference(machine, cell)
    met = [{r.cccl: r.value for r in compare.ratios(machine, cell, v)} for v in rungs]
    better = [min(own.values()) / own[release] for own in met if len(own) > 1 and release in own]
    fitting = [v for v in cub if need.admits(machine, cell, v)]
    if len(fitting) == len(cub):
        costs[plain_cub(machine, cell.operation)] = words.median(better) or 1.0
    else:
        costs |= {v: 1 / speedups[v].value for v in fitting if v in speedups}
    return costs


@cache
def plain_cub(machine: Machine, operation: str) -> Variant:
    cub = [v for v in machine.variants if compare.is_cub(v)]
    return next(v for v in cub for run in machine.runs for c, rows in run.cells.items() if c.operation == operation and v in rows)


def called(machine: Machine, step: Step) -> str:
    """All of CUB by its name, one entry of its by that, too."""
    variant = step.variant
    if compare.is_door(variant):
        return code(DOORS[variant.ladder.removeprefix(compare.FRONT_DOOR)])
    if compare.is_cub(variant):
        plain = variant == plain_cub(machine, step.cells[0].operation)
        return "CUB" if plain else f"CUB's {code(machine.labels[variant])}"
    return code(machine.labels[variant])


def covering(machine: Machine, fit: list[tuple[Cell, dict[Variant, float]]]) -> list[Step]:
    """Few steps: from the smallest n on, whoever stays near the fastest for the most sizes. fit: by size, the
    candidates with what they cost, least best."""
    near = [{v for v, cost in costs.items() if cost <= min(costs.values()) * (1 + NEAR)} for _, costs in fit]
    found: list[Step] = []
    position = 0
    while position < len(fit):
        if not near[position]:
            position += 1
            continue
        costs = fit[position][1]
        until = {v: next((n for n in range(position, len(fit)) if v not in near[n]), len(fit)) for v in near[position]}
        chosen = max(until, key=lambda v, until=until, costs=costs: (until[v], -costs[v], -machine.order[v]))
        found.append(Step(chosen, tuple(cell for cell, _ in fit[position : until[chosen]])))
        position = until[chosen]
    return found


@cache
def steps(machine: Machine, problem: Cell, need: Need) -> list[Step]:
    return covering(machine, [(cell, admitted(machine, cell, need)) for cell in compare.sizes(machine, problem) if cell.items])


def span(own: tuple[Cell, ...]) -> str:
    first, last = (words.size(each.items) for each in (own[0], own[-1]))
    return first if first == last else f"{first} to {last}"


def chain(machine: Machine, found: list[Step], last: int = 0) -> str:
    """`one_block` to 8 Ki, then `early_ticket`. last: the problem's largest n, where nothing that fits may have been measured."""
    said = [f"{called(machine, step)} to {words.size(step.cells[-1].items)}" for step in found]
    if found and found[-1].cells[-1].items >= last:
        said[-1] = called(machine, found[-1])
    elif found:
        said.append("then nothing was measured")
    return ", ".join(said) or words.UNKNOWN


def ends(ratios: list[compare.Ratio]) -> str:
    """Lowest to highest, and what is no win among them."""
    if not ratios:
        return words.UNKNOWN
    both = dict.fromkeys(over_cub(pick(ratios, key=lambda ratio: ratio.value)) for pick in (min, max))
    kinds = [ratio.verdict for ratio in ratios]
    told = [
        f"{says} at {kinds.count(kind)} of {len(kinds)}" if len(kinds) > 1 else says
        for kind, says in (("SAME", "tie"), ("AMBIGUOUS", "undecided"), ("SLOWER", "**CUB wins**"))
        if kind in kinds
    ]
    return " to ".join(both) + (f" ({', '.join(told)})" if told else "")


def ratios_of(machine: Machine, step: Step) -> list[compare.Ratio]:
    return [ratio for cell in step.cells if (ratio := compare.headline(machine, cell, step.variant))]


def over(machine: Machine, step: Step) -> str:
    """The step's speed-up over CUB."""
    return "it is CUB" if compare.is_cub(step.variant) else ends(ratios_of(machine, step))


def chosen(page: Page, problem: Cell, need: Need) -> list[list[str]]:
    machine = page.machine
    return [
        [span(step.cells), called(machine, step), over(machine, step), ", ".join(flags(machine, step.variant)) or "nothing"]
        for step in steps(machine, problem, need)
    ]


# ---- reductions and scans: a step table for the headline, a line for every other problem


def in_mode(machine: Machine, topic: Topic, mode: str) -> list[Cell]:
    return [p for p in compare.problems(machine, topic, mode) if any(steps(machine, p, ANY))]


def over_releases(machine: Machine, problems: list[Cell]) -> str:
    """What a column of speed-ups is called: with the releases that were met there, where others were met elsewhere."""
    cells = [cell for problem in problems for cell in compare.sizes(machine, problem)]
    met = {ratio.cccl for cell in cells for own in compare.met(machine, cell).values() for ratio in own.values()}
    every = compare.cccl_versions(machine)
    return "over CUB" if met == set(every) or not met else f"over CUB {words.listed([v for v in every if v in met])} alone"


def lines_of(machine: Machine, problems: list[Cell]) -> list[str]:
    """A line a problem, a column a need; needs that change nothing anywhere are said in a sentence."""
    last = [max(cell.items for cell in compare.sizes(machine, problem)) for problem in problems]
    chains = [[chain(machine, steps(machine, problem, need), n) for need in NEEDS] for problem, n in zip(problems, last, strict=True)]
    if not chains:
        return []
    differ = [n for n in range(1, len(NEEDS)) if any(row[n] != row[0] for row in chains)]
    same = [NEEDS[n].says for n in range(1, len(NEEDS)) if n not in differ and NEEDS[n].says != "both"]
    headers = ["", "the fastest", f">{over_releases(machine, problems)}", "it asks for", *[NEEDS[n].says for n in differ]]
    alike: dict[tuple[str, ...], list[Cell]] = {}
    for problem, row in zip(problems, chains, strict=True):
        alike.setdefault((row[0], *(row[n] if row[n] != row[0] else "the same" for n in differ)), []).append(problem)
    rows = []
    for told, own in alike.items():
        named = words.listed([text(charts.describe(problem._replace(mode=""))) for problem in own])
        taken = [step for problem in own for step in steps(machine, problem, ANY)]
        asks = dict.fromkeys(flag for step in taken for flag in flags(machine, step.variant))
        rows.append([named, told[0], over_all(machine, taken), ", ".join(asks) or "nothing", *told[1:]])
    lines = [*table(headers, rows), ""]
    if same:
        wishes = words.listed(same)
        lines += [f"{wishes[0].upper()}{wishes[1:]} change{'s' if len(same) == 1 else ''} nothing here.", ""]
    return lines


def ordinary(page: Page, topic: Topic) -> list[str]:
    machine = page.machine
    lines: list[str] = []
    cold = in_mode(machine, topic, "cold")
    if not cold:
        return []
    lines += [f"## {text(topic.name.capitalize())}", ""]
    main = cold[0]
    stands_alone = len(compare.sizes(machine, main)) > 1  # else the table of all problems tells as much
    if stands_alone:
        lines += [f"### {text(charts.describe(main._replace(mode='')))}, in a stream", ""]
    told: dict[str, list[list[str]]] = {}
    for need in NEEDS if stands_alone else ():
        if rows := chosen(page, main, need):
            same = next((heading for heading, known in told.items() if known == rows), None)
            told[need.heading] = rows
            lines += [f"{need.heading}: as {same[0].lower()}{same[1:]}." if same else f"{need.heading}:", ""]
            lines += [] if same else [*table([">n", "take", ">over CUB", "it asks for"], rows), ""]
    graph = in_mode(machine, topic, "graph")
    if graph:
        lines += ["### In a captured graph", ""]
        for problem in graph:
            if compare.is_headline(problem) and (rows := chosen(page, problem, ANY)):
                lines += [f"{text(charts.describe(problem._replace(mode='')))}, just the fastest:", ""]
                lines += [*table([">n", "take", f">{over_releases(machine, [problem])}", "it asks for"], rows), ""]
        lines += lines_of(machine, graph)
    lines += ["### Every type and operator, in a stream", "", *lines_of(machine, cold)]
    return lines


# ---- histograms: by samples, bins and whether the distribution is known


def unknown(machine: Machine, settings: list[Cell]) -> list[Step]:
    """Steps over n where the distribution is not known: a candidate costs what it costs at its worst distribution, against
    CUB where CUB has a time anywhere."""
    fit = []
    for setting in settings:
        costs = [admitted(machine, cell, ANY) for cell in compare.settings(machine, setting.operation, setting.mode)[setting].values()]
        against = [each for each in costs if any(compare.is_cub(v) for v in each)] or costs
        shared = set.intersection(*map(set, against))
        one = compare.recommended(machine, setting)
        if one and all(compare.is_cub(v) for v in shared):  # no rung was measured with all of them
            shared = {one.variant}
        fit.append((setting, {v: max(each[v] for each in against if v in each) for v in shared}))
    return covering(machine, fit)


def histogram_lines(page: Page, topic: Topic) -> list[str]:
    """A line a kind of samples and number of bins: if the distribution is not known, if it is even, if all is in one bin."""
    machine = page.machine
    found: dict[tuple, dict[Cell, dict[str, Cell]]] = {}
    for operation in topic.operations:
        for setting, cells in compare.settings(machine, operation).items():
            found.setdefault((operation, setting.input_type, setting.shape), {})[setting] = cells
    order = sorted(found.items(), key=lambda item: (topic.operations.index(item[0][0]), histogram_place(min(item[1]))))
    measured = {name for settings in found.values() for cells in settings.values() for name in cells}
    rest = [name for name in charts.DISTRIBUTIONS if name in measured and name not in SHOWN] + sorted(measured - set(charts.DISTRIBUTIONS))
    rows, more = [], []
    for _, settings in order:
        own = sorted(settings, key=lambda each: each.items)
        picked = {name: steps(machine, own[0]._replace(distribution=name, items=0), ANY) for name in (*SHOWN, *rest)}
        if not any(picked.values()):
            continue
        kind = text(charts.describe(own[0]._replace(distribution="uniform", mode="")))
        several = any(len(cells) > 1 for cells in settings.values())
        blind = unknown(machine, own) if several else []
        rows.append([kind, chain(machine, blind), over_all_distributions(machine, blind), *[part for name in SHOWN for part in (chain(machine, picked[name]), over_all(machine, picked[name]))]])
        if any(picked[name] for name in rest):
            more.append([kind, *[chain(machine, picked[name]) for name in rest]])
    if not rows:
        return []
    headers = ["", "distribution not known", ">over CUB, all distributions measured"]
    for name in SHOWN:
        headers += [charts.distribution(name), ">over CUB"]
    lines = [f"## {text(topic.name.capitalize())}", "", *table(headers, rows), ""]
    lines += fold("Other distributions", [*table(["", *map(charts.distribution, rest)], more), ""]) if more else []
    problems = [p for p in compare.problems(machine, topic, "cold") if p.operation == EVEN]
    every = [steps(machine, p, need) for p in problems for need in NEEDS[1:]]
    if every == [steps(machine, p, ANY) for p in problems for _ in NEEDS[1:]]:
        lines += ["Counters are integers and all of these repeat; none asks for a zeroed workspace, so no wish changes the choice.", ""]
    if graph := in_mode(machine, topic, "graph"):
        lines += ["In a captured graph:", "", *lines_of(machine, graph)]
    return lines


def over_all_distributions(machine: Machine, found: list[Step]) -> str:
    """Of steps whose cells stand for a cell each distribution; and where the lowest is."""
    ratios = {
        cell: ratio
        for step in found
        if not compare.is_cub(step.variant)
        for setting in step.cells
        for cell in compare.settings(machine, setting.operation, setting.mode)[setting].values()
        if (ratio := compare.headline(machine, cell, step.variant))
    }
    if len(ratios) < 2:
        return ends(list(ratios.values()))
    lowest = min(ratios, key=lambda cell: ratios[cell].value)
    return f"{ends(list(ratios.values()))}; lowest: {charts.distribution(lowest.distribution)} at {words.size(lowest.items)}"


def over_all(machine: Machine, found: list[Step]) -> str:
    return ends([ratio for step in found if not compare.is_cub(step.variant) for ratio in ratios_of(machine, step)])


def decisions(page: Page) -> list[str]:
    found: list[str] = []
    for topic in page.topics:
        if topic.name not in topics.STUDIES:
            found += histogram_lines(page, topic) if topic.name == topics.HISTOGRAMS else ordinary(page, topic)
    versions = compare.cccl_versions(page.machine)
    releases = (
        f" of CCCL {words.listed([text(v) for v in versions])}, whichever leaves us less (≈: the rung has not met that release, and its speed-up is"
        " carried over by the rungs that met both)"
        if len(versions) > 1
        else ""
    )
    about = [
        f"A rung is kept over as many sizes as it stays within {NEAR * 100:.0f} % of the fastest, so that steps are few. Therefore these lists differ from"
        f" the tables on the topics' pages, which have the fastest of each size ({words.listed([f'[{topic.name}]({topic.name}.md)' for topic in page.topics if topic.name not in topics.STUDIES])})."
        " Speed-ups are over CUB's fastest entry" + releases + ", lowest to highest over what a line stands for, where it names"
        " not CUB itself: sizes, and where it names several problems or distributions those; rungs that wait"
        " for the host are left out. Between two sizes that were measured, the larger one's rung is the safer guess. In a stream: the data comes from memory (cold).",
        "",
        "**CUB wins** at k of m: at k of the m cells measured there CUB is faster than this rung. The rung is named all the same where CUB does not keep the"
        f" wish above the table (not all of its calls promise the same bits every time), or where the rung is within {NEAR * 100:.0f} % of CUB. The"
        " [front page](index.md#where-cub-wins-and-where-it-is-a-tie) counts something else: CUB against the best rung of each size, once of all"
        " rungs and once of those that keep CUB's workspace contract.",
        "",
    ]
    return [*about, *found] if found else []


# ---- the texts' advice


def advised(names: tuple[str, ...], low: int, high: int, problem: Cell = claims.SUM) -> Callable[[Evidence], Answer | None]:
    """What the advised rungs cost over the best of ours and CUB, at every n in the range. Within `claims.ALIKE` at most sizes: it holds."""

    def measure(seen: Evidence) -> Answer | None:
        costs: list[tuple[float, int, str]] = []
        for cell in compare.sizes(seen.machine, problem):
            if not low <= cell.items <= high:
                continue
            taken = [v for name in names if (v := seen.rung(name, problem)) and seen.has(name, cell)]
            best = compare.fastest(seen.machine, cell)
            if taken and best:
                ratios = [(r, v) for v in taken if (r := compare.within_runs(seen.machine, cell, v, best))]
                if ratios:
                    costs.append((max(1.0, min(ratios)[0]), cell.items, best.rung))
        if not costs:
            return None
        near = sum(cost <= claims.ALIKE for cost, _, _ in costs)
        worst = max(costs)
        least = min(cost for cost, _, _ in costs)
        ends = " to ".join(dict.fromkeys((words.ratio(least), words.ratio(worst[0]))))
        told = f"{ends} the time of the fastest, within {(claims.ALIKE - 1) * 100:.0f} % of it at {near} of {words.plural(len(costs), 'size')}"
        best = list(dict.fromkeys(name for _, _, name in costs))
        told += f" ({words.size(costs[0][1])} to {words.size(costs[-1][1])}); fastest {words.listed(best)}"
        return Answer(told, claims.HOLDS if near > len(costs) / 2 else claims.FAILS)

    return measure


def in_special_cases(seen: Evidence) -> Answer | None:
    """Whether a cluster is the best of ours in some places, and in fewer than half."""
    found = compare.bests(seen.machine, claims.SUM)
    if not found or not seen.sizes("remote_stores"):
        return None
    own = [each.cell.items for each in found if each.variant.family == "cluster"]
    told = f"a cluster is the best rung at {len(own)} of {words.plural(len(found), 'size')}"
    told += f", {words.size(own[0])} to {words.size(own[-1])}" if own else ""
    return Answer(told, claims.HOLDS if len(own) < len(found) / 2 else claims.FAILS)


def nothing(seen: Evidence) -> None:
    """What no variant here does yet."""


BLOCKS = ("cub_block_reduce_warp_reductions", "cub_block_reduce_raking", "cub_block_reduce_raking_commutative_only")
ATOMIC_BLOCKS = ("atomic_per_block", "grid_stride", "vector_loads")
ADVICE = (
    Claim("C16", "A simple reduction of a block: CUB's BlockReduce", "", "", advised(BLOCKS, 1, 1024)),
    Claim("C16", "Within a warp: cg::reduce or shuffles, as one likes", "", "", claims.alike("cg_warp_shuffle", "warp_shuffle", lambda median: claims.agrees(median, claims.ALIKE) == claims.HOLDS)),
    Claim("C16", "Across the grid: CUB's DeviceReduce", "", "", advised(("cub_device_reduce",), 1025, 1 << 40)),
    Claim("C16", "or one cooperative launch", "", "", advised(("cooperative_grid",), 1025, 1 << 40)),
    Claim("C16", "A cluster: in special cases only", "", "", in_special_cases),
    Claim("C11", "and for huge inputs with few outputs, in one launch", "", "", claims.c11_cluster),
    Claim("C16", "Attention's (m, l): by hand", "", "", nothing),
    Claim("C16", "Across GPUs: NCCL", "", "", nothing),
    Claim("D10", "32 values or fewer: shuffles of one warp", "5 cycles", "A100", advised(("one_block",), 1, 32)),
    Claim("D10", "33 to 1,024: one block, shuffles and shared memory", "50 cycles", "A100", advised(("one_block",), 33, 1024)),
    Claim("D10", "1 Ki to 1 Mi: each block reduces, then one global atomic", "500 cycles", "A100", advised(ATOMIC_BLOCKS, 1025, MI)),
    Claim("D10", "More than 1 Mi: two phases, the second over the blocks' sums", "2 launches", "A100", advised(("two_passes",), MI + 1, 4 * GI)),
)  # fmt: skip


def advice(page: Page) -> list[str]:
    machine = page.machine
    rows = []
    for claim in ADVICE:
        found = claims.answer(claim, machine)
        verdict = f"**{found.verdict}**" if found.verdict == claims.FAILS else found.verdict
        rows.append([claim.identity, text(claim.says), text(claim.figure) or words.UNKNOWN, text(found.measured), verdict])
    if all(row[-1] == claims.UNMEASURED for row in rows):
        return []
    return [
        "## What the texts advise",
        "",
        f"Their strategy tables for reductions, row by row, beside {text(charts.describe(claims.SUM))}. Advice holds where what is advised is within"
        f" {(claims.ALIKE - 1) * 100:.0f} % of the fastest of all rungs and CUB at more than half of the sizes it is given for.",
        "",
        *table(["", "the text advises", "at the price of", "measured here", "verdict"], rows),
        "",
    ]


def briefly(machine: Machine, found: list[Topic]) -> str:
    """The front's one line: what to take for each topic's headline."""
    told = []
    for topic in found:
        problem = compare.main_problem(machine, topic)
        if topic.name not in topics.STUDIES and problem and problem.mode == "cold" and (taken := steps(machine, problem, ANY)):
            told.append(f"{text(charts.describe(problem._replace(mode='')))}: {chain(machine, taken)}")
    return "; ".join(told)


def contents(page: Page) -> list[str]:
    return [*decisions(page), *advice(page)]
