"""report/schema.json: a JSON Schema of draft 2020-12 that the committed results keep, and that the reader asks column by column."""

import copy
from pathlib import Path
from typing import Any

import pytest
import synthetic
from jsonschema import Draft202012Validator
from test_refusals import BROKEN_DOCUMENTS, BROKEN_ROWS

from rungs_report import data, schema

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = [file for file in data.all_result_files(REPOSITORY / "report/data", earlier=True)]
PLAIN = Draft202012Validator(schema.DOCUMENT)
# What no schema can ask: how a file lies, and how its fields fit each other.
BEYOND = {
    "wrong folder", "another run's name", "no rows", "row of another GPU", "row of another run", "row of another commit",
    "unverified", "implausible", "median outside its interval", "zero time", "no samples", "impossible rate", "ratio without verdict",
    "ratio outside its interval", "unknown rung",
}  # fmt: skip


def test_it_is_a_schema():
    assert schema.DOCUMENT["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema.DOCUMENT)


def asked(part: Any, *words: str) -> list[Any]:
    """What the schema asks anywhere by one of these keywords."""
    if isinstance(part, list):
        return [found for own in part for found in asked(own, *words)]
    if not isinstance(part, dict):
        return []
    return [part[word] for word in words if word in part and not isinstance(part[word], dict)] + [found for own in part.values() for found in asked(own, *words)]


def test_values_of_one_form_get_one_answer():
    """What schema.form relies on: no bound but 0, no number among the words, of a list no length and no order."""
    assert set(asked(schema.DOCUMENT, "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")) == {0}
    assert not any(isinstance(word, (int, float)) for words in asked(schema.DOCUMENT, "enum") for word in words)
    assert set(asked(schema.DOCUMENT, "minItems")) == {1}
    assert not asked(schema.DOCUMENT, "maxItems", "uniqueItems", "prefixItems", "contains")


def test_a_form_tells_numbers_by_type_and_sign_and_the_rest_by_value():
    one = {"a": [1, 2.5, 3, 4.5], "b": {"c": "x", "d": None}}
    assert schema.form(one) == schema.form({"a": [7, 0.25], "b": {"c": "x", "d": None}})
    for other in ({"a": [1, 2.5, -3]}, {"a": [1, 2]}, {"a": []}, {"a": [1, 2.5, True]}, {"b": {"c": "y", "d": None}}, {"b": {"c": "x", "d": 0}}, {"b": {"c": "x"}}, {"a": None}):
        assert schema.form(one) != schema.form({**one, **other}), other


@pytest.mark.parametrize("path", RESULTS, ids=data.stem)
def test_committed_results_keep_it(path):
    document = data.parse(path)
    assert schema.fault(document, "results") is None
    assert not [row for row in document["rows"] if schema.row_fault(row)]
    few = {name: value[::50] if name in ("rows", "skipped", "twins") else value for name, value in document.items()}
    assert not [error.message for error in PLAIN.iter_errors(few)]


@pytest.mark.parametrize("name", sorted(BROKEN_DOCUMENTS.keys() | BROKEN_ROWS.keys()))
def test_the_reader_and_a_plain_validator_agree(small, name):
    """On every kind of broken file that the reader refuses."""
    made = copy.deepcopy(small)
    if name in BROKEN_DOCUMENTS:
        BROKEN_DOCUMENTS[name][0](made)
    else:
        made["rows"][1].update(BROKEN_ROWS[name][0])
    rows = made["rows"] if isinstance(made["rows"], list) else []
    refused = schema.fault(made, "results") or next((fault for row in rows if (fault := schema.row_fault(row) if isinstance(row, dict) else "no object")), None)
    assert bool(refused) == (not PLAIN.is_valid(made)) == (name not in BEYOND), refused


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("items", 16.0, "has items 16.0, which is no count"),  # bench writes 16
        ("rung", "two_passes\n", "has rung 'two_passes\\n', which is no struct's name"),
        ("shape", None, "has shape None, which is no text"),
        ("median_us", None, "has median_us None, which is no number"),
        ("gb_per_s", [1.0], "has gb_per_s of the wrong kind"),
        ("mode", "tepid", "has mode 'tepid', which is none of cold, dirty, graph, host, warm"),
        ("median_us", -2.5, "has median_us -2.5, which is no number"),
        ("energy_uj", -0.5, "has energy_uj -0.5, which is no number"),
        ("energy_uj", "much", "has energy_uj 'much', which is no number"),
    ],
)
def test_a_fault_is_told_with_its_value(small, field, value, says):
    row = small["rows"][0]
    assert schema.row_fault(row) is None
    assert schema.row_fault({**row, field: value}) == says


def test_a_time_may_be_null_where_nothing_was_verified(small):
    row = small["rows"][0] | {"verified": "no", "median_us": None, "low_us": None, "high_us": None}
    assert schema.row_fault(row) is None and PLAIN.is_valid({**small, "rows": [row]})
    assert schema.row_fault(row | {"verified": "yes"}) and not PLAIN.is_valid({**small, "rows": [row | {"verified": "yes"}]})


def test_energy_and_later_parts_may_be_there(small, rendered, run_of):
    """What --energy and --resume add; files without it are read as before."""
    rendered(small)
    small["rows"][0]["energy_uj"] = 41.5
    small["context"]["resumed"] = ["2030-01-02T050000Z"]
    code, out, err = run_of(small)
    assert (code, err) == (0, "") and "3 rows out" in out and "0 changed" in out and PLAIN.is_valid(small)
    small["context"]["resumed"] = "later"
    assert schema.fault(small, "results") and not PLAIN.is_valid(small)


def test_what_is_said_names_the_place(repository, run, small):
    small["context"]["device"]["name"] = 7
    synthetic.write(repository / "report/data", small)
    assert "has context.device.name 7, which is no text (3 rows); report/schema.json says" in run()[2]
    small["context"]["device"]["name"] = "Synthetic"
    small["rows"][1]["items"] = small["rows"][2]["items"] = -5
    synthetic.write(repository / "report/data", small)
    told = run()[2]
    assert f"{small['run']}.json: handwritten/last_block has items -5, which is no count (1 row, first rows[1]); report/schema.json says what bench writes" in told
