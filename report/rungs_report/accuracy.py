"""Error against speed: what accuracy and repeatable bits cost, and what nothing else beats in both."""

from typing import Any

from rungs_report import charts, compare, words
from rungs_report.circumstances import FLOATS
from rungs_report.data import Cell, Machine, Variant
from rungs_report.page import Page, fold, over_cub
from rungs_report.sweeps import few
from rungs_report.words import code, columns, spaced, table, text


FASTEST, STEADY, EXACT, BOTH = "nothing more", "the same bits every time", "the least error", "the least error that is promised to repeat"
PLAIN = "the same bits every time, under CUB's workspace contract"


def errors_of(machine: Machine, cells: list[Cell], variant: Variant) -> dict[Cell, list[float]]:
    """Of all runs, in the cells where it has any."""
    found = {cell: [row.error for _, row in machine.rows(cell, variant) if row.error is not None] for cell in cells}
    return {cell: errors for cell, errors in found.items() if errors}


def points(machine: Machine, cell: Cell) -> list[dict[str, Any]]:
    """Every variant's time here, its speed-up over CUB, its worst error at the sizes up to this one at which all of them ran, whether
    it ever failed to repeat, its price, which is its time over the fastest's, and whether nothing else is at least as good in price and
    error and better in one. Prices are of speed-ups, as every other page ranks; of times where some have no speed-up."""
    smaller = [each for each in compare.sizes(machine, cell.problem) if each.items <= cell.items]
    ratios = compare.told(machine, cell)
    found = []
    # Neither a mere launch shape of another rung nor the choice of one.
    shown = [v for v in compare.contenders(machine, cell) if v.ladder != compare.SWEEP_OF_LAUNCHES and not compare.is_door(v)]
    told = {v: errors_of(machine, smaller, v) for v in shown}
    told = {variant: by_size for variant, by_size in told.items() if cell in by_size}
    shared = [each for each in smaller if all(each in by_size for by_size in told.values())]
    for variant, by_size in told.items():
        errors = [error for each in shared for error in by_size[each]]
        time = compare.figure(machine, cell, variant, "median_us")
        repeats = variant not in machine.unsteady
        found.append({"variant": variant, "time": time, "ratio": ratios.get(variant), "error": max(errors), "repeats": repeats})
    compared = all(each["ratio"] and each["ratio"].value for each in found)
    costs = [1 / each["ratio"].value if compared else each["time"] for each in found]
    for each, cost in zip(found, costs, strict=True):
        each["price"] = cost / min(costs)
    for each in found:
        own = (each["price"], each["error"])
        others = [(other["price"], other["error"]) for other in found]
        each["front"] = not any(price <= own[0] and error <= own[1] and (price, error) != own for price, error in others)
    return found


def promised(machine: Machine, each: dict[str, Any]) -> bool:
    """Says that it repeats, and was never seen otherwise."""
    return each["repeats"] and bool(machine.variants[each["variant"]].get("deterministic"))


