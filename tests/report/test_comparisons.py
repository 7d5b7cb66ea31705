"""What may be concluded from several runs, and what the claims make of the data."""

import copy

import pytest
import synthetic
from conftest import add_small_cell, machine_of
from rungs_report import claims, compare, words
from rungs_report.data import Variant

CELL = claims.SUM._replace(items=1 << 24)
LAST = Variant("handwritten", "reductions", "last_block")


def one_run(hour: int, cub: float, cccl: str = "3.0.1"):
    made = synthetic.document(f"2030-01-02T{hour:02d}0000Z-abc1234", cccl)
    add_small_cell(made, ours=20.0, cub=cub)
    return made


def test_the_median_run_headlines(repository):
    seen = machine_of(repository, one_run(1, 22.0), one_run(2, 26.0), one_run(3, 21.0))
    ratio = compare.headline(seen, CELL, LAST)
    assert ratio.value == pytest.approx(1.1) and ratio.runs == 3 and ratio.verdict == "FASTER"
    assert ratio.low == pytest.approx(1.05 * 0.995) and ratio.high == pytest.approx(1.3 * 1.005)


def test_the_better_cub_headlines(repository):
    seen = machine_of(repository, one_run(1, 24.0), one_run(2, 24.0), one_run(3, 21.0, "3.6.0"))
    assert [(r.cccl, round(r.value, 2)) for r in compare.ratios(seen, CELL, LAST)] == [("3.0.1", 1.2), ("3.6.0", 1.05)]
    assert compare.headline(seen, CELL, LAST).cccl == "3.6.0"
    assert compare.main_cccl(seen) == "3.0.1"


def releases(hour: int, cccl: str, cub: float, sizes: tuple[int, ...] = (1 << 24,), **ours: float):
    made = synthetic.document(f"2030-01-02T{hour:02d}0000Z-abc1234", cccl)
    for items in sizes:
        synthetic.add_cell(made, items, synthetic.ours(**ours) | synthetic.libraries(cub_device_reduce=cub))
    return made


def test_the_best_is_told_in_one_releases_cub(repository, run):
    """A rung that met one release is neither behind nor ahead for that, whichever CUB is the better one; every page says so."""
    sizes = (1 << 20, 1 << 24)
    old, again = (releases(n, "3.0.1", 24.0, sizes, last_block=20.0, early_ticket=19.0, vector_loads=21.0) for n in (1, 3))
    new = releases(2, "3.6.0", 21.0, sizes, last_block=20.0, vector_loads=21.0)
    seen = machine_of(repository, old, new, again)
    assert compare.best(seen, CELL).variant.rung == "early_ticket"
    assert compare.fastest(seen, CELL).rung == "early_ticket"
    assert compare.told(seen, CELL)[LAST].value == pytest.approx(1.2) and compare.headline(seen, CELL, LAST).value == pytest.approx(1.05)
    run()
    front = (repository / "report/synthetic-gpu/index.md").read_text()
    assert "`early_ticket`" in front and "1.26 / ≈1.11x" in front and "≈: the rung has not met that release" in front


def test_who_has_not_met_the_better_cub_does_not_gain_by_that(repository):
    """By the rung that met both, the newer CUB is 7/8 of the older one's time: carried over, a gain may become undecided or a loss."""
    old = [releases(n, "3.0.1", 24.0, last_block=20.0, early_ticket=19.0, vector_loads=23.5) for n in (1, 3)]
    seen = machine_of(repository, *old, releases(2, "3.6.0", 21.0, last_block=20.0))
    ratio = compare.headline(seen, CELL, LAST._replace(rung="early_ticket"))
    assert ratio.value == pytest.approx(24 / 19 * 21 / 24) and (ratio.cccl, ratio.carried, ratio.verdict) == ("3.6.0", True, "FASTER")
    ratio = compare.headline(seen, CELL, LAST._replace(rung="vector_loads"))
    assert ratio.value < 1 and ratio.carried and ratio.verdict == "AMBIGUOUS"
    own = compare.measured(seen, CELL, LAST._replace(rung="early_ticket"))
    assert own.value == pytest.approx(24 / 19) and not own.carried
    assert not compare.headline(seen, CELL, LAST).carried


