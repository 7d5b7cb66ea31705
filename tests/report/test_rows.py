"""Sums of the rows of a matrix: their page and their claims, and that neither is there without them."""

import re

import pytest
import synthetic
from rungs_report import claims, data, rows


@pytest.fixture
def page(repository, run):
    """The page's text, of a run that has these shapes."""

    def read(*shapes):
        made = synthetic.document()
        synthetic.add_rows(made, *shapes)
        synthetic.write(repository / "report/data", made)
        synthetic.write_sources(repository)
        assert run()[0] == 0
        return (repository / "report/synthetic-gpu/rows.md").read_text()

    return read


def test_the_page(page):
    text = page()
    assert "`rungs::DeviceSegmentedReduce` over the better of CUB 3.0.1's two calls: 1.15x in the geometric mean of 2 shapes, 1.00x at least" in text
    shapes = text.partition("## Shape by shape")[2].partition("## ")[0]
    assert re.search(r"64 Ki x 2 Ki +\| +123 µs \| +163 µs \| +203 µs \|.*1\.32x \| `warp_a_row` 133 µs", shapes)
    ladder = text.partition("## The ladder at")[2].partition("## ")[0]
    assert re.search(r"`shared_accumulation` +\| +454 µs \|.*\| +296 \| +454 µs \|", ladder), "the text's GFLOP/s from its time"
    assert re.search(r"`warp_a_row` +\| +133 µs \|", ladder)


def test_another_shape_has_no_ladder_of_the_texts(page):
    text = page(((19, 2048),))
    assert "## The ladder at" not in text and "## Every rung, in percent of the roof" in text


def test_claims_with_the_texts_own_times(repository, page):
    page()
    machine = data.read(repository / "report/data").machines[0]
    order, gained, alike, *wrong = (claims.answer(claim, machine) for claim in claims.ROWS if claim.identity in ("E1", "E2"))
    assert order.measured == "454 µs, 415 µs and 414 µs at 128 Mi" and order.verdict == claims.HOLDS
    assert gained.ratio_of_ratios == pytest.approx(1) and alike.ratio_of_ratios == pytest.approx(1)
    assert {answer.verdict for answer in wrong} == {claims.FALSE}
    told = (repository / "report/synthetic-gpu/claims.md").read_text()
    assert "## Rows" in told and "No rows were measured" not in told


def test_without_rows_nothing_is_said_of_them(repository, run, small):
    synthetic.write(repository / "report/data", small)
    assert run()[0] == 0
    folder = repository / "report/synthetic-gpu"
    assert not (folder / "rows.md").exists() and "## Rows" not in (folder / "claims.md").read_text()
    assert not rows.measured(data.read(repository / "report/data").machines[0])
