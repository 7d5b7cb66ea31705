"""The page of selections and runs of keys, from small runs; and which runs are refused."""

import copy
import json
import re

import pytest
import synthetic
from rungs_report import cli


def verdict(ratio):
    return "SAME" if 0.99 < ratio < 1.01 else "FASTER" if ratio > 1 else "SLOWER"


def result(name, time, copy_us=4.0):
    return {
        "name": name, "verified": True, "storage_bytes": 1024, "median_us": time, "low_us": time * 0.999, "high_us": time * 1.001,
        "iqr_us": time * 0.002, "min_us": time * 0.998, "samples": 30, "percent_of_copy": 100 * copy_us / time,
    }  # fmt: skip


def cell(operation, keys, values, items, ours, cub, **structure):
    speedup = {"value": cub / ours, "low": cub / ours * 0.998, "high": cub / ours * 1.002, "verdict": verdict(cub / ours)}
    return {
        "operation": operation, "keys": keys, "values": values, **structure, "items": items, "outputs": items // 2, "bytes": items * 8,
        "compared_with": "host" if items <= 1 << 20 else "cub", "noise_floor": 0.004, "copy_us": 4.0,
        "results": [result("rungs", ours), result("cub", cub)], "speedup": speedup,
    }  # fmt: skip


def document(cells=None, cccl="3.0.1", gpu=synthetic.GPU, name="Synthetic GPU"):
    if cells is None:
        cells = [
            cell("select_if", "i32", None, 1 << 16, 5.0, 10.0, chosen_percent=0),
            cell("select_if", "i32", None, 1 << 16, 8.0, 8.0, chosen_percent=50),
            cell("select_if", "i32", None, 1 << 24, 80.0, 72.0, chosen_percent=50),
            cell("reduce_by_key", "i64", "f32", 1 << 24, 100.0, 150.0, mean_run=1),
            cell("reduce_by_key", "i64", "f32", 1 << 24, 100.0, 160.0, mean_run=256),
            cell("reduce_by_key", "i64", "f32", 1 << 24, 100.0, 170.0, mean_run=1 << 24),
        ]
    return {
        "schema": "rungs.by_key/1", "gpu": gpu, "run": "2030-01-02T030405Z-abc1234", "commit": "abc1234", "complete": True, "seconds": 12.5, "arguments": [],
        "device": {"name": name, "card": "01234567", "compute_capability": 90, "multiprocessors": 132},
        "versions": {"driver": "1.2.3", "cuda_runtime": "13.0", "nvcc": "13.0.88", "cccl": cccl, "compiler": "GNU 12"},
        "environment": {}, "variables": {}, "banners": [], "cells": cells,
        "skipped": [{"name": "cub", "operation": "encode", "keys": "i32", "values": None, "items": 1 << 28, "mean_run": 4, "reason": "the GPU has too little memory"}],
    }  # fmt: skip


def install(repository, tmp_path, *documents):
    files = []
    for number, made in enumerate(documents):
        files.append(tmp_path / f"run{number}.json")
        files[-1].write_text(json.dumps(made))
    return cli.main(["by-key", "--data", str(repository / "report/data"), *map(str, files)])


def section(text, heading):
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


@pytest.fixture
def page(repository, run, small, tmp_path):
    def write(*documents):
        synthetic.write(repository / "report/data", small)
        assert install(repository, tmp_path, *documents) == 0
        assert run()[0] == 0
        return (repository / "report/synthetic-gpu/by_key.md").read_text()

    return write


