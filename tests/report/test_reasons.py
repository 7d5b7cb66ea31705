"""Why a rung gained: what its source says, against which rung, and what was counted that moved."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import synthetic
from rungs_report import charts, claims, compare, data, gains, reasons, topics
from rungs_report.data import Variant
from rungs_report.page import Page
from test_counters import counted, entry, write

STRIDE, LAST = (Variant("handwritten", "reductions", name) for name in ("grid_stride", "last_block"))
CELL = claims.SUM._replace(items=16 << 20)


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("Rung 4. Two items a thread. Against 03_shuffle: half the blocks, and that is all there is to it, as far as anybody can tell from the code.", [("", "shuffle")]),
        ("One cluster. Against reductions/14_one_block: more multiprocessors load.", [("reductions", "one_block")]),
        ("Against 00_stores, which takes any size: one shape. Against scans/09_look_back: fewer walks.", [("", "stores"), ("scans", "look_back")]),
        ("Rung 0. One atomic an item.", []),
        ("", []),
    ],
)  # fmt: skip
def test_the_rungs_that_a_source_names(comment: str, expected: list[tuple[str, str]]) -> None:
    assert [(each.ladder, each.against) for each in reasons.given(comment)] == expected


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("Against 01_a: short. Also short. A third.", "short. Also short."),
        (f"Against 01_a: {'long ' * 30}sentence. Another.", f"{'long ' * 30}sentence."),
        ("Against 01_a: one launch. Source: somebody's paper.", "one launch."),
        ("Against 01_a: one launch. Did not help on an H200: two.", "one launch."),
        ("Against 01_a: 0.3 us (on an H200) a hop. Against 02_b: nothing.", "0.3 us (on an H200) a hop."),
    ],
)
def test_what_a_source_says_is_a_sentence_or_two(comment: str, says: str) -> None:
    assert reasons.given(comment)[0].says == says


def test_the_opening_comment_ends_where_the_code_begins(tmp_path: Path) -> None:
    (tmp_path / "a.cuh").write_text("// Rung 1. One\n// idea.\n#pragma once\n// not this\n", encoding="utf-8")
    assert reasons.opening(tmp_path, "a.cuh") == "Rung 1. One idea."
    assert reasons.opening(tmp_path, "absent.cuh") == ""


def page_of(repository: Path, small: dict[str, Any]) -> Page:
    synthetic.write_sources(repository)
    synthetic.write(repository / "report/data", small)
    machine = data.read(repository / "report/data").machines[0]
    return Page(machine, repository, charts.styles([machine]), topics.of(machine), None, [])


def say(page: Page, variant: Variant, comment: str) -> None:
    (page.root / page.machine.variants[variant]["source"]).write_text(f"// {comment}\n#pragma once\n", encoding="utf-8")


def test_a_rung_stands_against_the_one_that_its_source_names(repository: Path, small: dict[str, Any]) -> None:
    page = page_of(repository, small)
    ladder = [each for each in compare.contenders(page.machine, CELL) if each.family == "handwritten"]
    first, later = ladder[0], ladder[-1]
    say(page, later, f"Rung 9. An idea. Against 01_{first.rung}: it is a reason.")
    assert reasons.of(page.root, page.machine, CELL, later) == (first, "it is a reason.")
    header, line = (
        [part.strip() for part in next(each for each in gains.why(page, CELL, ladder) if each.startswith(start)).strip("|").split("|")]
        for start in ("| rung", f"| `{later.rung}`")
    )
    told = dict(zip(header, line, strict=True))
    assert told["against"] == f"`{first.rung}`" and told["why, as its source says"] == "it is a reason."
    assert told["gain"] == f"{compare.within_runs(page.machine, CELL, first, later):.2f}x"


def test_what_was_not_run_is_no_rung_to_stand_against(repository: Path, small: dict[str, Any]) -> None:
    page = page_of(repository, small)
    say(page, LAST, "Rung 9. An idea. Against 01_nobody: it is a reason.")
    assert reasons.of(page.root, page.machine, CELL, LAST) == (None, "it is a reason.")
    say(page, LAST, "Rung 9. An idea and nothing else.")
    assert reasons.of(page.root, page.machine, CELL, LAST) == (None, "")


def test_what_moved(repository: Path, small: dict[str, Any]) -> None:
    seen = [entry("grid_stride", counted({"k": (9000, 20.0)}, "membar")), entry("last_block", counted({"k": (9000, 40.0)}))]
    write(repository, seen)
    machine = page_of(repository, small).machine
    assert reasons.moved(machine, CELL, STRIDE, LAST, (Counter(), Counter())).split("; ")[-2:] == [
        "DRAM busy 20.0 % → 40.0 %",
        "warps wait for a fence (40.0 %) → for global memory (40.0 %)",
    ]
    code = Counter({"barriers": 9, "loads of 32 bits": 1}), Counter({"barriers": 3, "loads of 32 bits": 1, "loads of 128 bits": 4})
    assert "bits of the widest load 32 → 128" in reasons.moved(machine, CELL, STRIDE, LAST, code)
    assert reasons.moved(machine, CELL, STRIDE, STRIDE, (Counter(), Counter())) == "nothing of it"


def test_what_was_not_counted_is_not_called_unmoved(repository: Path, small: dict[str, Any]) -> None:
    assert reasons.moved(page_of(repository, small).machine, CELL, LAST, LAST, (Counter(), Counter())) == "–"
