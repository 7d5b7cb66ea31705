"""Runs of grids: kept apart from the suite's, the front door's regret on what was held out, and the whole grid of histograms."""

import pytest
import synthetic
from conftest import add_small_cell, machine_of

from rungs_report import cli, data, histograms, regret, tune

KI, MI = 1 << 10, 1 << 20
LATER, NEWER = "2030-02-03T040506Z-abc1234", "2030-03-04T050607Z-abc1234"
DOORS = [("reductions", "uninitialised"), ("histograms", "none")]
CUB = ("library_baselines", "cub_device_reduce")
COUNTS = {"operator": "", "accumulator_type": "u32", "output_type": "u32", "operation": "histogram_even", "error": 0}

HEADING = "How far the front door is from the best"


def grid(name, run=LATER):
    made = synthetic.document(run)
    made["context"]["grid"] = name
    for ladder, contract in DOORS:
        made["variants"].append(synthetic.variant("handwritten", f"front_door_of_{ladder}", "front_door", -1, workspace_contract=contract))
    return made


def cell(made, items, door, best, zeroed, cub, floor=0.01, **about):
    """A sum: the front door, a rung that takes storage as it is, one that wants it zeroed once, and CUB."""
    times = {("handwritten", "front_door"): door, ("handwritten", "two_passes"): best, ("handwritten", "early_ticket"): zeroed, CUB: cub}
    synthetic.add_cell(made, items, times, **about)
    for row in made["rows"][-4:]:
        row["workspace_contract"] = "zeroed_once" if row["rung"] == "early_ticket" else "uninitialised"
        if row["rung"] == "front_door":
            row["ladder"] = "front_door_of_reductions"
    synthetic.add_twin(made, noise_floor=floor)


def held_out():
    """Three points: one at the best, one two per cent behind it, one far behind it and behind CUB."""
    made = grid("held_out")
    cell(made, 769, door=5.0, best=5.0, zeroed=4.0, cub=6.0)
    cell(made, 196613, door=10.2, best=10.0, zeroed=8.0, cub=10.1, floor=0.03)
    cell(made, 12582917, door=30.0, best=20.0, zeroed=19.0, cub=25.0, shape="offset=1")
    return made


def one_point(run=LATER, **changes):
    made = grid("held_out", run)
    cell(made, 769, **{"door": 7.0, "best": 5.0, "zeroed": 5.0, "cub": 6.0, **changes})
    return made


def write(repository, *documents):
    for made in documents:
        synthetic.write(repository / "report/data", made)


@pytest.fixture
def suite(repository, small):
    synthetic.write(repository / "report/data", small)
    synthetic.write_sources(repository)
    return small


def machine(repository):
    found = machine_of(repository)
    return found


def points(repository, *documents):
    write(repository, *documents)
    return regret.points(machine(repository).grids["held_out"])


def page(repository, name="regret"):
    """A committed page, or the section of the regret on the front."""
    told = (repository / f"report/synthetic-gpu/{'index' if name == 'regret' else name}.md").read_text()
    return told.split(f"\n## {HEADING}\n")[1].split("\n## ")[0] if name == "regret" else told


def rendered(repository, run, *documents):
    write(repository, *documents)
    assert run()[0] == 0
    return page(repository)


def test_what_wants_zeroed_storage_is_no_rival(repository, suite):
    found = points(repository, held_out())
    assert sorted(each.behind for each in found) == pytest.approx((1.0, 1.02, 1.5))
    assert {each.best.rung for each in found} == {"front_door", "two_passes"}


def test_a_point_slower_than_cub_is_listed_by_name(repository, suite, run):
    told = rendered(repository, run, held_out())
    # Within its floor at 196,613; beyond it where the input begins off an alignment.
    assert "CUB is faster beyond the noise floor at 1 point:" in told
    assert "| f32 sum, 1 item off | 12,582,917 |" in told.split("CUB is faster beyond")[1]
    assert "15.2 % behind the fastest in the geometric mean over 3 points, which is not under the 3 %" in told
    assert "slower than CUB beyond the noise floor at 1 of 3 points" in told
    assert "66.7 %" in told  # of the points lie within the noise
    assert "Points more than 3 % and the noise floor behind the best: 1." in told
    assert "[How far from the best is what the front door chooses?](#how-far-the-front-door-is-from-the-best)" in page(repository, "index")
    assert "15.2 % behind" in page(repository, "index")


def test_a_front_door_near_the_best_is_praised(repository, suite, run):
    made = grid("held_out")
    for items, door in ((769, 5.0), (196613, 10.2), (12582917, 20.4)):
        cell(made, items, door=door, best=door / 1.02, zeroed=1.0, cub=door * 1.2)
    told = rendered(repository, run, made)
    assert "2.0 % behind the fastest in the geometric mean over 3 points, which is under the 3 %" in told
    assert "CUB is faster beyond the noise floor at no point." in told
    assert "slower than CUB beyond the noise floor at none of 3 points" in told


