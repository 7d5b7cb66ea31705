"""The pages to filter, zoom and sort: one for each topic of each GPU, with every variant at every problem of it.

What stands there was concluded in Python as on every page; the script only shows it. A row is a variant at a problem and a place on
the axis, over all runs: its time and its speed-up are those of the runs with the main CCCL. The studies have units of their own: operations a second over addresses, and nanoseconds a link of a chain over the threads or blocks that wait.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from rungs_report import atomics, charts, compare, costs, rows, topics, words
from rungs_report.charts import DASHES, Style
from rungs_report.data import Cell, Machine, Variant

VERDICTS = ("", "FASTER", "SAME", "SLOWER", "AMBIGUOUS")
EMPTY = "none"  # a select's word for a problem without shape
WORDS = {
    EMPTY: "–", "cold": "cold: from memory", "warm": "warm: maybe from L2", "graph": "graph: a call in a captured graph",
    "dirty": "dirty: caches flushed by writing", "host": "host: on the CPU", "reduce": "reduction", topics.ROW_REDUCE: "reduction of rows",
}  # fmt: skip
INK, DOOR = "currentColor", "front_door"  # the front door is told apart from all rungs, whichever ladder they are of
MODES = ("cold", "graph", "warm", "dirty", "host")
FAR = math.log(10)  # how far behind a rung counts where it was not measured

# What the reader chooses by, and its name on the page.
FILTERS = (("operation", "operation"), ("kind", "type and operator"), ("shape", "shape"), ("distribution", "distribution"), ("mode", "mode"))


class Measure(NamedTuple):
    """What the chart can show upwards; unit: how the script writes a value."""

    name: str
    says: str
    unit: str


PERCENT = Measure("percent", "% of the measured ceiling", "percent")
RATE, TIME = Measure("rate", "GB/s", "number"), Measure("time", "µs", "time")
OPERATIONS, LINK, CYCLES = (
    Measure("operations", "G operations/s", "number"), Measure("link", "ns a link", "number"), Measure("cycles", "cycles a link", "number"),
)  # fmt: skip


@dataclass(frozen=True)
class View:
    """One page: what it is called, where its places on the axis come from, and what is measured."""

    name: str  # of its file
    title: str
    axis: str
    measures: tuple[Measure, ...]  # the first is shown first
    rows: Callable[[Machine, "Table"], None]
    labels: tuple[str, ...] = ()  # of the places on the axis, where they are no counts but stand one beside another

    @property
    def is_study(self) -> bool:
        return self.measures[0].unit != "ratio"


def speedup(over: str) -> Measure:
    return Measure("speedup", f"speed-up {over}", "ratio")


def rounded(value: float | None) -> float | None:
    """Four digits are more than is shown."""
    return None if value is None else float(f"{value:.4g}")


def kind(variant: Variant) -> str:
    if variant.ladder == compare.SWEEP_OF_LAUNCHES:
        return "shapes"
    if compare.is_door(variant):
        return "door"
    return "cub" if compare.is_cub(variant) else "libraries" if variant.family == compare.YARDSTICKS else "ours"


def types(problem: Cell) -> str:
    named = [each for each in (problem.input_type, problem.accumulator_type, problem.output_type) if each]
    return f"{' to '.join(dict.fromkeys(named))} {problem.operator}".strip()


class Table:
    """Names once, rows as columns."""

    def __init__(self, machine: Machine, looks: dict[Variant, Style]) -> None:
        self.machine, self.looks = machine, looks
        self.words: dict[str, str] = dict(WORDS)
        self.problems: list[dict[str, Any]] = []
        self.variants: list[dict[str, str]] = []
        self.rows: list[dict[str, Any]] = []
        self._known: dict[tuple[Variant, str], int] = {}
        self._problems: dict[Any, int] = {}

    def variant(self, variant: Variant, way: str = "") -> int:
        """The variant's number; way: how it was launched, where that makes a line of its own."""
        if (variant, way) not in self._known:
            look = self.looks[variant]
            colour, dash = (INK, DASHES[variant.rung != DOOR]) if compare.is_door(variant) else (look.colour, look.dash)
            self._known[variant, way] = len(self.variants)
            self.variants.append(
                {
                    "name": self.machine.labels[variant] + (f", {way}" if way else ""),
                    "kind": kind(variant),
                    "idea": str(self.machine.variants[variant].get("idea") or ""),
                    "colour": colour,
                    "mark": look.mark,
                    "dash": "" if dash == (1, 0) else " ".join(map(str, dash)),
                }
            )
        return self._known[variant, way]

    def problem(self, says: str, **chosen: str) -> int:
        self.problems.append({**{name: EMPTY for name, _ in FILTERS}, **chosen, "says": says})
        return len(self.problems) - 1

    def problem_once(self, alike: Any, says: str, **chosen: str) -> int:
        """Of what is alike the first one's number."""
        if alike not in self._problems:
            self._problems[alike] = self.problem(says, **chosen)
        return self._problems[alike]

    def row(self, problem: int, variant: int, place: int, **figures: Any) -> None:
        self.rows.append({"problem": problem, "variant": variant, "place": place, **figures})

    def packed(self) -> dict[str, list[Any]]:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        return {name: [row.get(name) for row in self.rows] for name in names}

    def begin(self, all_of_them: bool) -> None:
        """Marks whom a problem shows first: the front door, the entry of CUB that speed-ups are over, or else the fastest of other
        libraries, and our best three. A study compares ways of doing a thing, and shows all of them."""
        for number, own_rows in words.grouped(self.rows, lambda row: row["problem"]).items():
            if all_of_them:
                self.problems[number]["first"] = sorted({row["variant"] for row in own_rows})
                continue
            kinds: dict[str, dict[int, dict[int, float]]] = {}
            for row in own_rows:
                own, ratio = self.variants[row["variant"]]["kind"], row.get("speedup")
                value = max(ratio, 1 / ratio) if own == "cub" and ratio else row.get("time")
                if value and row["place"] > 0:
                    kinds.setdefault(own, {}).setdefault(row["variant"], {})[row["place"]] = value
            ours, others = kinds.get("ours", {}), kinds.get("cub") or kinds.get("libraries", {})
            first = [*kinds.get("door", {}), *together(others, 1 if ours else 3), *together(ours, 3)]
            self.problems[number]["first"] = sorted(first)


