"""How far from the limit: per cent of the measured ceiling over n, from the launch floor on the left to the memory's on the right."""

from rungs_report import charts, compare, histograms, topics, words
from rungs_report.data import Cell, Machine
from rungs_report.page import Page, fold
from rungs_report.topics import Topic
from rungs_report.words import columns, spaced, text

NEAR_LIMIT = 90.0


def problems(machine: Machine, topic: Topic) -> list[Cell]:
    """What is charted: a topic's headline, of histograms each swept kind of samples and bins; and sums whose scans widen, where
    a roof that does was measured."""
    if topic.name == topics.HISTOGRAMS:
        return histograms.heads(machine, "cold", histograms.LADDERS)
    cold = compare.problems(machine, topic, "cold")
    heads = [problem for problem in cold if compare.is_headline(problem)]
    widening = [problem for problem in cold if problem.operator == "plus" and compare.widens(problem)] if machine.widens else []
    return (heads or cold[:1]) + [problem for problem in widening if problem not in cold[:1]]


def cubs_share(machine: Machine, cell: Cell) -> float | None:
    cub = compare.fastest_cub(machine, cell)
    return compare.figure(machine, cell, cub[0], "percent_of_ceiling") if cub else None


def nearest(page: Page, problem: Cell) -> list[str]:
    machine = page.machine
    bests = [best for best in compare.bests(machine, problem) if best.percent_of_ceiling is not None]
    told = {
        ">n": lambda best: words.size(best.cell.items),
        ">the ceiling's time": lambda best: words.time(compare.ceiling_time(machine, best.cell)),
        ">a launch's share of it": lambda best: words.percent(compare.floor_share(machine, best.cell)),
        "best rung": lambda best: page.label(best.variant),
        ">% of ceiling": lambda best: words.percent(best.percent_of_ceiling),
        f">{compare.main_cub(machine)}, % of ceiling": lambda best: words.percent(cubs_share(machine, best.cell)),
    }
    return columns(bests, told)


def farthest(machine: Machine, problem: Cell) -> str:
    """In a sentence: from where on the best rung is near the ceiling, and CUB."""
    bests = [best for best in compare.bests(machine, problem) if best.percent_of_ceiling is not None]
    shares = {best.cell.items: (best.percent_of_ceiling, cubs_share(machine, best.cell)) for best in bests}
    said = []
    for who, position in (("the best rung", 0), (compare.main_cub(machine), 1)):
        known = [(n, each[position]) for n, each in shares.items() if each[position] is not None]
        if not known:
            continue
        beyond = len(known)
        while beyond and known[beyond - 1][1] >= NEAR_LIMIT:
            beyond -= 1
        if beyond < len(known):
            said.append(f"{who} stays above {NEAR_LIMIT:.0f} % from {words.size(known[beyond][0])} on")
        else:
            n, share = known[-1]
            said.append(f"{who} ends at {words.percent(share)} at {words.size(n)}")
    least, (share, _) = min(shares.items(), key=lambda item: item[1][0])
    return f"{words.listed(said)}; farthest from it is {words.size(least)}, where the best rung reaches {words.percent(share)}"


def briefly(page: Page) -> str:
    """The front's one line: the right end of each headline, and its worst place."""
    machine, told = page.machine, []
    for topic in page.topics:
        problem = compare.main_problem(machine, topic)
        bests = [each for each in compare.bests(machine, problem) if each.percent_of_ceiling is not None] if topic.roof and problem else []
        if not bests or not problem or problem.mode != "cold":
            continue
        last, worst = bests[-1], min(bests, key=lambda each: each.percent_of_ceiling)
        theirs = f" ({compare.main_cub(machine)}: {words.percent(cubs_share(machine, last.cell))})" if compare.fastest_cub(machine, last.cell) else ""
        told.append(
            f"{text(charts.describe(problem._replace(mode='')))}: {words.percent(last.percent_of_ceiling)} of the ceiling at"
            f" {words.size(last.cell.items)}{theirs}, at worst {words.percent(worst.percent_of_ceiling)} at {words.size(worst.cell.items)}"
        )
    return "; ".join(told)


def contents(page: Page) -> list[str]:
    machine = page.machine
    lines: list[str] = []
    for topic in page.topics:
        drawn: list[str] = []
        for problem in problems(machine, topic) if topic.roof else []:
            if not (shown := nearest(page, problem)):
                continue
            said = farthest(machine, problem)
            drawn += spaced(f"### {text(charts.describe(problem))}", f"{said[:1].upper()}{said[1:]}.")
            drawn += page.drawn(charts.limit, problem, f"{problem.operation}_{problem.input_type}_{problem.shape}".replace("=", "_").strip("_"))
            drawn += spaced(shown) if problem == compare.main_problem(machine, topic) else fold("the table over n", shown)
        if drawn:
            lines += spaced(f"The ceiling is {topic.roof}.", drawn)
    if not lines:
        return []
    about = spaced(
        "The ceiling was measured at the same footprint in the same process, so 100 % is what this GPU did, not a datasheet. At the left nothing"
        " can be faster than a launch: the grey area is an empty kernel's share of the ceiling's time. At the right nothing can be faster"
        " than the memory. Every variant is a line; coloured are CUB and what wins somewhere.",
    )
    return [*about, *lines]
