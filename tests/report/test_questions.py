"""The questions the report answers: the choice, the limit, the gains, wins and ties, accuracy; on data whose answer is known."""

import json
import re

import pytest
import synthetic
from conftest import page_of
from rungs_report import accuracy, answers, choose, claims, compare, gains, limits
from rungs_report.data import Cell, Variant
from rungs_report.page import slug

SUM = claims.SUM
ONE, TICKET, STRIDE, LAST = (Variant("handwritten", "reductions", name) for name in ("one_block", "early_ticket", "vector_loads", "last_block"))
MI = 1 << 20


def sweep(times, mode="cold", **about):
    """times: rung -> its time at each of 1 Ki, 1 Mi, 16 Mi, 256 Mi; None where it was not run."""
    made = synthetic.document()
    entries = {"zeroed": ("early_ticket", "last_block"), "unsteady": ("vector_loads", "grid_stride")}
    for entry in made["variants"]:
        entry["workspace_contract"] = "zeroed_once" if entry["rung"] in entries["zeroed"] else "uninitialised"
        entry["deterministic"] = entry["rung"] not in entries["unsteady"] and not entry["rung"].startswith("cub_device")
    for position, items in enumerate((1 << 10, MI, 16 * MI, 256 * MI)):
        own = {name: row[position] for name, row in times.items() if row[position] is not None}
        families = {("library_baselines" if name.startswith(("cub", "cg")) else "handwritten", name): time for name, time in own.items()}
        synthetic.add_cell(made, items, families, mode=mode, **about)
    return made


PLAIN = {
    "one_block": (4.0, 30.0, None, None),
    "early_ticket": (5.0, 6.0, 20.0, 240.0),
    "last_block": (5.1, 6.1, 19.9, 250.0),
    "vector_loads": (5.5, 8.0, 22.0, 241.0),
    "cub_device_reduce": (5.0, 7.0, 21.0, 240.0),
}


def told(page, need, problem=SUM):
    return [(step.variant.rung, [cell.items for cell in step.cells]) for step in choose.steps(page.machine, problem, need)]


def test_a_rung_is_kept_while_it_is_near_the_fastest(repository):
    page = page_of(repository, sweep(PLAIN))
    # At 16 Mi last_block is faster by less than is worth a step.
    assert told(page, choose.ANY) == [("one_block", [1 << 10]), ("early_ticket", [MI, 16 * MI, 256 * MI])]
    assert choose.chain(page.machine, choose.steps(page.machine, SUM, choose.ANY)) == "`one_block` to 1 Ki, `early_ticket`"


def test_what_the_caller_needs_changes_the_choice(repository):
    page = page_of(repository, sweep(PLAIN))
    _, steady, plain, both = choose.NEEDS
    assert told(page, steady)[-1][0] == "early_ticket"
    # Without a zeroed workspace CUB itself is the fastest, and said so.
    assert told(page, plain) == [("one_block", [1 << 10]), ("cub_device_reduce", [MI, 16 * MI, 256 * MI])]
    assert told(page, both) == [("one_block", [1 << 10, MI])], "nothing else promises its bits without a zeroed workspace"
    lines = "\n".join(choose.contents(page))
    assert "it is CUB" in lines and "workspace zeroed once" in lines


def test_an_entry_of_cub_that_keeps_a_wish_stands_for_itself(repository):
    """One of CUB's two calls promises its bits: it is chosen where it is the fastest that does, by its name."""
    made = sweep({"vector_loads": (4.0,) * 4, "cub_device_reduce": (5.0,) * 4, "cub_device_reduce_expert": (5.5,) * 4})
    next(v for v in made["variants"] if v["rung"] == "cub_device_reduce_expert")["deterministic"] = True
    page = page_of(repository, made)
    assert told(page, choose.NEEDS[1]) == [("cub_device_reduce_expert", [1 << 10, MI, 16 * MI, 256 * MI])]
    assert choose.chain(page.machine, choose.steps(page.machine, SUM, choose.NEEDS[1])) == "CUB's `cub_device_reduce_expert`"


