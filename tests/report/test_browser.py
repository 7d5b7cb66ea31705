"""The site in a real browser, headless: no error on the console, no page wider than the screen, and what the pages to filter and zoom do.

A page is opened with a script of ours at its end that acts and writes down what it saw. Where no Chromium is installed the tests are
skipped.
"""

import functools
import html
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import synthetic
from conftest import add_small_atomics, add_small_cell, add_small_histograms, add_small_scans

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome in the PATH")
WIDTHS = (360, 800, 1400)
DARK, LIGHT = "--blink-settings=preferredColorScheme=0", "--blink-settings=preferredColorScheme=1"

ACT = """
const seen = {};
const by = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];
const choose = (id, value) => { by(id).value = value; by(id).dispatchEvent(new Event("change", {bubbles: true})); };
const options = (id) => [...by(id).options].map((option) => option.value);
const lines = () => all("#chart [data-variant]").map((group) => group.dataset.variant);
const rows = () => all("#body tr").map((tr) => [...tr.cells].map((td) => td.textContent));
const columns = () => all("#head button").map((button) => button.textContent);
const point = (type, x, y, more) => {
  const box = by("chart").getBoundingClientRect();
  by("chart").dispatchEvent(new PointerEvent(type, {clientX: box.left + x, clientY: box.top + y, bubbles: true, ...more}));
};
const key = (name) => by("chart").dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true}));
const ticks = () => all("#chart text").map((text) => text.textContent);
"""


def browsed(address: str, folder: Path, *options: str) -> tuple[str, list[str]]:
    """The page after its scripts ran, and what the browser wrote on its console."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [
            BROWSER, "--headless", *sandbox, "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}",
            "--enable-logging=stderr", "--window-size=1000,1400", *options, "--dump-dom", address,
        ],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if not done.stdout.strip():
        pytest.skip(f"{BROWSER} does not start here: {done.stderr.strip()[-200:]}")
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def opened(page: Path, folder: Path, script: str, *options: str, hash: str = "") -> tuple[dict, list[str]]:
    """What the script saw on a page opened from disk, as a reader would, and the console."""
    copy = page.with_name(f"copy_{len(list(page.parent.glob('copy_*')))}.html")
    act = f"<script>window.addEventListener('load', () => {{ {ACT} {script}\nconst out = document.createElement('pre'); out.id = 'outcome'; out.textContent = JSON.stringify(seen); document.body.append(out); }});</script>"
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", act + "</body>"), encoding="utf-8")
    told, console = browsed(f"{copy.as_uri()}{hash}", folder, "--virtual-time-budget=4000", *options)
    found = re.search(r'<pre id="outcome">(.*?)</pre>', told, re.DOTALL)
    return (json.loads(html.unescape(found[1])) if found else {}), console


# Every page in a frame of the three widths, one after the other, so that one browser looks at all of them. What a script does while a
# page is loaded may depend on the width: such a page is loaded for each, any other once.
FRAMES = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>frames</title><link rel="icon" href="data:,"></head><body><script>
const pages = PAGES, widths = WIDTHS, seen = {};
const opened = (page, left) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${left[0]}px;height:900px;border:0`;
  frame.onload = () => {
    const view = frame.contentWindow, root = frame.contentDocument.documentElement;
    const now = frame.contentDocument.scripts.length ? left.slice(0, 1) : left;
    for (const width of now) {
      frame.style.width = `${width}px`;
      const code = [...root.querySelectorAll("main pre")].filter((each) => each.scrollWidth > each.clientWidth);
      seen[page][width] = [view.innerWidth, root.scrollWidth, root.querySelectorAll("h1").length, view.getComputedStyle(frame.contentDocument.body).backgroundColor, code.length];
    }
    frame.remove();
    done(left.slice(now.length));
  };
  frame.src = page;
  document.body.append(frame);
});
(async () => {
  for (const page of pages) { seen[page] = {}; for (let left = widths; left.length;) left = await opened(page, left); }
  const out = document.createElement("pre"); out.id = "outcome"; out.textContent = JSON.stringify(seen); document.body.append(out);
  await fetch("/done");
})();
</script></body></html>"""


@contextmanager
def served(folder: Path, asked: list[str]) -> Iterator[str]:
    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, form: str, *told: object) -> None:
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def looked_at(site: Path, folder: Path, pages: list[str], *options: str, widths: tuple[int, ...] = WIDTHS) -> tuple[dict, list[str], list[str]]:
    """What was seen of the pages at each width, the console, and what the browser asked the server for."""
    (site / "done").write_text("")
    frames = FRAMES.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(widths))
    (site / "frames.html").write_text(frames, encoding="utf-8")
    asked: list[str] = []
    with served(site, asked) as address:
        told, console = browsed(f"{address}frames.html", folder, "--virtual-time-budget=600000", *options)
    found = re.search(r'<pre id="outcome">(.*?)</pre>', told, re.DOTALL)
    assert found, "the frames did not come to an end"
    return json.loads(html.unescape(found[1])), console, asked


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    from rungs_report import data, render

    root = tmp_path_factory.mktemp("browser")
    made = synthetic.document()
    for items in (1 << 10, 1 << 20, 1 << 24):
        add_small_cell(made, items=items)
    synthetic.add_cell(made, 1 << 24, {("handwritten", "last_block"): 18.0, ("library_baselines", "cub_device_reduce"): 19.0}, mode="graph")
    add_small_scans(made)
    add_small_histograms(made)
    add_small_atomics(made)
    synthetic.add_costs(made)
    synthetic.write(root / "report/data", made)
    synthetic.write(root / "report/data", synthetic.host_only())
    for name, content in render.site(data.read(root / "report/data"), root, None).items():
        render.write(root / "site" / name, content)
    return root / "site"


