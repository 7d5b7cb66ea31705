"""The site's index.html in a real browser, headless: no error on the console, filters filter, the chart reacts, the table sorts.

The page is opened from disk as a reader would, with a script of ours at its end that acts and writes down what it saw. Where
no Chromium is installed the tests are skipped.
"""

import functools
import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import synthetic
from conftest import add_small_cell, add_small_histograms, add_small_scans

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
REPOSITORY = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome in the PATH")

ACT = """
const seen = {};
const by = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];
const choose = (id, value) => { by(id).value = value; by(id).dispatchEvent(new Event("change", {bubbles: true})); };
const options = (id) => [...by(id).options].map((option) => option.value);
const lines = () => all("#chart [data-variant]").map((group) => group.dataset.variant);
const rows = () => all("#body tr").map((tr) => [...tr.cells].map((td) => td.textContent));
const point = (type, x, y, more) => {
  const box = by("chart").getBoundingClientRect();
  by("chart").dispatchEvent(new PointerEvent(type, {clientX: box.left + x, clientY: box.top + y, bubbles: true, ...more}));
};
const key = (name) => by("chart").dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true}));
const ticks = () => all("#chart text").map((text) => text.textContent);
"""


def opened(page: Path, folder: Path, script: str, *options: str, hash: str = "") -> tuple[dict, list[str]]:
    """What the script saw, and what the browser wrote on its console."""
    copy = folder / f"page_{len(list(folder.glob('page_*')))}.html"
    act = f"<script>window.addEventListener('load', () => {{ {ACT} {script}\nconst out = document.createElement('pre'); out.id = 'outcome'; out.textContent = JSON.stringify(seen); document.body.append(out); }});</script>"
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", act + "</body>"), encoding="utf-8")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [
            BROWSER, "--headless", *sandbox, "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=4000", "--enable-logging=stderr", "--window-size=1000,1400", *options, "--dump-dom", f"{copy.as_uri()}{hash}",
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if not done.stdout.strip():
        pytest.skip(f"{BROWSER} does not start here: {done.stderr.strip()[-200:]}")
    found = re.search(r'<pre id="outcome">(.*?)</pre>', done.stdout, re.DOTALL)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return (json.loads(html.unescape(found[1])) if found else {}), console


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    from rungs_report import data, render

    root = tmp_path_factory.mktemp("browser")
    made = synthetic.document()
    for items in (1 << 10, 1 << 20, 1 << 24):
        add_small_cell(made, items=items)
    synthetic.add_cell(made, 1 << 24, {("handwritten", "last_block"): 18.0, ("library_baselines", "cub_device_reduce"): 19.0}, mode="graph")
    add_small_scans(made)
    add_small_histograms(made)
    synthetic.write(root / "report/data", made)
    synthetic.write(root / "report/data", synthetic.host_only())
    path = root / "index.html"
    path.write_text(render.site(data.read(root / "report/data"), root, "../")[render.SITE], encoding="utf-8")
    return path


@pytest.fixture
def see(page, tmp_path):
    return functools.partial(opened, page, tmp_path)


def test_nothing_is_wrong_on_the_console_and_an_error_would_be_seen(see):
    seen, console = see("seen.title = document.title;")
    assert seen == {"title": "rungs: results"} and console == []
    _, console = see("nowhere();")
    assert any("nowhere" in line for line in console)


def test_filters(see):
    seen, console = see("""
        seen.operations = options("operation"); seen.modes = options("mode"); seen.first = by("says").textContent; seen.rows = rows().length;
        choose("mode", "graph"); seen.graph = by("says").textContent; seen.graph_rows = rows().length;
        choose("operation", "histogram_even"); seen.histogram = by("says").textContent; seen.mode_hidden = by("mode").closest("label").hidden;
        choose("kind", "i32 to u32"); choose("shape", "bins=4096"); choose("distribution", "zipf"); seen.zipf = by("says").textContent;
        seen.names = lines();
        choose("operation", "reduce"); choose("n", "1048576"); seen.one_size = rows().map((row) => row[0]);
        choose("n", ""); by("cub").checked = false; by("cub").dispatchEvent(new Event("change")); seen.without_cub = lines();
        by("search").value = "last"; by("search").dispatchEvent(new Event("input")); seen.searched = lines(); seen.address = location.hash;
    """)
    assert console == []
    assert seen["operations"][0] == "reduce" and {"inclusive_scan", "exclusive_scan", "histogram_even"} < set(seen["operations"])
    assert seen["modes"] == ["cold", "graph"] and seen["first"].startswith("f32 sum, cold") and seen["rows"] == 9
    assert seen["graph"].startswith("f32 sum, graph") and seen["graph_rows"] == 2
    assert "histogram" in seen["histogram"] and seen["mode_hidden"] is True, "there is only one mode to choose"
    assert seen["zipf"].startswith("i32 histogram, 4,096 bins, Zipf, cold") and "bin_ranges" in seen["names"]
    assert seen["one_size"] == ["1 Mi"] * 3
    assert set(seen["without_cub"]) == {"grid_stride", "last_block"} and seen["searched"] == ["last_block"]
    assert "search=last" in seen["address"] and "cub=false" in seen["address"]


