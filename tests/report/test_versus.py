"""report/run compare: two runs on one GPU, two GPUs, and what cannot be compared."""

import copy
import json
import subprocess

import pytest
import synthetic
from rungs_report import cli, data, versus

MI = 1 << 20


def one(run="2030-01-02T030405Z-abc1234", gpu=synthetic.GPU, **times):
    made = synthetic.document(run, gpu=gpu)
    for items in (MI, 16 * MI):
        named = {"last_block": 20.0, "early_ticket": 19.0, "cub_device_reduce": 22.0} | times
        families = {("library_baselines" if name.startswith("cub") else "handwritten", name): time for name, time in named.items()}
        synthetic.add_cell(made, items, families)
        synthetic.add_cell(made, items, {("library_baselines", "host_serial"): 100.0}, mode="host")
    return made


@pytest.fixture
def call(tmp_path, capsys):
    def compared(a, b, *more):
        paths = [tmp_path / "before.json", tmp_path / "after.json"]
        for path, made in zip(paths, (a, b), strict=True):
            path.write_text(made if isinstance(made, str) else json.dumps(made))
        code = cli.main(["compare", *map(str, paths), *more])
        told = capsys.readouterr()
        return code, told.out, told.err

    return compared


LATER = "2030-01-02T040405Z-abc1234"


def lines(out, verdict):
    return [line for line in out.splitlines() if line.startswith(f"| {verdict}")]


def test_the_same_run_twice_is_no_regression(call):
    code, out, err = call(one(), one(LATER))
    assert (code, err) == (0, "") and not lines(out, "SLOW") and not lines(out, "FAST")
    assert "6 cases in both: 0 SLOW, 0 FAST, 0 AMBIGUOUS, 6 SAME; only in A 0, only in B 0" in out and "no regression of ours" in out


def test_a_regression_is_told_and_fails(call):
    code, out, _ = call(one(), one(LATER, last_block=21.0, early_ticket=17.0))
    slow, fast = lines(out, "SLOW"), lines(out, "FAST")
    assert code == 1 and len(slow) == len(fast) == 2 and "regressions of ours: 2" in out
    assert "last_block" in slow[0] and "1.05x" in slow[0] and "early_ticket" in fast[0] and "0.89x" in fast[0]
    assert call(one(), one(LATER, last_block=19.0))[0] == 0, "what got faster is no regression"


def test_a_library_that_got_slower_is_told_but_is_no_regression_of_ours(call):
    code, out, _ = call(one(), one(LATER, cub_device_reduce=30.0))
    assert code == 0 and not lines(out, "SLOW") and "no regression of ours" in out and "of libraries 2 SLOW and 0 FAST" in out
    code, out, _ = call(one(), one(LATER, cub_device_reduce=30.0), "--libraries")
    assert code == 0 and len(lines(out, "SLOW")) == 2 and "of libraries" not in out


def test_libraries_of_two_releases_are_not_compared(call):
    newer = one(LATER, cub_device_reduce=30.0)
    newer["context"]["versions"]["cccl"] = "3.5.0"
    code, out, _ = call(one(), newer, "--all")
    assert code == 0 and "4 cases in both: 0 SLOW" in out and "cub_device_reduce" not in out


@pytest.mark.parametrize(
    ("options", "cases"),
    [
        (["--variant=last_block"], 2), (["--variant=last_block,early_ticket", "--size=1Mi"], 2), (["--family=library_baselines"], 2),
        (["--size=2Mi:1Gi"], 3), (["--size=1Mi:16Mi"], 6), (["--size=1048576,16Mi", "--type=f32", "--mode=cold", "--operation=reduce"], 6),
        (["--type=f32:f32"], 6),
    ],
)  # fmt: skip
def test_filters_choose_cases(call, options, cases):
    code, out, err = call(one(), one(LATER), *options)
    assert (code, err) == (0, "") and f"{cases} cases in both" in out and "only in A 0, only in B 0" in out


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--variant=nobody", "--variant: nothing that was measured is called 'nobody'"),
        ("--family=written", "there are cluster, handwritten, library_baselines"), ("--operation=sum", "there are reduce"), ("--type=f12", "'f12'"),
        ("--mode=lukewarm", "'lukewarm'"), ("--size=many", "'many' is no number of items"), ("--size=1Gi:1Ki", "'1Gi:1Ki' is no range"),
        ("--size=1:2:3", "is no range"), ("--size=77", "no case in common that passes the filters"),
    ],
)  # fmt: skip
def test_a_filter_that_fits_nothing_is_named(call, option, told):
    code, out, err = call(one(), one(LATER), option)
    assert code == 2 and not out and told in err and err.count("\n") == 1


