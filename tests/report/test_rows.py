"""Sums of the rows of a matrix: their page and their claims, and that neither is there without them."""

import re

import pytest
import synthetic
from conftest import machine_of
from rungs_report import claims, rows


@pytest.fixture
def page(rendered):
    """The page's text, of a run that has these shapes."""

    def read(*shapes):
        made = synthetic.document()
        synthetic.add_rows(made, *shapes)
        return (rendered(made) / "rows.md").read_text()

    return read


def test_the_page(page):
    text = page()
    assert "`rungs::DeviceSegmentedReduce` over the fastest call of CUB 3.0.1 for the same segments: 1.15x in the geometric mean of 2 shapes, 1.00x at least" in text
    shapes = text.partition("## Shape by shape")[2].partition("## ")[0]
    assert re.search(r"64 Ki x 2 Ki +\| +123 µs \| +163 µs \| +203 µs \| +1\.32x \|.*\| `warp_a_row` 133 µs", shapes)
    ladder = text.partition("## The ladder at")[2].partition("## ")[0]
    assert re.search(r"`shared_accumulation` +\| +454 µs \|.*\| +296 \| +454 µs \|", ladder), "the text's GFLOP/s from its time"
    assert re.search(r"`warp_a_row` +\| +133 µs \|", ladder)


def test_another_shape_has_no_ladder_of_the_texts(page):
    text = page(((19, 2048),))
    assert "## The ladder at" not in text and "## Every rung, in percent of the roof" in text


def test_claims_with_the_texts_own_times(repository, page):
    page()
    machine = machine_of(repository)
    order, gained, alike, *wrong = (claims.answer(claim, machine) for claim in claims.ROWS if claim.identity in ("E1", "E2"))
    assert order.measured == "454 µs, 415 µs and 414 µs at 128 Mi" and order.verdict == claims.HOLDS
    assert gained.ratio_of_ratios == pytest.approx(1) and alike.ratio_of_ratios == pytest.approx(1)
    assert {answer.verdict for answer in wrong} == {claims.FALSE}
    told = (repository / "report/synthetic-gpu/claims.md").read_text()
    assert "## Rows" in told and "No rows were measured" not in told


def test_without_rows_nothing_is_said_of_them(repository, small, rendered):
    folder = rendered(small)
    assert not (folder / "rows.md").exists() and "## Rows" not in (folder / "claims.md").read_text()
    assert not rows.measured(machine_of(repository))


def test_norms(rendered):
    made = synthetic.document()
    synthetic.add_rows(made)
    synthetic.add_norms(made)
    folder = rendered(made)
    text = (folder / "rows.md").read_text()
    told = text.partition("## Root-mean-square norms\n")[2]
    assert re.search(r"`norm_by_block` \| +% of a copy \| +`norm_in_registers` \| +% of a copy \| +`front_door_of_norms` \|", told)
    floor = synthetic.FLOOR
    assert re.search(rf"64 Ki x 2 Ki \| +{floor + 400:.0f} µs \| +\d+ \| +{floor + 320:.0f} µs \| +\d+ \| +{floor + 300:.0f} µs \|", told)
    claimed = (folder / "claims.md").read_text()
    assert "| D5 " in claimed and re.search(r"verified; norm\\_by\\_block \d+ µs, norm\\_in\\_registers \d+ µs and front\\_door\\_of\\_norms \d+ µs", claimed)


def test_without_norms_nothing_is_said_of_them(page, repository):
    assert "Root-mean-square norms" not in page() and "| D5  | RMSNorm in one kernel, a block a row, was not measured" in (repository / "report/synthetic-gpu/claims.md").read_text()