def test_a_rung_that_met_one_release_is_chosen_where_it_is_the_fastest(repository):
    """What the rungs cost is told in the time of one release's CUB, so that none has to have met the others."""
    page = None
    for hour, cccl, cub in ((3, "3.0.1", 7.0), (4, "3.0.1", 7.0), (5, "3.6.0", 5.7)):
        times = {"early_ticket": (6.0,) * 4, "cub_device_reduce": (cub,) * 4} | ({"last_block": (5.6,) * 4} if cccl == "3.0.1" else {})
        text = json.dumps(sweep(times)).replace("2030-01-02T03", f"2030-01-02T0{hour}").replace('"cccl": "3.0.1"', f'"cccl": "{cccl}"')
        page = page_of(repository, json.loads(text))
    assert told(page, choose.ANY) == [("last_block", [1 << 10, MI, 16 * MI, 256 * MI])]


def test_integers_repeat_without_a_promise(repository):
    about = {"input_type": "i32", "accumulator_type": "i32", "output_type": "i32"}
    page = page_of(repository, sweep({"vector_loads": (4.0,) * 4, "cub_device_reduce": (5.0,) * 4}, **about))
    problem = SUM._replace(input_type="i32", accumulator_type="i32", output_type="i32")
    assert told(page, choose.NEEDS[1], problem)[0][0] == "vector_loads"
    floats = page_of(repository, sweep({"vector_loads": (4.0,) * 4, "cub_device_reduce": (5.0,) * 4}))
    assert told(floats, choose.NEEDS[1]) == []


def test_a_rung_that_waits_for_the_host_is_not_advised(repository):
    made = sweep({"host_finish": (1.0,) * 4, **PLAIN})
    next(v for v in made["variants"] if v["rung"] == "host_finish")["waits_for_host"] = True
    assert "host_finish" not in {name for name, _ in told(page_of(repository, made), choose.ANY)}


def test_the_release_with_the_better_cub_decides_whether_it_is_advised(repository):
    newer = sweep({**PLAIN, "cub_device_reduce": (2.0, 3.0, 18.0, 230.0)})
    text = json.dumps(newer).replace("2030-01-02T030405Z", "2030-01-02T050405Z").replace('"cccl": "3.0.1"', '"cccl": "3.6.0"')
    page = page_of(repository, sweep(PLAIN), json.loads(text))
    assert told(page, choose.ANY) == [("cub_device_reduce", [1 << 10, MI, 16 * MI, 256 * MI])]


def test_unknown_distributions_are_chosen_for_by_the_worst(repository):
    made = synthetic.document()
    about = {"operation": "histogram_even", "operator": "", "accumulator_type": "u32", "output_type": "u32", "shape": "bins=256", "error": 0}
    for distribution, spread, steady in (("uniform", 10.0, 14.0), ("constant", 60.0, 15.0)):
        times = {("handwritten", "grid_stride"): spread, ("handwritten", "overlapped_clear"): steady, ("library_baselines", "cub_device_histogram"): 30.0}
        synthetic.add_cell(made, 16 * MI, times, input_type="i32", distribution=distribution, **about)
    page = page_of(repository, made)
    line = next(line for line in choose.contents(page) if line.startswith("| i32 histogram, 256 bins"))
    cells = [part.strip() for part in line.strip("|").split("|")]
    assert cells[1:] == ["`overlapped_clear`", "2.00x to 2.14x; lowest: all in one bin at 16 Mi", "`grid_stride`", "3.00x", "`overlapped_clear`", "2.00x"]


def test_a_column_names_the_release_where_others_were_met_elsewhere(repository):
    cold, graph = sweep(PLAIN), sweep(PLAIN, mode="graph")
    cold["rows"] += graph["rows"]
    newer = sweep(PLAIN)
    newer["run"] = newer["run"].replace("2", "3", 1)
    for row in newer["rows"]:
        row["run"] = newer["run"]
    newer["context"]["versions"]["cccl"] = "9.9.9"
    page = page_of(repository, cold, newer)
    headers = {mode: choose.over_releases(page.machine, choose.in_mode(page.machine, page.topics[0], mode)) for mode in ("cold", "graph")}
    assert headers == {"cold": "over CUB", "graph": f"over CUB {cold['context']['versions']['cccl']} alone"}


