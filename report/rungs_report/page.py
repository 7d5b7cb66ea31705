"""What all sections share: the page in the making, and how a comparison with CUB is written."""

from dataclasses import dataclass
from pathlib import Path

from rungs_report import words
from rungs_report.charts import Chart, Style
from rungs_report.compare import Ratio
from rungs_report.data import Cell, Machine, Variant
from rungs_report.words import text


@dataclass
class Page:
    machine: Machine
    root: Path  # of the repository, where the rungs' sources lie
    looks: dict[Variant, Style]
    main: Cell | None  # the problem the page is about: f32 sum, cold; on a CPU what the host ran
    charts: list[Chart]

    def drawn(self, chart: Chart | None) -> list[str]:
        """Adds a chart to the page, and gives its line of Markdown."""
        if chart is None:
            return []
        self.charts.append(chart)
        return [f"![{text(chart.title)}](charts/{chart.name}.svg)", ""]


def verdict(ratio: Ratio | None) -> str:
    return {"FASTER": "faster", "SLOWER": "**CUB wins**", "SAME": "tie", "AMBIGUOUS": "undecided"}[ratio.verdict] if ratio else ""


def flags(machine: Machine, variant: Variant) -> list[str]:
    """What a variant asks of its caller or its GPU beyond CUB's contract."""
    entry = machine.variants[variant]
    found = []
    if entry.get("workspace_contract") == "zeroed_once":
        found.append("workspace zeroed once")
    if entry.get("waits_for_host"):
        found.append("waits for host")
    if entry.get("progress") == "assumed":
        found.append("progress assumed")
    if (entry.get("min_cc") or 0) > 75:
        found.append(f"needs sm_{entry['min_cc']}")
    return found


def over_cub(ratio: Ratio | None) -> str:
    return words.ratio(ratio.value) if ratio else words.UNKNOWN


def interval(ratio: Ratio | None) -> str:
    return words.interval(ratio.low, ratio.high) if ratio else ""
