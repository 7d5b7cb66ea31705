"""Which rung the front door takes, read from its tables as best/rungs/tuning/table.cuh reads them."""

import re
from pathlib import Path

from rungs_report import tune

ROW = re.compile(r"^ *\{(?P<kind>operators::\w+|true|false), (?P<steps>\d+(?:, \d+)*), \w+::(?P<rung>\w+)\}", re.MULTILINE)
TABLES = {"reduce": "reduce.cuh", "inclusive_scan": "scan.cuh", "exclusive_scan": "scan.cuh"} | dict.fromkeys(
    ("histogram_even", "histogram_range"), "histogram.cuh"
)
OPERATORS = {"plus": "operators::sum", "minimum": "operators::order", "maximum": "operators::order"}


def rung(root: Path, operation: str, operator: str, input_type: str, items: int, bins: int | None, capability: int) -> str | None:
    """The rung's name; None where the front door has no table for the operation. `capability` is 90 for 9.0."""
    path = tune.folder(root) / TABLES.get(operation, "none")
    if not path.is_file():
        return None
    size = tune.SIZES.get(input_type, 8)
    if bins is None:
        kind, asked = OPERATORS.get(operator, "operators::any"), (capability, size, items)
    else:
        kind, asked = ("true" if operation == "histogram_range" else "false"), (capability, size, bins, items)
    chosen = None
    for row in ROW.finditer(path.read_text(encoding="utf-8")):
        steps = [int(step) for step in row["steps"].split(", ")]
        if row["kind"] == kind and all(step <= value for step, value in zip(steps, asked, strict=True)):
            chosen = row["rung"]
    return chosen
