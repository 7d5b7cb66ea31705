"""The site's index.html: one page that opens from disk, with the answers, the charts behind them, and every measurement to filter, zoom and sort.

What stands on it was concluded in Python as on every page; the script only shows it. A row here is a variant at a problem, over
all runs: its time from the runs with the main CCCL, its speed-up the one over the better CUB.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rungs_report import charts, compare, words
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


def collected(machines: Iterable[Machine], looks: dict[Variant, Style]) -> dict[str, Any]:
    """Everything the script shows: names once, rows as columns."""
    told: dict[str, str] = dict(WORDS)
    problems: list[dict[str, str]] = []
    variants: list[dict[str, str]] = []
    columns: dict[str, list[Any]] = {
        name: [] for name in ("problem", "variant", "items", "time", "rate", "percent", "speedup", "low", "high", "verdict", "error", "repeats")
    }
    for machine in machines:
        told[machine.gpu] = machine.name
        known: dict[Variant, int] = {}
        timed = {variant for run in machine.runs for rows in run.cells.values() for variant in rows}
        for variant, entry in machine.variants.items():
            if variant not in timed:
                continue
            look = looks[variant]
            dash = "" if look.dash == (1, 0) else " ".join(map(str, look.dash))
            known[variant] = len(variants)
            named = {"name": machine.labels[variant], "kind": kind(variant), "idea": str(entry.get("idea") or "")}
            variants.append({**named, "colour": look.colour, "mark": look.mark, "dash": dash})
        order = [
            problem
            for topic_mode in ("cold", "graph", "warm", "dirty", "host")
            for problem in sorted(machine.sweeps, key=lambda p: (not compare.is_headline(p), -len(machine.sweeps[p]), p))
            if problem.mode == topic_mode and machine.is_problem(machine.sweeps[problem][0])
        ]
        order.sort(key=lambda problem: (problem.operation != "reduce", "scan" not in problem.operation, "histogram" not in problem.operation))
        for problem in order:
            for name in (problem.operation, problem.distribution):
                told.setdefault(name, charts.distribution(name))
            if problem.shape:
                told.setdefault(problem.shape, ", ".join(f"{count:,} {name}" for name, count in problem.sizes.items()) or problem.shape)
            problems.append(
                {
                    "machine": machine.gpu,
                    "operation": problem.operation,
                    "kind": types(problem),
                    "shape": problem.shape or EMPTY,
                    "distribution": problem.distribution or EMPTY,
                    "mode": problem.mode,
                    "says": f"{charts.describe(problem)} on {machine.name}",
                }
            )
            for cell in compare.sizes(machine, problem):
                ratios = compare.told(machine, cell)
                for variant in compare.contenders(machine, cell):
                    ratio = ratios.get(variant)
                    values = {
                        "problem": len(problems) - 1,
                        "variant": known[variant],
                        "items": cell.items,
                        "time": rounded(compare.figure(machine, cell, variant, "median_us")),
                        "rate": rounded(compare.figure(machine, cell, variant, "gb_per_s")),
                        "percent": rounded(compare.figure(machine, cell, variant, "percent_of_ceiling")),
                        "speedup": rounded(ratio.value) if ratio else None,
                        "low": rounded(ratio.low) if ratio else None,
                        "high": rounded(ratio.high) if ratio else None,
                        "verdict": VERDICTS.index(ratio.verdict) if ratio and not compare.is_cub(variant) else 0,
                        "error": rounded(compare.figure(machine, cell, variant, "error")),
                        "repeats": int(all(row.repeatable == "yes" for _, row in machine.rows(cell, variant))),
                    }
                    for name, value in values.items():
                        columns[name].append(value)
    return {"words": told, "verdicts": VERDICTS, "problems": problems, "variants": variants, "rows": columns}


def inline(chart: Chart, drawn: str, prefix: str, opened: bool) -> str:
    """An SVG within HTML: ids apart from those of other machines' charts, and nothing that looks like an address."""
    drawn = re.sub(r'\sxmlns="[^"]*"', "", drawn)
    drawn = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{prefix}{chart.name}_", drawn)
    more = " open" if opened else ""
    return f'<details class="chart"{more}><summary>{words.html(chart.title)}</summary>{drawn}</details>'


def marked(line: str) -> str:
    """Code spans and escapes of our own Markdown as HTML; the text in them has been escaped for HTML already."""
    plain = re.sub(r"\\([\\`*_\[\]|~$])", r"\1", line)
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", plain)


