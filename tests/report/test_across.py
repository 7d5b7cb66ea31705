"""The page of all-reduce across GPUs and its claim, from small runs."""

import re

import pytest
import synthetic
from conftest import machine_of
from rungs_report import claims
from synthetic import section

CONTENDERS = (
    ("planned", "planned", ""), ("gather_broadcast", "rung", ""), ("one_shot_push", "rung", "gather_broadcast"),
    ("two_shot", "rung", "one_shot_push"), ("nccl", "library", ""), ("nccl_symmetric", "library", "nccl"),
    ("fused_sum", "planned", ""), ("cub_then_nccl", "library", ""),
)  # fmt: skip
SIZES = (1, 1 << 16, 1 << 24)


def cell(items, times, type_name="f32", operator="plus", mode="graph", operation="all_reduce"):
    """times: microseconds by contender. Every contender of ours is set beside the library's."""
    results = [
        {"name": name, "same_bits": True, **synthetic.right(time), "over": {other: synthetic.speedup(times[other] / time) for other in times if "nccl" in other and other != name}}
        for name, time in times.items()
    ]
    size = items * synthetic.BYTES[type_name]
    return {"operation": operation, "type": type_name, "operator": operator, "items": items, "bytes": size, "mode": mode, "calls": 20, "noise_floor": 0.004, "results": results}


def check(items, *names):
    results = [{"name": name, "verified": True, "same_bits": True} for name in names]
    return {"operation": "all_reduce", "type": "f32", "operator": "plus", "items": items, "results": results}


def document(ranks=2, cells=None):
    if cells is None:
        cells = [
            cell(1, {"planned": 4.0, "gather_broadcast": 9.0, "one_shot_push": 4.0, "two_shot": 7.0, "nccl": 8.0, "nccl_symmetric": 5.0}),
            cell(1 << 16, {"planned": 5.0, "gather_broadcast": 9.0, "one_shot_push": 5.5, "two_shot": 7.5, "nccl": 10.0, "nccl_symmetric": 5.0}),
            cell(1 << 24, {"planned": 160.0, "gather_broadcast": 400.0, "two_shot": 160.0, "nccl": 240.0, "nccl_symmetric": 150.0}),
            cell(1 << 16, {"planned": 4.5, "nccl": 9.0}, "bf16"),
            cell(1 << 16, {"planned": 6.0, "nccl": 12.0}, mode="stream"),
            cell(1 << 16, {"fused_sum": 5.0, "cub_then_nccl": 12.0}, operation="reduce"),
        ]
    return {
        "schema": "rungs.across/1", "gpu": synthetic.GPU, "run": f"2030-01-02T03040{ranks}Z-abc1234", "commit": "abc1234", "complete": True, "seconds": 12.5,
        "arguments": [], "ranks": ranks, "devices": [{"name": "Synthetic GPU", "card": f"0000000{card}"} for card in range(ranks)],
        "versions": {"driver": "1.2.3", "cuda_runtime": "13.0", "nvcc": "13.0", "compiler": "GNU 12"}, "nccl": {"version": "2.28.9", "why_not": None},
        "environment": {}, "variables": {"NCCL_NVLS_ENABLE": "0"}, "banners": [],
        "link": {"bytes": 1 << 30, "one_way_gb_per_s": 480.0, "both_ways_gb_per_s": 420.0},
        "contenders": [
            {"name": each, "kind": kind, "against": against, "idea": f"the idea of {each}", "gains": "time", "costs": "memory"}
            for each, kind, against in CONTENDERS
        ],
        "cells": cells,
        "checks": [check(3, "planned", "two_shot"), check(1000003, "planned")],
        "skipped": [{"name": "one_shot_push", "type": "f32", "operator": "plus", "items": 1 << 24, "mode": "graph", "reason": "takes at most 4 Mi items"}],
    }  # fmt: skip


@pytest.fixture
def page(study_page):
    return study_page("across")


def test_the_page(page, repository):
    text = page(document())
    floats = section(text, "2 GPUs: f32 sum, graph")
    assert re.search(r"\| +4 B \| +4\.00 µs \| +8\.00 µs \| +2\.00x \| +5\.00 µs \| +1\.25x \| +4\.00 µs `one_shot_push` \|", floats)
    assert re.search(r"\| 256 KiB \| +5\.00 µs \| +10\.0 µs \| +2\.00x \| +5\.00 µs \| +1\.00x tie \|", floats)
    # 64 MiB in 160 us: 419 GB/s, of 420.
    assert re.search(r"\| +64 MiB \| +160 µs \| +240 µs \| +1\.50x \| +150 µs \| 0\.94x \*\*NCCL wins\*\* \| +160 µs `two_shot` \| +419 \| +99\.9 % \|", floats)
    assert re.search(r"\| +4 B \|.*\| +– \|", floats), "no share of the link where latency is all"
    ladder = section(text, "The ladder on 2 GPUs: f32 sum, graph")
    assert re.search(r"\| +4 B \| +9\.00 µs \| +\*\*4\.00 µs\*\* \| +7\.00 µs \|", ladder) and re.search(r"\| +64 MiB \| +400 µs \| +– \|", ladder)
    assert "The ladder on 2 GPUs: bf16" not in text, "no rung was measured there"
    assert re.search(r"\| +2 \| f32 sum +\| graph +\| `planned` +\| NCCL +\| +1\.82x \| 1\.50x at 64 MiB +\| +3 / 0 / 0 / 0 \|", text)
    assert re.search(r"\| +2 \| f32 sum +\| graph +\| `planned` +\| NCCL symmetric +\| +1\.05x \| 0\.94x at 64 MiB +\| +1 / 1 / 1 / 0 \|", text)
    whole = section(text, "2 GPUs: f32 sum of all items, graph")
    assert re.search(r"\| +size \| `fused_sum` \| CUB, then NCCL \| over it \|\n.*\n\| 256 KiB \| +5\.00 µs \| +12\.0 µs \| +2\.40x \|\n", whole)
    assert "2 GPUs: all 26 results were right, and every GPU held the same bits." in text
    assert "at 2 counts more, from 3 to 1,000,003 items" in text
    assert "takes at most 4 Mi items" in section(text, "What was not run")
    how = section(text, "How this was measured")
    assert "NCCL_NVLS_ENABLE=0" in how and "0.400 % to 0.400 %" in how and "multicast is off" in how and "| 2.28.9 |" in how
    assert "[across GPUs](synthetic-gpu/across.md)" in (repository / "report/index.md").read_text()