def test_a_library_that_changed_with_the_release_carries_nothing_over(repository):
    """Thrust halved its time, CUB and ours stayed."""
    old, new = (synthetic.document(f"2030-01-02T0{hour}0000Z-abc1234", cccl) for hour, cccl in ((1, "3.0.1"), (2, "3.6.0")))
    synthetic.add_cell(old, 1 << 24, synthetic.ours(last_block=20.0, early_ticket=19.0) | synthetic.libraries(cub_device_reduce=24.0, thrust_reduce=48.0))
    synthetic.add_cell(new, 1 << 24, synthetic.ours(last_block=20.0) | synthetic.libraries(cub_device_reduce=24.0, thrust_reduce=24.0))
    own, carried = compare.over(machine_of(repository, old, new), CELL, LAST._replace(rung="early_ticket"))
    assert own.value == carried.value == pytest.approx(24 / 19) and carried.carried


def test_what_is_carried_over_into_the_noise_is_a_tie(repository):
    """As it is for a rung that met the release: one must not win by having stayed away."""
    old = [releases(n, "3.0.1", 24.0, last_block=20.0, early_ticket=19.0) for n in (1, 3)]
    new = releases(2, "3.6.0", 21.0, last_block=20.0)
    synthetic.add_twin(new, noise_floor=0.12)
    ratio = compare.headline(machine_of(repository, *old, new), CELL, LAST._replace(rung="early_ticket"))
    assert ratio.value == pytest.approx(24 / 19 * 21 / 24) and ratio.carried and ratio.verdict == "SAME"


def test_a_rung_of_the_newer_release_only_is_carried_over(repository):
    """18 there is 1.17x; in the other release's CUB, by the rungs that met both, 24 over 18."""
    old = releases(1, "3.0.1", 24.0, last_block=20.0, vector_loads=21.0)
    new = releases(2, "3.6.0", 21.0, last_block=20.0, vector_loads=21.0, early_ticket=18.0, grid_stride=22.0)
    seen = machine_of(repository, old, releases(3, "3.0.1", 24.0, last_block=20.0, vector_loads=21.0), new)
    told = {variant.rung: ratio.value for variant, ratio in compare.told(seen, CELL).items()}
    assert told["early_ticket"] == pytest.approx(24 / 18) and told["grid_stride"] == pytest.approx(24 / 22)
    assert compare.best(seen, CELL).variant.rung == "early_ticket"
    assert compare.best(seen, CELL).ratio.value == pytest.approx(21 / 18)  # what was measured


def test_a_rung_of_one_run_does_not_gain_by_its_cub(repository):
    """In the first run CUB was slow: who is only there must not look faster than who is everywhere."""
    slow = releases(1, "3.0.1", 30.0, last_block=20.0, vector_loads=21.0, early_ticket=20.5)
    seen = machine_of(repository, slow, *(releases(n, "3.0.1", 24.0, last_block=20.0, vector_loads=21.0) for n in (2, 3)))
    (only,) = compare.ratios(seen, CELL, LAST._replace(rung="early_ticket"))
    assert only.value == pytest.approx(24 / 20.5) and only.low < only.value < only.high
    assert compare.best(seen, CELL).variant.rung == "last_block"
    assert compare.headline(seen, CELL, LAST).value == pytest.approx(24 / 20)