def test_the_page(page, repository):
    text = page(document())
    # The geometric mean of 2, 1 and 0.9.
    assert re.search(r"\| `DeviceSelect::If` +\| +1\.22x \| 0\.90x \(i32, 50 % chosen, 16 Mi items\) +\| +2\.00x \| +1 / 1 / 1 / 0 \|", text)
    assert re.search(r"\| `DeviceReduce::ReduceByKey` +\| +1\.60x \| 1\.50x \(i64, f32, runs of 1, 16 Mi items\) +\| +1\.70x \| +3 / 0 / 0 / 0 \|", text)
    assert "In 2 of 6 cells the host made the right outputs, too" in text
    selections = section(text, "DeviceSelect::If beside CUB 3.0.1")
    assert re.search(r"\| types +\| +items +\| +0 % chosen +\| +50 % chosen +\|", selections)
    assert re.search(r"\| i32 +\| 64 Ki +\| 5\.00 µs, 2\.00x, 80\.0 % \| +8\.00 µs, 1\.00x tie, 50\.0 % \|", selections)
    assert re.search(r"\| i32 +\| 16 Mi +\| +– \| 80\.0 µs, 0\.90x \*\*CUB wins\*\*, 5\.00 % \|", selections)
    sums = section(text, "DeviceReduce::ReduceByKey beside CUB 3.0.1")
    assert re.search(r"\| +runs of 1 +\| +runs of 256 in the mean +\| +one run +\|", sums)
    assert "the GPU has too little memory" in section(text, "What was not run")
    assert "0.400 % to 0.400 %" in section(text, "How this was measured")
    assert "[selections and runs of keys](synthetic-gpu/by_key.md)" in (repository / "report/index.md").read_text()


def test_the_lower_speedup_of_two_releases_decides(page, repository):
    cells = [
        cell("select_if", "i32", None, 1 << 16, 5.0, 6.0, chosen_percent=0),
        cell("select_if", "i32", None, 1 << 16, 4.0, 6.0, chosen_percent=50),
        cell("select_if", "i32", None, 1 << 24, 80.0, 96.0, chosen_percent=50),
    ]
    text = page(document(), document(cells, cccl="3.5.0"))
    # 1.2 of the newer release, 1 and 0.9 of the older one.
    assert re.search(r"over CUB 3\.0\.1 and 3\.5\.0", text)
    assert re.search(r"\| `DeviceSelect::If` +\| +1\.03x \| 0\.90x \(i32, 50 % chosen, 16 Mi items\) +\| +1\.20x \| +1 / 1 / 1 / 0 \|", text)
    assert "3 problems met one release only." in text
    selections = section(text, "DeviceSelect::If beside CUB 3.0.1 and 3.5.0")
    assert re.search(r"\| i32 +\| 64 Ki +\| 5\.00 µs, 1\.20x, 80\.0 % \| +8\.00 µs, 1\.00x tie, 50\.0 % \|", selections)
    assert sorted(path.name for path in (repository / "report/data/synthetic-gpu").glob("by_key*")) == ["by_key_3.0.1.json.gz", "by_key_3.5.0.json.gz"]


@pytest.mark.parametrize("versions", [["3.0.1", "3.5.0"], ["3.5.0"]])
def test_segments_tell_what_stood_for_cub(page, versions):
    sums = [cell("inclusive_segmented_sum", "f32", None, 1 << 20, 4.0, 6.0, mean_run=16), cell("inclusive_segmented_sum", "f32", None, 1 << 20, 4.0, 8.0, mean_run=7, longest_run=1 << 19)]
    told = section(page(*(document(sums, cccl=version) for version in versions)), f"DeviceSegmentedScan::InclusiveSegmentedSum beside CUB {' and '.join(versions)}")
    assert ("CUB 3.0.1 has no scan of segments" in told) == ("3.0.1" in versions)
    assert re.search(r"\| +runs of 16 in the mean +\| +one run of half the items, then runs of 4 in the mean +\|", told)


def test_a_newer_run_replaces_one_beside_the_same_cccl(repository, tmp_path):
    assert install(repository, tmp_path, document()) == 0
    assert install(repository, tmp_path, document() | {"commit": "def5678"}) == 0
    assert [path.name for path in (repository / "report/data/synthetic-gpu").iterdir()] == ["by_key_3.0.1.json.gz"]


def test_a_wrong_result_of_cub_has_no_time(page):
    made = document()
    del made["cells"][0]["speedup"]
    made["cells"][0]["results"][1] = {"name": "cub", "verified": False, "defect": "output 1 is wrong", "storage_bytes": 1}
    text = page(made)
    assert "CUB's outputs were wrong in 1 cell, first at i32, 0 % chosen, 64 Ki items of `DeviceSelect::If`." in text
    assert re.search(r"\| i32 +\| 64 Ki +\| +5\.00 µs, 80\.0 % \|", text)


