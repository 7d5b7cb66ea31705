"""Which rung the front door takes, read from its tables as best/rungs/tuning/table.cuh reads them."""

import re
from functools import cache
from pathlib import Path

from rungs_report import tune

ROW = re.compile(r"^ *\{(?P<kind>operators::\w+|true|false), (?P<steps>\d+(?:, \d+)*), \w+::(?P<rung>\w+)\}", re.MULTILINE)
TABLES = {"reduce": "reduce.cuh", "inclusive_scan": "scan.cuh", "exclusive_scan": "scan.cuh"} | dict.fromkeys(
    ("histogram_even", "histogram_range"), "histogram.cuh"
)
SUM = "operators::sum"
OPERATORS = {"plus": SUM, "minimum": "operators::order", "maximum": "operators::order"}


@cache
def _rows(table: str) -> list[tuple[str, list[int], str]]:
    """The last first, for the last row that fits counts."""
    return [(row["kind"], [int(step) for step in row["steps"].split(", ")], row["rung"]) for row in ROW.finditer(table)][::-1]


def chosen(table: str, operation: str, operator: str, input_type: str, items: int, bins: int | None, capability: int) -> str | None:
    """The rung that the text of a table names. `capability` is 90 for 9.0."""
    size = tune.SIZES.get(input_type, 8)
    if bins is None:
        kind, asked = OPERATORS.get(operator, "operators::any"), (capability, size, items)
    else:
        kind, asked = ("true" if operation == "histogram_range" else "false"), (capability, size, bins, items)
    rows = _rows(table)
    if bins is None:  # an operation without rows of its own has those of sums
        group = next((steps[:-1] for of, steps, _ in rows if of == SUM and steps[0] <= capability and steps[1] <= size), None)
        rows = [row for row in rows if row[1][:-1] == group] if group else rows
        kind = kind if any(of == kind for of, _, _ in rows) else SUM
    fitting = (name for of, steps, name in rows if of == kind and all(step <= value for step, value in zip(steps, asked, strict=True)))
    return next(fitting, None)


def measured_on(root: Path) -> set[str]:
    """The names of the GPUs whose runs the tables were made from."""
    tables = [path.read_text(encoding="utf-8") for path in sorted(tune.folder(root).glob("*.cuh"))]
    return {name for table in tables for told in re.findall(r"^// Measured on ([^.]+)\.", table, re.MULTILINE) for name in re.split(r", | and ", told)}


def rung(root: Path, operation: str, operator: str, input_type: str, items: int, bins: int | None, capability: int) -> str | None:
    """The rung's name; None where the front door has no table for the operation."""
    path = tune.folder(root) / TABLES.get(operation, "none")
    return chosen(path.read_text(encoding="utf-8"), operation, operator, input_type, items, bins, capability) if path.is_file() else None
