"""The page of selections and runs of keys, from small runs."""

import re

import pytest
import synthetic
from synthetic import section


def cell(operation, keys, values, items, ours, cub, **structure):
    results = [{"name": name, **synthetic.right(time), "percent_of_copy": 400 / time} for name, time in (("rungs", ours), ("cub", cub))]
    return {
        "operation": operation, "keys": keys, "values": values, **structure, "items": items, "outputs": items // 2, "bytes": items * 8,
        "compared_with": "host" if items <= 1 << 20 else "cub", "noise_floor": 0.004, "copy_us": 4.0,
        "results": results, "speedup": synthetic.speedup(cub / ours),
    }  # fmt: skip


def document(cells=None, cccl="3.0.1"):
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
        "schema": "rungs.by_key/1", "gpu": synthetic.GPU, "run": "2030-01-02T030405Z-abc1234", "commit": "abc1234", "complete": True, "seconds": 12.5, "arguments": [],
        "device": {"name": "Synthetic GPU", "card": "01234567", "compute_capability": 90, "multiprocessors": 132},
        "versions": {"driver": "1.2.3", "cuda_runtime": "13.0", "nvcc": "13.0.88", "cccl": cccl, "compiler": "GNU 12"},
        "environment": {}, "variables": {}, "banners": [], "cells": cells,
        "skipped": [{"name": "cub", "operation": "encode", "keys": "i32", "values": None, "items": 1 << 28, "mean_run": 4, "reason": "the GPU has too little memory"}],
    }  # fmt: skip


@pytest.fixture
def page(study_page):
    return study_page("by_key")


def test_the_page(page, repository):
    text = page(document())
    # The geometric means of 2, 1 and 0.9, and of CUB's 10, 8 and 72 µs over the copy's 4.
    assert re.search(r"\| `DeviceSelect::If` +\| +1\.22x \| +4\.48x \| 0\.90x \(i32, 50 % chosen, 16 Mi items\) +\| +2\.00x \| +1 / 1 / 1 / 0 \|", text)
    assert re.search(r"\| `DeviceReduce::ReduceByKey` +\| +1\.60x \| +39\.9x \| 1\.50x \(i64, f32, runs of 1, 16 Mi items\) +\| +1\.70x \| +3 / 0 / 0 / 0 \|", text)
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


def test_bytes_of_both(page):
    """Types of which ours asks for the same share a line; pairs of keys and values are told from two types."""
    cells = [cell("select_if", keys, None, 1 << 16, 5.0, 10.0, chosen_percent=0) for keys in ("i32", "i64")]
    cells.append(cell("reduce_by_key", "i64", "f32", 1 << 24, 100.0, 150.0, mean_run=1))
    for each, ours, cub in zip(cells, (768, 768, 266752), (1023, 1279, 92159), strict=True):
        for result, storage in zip(each["results"], (ours, cub), strict=True):
            result["storage_bytes"] = storage
    told = section(page(document(cells)), "Workspace")
    assert re.search(r"\| `DeviceSelect::If` +\| i32, i64 +\| +– \| +768 : 1,023 to 1,279 \| +– \|", told)
    assert re.search(r"\| `DeviceReduce::ReduceByKey` \| \(i64, f32\) \| +– \| +– \| +– \| +266,752 : 92,159 \| +– \|", told)


def test_the_lower_speedup_of_two_releases_decides(page, repository):
    cells = [
        cell("select_if", "i32", None, 1 << 16, 5.0, 6.0, chosen_percent=0),
        cell("select_if", "i32", None, 1 << 16, 4.0, 6.0, chosen_percent=50),
        cell("select_if", "i32", None, 1 << 24, 80.0, 96.0, chosen_percent=50),
    ]
    text = page(document(), document(cells, cccl="3.5.0"))
    # 1.2 of the newer release, 1 and 0.9 of the older one.
    assert re.search(r"over CUB 3\.0\.1 and 3\.5\.0", text)
    assert re.search(r"\| `DeviceSelect::If` +\| +1\.03x \| +3\.78x \| 0\.90x \(i32, 50 % chosen, 16 Mi items\) +\| +1\.20x \| +1 / 1 / 1 / 0 \|", text)
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