def beside(ranks=2):
    times = {"one_shot_all_reduce": 6.5, "two_shot_all_reduce": 9.5}
    results = [{"name": name, **synthetic.right(time)} for name, time in times.items()]
    return {
        "schema": "rungs.across_torch/1", "gpu": synthetic.GPU, "ranks": ranks, "devices": ["Synthetic GPU"] * ranks,
        "environment": {"torch": "0.1+synthetic", "cuda": "13.0", "commit": "", "began": "2030-01-02T03:04:05Z"},
        "cells": [{"items": 1 << 16, "bytes": 1 << 18, "results": results}], "left_out": [],
    }  # fmt: skip


def test_torch_stands_beside(page):
    text = section(page(document(), beside()), "Beside torch 0.1+synthetic on 2 GPUs")
    assert re.search(r"\| 256 KiB \| 5\.00 µs \| +6\.50 µs \| +9\.50 µs \|", text)


def test_a_wrong_result_of_torch_has_no_time(page):
    made = beside()
    made["cells"][0]["results"][0] = {"name": "one_shot_all_reduce", "verified": False}
    assert re.search(r"\| 256 KiB \| 5\.00 µs \| +\*\*wrong\*\* \| +9\.50 µs \|", page(document(), made))


@pytest.mark.parametrize(("change", "says"), [({"devices": ["Synthetic GPU"]}, "has 2 ranks on 1 GPU(s)"), ({"ranks": -2}, "ranks -2, which is no count")])
def test_a_run_of_torch_in_doubt_is_refused(install, capsys, change, says):
    assert install(beside() | change) == 2
    assert says in capsys.readouterr().err


def test_more_gpus_stand_below(page):
    text = page(document(4), document(2))
    assert text.index("## 2 GPUs: f32 sum, graph") < text.index("## 4 GPUs: f32 sum, graph")
    # 2 (p - 1) / p: 1.5 times the array.
    assert re.search(r"\| +64 MiB \|.*\| +629 \| +150 % \|", section(text, "4 GPUs: f32 sum, graph"))


def test_only_ours_must_have_the_same_bits_everywhere(page):
    made = document()
    made["checks"].append(check(7, "planned", "nccl"))
    made["checks"][-1]["results"][1]["same_bits"] = False
    assert "and but for some of NCCL every GPU held the same bits" in page(made)


def test_multicast_is_told(page):
    assert "NCCL was free to use" in page(document() | {"variables": {}})


def test_without_nccl(page, repository):
    only = [cell(1, {"planned": 4.0, "one_shot_push": 4.0})]
    made = document(cells=only) | {"nccl": {"version": None, "why_not": "libnccl.so.2: cannot open"}}
    made["contenders"] = [each for each in made["contenders"] if each["kind"] != "library"]
    made["skipped"].append({"name": "nccl", "reason": "libnccl.so.2: cannot open"})
    text = page(made)
    assert "libnccl.so.2: cannot open" in section(text, "What was not run") and "over it" not in text
    machine = machine_of(repository)
    assert claims.answer(claims.ACROSS[0], machine).verdict == claims.UNMEASURED


def test_c15(page, repository):
    text = page(document())
    machine = machine_of(repository)
    found = claims.answer(claims.ACROSS[0], machine)
    assert found.verdict == claims.FAILS
    assert found.measured == (
        "of 6 cells NCCL's faster entry wins 1, ours wins 4, 1 are ties, 0 are undecided; 1.25x over it at 4 B on 2 GPUs; 0.94x over it at 64 MiB on 2 GPUs"
    )
    assert found.measured in text and "| C15 |" in (repository / "report/synthetic-gpu/claims.md").read_text()
    page(document(cells=[cell(1, {"planned": 9.0, "nccl": 8.0}), cell(9, {"planned": 9.0, "nccl": 8.0}), cell(16, {"planned": 4.0, "nccl": 8.0})]))
    assert claims.answer(claims.ACROSS[0], machine_of(repository)).verdict == claims.HOLDS