def test_a_threshold_is_the_least_difference_that_counts(call):
    after = one(LATER, last_block=21.0, early_ticket=22.0)  # 5 % and 16 % slower
    code, out, _ = call(one(), after, "--threshold=8%", "--all")
    assert code == 1 and len(lines(out, "SLOW")) == 2 and "8.0 %" in out and "differences under 8 % count as none" in out
    assert call(one(), after, "--threshold=20")[0] == 0
    with pytest.raises(SystemExit, match="2"):
        call(one(), after, "--threshold=much")


def test_json_and_markdown(call, tmp_path):
    code, out, _ = call(one(), one(LATER, last_block=21.0), "--json=-", "--variant=last_block", "--threshold=1%")
    told = json.loads(out)
    assert code == 1 and told["schema"] == versus.SCHEMA and told["regressions"] == 2 and told["threshold"] == 0.01
    assert told["counts"] == {"SLOW": 2, "FAST": 0, "AMBIGUOUS": 0, "SAME": 0} and told["filters"] == {"variant": ["last_block"]}
    case = told["cases"][0]
    assert (case["verdict"], case["rung"], case["items"], case["a_us"], case["b_us"]) == ("SLOW", "last_block", MI, 20.0, 21.0)
    assert case["ratio"] == pytest.approx(1.05) and case["low"] < 1.05 < case["high"] and told["a"]["runs"] == [one()["run"]]
    paths = [tmp_path / "new" / name for name in ("c.json", "c.md")]
    code, out, _ = call(one(), one(LATER, last_block=21.0), f"--json={paths[0]}", f"--md={paths[1]}")
    assert code == 1 and paths[1].read_text() == out and len(json.loads(paths[0].read_text())["cases"]) == 6
    assert call(one(), one(LATER, last_block=21.0), "--md=-")[1] == out


def test_against_what_is_committed(tmp_path, capsys):
    source = tmp_path / "data"
    synthetic.write(source, one())
    fresh = synthetic.write(tmp_path / "fresh", one(LATER, last_block=21.0))
    assert cli.main(["compare", str(fresh), "--against=committed", "--data", str(source)]) == 1
    out = capsys.readouterr().out
    assert len(lines(out, "SLOW")) == 2 and "A: Synthetic GPU 9000, card 1a2b3c4d, 1 run (2030-01-02T030405Z-abc1234)" in out
    # A run that bench/run left among the committed ones is not compared with itself.
    inside = synthetic.write(source, one(LATER, last_block=21.0))
    assert cli.main(["compare", str(inside), "--against=committed", "--data", str(source)]) == 1
    capsys.readouterr()
    # Nor with others that are not committed yet.
    git = ["git", "-C", str(source), "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", f"{synthetic.GPU}/{one()['run']}.json"]):
        subprocess.run([*git, *arguments], check=True)
    third = synthetic.write(tmp_path / "fresh", one("2030-01-02T050405Z-abc1234", last_block=21.0))
    assert cli.main(["compare", str(third), "--against=committed", "--data", str(source)]) == 1
    assert "1 run (2030-01-02T030405Z-abc1234)" in capsys.readouterr().out


