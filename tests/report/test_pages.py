"""The pages: what they say, that they are the same bytes every time, and that they are whole."""

import csv
import difflib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import synthetic
from conftest import add_small_atomics, add_small_cell, add_small_histograms, add_small_scans
from rungs_report import charts, data, render
from rungs_report.page import headings

TOPIC_HEADINGS = (
    "The sweep over n",
    "Where CUB wins, and where it is a tie",
    "Other types and operators",
    "Other ways of running",
    "Skipped by the benchmark",
)
HISTOGRAM_HEADINGS = (
    "Samples, bins and n",
    "Each distribution a column",
    "Ranges",
    "Several channels",
    "What CUB refuses or gets wrong",
    "The whole grid",
    "The sweep over n",
    "The sweep over the number of bins",
    "Where CUB wins, and where it is a tie",
    "Other ways of running",
)
# The sections that the site alone has.
MORE = ("accuracy-and-repeatability", "what-each-rung-changed-and-what-that-gained")
RUNS = [
    ("2030-01-02T030405Z-abc1234", "3.0.1", 1),
    ("2030-01-02T040405Z-abc1234", "3.0.1", 2),
    ("2030-01-02T060405Z-abc1234", "3.6.0", 3),
]


@pytest.fixture
def full(repository):
    for run, cccl, seed in RUNS:
        synthetic.write(repository / "report/data", synthetic.full(run, cccl, seed))
    synthetic.write(repository / "report/data", synthetic.host_only())
    synthetic.write_sources(repository)
    return repository


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "data" not in path.parts
    }


def links_of(page):
    """File and anchor of each link that is no image's, and of none to elsewhere."""
    return re.findall(r"(?<!!)\[[^\]]*\]\(([^)#]*)(?:#([^)]*))?\)", page)


def anchors_of(page):
    return {anchor for _, anchor in headings(page.splitlines(), 6)} | set(re.findall(r'<a id="([^"]+)">', page))


def look_through(folder, wanted_of):
    """Every page has its headings, and what it shows and links to is there."""
    assert {path.name for path in folder.glob("*.md")} == set(wanted_of)
    for name, wanted in wanted_of.items():
        page = (folder / name).read_text()
        for heading in wanted:
            assert f"\n## {heading}" in page, (name, heading)
        for image in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page):
            assert (folder / image).read_text().startswith("<svg")
        for link, anchor in links_of(page):
            target = folder / (link or name)
            assert target.is_file(), (name, link)
            assert not anchor or anchor in anchors_of(target.read_text()), (name, link, anchor)
        assert page.count("<details>") == page.count("</details>")


def test_a_full_report(full, run):
    code, out, err = run("render", "--readme", str(full / "README.md"))
    assert (code, err) == (0, "")
    folder = full / "report/synthetic-gpu"
    topic = ("How far from the limit", "What each rung gained, and why", *TOPIC_HEADINGS)
    look_through(
        folder,
        {
            "index.md": (
                "Where CUB wins, and where it is a tie", "Which variant to use", "What was measured on what", "Ceilings", "Noise",
                "How to read this",
            ),
            "reductions.md": ("The ladder: f32 sum, cold, 16 Mi items", "Error against speed", *topic),
            "scans.md": ("The ladder: f32 inclusive sum, cold, 16 Mi items", "Error against speed", "Exclusive beside inclusive", *topic),
            "histograms.md": (
                "The ladders at 16 Mi samples", "How far from the limit", "What each rung gained, and why", *HISTOGRAM_HEADINGS,
            ),
            "costs.md": ("Atomics", "Collectives, barriers and launches"),
            "claims.md": ("Reductions", "Scans", "Histograms", "Atomics", "Costs", "Pitfalls and errors in the texts", "Not on this page"),
        },
    )  # fmt: skip
    front = (folder / "index.md").read_text()
    assert "- Executed on: Synthetic GPU 9000" in front and "- Compiled for: sm_90" in front
    assert all(f"\n### {heading}\n" in front for heading in ("Reductions", "Scans", "Histograms", "What the texts advise"))
    costs = (folder / "costs.md").read_text()
    for heading in (
        "Findings", "Mechanisms: u32 plus", "Types: plus, `global`", "Operators: u32, `global`", "The mechanisms", "Reductions of one warp",
        "Inclusive scans of a block of 256", "Barriers and launches", "What they are",
    ):  # fmt: skip
        assert f"\n### {heading}\n" in costs, heading
    readme = (full / "README.md").read_text()
    assert readme.startswith("# synthetic\n\n<!-- rungs:headline begin -->\n") and readme.endswith(
        "<!-- rungs:headline end -->\n\nThe rest.\n"
    )
    assert "\nold\n" not in readme and "(report/synthetic-gpu/charts/headline.svg)" in readme
    for link, _ in links_of(readme):
        assert (full / link).is_file(), link
    assert run("check", "--readme", str(full / "README.md"))[0] == 0