def asked(machine: Machine, cell: Cell, found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What to take of ours and CUB by what is asked for; what nobody offers is left out."""
    cub = compare.fastest_cub(machine, cell)
    known = [each for each in found if compare.is_ours(machine, each["variant"]) or compare.is_cub(each["variant"])]
    steady = [each for each in known if promised(machine, each)]

    def cheapest(own: list[dict[str, Any]]) -> dict[str, Any] | None:
        return min(own, key=lambda each: (each["price"], each["error"]), default=None)

    def exact(own: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for each in own if each["error"] == min(other["error"] for other in own)]

    plain = [each for each in steady if compare.keeps_cubs_contract(machine, each["variant"])]
    picked = {
        FASTEST: cheapest(known), STEADY: cheapest(steady), PLAIN: cheapest(plain), EXACT: cheapest(exact(known)), BOTH: cheapest(exact(steady)),
        "CUB's fastest entry": next((each for each in known if cub and each["variant"] == cub[0]), None),
    }  # fmt: skip
    return {name: each for name, each in picked.items() if each}


def price(each: dict[str, Any], fast: dict[str, Any]) -> str:
    """How many times the fastest's time it takes."""
    return words.ratio(each["price"] / fast["price"])


def problems(page: Page) -> list[Cell]:
    """Sums of floats, cold, of every topic that has them: where rounding can be seen at all."""
    return [
        problem
        for topic in page.topics
        for problem in compare.problems(page.machine, topic, "cold")
        if problem.operator == "plus" and problem.input_type in FLOATS and topic.roof
    ]


def costs(told: dict[str, dict[str, Any]], name: str) -> str:
    """nothing, or 1.03x the time."""
    fast = told[FASTEST]
    return "nothing" if price(told[name], fast) == words.ratio(1.0) else f"{price(told[name], fast)} its time"


def sentence(page: Page, told: dict[str, dict[str, Any]]) -> str:
    """The price of what may be asked for, against the fastest of ours and CUB."""
    fast = told[FASTEST]
    said = f"The fastest of our rungs and CUB is {page.label(fast['variant'])}: {words.time(fast['time'])}"
    said += f", {over_cub(fast['ratio'])} over CUB" if fast["ratio"] else ""
    said += f", with an error of {words.number(float(fast['error']))} ulp."
    for name in (STEADY, PLAIN, EXACT):
        if name in told:
            each = told[name]
            how = "" if each is fast else f" ({page.label(each['variant'])}, {words.number(float(each['error']))} ulp)"
            said += f" {name[0].upper()}{name[1:]}{' of these' * (name is EXACT)} {'costs' if name is EXACT else 'cost'} {costs(told, name)}{how}."
    return said if STEADY in told else said + " None of them promises the same bits every time."


def contents(page: Page) -> list[str]:
    machine = page.machine
    lines: list[str] = []
    overview = []
    for problem in problems(page):
        cell = compare.ladder_cell(machine, problem)
        found = points(machine, cell)
        if len(found) < 2:
            continue
        told = asked(machine, cell, found)
        about = f"{text(charts.describe(problem))}, {words.size(cell.items)}"
        before = len(lines)
        lines += spaced(f"### {about} items")
        if told:
            prices = [costs(told, name) if name in told else words.UNKNOWN for name in (STEADY, PLAIN, EXACT, BOTH)]
            overview.append([about, page.label(told[FASTEST]["variant"]), *prices])
            lines += spaced(sentence(page, told))
            lines += priced(page, "what is asked for", list(told.items()), told[FASTEST])
        several = f"{problem.operation}_{problem.input_type}"
        lines += page.drawn(charts.pareto, (cell, found), several) if compare.is_headline(problem) else []
        ordered = sorted(found, key=lambda each: (each["price"], each["error"]))
        # By the ladder, not by what was measured: the rows keep their places when a GPU is measured again.
        steady = sorted(found, key=lambda each: machine.order[each["variant"]])
        lines += spaced("The Pareto front of all variants, what no other beats in one without losing in the other:")
        lines += priced(page, "Pareto", [("**front**", each) for each in ordered if each["front"]], ordered[0])
        lines += fold(f"Every variant: {len(found)}", priced(page, "Pareto", [("**front**" * each["front"], each) for each in steady], ordered[0]))
        if not compare.is_headline(problem):
            lines[before:] = fold(f"{about} items", lines[before:])
    if not lines:
        return []
    errors = list(dict.fromkeys(f"for {topic.name} {topic.error}" for topic in page.topics if topic.name in ("reductions", "scans")))
    about = spaced(
        f"Error: {'; '.join(errors)}; of several sizes the worst: those up to the one shown at which every variant of the table was run. Repeats: 20 runs gave the same bits in every case of every"
        " type; promised: the variant says it always will. Times the fastest: how many times the time of the fastest of its table it takes, by"
        " their speed-ups over the same CUB; that is the price. ≈: measured against another release's CUB, and carried over. There is one input a"
        " size, so errors that lie close together tell no rungs apart.",
    )
    headers = ["", "fastest", "the same bits every time cost", "these under CUB's workspace contract", "the least error costs", "the least error that is promised to repeat costs"]
    return [*about, *(spaced(table(headers, overview)) if len(overview) > 1 else []), *growth(page), *lines]


def growth(page: Page) -> list[str]:
    """The error at each n of the best rung there and of CUB: the sections below stop at one size."""
    machine, lines = page.machine, []
    for problem in problems(page):
        rows = []
        for each in compare.bests(machine, problem) if compare.is_headline(problem) else ():
            cub = compare.fastest_cub(machine, each.cell)
            entries = [(each.variant, code(machine.labels[each.variant])), *([(cub[0], code(machine.labels[cub[0]]))] if cub else [])]
            errors = [compare.figure(machine, each.cell, variant, "error") for variant, _ in entries]
            if len(entries) == 2 and None not in errors:
                told = [cell for (_, name), error in zip(entries, errors, strict=True) for cell in (name, words.number(float(error)))]
                rows.append([each.cell.items, words.size(each.cell.items), *told])
        shown = few({row[0] for row in rows})
        if rows := [row[1:] for row in rows if row[0] in shown]:
            lines += spaced(f"### {text(charts.describe(problem))}: the error at each n")
            lines += spaced(table([">n", "best rung", ">its error (ulp)", "CUB's fastest entry", ">its error (ulp)"], rows))
    return lines


def priced(page: Page, first: str, named: list[tuple[str, dict[str, Any]]], fast: dict[str, Any]) -> list[str]:
    told = {
        first: lambda named: named[0],
        "variant": lambda named: page.label(named[1]["variant"]),
        ">time": lambda named: words.time(named[1]["time"]),
        f">{compare.over_main(page.machine)}": lambda named: over_cub(named[1]["ratio"]),
        ">times the fastest": lambda named: price(named[1], fast),
        ">error (ulp)": lambda named: words.number(float(named[1]["error"])),
        "repeats": lambda named: words.yes_no(named[1]["repeats"]),
        "promised": lambda named: words.yes_no(page.machine.variants[named[1]["variant"]].get("deterministic")),
    }
    return spaced(columns(named, told))


def briefly(page: Page) -> str:
    """The front's lines, one a topic: the fastest at the headline's size, what repeats, what errs least, and their price."""
    said = []
    for operation in ("reduce", "inclusive_scan"):
        problem = next((each for each in problems(page) if each.operation == operation), None)
        cell = compare.ladder_cell(page.machine, problem) if problem else None
        picked = asked(page.machine, cell, points(page.machine, cell)) if cell else {}
        if not cell or STEADY not in picked:
            continue
        fast, sure = picked[FASTEST], picked[STEADY]
        told = f"{text(charts.describe(cell.problem))}, {words.size(cell.items)}: the fastest is {page.label(fast['variant'])}, {words.time(fast['time'])} with an error of {words.number(float(fast['error']))} ulp"
        if fast is sure:
            said.append(told + ", and it repeats bit for bit")
        else:
            said.append(
                f"{told}, the same bits every time cost {costs(picked, STEADY)} ({page.label(sure['variant'])}, {words.number(float(sure['error']))} ulp)"
            )
    return "; ".join(said)
