"""Error against speed: what accuracy and repeatable bits cost, and what nothing else beats in both."""

from typing import Any

from rungs_report import charts, compare, words
from rungs_report.circumstances import FLOATS
from rungs_report.data import Cell, Machine
from rungs_report.page import Page
from rungs_report.words import table, text


def points(machine: Machine, cell: Cell) -> list[dict[str, Any]]:
    """Every variant's time here, its worst error at any size up to this one, whether it ever failed to repeat, and whether
    nothing else is at least as good in both and better in one."""
    smaller = [each for each in compare.sizes(machine, cell.problem) if each.items <= cell.items]
    found = []
    for variant in compare.contenders(machine, cell):
        errors = [row.error for each in smaller for _, row in machine.rows(each, variant) if row.error is not None]
        if variant.ladder == compare.SWEEP_OF_LAUNCHES or not errors:
            continue
        time = compare.figure(machine, cell, variant, "median_us")
        found.append({"variant": variant, "time": time, "error": max(errors), "repeats": variant not in machine.unsteady})
    for each in found:
        each["front"] = not any(
            other["time"] <= each["time"] and other["error"] <= each["error"] and (other["time"], other["error"]) != (each["time"], each["error"])
            for other in found
        )
    return found


def problems(page: Page) -> list[Cell]:
    """Sums of floats, cold, of every topic that has them: where rounding can be seen at all."""
    return [
        problem
        for topic in page.topics
        for problem in compare.problems(page.machine, topic, "cold")
        if problem.operator == "plus" and problem.input_type in FLOATS and topic.roof
    ]


def contents(page: Page) -> list[str]:
    machine = page.machine
    lines: list[str] = []
    for problem in problems(page):
        cell = compare.ladder_cell(machine, problem)
        found = points(machine, cell) if cell else []
        if cell is None or len(found) < 2:
            continue
        lines += [f"## {text(charts.describe(problem))}, {words.size(cell.items)} items", ""]
        several = f"{problem.operation}_{problem.input_type}"
        lines += page.drawn(charts.pareto, (cell, found), several) if compare.is_headline(problem) else []
        rows = []
        for each in sorted(found, key=lambda each: (each["time"], each["error"])):
            rows.append(
                [
                    page.label(each["variant"]),
                    words.time(each["time"]),
                    words.number(float(each["error"])),
                    words.yes_no(each["repeats"]),
                    words.yes_no(machine.variants[each["variant"]].get("deterministic")),
                    "**front**" if each["front"] else "",
                ]
            )
        lines += [*table(["variant", ">time", ">error (ulp)", "repeats", "promised", "Pareto"], rows), ""]
    if not lines:
        return []
    errors = list(dict.fromkeys(f"for {topic.name} {topic.error}" for topic in page.topics if topic.name in ("reductions", "scans")))
    about = [
        f"Error: {'; '.join(errors)}; the worst at any size up to the one shown. Repeats: 20 runs gave the same bits in every case of every"
        " type; promised: the variant says it always will. On the front is what no other variant beats in one without losing in the other.",
        "",
    ]
    return [*about, *lines]


def briefly(page: Page) -> str:
    """The front's one line: the fastest at the headline's size, what repeats, what errs least."""
    for problem in problems(page)[:1]:
        cell = compare.ladder_cell(page.machine, problem)
        found = [each for each in points(page.machine, cell) if compare.is_ours(page.machine, each["variant"]) or compare.is_cub(each["variant"])] if cell else []
        steady = [each for each in found if each["repeats"] and page.machine.variants[each["variant"]].get("deterministic")]
        if not found or not steady:
            return ""
        fast, sure = (min(own, key=lambda each: (each["time"], each["error"])) for own in (found, steady))
        told = f"{text(charts.describe(cell.problem))}, {words.size(cell.items)}: the fastest is {page.label(fast['variant'])}, {words.time(fast['time'])} with an error of {words.number(float(fast['error']))} ulp"
        if fast is sure:
            return told + ", and it repeats bit for bit"
        return told + f"; the fastest that repeats is {page.label(sure['variant'])}, {words.time(sure['time'])}, {words.number(float(sure['error']))} ulp"
    return ""
