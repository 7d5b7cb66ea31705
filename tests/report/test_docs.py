"""README.md and docs/: links lead somewhere, the README is short, and its table of the front door follows from the runs that it names."""

import math
import re
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import unquote

import pytest

from rungs_report import data
from rungs_report import front_door as tables

REPOSITORY = Path(__file__).resolve().parents[2]
README = REPOSITORY / "README.md"
PAGES = [README, *sorted((REPOSITORY / "docs").glob("*.md"))]
CELL = ("operation", "operator", "input_type", "accumulator_type", "items", "shape", "distribution", "mode")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
RUN = re.compile(r"`(\d{4}-\d\d-\d\dT\d{6}Z-[0-9a-f]+)`")
CALLS = {
    "reduce": "`DeviceReduce`: sum, minimum, maximum",
    "inclusive_scan": "`DeviceScan`, inclusive",
    "exclusive_scan": "`DeviceScan`, exclusive",
    "histogram_even": "`HistogramEven`",
    "histogram_range": "`HistogramRange`",
}


@cache
def prose(page: Path) -> str:
    """The page without its code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """What a heading is called in a link, as GitHub makes it."""
    headings = re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """The page's links to files, folders and headings of the repository that are not there."""
    found = []
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_relative_to(REPOSITORY) or not target.exists():
            found.append(link)
        elif anchor and anchor not in anchors(target):
            found.append(f"{link} (no such heading)")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    assert not broken(page)


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_every_page_is_linked_from_the_readme(page: Path) -> None:
    assert f"](docs/{page.name})" in README.read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    """150 lines, of which the block that report/run writes may take 30 for each GPU."""
    measured = max(1, len(list((REPOSITORY / "report" / "data").glob("*/"))))
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120 + 30 * measured


def test_the_readmes_table_of_headlines_fits_a_screen() -> None:
    block = README.read_text(encoding="utf-8").partition("<!-- rungs:headline begin")[2].partition("<!-- rungs:headline end")[0]
    rows = [row for row in block.splitlines() if row.startswith("|")]
    assert rows and max(map(len, rows)) <= 100


def front_door(run: str) -> tuple[str, dict[tuple[Any, ...], tuple[float, str]]]:
    """The run's CCCL; the front door's speed-up over the fastest of CUB's device-wide calls, and the verdict, in each cell."""
    path = next((REPOSITORY / "report" / "data").rglob(f"{run}.json*"), None)
    assert path, f"README.md names {run}, which is not in report/data"
    found = data.parse(path)
    best: dict[tuple[Any, ...], float] = {}
    ours: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in found["rows"]:
        cell = tuple(row[name] for name in CELL)
        if row["rung"].startswith("cub_device") and not row.get("twin") and row["median_us"]:
            best[cell] = min(best.get(cell, math.inf), row["median_us"])
        elif row["rung"] == "front_door":
            ours[cell] = row
    speedups = {cell: (best[cell] / row["median_us"], row["verdict"]) for cell, row in ours.items() if cell in best and row["median_us"]}
    return found["context"]["versions"]["cccl"], speedups


def test_the_answer_about_halves_is_what_the_tables_say() -> None:
    """docs/faq.md names the sizes between which a rung is taken for 2-byte items on sm_90."""
    answer = (REPOSITORY / "docs" / "faq.md").read_text(encoding="utf-8").partition("## ")[2].partition("\n## ")[0]
    numbers = [int(each.replace(",", "")) for found in re.findall(r"sums of ([\d,]+) and|for ([\d,]+) to ([\d,]+) such", answer) for each in found if each]
    least, first, last = numbers

    def rung(operation: str, items: int) -> str | None:
        return tables.rung(REPOSITORY, operation, "plus", "f16", items, None, 90)

    for operation, name, inside, outside in (
        ("reduce", "tagged_aggregates", (300_000, least, 1 << 30), (least - 1,)),
        ("inclusive_scan", "tagged_wave", (300_000, first, last), (first - 1, last + 1)),
    ):
        assert f"`{name}`" in answer
        assert {rung(operation, items) for items in inside} == {name} and name not in {rung(operation, items) for items in outside}
    assert "report/run choose reduce sum f16 n=300000" in answer


def line(call: str, mode: str, found: list[tuple[float, str]]) -> str:
    verdicts = Counter(verdict for _, verdict in found)
    mean = math.exp(sum(math.log(speedup) for speedup, _ in found) / len(found))
    faster, slower = verdicts["FASTER"], verdicts["SLOWER"]
    counts = f"{faster} | {len(found) - faster - slower} | {slower}"
    speedups = sorted(speedup for speedup, _ in found)
    return f"| {call} | {mode} | {len(found)} | {mean:.2f}x | {median(speedups):.2f}x | {speedups[0]:.2f}x | {counts} |"


def test_the_table_of_the_front_door_follows_from_its_runs() -> None:
    readme = README.read_text(encoding="utf-8")
    table = readme.partition("<!-- rungs:front_door begin")[2].partition("<!-- rungs:front_door end")[0]
    releases: dict[str, dict[tuple[Any, ...], tuple[float, str]]] = {}
    for release, speedups in map(front_door, sorted(set(RUN.findall(readme)))):  # later runs of a release count
        releases.setdefault(release, {}).update(speedups)
    first, *others = releases.values()
    shared = [cell for cell in first if all(cell in other for other in others)]
    lower = {cell: min(run[cell] for run in (first, *others)) for cell in shared}
    made = [line(name, "cold", [lower[c] for c in shared if c[0] == call and c[-1] == "cold"]) for call, name in CALLS.items()]
    made += [line("every call that was measured so", mode, [lower[c] for c in shared if c[-1] == mode]) for mode in ("warm", "graph")]
    rows = [row for row in table.splitlines() if row.startswith("| ") and "x |" in row]
    assert rows == made, "it should say:\n" + "\n".join(made)
