"""The ladder at one size: what each rung costs, gains, asks for and changes against the one before."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from rungs_report import charts, compare, diffs, reasons, words
from rungs_report.data import Cell, Machine, Variant
from rungs_report.page import Page, fold, interval, over_each, over_headers, verdict
from rungs_report.words import code, columns, section, spaced, text

TOO_LONG = re.compile(r"one sample takes ([\d.]+) (µs|us|ms|s) at ")  # why the benchmark leaves a rung out, and what it would take
MICROSECONDS = {"µs": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6}
FORETOLD = "≈: not run at this size, where a sample takes longer than the benchmark's limit; its estimate, as a rule from a smaller size."
FAMILIES = ("handwritten", "cluster", compare.YARDSTICKS)


def ladder_groups(page: Page, cell: Cell) -> dict[tuple[str, str], list[Variant]]:
    """The cell's contenders by family and ladder, hand-written first, yardsticks last, each in ladder order."""
    return by_ladder(compare.contenders(page.machine, cell))


def by_ladder(variants: Iterable[Variant]) -> dict[tuple[str, str], list[Variant]]:
    groups = words.grouped((variant for variant in variants if variant.ladder != compare.SWEEP_OF_LAUNCHES), lambda variant: variant[:2])
    return dict(sorted(groups.items(), key=lambda item: (FAMILIES.index(item[0][0]), item[0][1])))


def before(page: Page, cell: Cell, variant: Variant) -> Variant | None:
    """The rung before this one on its ladder, of those measured in the cell; yardsticks are no ladder."""
    if variant.family == compare.YARDSTICKS:
        return None
    ladder = [each for each in compare.contenders(page.machine, cell) if each[:2] == variant[:2]]
    position = ladder.index(variant)
    return ladder[position - 1] if position else None


def edge(page: Page, cell: Cell, variant: Variant, foretold: dict[Variant, float]) -> list[str]:
    """The rung that the source compares a rung with, which is an edge of the ladder's tree, and the gain along it."""
    named, reason = reasons.of(page.root, page.machine, cell, variant)
    if named:
        return [page.label(named), words.ratio(compare.within_runs(page.machine, cell, named, variant))]
    if reason is None:
        return [words.UNKNOWN, words.UNKNOWN]
    long = next((time for each, time in foretold.items() if each.rung == reason.against), None)
    here = compare.figure(page.machine, cell, variant, "median_us")
    return [code(reason.against), f"≈{words.ratio(long / here)}" if long and here else words.UNKNOWN]


def details(page: Page, cell: Cell, variants: list[Variant]) -> list[str]:
    """What each asks for and what it answers with, folded."""
    machine = page.machine

    def workspace(variant: Variant) -> str:
        found = words.median(row.workspace_bytes for _, row in machine.rows(cell, variant))
        return words.byte_size(None if found is None else int(found))

    told = {
        "rung": page.label,
        ">error (ulp)": lambda variant: words.number(compare.figure(machine, cell, variant, "error")),
        "repeatable": lambda variant: machine.rows(cell, variant)[-1][1].repeatable,
        ">kernels": lambda variant: words.number(machine.rows(cell, variant)[-1][1].kernels),
        ">workspace": workspace,
        "contract": lambda variant: machine.rows(cell, variant)[-1][1].workspace_contract.replace("_", " "),
        "waits for host": lambda variant: words.yes_no(machine.variants[variant].get("waits_for_host")),
        "progress": lambda variant: text(machine.variants[variant].get("progress") or words.UNKNOWN),
        ">block": lambda variant: words.number(machine.variants[variant].get("block_threads") or None),
        ">items a thread": lambda variant: words.number(machine.variants[variant].get("items_per_thread") or None),
    }
    return fold("What each asks for and what it answers with", columns(variants, told))


def ladder_title(family: str, name: str) -> str:
    return "Library baselines" if family == compare.YARDSTICKS else f"{text(family.capitalize())}: {text(name)}"


TOLD = ("operation", "operator", "input_type", "items", "mode")  # what every file tells of what it left out


@cache
def skipped(machine: Machine) -> dict[tuple[Any, ...], list[tuple[Variant, dict[str, Any]]]]:
    """What the benchmark left out, by what is told of it."""
    return words.grouped((each for run in machine.runs for each in run.skipped), lambda each: tuple(map(each[1].get, TOLD)))


def left_out(machine: Machine, cell: Cell, family: str, ladder_name: str) -> dict[Variant, str]:
    """The rungs of a ladder that the benchmark left out at this cell, and why; the newest run's word counts. Older files tell neither
    shape nor distribution of what they left out."""
    return {
        variant._replace(ladder=ladder_name): entry["reason"]
        for variant, entry in skipped(machine).get(tuple(getattr(cell, name) for name in TOLD), [])
        if variant.family == family
        and (variant.ladder == ladder_name or not variant.ladder)
        and all(entry.get(k, getattr(cell, k)) == getattr(cell, k) for k in ("shape", "distribution"))
    }