def test_a_verdict_is_not_moved_over_one(repository):
    seen = machine_of(repository, releases(1, "3.0.1", 30.0, last_block=20.0, early_ticket=25.0), releases(2, "3.0.1", 22.0, last_block=20.0))
    (only,) = compare.ratios(seen, CELL, LAST._replace(rung="early_ticket"))
    assert only.value == pytest.approx(1.2 * (1.3 / 1.5)) and only.verdict == "FASTER"
    seen = machine_of(repository, releases(3, "3.0.1", 20.0, last_block=20.0), releases(4, "3.0.1", 20.0, last_block=20.0))
    (only,) = compare.ratios(seen, CELL, LAST._replace(rung="early_ticket"))
    assert only.value < 1 and only.verdict == "AMBIGUOUS"


def test_cubs_time_is_of_the_release_that_is_shown(repository):
    new = releases(2, "3.6.0", 24.0, last_block=20.0)
    synthetic.add_cell(new, 1 << 24, {("library_baselines", "cub_device_reduce_expert"): 21.0})
    seen = machine_of(repository, releases(1, "3.0.1", 24.0, last_block=20.0), releases(3, "3.0.1", 24.0, last_block=20.0), new)
    assert compare.fastest_cub(seen, CELL) == (Variant("library_baselines", "baselines", "cub_device_reduce"), 24.0)


def test_the_best_under_cubs_workspace_contract(repository, run):
    made = releases(1, "3.0.1", 20.0, early_ticket=18.0, last_block=24.0)
    for entry in made["variants"]:
        entry["workspace_contract"] = "zeroed_once" if entry["rung"] == "early_ticket" else "uninitialised"
    seen = machine_of(repository, made)
    assert [compare.best(seen, CELL, contract).variant.rung for contract in (False, True)] == ["early_ticket", "last_block"]
    run()
    front = (repository / "report/synthetic-gpu/index.md").read_text()
    assert "reductions, against the best rung of any workspace: CUB wins 0 of 1" in front
    assert "against the best that keeps CUB's workspace contract: CUB wins 1 of 1" in front
    assert "Against the best rung of CUB's contract CUB wins: 1" in front and "Against the best rung of any workspace CUB wins nowhere" in front
    topic = (repository / "report/synthetic-gpu/reductions.md").read_text()
    assert "the best loses to CUB in 1, ties in 0, is undecided in 0 and wins 0 of 1 problem" in topic
    assert "CUB against the best rung of each size" in " ".join(front.split())


def test_claims_and_the_front_count_the_same_problems(repository, run):
    """Cold and in a graph: the claim's sentence and the front's row."""
    made = releases(1, "3.0.1", 24.0, last_block=20.0)
    rungs = {("handwritten", "last_block"): 20.0, ("library_baselines", "cub_device_reduce"): 20.05}
    synthetic.add_cell(made, 1 << 24, rungs, mode="graph")
    synthetic.write(repository / "report/data", made)
    run()
    pages = {name: (repository / f"report/synthetic-gpu/{name}.md").read_text() for name in ("index", "claims")}
    assert "of 2 problems CUB wins 0, the best rung wins 1, 1 are ties, 0 are undecided" in pages["claims"]
    assert "CUB wins 0 of 2, 1 tied, 0 undecided" in pages["index"]


def test_the_rules_of_verdicts_stand_on_the_claims_page(monkeypatch, rendered):
    monkeypatch.setattr(claims, "NEAR", 1.375)
    page = (rendered(one_run(1, 22.0)) / "claims.md").read_text()
    assert "within a factor of 1.375 of it" in page and page.index("1.375") < page.index("## Reductions")


def test_a_corrected_commit_is_one_sentence(rendered):
    made = one_run(1, 22.0)
    made["context"]["banners"] = ["its commit was corrected from fffffff-dirty: what was built was that: and more"]
    page = (rendered(made) / "index.md").read_text()
    assert "was built from the sources of commit `abc1234` shortly before they were committed; its file had said `fffffff-dirty`." in page


