"""The page of operations on rows beside PyTorch: there where a run of python/bench_torch.py is, and from the latest of several."""

import re

import pytest
import synthetic
from conftest import machine_of
from rungs_report import claims, torch_rows
from synthetic import section


def timed(median):
    return {"median_us": median, "low_us": median * 0.99, "high_us": median * 1.01, "samples": 16}


def cell(operation, type_name, shape, ours, eager, compiled=None, roof=80.0):
    made = {
        "cell": f"{operation} {type_name} {'x'.join(map(str, shape))}", "operation": operation, "type": type_name, "shape": list(shape),
        "bytes": 1 << 20, "roof": "copy" if operation == "softmax" else "read", "verified": True, "rungs": timed(ours), "eager": timed(eager),
        "roof_time": timed(roof), "gb_per_s": 1.0, "of_roof": roof / ours, "speedup": 1.0,
    }  # fmt: skip
    return made | ({"compiled": timed(compiled)} if compiled else {})


def document(began, *cells):
    environment = {
        "gpu": "Synthetic", "driver": "1.2.3", "torch": "0.1+synthetic", "cuda": "13.0", "rungs": "0.1.0", "commit": "1a2b3c4",
        "cold_by": "reading 512 MiB", "began": began,
    }  # fmt: skip
    return {"schema": "rungs.torch/1", "gpu": synthetic.GPU, "environment": environment, "cells": list(cells), "left_out": [], "complete": True}


@pytest.fixture
def written(repository, small):
    """Writes runs beside a small result; the first is packed."""
    synthetic.write(repository / "report/data", small)

    def write(*documents):
        for number, made in enumerate(documents):
            path = synthetic.write(repository / "report/data", made, name=f"torch{number or ''}")
            if number == 0:
                synthetic.pack(path)

    return write


def test_the_page(repository, run, written):
    written(
        document(
            "2026-01-01T00:00:00Z",
            cell("softmax", "float32", (32768, 256), 100, 200, 150),
            cell("softmax", "float32", (32768, 512), 100, 95),
            cell("softmax", "float32", (65536, 2048), 84, 90, 120),
            cell("logsumexp", "bfloat16", (65536, 2048), 160, 320),
            cell("cumsum", "float32", (1 << 20,), 10, 20),
        )
    )
    assert run()[0] == 0
    text = (repository / "report/synthetic-gpu/torch.md").read_text()
    assert "`rungs_torch` beside torch 0.1+synthetic" in text
    assert re.search(r"\| Cumulative sum, f32 +\| +1 Mi \| 10\.0 µs \| +20\.0 µs \| +2\.00x \| +800 % of read \|", section(text, "Arrays"))
    assert re.search(r"\| Softmax, f32 +\| +3 \| +1\.15x \| +0\.95x at 32 Ki x 512 +\| +1 \| +80\.0 % to 95\.2 % +\|", text)
    softmax = section(text, "Softmax, f32")
    assert re.search(r"\| rows \\ columns +\| +256 \| +512 \| +2 Ki \|", softmax)
    shares = r"\| 64 Ki +\| +\| +\| +▒ 1\.07x, █ 95\.2 % \|\n\| 32 Ki +\| +█ 1\.50x c, ▓ 80\.0 % \| +░ 0\.95x, ▓ 80\.0 % \| +\|"
    assert re.search(shares, softmax), "compiled is told, gaps are empty"
    assert re.search(r"\| 64 Ki +\| +\| +\| +84\.0 / 90\.0 \|\n\| 32 Ki +\| +100 / 150 \| +100 / 95\.0 \| +\|", softmax)
    assert "a copy" in softmax
    assert "reading alone" in section(text, "Log-sum-exp, bf16")
    assert "| 1.2.3 " in section(text, "How this was measured")
    assert "[torch](synthetic-gpu/torch.md)" in (repository / "report/index.md").read_text()


