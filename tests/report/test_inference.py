"""The page of what inference needs, and the claims about it, from small runs."""

import re

import pytest
import synthetic
from rungs_report import claims, data, published
from synthetic import section

COPIED = ("quantise_fp8", "quantise_fp8_rows", "softmax_e4m3_to_bf16")


def cell(work, rows, columns, limit, ours, rivals=None, parameter="", data="", input_type="f32"):
    """ours, rivals: times by name; the first of ours is compared."""
    first = next(iter(ours.values()))
    roof = "copy" if work in COPIED else "read"
    results = [
        {"role": role, "name": name, **synthetic.right(time)} | ({"speedup": synthetic.speedup(time / first)} if role == "rival" else {})
        for role, own in (("rungs", ours), ("rival", rivals or {}), ("roof", {roof: limit, "empty": 2.0}))
        for name, time in own.items()
    ]
    return {
        "work": work, "input": input_type, "rows": rows, "columns": columns, "parameter": parameter, "data": data, "read_bytes": rows * columns * 4,
        "written_bytes": rows * 4, "roof": roof, "noise_floor": 0.004, "results": results,
    }  # fmt: skip


def document(program, cells, cccl="3.5.0", **more):
    return {
        "schema": "rungs.inference/1", "gpu": synthetic.GPU, "run": "2030-01-02T030405Z-abc1234", "commit": "abc1234", "arguments": ["out.json"], "program": program, "seconds": 9.5,
        "device": {"name": "Synthetic GPU", "card": "01234567", "compute_capability": 90, "multiprocessors": 132},
        "versions": {"driver": "1.2.3", "cuda_runtime": "13.0", "nvcc": "13.0.88", "cccl": cccl, "compiler": "GNU 12"},
        "environment": {}, "variables": {}, "banners": [], "cells": cells, "skipped": [], **more,
    }  # fmt: skip


def top_k():
    rivals = {"cub_device_batched_top_k": 15.0, "cub_radix_sort": 30.0}
    cells = [
        cell("route", 4096, 256, 2.5, {"route": 3.0, "sorted": 3.5}, rivals, "k 8"),
        cell("route", 65536, 256, 17.0, {"route": 20.0, "sorted": 22.0}, {"cub_device_batched_top_k": 100.0, "cub_radix_sort": 10.0}, "k 8"),
        cell("top_k", 2048, 131072, 240.0, {"sorted": 300.0, "unsorted": 280.0}, {}, "k 1024"),
    ]
    skipped = [{"cell": "top_k/f32/2048x131072/k 1024", "name": "cub_device_batched_top_k", "reason": "it takes rows that fit the shared memory of a block"}]
    return document("rungs_top_k", cells, skipped=skipped)


def sampling(scan=80.0, ratios=90.0, **rungs):
    normal = "normal, deviation 1"
    return document(
        "rungs_sampling",
        [
            cell("sample_top_p", 1, 128512, 3.0, {"rungs": 10.0, **rungs}, {"cub_sort_and_scan": scan}, "p 0.9", normal),
            cell("verify", 64, 128512, 18.0, {"rungs": 20.0}, {"cub_scan": 60.0}, "4 drafts"),
            cell("greatest_ratio", 64, 128512, 80.0, {"rungs": ratios}, {"cub_segmented_reduce": 200.0}, "4 drafts"),
        ],
    )


def low_precision():
    cells = [
        cell("sum_e4m3", 65536, 4096, 95.0, {"rungs": 100.0}, {"toolkit": 101.0}, input_type="e4m3"),
        cell("sum_nvfp4", 65536, 4096, 79.0, {"rungs": 100.0}, {"toolkit": 400.0}, input_type="e2m1"),
        cell("quantise_fp8", 65536, 4096, 99.0, {"rungs": 100.0}, {"toolkit": 90.0}, input_type="bf16"),
    ]
    return document("rungs_low_precision", cells, cccl="3.0.1")


@pytest.fixture
def page(study_page):
    return study_page("inference")