def test_ratios_never_cross_runs(repository):
    """A run in which everything was twice as slow changes no ratio, though it would if medians of times were divided."""
    slow = synthetic.document("2030-01-02T020000Z-abc1234")
    add_small_cell(slow, ours=40.0, cub=44.0)
    other = synthetic.document("2030-01-02T030000Z-abc1234")
    synthetic.add_cell(other, 1 << 24, {("library_baselines", "cub_device_reduce"): 11.0})
    seen = machine_of(repository, one_run(1, 22.0), slow, other)
    assert compare.headline(seen, CELL, LAST).value == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("said", "joint"),
    [
        (["FASTER"] * 3, "FASTER"), (["FASTER", "FASTER", "SAME"], "SAME"), (["FASTER", "SLOWER"], "AMBIGUOUS"),
        (["SLOWER", "SAME"], "SAME"), (["FASTER", "SAME", "SLOWER"], "AMBIGUOUS"), (["FASTER", "AMBIGUOUS"], "AMBIGUOUS"),
    ],
)  # fmt: skip
def test_joint_verdicts(said, joint):
    assert compare.joint_verdict(said) == joint


def test_versions_are_ordered_as_numbers():
    assert sorted(["3.10.0", "3.9.1", "unknown", "3.0.1"], key=compare.version_key) == ["3.0.1", "3.9.1", "3.10.0", "unknown"]


def test_ties_are_told_as_ties(rendered):
    page = (rendered(one_run(1, 20.05)) / "reductions.md").read_text()
    assert "level with it at 1 and slower at 0 of 1 size." in page and "| tie " in page
    assert "Ties:" in page


def test_losses_are_told_as_losses(rendered):
    page = (rendered(one_run(1, 15.0)) / "reductions.md").read_text()
    assert "**CUB wins**" in page and "slower at 1 of 1 size" in page


def test_what_runs_on_the_host_is_no_rung(repository):
    made = one_run(1, 22.0)
    next(v for v in made["variants"] if v["rung"] == "last_block")["executes_on"] = "host"
    assert compare.best(machine_of(repository, made), CELL).variant.rung == "grid_stride"


def test_gain_is_over_the_rung_before_that_was_measured(repository):
    seen = machine_of(repository, one_run(1, 22.0))
    grid_stride = Variant("handwritten", "reductions", "grid_stride")
    assert compare.within_runs(seen, CELL, grid_stride, LAST) == pytest.approx(1.5)


# ---- claims


def answered(seen, identity):
    return [claims.answer(claim, seen) for claim in (*claims.REDUCTIONS, *claims.PITFALLS) if claim.identity == identity]


def ladder_run(**times):
    made = synthetic.document()
    synthetic.add_cell(made, 1 << 24, synthetic.ours(**times) | synthetic.libraries(cub_device_reduce=22.0))
    return made


def test_claims_without_data_say_so(repository):
    made = synthetic.document()
    synthetic.add_cell(made, 1 << 24, {("library_baselines", "cub_device_reduce"): 22.0})
    seen = machine_of(repository, made)
    answers = [claims.answer(claim, seen) for claim in (*claims.REDUCTIONS, *claims.SCANS)]
    assert {answer.verdict for answer in answers} == {claims.UNMEASURED}


def test_every_claim_is_answered_by_a_full_run(repository):
    seen = machine_of(repository, synthetic.full())
    told = (*claims.REDUCTIONS, *claims.SCANS, *claims.PITFALLS)
    assert claims.UNMEASURED not in {claims.answer(claim, seen).verdict for claim in told}
    wanted = {"A1", "A2", "A3", "A4", "A5", "A9", "C1", "C6", "C7", "C8", "C9", "C11", "C12", "C18", "D6", "D7"}
    assert {claim.identity for claim in claims.SCANS} == {"C3", "C8", "D9"}
    assert {claim.identity for claim in claims.REDUCTIONS} == wanted and {claim.identity for claim in claims.PITFALLS} == {"C17"}


