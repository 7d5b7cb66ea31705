"""The committed pages are what the generator makes of the committed results, and those follow from what was measured."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from jsonschema import ValidationError

from rungs_report import charts, cli, data

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = [file for folder in sorted((REPOSITORY / "report" / "data").glob("*/")) for file in data.result_files(folder)]
CELL = ("operation", "operator", "input_type", "accumulator_type", "items", "shape", "distribution", "mode")


@pytest.fixture
def checked_grammar() -> Iterator[None]:
    charts.check_grammar = alt.LayerChart.validate
    yield
    charts.check_grammar = None


def test_pages_come_from_the_data(capsys: pytest.CaptureFixture[str], checked_grammar: None) -> None:
    if not RESULTS:
        pytest.skip("no results are committed")
    assert cli.main(["check", "--root", str(REPOSITORY)]) == 0, capsys.readouterr()


def test_a_chart_against_the_grammar_is_refused(checked_grammar: None) -> None:
    drawing, rows, point = charts.Drawing(), [{"n": 1}], {"type": "point"}
    good = drawing.layer(rows, point, x=charts.field("n:Q"))
    assert drawing.finish("good", "", [good]).spec["data"] == {"name": "rows_0"}
    for mark, x in (({**point, "fontsize": 9}, {}), ({**point, "opacity": "high"}, {}), (point, {"scale": {"kind": "log"}})):
        with pytest.raises(ValidationError):
            drawing.finish("bad", "", [good, drawing.layer(rows, mark, x=charts.field("n:Q", **x))])


PAGES = (
    "index.md", "reductions.md", "scans.md", "histograms.md", "dots.md", "extrema.md", "selections.md", "top_k.md", "rows.md", "torch.md", "accuracy.md", "across.md", "by_key.md", "inference.md", "others.md", "costs.md", "claims.md", "front_door.md",
)  # fmt: skip


def test_pages_are_few_and_short() -> None:
    for folder in {path.parent.name for path in RESULTS} - {"earlier"}:
        pages = {page.name: page.read_text(encoding="utf-8") for page in (REPOSITORY / "report" / folder).glob("*.md")}
        assert pages.keys() <= set(PAGES)
        for name, page in pages.items():
            assert len(page.splitlines()) <= 610, name
            assert "\nOn this page: " in page[: page.index("\n## ")], name


def cell(of: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(of[name] for name in CELL)


def noise_floor(twins: list[dict[str, Any]]) -> float:
    """How far CUB lies from itself: the most, and of a hundred or more the 99th percentile."""
    apart = sorted(abs(math.log(twin["ratio"])) for twin in twins)
    position = (len(apart) - 1) * (1.0 if len(apart) < 100 else 0.99)
    below = int(position)
    above = min(below + 1, len(apart) - 1)
    return math.expm1(apart[below] + (position - below) * (apart[above] - apart[below]))


def verdict(ratio: float, low: float, high: float, floor: float) -> str:
    if low > 1 and ratio > 1 + floor:
        return "FASTER"
    if high < 1 and ratio < 1 / (1 + floor):
        return "SLOWER"
    return "AMBIGUOUS" if high - low > 0.10 else "SAME"


def intervals(low: float, high: float) -> list[tuple[float, float]]:
    """What it may have been: an end at 1 may have been rounded to it."""
    return [(low, high), (low + 1e-7 * (low == 1), high - 1e-7 * (high == 1))]


def ratios(ratio: float) -> list[float]:
    """What it may have been: it was rounded to seven digits, and may lie on the floor."""
    return [ratio * (1 - 5e-7), ratio, ratio * (1 + 5e-7)]


@pytest.mark.parametrize("path", RESULTS, ids=data.stem)
def test_noise_floors_and_verdicts_follow_from_the_twins(path: Path) -> None:
    """The rule of SCHEMA.md, said a second time: a floor comes from the twins of like shape and footprint."""
    results = data.parse(path)
    footprint = {cell(row): row["bytes"] for row in results["rows"]}
    floors = {}
    held = {id(twin): footprint[cell(twin)] for twin in results["twins"]}
    for twin in results["twins"]:
        others = [one for one in results["twins"] if one is not twin and one["mode"] == twin["mode"]]
        of_shape = [one for one in others if one["shape"] == twin["shape"]]
        alike = [one for one in of_shape if 1 / 4.01 <= held[id(one)] / held[id(twin)] <= 4.01]
        floors[cell(twin)] = noise_floor(alike if len(alike) >= 5 else of_shape or others)
        assert twin["noise_floor"] == pytest.approx(floors[cell(twin)], abs=2e-6), twin
        found = {verdict(each, *ends, floors[cell(twin)]) for each in ratios(twin["ratio"]) for ends in intervals(twin["low"], twin["high"])}
        assert twin["different"] in {each in ("FASTER", "SLOWER") for each in found}, twin
    assert floors
    for row in results["rows"]:
        ratio, low, high = row["speedup_over_cub"], row["speedup_low"], row["speedup_high"]
        # CUB's fastest is what the others are compared with.
        if ratio is None or low is None or low == high == 1:
            continue
        floor = floors.get(cell(row), 0.01)
        assert row["verdict"] in {verdict(each, *ends, floor) for each in ratios(ratio) for ends in intervals(low, high)}, row
