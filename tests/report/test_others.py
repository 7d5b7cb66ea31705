"""The page of others' problems, from small runs; and which runs are refused."""

import copy
import json
import re

import pytest
import synthetic
from rungs_report import cli

H100 = "NVIDIA H100 80GB HBM3"


def result(rung, time, family="handwritten", temp_storage="uninitialised", ladder="scans"):
    return {
        "family": family, "ladder": ladder, "rung": rung, "temp_storage": temp_storage, "verified": True, "median_us": time, "low_us": time * 0.99,
        "high_us": time * 1.01, "samples": 60, "mean_us": time,
    }  # fmt: skip


def cell(operation, input_type, items, mode, door, rung, cub, contention=None, more=()):
    return {
        "operation": operation, "input_type": input_type, "output_type": input_type, "items": items, "contention": contention, "mode": mode,
        "results": [result("front_door", door), result("tagged", rung, temp_storage="zeroed_once"), result("slower", 2 * rung), result("cub_device_any", cub, "library_baselines"), *more],
    }  # fmt: skip


def document(cub=900.0, cccl="3.0.1", gpu=synthetic.GPU, name=H100):
    cells = [
        cell("inclusive_scan", "f32", 1 << 28, "dirty", 800.0, 790.0, cub, more=[result("repeatable_door", 950.0)]),
        cell("histogram_even", "u8", 10_485_760, "dirty", 10.0, 9.0, 20.0, contention=10),
        cell("reduce", "f32", 52_428_800, "dirty", 70.0, 69.0, 71.0),
    ]
    return {
        "schema": "rungs.others/1", "gpu": gpu, "run": "2030-01-02T030405Z-abc1234", "commit": "abc1234", "device": {"name": name, "card": "01234567", "l2_bytes": 1 << 25},
        "versions": {"driver": "1.2.3", "nvcc": "13.0.88", "cccl": cccl}, "banners": [], "cells": cells,
    }  # fmt: skip


def install(repository, tmp_path, *documents):
    files = []
    for number, made in enumerate(documents):
        files.append(tmp_path / f"run{number}.json")
        files[-1].write_text(json.dumps(made))
    return cli.main(["others", "--data", str(repository / "report/data"), *map(str, files)])


@pytest.fixture
def page(repository, run, small, tmp_path):
    def write(*documents):
        synthetic.write(repository / "report/data", small)
        assert install(repository, tmp_path, *documents) == 0
        assert run()[0] == 0
        return (repository / "report/synthetic-gpu/others.md").read_text()

    return write


def test_the_page(page):
    text = page(document(), document(850.0, "3.5.0"))
    # The lower ratio is that of the newer CUB; the best rung is neither of the doors.
    assert re.search(r"\| f32 inclusive sum, 256 Mi items +\| 256 MiB or more [^|]+\| +800 µs \| +900 µs \| +850 µs \| +1\.06x \| `tagged` \(zeroed once\) +\| +790 µs \| +1\.08x \|", text)
    assert re.search(r"\| u8 histogram of 256 bins, 10 Mi items, contention 10 % \|", text)
    # What repeats stands beside what repeats, and an A100's time beside no ratio.
    assert re.search(r"CUB, same bits each run, look-back +\| H100 \| +1\.43 ms \| `repeatable_door` +\| +950 µs \| +1\.51x \|", text)
    assert re.search(r"best entry, May 2025 +\| A100 \| +1\.36 ms \| `front_door` +\| +800 µs \| +– \|", text)
    assert "yencal/" not in text and "1 Gi items" not in text, "what was not measured has no line"


def test_another_chip_has_no_ratios(page):
    text = page(document(name="NVIDIA H200"))
    assert "No published figure is of that chip" in text
    theirs = text.partition("## Beside what they published")[2].partition("\n## ")[0]
    assert "1.43 ms" in theirs and "x |" not in theirs


def wrong(made):
    made["cells"][1]["results"][0].update(verified=False)


def untimed(made):
    for name in ("median_us", "low_us", "high_us"):
        del made["cells"][1]["results"][0][name]


def twice(made):
    made["cells"].append(made["cells"][0])


def other_mode(made):
    made["cells"][0]["mode"] = "cold"


BROKEN = {
    wrong: "holds a result that is wrong: front_door at histogram_even u8, 10485760 items",
    untimed: "lacks the time of front_door at histogram_even u8",
    twice: "has no cells, or one twice",
    other_mode: "'cold', which is none of dirty, warm",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_run_in_doubt_is_not_installed(repository, tmp_path, capsys, broken):
    made = copy.deepcopy(document())
    broken(made)
    assert install(repository, tmp_path, made) == 2
    assert BROKEN[broken] in capsys.readouterr().err
    assert not (repository / "report/data/synthetic-gpu").exists()
