"""What the generator must refuse, by file name and reason, with every row accounted for."""

import json
import re
from typing import Any

import pytest
import synthetic
from rungs_report import data


def change(**fields: Any):
    return lambda made: made.update(fields)


def in_first_row(**fields: Any):
    return lambda made: made["rows"][0].update(fields)


# What is done to a sound file's bytes, and what the refusal must say.
BROKEN_FILES = {
    "empty": (lambda raw: b"", "is empty"),
    "blank": (lambda raw: b" \n", "is empty"),
    "truncated": (lambda raw: raw[: len(raw) // 2], "truncated"),
    "not UTF-8": (lambda raw: raw.replace(b"Synthetic CPU", b"Synthetic \xff"), "is not UTF-8"),
    "NaN": (lambda raw: raw.replace(b'"median_us": 20.0', b'"median_us": NaN'), "NaN"),
    "Infinity": (lambda raw: raw.replace(b'"median_us": 20.0', b'"median_us": -Infinity'), "Infinity"),
    "overflow": (lambda raw: raw.replace(b'"median_us": 20.0', b'"median_us": 1e999'), "1e999"),
    "a list": (lambda raw: b"[]", "no JSON object"),
    "repeated field": (lambda raw: raw.replace(b'"complete": true', b'"complete": true, "complete": false'), "two fields"),
    "nested too deeply": (lambda raw: b"[" * 100000, "is not JSON"),
}  # fmt: skip

BROKEN_DOCUMENTS = {
    "wrong schema": (change(schema="rungs.results/2"), "rungs.results/2"),
    "no schema": (lambda made: made.pop("schema"), "schema"),
    "wrong folder": (change(gpu="synthetic-other"), "lies in the folder of synthetic-gpu"),
    "no slug": (change(gpu="../elsewhere"), "no slug"),
    "another run's name": (change(run="2030-01-01T000000Z-1234567"), "file's name"),
    "no rows": (change(rows=[]), "has no rows"),
    "rows no list": (change(rows={}), "rows of the wrong kind"),
    "row no object": (lambda made: made["rows"].append(3), "no object"),
    "row of another GPU": (in_first_row(gpu="synthetic-other"), "mixed"),
    "row of another run": (in_first_row(run="other"), "mixed"),
    "row of another commit": (in_first_row(commit="fffffff"), "mixed"),
    "no context": (lambda made: made.pop("context"), "lacks context"),
    "no device": (lambda made: made["context"].pop("device"), "context.device"),
    "variant without a source": (lambda made: made["variants"][0].pop("source"), "variants[0].source"),
    "complete is no boolean": (change(complete=1), "complete of the wrong kind"),
}  # fmt: skip

BROKEN_ROWS = {
    "unverified": (dict(verified="no", median_us=None, low_us=None, high_us=None), "was not verified"),
    "implausible": (dict(implausible=True), "implausible"),
    "median outside its interval": (dict(low_us=21.0), "outside its own interval"),
    "zero time": (dict(low_us=0.0, median_us=0.0), "outside its own interval"),
    "negative": (dict(items=-1), "no count"),
    "a word for a number": (dict(items="16 Mi"), "no count"),
    "true for a number": (dict(samples=True), "no count"),
    "no samples": (dict(samples=0), "without samples"),
    "unknown verdict": (dict(verdict="GREAT"), "GREAT"),
    "unknown mode": (dict(mode="tepid"), "tepid"),
    "missing time": (dict(median_us=None), "no number"),
    "impossible rate": (dict(gb_per_s=9999.0), "not bytes over"),
    "ratio without verdict": (dict(verdict=""), "without its interval or verdict"),
    "ratio outside its interval": (dict(speedup_low=5.0), "outside its own interval"),
    "unknown rung": (dict(rung="nobody"), "not among the file's variants"),
    "a rung with markup": (dict(rung="<script>"), "no struct's name"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_broken_file(repository, run, small, name):
    spoil, reason = BROKEN_FILES[name]
    path = synthetic.write(repository / "report/data", small)
    spoiled = spoil(path.read_bytes())
    assert spoiled != path.read_bytes()
    path.write_bytes(spoiled)
    code, out, err = run()
    assert code == 1
    assert f"synthetic-gpu/{path.name}" in err and reason in err
    assert "0 rows in = 0 rows out" in out
    assert not (repository / "report/synthetic-gpu").exists()
    assert path.name in (repository / "report/index.md").read_text()


@pytest.mark.parametrize("name", BROKEN_DOCUMENTS)
def test_broken_document(repository, run, small, name, run_of):
    spoil, reason = BROKEN_DOCUMENTS[name]
    file = small["run"]
    spoil(small)
    code, _, err = run_of(small, synthetic.GPU, file)
    assert code == 1
    assert f"synthetic-gpu/{file}.json" in err and reason in err
    assert not (repository / "report/synthetic-gpu").exists()


@pytest.mark.parametrize("name", BROKEN_ROWS)
def test_broken_row(repository, run, small, name, run_of):
    fields, reason = BROKEN_ROWS[name]
    target = next(row for row in small["rows"] if row["rung"] == "last_block")
    target.update(fields)
    code, out, err = run_of(small)
    assert code == 1 and reason in err and small["run"] in err
    assert "3 rows in = 2 rows out + 0 twins of CUB + 1 rows refused" in out
    page = (repository / "report/synthetic-gpu/index.md").read_text()
    assert "## Refused" in page
    assert run("site")[0] == 1
    assert "last_block" not in (repository / "report/site/synthetic-gpu/results.csv").read_text()


def test_missing_column(small, run_of):
    del small["rows"][0]["kernels"]
    code, out, err = run_of(small)
    assert code == 1 and "lacks the column kernels" in err and "2 rows out" in out


def test_duplicated_rows_are_all_refused(small, run_of):
    small["rows"].append({**small["rows"][0], "median_us": 25.0, "low_us": 24.9, "high_us": 30.1, "gb_per_s": None})
    code, out, err = run_of(small)
    assert code == 1 and "duplicated" in err
    assert "4 rows in = 2 rows out + 0 twins of CUB + 2 rows refused" in out


def test_twins_are_no_rows_of_the_csv(small, run_of):
    small["rows"].append({**small["rows"][-1], "twin": True})
    code, out, _ = run_of(small)
    assert code == 0 and "4 rows in = 3 rows out + 1 twins of CUB + 0 rows refused" in out


def test_shared_run_ids(repository, run, small, run_of):
    synthetic.write(repository / "report/data", small)
    other = json.loads(json.dumps(small).replace(synthetic.GPU, "synthetic-other"))
    code, out, err = run_of(other)
    assert code == 1 and err.count("shares its run id") == 2
    assert "6 rows in = 0 rows out + 0 twins of CUB + 6 rows refused" in out


def test_a_sound_file_beside_a_broken_one(repository, run, small):
    synthetic.write(repository / "report/data", small)
    (repository / "report/data/synthetic-gpu/broken.json").write_text("{")
    code, out, err = run()
    assert code == 1 and "broken.json" in err and "3 rows out" in out
    assert "broken.json" in (repository / "report/synthetic-gpu/index.md").read_text()


def test_files_outside_a_folder_are_refused(small, run_of):
    code, _, err = run_of(small, ".")
    assert code == 1 and "lies in the folder of" in err


def test_a_packed_file_is_read_like_any(repository, run, small):
    path = synthetic.write(repository / "report/data", small)
    assert run()[0] == 0
    folder = repository / "report/synthetic-gpu"
    plain = {page.name: page.read_text() for page in folder.glob("*.md")}
    packed = synthetic.pack(path)
    for name in (data.SAMPLES, f"x.{data.SAMPLES}"):
        (packed.parent / name).write_bytes(packed.read_bytes())
    code, out, err = run()
    assert code == 0 and "3 rows in = 3 rows out" in out and not err
    assert {page.name: page.read_text() for page in folder.glob("*.md")} == plain


def test_a_packed_file_is_refused_like_any(repository, run, small, run_of):
    file = small["run"]
    packed = synthetic.pack(synthetic.write(repository / "report/data", small, name="other"))
    code, _, err = run()
    assert code == 1 and f"{packed.name}: calls its run '{file}', but the file's name says 'other'" in err
    packed.write_bytes(packed.read_bytes()[:-20])
    code, _, err = run()
    assert code == 1 and f"refused synthetic-gpu/{packed.name}: is not gzip, perhaps truncated" in err
    packed.write_text(json.dumps(small))
    code, _, err = run()
    assert code == 1 and "is not gzip" in err
    packed.unlink()
    synthetic.pack(synthetic.write(repository / "report/data", small))
    code, out, err = run_of(small)
    assert code == 1 and err.count("shares its run id") == 2 and "0 rows out" in out


@pytest.mark.parametrize("outcome", ["pending", "stale", "failed"])
def test_records_that_have_not_passed(repository, small, outcome, run_of):
    (repository / "tests").mkdir()
    records = [
        {
            "family": "handwritten",
            "ladder": "reductions",
            "rung": "last_block",
            "operator": "plus",
            "input_type": "f32",
            "outcome": outcome,
        },
        {
            "family": "handwritten",
            "ladder": "reductions",
            "rung": "grid_stride",
            "operation": "reduce",
            "outcome": "passed",
            "more": 1,
        },
        {"family": "handwritten", "rung": "grid_stride", "operator": "minimum", "outcome": "pending"},
        "nonsense",
    ]
    (repository / "tests/gpu_record.json").write_text(json.dumps({"records": records}))
    code, out, err = run_of(small)
    assert code == 0, "work in progress is no fault"
    assert f"GPU record is {outcome}" in err and "2 rows out" in out and "1 rows refused" in out


def test_unreadable_record(repository, small, run_of):
    (repository / "tests").mkdir()
    (repository / "tests/gpu_record.json").write_text("{")
    code, _, err = run_of(small)
    assert code == 1 and "tests/gpu_record.json" in err


def test_columns_are_the_schemas():
    """The table of SCHEMA.md names every column, in this order."""
    from pathlib import Path

    schema = (Path(data.__file__).parents[1] / "SCHEMA.md").read_text()
    table = schema[schema.index("| column | meaning |") :]
    named = [name for line in table.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert named == list(data.COLUMNS)


def test_a_run_in_which_everything_was_skipped(small, run_of):
    """Told, but no fault: a filter for device cases on a machine without a GPU ends so."""
    small["rows"] = []
    small["skipped"] = [{"rung": "warp_shuffle", "reason": "no usable GPU"}]
    code, out, err = run_of(small)
    assert code == 0 and "every case was skipped" in err and "0 rows in = 0 rows out" in out
