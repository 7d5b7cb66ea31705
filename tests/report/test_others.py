"""The page of others' problems, from small runs."""

import re

import pytest
import synthetic

H100 = "NVIDIA H100 80GB HBM3"


def result(rung, time, family="handwritten", temp_storage="uninitialised", ladder="scans"):
    return {"family": family, "ladder": ladder, "rung": rung, "temp_storage": temp_storage, "mean_us": time, **synthetic.right(time)}


def cell(operation, input_type, items, mode, door, rung, cub, contention=None, more=()):
    return {
        "operation": operation, "input_type": input_type, "output_type": input_type, "items": items, "contention": contention, "mode": mode,
        "results": [result("front_door", door), result("tagged", rung, temp_storage="zeroed_once"), result("slower", 2 * rung), result("cub_device_any", cub, "library_baselines"), *more],
    }  # fmt: skip


def document(cub=900.0, cccl="3.0.1", name=H100):
    cells = [
        cell("inclusive_scan", "f32", 1 << 28, "dirty", 800.0, 790.0, cub, more=[result("repeatable_door", 950.0)]),
        cell("histogram_even", "u8", 10_485_760, "dirty", 10.0, 9.0, 20.0, contention=10),
        cell("reduce", "f32", 52_428_800, "dirty", 70.0, 69.0, 71.0),
    ]
    return {
        "schema": "rungs.others/1", "gpu": synthetic.GPU, "run": "2030-01-02T030405Z-abc1234", "commit": "abc1234", "device": {"name": name, "card": "01234567", "l2_bytes": 1 << 25},
        "versions": {"driver": "1.2.3", "nvcc": "13.0.88", "cccl": cccl}, "banners": [], "cells": cells,
    }  # fmt: skip


@pytest.fixture
def page(study_page):
    return study_page("others")


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