def test_a_run_for_inference_lies_beside_the_one_of_rows(repository, run, written):
    rows = document("2026-01-01T00:00:00Z", cell("softmax", "float32", (65536, 2048), 100, 200))
    written(rows, document("2026-01-02T00:00:00Z", cell("topk_1024", "float32", (64, 131072), 50, 400), cell("sum", "float8_e4m3fn", (65536, 4096), 90, 300, 150)))
    assert run()[0] == 0
    text = (repository / "report/synthetic-gpu/torch.md").read_text()
    assert "8.00x" in section(text, "Top-k of 1,024, f32") and "1.67x c" in section(text, "Sums, e4m3") and "## Softmax, f32" in text
    assert "multinomial" not in text
    written(rows, document("2026-01-03T00:00:00Z", cell("sample_top_p", "bfloat16", (256, 128512), 200, 9000)))
    assert run()[0] == 0
    text = (repository / "report/synthetic-gpu/torch.md").read_text()
    assert "45.0x" in section(text, "Top-p draws, bf16") and "multinomial" in section(text, "How this was measured")


def test_the_latest_run_of_a_cell_counts(repository, run, written):
    shape = (65536, 2048)
    first = document("2026-01-02T00:00:00Z", cell("softmax", "float32", shape, 100, 200), cell("sum", "float32", shape, 100, 200))
    written(first, document("2026-01-01T00:00:00Z", cell("softmax", "float32", shape, 100, 300)))
    machine = machine_of(repository)
    assert [torch_rows.speedup(each) for each in torch_rows.cells(machine)] == [2, 2]


def test_a_wrong_result_has_no_time(repository, run, written):
    shape = (65536, 2048)
    bad = cell("sum", "float32", shape, 100, 200) | {"verified": False, "rungs": None}
    written(document("2026-01-01T00:00:00Z", cell("softmax", "float32", shape, 100, 200), bad))
    assert run()[0] == 0
    text = (repository / "report/synthetic-gpu/torch.md").read_text()
    assert "Not verified, and without a time: `sum float32 65536x2048`." in text and "## Sums" not in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "rungs.torch/2"}, "this generator reads 'rungs.torch/1'"),
        ({"gpu": "another-gpu"}, "was measured on another-gpu but lies in the folder of synthetic-gpu"),
        ({"cells": [{"cell": "sum"}]}, "lacks cells[0].operation"),
    ],
)
def test_a_file_in_doubt_is_refused(repository, run, small, change, says):
    synthetic.write(repository / "report/data", small)
    made = document("2026-01-01T00:00:00Z", cell("softmax", "float32", (65536, 2048), 100, 200)) | change
    synthetic.write(repository / "report/data", made, folder=synthetic.GPU, name="torch")
    assert says in run()[2]
    assert not (repository / "report/synthetic-gpu/torch.md").exists()


def test_without_a_run_there_is_no_page(repository, small, rendered):
    folder = rendered(small)
    assert not (folder / "torch.md").exists()
    assert "torch" not in (repository / "report/index.md").read_text()


H100, H200 = "NVIDIA H100 80GB HBM3", "NVIDIA H200"
QUACKS = "Beside quack's published figures"


def document_of(gpu, name, *cells):
    made = document("2026-01-01T00:00:00Z", *cells) | {"gpu": gpu}
    made["environment"]["gpu"] = name
    return made


def moving(operation, shape, size, ours, type_name="bfloat16"):
    return cell(operation, type_name, shape, ours, 2 * ours) | {"bytes": size}


def test_published_shares_of_peak_stand_beside_ours_of_an_h100(repository, rendered):
    made = document_of(
        "nvidia-h100",
        H100,
        moving("softmax", (32768, 256), 3_350_000_000, 2000),  # 1,675 of 3,350 GB/s; quack 1,900
        moving("rms_norm", (8192, 262144), 3_350_000_000, 1000),  # at the peak; quack 2,811
        moving("cross_entropy", (16384, 131072), 3_350_000_000, 1250),  # 2,680; quack 3,163
        moving("softmax", (32768, 512), 3_350_000_000, 1000, "float32"),
        moving("softmax", (65536, 2048), 3_350_000_000, 1000),
    )
    rendered(made, name="torch")
    found = section((repository / "report/nvidia-h100/torch.md").read_text(), QUACKS)
    assert re.search(r"\| Softmax, bf16 +\| 32 Ki x 256 +\| +50\.0 % \| +56\.7 % \| +0\.88x \|", found)
    assert re.search(r"\| RMSNorm, bf16 +\| 8 Ki x 256 Ki +\| +100 % \| +83\.9 % \| +1\.19x \|", found)
    assert re.search(r"\| Cross-entropy, bf16 +\| 16 Ki x 128 Ki +\| +80\.0 % \| +94\.4 % \| +0\.85x \|", found)
    assert "in 1 of 3 cells" in found, "neither another type nor another shape is set beside them"


