"""The study of atomics: sentences made from the rows, rates by addresses, and the claims about them."""

import re

import pytest
import synthetic
from conftest import add_small_atomics, machine_of
from rungs_report import atomics, claims


@pytest.fixture
def study(repository):
    made = synthetic.document()
    add_small_atomics(made)
    synthetic.write_sources(repository)
    synthetic.write(repository / "report/data", made)
    return atomics.Study(machine_of(repository))


def test_rates_follow_from_the_times(study):
    assert study.items == 1 << 20 and study.addresses == [1, 1024, 1 << 20]
    assert study.rate("global", 1) == pytest.approx((1 << 20) / 1000e-6) and study.rate("one_per_block", 1024) is None
    assert [atomics.per_second(rate) for rate in (None, 3.3e8, 58.1e9, 1.2e12, 12.0)] == ["–", "330 M", "58.1 G", "1.20 T", "12.0"]


def test_findings_say_what_the_rows_say(study):
    found = [sentence for finding in atomics.FINDINGS if (sentence := finding(study))]
    assert found[0] == "`global` adds u32 at 1.05 G operations a second on one address and at 52.4 G on 1,048,576 addresses: 50.0x between them."
    assert "is slower at 1 of 3 points, by up to 1.50x on 1,048,576 addresses." in found[1]
    joined = next(sentence for sentence in found if "warp_aggregated" in sentence)
    assert "faster at 2 of 3 points, by up to 25.0x on one address; it is slower at 1 of 3 points, by up to 1.65x" in joined
    assert "faster at 1 of 1 point, by up to 100x on one address." in next(s for s in found if "one_per_block" in s)
    assert not any("compare_and_swap" in sentence or "shared" in sentence for sentence in found), "what was not measured is not told"
    assert "all 2 operators on u32 cost the same" in found[-1]


def test_a_mechanism_that_costs_nothing(repository):
    made = synthetic.document()
    for count, other in ((1, 101.0), (64, 98.0)):
        times = {("handwritten", "global"): 100.0, ("handwritten", "system_scope"): other}
        types = {"operator": "plus", "input_type": "u32", "accumulator_type": "u32", "output_type": "u32"}
        synthetic.add_cell(made, 1 << 20, times, operation="atomics", shape=f"addresses={count}", **types)
    seen = atomics.Study(machine_of(repository, made))
    sentence = atomics.against("system_scope", "global", "The scope of the system")(seen)
    assert sentence.endswith("costs nothing: within 5 % at every number of addresses measured, one address to 64 addresses.")


def test_the_page(study, repository, run):
    assert run()[0] == 0
    folder = repository / "report/synthetic-gpu"
    page = (folder / "costs.md").read_text()
    assert "\n## Atomics\n" in page and "barriers" not in page, "nothing was measured of the other study"
    assert re.search(r"\| `global` +\| +1.05 G \| +21.0 G \| +\*\*52.4 G\*\* \|", page)
    assert re.search(r"\| `one_per_block` +\| \*\*105 G\*\* \| +– \| +– \|", page)
    assert "over CUB" not in page and (folder / "charts/atomics_heat_map_mechanisms.svg").is_file()
    front = (folder / "index.md").read_text()
    assert "**Atomics: `global` adds u32" in front and "([atomics](costs.md#atomics))" in front and "for atomics" not in front
    assert run("check")[0] == 0


def test_claims(study):
    answers = {claim.says: claims.answer(claim, study.machine) for claim in claims.ATOMICS}
    assert [answer.verdict for answer in answers.values()].count(claims.UNMEASURED) == 5
    one_a_block, _, more, few, million, *_ = answers.values()
    assert one_a_block == claims.Answer("100x at 1 Mi operations", claims.HOLDS, 1.0)
    assert few.measured.startswith("20.0x:") and few.ratio_of_ratios == pytest.approx(20 / 66) and few.verdict == claims.FAILS
    assert million.ratio_of_ratios == pytest.approx(50 / 176) and more.verdict == claims.UNMEASURED