def test_committed_pages_are_short_and_begin_with_what_they_hold(full, run):
    run()
    folder = full / "report/synthetic-gpu"
    shown = set()
    for path in folder.glob("*.md"):
        page = path.read_text()
        assert len(page.splitlines()) <= 600 and "<details>" not in page and "<a id=" not in page, path
        contents = next(line for line in page.splitlines() if line.startswith("On this page: "))
        assert page.index(contents) < page.index("\n## ")
        # In order, all headings of the second level; those of the third between them on the page of the studies.
        level = 3 if path.name == "costs.md" else 2
        told = headings(page.splitlines(), level)
        assert [anchor for _, anchor in links_of(contents)] == [anchor for _, anchor in told] and len(told) > 3
        shown |= set(re.findall(r"\(charts/(\w+\.svg)\)", page))
    assert shown == {path.name for path in (folder / "charts").glob("*")}, "a chart is committed where a page shows it"


def test_what_a_page_leaves_out_is_on_the_page_of_the_site_that_it_names(full, run):
    run()
    assert run("site")[0] == 0
    named = 0
    for path in (full / "report/synthetic-gpu").glob("*.md"):
        told = path.read_text()
        assert all((full / where).is_file() for where in re.findall(r"`(report/site/[^`]+)`", told)), path
        for tables, summaries in re.findall(r"^Only in `report/(site/synthetic-gpu/[\w/-]+\.html)`: (.*)\.$", told, re.MULTILINE):
            page = (full / "report" / tables).read_text()
            for summary in summaries.split("; "):
                assert f"<summary>{summary}</summary>" in page, (path.name, tables, summary)
                named += 1
    assert named > 20
    for topic, sections in (("reductions", MORE), ("scans", MORE), ("histograms", MORE[1:])):
        assert all((full / f"report/site/synthetic-gpu/{topic}/{name}.html").is_file() for name in sections)
    assert "+  static constexpr int step_1 = 1;" in (full / f"report/site/synthetic-gpu/reductions/{MORE[1]}.html").read_text(), "a rung's diff"
    assert "static constexpr int step_1" not in (full / "report/synthetic-gpu/reductions.md").read_text()