@pytest.mark.parametrize("name", [H200, "NVIDIA H100 PCIe", "NVIDIA H100 NVL"])
def test_no_other_card_is_set_beside_them(repository, name, rendered):
    rendered(document_of("other", name, moving("softmax", (32768, 256), 3_350_000_000, 2000)), name="torch")
    found = section((repository / "report/other/torch.md").read_text(), QUACKS)
    assert f"These runs are of {name}, so they are not set beside them." in found and "|" not in found


def test_none_of_their_shapes_was_measured(repository, rendered):
    rendered(document_of("nvidia-h100", H100, moving("softmax", (4096, 256), 1 << 20, 10)), name="torch")
    assert "None of the shapes" in section((repository / "report/nvidia-h100/torch.md").read_text(), QUACKS)


def test_a_gpu_without_the_suite_has_this_page_alone(repository, run, small, rendered):
    rendered(small)
    before = {path: path.read_bytes() for path in (repository / "report/synthetic-gpu").rglob("*") if path.is_file()}
    path = synthetic.write(repository / "report/data", document_of("nvidia-h100", H100, moving("softmax", (32768, 256), 1 << 20, 10)), name="torch")
    for command in ("render", "check", "site"):
        assert run(command)[0] == 0
    assert [made.name for made in (repository / "report/nvidia-h100").iterdir()] == ["torch.md"]
    index = (repository / "report/index.md").read_text()
    assert f"without the suite: [{H100}](nvidia-h100/torch.md)." in index
    assert before == {path: path.read_bytes() for path in before}, "the other GPU's pages stay as they were"

    path.unlink()
    assert run("check")[0] != 0, "the page is stale"
    assert run()[0] == 0
    assert not (repository / "report/nvidia-h100").exists()


def test_without_the_suite_a_file_in_doubt_is_refused_too(repository, run):
    made = document_of("nvidia-h100", H100) | {"schema": "rungs.torch/2"}
    synthetic.write(repository / "report/data", made, name="torch")
    assert "this generator reads 'rungs.torch/1'" in run()[2]
    assert not (repository / "report/nvidia-h100").exists()


def test_nothing_verified_makes_no_page(repository, rendered):
    bad = moving("softmax", (32768, 256), 1 << 20, 10) | {"verified": False, "rungs": None}
    rendered(document_of("nvidia-h100", H100, bad), name="torch")
    assert not (repository / "report/nvidia-h100").exists()


def test_claims_are_answered_from_the_runs(repository, run, written):
    shape = (65536, 2048)
    written(
        document(
            "2026-01-01T00:00:00Z",
            cell("logsumexp", "float32", shape, 100, 400, roof=95.0),
            cell("softmax", "float32", shape, 150, 200, roof=100.0),  # as with one more read
            cell("layer_norm", "bfloat16", shape, 100, 200, roof=95.0),
            cell("rms_norm", "float32", (32768, 2048), 100, 200, roof=95.0),
        )
    )
    machine = machine_of(repository)
    answers = [claims.answer(claim, machine) for claim in claims.ROWS if claim.identity in ("A7", "A8")]
    assert [answer.verdict for answer in answers] == [claims.HOLDS, claims.FAILS, claims.UNMEASURED, claims.UNMEASURED]
    assert answers[0].measured == "95.0 % of the speed of reading alone at 64 Ki x 2 Ki floats, verified in float64"
    assert answers[1].measured.startswith("66.7 % of the speed of a copy")