def test_c1(repository):
    rising = dict(zip(claims.CLASSIC, (120.0, 80.0, 40.0, 30.0, 20.0), strict=True))
    order, total, roofline = answered(machine_of(repository, ladder_run(**rising)), "C1")
    assert order.verdict == claims.HOLDS and total.verdict == claims.HOLDS
    assert total.ratio_of_ratios == pytest.approx(1.0) and "6.00x at 16 Mi" in total.measured


def test_c1_out_of_order(repository):
    times = dict(zip(claims.CLASSIC, (120.0, 80.0, 40.0, 20.0, 30.0), strict=True))
    order, total, _ = answered(machine_of(repository, ladder_run(**times)), "C1")
    assert order.verdict == claims.FAILS and total.verdict == claims.FAILS and total.ratio_of_ratios == pytest.approx(4 / 6)


@pytest.mark.parametrize(("slow", "verdict"), [(1300.0, claims.HOLDS), (9000.0, claims.FAILS), (400.0, claims.FAILS)])
def test_a4(repository, slow, verdict):
    seen = machine_of(repository, ladder_run(atomic_per_element=slow, grid_stride=20.0))
    gain = answered(seen, "A4")[1]
    assert gain.verdict == verdict and gain.ratio_of_ratios == pytest.approx(slow / 20 / 65)


def test_float_atomics(repository):
    made = ladder_run(atomic_per_element=1000.0, grid_stride=20.0)
    assert answered(machine_of(repository, made), "C17")[0].verdict == claims.FAILS
    unsteady = copy.deepcopy(made)
    unsteady["rows"][0]["repeatable"] = "no"
    assert answered(machine_of(repository, unsteady), "C17")[0].verdict == claims.HOLDS


# ---- words


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0"),
        (1000, "1,000"),
        (1024, "1 Ki"),
        (3 << 10, "3 Ki"),
        (1 << 24, "16 Mi"),
        ((1 << 24) + 1, "16,777,217"),
        (1 << 30, "1 Gi"),
    ],
)
def test_sizes(count, said):
    assert words.size(count) == said


@pytest.mark.parametrize(
    ("microseconds", "said"),
    [
        (0.7344, "0.734 µs"),
        (3.1, "3.10 µs"),
        (9.996, "10.0 µs"),
        (99.96, "100 µs"),
        (999.4, "999 µs"),
        (1234.5, "1.23 ms"),
        (2.5e6, "2.50 s"),
        (None, "–"),
    ],
)
def test_times(microseconds, said):
    assert words.time(microseconds) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.324, "1.32x"), (9.996, "10.0x"), (52.34, "52.3x"), (481.2, "481x"), (0.00713, "0.0071x"), (1.0, "1.00x"), (None, "–")],
)
def test_ratios(value, said):
    assert words.ratio(value) == said


def test_tables_are_aligned():
    lines = words.table(["rung", ">time"], [["a", "1.00 µs"], ["longer", "12 µs"]])
    assert len({len(line) for line in lines}) == 1 and lines[1] == "|--------|--------:|"


def test_every_claim_of_the_texts_has_a_row_or_a_reason(repository, run, monkeypatch):
    synthetic.write(repository / "report/data", one_run(1, 22.0))
    machine = machine_of(repository)
    told = {claim.identity for own in (*claims.of(machine).values(), claims.PITFALLS) for claim in own}
    assert len(claims.IDENTITIES) == 45 and told <= set(claims.IDENTITIES)
    assert set(claims.lacking(machine)) == set(claims.IDENTITIES) - told
    assert {"C13", "C14"} <= set(claims.lacking(machine)) and "A1" not in claims.lacking(machine)
    monkeypatch.setattr(claims, "CLAIMS", {**claims.CLAIMS, "reductions": ()})
    assert "not among this machine's" in claims.lacking(machine)["A1"]
    run()
    page = (repository / "report/synthetic-gpu/claims.md").read_text()
    assert all(f"\n| {identity:3} | " in page.split("## Not on this page")[1] for identity in ("A1", "C14", "D10"))