def test_the_notes_are_those_of_the_run(repository, suite, run):
    made = held_out()
    made["context"]["banners"] = ["another process used the GPU"]
    made["complete"] = False
    suite["context"]["banners"] = ["the fan was off"]
    told = rendered(repository, run, made, suite)
    assert "another process used the GPU" in told and "is incomplete" in told and "the fan was off" not in told
    assert "the fan was off" in page(repository, "index") and page(repository, "index").count("another process") == told.count("another process")


def test_a_wide_interval_hides_no_loss(repository, suite):
    write(repository, held_out())
    own = machine(repository).grids["held_out"]
    (lost,) = [each for each in regret.points(own) if each.loses_to_cub]
    lost.door.values |= {"speedup_low": 0.5, "speedup_high": 1.4, "verdict": "AMBIGUOUS"}
    regret.points.cache_clear()
    assert [each.cell for each in regret.points(own) if each.loses_to_cub] == [lost.cell]


def test_what_waits_for_the_host_is_no_rival(repository, suite):
    made = one_point(door=5.0, best=5.5, zeroed=5.5)
    made["rows"].append(synthetic.row(made, "handwritten", "host_finish", 769, 2.0))
    assert [each.behind for each in points(repository, made)] == [1.0]


def test_a_front_door_of_histograms_needs_no_storage(repository, suite):
    made = grid("held_out")
    times = {("handwritten", "front_door"): 12.0, ("handwritten", "overlapped_clear"): 10.0, ("library_baselines", "cub_device_histogram"): 20.0}
    synthetic.add_cell(made, 786433, times, input_type="i32", shape="bins=17", distribution="zipf", **COUNTS)
    made["rows"][-3] |= {"ladder": "front_door_of_histograms", "workspace_contract": "none"}
    assert [each.behind for each in points(repository, made)] == pytest.approx([1.2])


def test_a_cell_without_the_front_door_is_told(repository, suite, run):
    made = held_out()
    made["rows"] = [row for row in made["rows"] if row["items"] != 769 or row["rung"] != "front_door"]
    assert "The front door has no time in 1 cell: f32 sum at 769." in rendered(repository, run, made)


def test_the_newest_run_of_a_cell_counts(repository, suite):
    found = {each.cell.items: each.behind for each in points(repository, held_out(), one_point(NEWER))}
    assert found == pytest.approx({769: 1.4, 196613: 1.02, 12582917: 1.5})


def test_each_release_of_cccl_is_a_point_of_its_own(repository, suite, run):
    made = one_point(NEWER)
    made["context"]["versions"]["cccl"] = "3.5.0"
    told = rendered(repository, run, held_out(), made)
    assert "over 4 points" in told and "| f32 sum, CCCL 3.5.0 " in told and "slower than CUB beyond the noise floor at 2 of 4 points" in told


def test_without_such_a_run_there_is_no_page(repository, suite, run):
    write(repository, held_out())
    assert run("render", "--readme", str(repository / "README.md"))[0] == 0
    everywhere = [repository / "README.md", repository / "report/index.md", repository / "report/synthetic-gpu/index.md"]
    assert all("index.md#how-far-the-front-door-is-from-the-best)" in each.read_text() for each in everywhere[:2])
    assert HEADING in everywhere[2].read_text() and "(#how-far-the-front-door-is-from-the-best)" in everywhere[2].read_text()
    (repository / f"report/data/synthetic-gpu/{LATER}.json").unlink()
    assert run("render", "--readme", str(repository / "README.md"))[0] == 0
    assert not any(HEADING in each.read_text() or "#how-far-the-front-door-is-from-the-best" in each.read_text() for each in everywhere)
    assert "Not measured yet: `bench/run --grid=held_out`" in page(repository, "index")


def test_a_run_with_sizes_that_were_tuned_on_is_refused_whole(repository, suite, run):
    made = held_out()
    cell(made, 16 * MI, door=30.0, best=20.0, zeroed=20.0, cub=25.0)
    write(repository, made)
    code, out, err = run()
    assert code == 1 and "holds out what other runs have: reduce of 16777216 items" in err
    assert "Not measured yet" in page(repository, "index")
    found = data.read(repository / "report/data")
    assert not found.machines[0].grids and sum(map(int, (found.rows_out, found.twins, found.faults, found.rows_refused))) == found.rows_in


def test_what_the_grid_of_histograms_has_is_not_held_out_either(repository, suite, run):
    """Tables are made of it, too, whichever of the two was measured first."""
    for name in ("2030-01-01T040506Z-abc1234", "2030-12-01T040506Z-abc1234"):
        made = grid("histograms", name)
        cell(made, 769, door=5.0, best=5.0, zeroed=4.0, cub=6.0)
        path = synthetic.write(repository / "report/data", made)
        write(repository, held_out())
        code, _, err = run()
        assert code == 1 and "holds out what other runs have: reduce of 769 items" in err
        path.unlink()


def test_a_grid_without_a_run_of_the_suite_waits(repository, run):
    write(repository, held_out())
    code, _, err = run()
    assert code == 0 and "no run of the suite on that GPU lies beside it" in err


