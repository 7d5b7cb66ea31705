"""Why a rung gained: what its source says, against which rung, and what was counted that moved."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import conftest
import synthetic
from rungs_report import claims, compare, data, gains, reasons
from rungs_report.data import Variant
from rungs_report.page import Page
from test_counters import counted, entry, write

REPOSITORY = Path(__file__).resolve().parents[2]
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


LONG = f"{'long ' * 90}sentence."


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("Against 01_a: one thing. Another. A third.", "one thing. Another. A third."),
        (f"Against 01_a: {LONG} What nobody needs.", LONG),
        (f"Against 01_a: {LONG} What nobody needs. But it costs a barrier.", f"{LONG} But it costs a barrier."),
        ("Against 01_a: one launch. Source: somebody's paper.", "one launch."),
        ("Against 01_a: one launch. Did not help on an H200: two.", "one launch."),
        ("Against 01_a: 0.3 us (on an H200) a hop. Against 02_b: nothing.", "0.3 us (on an H200) a hop."),
        ("Against 01_a: fewer loads. Against the trees below it: fewer barriers.", "fewer loads. Against the trees below it: fewer barriers."),
    ],
)
def test_what_a_source_says_is_its_beginning_and_the_price(comment: str, says: str) -> None:
    assert [each.says for each in reasons.given(comment)][0] == says


def test_every_rung_that_a_source_names_is_there() -> None:
    """All sources of the tree: what stands behind Against and has a number is a file."""
    sources = [path for family in ("handwritten/rungs", "cluster/rungs/cluster") for path in (REPOSITORY / family).glob("*/[0-9]*.cuh")]
    named = [(path, each) for path in sources for each in reasons.given(reasons.opening(REPOSITORY, str(path.relative_to(REPOSITORY))))]
    assert len(sources) > 60 and len(named) > 50
    for path, each in named:
        folder = each.ladder or path.parent.name
        files = [*path.parent.glob(f"*_{each.against}.cuh"), *(REPOSITORY / "handwritten/rungs" / folder).glob(f"*_{each.against}.cuh")]
        assert files and each.says, f"{path} names {each.against}"


def test_a_price_is_not_lost() -> None:
    chained = reasons.given(reasons.opening(REPOSITORY, "handwritten/rungs/scans/07_chained.cuh"))[0]
    assert chained.against == "reduce_then_scan" and "In exchange, all tiles hang on one chain" in chained.says


def test_the_opening_comment_ends_where_the_code_begins(tmp_path: Path) -> None:
    (tmp_path / "a.cuh").write_text("// Rung 1. One\n// idea.\n#pragma once\n// not this\n", encoding="utf-8")
    assert reasons.opening(tmp_path, "a.cuh") == "Rung 1. One idea."
    assert reasons.opening(tmp_path, "absent.cuh") == ""


def page_of(repository: Path, made: dict[str, Any]) -> Page:
    synthetic.write_sources(repository)
    return conftest.page_of(repository, made)


def say(page: Page, variant: Variant, comment: str) -> None:
    (page.root / page.machine.variants[variant]["source"]).write_text(f"// {comment}\n#pragma once\n", encoding="utf-8")


def three_rungs(repository: Path, last: float = 20.0) -> tuple[Page, list[Variant]]:
    """The ladder of three rungs, the second of which takes 500 us; and what the last takes."""
    times = {"atomic_per_block": 60.0, "grid_stride": 500.0, "last_block": last}
    made = synthetic.document()
    synthetic.add_cell(made, CELL.items, {**{("handwritten", name): time for name, time in times.items()}, ("library_baselines", "cub_device_reduce"): 22.0})
    about = {name: getattr(CELL, name) for name in data.TWIN_FIELDS}
    made["twins"] = [{**about, "ratio": 1.0, "low": 0.994, "high": 1.006, "noise_floor": 0.006, "different": False}]
    page = page_of(repository, made)
    return page, [each for each in compare.contenders(page.machine, CELL) if each.family == "handwritten"]


def why(page: Page, ladder: list[Variant], rung: Variant) -> dict[str, str]:
    header, line = (
        [part.strip() for part in next(each for each in gains.why(page, CELL, ladder) if each.startswith(start)).strip("|").split("|")]
        for start in ("| rung", f"| `{rung.rung}`")
    )
    return dict(zip(header, line, strict=True))


def test_a_rung_stands_against_the_one_that_its_source_names(repository: Path) -> None:
    page, ladder = three_rungs(repository)
    say(page, LAST, "Rung 9. An idea. Against 01_atomic_per_block: it is a reason.")
    told = why(page, ladder, LAST)
    assert [told[name] for name in ("against", "gain", "why, as its source says")] == ["`atomic_per_block`", "3.00x", "it is a reason."]


def test_a_rung_for_other_sizes_is_no_measure(repository: Path) -> None:
    page, ladder = three_rungs(repository)
    say(page, LAST, "Rung 9. An idea. Against 02_grid_stride: it is a reason.")
    told = why(page, ladder, LAST)
    assert [told["against"], told["gain"]] == ["`atomic_per_block`", "3.00x"], "25 times faster than what is slow here says nothing"
    assert told["why, as its source says"] == "(against `grid_stride`) it is a reason."


def test_what_was_not_run_is_said_to_be_so(repository: Path) -> None:
    page, ladder = three_rungs(repository)
    say(page, LAST, "Rung 9. An idea. Against 01_nobody: it is a reason.")
    assert why(page, ladder, LAST)["why, as its source says"] == "(against `nobody`, not run here) it is a reason."
    say(page, LAST, "Rung 9. An idea and nothing else.")
    assert why(page, ladder, LAST)["why, as its source says"] == page.machine.variants[LAST]["idea"]


def test_a_rung_of_another_family_is_found_by_its_ladder(repository: Path) -> None:
    page, _ = three_rungs(repository)
    say(page, LAST, "Rung 9. An idea. Against scans/01_atomic_per_block: it is a reason.")
    assert reasons.of(page.root, page.machine, CELL, LAST)[0] is None, "another ladder has one of that name"


@pytest.mark.parametrize(("last", "said"), [(60.2, "1.00x ="), (60.6, "0.99x"), (20.0, "3.00x")])
def test_a_gain_within_the_noise_is_marked(repository: Path, last: float, said: str) -> None:
    page, ladder = three_rungs(repository, last)
    say(page, LAST, "Rung 9. An idea. Against 01_atomic_per_block: it is a reason.")
    assert why(page, ladder, LAST)["gain"] == said


def test_what_moved(repository: Path, small: dict[str, Any]) -> None:
    seen = [entry("grid_stride", counted({"k": (9000, 20.0)}, "membar")), entry("last_block", counted({"k": (9000, 40.0)}))]
    write(repository, seen)
    machine = page_of(repository, small).machine
    assert reasons.moved(machine, CELL, STRIDE, LAST, (Counter(), Counter())) == (
        "DRAM busy 20.0 % → 40.0 %; warps wait for a fence (40.0 %) → for global memory (40.0 %)"
    )
    code = Counter({"barriers": 9, "loads of 32 bits": 1}), Counter({"barriers": 3, "loads of 32 bits": 1, "loads of 128 bits": 4})
    assert "bits of the widest load 32 → 128" in reasons.moved(machine, CELL, STRIDE, LAST, code)
    assert reasons.moved(machine, CELL, STRIDE, STRIDE, (Counter(), Counter())) == "nothing by much"


def test_what_was_not_counted_is_not_called_unmoved(repository: Path, small: dict[str, Any]) -> None:
    assert reasons.moved(page_of(repository, small).machine, CELL, LAST, LAST, (Counter(), Counter())) == "–"
