"""Reductions and scans beside each other: a page each, nothing of one on the other's, and neither needed for the other."""

import re
import time

import pytest
import synthetic
from conftest import add_small_cell, add_small_scans, machine_of
from rungs_report import claims, compare, topics
from rungs_report.data import Variant

SUM, SCAN = (problem._replace(items=1 << 24) for problem in (claims.SUM, claims.SCAN))
SIZES = [1 << exponent for exponent in range(10, 31)] + [1000, 100_000, 10_000_019, (1 << 24) + 1]


def folder(repository):
    return repository / "report/synthetic-gpu"


def both():
    """One rung, warp_shuffle, on both ladders: 20 us as a reduction, 80 us as a scan."""
    made = synthetic.document()
    synthetic.add_cell(made, 1 << 24, {("handwritten", "warp_shuffle"): 20.0, ("library_baselines", "cub_device_reduce"): 22.0})
    add_small_scans(made)
    return made


# ---- one name on two ladders


def test_a_name_on_two_ladders_is_two_variants(repository):
    seen = machine_of(repository, both())
    assert compare.contenders(seen, SUM)[0] == Variant("handwritten", "reductions", "warp_shuffle")
    scan = Variant("handwritten", "scans", "warp_shuffle")
    assert scan in compare.contenders(seen, SCAN)
    assert compare.figure(seen, SCAN, scan, "median_us") == 80.0
    assert not seen.rows(SUM, scan) and not seen.rows(SCAN, scan._replace(ladder="reductions"))


def test_each_page_tells_of_its_own(rendered):
    made = both()
    for entry in made["variants"]:
        if entry["rung"] == "warp_shuffle":
            entry["idea"] = f"one of the {entry['ladder']}"
    folder = rendered(made)
    reductions, scans = ((folder / f"{name}.md").read_text() for name in ("reductions", "scans"))
    assert "one of the reductions" in reductions and "one of the scans" not in reductions
    assert "one of the scans" in scans and "one of the reductions" not in scans
    assert re.search(r"\| `warp_shuffle` +\| one of the scans +\| 80.0 µs", scans)
    assert "cub_device_reduce" not in scans and "cub_device_scan" not in reductions


def test_a_row_that_two_ladders_could_have_had_is_refused(rendered, run_of):
    made = both()
    row = next(row for row in made["rows"] if row["rung"] == "warp_shuffle")
    row["operation"] = "histogram_even"
    code, _, err = run_of(made)
    assert code == 1 and "handwritten/warp_shuffle could be of more than one ladder" in err
    row["ladder"] = "scans"
    rendered(made)
    made["variants"].append(synthetic.variant("handwritten", "scans_of_rows", "warp_shuffle", 1))
    code, out, err = run_of(made)
    assert code == 1 and "handwritten/warp_shuffle could be of more than one ladder (4 rows, first rows[3])" in err


def test_a_name_in_two_families_says_which(rendered):
    made = both()
    made["variants"].append(synthetic.variant("cluster", "scans", "bulk_pipeline", 1, min_cc=90))
    synthetic.add_cell(
        made,
        1 << 12,
        {("handwritten", "bulk_pipeline"): 5.0, ("cluster", "bulk_pipeline"): 4.0, ("library_baselines", "cub_device_scan"): 6.0},
        operation="inclusive_scan",
    )
    page = (rendered(made) / "scans.md").read_text()
    assert re.search(r"\| +4 Ki \| 6.00 µs \| `cluster: bulk_pipeline` +\| 4.00 µs", page)
    assert "| `handwritten: bulk_pipeline` |" in page and "| `bulk_pipeline`" not in page


def test_what_was_skipped_stands_on_its_own_page(run, rendered):
    made = both()
    for operation, reason in (("reduce", "too slow a sum"), ("inclusive_scan", "too slow a scan"), ("exclusive_scan", "too slow")):
        made["skipped"].append(
            {"family": "handwritten", "rung": "one_block", "operation": operation, "operator": "plus", "input_type": "f32"}
            | {"items": 1 << 24, "mode": "cold", "reason": reason}
        )
    folder = rendered(made)
    reductions, scans = ((folder / f"{name}.md").read_text() for name in ("reductions", "scans"))
    assert "Not run at this size: `one_block` (too slow a sum)." in reductions and "a scan" not in reductions
    assert "Not run at this size: `one_block` (too slow a scan)." in scans and "a sum)" not in scans
    assert "exclusive scan f32 plus cold" in scans and "Skipped" not in (folder / "index.md").read_text()


# ---- what one topic has and another lacks


