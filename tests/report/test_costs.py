"""The studies of costs: slopes of chains, the sentences and tables made of them, and the claims about them."""

import re

import pytest
import synthetic
from conftest import machine_of
from rungs_report import claims, costs


@pytest.fixture
def study(repository):
    made = synthetic.document()
    synthetic.add_costs(made)
    synthetic.write_sources(repository)
    synthetic.write(repository / "report/data", made)
    return costs.Study(machine_of(repository))


def test_a_cost_is_a_slope(study):
    warp = costs.Asked(costs.REDUCE)
    cost = study.cost(warp, "shuffle_down")
    assert cost.ns == pytest.approx(70) and cost.cycles == pytest.approx(70 * 1.98), "what a call takes besides drops out"
    assert cost.low < cost.ns < cost.high
    assert study.cost(warp._replace(threads=16), "shuffle_down").ns == pytest.approx(56)
    assert study.cost(warp._replace(operator="maximum"), "shuffle_down").ns == pytest.approx(77)
    assert study.cost(warp, "redux") is None and study.cost(warp._replace(input_type="i32"), "redux").ns == pytest.approx(20)
    assert study.cost(warp, "warps_of_warps") is None and study.cost(warp, "no_such_rung") is None
    assert study.times(warp, "shared_memory", "shuffle_down") == pytest.approx(160 / 70)


def test_launches_are_told_by_what_the_host_had_ready(repository):
    made = synthetic.document()
    about = {"operation": "barrier", "operator": "", "input_type": "u32", "accumulator_type": "u32", "output_type": "u32"}
    for items, us in ((4, 10.0), (16, 34.0), (256, 994.0)):
        times = {("handwritten", "kernels"): us, ("handwritten", "grid"): us}
        synthetic.add_cell(made, items, times, shape="blocks=132 threads=256", error=0, **about)
    seen = costs.Study(machine_of(repository, made))
    asked = costs.Asked(costs.BARRIER, 132, 256)
    assert seen.cost(asked, "kernels").ns == pytest.approx(2000) and seen.cost(asked, "kernels", longest=True).ns == pytest.approx(4000)
    assert seen.cost(asked, "grid").ns == pytest.approx(4000)
    assert [way for _, _, _, way, _ in costs.rows_of_barriers(seen)] == ["in one launch", "enqueued ahead", "while the host launches"]


def test_a_chain_of_one_length_or_of_no_cost_tells_nothing(repository):
    made = synthetic.document()
    about = {"operation": "collective_reduce", "shape": "threads=32", "output_type": "u32", "error": 0}
    synthetic.add_cell(made, 1024, {("handwritten", "shuffle_down"): 50.0, ("handwritten", "shared_memory"): 50.0}, **about)
    synthetic.add_cell(made, 16384, {("handwritten", "shared_memory"): 49.0}, **about)
    seen = costs.Study(machine_of(repository, made))
    assert seen.cost(costs.Asked(costs.REDUCE), "shuffle_down") is None and seen.cost(costs.Asked(costs.REDUCE), "shared_memory") is None
    assert not [sentence for finding in costs.FINDINGS if (sentence := finding(seen))]


def test_findings_say_what_the_rows_say(study):
    found = [sentence for finding in costs.FINDINGS if (sentence := finding(study))]
    assert len(found) == len(costs.FINDINGS)
    assert found[0] == (
        "A sum of 32 floats by shuffles takes 70.0 ns, 139 cycles; through shared memory it takes 160 ns, 317 cycles, 2.29x as long."
    )
    assert "`cg_coalesced_reduction` 3.00x in all of 4 cases" in found[1] and "`redux` 0.29x in all of 2 cases" in found[1]
    assert found[2].startswith("A sum over the lower 16 lanes takes, of one over 32: `shuffle_down` 0.80x, `redux` 0.80x")
    assert found[6] == "A barrier of a cluster takes 200 ns, 396 cycles with 2 blocks and 260 ns, 515 cycles with 16."
    assert found[8].endswith("4.50x with 2, 4.50x with 4, 4.50x with 8 and 4.50x with 16.")
    assert found[9] == (
        "To make 132 blocks of 256 wait for each other: a barrier inside a cooperative launch 1,300 ns, 2,570 cycles; cooperative groups'"
        " own 1,500 ns, 2,970 cycles; a kernel of its own 2,000 ns, 3,960 cycles; one launched while the one before still runs 1,200 ns,"
        " 2,380 cycles; a kernel as a node of a graph 1,200 ns, 2,380 cycles."
    )


def test_the_page(study, repository, run):
    assert run()[0] == 0
    folder = repository / "report/synthetic-gpu"
    page = (folder / "costs.md").read_text()
    assert re.search(r"\| `cg_coalesced_reduction` +\| +210 \| +416 \| +3\.00x \|", page)
    assert re.search(r"\| `redux` +\| +– \| +– \| +– \| +20\.0 \| +39\.6 \| +0\.29x \|", page)
    assert re.search(r"\| `kernels` +\| 132 blocks of 256 +\| nodes of a graph +\| +1,200 \| +2,380 \|", page)
    assert "over CUB" not in page and (folder / "charts/costs_heat_map_barriers.svg").is_file()
    assert "**Costs: A sum of 32 floats" in (folder / "index.md").read_text()
    assert run("check")[0] == 0


def test_without_such_rows_there_is_no_page(repository, small, rendered):
    folder = rendered(small)
    assert not list(folder.glob("costs*")) and "Costs:" not in (folder / "index.md").read_text()
    machine = machine_of(repository)
    assert {claims.answer(claim, machine).verdict for claim in claims.COSTS} == {claims.UNMEASURED}


def test_claims(study):
    answers = [claims.answer(claim, study.machine) for claim in claims.COSTS]
    by_identity = {}
    for claim, found in zip(claims.COSTS, answers, strict=True):
        by_identity.setdefault(claim.identity, []).append(found)
    assert by_identity["C2"][0].verdict == claims.HOLDS and by_identity["C2"][0].ratio_of_ratios == pytest.approx(160 / 70 / 2)
    assert [each.verdict for each in by_identity["C7"]] == [claims.HOLDS, claims.FAILS]
    five, three_hundred, sixty = by_identity["D3"]
    assert five.verdict == claims.FAILS and five.measured == "70.0 ns, 139 cycles"
    assert three_hundred.verdict == claims.HOLDS and sixty.verdict == claims.FAILS
    assert by_identity["D4"][0].verdict == claims.FAILS and by_identity["D7"][0].verdict == claims.HOLDS
    warp, block = by_identity["C8"]
    assert warp.measured.startswith("faster in 4 of 8 cases") and warp.verdict == claims.FAILS
    assert block.measured.startswith("faster in 0 of 8 cases") and by_identity["C12"][0].verdict == claims.HOLDS