def test_another_machine(see):
    seen, console = see("""
        seen.machines = options("machine"); choose("machine", "synthetic-cpu"); seen.says = by("says").textContent; seen.lines = lines();
        seen.measure = ticks().filter((text) => text.includes("GB/s") || text.includes("speed-up"));
    """)
    assert console == [] and seen["machines"] == ["synthetic-gpu", "synthetic-cpu"]
    assert seen["says"].endswith("host on Synthetic CPU") and set(seen["lines"]) == {"host_serial", "host_parallel"}
    assert seen["measure"] == ["GB/s"], "there is no CUB to be faster than"


def test_an_address_opens_what_it_says(see):
    seen, _ = see("seen.says = by('says').textContent; seen.y = by('y').value;", hash="#operation=inclusive_scan&y=time")
    assert seen["says"].startswith("f32 inclusive sum") and seen["y"] == "time"
    seen, console = see("seen.says = by('says').textContent;", hash="#operation=<img>&n=x&y=none")
    assert seen["says"].startswith("f32 sum, cold") and console == []


def test_the_chart_reacts(see):
    seen, console = see("""
        seen.marks = all("#chart [data-variant] path").length; seen.hidden = by("tip").hidden;
        const mark = all("#chart [data-variant='last_block'] path")[1].getBoundingClientRect(), box = by("chart").getBoundingClientRect();
        point("pointermove", mark.left + mark.width / 2 - box.left, mark.top + mark.height / 2 - box.top);
        seen.tip = by("tip").textContent; seen.dim = all("#chart [data-variant='grid_stride']")[0].getAttribute("opacity");
        point("pointerleave", 0, 0); seen.gone = by("tip").hidden;
        seen.before = ticks(); by("in").click(); by("in").click(); seen.zoomed = ticks(); by("whole").click(); seen.whole = ticks();
        by("chart").dispatchEvent(new WheelEvent("wheel", {deltaY: -100, clientX: box.left + 300, clientY: box.top + 100, bubbles: true, cancelable: true}));
        seen.wheel = all("#chart [data-variant] path")[0].getAttribute("d");
        key("0"); seen.back = all("#chart [data-variant] path")[0].getAttribute("d");
        key("ArrowRight"); seen.walked = by("tip").textContent; key("ArrowRight"); seen.further = by("tip").textContent;
        key("+"); key("Escape"); seen.escaped = by("tip").hidden;
        for (const measure of ["percent", "rate", "time"]) { choose("y", measure); seen[measure] = ticks(); }
        choose("y", "speedup"); all("#legend button")[0].click(); seen.legend = lines(); seen.pressed = all("#legend button")[0].getAttribute("aria-pressed");
    """)
    assert console == [] and seen["marks"] == 3 * 4 and seen["hidden"] is True
    assert seen["tip"].startswith("last_block") and "over CUB" in seen["tip"] and "µs" in seen["tip"] and seen["dim"] == "0.25"
    assert seen["gone"] is True
    assert seen["zoomed"] != seen["before"] == seen["whole"]
    assert seen["wheel"] != seen["back"]
    assert seen["walked"] and seen["further"] != seen["walked"] and seen["escaped"] is True
    assert "% of the measured ceiling" in seen["percent"] and "GB/s" in seen["rate"] and "µs" in seen["time"]
    assert seen["legend"] == ["last_block", "cub_device_reduce"] and seen["pressed"] == "false"


def test_the_table_sorts(see):
    seen, console = see("""
        const sort = (n) => by("head").querySelectorAll("button")[n].click();
        seen.n = rows().map((row) => row[0]); sort(0); seen.down = rows().map((row) => row[0]);
        seen.aria = all("#head th")[0].getAttribute("aria-sort");
        sort(5); seen.ratio = rows().map((row) => parseFloat(row[5])); sort(5); seen.ratio_down = rows().map((row) => parseFloat(row[5]));
        seen.focus = document.activeElement.textContent;
    """)
    assert console == []
    assert seen["n"] == ["1 Ki"] * 3 + ["1 Mi"] * 3 + ["16 Mi"] * 3 and seen["down"] == seen["n"][::-1] and seen["aria"] == "descending"
    assert seen["ratio"] == sorted(seen["ratio"]) and seen["ratio_down"] == sorted(seen["ratio"], reverse=True)
    assert seen["focus"].startswith("over CUB"), "the keyboard stays where it was"


def test_dark_and_light(see):
    script = "const paper = () => getComputedStyle(document.body).backgroundColor; seen.a = paper(); by('theme').click(); seen.b = paper(); by('theme').click(); seen.c = paper();"
    seen, console = see(script)
    assert console == [] and seen["a"] == seen["c"] != seen["b"]


def test_a_phone_scrolls_in_one_direction(see):
    script = "seen.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;"
    seen, _ = see(script, "--window-size=500,900")
    assert seen["wide"] <= 0


def test_the_page_of_the_committed_results(tmp_path):
    from rungs_report import cli, render

    assert cli.main(["site", "--out", str(tmp_path / "site")]) == 0
    made = tmp_path / "site" / render.SITE
    assert made.stat().st_size < 6 << 20
    links = {where.split("#")[0] for where in re.findall(r'<a href="([^"]+)"', made.read_text(encoding="utf-8"))}
    assert links and all((made.parent / where).is_file() for where in links), "every page and the rows are where the site says"
    script = "seen.problems = 0; for (const operation of options('operation')) { choose('operation', operation); for (const kind of options('kind')) { choose('kind', kind); seen.problems += 1; if (!rows().length) seen.empty = kind; } } seen.graph = options('mode');"
    seen, console = opened(made, tmp_path, script)
    assert console == [] and seen["problems"] > 10 and "empty" not in seen
