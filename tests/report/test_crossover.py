"""When a cluster beats a grid: designs read from what was launched, and the maps and sentences made of them."""

import pytest
import synthetic
from conftest import machine_of

from rungs_report import crossover

LAUNCHED = {  # blocks, cluster_blocks, cooperative, kernels
    "one_block": (1, 1, False, 1),
    "remote_stores": (16, 16, False, 1),
    "early_ticket": (132, 1, False, 1),
    "cooperative_grid": (132, 1, True, 1),
    "grid_stride": (132, 1, False, 2),
    "two_passes": (132, 1, False, 2),
}
KI = 1 << 10


def launched(made):
    for row in made["rows"]:
        if row["rung"] in LAUNCHED:
            row["blocks"], row["cluster_blocks"], row["cooperative"], row["kernels"] = LAUNCHED[row["rung"]]


def cell(made, items, one_block, cluster, ticket, **about):
    times = {("handwritten", "one_block"): one_block, ("cluster", "remote_stores"): cluster, ("handwritten", "early_ticket"): ticket}
    times |= {("handwritten", "cooperative_grid"): 9.0, ("handwritten", "grid_stride"): 8.0, ("handwritten", "two_passes"): 7.5}
    synthetic.add_cell(made, items, {**times, ("library_baselines", "cub_device_reduce"): 6.0}, **about)


@pytest.fixture
def machine(repository):
    made = synthetic.document()
    for kind in ("f32", "i32"):
        about = {"input_type": kind, "accumulator_type": kind, "output_type": kind}
        cell(made, 1 * KI, 4.0, 4.5, 6.0, **about)
        cell(made, 64 * KI, 9.0, 5.0, 6.0, **about)
        cell(made, 1024 * KI, 90.0, 12.0, 6.5, **about)
    launched(made)
    synthetic.write_sources(repository)
    return machine_of(repository, made)


def test_designs_are_read_from_the_launch(machine):
    for found in (crossover.bests(machine, each) for each in machine.cells if each.items == 64 * KI):
        assert {name: best.variant.rung for name, best in found.items()} == {
            "one block": "one_block", "one cluster": "remote_stores", "grid, one launch": "early_ticket",
            "cooperative grid": "cooperative_grid", "grid with atomics": "grid_stride", "several kernels": "two_passes",
        }  # fmt: skip
        assert crossover.ahead(found) == pytest.approx(6.0 / 5.0)


def test_a_grid_of_clusters_is_not_one_cluster(machine):
    row = next(row for run in machine.runs for row in run.rows if row.rung == "remote_stores")
    row.values["blocks"] = 128
    assert crossover.design(machine, row.variant, row) == "grid of clusters"


def test_the_sentence_says_where_designs_overtake_each_other(machine):
    sizes = {each.items: crossover.bests(machine, each) for each in machine.cells if each.input_type == "f32"}
    assert crossover.sentence("f32 sum, cold", dict(sorted(sizes.items()))) == (
        "f32 sum, cold: one block at 1 Ki, then one cluster at 64 Ki, then grid, one launch at 1 Mi. A cluster gains most at 64 Ki: 1.20x over"
        " the best of everything else, with 16 blocks."
    )


def test_the_page_has_its_maps(machine, run, repository):
    assert run()[0] == 0
    page = (repository / "report/synthetic-gpu/reductions.md").read_text()
    page = page.split("\n## When a cluster beats a grid\n")[1].split("\n## ")[0]
    assert "then one cluster at 64 Ki" in page and "a cluster is the faster design at 64 Ki items" in page
    for name in ("heat_map_designs_reduce_f32", "heat_map_types_reduce"):
        assert f"charts/{name}.svg" in page and (repository / f"report/synthetic-gpu/charts/{name}.svg").is_file()


def test_atomics_tell_what_a_counter_elsewhere_costs(repository):
    made = synthetic.document()
    made["variants"].append(synthetic.variant("cluster", "atomics", "remote_shared", 0))
    times = {("handwritten", "shared"): 20.0, ("cluster", "remote_shared"): 320.0, ("handwritten", "global"): 480.0}
    about = {"input_type": "u32", "accumulator_type": "u32", "output_type": "u32", "shape": "addresses=4096"}
    synthetic.add_cell(made, 1 << 24, times, operation="atomics", ladder="atomics", **about)
    synthetic.write(repository / "report/data", made)
    (line, _) = crossover.atomics_by_place(machine_of(repository))
    assert "839 G" in line and "52.4 G" in line and "35.0 G" in line and "16.0x as much in a cluster and 24.0x as much in memory" in line


def test_older_rows_say_nothing(rendered):
    made = synthetic.document()
    cell(made, 1 * KI, 4.0, 4.5, 6.0)
    cell(made, 64 * KI, 9.0, 5.0, 6.0)
    folder = rendered(made)
    assert "When a cluster" not in (folder / "reductions.md").read_text()


def test_sizes_with_the_same_numbers_of_bins_are_told_together():
    assert crossover._at_sizes([(16 * KI, 256)]) == "at 16 Ki with 256 bins"
    wins = [(64 * KI, 256), (16 * KI, 4096), (16 * KI, 256), (64 * KI, 4096)]
    assert crossover._at_sizes(wins) == "at 16 Ki and 64 Ki with 256 and 4,096 bins"
    assert crossover._at_sizes([*wins, (4 * KI, 2)]) == "at 4 Ki with 2 bins and at 16 Ki and 64 Ki with 256 and 4,096 bins"