def test_an_unknown_grid_is_refused(suite, run_of):
    code, _, err = run_of(grid("everything"))
    assert code == 1 and "context.grid 'everything'" in err


def test_a_grid_changes_no_table_and_no_other_page(repository, suite, run, tmp_path):
    assert run()[0] == 0
    before = {path.name: path.read_text() for path in (repository / "report/synthetic-gpu").glob("*.md")}
    tables = tune.files(data.read(repository / "report/data"))
    write(repository, held_out())
    assert tune.files(data.read(repository / "report/data")) == tables
    assert run()[0] == 0 and run("site")[0] == 0
    after = {path.name: path.read_text() for path in (repository / "report/synthetic-gpu").glob("*.md")}
    assert {name for name in after if after[name] != before.get(name)} == {"index.md"}
    lines = (repository / "report/site/synthetic-gpu/results.csv").read_text().splitlines()
    assert len(lines) == 1 + 3 + 12 and sum("offset=1" in line for line in lines) == 4


def test_comparing_gpus_leaves_grids_out(repository, suite, capsys):
    write(repository, held_out())
    folder = str(repository / "report/data/synthetic-gpu")
    assert cli.main(["compare", folder, folder]) == 0
    assert "1 run" in capsys.readouterr().out


# ---- the grid of histograms


def count(made, input_type, bins, items, distribution, clear, hot, cub):
    times = {("handwritten", "overlapped_clear"): clear, ("handwritten", "bin_ranges"): hot}
    times |= {("library_baselines", "cub_device_histogram"): cub} if cub else {}
    synthetic.add_cell(made, items, times, input_type=input_type, shape=f"bins={bins}", distribution=distribution, **COUNTS)


@pytest.fixture
def whole(repository, suite):
    """Two kinds of samples and three of bins: one rung is best where samples are uniform, the other never far behind."""
    made = grid("histograms")
    for input_type in ("u8", "i32"):
        for bins in (64, 256):
            for items in (64 * KI, 16 * MI):
                count(made, input_type, bins, items, "uniform", clear=11.0, hot=10.0, cub=20.0)
                count(made, input_type, bins, items, "zipf", clear=12.0, hot=30.0, cub=24.0)
    count(made, "i32", 4096, 64 * KI, "uniform", clear=11.0, hot=12.0, cub=10.0)  # CUB wins
    made["rows"].append({**made["rows"][-3], "rung": "front_door", "ladder": "front_door_of_histograms", "workspace_contract": "none"})
    count(made, "u8", 4096, 64 * KI, "uniform", clear=11.0, hot=12.0, cub=None)
    about = COUNTS | {"input_type": "u8", "shape": "bins=4096"}
    synthetic.add_fault(made, "cub_device_histogram", 64 * KI, "wrong", "bin 0 counts 0 instead of 65,536", **about)
    add_small_cell(suite)
    suite["rows"] = suite["rows"][:3]
    count(suite, "u8", 256, MI, "uniform", clear=11.0, hot=12.0, cub=20.0)
    synthetic.write(repository / "report/data", suite)
    synthetic.write(repository / "report/data", made)
    return repository


def test_the_recommended_rung_is_best_at_its_worst(whole):
    own = machine(whole).grids["histograms"]
    best, one = histograms.of_best(own), histograms.of_recommended(own)
    setting = data.Cell("histogram_even", "", "i32", "u32", "u32", "bins=64", "uniform", "cold", 64 * KI)
    assert best[setting][0].rung == "bin_ranges" and best[setting][1].value == pytest.approx(2.0)
    assert one[setting][0].rung == "overlapped_clear" and one[setting][1].value == pytest.approx(20 / 11)


def test_the_grid_tells_its_losses_and_what_cub_gets_wrong(whole, run, whole_page):
    assert run()[0] == 0
    told = page(whole, "histograms").split("## The whole grid")[1].split("\n## ")[0]
    assert "The best rung is faster than CUB in 16 of 17 cells, level in 0, slower in 1; its lowest speed-up is 0.91x (i32, 4,096 bins, uniform, 64 Ki)." in told
    assert told.count("| i32     | 4,096 | 64 Ki | uniform") == 3  # by the best rung, the recommended one and the front door
    assert "The front door is faster than CUB in 0 of 1 cell, level in 0, slower in 1" in told
    assert "no win: 1 wrong" in told and "the best rung's speed-up / the recommended one's" in told
    everything = whole_page("histograms").split("## The whole grid")[1].split("\n## ")[0]
    assert "2.00x / 1.82x" in everything and "CUB wrong" in everything
    for items in (64 * KI, 16 * MI):
        assert (whole / f"report/synthetic-gpu/charts/histograms_heat_map_grid_{items}.svg").is_file()


def test_without_the_grid_the_page_says_so(repository, suite, run, rendered):
    count(suite, "u8", 256, MI, "uniform", clear=11.0, hot=12.0, cub=20.0)
    rendered(suite)
    assert "Not measured yet: `bench/run --grid=histograms` measures it." in page(repository, "histograms")