def of_machine(machine: Machine, answers: list[Answer], drawn: list[tuple[Chart, str]], tables: Iterable[str], links: str) -> str:
    """One machine's answers, in order, and the charts they stand on. tables: its pages on the site. links: from the site to the committed pages."""
    told = []
    for question, answer, stands, named_charts in answers:
        named = [f'<a href="{words.html(f"{links}{machine.gpu}/{link}")}">{words.html(label or question)}</a>' for label, link in stands]
        asked = named[0] if [label for label, _ in stands] == [""] else " ".join([words.html(question), *named])
        parts = answer.split("; ")
        said = marked(answer) if len(parts) == 1 else "<ul>" + "".join(f"<li>{marked(part)}</li>" for part in parts) + "</ul>"
        own = [each for each in drawn if named_charts and each[0].name.startswith(named_charts)]
        figures = [inline(*each, f"{machine.gpu}_", each is own[0]) for each in own]
        told.append(f"<dt>{asked}</dt><dd>{said}{''.join(figures)}</dd>")
    runs = "; ".join(
        f"<code>{words.html(run.name)}</code>, CCCL {words.html(run.cccl)}" + "".join(f", {words.html(b)}" for b in run.context["banners"])
        for run in machine.runs
    )
    more = ", ".join(f'<a href="{words.html(f"{machine.gpu}/{name}")}">{words.html(name)}</a>' for name in tables)
    gpu, pages = words.html(machine.gpu), words.html(f"{links}{machine.gpu}/index.md")
    return f"""<section>
<h2>{words.html(machine.name)}</h2>
<p class="note">{runs}. <a href="{pages}">Pages</a>; more tables: {more}; every row: <a href="{gpu}/results.csv">results.csv</a>.</p>
<dl class="answers">{"".join(told)}</dl>
</section>"""


def page(machines: list[Machine], looks: dict[Variant, Style], sections: list[str], generated: str) -> str:
    told = json.dumps(collected(machines, looks), sort_keys=True, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    style, script = ((ASSETS / name).read_text(encoding="utf-8") for name in ("explorer.css", "explorer.js"))

    def select(name: str, says: str) -> str:
        return f'<label>{says}<select id="{name}"></select></label>'

    filters = "".join(
        select(*each)
        for each in (
            ("machine", "machine"), ("operation", "operation"), ("kind", "type and operator"), ("shape", "shape"),
            ("distribution", "distribution"), ("mode", "mode"), ("n", "n, in the table"),
        )
    )  # fmt: skip
    measures = "".join(
        f'<option value="{value}">{says}</option>'
        for value, says in (("speedup", "speed-up over CUB"), ("percent", "% of the ceiling"), ("rate", "GB/s"), ("time", "time"))
    )
    boxes = "".join(
        f'<label class="box"><input type="checkbox" id="{name}">{says}</label>'
        for name, says in (("ours", "ours"), ("cub", "CUB"), ("libraries", "other libraries"), ("shapes", "launch shapes"))
    )
    explore = f"""<section id="explore">
<h2>Explore</h2>
<p class="note" id="says" aria-live="polite"></p>
<div class="controls">{filters}<label>chart<select id="y">{measures}</select></label><label>variant<input type="search" id="search" placeholder="part of a name"></label><div class="boxes">{boxes}</div></div>
<div id="frame"><svg id="chart" role="img" tabindex="0" aria-label="chart"></svg><div id="tip" role="status" hidden></div></div>
<div class="controls" id="zoom"><button type="button" id="in">zoom in</button><button type="button" id="out">zoom out</button><button type="button" id="whole">show all</button>
<span class="note">Wheel and drag, or the keys + − 0 and the arrows. A name below hides its line.</span></div>
<div id="legend"></div>
<p class="note" id="count"></p>
<div class="scroll" tabindex="0" role="region" aria-label="table of measurements"><table><thead id="head"></thead><tbody id="body"></tbody></table></div>
</section>
<noscript><p>The charts and the table need JavaScript; the pages linked above do not.</p></noscript>"""
    body = "\n".join(sections) + "\n" + explore if machines else "<p>Nothing has been measured yet: <code>bench/run</code> measures this machine.</p>"
    scripts = f'<script type="application/json" id="data">{told}</script>\n<script>\n{script}</script>\n' if machines else ""
    return f"""<!DOCTYPE html>
{generated}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>rungs: results</title>
<style>
{style}</style>
</head>
<body>
<header><div><h1>rungs: results</h1><p>Reductions, scans and histograms, every rung beside CUB. 1.32x is faster than CUB, and a tie is called one.</p></div><button type="button" id="theme">Dark or light</button></header>
{body}
{scripts}</body>
</html>
"""
