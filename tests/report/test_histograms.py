"""The page of histograms: every distribution a column, one rung for whoever does not know, and what CUB cannot count."""

import re

import pytest
import synthetic
from conftest import add_small_histograms, machine_of
from rungs_report import claims, compare, histograms
from rungs_report.data import Cell

BYTES = claims.BYTE_COUNTS._replace(items=1 << 24)
COUNTED = {"operation": "histogram_even", "operator": "", "accumulator_type": "u32", "output_type": "u32", "error": 0}
OURS = ("global_atomics", "grid_stride", "warp_private", "overlapped_clear", "bin_ranges")


def page_of(repository):
    return (repository / "report/synthetic-gpu/histograms.md").read_text()


def section(page, heading):
    return page.split(f"\n## {heading}")[1].split("\n## ")[0]


@pytest.fixture
def little(repository):
    made = synthetic.document()
    add_small_histograms(made)
    synthetic.write_sources(repository)
    return made


def cell(made, times, items=1 << 24, input_type="i32", bins=256, distribution="uniform", **changes):
    rungs = {("handwritten" if rung in OURS else "library_baselines", rung): time for rung, time in times.items()}
    about = COUNTED | {"input_type": input_type, "shape": f"bins={bins}", "distribution": distribution} | changes
    synthetic.add_cell(made, items, rungs, **about)


# ---- what a library cannot count


def test_a_library_that_fails_is_told_and_no_win(repository, little, whole_page, run_of):
    code, out, err = run_of(little)
    assert (code, err) == (0, "") and "+ 1 where a library was wrong or refused + 0 rows refused" in out
    page = page_of(repository)
    told = section(page, "What CUB refuses or gets wrong")
    assert re.search(r"\| `cub_device_histogram` \| i8 histogram, 256 bins \| uniform \| 16 Mi \| wrong \| bin 0 counts 0", told)
    assert told.rstrip().endswith("| `overlapped_clear` |")
    kinds = section(whole_page("histograms"), "Samples, bins and n")
    assert re.search(r"\| i8 +\| +256 \| 16 Mi \| +wrong \| `overlapped_clear` +\| 13.0 µs \| +[\d.]+ % +\| +– \|", kinds)
    assert re.search(r"\| +\| +\| CUB +\| +wrong \| ", section(page, "Each distribution a column"))
    assert "Refused" not in (repository / "report/synthetic-gpu/index.md").read_text()


@pytest.mark.parametrize(
    "change",
    [
        {"family": "handwritten", "rung": "overlapped_clear"},
        {"fault": ""},
        {"fault": "tired"},
        {"fault": None},
        {"items": "many"},
        {"shape": None},
        {"rung": "nobody"},
    ],
)
def test_any_other_failure_is_refused(little, change, run_of):
    (fault,) = (row for row in little["rows"] if row.get("fault"))
    fault |= change
    code, out, err = run_of(little)
    assert code == 1 and "was not verified" in err and "wrong or refused" not in out and "+ 1 rows refused" in out


def test_a_fault_beside_a_right_cub(repository, whole_page, rendered):
    """The expert's call counts rightly: there is a ratio, and the table names what CUB needed."""
    made = synthetic.document()
    cell(made, {"overlapped_clear": 10.0, "cub_device_histogram_expert": 15.0}, input_type="i8")
    about = COUNTED | {"input_type": "i8", "shape": "bins=256"}
    synthetic.add_fault(made, "cub_device_histogram", 1 << 24, "wrong", "negative samples", **about)
    rendered(made)
    page = page_of(repository)
    assert re.search(r"\| i8 histogram, 256 bins, cold +\| +1.50x \|", page)
    assert re.search(r"\| i8 +\| +256 \| 16 Mi \| 15.0 µs \| `overlapped_clear` \| 10.0 µs \|.* 1.50x \|", whole_page("histograms"))
    assert "negative samples" in section(page, "What CUB refuses or gets wrong")


# ---- one rung for all distributions


def test_the_recommended_rung_is_the_one_with_the_best_worst_case(repository):
    """overlapped_clear wins nowhere but loses least: grid_stride is faster spread, warp_private in one bin."""
    made = synthetic.document()
    cell(made, {"grid_stride": 10.0, "warp_private": 18.0, "overlapped_clear": 12.0, "cub_device_histogram": 20.0})
    in_one = {"grid_stride": 80.0, "warp_private": 20.0, "overlapped_clear": 25.0, "cub_device_histogram": 40.0}
    cell(made, in_one, distribution="constant")
    seen = machine_of(repository, made)
    (found,) = histograms.choices(seen)
    assert found.variant.rung == "overlapped_clear" and found.worst.value == pytest.approx(1.6)
    assert found.times == {"uniform": 12.0, "constant": 25.0} and compare.spread(found.times) == pytest.approx(25 / 12)
    assert found.cub == {"uniform": 20.0, "constant": 40.0}
    assert {compare.best(seen, c).variant.rung for c in seen.cells} == {"grid_stride", "warp_private"}


