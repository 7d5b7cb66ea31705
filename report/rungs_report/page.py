"""What all sections share: the page in the making, and how a comparison with CUB is written."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rungs_report import compare, words
from rungs_report.charts import Chart, Style
from rungs_report.compare import Ratio
from rungs_report.data import Cell, Machine, Variant
from rungs_report.topics import Topic
from rungs_report.words import code, columns, section, spaced, text


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

    @property
    def main(self) -> Cell:
        """The problem that a topic's page is about: sums of floats, cold; on a CPU what the host ran."""
        return compare.main_problem(self.machine, self.topic)

    def drawn(self, make: Callable[..., Chart | None], about: object, of: str = "") -> list[str]:
        """Draws a chart, adds it to the machine's, and gives its line of Markdown. of: what tells several of a kind apart."""
        named = "_".join(filter(None, (self.topic.name if self.topic else "", make.__name__, of)))
        chart = make(self.machine, self.looks, about, named)
        if chart is None:
            return []
        self.charts.append(chart)
        return spaced(f"![{text(chart.title)}](charts/{chart.name}.svg)")

    def label(self, variant: Variant) -> str:
        return code(self.machine.labels[variant])


def fold(summary: str, lines: list[str]) -> list[str]:
    """Lines that a committed page only names and the site shows, under a line that opens them. The summary is HTML."""
    return ["<details>", f"<summary>{summary}</summary>", "", *spaced(lines), "</details>", ""] if lines else []


def divided(lines: list[str], site: str) -> tuple[list[str], bool]:
    """What is committed of a page: its lines without what is folded, in whose place stands which page of the site has it. And whether
    anything is folded. site: the page on the site, without its .html."""
    kept: list[str] = []
    named: list[str] = []
    depth, folded, section = 0, False, ""

    def told() -> list[str]:
        said = spaced(f"Only in `{site}{section}.html`: {'; '.join(named)}.") if named else []
        named.clear()
        return said

    for line in lines:
        depth += line == "<details>"
        if depth:
            folded = True
            if depth == 1 and line.startswith("<summary>"):
                named.append(line.removeprefix("<summary>").removesuffix("</summary>"))
        elif line or not named:
            kept += [*told(), line]
            if level(line) == 2:
                section = f"/{short(line.lstrip('# '))}"
        depth -= line == "</details>"
    return kept + told(), folded


def quoted(notes: list[str]) -> list[str]:
    return [line for note in notes for line in (f"> **Note.** {note}", ">")][:-1] + ([""] if notes else [])


def notes_of(name: str, commit: str, complete: bool, sampled: str) -> list[str]:
    """What a reader has to know of a run first."""
    dirty = [f"Run {code(name)} was built from a tree with uncommitted changes ({code(commit)})."] if commit.endswith("-dirty") else []
    return dirty + ([] if complete else [f"Run {code(name)} is incomplete: its budget ended before every {sampled} was sampled."])


def level(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#"))


def slug(heading: str) -> str:
    """What GitHub calls a heading in a link."""
    plain = re.sub(r"\\(.)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def short(heading: str) -> str:
    """What a section is called on the site: its heading up to the colon, behind which stands what may differ from run to run."""
    return slug(heading.partition(": ")[0])


def headings(lines: list[str], deepest: int = 2) -> list[tuple[str, str]]:
    """The headings from the second level down to the deepest, each with its anchor: GitHub numbers those that come again."""
    found, seen = [], {}
    for line in lines:
        if match := re.match(r"(#{1,6}) (.+)", line):
            called = slug(match[2])
            times = seen[called] = seen.get(called, -1) + 1
            if 2 <= len(match[1]) <= deepest:
                found.append((match[2], called + (f"-{times}" if times else "")))
    return found


def verdict(ratio: Ratio | None) -> str:
    return {"FASTER": "faster", "SLOWER": "**CUB wins**", "SAME": "tie", "AMBIGUOUS": "undecided"}[ratio.verdict] if ratio else ""


def flags(machine: Machine, variant: Variant) -> list[str]:
    """What a variant asks of its caller or its GPU beyond CUB's contract."""
    entry = machine.variants[variant]
    asked = {
        "workspace zeroed once": entry.get("workspace_contract") == "zeroed_once",
        "waits for host": entry.get("waits_for_host"),
        "progress assumed": entry.get("progress") == "assumed",
        f"needs sm_{entry.get('min_cc')}": (entry.get("min_cc") or 0) > 75,
    }
    return [name for name, so in asked.items() if so]


def study_findings(page: Page, about: str, sentences: Iterable[str | None]) -> list[str]:
    """What a study found, a sentence a line."""
    found = [f"- {sentence}" for sentence in sentences if sentence]
    return spaced("## Findings", about, found) if found and page.machine.device else []


def study_ideas(heading: str, first: str, variants: Callable[[Machine], Iterable[Variant]]) -> Callable[[Page], list[str]]:
    """What each variant of a study is."""

    def ideas(page: Page) -> list[str]:
        told = {first: page.label, "idea": lambda v: text(page.machine.variants[v]["idea"]), "asks for": lambda v: ", ".join(flags(page.machine, v))}
        return section(f"## {heading}", columns(variants(page.machine), told))

    return ideas


SAID = {"FASTER": "", "SLOWER": " **CUB wins**", "SAME": " tie", "AMBIGUOUS": " undecided"}
MARKS = {"FASTER": "", "SLOWER": " −", "SAME": " =", "AMBIGUOUS": " ?"}


def over_cub(ratio: Ratio | None) -> str:
    """A speed-up: 1.31x, and ≈1.31x where it was carried over from another release."""
    if ratio is None:
        return words.UNKNOWN
    return ("≈" if ratio.carried else "") + words.ratio(ratio.value)


def over_each(machine: Machine, found: Iterable[Ratio]) -> list[str]:
    """The speed-up over each release's CUB."""
    by_release = {ratio.cccl: ratio for ratio in found}
    return [over_cub(by_release.get(release)) for release in compare.cccl_versions(machine)]


def over_headers(machine: Machine) -> list[str]:
    releases = compare.cccl_versions(machine)
    return [f">over CUB {release}" for release in releases] if len(releases) > 1 else [">over CUB"]


def cubs_time(machine: Machine, cell: Cell) -> str:
    """Of CUB's fastest entry."""
    cub = compare.fastest_cub(machine, cell)
    return words.time(cub[1] if cub else None)


def interval(ratio: Ratio | None) -> str:
    return words.interval(ratio.low, ratio.high) if ratio else ""


def briefly(ratio: Ratio | None) -> str:
    """A speed-up and its verdict in one cell: 1.31x, 1.00x tie."""
    return over_cub(ratio) + (SAID[ratio.verdict] if ratio else "")


def marked(ratio: Ratio | None) -> str:
    """A speed-up and its verdict as a sign: 1.31x, 1.00x =."""
    return words.ratio(ratio.value) + MARKS[ratio.verdict] if ratio else words.UNKNOWN