def together(costs_of: dict[int, dict[int, float]], count: int) -> list[int]:
    """So many that are together nearest to the best everywhere: one after the other, each the one that helps most."""
    places = {place for own in costs_of.values() for place in own}
    best = {place: min(own[place] for own in costs_of.values() if place in own) for place in places}
    behind = {each: {place: math.log(own[place] / best[place]) if place in own else FAR for place in places} for each, own in costs_of.items()}
    chosen: list[int] = []
    left = dict.fromkeys(places, FAR)
    while len(chosen) < min(count, len(behind)):
        found = min((each for each in behind if each not in chosen), key=lambda each: (sum(min(left[p], behind[each][p]) for p in places), sum(behind[each].values()), each))
        chosen.append(found)
        left = {place: min(left[place], behind[found][place]) for place in places}
    return chosen


# ---- the rows of a topic


def in_order(machine: Machine, operations: tuple[str, ...]) -> list[Cell]:
    """The problems as a reader chooses among them: by operation and mode, the headlines and the most measured first."""

    def place(problem: Cell) -> tuple[Any, ...]:
        mode = MODES.index(problem.mode) if problem.mode in MODES else len(MODES)
        return (operations.index(problem.operation), mode, not compare.is_headline(problem), -len(machine.sweeps[problem]), problem)

    found = [problem for problem, cells in machine.sweeps.items() if problem.operation in operations and machine.is_problem(cells[0])]
    return sorted(found, key=place)