def test_without_a_sample_at_the_full_clock_there_is_no_time(page):
    made = document()
    del made["cells"][0]["speedup"]
    made["cells"][0]["results"][0] = {"name": "rungs", "verified": True, "storage_bytes": 1, "samples": 0}
    assert re.search(r"\| i32 +\| 64 Ki +\| +– \| +8\.00 µs", page(made))


def test_what_a_reader_must_know_stands_first(page):
    text = page(document() | {"commit": "abc1234-dirty", "complete": False, "banners": ["another process used the GPU"]})
    for said in ("another process used the GPU", "uncommitted changes", "is incomplete"):
        assert said in text


def test_a_gpu_without_the_suite_has_this_page_alone(repository, run, tmp_path):
    assert install(repository, tmp_path, document(gpu="nvidia-h100", name="NVIDIA H100")) == 0
    for command in ("render", "check", "site"):
        assert run(command)[0] == 0
    assert [made.name for made in (repository / "report/nvidia-h100").iterdir()] == ["by_key.md"]
    assert "Selections and runs of keys alone, without the suite: [NVIDIA H100](nvidia-h100/by_key.md)." in (repository / "report/index.md").read_text()
    next((repository / "report/data/nvidia-h100").iterdir()).unlink()
    assert run("check")[0] != 0, "the page is stale"


def wrong(made):
    made["cells"][1]["results"][0].update(verified=False)


def twice(made):
    made["cells"].append(made["cells"][0])


def twice_in_a_cell(made):
    made["cells"][0]["results"].append(made["cells"][0]["results"][0])


def no_structure(made):
    del made["cells"][0]["chosen_percent"]


def outside(made):
    made["cells"][0]["results"][0]["low_us"] = 5.1


def untimed(made):
    del made["cells"][0]["results"][0]["median_us"]


def no_samples(made):
    made["cells"][0]["results"][0]["samples"] = 0


def other_speedup(made):
    made["cells"][0]["speedup"]["value"] = 2.1


def not_a_number(made):
    made["cells"][0]["results"][0]["median_us"] = float("nan")


def unknown_call(made):
    made["cells"][0]["operation"] = "sort"


def empty(made):
    made["cells"] = []


def other_schema(made):
    made["schema"] = "rungs.by_key/2"


def a_path_as_version(made):
    made["versions"]["cccl"] = "../3.0"


BROKEN = {
    wrong: "holds a result that is wrong: rungs at select_if i32, 65536 items",
    twice: "has select_if i32, 65536 items twice",
    twice_in_a_cell: "has select_if i32, 65536 items twice",
    no_structure: "does not tell of select_if i32, 65536 items what is chosen or how long runs are",
    outside: "has a median outside its own interval: rungs at select_if",
    untimed: "lacks the time of rungs at select_if",
    no_samples: "has a median outside its own interval: rungs at select_if",
    other_speedup: "has a speed-up that is not of its times at select_if",
    not_a_number: "holds NaN, which is no JSON number",
    unknown_call: "'sort', which is none of encode",
    empty: "has no cells",
    other_schema: "this generator reads 'rungs.by_key/1'",
    a_path_as_version: "'../3.0', which is no release",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_run_in_doubt_is_neither_installed_nor_read(repository, run, small, tmp_path, capsys, broken):
    made = copy.deepcopy(document())
    broken(made)
    assert install(repository, tmp_path, document(cccl="3.5.0"), made) == 2
    assert BROKEN[broken] in capsys.readouterr().err
    assert not (repository / "report/data/synthetic-gpu").exists(), "nor is the sound one beside it"
    synthetic.write(repository / "report/data", small)
    synthetic.write(repository / "report/data", made, name="by_key")
    code, _, told = run()
    assert code == 1 and BROKEN[broken] in told
    assert not (repository / "report/synthetic-gpu/by_key.md").exists()


def test_in_the_wrong_folder_it_is_refused(repository, run):
    synthetic.write(repository / "report/data", document(), folder="another-gpu", name="by_key")
    assert "was measured on synthetic-gpu but lies in the folder of another-gpu" in run()[2]
