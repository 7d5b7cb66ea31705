"""What all sections share: the page in the making, and how a comparison with CUB is written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rungs_report import compare, words
from rungs_report.charts import Chart, Style
from rungs_report.compare import Ratio
from rungs_report.data import Cell, Machine, Variant
from rungs_report.topics import Topic
from rungs_report.words import code, text


@dataclass
class Page:
    """A page in the making. The front and the claims have no topic."""

    machine: Machine
    root: Path  # of the repository, where the rungs' sources lie
    looks: dict[Variant, Style]
    topics: list[Topic]
    topic: Topic | None
    charts: list[Chart]  # of all pages of the machine
    others: tuple[str, ...] = ()  # the folders of the other GPUs
    brief: bool = False  # whether it is committed: what is folded, and what is an aside, stands on the whole page alone

    @property
    def main(self) -> Cell | None:
        """The problem the page is about: sums of floats, cold; on a CPU what the host ran."""
        return compare.main_problem(self.machine, self.topic) if self.topic else None

    def drawn(self, make: Callable[..., Chart | None], about: object, of: str = "") -> list[str]:
        """Draws a chart, adds it to the machine's, and gives its line of Markdown. of: what tells several of a kind apart."""
        named = "_".join(filter(None, (self.topic.name if self.topic else "", make.__name__, of)))
        chart = make(self.machine, self.looks, about, named)
        if chart is None:
            return []
        self.charts.append(chart)
        return [f"![{text(chart.title)}](charts/{chart.name}.svg)", ""]

    def label(self, variant: Variant) -> str:
        return code(self.machine.labels[variant])

    def aside(self, summary: str, lines: list[str]) -> list[str]:
        """Lines that the whole page shows and a brief one only names. The summary is HTML."""
        return fold(summary, lines) if self.brief else lines


def fold(summary: str, lines: list[str]) -> list[str]:
    """Lines under a line that opens them. The summary is HTML."""
    return ["<details>", f"<summary>{summary}</summary>", "", *lines, "</details>", ""] if lines else []


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


SAID = {"FASTER": "", "SLOWER": " **CUB wins**", "SAME": " tie", "AMBIGUOUS": " undecided"}


def over_cub(ratio: Ratio | None) -> str:
    """A speed-up: 1.31x, and ≈1.31x where it was carried over from another release."""
    if ratio is None:
        return words.UNKNOWN
    return ("≈" if ratio.carried else "") + words.ratio(ratio.value)


def interval(ratio: Ratio | None) -> str:
    return words.interval(ratio.low, ratio.high) if ratio else ""


def briefly(ratio: Ratio | None) -> str:
    """A speed-up and its verdict in one cell: 1.31x, 1.00x tie."""
    return over_cub(ratio) + (SAID[ratio.verdict] if ratio else "")