def test_csv(full, run):
    run("site")
    with (full / "report/site/synthetic-gpu/results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == data.COLUMNS
    written = [
        row
        for run, _, _ in RUNS
        for row in json.loads((full / f"report/data/synthetic-gpu/{run}.json").read_text())["rows"]
        if row["verified"] == "yes"
    ]
    assert len(rows) == len(written)

    def told(row):
        return tuple("" if row[column] is None else str(row[column]) for column in data.COLUMNS)

    assert sorted(tuple(row.values()) for row in rows) == sorted(map(told, written)), "every number exactly as it was measured"
    runs = [row["run"] for row in rows]
    assert runs == sorted(runs, key=runs.index), "run after run"
    for run in set(runs):
        cells = [data.Cell(*(int(row[name]) if name == "items" else row[name] for name in data.Cell._fields)) for row in rows if row["run"] == run]
        assert cells == sorted(cells), "cell after cell"


def test_row_order_does_not_matter(full, run):
    run()
    first = tree(full / "report")
    for path in (full / "report/data").glob("*/*.json"):
        document = json.loads(path.read_text())
        for part in ("rows", "twins", "ceilings", "floors", "skipped"):
            random.Random(7).shuffle(document[part])
        path.write_text(json.dumps(document))
    run()
    assert tree(full / "report") == first


@pytest.fixture
def little(repository, small):
    """Enough for every kind of page and a chart each, and quick to write."""
    add_small_cell(small, items=1 << 20)
    add_small_scans(small)
    synthetic.write(repository / "report/data", small)
    synthetic.write(repository / "report/data", synthetic.host_only())
    synthetic.write_sources(repository)
    return repository


def test_check_finds_every_difference(little, run):
    assert run("check")[0] == 1, "nothing rendered yet"
    run()
    assert run("check")[0] == 0
    page = little / "report/synthetic-gpu/scans.md"
    page.write_text(page.read_text() + "by hand\n")
    left = little / "report/synthetic-gpu/charts/forgotten.svg"
    left.write_text("<svg/>")
    (little / "report/synthetic-gpu/reductions.md").unlink()
    rows = little / "report/synthetic-gpu/results.csv"
    rows.write_text("of an earlier rendering\n")
    code, _, err = run("check")
    assert code == 1
    assert "scans.md is not what" in err and "forgotten.svg is left over" in err and "reductions.md is missing" in err and "results.csv is left over" in err
    run()
    assert run("check")[0] == 0 and not left.exists() and not rows.exists()


def test_pages_of_a_gpu_without_data_go(little, run):
    run()
    for path in (little / "report/data/synthetic-gpu").glob("*.json"):
        path.unlink()
    assert run("check")[0] == 1
    run()
    assert not (little / "report/synthetic-gpu").exists() and (little / "report/synthetic-cpu").exists()


def test_a_machine_without_a_gpu(repository, run):
    synthetic.write(repository / "report/data", synthetic.host_only())
    assert run("render", "--readme", str(repository / "README.md"))[0] == 0
    folder = repository / "report/synthetic-cpu"
    front, page = (folder / "index.md").read_text(), (folder / "reductions.md").read_text()
    assert "# Synthetic CPU" in front and "no usable GPU" in front
    assert "no usable GPU" in page and "host\\_serial" not in page and "`host_serial`" in page
    assert "over CUB" not in page + front and not (folder / "claims.md").exists()
    assert "No GPU has been measured yet" in (repository / "README.md").read_text()


def test_no_results_yet(repository, run):
    code, out, _ = run()
    assert code == 0 and "0 rows in = 0 rows out" in out
    assert "Nothing has been measured yet" in (repository / "report/index.md").read_text()


def test_no_results_take_no_page_away(repository, run, rendered, small):
    folder = rendered(small)
    (repository / "empty").mkdir()
    code, _, err = run("render", "--data", str(repository / "empty"))
    assert code == 2 and "empty holds no results" in err and "--data" in err
    assert (folder / "index.md").exists() and "Nothing has been measured yet" not in (repository / "report/index.md").read_text()


def test_banners(repository, run, small, rendered):
    document = json.loads(json.dumps(small).replace("abc1234", "abc1234-dirty"))
    document["context"]["banners"] = ["another process used the GPU <b>|</b>"]
    document["complete"] = False
    folder = rendered(document)
    assert run("site")[0] == 0
    pages = list(folder.glob("*.md"))
    assert len(pages) == 3
    whole = list((repository / "report/site/synthetic-gpu").glob("*.html"))
    assert len(whole) == 3
    for page in pages + whole:
        told = page.read_text()
        assert "another process used the GPU &lt;b&gt;|&lt;/b&gt;" in told.replace("\\|", "|"), page
        assert "uncommitted changes" in told and "incomplete" in told, page


def test_hostile_text_stays_text(repository, run, small):
    small["context"]["device"]["name"] = "Synthetic <script>alert(1)</script> | `GPU`"
    next(v for v in small["variants"] if v["rung"] == "last_block")["idea"] = "a | b\n</details> [x](y) *z*"
    small["arguments"] = ["--filter=`a|b`", "</script>"]
    small["context"]["banners"] = ["</script><img src=x>"]
    synthetic.write(repository / "report/data", small)
    assert run()[0] == 0 and run("site")[0] == 0
    page = "".join(path.read_text() for path in (repository / "report/synthetic-gpu").glob("*.md"))
    assert "<script>" not in page and "a \\| b &lt;/details&gt; \\[x\\](y) \\*z\\*" in page
    for path in (repository / "report/site").rglob("*.html"):
        live = path.read_text()
        assert "<img" not in live and "alert(1)</" not in live and live.count("</script>") == (2 if path.parent.name == "explorer" else 0), path


def test_a_source_outside_the_repository_is_not_read(small, whole_page, rendered):
    for variant in small["variants"]:
        if variant["rung"] in ("grid_stride", "last_block"):
            variant["source"] = "../../../etc/passwd"
    folder = rendered(small)
    page = whole_page("reductions")
    assert "root:" not in page and "is not in the tree" in page
    assert "root:" not in (folder / "reductions.md").read_text()


@pytest.mark.parametrize("gpu", ["synthetic-gpu", "synthetic-cpu"])
def test_the_interactive_pages_are_whole_and_need_no_network(little, run, gpu):
    run("site")
    told = []
    for path in sorted((little / f"report/site/{gpu}/explorer").glob("*.html")):
        told.append(of_explorer(path))
    rows = list(csv.DictReader((little / f"report/site/{gpu}/results.csv").open(newline="")))
    assert sum(len(each["rows"]["place"]) for each in told) == len(rows) > 0, "one run each: every row is there once"
    assert sorted(time for each in told for time in each["rows"]["time"]) == sorted(float(f"{float(row['median_us']):.4g}") for row in rows)


def of_explorer(path):
    """What the script of a page is told, of a page that has nothing else and asks nobody."""
    live = path.read_text()
    script = re.search(r"<script>(.*?)</script>", live, flags=re.DOTALL)[1].replace("http://www.w3.org/2000/svg", "")
    for part in (script, re.sub(r"<script>.*?</script>", "", live, flags=re.DOTALL)):
        assert not re.search(r"<(?:img|iframe|object)|\bsrc=|url\((?!#)|https?:|@import|\bfetch\(|XMLHttpRequest", part)
    assert live.count("<script") == live.count("</script>") == 2
    ids = re.findall(r'\bid="([^"]+)"', live)
    assert len(ids) == len(set(ids))
    told = json.loads(re.search(r'id="data">(.*?)</script>', live, flags=re.DOTALL)[1])
    assert len({len(column) for column in told["rows"].values()}) == 1
    return told


def test_a_variant_looks_the_same_everywhere(full):
    collection = data.read(full / "report/data")
    looks = charts.styles(collection.machines)
    assert looks == charts.styles(reversed(collection.machines))
    for ladder in ("reductions", "scans", "histograms"):
        ours = [look for variant, look in looks.items() if variant.ladder == ladder]
        assert len(ours) > 7 and len({(look.colour, look.mark, look.dash) for look in ours}) == len(ours)


def test_a_chart_is_small_and_the_same_picture():
    """Shapes and clip paths are told once, coordinates to a tenth of a pixel, and nothing that is seen goes."""
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1" class="marks" width="9" viewBox="0 0 9 9">'
        '<defs><clipPath id="clip7"><rect x="0" y="0" width="9"/></clipPath><clipPath id="clip8"><rect x="0" y="0" width="9"/></clipPath></defs>'
        '<g fill="none" transform="translate(5,5)"><path class="background" aria-hidden="true" d="M0,0h9v9h-9Z"/><g transform="translate(0,0)">'
        '<g class="m" role="graphics-object" clip-path="url(#clip7)"><path aria-label="x" transform="translate(1.23456,-0.01)" d="M0,2.9371Z" fill="rgb(0, 114, 178)" opacity="1"/>'
        '<path transform="translate(1e-14,2)" d="M0,2.9371Z" fill="rgb(0, 114, 178)" opacity="0.5"/></g>'
        '<g clip-path="url(#clip8)"><path d="M1.26,2L3.14,4" stroke="#abc" stroke-width="2"/></g>'
        '<text font-size="11px" transform="translate(3,4)" fill="red">a &lt; b</text></g></g></svg>'
    )
    assert charts.small(drawn).replace("\n", "") == (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" viewBox="0 0 9 9"><defs><clipPath id="c0"><rect x="0" y="0" width="9"/></clipPath>'
        '<path id="s0" d="M0,2.9Z"/></defs><g fill="none" transform="translate(5,5)"><g clip-path="url(#c0)" fill="#0072b2"><use href="#s0" x="1.2" y="0"/>'
        '<use href="#s0" x="0" y="2" opacity="0.5"/></g><g clip-path="url(#c0)"><path d="M1.3,2L3.1,4" stroke="#abc" stroke-width="2"/></g>'
        '<text font-size="11px" transform="translate(3,4)" fill="red">a &lt; b</text></g></svg>'
    )