@pytest.mark.parametrize(("there", "absent"), [("reductions", "scans"), ("scans", "reductions")])
def test_either_alone(repository, run, there, absent):
    synthetic.write(repository / "report/data", synthetic.full(topics=(there,)))
    synthetic.write_sources(repository)
    assert run("render", "--readme", str(repository / "README.md"))[0] == 0
    assert (folder(repository) / f"{there}.md").is_file() and not (folder(repository) / f"{absent}.md").exists()
    assert not list((folder(repository) / "charts").glob(f"{absent}*"))
    assert f"No {absent} were measured" in (folder(repository) / "claims.md").read_text()
    readme = (repository / "README.md").read_text()
    assert f"{there}.md" in readme and f"{absent}.md" not in readme


def test_the_pages_of_a_topic_without_data_go(repository, run):
    path = synthetic.write(repository / "report/data", both())
    assert run()[0] == 0
    kept = folder(repository) / "notes.md"
    kept.write_text("by hand\n")
    path.unlink()
    only = synthetic.document()
    add_small_cell(only)
    synthetic.write(repository / "report/data", only)
    assert run("check")[0] == 1
    assert run()[0] == 0 and run("check")[0] == 0
    assert not list(folder(repository).rglob("scans*")) and kept.read_text() == "by hand\n"


def test_an_operation_nobody_has_heard_of_has_its_page(repository, rendered):
    made = both()
    made["variants"].append(synthetic.variant("handwritten", "rows", "warp_a_row", 1))
    made["variants"].append(synthetic.variant("library_baselines", "baselines", "cub_device_segmented_reduce", -1))
    synthetic.add_cell(
        made,
        1 << 24,
        {("handwritten", "warp_a_row"): 30.0, ("library_baselines", "cub_device_segmented_reduce"): 40.0},
        operation="row_sum",
        shape="rows=4096 columns=4096",
    )
    assert "f32 row sum sum, rows=4096 columns=4096, cold" in (rendered(made) / "rows.md").read_text()
    assert [topic.name for topic in topics.of(machine_of(repository))] == ["reductions", "scans", "rows"]


def test_sizes_may_lack_modes(repository, rendered):
    """Cold at three sizes, in a graph at one of them, warm at another, exclusive at a third."""
    made = synthetic.document()
    for items in (1 << 10, 1 << 20, 1 << 24):
        synthetic.add_cell(made, items, {("handwritten", "last_block"): 9.0, ("library_baselines", "cub_device_reduce"): 10.0})
    ours = {("handwritten", "last_block"): 7.0, ("library_baselines", "cub_device_reduce"): 8.0}
    synthetic.add_cell(made, 1 << 10, ours, mode="graph")
    synthetic.add_cell(made, 1 << 20, ours, mode="warm")
    scans = {("handwritten", "look_back"): 9.0, ("library_baselines", "cub_device_scan"): 10.0}
    synthetic.add_cell(made, 1 << 10, scans, operation="inclusive_scan")
    synthetic.add_cell(made, 1 << 24, scans, operation="exclusive_scan")
    rendered(made)
    page = (folder(repository) / "reductions.md").read_text()
    graph = page[page.index("### graph") :]
    assert "| problem        |  1 Ki |" in graph and "16 Mi" not in graph
    beside = (folder(repository) / "scans.md").read_text().split("## Exclusive beside inclusive")[1].split("\n## ")[0]
    assert re.search(r"\| +1 Ki \| .*1.11x \| +– \| +– \| +– +\| +– \|", beside), "no size in common: all are shown"
    synthetic.add_cell(made, 1 << 24, scans, operation="inclusive_scan")
    rendered(made)
    beside = (folder(repository) / "scans.md").read_text().split("## Exclusive beside inclusive")[1].split("\n## ")[0]
    assert "| 16 Mi |" in beside and "| 1 Ki |" not in beside and "–" not in beside.split("Every rung")[0]


def test_cold_heads_a_topic_even_where_another_mode_has_more(repository):
    made = both()
    for items in SIZES:
        ours = {("handwritten", rung): 10.0 for rung in synthetic.SCANS} | {("library_baselines", "cub_device_scan"): 9.0}
        synthetic.add_cell(made, items, ours, operation="inclusive_scan", mode="graph")
    seen = machine_of(repository, made)
    (_, scans) = topics.of(seen)
    assert compare.main_problem(seen, scans) == claims.SCAN


def test_ratios_never_cross_operations(rendered):
    """Exclusive scans twice as slow as inclusive ones, CUB's a little more than twice."""
    made = synthetic.document()
    for operation, ours, cub in (("inclusive_scan", 10.0, 12.0), ("exclusive_scan", 20.0, 26.0)):
        times = {("handwritten", "look_back"): ours, ("library_baselines", "cub_device_scan"): cub}
        synthetic.add_cell(made, 1 << 24, times, operation=operation)
    beside = (rendered(made) / "scans.md").read_text().split("## Exclusive beside inclusive")[1].split("\n## ")[0]
    assert re.search(r"\| `look_back` +\| +10.0 µs \| +13,400 \| +1.20x \| +20.0 µs \| +6,710 \| +1.30x \|", beside)
    assert "0.60x" not in beside and "2.00x" not in beside and "0.50x" not in beside