def estimates(machine: Machine, cell: Cell, family: str, ladder_name: str) -> dict[Variant, float]:
    """Of those that would take too long: how many µs, as the benchmark estimated."""
    found = {}
    for variant, reason in left_out(machine, cell, family, ladder_name).items():
        match = TOO_LONG.match(reason)
        if match and variant in machine.variants and not machine.rows(cell, variant):
            found[variant] = float(match[1]) * MICROSECONDS[match[2]]
    return found


def stopped(machine: Machine, cell: Cell, family: str, ladder_name: str) -> list[str]:
    """All others that were left out, and why."""
    shown = estimates(machine, cell, family, ladder_name)
    return sorted(f"{code(variant.rung)} ({text(reason)})" for variant, reason in left_out(machine, cell, family, ladder_name).items() if variant not in shown)


def ladder(page: Page) -> list[str]:
    machine = page.machine
    cell = compare.ladder_cell(machine, page.main)
    lines = spaced(f"## The ladder: {text(charts.describe(page.main))}, {words.size(cell.items)} items")
    if machine.device and cell.items != compare.LADDER_ITEMS:
        lines += spaced("16 Mi items were not measured; this is the size at which most rungs were.")
    lines += page.drawn(charts.ladder, cell)
    compared = any(compare.ratios(machine, cell, variant) for variant in compare.contenders(machine, cell))
    for (family, name), variants in ladder_groups(page, cell).items():
        climbing = family != compare.YARDSTICKS and not name.startswith(compare.FRONT_DOOR)
        foretold = estimates(machine, cell, family, name)

        def take(variant: Variant, column: str) -> float | None:
            return compare.figure(machine, cell, variant, column)

        figures = {">GB/s": lambda v: words.number(take(v, "gb_per_s"))}
        if machine.device:
            figures[">% of ceiling"] = lambda v: words.percent(take(v, "percent_of_ceiling"))
        for at, header in enumerate(("against", ">gain") if climbing else ()):
            figures[header] = lambda v, at=at: edge(page, cell, v, foretold)[at]
        for at, header in enumerate(over_headers(machine) if compared else ()):
            figures[header] = lambda v, at=at: over_each(machine, compare.over(machine, cell, v))[at]
        if compared:
            figures["interval"] = lambda v: interval(compare.headline(machine, cell, v))
            figures["verdict"] = lambda v: "" if compare.is_cub(v) else verdict(compare.headline(machine, cell, v))
        told = {"rung": page.label, "idea": lambda v: text(machine.variants[v]["idea"])}
        told[">time"] = lambda v: f"≈{words.time(foretold[v])}" if v in foretold else words.time(take(v, "median_us"))
        told |= {header: lambda v, tell=tell: words.UNKNOWN if v in foretold else tell(v) for header, tell in figures.items()}
        shown = columns(sorted([*variants, *foretold], key=machine.order.__getitem__), told)
        lines += spaced(f"### {ladder_title(family, name)}", shown)
        if foretold:
            lines += spaced(FORETOLD)
        lines += details(page, cell, variants)
        if named := stopped(machine, cell, family, name):
            lines += spaced(f"Not run at this size: {words.listed(named)}.")
    roof = f"The ceiling is {page.topic.roof}. " * bool(machine.device)
    gain = (
        "A gain is the time of the rung that a rung's source compares it with (against) over its own, within a run; it may come with another launch"
        " shape as well as another idea. "
    )
    return spaced(lines, f"{roof}{gain * compared}Error is {page.topic.error}.")


def anchor(variant: Variant) -> str:
    """Where a rung's diff is on its topic's page."""
    return f"diff-{variant.family}-{variant.ladder}-{variant.rung}"


def lessons(page: Page) -> list[str]:
    """Each rung's change against the one before, beside what it gained. Neighbours on the ladder are neighbours here, even
    where one of them was too slow to be run at this size."""
    machine = page.machine
    cell = compare.ladder_cell(machine, page.main)
    if not machine.device:
        return []
    measured = {v for run in machine.runs for c, rows in run.cells.items() if c.operation in page.topic.operations for v in rows}
    lines: list[str] = []
    for variants in by_ladder(v for v in machine.variants if v in measured and v.family != compare.YARDSTICKS).values():
        for previous, variant in zip(variants, variants[1:], strict=False):
            old, new = (machine.variants[each]["source"] for each in (previous, variant))
            gained = compare.within_runs(machine, cell, previous, variant)
            won = "not both run at this size" if gained is None else words.ratio(gained)
            diff = diffs.between(page.root, old, new)
            if diff is None:
                absent = [name for name in (old, new) if diffs.source(page.root, name) is None]
                lines += spaced(
                    f"{page.label(variant)} after {page.label(previous)}: {won}; no diff, for {words.listed([code(a) for a in absent])} is not in the tree.",
                )
            else:
                after = " after ".join(f"<code>{words.html(machine.labels[each])}</code>" for each in (variant, previous))
                lines += spaced(f'<a id="{anchor(variant)}"></a>', fold(f"{after}: {won}, {diffs.changed(diff)}", diffs.block(diff)))
    return section(
        "## What each rung changed, and what that gained",
        f"The diff of each rung's file against the one before; the gain is the one at {words.size(cell.items)} items.",
        lines,
    )