@pytest.mark.draws_anew
def test_charts_hold_no_generated_names(little):
    """Counters in a library would make the second page of a process differ from the first."""
    first = render.files(data.read(little / "report/data"), little)
    assert sum(name.endswith(".svg") for name in first) > 8
    assert render.files(data.read(little / "report/data"), little) == first


def test_a_launch_shape_is_no_rung(repository, run, small, whole_page, rendered):
    """Whoever wants to see them filters for them on the interactive page."""
    small["variants"].append(synthetic.variant("handwritten", "launch_sweep", "shape_512x8", -1, block_threads=512))
    synthetic.add_cell(small, 1 << 24, {("handwritten", "shape_512x8"): 1.0 * 19.0})
    folder = rendered(small)
    assert "shape_512x8" not in (folder / "reductions.md").read_text() + whole_page("reductions")
    assert run("site")[0] == 0
    told = of_explorer(repository / "report/site/synthetic-gpu/explorer/reductions.html")
    number, kinds = next((position, each["kind"]) for position, each in enumerate(told["variants"]) if each["name"] == "shape_512x8")
    assert kinds == "shapes" and all(number not in each["first"] for each in told["problems"])


# The most memory of this program alone: what getrusage tells of a new process may be its parent's.
MEASURED = """
import re, sys, time
from pathlib import Path
from rungs_report import cli
code = cli.main(sys.argv[1:])
print(code, time.process_time(), re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def test_a_hundred_thousand_rows_take_a_minute_at_most_and_a_gigabyte(repository):
    made = synthetic.document()
    rungs = [("handwritten", rung) for rung in list(synthetic.LADDER)[:15]]
    rungs += [("library_baselines", rung) for rung in [*synthetic.CUB, *synthetic.OTHERS]][:5]
    for step in range(5000):
        times = {each: 5.0 + position for position, each in enumerate(rungs)}
        mode, operator = ("cold", "graph")[step // 5 % 2], ("plus", "maximum", "minimum")[step // 10 % 3]
        synthetic.add_cell(made, 1000 + step, times, input_type=("f32", "i32", "f64", "u8", "bf16")[step % 5], mode=mode, operator=operator)
    assert len(made["rows"]) == 100_000
    synthetic.write(repository / "report/data", made)
    environment = {**os.environ, "PYTHONPATH": str(Path(render.__file__).parents[1])}
    # The site draws the committed charts too, and adds the rows twice: as CSV and for the pages to filter and zoom.
    for command, out, seconds_allowed in (("render", "report", 30), ("site", "report/site", 60)):
        places = ["--data", str(repository / "report/data"), "--out", str(repository / out), "--root", str(repository)]
        done = subprocess.run([sys.executable, "-c", MEASURED, command, *places], capture_output=True, text=True, env=environment, check=True)
        assert "100000 rows in = 100000 rows out" in done.stdout
        code, seconds, kibibytes = done.stdout.split()[-3:]
        assert (code, done.stderr) == ("0", "")
        assert float(seconds) < seconds_allowed and int(kibibytes) < 1 << 20, done.stdout
    assert (repository / "report/site/synthetic-gpu/explorer/reductions.html").stat().st_size < 9 << 20


def test_interrupted_writing_leaves_the_old_file(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(render.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        render.write(page, "new")
    assert page.read_text() == "old" and list(tmp_path.iterdir()) == [page]


def test_a_new_size_is_found_without_any_list(small, rendered):
    add_small_cell(small, items=(1 << 20) + 7)
    folder = rendered(small)
    assert "1,048,583" in (folder / "reductions.md").read_text()


def skipped(items, reason):
    """A sum that the benchmark left out."""
    about = {"operation": "reduce", "operator": "plus", "input_type": "f32", "mode": "cold"}
    return {"family": "handwritten", "rung": "one_block", "items": items, "reason": reason} | about


GOLDEN = ("index.md", "synthetic-gpu/index.md", "synthetic-gpu/claims.md", "README.md")


def test_golden(repository, run, whole_page):
    """The index of a small data set, its claims, and tables only of the site, word for word. REWRITE_GOLDEN=1 report/run test
    accepts what is written now. The committed pages hold the rest: test_committed.py."""
    for hour, cccl, cub in ((1, "3.0.1", 22.0), (2, "3.0.1", 22.4), (3, "3.6.0", 20.05)):
        made = synthetic.document(f"2030-01-02T{hour:02d}0000Z-abc1234", cccl)
        add_small_cell(made, cub=cub)
        add_small_cell(made, items=1 << 10, ours=4.0, cub=3.5)
        synthetic.add_cell(
            made, 1 << 24, {("handwritten", "last_block"): 18.0, ("library_baselines", "cub_device_reduce"): 19.0}, mode="graph"
        )
        add_small_scans(made, cub=cub * 2)
        add_small_histograms(made, cub=cub)
        add_small_atomics(made)
        synthetic.add_costs(made)
        made["skipped"].append(skipped(1 << 24, "one sample passes 10 ms"))
        synthetic.write(repository / "report/data", made)
    synthetic.write_sources(repository)
    assert run("render", "--readme", str(repository / "README.md"))[0] == 0 and run("site")[0] == 0
    texts = {name: (repository / name if name == "README.md" else repository / "report" / name).read_bytes() for name in GOLDEN}
    for name in ("index", "reductions", "histograms"):
        shown = set((repository / f"report/synthetic-gpu/{name}.md").read_text().splitlines())
        texts[f"folded/{name}.md"] = "".join(f"{line}\n" for line in whole_page(name).splitlines() if line not in shown).encode()
    different = []
    for name, written in texts.items():
        golden = Path(__file__).with_name("golden") / name.replace("/", "_")
        if os.environ.get("REWRITE_GOLDEN"):
            golden.parent.mkdir(exist_ok=True)
            golden.write_bytes(written)
        if written != golden.read_bytes():
            different += [name, *difflib.unified_diff(golden.read_text().splitlines(), written.decode().splitlines(), lineterm="")]
    assert not different, "\n".join(different)


@pytest.mark.parametrize(
    ("cards", "one", "told"),
    [
        (["1a2b3c4d", "1a2b3c4d"], True, "Card: `1a2b3c4d` in all runs"),
        (["1a2b3c4d", "5e6f7a8b"], False, "Cards: 2 cards (`1a2b3c4d` and `5e6f7a8b`: the first digits of their UUIDs); cards"),
        ([None, "1a2b3c4d"], False, "Cards: 1 card (`1a2b3c4d`: the first digits of their UUIDs), not recorded in some runs; cards"),
        ([None, None], False, "Cards: not recorded; cards"),
    ],
)
def test_runs_tell_on_which_cards_of_a_model_they_were_made(repository, run, cards, one, told):
    for hour, card in enumerate(cards):
        made = synthetic.document(f"2030-01-02T{hour:02d}0000Z-abc1234", "3.0.1")
        made["context"]["device"]["card"] = card
        if card is None:
            del made["context"]["device"]["card"]
        add_small_cell(made)
        synthetic.write(repository / "report/data", made)
    assert run("render", "--readme", str(repository / "README.md"))[0] == 0
    page = (repository / "report/synthetic-gpu/index.md").read_text()
    assert told in page
    assert all(f"| `{card}` |" in page for card in cards if card)
    assert ("**One Synthetic" in (repository / "README.md").read_text()) == one


def test_reasons_alike_but_for_their_numbers_share_a_line(small, rendered):
    for items, took in ((1 << 20, "12.5"), (1 << 22, "49.8")):
        small["skipped"].append(skipped(items, f"one sample takes {took} ms, over the limit of 10 ms"))
    small["skipped"].append({"rung": "remote_stores", "reason": "needs sm_90", "items": None, "mode": ""})
    folder = rendered(small)
    page = (folder / "reductions.md").read_text()
    front = (folder / "index.md").read_text()
    assert "| one sample takes … ms, over the limit of 10 ms |     2 | 1 Mi to 4 Mi |" in page
    assert page.count("`one_block`") == 1 and "needs sm\\_90" in front


def test_the_ladder_without_16_mi(small, rendered):
    for row in small["rows"]:
        row.update(items=1 << 22, bytes=(1 << 24) + 4, gb_per_s=None)
    page = (rendered(small) / "reductions.md").read_text()
    assert "## The ladder: f32 sum, cold, 4 Mi items" in page and "16 Mi items were not measured" in page