def test_what_cannot_be_compared_with_what_is_committed(tmp_path, capsys):
    other = synthetic.write(tmp_path / "fresh", one(LATER, gpu="synthetic-other"))
    synthetic.write(tmp_path / "data", one())
    for arguments, told in (
        ([str(other), "--against=committed"], f"no other results of synthetic-other; it has {synthetic.GPU}"),
        ([str(other), str(other), "--against=committed"], "takes two results, or one and --against=committed"), ([str(other)], "takes two results"),
    ):  # fmt: skip
        assert cli.main(["compare", *arguments, "--data", str(tmp_path / "data")]) == 2
        assert told in capsys.readouterr().err


def test_a_run_and_itself_are_the_same_however_wide_its_intervals(call):
    wide = one()
    for row in wide["rows"]:
        row["low_us"], row["high_us"] = row["median_us"] * 0.9, row["median_us"] * 1.1
    assert "0 AMBIGUOUS, 6 SAME" in call(wide, wide)[1]


def test_what_nobody_can_change_is_not_told(call):
    """That a rung handed its call to another is so by design, and no fault of a file."""
    made = one()
    about = {"operation": "histogram_even", "operator": "", "shape": "bins=65536", "input_type": "i32"}
    made["variants"].append(synthetic.variant("cluster", "histograms", "one_cluster", 0))
    made["variants"].append(synthetic.variant("handwritten", "histograms", "global_atomics", 9))
    synthetic.add_cell(made, MI, {("cluster", "one_cluster"): 10.0, ("handwritten", "global_atomics"): 10.0}, **about)
    again = copy.deepcopy(made)
    code, _, err = call(made, again)
    assert (code, err) == (0, "")


def test_filters_of_two_gpus(call):
    other = one(LATER, gpu="synthetic-other", last_block=40.0, early_ticket=60.0, cub_device_reduce=41.0)
    code, out, _ = call(one(), other, "--size=1Mi", "--json=-")
    told = json.loads(out)
    assert code == 0 and [case["items"] for case in told["cases"]] == [MI] and told["another_rung"] == 1
    assert told["cases"][0]["a"]["rung"] == "early_ticket" and told["cases"][0]["b"]["rung"] == "last_block"
    code, _, err = call(one(), other, "--variant=last_block")
    assert code == 2 and "leave out --family and --variant" in err


def test_below_the_noise_floor_is_the_same(call):
    noisy = one(LATER, last_block=21.0)
    for cell in ((MI,), (16 * MI,)):
        about = {"operation": "reduce", "operator": "plus", "input_type": "f32", "accumulator_type": "f32", "items": cell[0]}
        about |= {"shape": "", "distribution": "uniform", "mode": "cold"}
        noisy["twins"].append({**about, "ratio": 1.0, "low": 0.9, "high": 1.1, "noise_floor": 0.07, "different": False})
    code, out, _ = call(one(), noisy, "--all")
    assert code == 0 and len(lines(out, "SAME")) == 6 and "7.0 %" in out


def test_ceilings_that_moved_raise_the_floor(call):
    """The roofs are the same code in both runs: what they differ by, no rung can be blamed for."""
    a, b = one(), one(LATER, last_block=21.0)
    for made, rate in ((a, 4000.0), (b, 4400.0)):
        made["ceilings"].append({"kind": "stream_read", "mode": "cold", "bytes": 16 * MI, "gb_per_s": rate, "marked": False})
    code, out, _ = call(a, b, "--all")
    floors = {int(line.split("|")[3].split()[0]): line.split("|")[-2].strip() for line in out.splitlines() if "last_block" in line}
    assert code == 0 and floors == {1: "10.0 %", 16: "10.0 %"}


def test_wide_intervals_are_ambiguous(call):
    wide = one(LATER)
    for row in wide["rows"]:
        row["low_us"], row["high_us"] = row["median_us"] * 0.9, row["median_us"] * 1.1
    code, out, _ = call(one(), wide, "--all")
    assert code == 0 and len(lines(out, "AMBIGUOUS")) == 6


