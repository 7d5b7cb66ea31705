"""What one chip's tables are worth on another: made of two chips whose crossovers lie where their multiprocessors say."""

from pathlib import Path

import pytest
import synthetic
from conftest import machine_of

from rungs_report import data, pages, predict, tune

SIZES = [1 << power for power in range(10, 25)]
SMALL, LARGE = "synthetic-small", "synthetic-large"


def chip(gpu: str, multiprocessors: int, peak: float) -> dict:
    """One block is the fastest up to 512 items a multiprocessor, whatever the bandwidth; of scans and histograms it always is."""
    made = synthetic.document(f"2030-01-02T0{1 if gpu == SMALL else 2}0405Z-abc1234", gpu=gpu)
    made["context"]["device"] |= {"name": gpu, "multiprocessors": multiprocessors, "peak_gb_per_s": peak}
    known = {each["rung"] for each in made["variants"]}
    made["variants"] += [synthetic.variant("handwritten", "reductions", rung, 17) for rung in ("tagged_aggregates",) if rung not in known]
    for items in SIZES:
        one_block, whole = 3.0 + items / multiprocessors / 512, 4.0
        synthetic.add_cell(made, items, {**synthetic.ours(one_block=one_block, tagged_aggregates=whole), **synthetic.libraries(cub_device_reduce=9.0)})
        scan = {"operation": "inclusive_scan", "ladder": "scans"}
        synthetic.add_cell(made, items, {**synthetic.ours(one_block=3.0), **synthetic.libraries(cub_device_scan=9.0)}, **scan)
        counted = {"operation": "histogram_even", "ladder": "histograms", "operator": "", "accumulator_type": "u32", "output_type": "u32", "shape": "bins=256", "input_type": "i32", "error": 0}
        synthetic.add_cell(made, items, {**synthetic.ours(one_block=3.0), **synthetic.libraries(cub_device_histogram=9.0)}, **counted)
    return made


@pytest.fixture
def two_chips(repository: Path) -> data.Collection:
    for made in (chip(SMALL, 16, 4000.0), chip(LARGE, 128, 1000.0)):
        synthetic.write(repository / "report/data", made)
    return data.read(repository / "report/data")


def regrets(collection: data.Collection, source: str, target: str, rule: str | None) -> list[float]:
    a, b = (next(machine for machine in collection.machines if machine.gpu == gpu) for gpu in (source, target))
    scale = predict.factor(next(each for each in predict.RULES if each.says == rule), a, b) if rule else 1.0
    return predict.asked(predict.tables(a), predict.points(b), 90, scale)["reductions"].values


def test_the_right_rule_predicts_and_the_wrong_ones_do_not(two_chips: data.Collection) -> None:
    for source, target in ((SMALL, LARGE), (LARGE, SMALL)):
        assert regrets(two_chips, source, target, "multiprocessors") == pytest.approx([1.0] * len(SIZES))
        assert max(regrets(two_chips, source, target, None)) > 1.1
        assert max(regrets(two_chips, source, target, "bandwidth")) > 1.1
        assert regrets(two_chips, target, target, None) == pytest.approx([1.0] * len(SIZES))
    # Copied: at 16 to 64 Ki the small chip's table names the whole chip, which takes 4 us where one block takes 3.25 to 4.
    assert max(regrets(two_chips, SMALL, LARGE, None)) == pytest.approx(4.0 / 3.25)


def test_rows_for_older_chips_name_what_runs_there(repository: Path) -> None:
    """A cluster is the fastest wherever it runs; below, one block and then the whole chip are, which only derived rows know from where on."""
    made = chip(LARGE, 128, 1000.0)
    made["variants"].append(synthetic.variant("cluster", "reductions", tune.CLUSTER, 5, min_cc=90))
    for items in SIZES:
        made["rows"].append(synthetic.row(made, "cluster", tune.CLUSTER, items, 2.0))
    synthetic.write(repository / "report/data", made)
    large = machine_of(repository)
    tables = predict.tables(large)
    older, every = predict.points(large, older=True), predict.points(large)
    assert predict.asked(tables, every, 90)["reductions"].values == pytest.approx([1.0] * len(SIZES))
    assert predict.asked(tables, older, tune.LEAST)["reductions"].values == pytest.approx([1.0] * len(SIZES))
    assert max(predict.asked(tables, older, 0)["reductions"].values) == pytest.approx(4.0 / (3.0 + 8192 / 128 / 512))


def test_a_rung_that_was_not_measured_there_is_counted(two_chips: data.Collection) -> None:
    machine = two_chips.machines[0]
    made = {name: table.replace("tagged_aggregates", "two_passes") for name, table in predict.tables(machine).items()}
    found = predict.asked(made, predict.points(machine), 90)["reductions"]
    assert found.unknown > 0 and len(found.values) + found.unknown == len(SIZES)


def test_the_page_tells_both_directions_and_one_chip_tells_nothing(two_chips: data.Collection) -> None:
    told = "\n".join(pages.index(two_chips))
    section = told.split("## What one chip's tables are worth on another")[1]
    lines = [line.split("|") for line in section.splitlines() if line.startswith(f"| {LARGE} on {SMALL}")]
    factors = {line[2].strip(): line[3].strip() for line in lines}
    assert factors["multiprocessors"] == "0.12x" and factors["bandwidth"] == "4.00x" and "launch overhead" not in factors
    assert f"- The tables of {SMALL} on {LARGE}, copied: " in section and "not all under the 3 %" in section
    two_chips.machines.pop()
    assert "worth on another" not in "\n".join(pages.index(two_chips))