def test_where_no_rung_met_every_distribution_cub_is_not_chosen_for_that(repository):
    made = synthetic.document()
    about = {"operation": "histogram_even", "operator": "", "accumulator_type": "u32", "output_type": "u32", "shape": "bins=256", "error": 0}
    for distribution, rung in (("uniform", "grid_stride"), ("constant", "overlapped_clear"), ("zipf", "overlapped_clear")):
        times = {("handwritten", rung): 10.0, ("library_baselines", "cub_device_histogram"): 30.0}
        synthetic.add_cell(made, 16 * MI, times, input_type="i32", distribution=distribution, **about)
    page = page_of(repository, made)
    line = next(line for line in choose.contents(page) if line.startswith("| i32 histogram, 256 bins"))
    assert line.strip("|").split("|")[1].strip() == "`overlapped_clear`", "it met the most of them"


def test_where_nothing_that_fits_was_measured_the_chain_ends(repository):
    page = page_of(repository, sweep(PLAIN | {"cub_device_reduce": (5.0, None, None, None)}))
    *_, both = choose.NEEDS
    assert choose.chain(page.machine, choose.steps(page.machine, SUM, both), 256 * MI) == "`one_block` to 1 Mi, then nothing was measured"


@pytest.mark.parametrize(("cub", "verdict"), [(5.0, claims.HOLDS), (9.0, claims.FAILS)])
def test_the_texts_advice_is_judged(repository, cub, verdict):
    page = page_of(repository, sweep({"early_ticket": (5.0,) * 4, "cub_device_reduce": (cub,) * 4}))
    advice = next(claim for claim in choose.ADVICE if "DeviceReduce" in claim.says)
    found = claims.answer(advice, page.machine)
    assert found.verdict == verdict and "within 5 %" in found.measured
    by_hand = next(claim for claim in choose.ADVICE if "by hand" in claim.says)
    assert claims.answer(by_hand, page.machine).verdict == claims.UNMEASURED


def test_where_clusters_win_is_told(repository):
    made = sweep(PLAIN)
    synthetic.add_cell(made, 64 << 10, {("cluster", "remote_stores"): 4.0, ("handwritten", "early_ticket"): 5.0, ("library_baselines", "cub_device_reduce"): 6.0})
    machine = page_of(repository, made).machine
    found = claims.answer(next(claim for claim in claims.REDUCTIONS if claim.identity == "C11"), machine)
    assert found.verdict == claims.FAILS and "best rung at 1 of 5 sizes, 64 Ki to 64 Ki" in found.measured


def test_equals_are_told_as_equals(repository):
    machine = page_of(repository, sweep({"warp_shuffle": (9.0, 10.0, 40.0, 400.0), "cg_warp_shuffle": (9.1, 10.1, 40.4, 600.0)})).machine
    found = claims.answer(next(claim for claim in claims.REDUCTIONS if claim.identity == "C7"), machine)
    assert found.verdict == claims.HOLDS and found.measured.endswith("1.01x to 1.50x at 4 sizes, median 1.01x")


# ---- the limit


def test_the_launch_is_a_share_of_the_ceiling(repository):
    made = sweep(PLAIN)
    made["floors"].append({"mode": "cold", "kind": "empty", "median_us": 2.0, "low_us": 2.0, "high_us": 2.0})
    for row in made["rows"]:
        row["percent_of_ceiling"] = 4.0 / row["median_us"] * 100 if row["items"] == 1 << 10 else 200.0 / row["median_us"] * 100
    page = page_of(repository, made)
    small = SUM._replace(items=1 << 10)
    assert compare.ceiling_time(page.machine, small) == pytest.approx(4.0)
    assert compare.floor_share(page.machine, small) == pytest.approx(50.0)
    line = next(line for line in limits.contents(page) if line.strip("| ").startswith("1 Ki"))
    assert [part.strip() for part in line.strip("|").split("|")][1:4] == ["4.00 µs", "50.0 %", "`one_block`"]
    assert limits.briefly(page).startswith("f32 sum: 83.3 % of the ceiling at 256 Mi (CUB: 83.3 %)")