def test_a_rung_that_lacks_a_distribution_is_not_recommended(repository):
    made = synthetic.document()
    cell(made, {"grid_stride": 5.0, "overlapped_clear": 12.0, "cub_device_histogram": 20.0})
    cell(made, {"overlapped_clear": 25.0, "cub_device_histogram": 40.0}, distribution="zipf")
    (found,) = histograms.choices(machine_of(repository, made))
    assert found.variant.rung == "overlapped_clear"


def test_without_cub_the_longest_time_decides(repository):
    made = synthetic.document()
    cell(made, {"grid_stride": 5.0, "overlapped_clear": 12.0}, bins=1 << 20)
    cell(made, {"grid_stride": 30.0, "overlapped_clear": 25.0}, bins=1 << 20, distribution="zipf")
    (found,) = histograms.choices(machine_of(repository, made))
    assert found.variant.rung == "overlapped_clear" and found.worst is None and found.cub == {}


def test_where_cub_beats_the_recommended_rung_is_told(repository, rendered):
    made = synthetic.document()
    cell(made, {"overlapped_clear": 12.0, "cub_device_histogram": 20.0})
    cell(made, {"overlapped_clear": 30.0, "cub_device_histogram": 20.0}, distribution="runs")
    rendered(made)
    page = page_of(repository)
    told = section(page, "Each distribution a column")
    assert re.search(r"\| i32, 256 bins \| 16 Mi \| `overlapped_clear` \| 12.0 µs \(1.67x\) \| 30.0 µs \(0.67x −\) \| +2.50x \|", told)
    assert re.search(r"\| i32, 256 bins \| 16 Mi \| `overlapped_clear` \| runs +\| +0.67x \|", told)
    assert "faster than CUB in 1, level in 0, slower in 1.**" in page and "2.50x the time of its best" in page
    assert "which exceeds 2x" in page
    assert section(page, "Where CUB wins, and where it is a tie").count("| i32 histogram, 256 bins, runs, cold |") == 1


def test_more_bins_than_many_may_cost_more(repository, rendered):
    made = synthetic.document()
    cell(made, {"overlapped_clear": 12.0, "cub_device_histogram": 200.0}, bins=1 << 20)
    cell(made, {"overlapped_clear": 60.0, "cub_device_histogram": 200.0}, bins=1 << 20, distribution="runs")
    rendered(made)
    assert "5.00x" in section(page_of(repository), "Each distribution a column") and "times at most" not in page_of(repository)
    assert "the time of its best" not in page_of(repository)


# ---- the page


def test_the_ladder_has_both_distributions(repository, run, little, whole_page):
    synthetic.write(repository / "report/data", little)
    own = {each["rung"]: each for each in little["variants"] if each["ladder"] == "histograms"}
    source = repository / own["grid_stride"]["source"]
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(f"// Against {own['global_atomics']['number']:02d}_global_atomics: less.\n")
    assert run()[0] == 0
    told = section(page_of(repository), "The ladders at 16 Mi samples")
    assert "### u8, 256 bins, 16 Mi samples" in told and "### i32" not in told and "### f32" not in told
    assert re.search(r"^Only in `report/site/synthetic-gpu/histograms/the-ladders-at-16-mi-samples.html`: .*i32, 256 bins, 16 Mi samples", told, re.MULTILINE)
    whole = section(whole_page("histograms"), "The ladders at 16 Mi samples")
    assert "### i32, 256 bins, 16 Mi samples" in whole and "### f32" not in whole
    assert re.search(r"\| `grid_stride` +\| the synthetic idea of grid stride +\| `global_atomics` +\| +30.0 µs \|[^|]+\| 10.0x \|.*\| +45.0 µs \|[^|]+\| 22.5x \|", told)


def test_pages_without_histograms_leave_them_out(repository, rendered):
    rendered(synthetic.full(topics=("reductions",), sizes=(1 << 20, 1 << 24)))
    assert not list((repository / "report/synthetic-gpu").rglob("histograms*"))
    assert "No histograms were measured" in (repository / "report/synthetic-gpu/claims.md").read_text()