def test_order_of_rows_does_not_matter(call):
    a, b = one(), one(LATER, last_block=21.0)
    first = call(a, b, "--all")
    turned = copy.deepcopy(b)
    turned["rows"].reverse()
    assert call(a, turned, "--all") == first


def test_two_gpus_stand_against_their_own_ceilings(call):
    other = one(LATER, gpu="synthetic-other", last_block=40.0, early_ticket=60.0, cub_device_reduce=41.0)
    other["context"]["device"]["name"] = "Synthetic Other"
    for row in other["rows"]:
        if row["percent_of_ceiling"] is not None:
            row["percent_of_ceiling"] = 80.0 if row["rung"] == "last_block" else 50.0
    code, out, _ = call(one(), other)
    assert code == 0 and "Times of two GPUs are not compared" in out and "µs" not in out
    row = next(line for line in out.splitlines() if "16 Mi" in line)
    assert "early_ticket" in row and "last_block" in row and "80.0 %" in row
    assert "another rung is best in 2" in out and "2 problems in both" in out


def test_names_of_runs_and_gpus_are_found(repository, capsys):
    source = repository / "report/data"
    for made in (one(), one(LATER)):
        synthetic.write(source, made)
    (source / synthetic.GPU / data.SASS).write_text("{}")
    for a, b in (("2030-01-02T030405Z-abc1234", LATER), (synthetic.GPU, str(source / synthetic.GPU))):
        assert cli.main(["compare", a, b, "--data", str(source)]) == 0
        assert "A: Synthetic GPU 9000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("", "is empty"), ("{", "is not JSON"), ('{"schema": "other/1"}', "has schema"),
        (json.dumps({**synthetic.document(LATER), "rows": []}), "has no rows"),
    ],
)  # fmt: skip
def test_bad_files_are_named(call, broken, reason):
    code, _, err = call(one(), broken)
    assert code == 2 and "after.json" in err and reason in err


def test_packed_files_and_folders_of_them(tmp_path, capsys):
    """By path, by run and by GPU; what lies beside results is read as none."""
    folder = tmp_path / synthetic.GPU
    packed = synthetic.pack(synthetic.write(tmp_path, one()))
    for name in (data.SASS, data.COUNTERS, data.SAMPLES):
        (folder / name).write_text("{}")
    for named in (str(packed), one()["run"], synthetic.GPU):
        assert cli.main(["compare", named, named, "--data", str(tmp_path)]) == 0
        told = capsys.readouterr()
        assert "6 cases in both" in told.out and not told.err


def test_unverified_rows_are_refused(call):
    broken = one(LATER, last_block=30.0)
    for row in broken["rows"]:
        row["verified"] = "no" if row["rung"] == "last_block" else "yes"
    code, out, err = call(one(), broken)
    assert code == 0 and "was not verified (2 rows, first rows[0])" in err and "4 cases in both" in out and "only in A 2" in out


def test_what_cannot_be_compared(call, tmp_path, capsys):
    nothing = synthetic.document(LATER)
    synthetic.add_cell(nothing, 77, {("handwritten", "last_block"): 5.0})
    assert call(one(), nothing)[0] == 2
    assert cli.main(["compare", "nowhere", "nowhere"]) == 2 and "nowhere: no result file" in capsys.readouterr().err
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps(one()))
    (folder / "b.json").write_text(json.dumps(one(LATER, gpu="synthetic-other")))
    assert cli.main(["compare", str(folder), str(folder)]) == 2 and "name one" in capsys.readouterr().err


def test_intervals_reach_from_end_to_end():
    found = versus.Difference(None, None, 10.0, 12.0, 1.15, 1.25, 0.02)
    assert found.verdict == versus.SLOW
    assert versus.Difference(None, None, 12.0, 10.0, 0.8, 0.9, 0.02).verdict == versus.FAST
    assert versus.Difference(None, None, 10.0, 10.1, 1.005, 1.015, 0.02).verdict == versus.SAME