@pytest.fixture
def see(site, tmp_path):
    def look(script: str, *options: str, topic: str = "reductions", gpu: str = "synthetic-gpu", hash: str = "") -> tuple[dict, list[str]]:
        return opened(site / gpu / "explorer" / f"{topic}.html", tmp_path, script, *options, hash=hash)

    return look


def pages_of(site: Path) -> list[str]:
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html") if not path.name.startswith(("copy_", "frames")))


def fits(seen: dict) -> list[str]:
    """The pages that are wider than the window, or have not one title."""
    return [f"{page} at {width}: {told}" for page, widths in seen.items() for width, told in widths.items() if told[1] > told[0] or told[2] != 1]


def test_every_page_fits_at_every_width_in_both_schemes(site, tmp_path):
    pages = pages_of(site)
    papers = []
    for scheme in (LIGHT, DARK):
        seen, console, asked = looked_at(site, tmp_path, pages, scheme)
        assert console == [] and fits(seen) == []
        assert set(seen) == set(pages) and all(told[0] == int(width) for widths in seen.values() for width, told in widths.items())
        papers.append({told[3] for widths in seen.values() for told in widths.values()})
        known = {"/done", "/frames.html", "/site.css", *(f"/{page}" for page in pages)}
        assert {path.partition(" ")[0] for path in asked} <= known
    assert len(papers[0]) == len(papers[1]) == 1 and papers[0] != papers[1], "dark where the system is dark"


def test_a_page_too_wide_and_an_error_would_be_seen(site, tmp_path):
    (site / "frames_wide.html").write_text("<!DOCTYPE html><title>w</title><h1>w</h1><div style='width:900px'>w</div><script>nowhere();</script>")
    seen, console, _ = looked_at(site, tmp_path, ["frames_wide.html"])
    assert len(fits(seen)) == 2 and any("nowhere" in line for line in console)


def test_it_begins_with_the_front_door_cub_and_the_best_three(see):
    seen, console = see("seen.title = document.title; seen.untouched = location.hash; seen.lines = lines(); seen.lists = options('lines'); choose('lines', 'ours'); seen.ours = lines(); seen.address = location.hash;")
    assert console == [] and seen["title"] == "Reductions: filter and zoom · Synthetic GPU 9000 · rungs"
    assert set(seen["lines"]) == {"grid_stride", "last_block", "cub_device_reduce"}, "there are but two rungs here, and no front door"
    assert seen["lists"] == ["first", "ours", "libraries", "all"] and set(seen["ours"]) == set(seen["lines"]) and seen["untouched"] == ""
    assert seen["address"] == "#operation=reduce&kind=f32+plus&shape=none&distribution=uniform&mode=cold&lines=ours"


def test_filters(see):
    seen, console = see("""
        seen.modes = options("mode"); seen.first = by("says").textContent; seen.rows = rows().length; seen.operation_hidden = by("operation").closest("label").hidden;
        choose("mode", "graph"); seen.graph = by("says").textContent; seen.graph_rows = rows().length; choose("mode", "cold");
        choose("n", "1048576"); seen.one_size = rows().map((row) => row[0]); choose("n", "");
        by("search").value = "last"; by("search").dispatchEvent(new Event("input")); seen.searched = lines(); seen.address = location.hash;
    """)
    assert console == []
    assert seen["modes"] == ["cold", "graph"] and seen["first"].startswith("f32 sum, cold") and seen["rows"] == 9 and seen["operation_hidden"] is True
    assert seen["graph"].startswith("f32 sum, graph") and seen["graph_rows"] == 2
    assert seen["one_size"] == ["1 Mi"] * 3
    assert seen["searched"] == ["last_block"] and "search=last" in seen["address"]
    seen, console = see(
        """
        choose("operation", "histogram_even"); seen.histogram = by("says").textContent; seen.mode_hidden = by("mode").closest("label").hidden;
        choose("kind", "i32 to u32"); choose("shape", "bins=4096"); choose("distribution", "zipf"); seen.zipf = by("says").textContent;
        choose("lines", "all"); seen.names = lines();
        """,
        topic="histograms",
    )
    assert console == [] and "histogram" in seen["histogram"] and seen["mode_hidden"] is True, "there is only one mode to choose"
    assert seen["zipf"].startswith("i32 histogram, 4,096 bins, Zipf, cold") and "bin_ranges" in seen["names"]


