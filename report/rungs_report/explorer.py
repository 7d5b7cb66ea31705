"""The site's index.html: one page that opens from disk, with the answers, the charts behind them, and every measurement to filter, zoom and sort.

What stands on it was concluded in Python as on every page; the script only shows it. A row here is a variant at a problem, over
all runs: its time from the runs with the main CCCL, its speed-up the one over the better CUB.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from rungs_report import charts, compare
from rungs_report.answers import Answer
from rungs_report.charts import Chart, Style
from rungs_report.data import Cell, Machine, Variant

ASSETS = Path(__file__).with_name("assets")
VERDICTS = ("", "FASTER", "SAME", "SLOWER", "AMBIGUOUS")
EMPTY = "none"  # a select's word for a problem without shape
WORDS = {
    EMPTY: "–", "cold": "cold: from memory", "warm": "warm: maybe from L2", "graph": "graph: a call in a captured graph",
    "dirty": "dirty: caches flushed by writing", "host": "host: on the CPU", "reduce": "reduction", "atomics": "atomics (study)",
}  # fmt: skip


# What the reader chooses by, and its name on the page.
FILTERS = (
    ("machine", "machine"), ("operation", "operation"), ("kind", "type and operator"), ("shape", "shape"), ("distribution", "distribution"),
    ("mode", "mode"), ("n", "n, in the table"),
)  # fmt: skip
MEASURES = (("speedup", "speed-up over CUB"), ("percent", "% of the ceiling"), ("rate", "GB/s"), ("time", "time"))
BOXES = (("ours", "ours"), ("cub", "CUB"), ("libraries", "other libraries"), ("shapes", "launch shapes"))


def rounded(value: float | None) -> float | None:
    """Four digits are more than is shown."""
    return None if value is None else float(f"{value:.4g}")


def kind(variant: Variant) -> str:
    if variant.ladder == compare.SWEEP_OF_LAUNCHES:
        return "shapes"
    return "cub" if compare.is_cub(variant) else "libraries" if variant.family == compare.YARDSTICKS else "ours"


def types(problem: Cell) -> str:
    named = [each for each in (problem.input_type, problem.accumulator_type, problem.output_type) if each]
    return f"{' to '.join(dict.fromkeys(named))} {problem.operator}".strip()


MODES = ("cold", "graph", "warm", "dirty", "host")


def in_order(machine: Machine) -> list[Cell]:
    """The problems as a reader chooses among them: by operation and mode, the headlines and the most measured first."""

    def place(problem: Cell) -> tuple[Any, ...]:
        of = problem.operation
        by_operation = (of != "reduce", "scan" not in of, "histogram" not in of)
        return (by_operation, MODES.index(problem.mode), not compare.is_headline(problem), -len(machine.sweeps[problem]), problem)

    return sorted((problem for problem, cells in machine.sweeps.items() if machine.is_problem(cells[0])), key=place)


def row(machine: Machine, cell: Cell, variant: Variant) -> dict[str, Any]:
    ratio = compare.told(machine, cell).get(variant)

    def figure(column: str) -> float | None:
        return rounded(compare.figure(machine, cell, variant, column))

    return {
        "items": cell.items,
        "time": figure("median_us"),
        "rate": figure("gb_per_s"),
        "percent": figure("percent_of_ceiling"),
        "speedup": rounded(ratio.value) if ratio else None,
        "low": rounded(ratio.low) if ratio else None,
        "high": rounded(ratio.high) if ratio else None,
        "verdict": VERDICTS.index(ratio.verdict) if ratio and not compare.is_cub(variant) else 0,
        "error": figure("error"),
        "repeats": int(all(row.repeatable == "yes" for _, row in machine.rows(cell, variant))),
    }


def collected(machines: Iterable[Machine], looks: dict[Variant, Style]) -> dict[str, Any]:
    """Everything the script shows: names once, rows as columns."""
    told: dict[str, str] = dict(WORDS)
    problems: list[dict[str, str]] = []
    variants: list[dict[str, str]] = []
    rows: list[dict[str, Any]] = []
    for machine in machines:
        told[machine.gpu] = machine.name
        known: dict[Variant, int] = {}
        timed = {variant for run in machine.runs for rows_of in run.cells.values() for variant in rows_of}
        for variant, entry in machine.variants.items():
            if variant not in timed:
                continue
            look = looks[variant]
            dash = "" if look.dash == (1, 0) else " ".join(map(str, look.dash))
            known[variant] = len(variants)
            named = {"name": machine.labels[variant], "kind": kind(variant), "idea": str(entry.get("idea") or "")}
            variants.append({**named, "colour": look.colour, "mark": look.mark, "dash": dash})
        for problem in in_order(machine):
            for name in (problem.operation, problem.distribution):
                told.setdefault(name, charts.distribution(name))
            if problem.shape:
                told.setdefault(problem.shape, ", ".join(f"{count:,} {name}" for name, count in problem.sizes.items()) or problem.shape)
            own = {
                "machine": machine.gpu,
                "operation": problem.operation,
                "kind": types(problem),
                "shape": problem.shape or EMPTY,
                "distribution": problem.distribution or EMPTY,
                "mode": problem.mode,
                "says": f"{charts.describe(problem)} on {machine.name}",
            }
            for cell in compare.sizes(machine, problem):
                for variant in compare.contenders(machine, cell):
                    rows.append({"problem": len(problems), "variant": known[variant], **row(machine, cell, variant)})
            problems.append(own)
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    return {"words": told, "verdicts": VERDICTS, "problems": problems, "variants": variants, "rows": columns}


def marked(line: str) -> Markup:
    """Code spans and escapes of our own Markdown as HTML; the text in them has been escaped for HTML already."""
    plain = re.sub(r"\\([\\`*_\[\]|~$])", r"\1", line)
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", plain))


@dataclass(frozen=True)
class Section:
    """One machine's answers, in order, and the charts they stand on."""

    machine: Machine
    answers: list[Answer]
    drawn: list[tuple[Chart, str]]
    tables: list[str]  # names of its pages on the site
    links: str  # from the site to the committed pages

    def figures(self, named: str) -> list[tuple[str, Markup]]:
        """Titles and SVGs within HTML: ids apart from those of other machines' charts, and nothing that looks like an address."""
        found = []
        for chart, drawn in self.drawn:
            if named and chart.name.startswith(named):
                plain = re.sub(r'\sxmlns="[^"]*"', "", drawn)
                own = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{self.machine.gpu}_{chart.name}_", plain)
                found.append((chart.title, Markup(own)))
        return found


def page(machines: list[Machine], looks: dict[Variant, Style], sections: list[Section], generated: str) -> str:
    told = json.dumps(collected(machines, looks), sort_keys=True, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    style, script = (Markup((ASSETS / name).read_text(encoding="utf-8")) for name in ("explorer.css", "explorer.js"))
    environment = Environment(loader=FileSystemLoader(ASSETS), autoescape=True, trim_blocks=True, keep_trailing_newline=True)
    environment.filters["marked"] = marked
    return environment.get_template("explorer.html").render(
        generated=Markup(generated),
        style=style,
        script=script,
        told=Markup(told),
        sections=sections,
        filters=FILTERS,
        measures=MEASURES,
        boxes=BOXES,
    )