def test_errors_are_told_by_topic(whole_page, rendered):
    made = both()
    for row in made["rows"]:
        if row["rung"] == "warp_shuffle":
            row.update(error=7.5 if row["operation"] == "inclusive_scan" else 2.5)
            row.update(repeatable="no" if row["operation"] == "exclusive_scan" else "yes")
    folder = rendered(made)
    reductions, scans = (whole_page(name).split("## Accuracy")[1].split("\n## ")[0] for name in ("reductions", "scans"))
    assert re.search(r"\| `warp_shuffle` +\| +2.50 \| yes ", reductions)
    assert re.search(r"\| `warp_shuffle` +\| +7.50 \| no ", scans), "the worst of inclusive and exclusive"
    assert "in units of the last place of the output's largest magnitude" in scans
    assert "`warp_shuffle` of scans is declared deterministic" in (folder / "index.md").read_text()
    assert "`warp_shuffle` of reductions" not in (folder / "index.md").read_text()


def test_the_front_is_not_chosen_by_its_results(repository, run):
    """Powers of four, whoever wins there, and every size on the topic's page."""
    synthetic.write(repository / "report/data", synthetic.full(sizes=SIZES))
    assert run("render", "--readme", str(repository / "README.md"))[0] == 0
    readme = (repository / "README.md").read_text()
    shown = re.findall(r"^\| +([\d,]+(?: [KMG]i)?) \|", readme, re.MULTILINE)
    assert shown == ["1 Ki", "4 Ki", "16 Ki", "64 Ki", "256 Ki", "1 Mi", "4 Mi", "16 Mi", "64 Mi", "256 Mi", "1 Gi"]
    page = (folder(repository) / "scans.md").read_text()
    assert len(re.findall(r"^\| +[\d,]+(?: [KMG]i)? \|", page.split("## The ladder")[0], re.MULTILINE)) == len(SIZES)


def test_where_cub_wins_stands_on_the_front(repository, run):
    made = both()
    synthetic.add_cell(
        made, 1 << 20, {("handwritten", "look_back"): 20.0, ("library_baselines", "cub_device_scan"): 10.0}, operation="inclusive_scan"
    )
    synthetic.write(repository / "report/data", made)
    assert run("render", "--readme", str(repository / "README.md"))[0] == 0
    front = (folder(repository) / "index.md").read_text()
    told = front[front.index("CUB wins:\n") :]
    assert re.search(r"\| f32 inclusive sum, cold \| 1 Mi \| `look_back` +\| +0.50x \|", told)
    assert "0.50x − |" in (repository / "README.md").read_text()


# ---- claims about scans


def classic(times, **others):
    made = both()
    made["rows"] = [row for row in made["rows"] if row["operation"] == "reduce"]
    rungs = {("library_baselines" if rung.startswith("cub") else "handwritten", rung): time for rung, time in times.items()}
    synthetic.add_cell(made, 1 << 24, rungs, operation="inclusive_scan", **others)
    return made


def answered(seen, identity):
    return [claims.answer(claim, seen) for claim in claims.SCANS if claim.identity == identity]


def test_d9_with_the_texts_own_times(repository):
    """The text's milliseconds agree with the text, though the reduction of the same name is faster than any scan."""
    seen = machine_of(repository, classic({rung: 100 * time for rung, time in claims.CLASSIC_SCANS.items()}))
    order, *gains = answered(seen, "D9")[:5]
    assert order.verdict == claims.HOLDS and order.measured == "245 µs, 82.0 µs, 51.0 µs and 38.0 µs at 16 Mi"
    assert [gain.ratio_of_ratios for gain in gains] == pytest.approx([1.0] * 4)
    assert {gain.verdict for gain in gains} == {claims.HOLDS}
    figures = [claim.figure for claim in claims.SCANS if claim.identity == "D9"][1:5]
    assert [gain.measured.split(" ")[0] for gain in gains] == figures, "the figures are the ratios of the text's times"


def test_d9_out_of_order(repository):
    seen = machine_of(repository, classic({"hillis_steele": 50.0, "blelloch": 60.0, "warp_shuffle": 40.0, "cub_device_scan": 20.0}))
    order, first, *_ = answered(seen, "D9")
    assert order.verdict == claims.FAILS and first.verdict == claims.FAILS
    assert first.ratio_of_ratios == pytest.approx(50 / 60 / (2.45 / 0.82))