def test_another_machine(see):
    seen, console = see(
        """
        seen.says = by("says").textContent; seen.lines = lines();
        seen.measure = ticks().filter((text) => text.includes("GB/s") || text.includes("speed-up"));
        """,
        gpu="synthetic-cpu",
    )
    assert console == []
    assert seen["says"].endswith("host on Synthetic CPU") and set(seen["lines"]) == {"host_serial", "host_parallel"}
    assert seen["measure"] == ["GB/s"], "there is no CUB to be faster than"


@pytest.mark.parametrize(
    ("topic", "unit", "axis", "tall"),
    [("atomics", "G operations/s", "distinct addresses", "global"), ("collectives", "ns a link", "threads", "shuffle_down"), ("barriers", "ns a link", "blocks", "grid")],
)
def test_a_study_has_its_own_unit(see, topic, unit, axis, tall):
    seen, console = see("seen.ticks = ticks(); seen.columns = columns(); seen.lines = lines(); seen.hidden = by('lines').closest('label').hidden;", topic=topic)
    assert console == [] and unit in seen["ticks"] and axis in seen["ticks"] and not {"GB/s", "speed-up over CUB"} & set(seen["ticks"])
    assert seen["columns"][0].startswith(axis) and unit in seen["columns"] and tall in seen["lines"] and seen["hidden"] is True
    assert seen["ticks"].count("0") <= 1


def test_an_address_opens_what_it_says(see):
    seen, _ = see("seen.says = by('says').textContent; seen.y = by('y').value;", topic="scans", hash="#operation=exclusive_scan&y=time")
    assert seen["says"].startswith("f32 exclusive sum") and seen["y"] == "time"
    seen, console = see("seen.says = by('says').textContent;", hash="#operation=<img>&n=x&y=none&lines=nobody")
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
        choose("y", "speedup"); all("#legend button")[1].click(); seen.legend = lines(); seen.pressed = all("#legend button")[1].getAttribute("aria-pressed");
    """)
    assert console == [] and seen["marks"] == 3 * 4 and seen["hidden"] is True
    assert seen["tip"].startswith("last_block") and "over CUB" in seen["tip"] and "µs" in seen["tip"] and seen["dim"] == "0.25"
    assert seen["gone"] is True
    assert seen["zoomed"] != seen["before"] == seen["whole"]
    assert seen["wheel"] != seen["back"]
    assert seen["walked"] and seen["further"] != seen["walked"] and seen["escaped"] is True
    assert "% of the measured ceiling" in seen["percent"] and "GB/s" in seen["rate"] and "µs" in seen["time"]
    assert set(seen["legend"]) == {"last_block", "cub_device_reduce"} and seen["pressed"] == "false"


def test_the_table_sorts(see):
    seen, console = see("""
        const sort = (n) => by("head").querySelectorAll("button")[n].click();
        seen.n = rows().map((row) => row[0]); sort(0); seen.down = rows().map((row) => row[0]);
        seen.aria = all("#head th")[0].getAttribute("aria-sort"); seen.columns = columns();
        sort(2); seen.ratio = rows().map((row) => parseFloat(row[2])); sort(2); seen.ratio_down = rows().map((row) => parseFloat(row[2]));
        seen.focus = document.activeElement.textContent;
    """)
    assert console == []
    assert seen["n"] == ["1 Ki"] * 3 + ["1 Mi"] * 3 + ["16 Mi"] * 3 and seen["down"] == seen["n"][::-1] and seen["aria"] == "descending"
    assert seen["columns"][1:] == ["variant", "over CUB", "% of ceiling", "GB/s", "time", "interval", "verdict", "error", "same bits"]
    assert seen["ratio"] == sorted(seen["ratio"]) and seen["ratio_down"] == sorted(seen["ratio"], reverse=True)
    assert seen["focus"].startswith("over CUB"), "the keyboard stays where it was"


def test_pages_of_docs_at_a_phone_a_tablet_and_a_desk(committed_site, tmp_path):
    pages = ["index.html", *(page for page in pages_of(committed_site) if page.startswith("docs/"))]
    papers = []
    for scheme in (LIGHT, DARK):
        seen, console, _ = looked_at(committed_site, tmp_path, pages, scheme, widths=(360, 768, 1280))
        assert console == [] and fits(seen) == [] and len(seen) == len(pages) > 10
        assert [page for page, told in seen.items() if told["360"][4]] == [], "on a phone code wraps"
        papers.append({told[3] for widths in seen.values() for told in widths.values()})
    assert len(papers[0]) == len(papers[1]) == 1 and papers[0] != papers[1]


def test_the_pages_of_the_committed_results(committed_site, tmp_path):
    pages = pages_of(committed_site)
    seen, console, _ = looked_at(committed_site, tmp_path, pages)
    assert console == [] and fits(seen) == [] and len(seen) == len(pages) > 50
    script = "seen.problems = 0; for (const operation of options('operation')) { choose('operation', operation); for (const kind of options('kind')) { choose('kind', kind); seen.problems += 1; if (!rows().length) seen.empty = kind; } }"
    found, console = opened(committed_site / "nvidia-h200/explorer/histograms.html", tmp_path, script)
    assert console == [] and found["problems"] > 5 and "empty" not in found