def narrow_scans(run, kind, share):
    """Scans of bytes at two sizes, whose ceilings were measured by a roof of this kind."""
    made = synthetic.document(run)
    for items in (MI, 16 * MI):
        times = {("handwritten", "bulk_pipeline"): items / 6e5, ("library_baselines", "cub_device_scan"): items / 4e5}
        about = {"operation": "inclusive_scan", "input_type": "u8"}
        synthetic.add_cell(made, items, times, **about, percent_of_ceiling=share)
        synthetic.add_cell(made, items, times, operation="inclusive_scan")
        made["ceilings"].append({"kind": kind, "mode": "cold", "bytes": 5 * items, "gb_per_s": 4000.0, "marked": False})
    return made


BYTES = SUM._replace(operation="inclusive_scan", input_type="u8", accumulator_type="u32", output_type="u32", items=MI)
PIPELINE = Variant("handwritten", "scans", "bulk_pipeline")
OLD, NEW = "2030-01-02T030405Z-abc1234", "2030-01-03T030405Z-abc1234"


def test_scans_that_widen_stand_against_a_roof_that_does(repository):
    page = page_of(repository, narrow_scans(OLD, "fill", 85.0), narrow_scans(NEW, "widen_bytes", 97.0))
    assert compare.figure(page.machine, BYTES, PIPELINE, "percent_of_ceiling") == 97.0
    floats = BYTES._replace(input_type="f32", accumulator_type="f32", output_type="f32")
    both = [row.percent_of_ceiling for _, row in page.machine.rows(floats, PIPELINE)]
    assert len(both) == 2 and compare.figure(page.machine, floats, PIPELINE, "percent_of_ceiling") == pytest.approx(sum(both) / 2)
    told = "\n".join(limits.contents(page))
    assert "### u8 to u32 inclusive sum, cold" in told and "97.0 %" in told and "85.0 %" not in told
    assert "the roof that widens as many" in told


def test_without_such_a_roof_they_stand_against_a_copy_or_a_fill(repository):
    page = page_of(repository, narrow_scans(OLD, "fill", 85.0))
    assert compare.figure(page.machine, BYTES, PIPELINE, "percent_of_ceiling") == 85.0
    told = "\n".join(limits.contents(page))
    assert "u8" not in told and "the faster of copy and fill" in told


# ---- another chip


def test_what_there_is_to_compare_with(repository):
    page = page_of(repository, sweep(PLAIN))
    assert "no other GPU is in this report yet" in answers.comparing(page)
    page.others = ("nvidia-b200", "nvidia-l4")
    told = answers.comparing(page)
    assert all(f"`report/run compare {synthetic.GPU} {other}`" in told for other in page.others) and "no other GPU" not in told
    assert "`report/run compare RUN RUN`" in told, "two runs of one GPU are compared by another line"


# ---- the gains


def test_gains_are_over_the_rung_before_and_over_all(repository):
    page = page_of(repository, sweep(PLAIN))
    cell = SUM._replace(items=16 * MI)
    ladder = [variant for variant in compare.contenders(page.machine, cell) if variant.family == "handwritten"]
    assert [variant.rung for variant in ladder] == ["vector_loads", "last_block", "early_ticket"]
    assert gains.over_the_fastest(page.machine, cell, ladder, ladder[2]) == pytest.approx(19.9 / 20.0)
    synthetic.write_sources(repository)
    lines = gains.contents(page)
    assert any("`last_block`" in line and "1.11x" in line and "−" in line for line in lines)
    assert "registers" not in "\n".join(lines), "nothing is known of the machine code"
    assert any(chart.name.startswith("waterfall") for chart in page.charts)


def kernel(operator, types, registers, opcodes, **more):
    return {"kernel": "k", "operator": operator, "types": types, "registers": registers, "shared_bytes": 1024, "opcodes": opcodes, **more}