def figures(machine: Machine, cell: Cell, variant: Variant) -> dict[str, Any]:
    ratio = compare.told(machine, cell).get(variant)

    def figure(column: str) -> float | None:
        return rounded(compare.figure(machine, cell, variant, column))

    return {
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


def chosen_by(table: Table, problem: Cell) -> dict[str, str]:
    """The problem's words in the filters."""
    for name in (problem.operation, problem.distribution):
        table.words.setdefault(name, charts.distribution(name))
    if problem.shape:
        named = ", ".join(f"{count:,} {name}" for name, count in problem.sizes.items())
        table.words.setdefault(problem.shape, named or problem.shape)
    return {
        "operation": problem.operation, "kind": types(problem), "shape": problem.shape or EMPTY,
        "distribution": problem.distribution or EMPTY, "mode": problem.mode,
    }  # fmt: skip


def over_items(operations: tuple[str, ...]) -> Callable[[Machine, Table], None]:
    def found(machine: Machine, table: Table) -> None:
        for problem in in_order(machine, operations):
            number = table.problem(f"{charts.describe(problem)} on {machine.name}", **chosen_by(table, problem))
            for cell in compare.sizes(machine, problem):
                for variant in compare.contenders(machine, cell):
                    table.row(number, table.variant(variant), cell.items, **figures(machine, cell, variant))

    return found


def shapes_of(machine: Machine) -> list[tuple[int, int]]:
    """Columns and rows of every matrix, from many short rows to few long ones."""
    sizes = [cell.sizes for cell in machine.cells if cell.operation == topics.ROW_REDUCE and machine.is_problem(cell)]
    return sorted({(each["columns"], each["rows"]) for each in sizes}, key=lambda each: (each[0], -each[1]))


def over_shapes(machine: Machine, table: Table) -> None:
    """Rows of a matrix: the shapes stand one beside another, for two numbers make one."""
    places = {shape: 2**position for position, shape in enumerate(shapes_of(machine))}
    cells = [cell for cell in machine.cells if cell.operation == topics.ROW_REDUCE and machine.is_problem(cell)]
    for cell in sorted(cells, key=lambda cell: (MODES.index(cell.mode), cell)):
        alike = cell._replace(items=0, shape="")
        number = table.problem_once(alike, f"{types(alike)} of the rows of a matrix, {alike.mode}, on {machine.name}", **chosen_by(table, alike))
        for variant in compare.contenders(machine, cell):
            place = places[cell.sizes["columns"], cell.sizes["rows"]]
            better = {"speedup": rounded(rows.over_cub(machine, cell, variant)), "low": None, "high": None, "verdict": 0}
            table.row(number, table.variant(variant), place, **{**figures(machine, cell, variant), **better})


def over_addresses(machine: Machine, table: Table) -> None:
    """Atomics: the number of distinct addresses is the axis, and the number of operations a choice."""
    cells = [cell for cell in machine.cells if cell.operation == topics.ATOMICS and machine.is_problem(cell)]
    for cell in sorted(cells, key=lambda cell: (cell.operator != atomics.SUM, cell.input_type != atomics.WORD, cell.items != atomics.main_items(machine), cell)):
        alike = cell._replace(shape="")
        table.words[f"items={cell.items}"] = f"{words.size(cell.items)} operations"
        says = f"{types(alike)}, {words.size(cell.items)} operations, {cell.mode}, on {machine.name}"
        number = table.problem_once(alike, says, **{**chosen_by(table, alike), "shape": f"items={cell.items}"})
        for variant in compare.contenders(machine, cell):
            time = compare.figure(machine, cell, variant, "median_us")
            rate = rounded(cell.items / time / 1e3) if time else None
            table.row(number, table.variant(variant), cell.sizes["addresses"], time=rounded(time), operations=rate)


def of_cost(cost: costs.Cost) -> dict[str, float | None]:
    return {"link": rounded(cost.ns), "low": rounded(cost.low), "high": rounded(cost.high), "cycles": rounded(cost.cycles)}


def over_threads(machine: Machine, table: Table) -> None:
    """What a collective takes by the threads that take part."""
    study = costs.study_of(machine)
    for operation, called in ((costs.REDUCE, "reductions"), (costs.SCAN, "inclusive scans")):
        table.words[operation] = called
        for operator, input_type in costs.KINDS:
            for _, threads in study.groups(operation):
                for variant in study.of(operation):
                    if cost := study.cost(costs.Asked(operation, 1, threads, operator, input_type), variant.rung):
                        kind = f"{input_type} {operator}"
                        number = table.problem_once((operation, kind), f"{called} inside a warp or a block, {kind}, on {machine.name}", operation=operation, kind=kind)
                        table.row(number, table.variant(variant), threads, **of_cost(cost))


def over_blocks(machine: Machine, table: Table) -> None:
    """What a barrier takes by the blocks that wait."""
    study = costs.study_of(machine)
    found = costs.rows_of_barriers(study)
    counts = Counter(threads for _, _, threads, _, _ in found)  # the size of a block of which most was measured comes first
    for name, blocks, threads, way, cost in sorted(found, key=lambda each: -counts[each[2]]):
        variant = study.find(name, costs.BARRIER)
        shape = f"threads={threads}"
        table.words[shape] = f"blocks of {threads:,} threads"
        number = table.problem_once(shape, f"barriers of blocks of {threads:,} threads, on {machine.name}", operation=costs.BARRIER, shape=shape)
        table.row(number, table.variant(variant, "" if way == "in one launch" else way), blocks, **of_cost(cost))


def views(machine: Machine) -> Iterator[View]:
    """The pages of a machine, in the order of its topics."""
    for topic in topics.of(machine):
        title = topic.name.capitalize()
        if topic.name == topics.ATOMICS:
            yield View(topic.name, title, "distinct addresses", (OPERATIONS, TIME), over_addresses)
        elif topic.name == topics.COSTS:
            yield View("collectives", "Collectives", "threads", (LINK, CYCLES), over_threads)
            yield View("barriers", "Barriers and launches", "blocks", (LINK, CYCLES), over_blocks)
        else:
            measures = (speedup(compare.over_main(machine)), PERCENT, RATE, TIME)
            yield View(topic.name, title, "number of items", measures, over_items(topic.operations))
    if shapes := shapes_of(machine):
        labels = tuple(f"{words.size(rows)} x {words.size(columns)}" for columns, rows in shapes)
        yield View("rows", "Rows", "rows x columns", (speedup("over the better CUB"), PERCENT, RATE, TIME), over_shapes, labels)


def told(machine: Machine, view: View, looks: dict[Variant, Style]) -> str:
    """Everything the script of a page shows, as JSON that may stand in HTML; empty where there is nothing."""
    table = Table(machine, looks)
    view.rows(machine, table)
    if not table.rows:
        return ""
    table.begin(view.is_study)
    made = {
        "words": table.words, "verdicts": VERDICTS, "problems": table.problems, "variants": table.variants, "axis": view.axis, "labels": view.labels,
        "measures": [each._asdict() for each in view.measures], "rows": table.packed(),
    }  # fmt: skip
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
