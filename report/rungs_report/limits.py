"""How far from the limit: per cent of the measured ceiling over n, from the launch floor on the left to the memory's on the right."""

from rungs_report import charts, compare, histograms, topics, words
from rungs_report.data import Cell, Machine
from rungs_report.page import Page, fold
from rungs_report.topics import Topic
from rungs_report.words import spaced, table, text

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


def nearest(page: Page, problem: Cell) -> list[list[str]]:
    machine, rows = page.machine, []
    for cell in compare.sizes(machine, problem):
        best = compare.best(machine, cell)
        if best is None or best.percent_of_ceiling is None:
            continue
        cub = compare.fastest_cub(machine, cell)
        rows.append(
            [
                words.size(cell.items),
                words.time(compare.ceiling_time(machine, cell)),
                words.percent(compare.floor_share(machine, cell)),
                page.label(best.variant),
                words.percent(best.percent_of_ceiling),
                words.percent(compare.figure(machine, cell, cub[0], "percent_of_ceiling") if cub else None),
            ]
        )
    return rows


def farthest(machine: Machine, problem: Cell) -> str:
    """In a sentence: from where on the best rung is near the ceiling, and CUB."""
    shares = {}
    for cell in compare.sizes(machine, problem):
        best, cub = compare.best(machine, cell), compare.fastest_cub(machine, cell)
        if best and best.percent_of_ceiling is not None:
            theirs = compare.figure(machine, cell, cub[0], "percent_of_ceiling") if cub else None
            shares[cell.items] = (best.percent_of_ceiling, theirs)
    if not shares:
        return ""
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
        cub = compare.fastest_cub(machine, last.cell)
        theirs = f" ({compare.main_cub(machine)}: {words.percent(compare.figure(machine, last.cell, cub[0], 'percent_of_ceiling'))})" if cub else ""
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
            rows = nearest(page, problem)
            if not rows:
                continue
            said = farthest(machine, problem)
            drawn += spaced(f"### {text(charts.describe(problem))}", f"{said[:1].upper()}{said[1:]}.")
            several = f"{problem.operation}_{problem.input_type}_{problem.shape}".replace("=", "_").strip("_")
            drawn += page.drawn(charts.limit, problem, several)
            shown = spaced(
                table([">n", ">the ceiling's time", ">a launch's share of it", "best rung", ">% of ceiling", f">{compare.main_cub(machine)}, % of ceiling"], rows),
            )
            drawn += shown if problem == compare.main_problem(machine, topic) else fold("the table over n", shown)
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