SASS = {
    "schema": "rungs.sass/1",
    "entries": [
        {
            "family": "handwritten", "ladder": "reductions", "rung": "last_block",
            "kernels": [
                kernel("plus", ["f32"], 30, {"LDG": 5, "SHFL": 10, "IADD3": 7}, widths={"LDG": {"128": 4, "32": 1}}),
                kernel("", ["f32"], 18, {"SHFL": 5, "BAR": 1}),
                kernel("maximum", ["f32"], 90, {"LDL": 1}),
                kernel("plus", ["f64"], 99, {"LDL": 1}),
                kernel("plus", ["f32", "f64"], 98, {"LDL": 1}),
            ],
        }
    ],
}  # fmt: skip


def test_machine_code_stands_beside_the_gain(repository):
    path = repository / "report/data" / synthetic.GPU / "sass.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(SASS))
    lines = gains.contents(page_of(repository, sweep(PLAIN)))
    lines = lines[next(number for number, line in enumerate(lines) if "its idea" in line) :]
    line = next(line for line in lines if line.startswith("| `last_block`"))
    told = [part.strip() for part in line.strip("|").split("|")]
    assert told[-3:] == ["30", "1 KiB", "1 load of 32 bits, 4 loads of 128 bits, 15 shuffles, 1 barrier"]
    line = next(line for line in lines if line.startswith("| `early_ticket`"))
    assert [part.strip() for part in line.strip("|").split("|")][-3:] == ["–"] * 3


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"entries": []}', '{"schema": "rungs.sass/1", "entries": 1}', '{"schema": "rungs.sass/1", "entries": [1]}',
     json.dumps({**SASS, "entries": [{**SASS["entries"][0], "kernels": [{}]}]})],
)  # fmt: skip
def test_machine_code_that_cannot_be_read_is_refused(repository, run, text):
    synthetic.write(repository / "report/data", sweep(PLAIN))
    (repository / "report/data" / synthetic.GPU / "sass.json").write_text(text)
    code, _, err = run()
    assert code == 1 and "refused synthetic-gpu/sass.json" in err


# ---- accuracy


def test_the_front_is_what_nothing_beats(repository):
    made = sweep(PLAIN)
    errors = {"early_ticket": 3.0, "last_block": 2.0, "vector_loads": 1.0, "cub_device_reduce": 2.5}
    for row in made["rows"]:
        row["error"] = errors.get(row["rung"], 9.0)
        row["repeatable"] = "no" if row["rung"] == "vector_loads" else "yes"
        if row["rung"] == "last_block" and row["items"] == MI:
            row["error"] = 8.0  # its worst counts, not the one of this size
    page = page_of(repository, made)
    cell: Cell = SUM._replace(items=16 * MI)
    found = {each["variant"].rung: each for each in accuracy.points(page.machine, cell)}
    assert {name for name, each in found.items() if each["front"]} == {"early_ticket", "cub_device_reduce", "vector_loads", "last_block"}
    assert found["last_block"]["error"] == 8.0 and found["last_block"]["time"] == 19.9
    assert not found["vector_loads"]["repeats"] and found["early_ticket"]["repeats"]
    assert accuracy.briefly(page).endswith("8.00 ulp, and it repeats bit for bit")


def test_errors_are_of_the_sizes_that_all_ran(repository):
    """At 1 Mi one of them was not run: the others' errors there are no reason to rank them behind it."""
    made = sweep({"early_ticket": (5.0, 6.0, 20.0, 240.0), "last_block": (5.1, None, 19.9, 250.0), "cub_device_reduce": (5.0, 7.0, 21.0, 240.0)})
    for row in made["rows"]:
        row["error"] = 8.0 if row["items"] == MI else 2.0
    page = page_of(repository, made)
    assert {each["error"] for each in accuracy.points(page.machine, SUM._replace(items=16 * MI))} == {2.0}