def test_the_page(page, repository):
    text = page(top_k(), sampling(), low_precision())
    assert re.search(r"\| Routing of a mixture of experts \| `cub_device_batched_top_k` \| CCCL 3\.5\.0 \| +5\.00x \| 5\.00x \(f32, 4,096 x 256, k 8\) +\| +5\.00x \| +2 / 0 / 0 / 0 \| +85\.0 % \|", text)
    assert re.search(r"\| Greatest keys of rows +\| +\| CCCL 3\.5\.0 \| +– \| – +\| +– \| +– \| +80\.0 % \|", text)
    routing = section(text, "Routing of a mixture of experts, CCCL 3.5.0")
    assert re.search(r"\| f32 +\| +4,096 x 256 \| k 8 \| +3\.00 µs \| +3\.50 µs \| +15\.0 µs, 5\.00x \| +30\.0 µs, 10\.0x \| +2\.50 µs \(read\) \| +83\.3 % \| +1\.00 µs \|", routing)
    assert "10.0 µs, 0.50x **it wins**" in routing
    assert "Quantisation, CCCL 3.0.1" in text and "99.0 µs (copy)" in text
    assert "it takes rows that fit the shared memory of a block" in section(text, "What was not run")
    assert "The host verified each way of 9 cells" in text
    assert "[inference](synthetic-gpu/inference.md)" in (repository / "report/index.md").read_text()
    names = ["inference_low_precision_3.0.1.json.gz", "inference_sampling_3.5.0.json.gz", "inference_top_k_3.5.0.json.gz"]
    assert sorted(path.name for path in (repository / "report/data/synthetic-gpu").glob("inference*")) == names


def test_published_figures_stand_beside_the_same_cells_alone(page):
    beside = section(page(top_k()), "Beside published figures")
    assert re.search(r"\| f32, 4,096 x 256, k 8 +\| 3\.00 µs \| 18\.3 µs \| not stated \| TensorRT-LLM.*TensorRT-LLM#15656", beside)
    assert "flashinfer#3009" in beside and "sglang" not in beside


def test_without_a_published_cell_there_is_no_such_section(page):
    assert "Beside published figures" not in page(low_precision())


def test_published_figures_are_of_works_and_have_a_chip():
    works = set(data.schema.DEFINITIONS["inference"]["properties"]["cells"]["items"]["properties"]["work"]["enum"])
    assert {each.work for each in published.SERVING} <= works
    assert all(each.chip and re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", each.source) and each.microseconds > 0 for each in published.SERVING)


def answers(text):
    """Of each claim of inference, its name, what it says and the verdict."""
    rows = [[part.strip(" *") for part in line.split(" | ")] for line in section(text, "Inference").splitlines() if line.startswith("| C1")]
    return [(row[0].strip("| "), row[1], row[-1].strip("| *")) for row in rows]


def verdict(told, *begins):
    (found,) = [verdict for _, says, verdict in told if says.startswith(begins)]
    return found


def test_claims(page):
    told = answers(page(top_k(), sampling(), low_precision(), name="claims"))
    assert [identity for identity, *_ in told] == ["C13"] * 6 + ["C14"] * 7
    for begins in ("Routing", "Sampling", "Speculative", "fp4", "and that maximum"):
        assert verdict(told, begins) == claims.FAILS, begins
    assert verdict(told, "A cache") == verdict(told, "Sums of fp8") == claims.HOLDS
    assert verdict(told, "Attention") == verdict(told, "Reduce inside") == claims.UNMEASURED
    assert [how for _, says, how in told if says.startswith("the same, of 16")] == [claims.FAILS, claims.UNMEASURED], "79 % of a read"


def test_claims_can_go_the_other_way(page):
    told = answers(page(sampling(scan=9.0, ratios=20.0), name="claims"))
    assert verdict(told, "Sampling") == verdict(told, "Speculative") == claims.HOLDS


def test_the_rungs_that_teach_sampling_are_told_where_they_were_measured(page, repository):
    text = page(sampling(scan_then_cut=950.0))
    row = section(text, "Sampling, CCCL 3.5.0").splitlines()[3]
    assert re.search(r"\| +10\.0 µs \| +950 µs \| +80\.0 µs, 8\.00x \|", row), row
    assert "`scan_then_cut` is a rung that teaches" in text and "cut_by_bins" not in text
    claimed = (repository / "report/synthetic-gpu/claims.md").read_text()
    assert "level or ahead in 0 of 1 cell; of the rung scan\\_then\\_cut, a block a row: 95.0x |" in claimed
    text = page(sampling())
    assert "scan_then_cut" not in text
    assert "of the rung" not in section((repository / "report/synthetic-gpu/claims.md").read_text(), "Inference")


def test_without_such_runs_the_claims_are_not_measured(small, rendered):
    text = (rendered(small) / "claims.md").read_text()
    assert "| C14 | Inputs of fp8 and fp4 were not measured on this machine." in re.sub(" +", " ", text)


def test_a_filtered_run_is_told(page):
    assert "only the cells that `route` matches" in page(top_k() | {"arguments": ["out.json", "route"]})


def test_a_wrong_rival_is_told_and_has_no_time(page):
    made = top_k()
    made["cells"][0]["results"][2] = {"role": "rival", "name": "cub_device_batched_top_k", "verified": False, "defect": "row 3 is wrong", "storage_bytes": 1}
    assert "`cub_device_batched_top_k` was wrong at f32, 4,096 x 256, k 8: row 3 is wrong." in page(made)
