"""The front door's tables: the committed ones are what the generator writes, and what it writes follows from the times."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import synthetic
from conftest import machine_of

from rungs_report import cli, data, tune

REPOSITORY = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^    \{(.*)\},  // (.*)$")


@pytest.fixture
def one_gpu(tmp_path: Path) -> Path:
    """The results of one GPU, that whose runs made the tables: of two with one compute capability there are no tables."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "nvidia-h200").symlink_to(REPOSITORY / "report" / "data" / "nvidia-h200")
    return folder


def rows(table: str) -> list[list[str]]:
    return [match[1].split(", ") for line in table.splitlines() if (match := ROW.match(line))]


def test_the_committed_tables_come_from_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tune", "--check"]) == 0, capsys.readouterr()


def test_a_table_that_differs_is_told_and_rewritten(one_gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["tune", "--data", str(one_gpu), "--out", str(tmp_path)]
    assert cli.main(call) == 0
    (tmp_path / "scan.cuh").write_text("// by hand\n")
    assert cli.main([*call, "--check"]) == 1
    assert "scan.cuh is not what the generator writes" in capsys.readouterr().err
    assert cli.main(call) == 0
    assert cli.main([*call, "--check"]) == 0


def test_tables_name_their_runs_and_a_later_one_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machines = data.read(REPOSITORY / "report" / "data", earlier=True).machines
    known = {run.name for machine in machines for run in tune.with_grid(machine).runs}
    named = tune.named_runs(tune.folder(REPOSITORY))
    assert named and set(named) <= known  # others may have been measured since
    of_scans = (tune.folder(REPOSITORY) / "scan.cuh").read_text()
    one = next(name for name in named if name in of_scans and any(run.name == name for machine in machines for run in machine.runs))
    assert cli.main(["tune", "--out", str(tmp_path), "--runs", one]) == 0
    assert tune.named_runs(tmp_path) == [one]
    assert cli.main(["tune", "--check", "--out", str(tmp_path)]) == 0
    (tmp_path / "scan.cuh").write_text((tmp_path / "scan.cuh").read_text().replace(one, "2030-01-02T030405Z-abc1234"))
    assert cli.main(["tune", "--check", "--out", str(tmp_path)]) == 2
    assert "there is no run 2030-01-02T030405Z-abc1234" in capsys.readouterr().err


def test_a_rung_that_was_edited_since_leaves_the_tables_alone(repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = repository / "report/data", tmp_path / "tables"
    out.mkdir()
    made = synthetic.document("2030-01-02T010405Z-abc1234")
    synthetic.add_cell(made, 1 << 20, {("handwritten", "one_block"): 8.0, ("library_baselines", "cub_device_reduce"): 10.0})
    synthetic.write(folder, made)
    call = ["tune", "--data", str(folder), "--out", str(out)]
    assert cli.main(call) == 0
    (repository / "tests").mkdir()
    record = {"family": "handwritten", "ladder": "reductions", "rung": "one_block", "outcome": "pending"}
    (repository / "tests/gpu_record.json").write_text(json.dumps({"records": [record]}))
    assert cli.main([*call, "--check"]) == 0, capsys.readouterr()
    before = (out / "reduce.cuh").read_text()
    assert "reduce_rung::one_block},  // at 1 Mi 8.00 us" in before
    cli.main(call)  # but new ones are made without it
    assert "// at 1 Mi 8.00 us" not in (out / "reduce.cuh").read_text()


def test_an_earlier_run_is_on_no_page_but_the_tables_may_name_it(repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = repository / "report/data", tmp_path / "tables"
    out.mkdir()
    replaced, newer = "2030-01-02T010405Z-abc1234", "2030-01-02T020405Z-abc1234"
    for name, us in ((replaced, 8.0), (newer, 9.0)):
        made = synthetic.document(name)
        times = {("handwritten", "one_block"): us, ("library_baselines", "cub_device_reduce"): 10.0}
        synthetic.add_cell(made, 1 << 20, times)
        synthetic.write(folder, made)
    call = ["tune", "--data", str(folder), "--out", str(out)]
    assert cli.main([*call, "--runs", replaced]) == 0
    (written,) = folder.glob(f"*/{replaced}.json")
    (written.parent / data.EARLIER).mkdir()
    written.rename(written.parent / data.EARLIER / written.name)
    assert [run.name for machine in data.read(folder).machines for run in machine.runs] == [newer]
    assert [run.name for machine in data.read(folder, earlier=True).machines for run in machine.runs] == [replaced, newer]
    assert cli.main(["compare", replaced, newer, "--data", str(folder)]) != 2, capsys.readouterr()
    assert cli.main([*call, "--check"]) == 0, capsys.readouterr()
    assert cli.main(call) == 0
    assert tune.named_runs(out) == [newer]


def test_a_grid_alone_makes_no_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grids = [run.name for machine in data.read(REPOSITORY / "report" / "data").machines if data.HISTOGRAMS in machine.grids for run in machine.grids[data.HISTOGRAMS].runs]
    assert cli.main(["tune", "--out", str(tmp_path), "--runs", *grids]) == 2
    assert "name one of the suite, too" in capsys.readouterr().err


def test_without_results_the_tables_are_conservative_and_whole(tmp_path: Path) -> None:
    tables = tune.files(data.read(tmp_path))
    assert all("on no GPU yet" in table for table in tables.values())
    for name in ("reduce.cuh", "scan.cuh"):
        assert {(row[0], *row[1:3]) for row in rows(tables[name])} == {("operators::sum", "0", "0")}
    assert [row[:5] for row in rows(tables["histogram.cuh"])][::2] == [["false", "0", "0", "0", "0"], ["true", "0", "0", "0", "0"]]


def test_every_table_ascends_and_every_group_begins_with_nothing(one_gpu: Path) -> None:
    for table in tune.files(data.read(one_gpu)).values():
        groups: dict[str, list[tuple[int, ...]]] = {}
        for row in rows(table):
            groups.setdefault(row[0], []).append(tuple(map(int, row[1:-1])))
        for kind, steps in groups.items():
            assert steps == sorted(set(steps))
            if kind in ("operators::order", "operators::any"):  # elsewhere the rows of sums answer
                own, of_sums = ({step[:-1] for step in each if step[-1] == 0} for each in (steps, groups["operators::sum"]))
                assert {step[:-1] for step in steps} == own and own <= of_sums
                continue
            # The first row of each prefix has zeros behind it: else a question could fall between two groups.
            for length in range(1, len(steps[0])):
                for prefix in {step[:length] for step in steps}:
                    assert next(step for step in steps if step[:length] == prefix)[length:] == (0,) * (len(steps[0]) - length)


def cell(items: int) -> data.Cell:
    return data.Cell("reduce", "plus", "f32", "f32", "f32", "", "uniform", "cold", items)


def measured(*of: tuple[int, dict[str, float]]) -> list[tune.Times]:
    return [tune.Times(cell(items), ("run",), times, 9.0) for items, times in of]


def chosen(times: list[tune.Times]) -> list[tuple[int, str]]:
    return [(step.begins, step.rung) for step in tune.steps(times, tune.middle)]


def test_a_step_begins_where_the_times_cross_between_two_sizes() -> None:
    """a and b cross at 1,692 items, c is the fastest from 2,000 to 8,000: each step begins at the next of the sixteenths of its gap."""
    times = ((1000, {"a": 2.0, "b": 2.5}), (10000, {"a": 9.0, "b": 3.0}))
    assert chosen(measured((100, {"a": 1.0, "b": 2.0}), *times)) == [(0, "a"), (1779, "b")]
    third = measured((1000, {"a": 1.0, "b": 9.0, "c": 1.5}), (10000, {"a": 5.5, "b": 1.0, "c": 1.5}))
    (first, middle, last) = chosen(third)
    assert first == (0, "a") and middle[1] == "c" and 2000 < middle[0] < 2000 * 10 ** (2 / 16)
    assert last[1] == "b" and 9438 < last[0] <= 10000  # b overtakes c at 9,438
    assert tune.steps(third, tune.middle)[1].evidence == "estimated between 1,000 and 10,000"


def test_where_nothing_tells_a_step_begins_behind_the_last_size_of_the_rung_before() -> None:
    assert chosen(measured((100, {"a": 1.0}), (1000, {"b": 2.5}))) == [(0, "a"), (101, "b")]


def test_a_rung_is_kept_while_another_gains_too_little() -> None:
    assert chosen(measured((100, {"a": 1.0, "b": 2.0}), (1000, {"a": 2.05, "b": 2.0}))) == [(0, "a"), (1000, "b")]
    assert chosen(measured((100, {"a": 1.0, "b": 2.0}), (1000, {"a": 2.01, "b": 2.0}))) == [(0, "a")]


def left_out(machine: data.Machine, operation: str, first: int) -> tuple[list[float], list[float]]:
    """Every other power of two is left out of f32 sums: the regrets there of steps that are estimated, and of steps that begin behind the
    last size of the rung before."""
    candidates = tune.REDUCE if operation == "reduce" else tune.SCAN
    problem = data.Cell(operation, "plus", "f32", "f32", "f32", "", "uniform", "cold", 0)
    found = [each for each in tune.times(machine, machine.cells, candidates) if each.cell.problem == problem and each.cell.items.bit_count() == 1]
    found.sort(key=lambda each: each.cell.items)
    known, asked = found[first::2], found[first + 1 : -1 : 2]
    estimated = chosen(known)
    coarse = [(max((each.cell.items + 1 for each in known if each.cell.items < begins), default=0), rung) for begins, rung in estimated]

    def regrets(steps: list[tuple[int, str]]) -> list[float]:
        named = [(each, [rung for begins, rung in steps if begins <= each.cell.items][-1]) for each in asked]
        return [each.of[rung] / min(each.of.values()) for each, rung in named if rung in each.of]

    return regrets(estimated), regrets(coarse)


def test_estimated_steps_come_nearer_to_sizes_that_were_left_out() -> None:
    estimated, coarse = [], []
    for machine in data.read(REPOSITORY / "report" / "data").machines:
        for operation in ("reduce", "inclusive_scan"):
            for first in (0, 1):
                own = left_out(machine, operation, first)
                estimated += own[0]
                coarse += own[1]
    assert len(estimated) == len(coarse) > 50
    assert tune.middle(estimated) < tune.middle(coarse) < 1.02


def test_chips_below_all_that_were_measured_take_rungs_that_run_there(one_gpu: Path) -> None:
    collection = data.read(one_gpu)
    (machine,) = collection.machines
    newer = {name for candidates in (tune.REDUCE, tune.SCAN, tune.HISTOGRAM) for name, variant in candidates.items() if machine.variants[variant]["min_cc"] > tune.LEAST}
    assert newer == {"compact_cluster", "claimed_pipeline"}
    for name, table in tune.files(collection).items():
        of_least = [row for row in rows(table) if row[1] == str(tune.LEAST)]
        assert of_least and not any(row[-1].split("::")[1] in newer for row in of_least), name
        assert any(row[1] == "90" and row[-1].split("::")[1] in newer for row in rows(table)), name
        assert f"// Rows of {tune.LEAST} are derived" in table


def test_a_rung_that_was_not_measured_everywhere_is_not_taken() -> None:
    times = measured((100, {"a": 1.0, "b": 2.0}), (100, {"b": 2.0}), (1000, {"b": 3.0}))
    assert chosen(times) == [(0, "b")]


def test_of_distributions_the_worst_one_counts() -> None:
    times = measured((100, {"even": 2.0, "uneven": 1.0}), (100, {"even": 2.0, "uneven": 9.0}))
    assert [step.rung for step in tune.steps(times, max)] == ["even"]


def test_two_gpus_of_one_capability_are_refused() -> None:
    machine = next(m for m in data.read(REPOSITORY / "report" / "data").machines if m.device)
    with pytest.raises(data.Unusable, match="two GPUs of one compute capability.* --gpu"):
        tune.files(data.Collection([machine, machine], [], 0, 0))


def test_one_of_two_gpus_of_one_capability_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine" / "rungs" / "tuning"  # made where it is not there
    assert cli.main(["tune", "--gpu", "nvidia-h100-80gb-hbm3", "--out", str(out)]) == 0
    table = (out / "scan.cuh").read_text()
    assert "Measured on NVIDIA H100 80GB HBM3." in table and "H200" not in table
    assert cli.main(["tune", "--gpu", "voodoo", "--out", str(out)]) == 2
    assert "there are no results of voodoo; there are those of nvidia-h100-80gb-hbm3 and nvidia-h200" in capsys.readouterr().err


def test_tables_before_the_library_on_the_include_path_are_taken(tmp_path: Path) -> None:
    """No header includes a table by a relative path."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        pytest.skip("no nvcc")
    own = [tmp_path / "rungs" / "tuning" / f"{name}.cuh" for name in ("histogram", "reduce", "scan")]
    own[0].parent.mkdir(parents=True)
    for table in own:
        shutil.copy(tune.folder(REPOSITORY) / table.name, table)
    source = tmp_path / "program.cu"
    source.write_text("".join(f"#include <rungs/device/device_{table.stem}.cuh>\n" for table in own))
    library = [REPOSITORY / folder for folder in ("best", "handwritten", "cluster")]
    command = [nvcc, "-M", "-std=c++20", *(f"-I{folder}" for folder in (tmp_path, *library)), str(source)]
    read = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert {path for path in read if "/tuning/" in path and not path.endswith("/table.cuh")} == set(map(str, own))


def test_runs_that_lack_a_rung_meet_by_cub(repository) -> None:
    """A rung that was measured in one run alone, on a slower day, is compared as if both had run on one."""
    for hour, slower, rungs in ((1, 1.0, {"two_passes": 10.0, "one_block": 20.0}), (2, 1.5, {"two_passes": 10.0, "tagged_aggregates": 9.0})):
        made = synthetic.document(f"2030-01-02T0{hour}0405Z-abc1234")
        times = {("handwritten", rung): us * slower for rung, us in rungs.items()}
        synthetic.add_cell(made, 1 << 20, {**times, ("library_baselines", "cub_device_reduce"): 12.0 * slower})
        if hour == 2:
            known = {each["rung"] for each in made["variants"]}
            made["variants"] += [synthetic.variant("handwritten", "reductions", rung, 16) for rung in rungs if rung not in known]
        synthetic.write(repository / "report/data", made)
    machine = machine_of(repository)
    (found,) = tune.times(machine, machine.cells, tune.REDUCE)
    ratio = found.of["tagged_aggregates"] / found.of["two_passes"]
    assert ratio == pytest.approx(0.9) and found.of["one_block"] / found.of["two_passes"] == pytest.approx(2.0)
    assert found.cub == pytest.approx(15.0) and len(found.runs) == 2


def test_even_bins_say_nothing_about_more_edges_than_were_measured(repository) -> None:
    """Where there are edges, their own rung counts; even bins fill a size; and beyond the most edges the tables do not follow even bins."""
    made = synthetic.document()
    known = {each["rung"] for each in made["variants"]}
    rungs = ("split_bins", "overlapped_clear", "hot_bins")
    made["variants"] += [synthetic.variant("handwritten", "histograms", rung, 20 + i) for i, rung in enumerate(rungs) if rung not in known]

    def add(operation: str, bins: int, items: int, best: str) -> None:
        times = {("handwritten", rung): 5.0 if rung == best else 9.0 for rung in rungs}
        about = {"operation": operation, "operator": "", "ladder": "histograms", "shape": f"bins={bins}", "input_type": "i32"}
        synthetic.add_cell(made, items, {**times, ("library_baselines", "cub_device_histogram"): 20.0}, **about)

    add("histogram_range", 256, 1 << 20, "split_bins")
    add("histogram_even", 256, 1 << 16, "overlapped_clear")
    add("histogram_even", 256, 1 << 20, "hot_bins")
    add("histogram_even", 65536, 1 << 16, "hot_bins")
    synthetic.write(repository / "report/data", made)
    table = tune.files(data.read(repository / "report/data"))["histogram.cuh"]
    measured_rows = [row[3:] for row in rows(table) if row[0] == "true" and row[1] == "90"]
    many = f"{tune.MANY_SAMPLES}"
    assert measured_rows == [
        ["0", "0", "histogram_rung::overlapped_clear"],
        ["0", "65537", "histogram_rung::split_bins"],
        ["257", "0", "histogram_rung::split_bins"],
        ["65537", "0", "histogram_rung::split_bins"],
        ["65537", many, "histogram_rung::hot_bins"],
    ]