def test_accuracy_has_its_price(repository):
    """Of what repeats early_ticket, at the speed of CUB; of what errs least vector_loads, which does not repeat."""
    made = sweep(PLAIN | {"last_block": (5.1, 6.1, 19.0, 250.0)})
    errors = {"early_ticket": 3.0, "last_block": 9.0, "vector_loads": 1.0, "cub_device_reduce": 2.5}
    for row in made["rows"]:
        row["error"] = errors.get(row["rung"], 9.0)
        row["repeatable"] = "no" if row["rung"] in ("vector_loads", "last_block") else "yes"
    page = page_of(repository, made)
    told = "\n".join(accuracy.contents(page))
    assert "The fastest of our rungs and CUB is `last_block`: 19.0 µs, 1.11x over CUB, with an error of 9.00 ulp." in told
    assert "The same bits every time cost 1.05x its time (`early_ticket`, 3.00 ulp)." in told
    assert "The least error of these costs 1.16x its time (`vector_loads`, 1.00 ulp)." in told
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in told.splitlines() if line.startswith("| **front**")]
    assert [line[1:6] for line in table[:4]] == [
        ["`last_block`", "19.0 µs", "1.11x", "1.00x", "9.00"], ["`early_ticket`", "20.0 µs", "1.05x", "1.05x", "3.00"],
        ["`cub_device_reduce`", "21.0 µs", "1.00x", "1.11x", "2.50"], ["`vector_loads`", "22.0 µs", "0.95x", "1.16x", "1.00"],
    ]  # fmt: skip
    assert "the same bits every time cost 1.05x its time (`early_ticket`, 3.00 ulp)" in accuracy.briefly(page)


# ---- the front page


def test_every_question_is_on_the_front_page(whole_page, rendered):
    folder = rendered(synthetic.full())
    front = (folder / "index.md").read_text()
    head = front[: front.index("**f32 sum")]
    for question in ("Which variant", "How far from the limit", "What did each rung gain", "Where does CUB win", "How accurate", "Is this chip", "Did the texts"):
        line = next(line for line in head.splitlines() if line.startswith("|") and question in line)
        assert len(line.split("|")[2].strip()) > 20, question
    assert "\n## Where CUB wins, and where it is a tie\n" in front and "noise floor, median" in front
    assert "](#which-variant-to-use)" in head and "\n## Which variant to use\n" in front and "](claims.md)" in head
    for heading in ("How far from the limit", "What each rung gained, and why", "Error against speed"):
        for page in ("reductions", "scans", "histograms")[: 2 if heading.startswith("Error") else 3]:
            assert f"[{page}]({page}.md#{slug(heading)})" in head and f"\n## {heading}\n" in (folder / f"{page}.md").read_text()
    tables = whole_page("reductions")
    links = re.findall(r"\]\(#(diff-[\w-]+)\)", tables)
    assert len(links) > 10, "a gain beside its diff"
    assert all(f'<a id="{anchor}"></a>' in tables for anchor in links)


def test_where_cub_wins_is_said_on_the_front_page(repository, rendered):
    rendered(sweep({"early_ticket": (9.0,) * 4, "cub_device_reduce": (5.0,) * 4}))
    front = (repository / "report/synthetic-gpu/index.md").read_text()
    assert "CUB wins 4 of 4" in front and "CUB wins:\n\n| problem" in front and "1 Ki, 1 Mi, 16 Mi, 256 Mi" in front
    assert "Against the best rung of any workspace CUB wins nowhere" not in front
    assert "In 4 problems nothing of ours that keeps CUB's contract was measured" in front  # early_ticket wants its workspace zeroed


def test_what_was_not_measured_has_no_page_and_no_link_is_dead(repository, rendered):
    made = synthetic.document()
    times = {("handwritten", "global"): 9.0}
    about = {"input_type": "u32", "accumulator_type": "u32", "output_type": "u32", "shape": "addresses=1"}
    synthetic.add_cell(made, MI, times, operation="atomics", percent_of_ceiling=None, percent_of_peak=None, **about)
    folder = rendered(made)
    folder = repository / "report"
    assert {path.name for path in (folder / "synthetic-gpu").glob("*.md")} == {"index.md", "costs.md", "claims.md"}
    for page in (folder / "index.md", folder / "synthetic-gpu/index.md"):
        for link in re.findall(r"(?<!!)\[[^\]]*\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).is_file(), (page, link)