@pytest.mark.parametrize(("best", "verdict"), [(20.0, claims.FAILS), (60.0, claims.HOLDS)])
def test_c8_counts_scans_alone(repository, best, verdict):
    seen = machine_of(repository, classic({"warp_shuffle": 90.0, "bulk_pipeline": best, "cub_device_scan": 40.0}))
    whole, rung = answered(seen, "C8")
    assert whole.measured.startswith("of 1 problem CUB wins") and whole.verdict == verdict
    assert rung.measured == "warp_shuffle runs at 0.44x of CUB's speed at 16 Mi" and rung.verdict == claims.HOLDS


def test_the_offset_is_told_with_the_rows_that_were_checked(repository):
    told = [claim for claim in claims.PITFALLS if "offsets" in claim.says]
    (answer,) = (claims.answer(claim, machine_of(repository, both())) for claim in told)
    assert "all 18 rows of scans, up to 16 Mi items" in answer.measured and answer.verdict == claims.HOLDS


# ---- size


def test_pages_stay_readable_and_quick(repository, run):
    """Four runs of more rows than the default suite has: under a minute, and no page that a forge refuses to render."""
    for hour, cccl in enumerate(("3.0.1", "3.0.1", "3.0.1", "3.5.0"), 1):
        made = synthetic.full(f"2030-01-02T{hour:02d}0000Z-abc1234", cccl, hour, sizes=SIZES)
        assert len(made["rows"]) > 4000
        synthetic.write(repository / "report/data", made)
    synthetic.write_sources(repository)
    start = time.process_time()
    assert run()[0] == 0
    assert time.process_time() - start < 60
    pages = [page.read_text() for page in folder(repository).glob("*.md")]
    assert len(pages) == 6 and max(len(page.splitlines()) for page in pages) < 600 and max(map(len, pages)) < 80_000
    assert "<details>" not in "".join(pages), "what is long is on the site"
    assert run("site")[0] == 0
    for page in (repository / "report/site").rglob("*.html"):
        assert page.stat().st_size < 500_000, page


def test_a_run_built_with_few_rungs_leaves_the_ladder_in_order(repository):
    whole = synthetic.document(run="2030-01-02T030405Z-abc1234")
    fewer = synthetic.document(run="2030-01-03T030405Z-abc1234")  # the newest, whose word counts
    for made in (whole, fewer):
        add_small_cell(made)
    ladder = [v for v in whole["variants"] if v["ladder"] == "reductions" and v["number"] >= 0]
    assert len(ladder) > 1
    measured = {row["rung"] for row in fewer["rows"]}
    dropped = next(v["rung"] for v in ladder if v["rung"] not in measured)
    fewer["variants"] = [v for v in fewer["variants"] if v["rung"] != dropped]
    synthetic.write(repository / "report/data", whole)
    seen = machine_of(repository, fewer)
    assert [v.rung for v in seen.variants if v.ladder == "reductions"] == [v["rung"] for v in ladder]


def test_gains_are_along_the_edges_of_the_sources(repository, run):
    """vector_loads would take too long here: it has its estimate, and last_block, which names it, a gain over that."""
    made = synthetic.document()
    synthetic.add_cell(made, 1 << 24, synthetic.ours(last_block=20.0, early_ticket=10.0) | synthetic.libraries(cub_device_reduce=22.0))
    reason = "one sample takes 3.00 ms at 16Mi items, over the limit of 2 ms (extrapolated from a smaller size)"
    synthetic.add_skipped(made, "vector_loads", 1 << 24, reason, operation="reduce", operator="plus", input_type="f32", mode="cold")
    synthetic.write(repository / "report/data", made)
    synthetic.write_sources(repository)
    sources = {each["rung"]: each for each in made["variants"] if each["ladder"] == "reductions"}
    for rung, against in (("last_block", "vector_loads"), ("early_ticket", "last_block")):
        other = f"{sources[against]['number']:02d}_{against}"
        (repository / sources[rung]["source"]).write_text(f"// Rung. {rung}.\n// Against {other}: less.\n#pragma once\n")
    assert run()[0] == 0
    page = (folder(repository) / "reductions.md").read_text()
    assert re.search(r"\| `vector_loads` +\| [^|]+ \| ≈3\.00 ms \| +– \|", page) and "≈: not run at this size" in page
    assert re.search(r"\| `last_block` +\| [^|]+ \| +20\.0 µs \|[^|]+\|[^|]+\| `vector_loads` +\| +≈150x \|", page)
    assert re.search(r"\| `early_ticket` +\| [^|]+ \| +10\.0 µs \|[^|]+\|[^|]+\| `last_block` +\| +2\.00x \|", page)
    assert "Not run at this size" not in page
