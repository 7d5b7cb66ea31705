"""What the pages of studies share: which runs count, what a reader must know first, what was not run, and with what it was measured."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from rungs_report import words
from rungs_report.data import Machine
from rungs_report.page import Page, notes_of, quoted
from rungs_report.words import code, section, spaced, table, text

Run = dict[str, Any]
Cell = dict[str, Any]
Result = dict[str, Any]
Runs = Callable[[Machine], list[Run]]  # of a machine, those that count
COLUMNS: dict[str, Callable[[Run], str]] = {
    "program": lambda run: code(run["program"]),
    "run": lambda run: text(run["run"]),
    "`run`": lambda run: code(run["run"]),
    ">GPUs": lambda run: str(run["ranks"]),
    "card": lambda run: text(run["device"]["card"]),
    "cards": lambda run: code(" ".join(device["card"] for device in run["devices"])),
    "driver": lambda run: text(run["versions"]["driver"] or words.UNKNOWN),
    "CCCL": lambda run: text(run["versions"]["cccl"]),
    "nvcc": lambda run: text(run["versions"]["nvcc"]),
    "NCCL": lambda run: text(run["nccl"]["version"] or words.UNKNOWN),
    "commit": lambda run: code(run["commit"]),
    ">cells": lambda run: str(len(run["cells"])),
    ">link one way (GB/s)": lambda run: words.number((run["link"] or {}).get("one_way_gb_per_s")),
    ">both ways, each (GB/s)": lambda run: words.number((run["link"] or {}).get("both_ways_gb_per_s")),
    "NCCL's variables": lambda run: code(" ".join(f"{name}={value}" for name, value in run["variables"].items() if name.startswith("NCCL"))) or words.UNKNOWN,
}


def latest(runs: list[Run], about: Callable[[Run], Any] = lambda run: run["versions"]["cccl"]) -> list[Run]:
    """Of each CCCL, or of each of what it is about."""
    return list({about(run): run for run in runs}.values())


def banners(files: str, runs: Runs, more: Callable[[Run], Iterable[str]] = lambda run: ()) -> Callable[[Page], list[str]]:
    """files: how the names of the studies' files begin. more: what else is to be told of a run."""

    def section(page: Page) -> list[str]:
        notes = []
        for run in runs(page.machine):
            notes += [f"Run {code(run['run'])}: {text(said)}." for said in run["banners"]]
            notes += [*notes_of(run["run"], run["commit"], run.get("complete", True), "cell"), *more(run)]
        refused = [refusal for refusal in page.machine.refusals if not refusal.expected and f"/{files}" in refusal.file]
        return quoted(notes + [f"{code(refusal.file)} was refused: {text(refusal.reason)}." for refusal in refused])

    return section


def tally(speedups: Iterable[Result]) -> str:
    verdicts = Counter(speedup["verdict"] for speedup in speedups)
    return " / ".join(str(verdicts[each]) for each in ("FASTER", "SAME", "SLOWER", "AMBIGUOUS"))


def ratios(speedups: list[Result], cells: list[Cell], where: Callable[[Cell], str]) -> list[str]:
    """In the mean, the least and where, the most, and the tally. speedups: of the cells, one by one."""
    if not speedups:
        return [words.UNKNOWN] * 4
    values = [speedup["value"] for speedup in speedups]
    least = where(cells[values.index(min(values))])
    return [words.ratio(statistics.geometric_mean(values)), f"{words.ratio(min(values))} {least}", words.ratio(max(values)), tally(speedups)]


def left_out(runs: Runs, headers: list[str], about: Callable[[Run, Result], tuple[str, ...]]) -> Callable[[Page], list[str]]:
    """about: what is told of a run and a contender that it left out."""

    def section_of(page: Page) -> list[str]:
        counts = Counter((about(run, each), each["reason"]) for run in runs(page.machine) for each in run["skipped"])
        rows = [[*said, str(count), text(reason)] for (said, reason), count in counts.items()]
        return section("## What was not run", table([*headers, ">cells", "why"], rows))

    return section_of


def undecided(runs: list[Run], noise: str) -> str:
    """When a speed-up says nothing. noise: what lies how far from itself."""
    floors = [100 * cell["noise_floor"] for run in runs for cell in run["cells"]]
    return (
        "A speed-up is a tie where its interval holds 1, or where it is below the noise; it is undecided where the interval is wider than 10 %. The noise is how far"
        f" {noise} from itself, entered twice in other cells of like size: {words.percent(min(floors))} to {words.percent(max(floors))}."
    )


def measured_with(runs: list[Run], *columns: str) -> list[str]:
    return spaced(table([name.strip("`") for name in columns], [[COLUMNS[name](run) for name in columns] for run in runs]))