def test_a_machine_without_a_gpu_shows_its_histograms(repository, rendered):
    rendered(synthetic.host_only())
    page = (repository / "report/synthetic-cpu/histograms.md").read_text()
    assert "`host_serial_histogram`" in page and "no usable GPU" in page and "over CUB" not in page


def test_a_cell_reads_its_shape():
    assert Cell("", "", "", "", "", "bins=256 channels=4 active=3", "", "", 0).sizes == {"bins": 256, "channels": 4, "active": 3}
    assert Cell("", "", "", "", "", "", "", "", 0).sizes == {}


# ---- claims


def answered(seen, identity):
    return [claims.answer(claim, seen) for claim in claims.HISTOGRAMS if claim.identity == identity]


def test_d8_with_the_texts_own_times(repository):
    made = synthetic.document()
    cell(made, {rung: 1000 * time for rung, time in claims.CLASSIC_HISTOGRAMS.items()})
    cell(made, {"global_atomics": 9000.0, "grid_stride": 100.0, "cub_device_histogram": 100.0}, distribution="constant")
    order, *gains, contended = answered(machine_of(repository, made), "D8")
    assert order.verdict == claims.HOLDS and order.measured == "1.82 ms, 280 µs, 190 µs and 160 µs at 16 Mi"
    assert [gain.ratio_of_ratios for gain in gains] == pytest.approx([1.0] * 4) and {g.verdict for g in gains} == {claims.HOLDS}
    figures = [claim.figure for claim in claims.HISTOGRAMS if claim.identity == "D8"][1:5]
    assert [gain.measured.split(" ")[0] for gain in gains] == figures, "the figures are the ratios of the text's times"
    assert contended.verdict == claims.HOLDS and "90.0x" in contended.measured and contended.ratio_of_ratios == pytest.approx(1.0)


def test_c4_and_c5(repository):
    made = synthetic.document()
    cell(made, {"global_atomics": 350.0, "grid_stride": 10.0}, input_type="u8")
    cell(made, {"overlapped_clear": 20.0, "bin_ranges": 50.0, "cub_device_histogram": 100.0}, bins=4096)
    cell(made, {"overlapped_clear": 20.0, "bin_ranges": 50.0, "cub_device_histogram": 100.0}, bins=16384)
    cell(made, {"bin_ranges": 60.0, "cub_device_histogram": 100.0}, bins=65536)
    seen = machine_of(repository, made)
    bytes_, integers = answered(seen, "C4")
    assert bytes_ == claims.Answer("35.0x at 16 Mi", claims.HOLDS, 1.0) and integers.verdict == claims.UNMEASURED
    fits, several, many = answered(seen, "C5")
    assert fits.verdict == claims.FALSE and "overlapped_clear counts them there in 20.0 µs" in fits.measured
    assert several.verdict == claims.FAILS and "2.50x the time of overlapped_clear" in several.measured
    assert many.verdict == claims.HOLDS and "bin_ranges is the best rung" in many.measured


def test_negative_samples_are_told_with_the_rows_that_were_checked(repository):
    (claim,) = (claim for claim in claims.PITFALLS if "remainder" in claim.says)
    made = synthetic.document()
    cell(made, {"overlapped_clear": 10.0}, input_type="i8")
    assert "1 row of i8 and i16" in claims.answer(claim, machine_of(repository, made)).measured


def test_what_one_cluster_has_no_room_for_is_the_time_of_global_atomics(repository):
    made = synthetic.document()
    made["variants"].append(synthetic.variant("cluster", "histograms", "one_cluster", 4, min_cc=90))
    about = COUNTED | {"input_type": "i32"}
    for bins, own in ((4096, {}), (65536, {}), (1 << 20, {("handwritten", "global_atomics"): 8.1})):
        synthetic.add_cell(made, 1 << 14, {("cluster", "one_cluster"): 8.0} | own, **about, shape=f"bins={bins}")
    seen = machine_of(repository, made)
    told = [(row.cell.sizes["bins"], row.variant.rung, row.values["rung"], row.median_us) for row in seen.runs[0].rows]
    assert sorted(told) == [
        (4096, "one_cluster", "one_cluster", 8.0), (65536, "global_atomics", "global_atomics", 8.0), (1 << 20, "global_atomics", "global_atomics", 8.1)
    ]  # fmt: skip
    (refusal,) = seen.refusals
    assert refusal.rows == 1 and refusal.expected and "cluster/one_cluster handed its call to handwritten/global_atomics, which has a time of its own" in refusal.reason
    assert "left out of" in str(refusal) and str(refusal).endswith("(1 row, first rows[2]); nothing is to be done")
