"""report/run site: every page is there and valid, links and anchors lead somewhere, nothing is left in Markdown, addresses last."""

import json
import posixpath
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import html5lib
import pytest
import synthetic
from conftest import add_small_cell, add_small_scans

from rungs_report import explorer, markdown, render, site
from rungs_report.page import divided, headings, short

REPOSITORY = Path(__file__).resolve().parents[2]
REPORT = REPOSITORY / "report"
LIMIT = 500_000
OUTSIDE = "https://host.example/owner/rungs"  # the repository that is named
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
QUIET = ("code", "pre", "script", "style", "svg")  # what may hold any sign


@pytest.fixture(scope="session")
def trees(committed_site: Path) -> dict[str, Element]:
    """The committed results' pages, each read by the rules of HTML without mercy."""
    found = {}
    for path in sorted(committed_site.rglob("*.html")):
        name = path.relative_to(committed_site).as_posix()
        if not path.name.startswith(("copy_", "frames")):
            found[name] = strict(path.read_text(encoding="utf-8"), name)
    return found


def strict(text: str, name: str) -> Element:
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    try:
        return parser.parse(text)
    except html5lib.html5parser.ParseError as error:
        raise AssertionError(f"{name}: {error} at {parser.errors[-1:]}") from None


def texts(tree: Element) -> Iterator[str]:
    """What is read as prose."""

    def walk(each: Element) -> Iterator[str]:
        if not isinstance(each.tag, str) or each.tag.rpartition("}")[2] in QUIET:
            return
        yield each.text or ""
        for child in each:
            yield from walk(child)
            yield child.tail or ""

    body = tree.find("body")
    assert body is not None
    yield from walk(body)


def ids(tree: Element) -> list[str]:
    return [each.attrib["id"] for each in tree.iter() if isinstance(each.tag, str) and "id" in each.attrib]


def broken(pages: dict[str, Element], files: set[str]) -> list[str]:
    """Links that lead nowhere within the site."""
    known = {name: set(ids(tree)) for name, tree in pages.items()}
    found = []
    for name, tree in pages.items():
        for each in tree.iter():
            target = each.get("href") if isinstance(each.tag, str) and each.tag in ("a", "link") else None
            if target is None or re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            to = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
            if to not in files or (anchor and anchor not in known.get(to, set())):
                found.append(f"{name}: {target}")
    return found


def test_every_page_of_every_gpu_is_there(trees):
    pages = [path for path in sorted(REPORT.glob("**/*.md")) if path.parent == REPORT or (path.parent / "index.md").is_file() or path.name == "torch.md"]
    pages = [path for path in pages if path.name != "SCHEMA.md" and "data" not in path.parts and "site" not in path.parts]
    assert len(pages) > 5
    for path in pages:
        name = path.relative_to(REPORT).with_suffix("").as_posix()
        assert f"{name}.html" in trees
        for heading, _ in headings(path.read_text(encoding="utf-8").splitlines()) if name != "index" else ():
            assert any(f"{name}/{each}.html" in trees for each in (short(heading), markdown.slug(heading))), (name, heading)
    for folder in {path.parent.name for path in pages if path.parent != REPORT}:
        views = [name for name in trees if name.startswith(f"{folder}/explorer/")]
        assert len(views) > 5 or not (REPORT / folder / "index.md").is_file()


def test_every_page_of_docs_is_there_whole_and_linked_from_the_front(trees):
    pages = sorted((REPOSITORY / "docs").glob("*.md"))
    assert len(pages) > 10
    front = {each.get("href") for each in trees["index.html"].find("body/div/main").iter("a")}
    for path in pages:
        name = f"docs/{path.stem}.html"
        assert name in trees and name in front
        told = set(ids(trees[name]))
        assert {anchor for _, anchor in headings(unfenced(path.read_text(encoding="utf-8")), deepest=6)} <= told, name
        for other in pages:
            assert any(each.get("href") == f"{other.stem}.html" for each in trees[name].iter("a")), (name, other.stem)
    cards = {"".join(each.itertext()).strip() for each in trees["index.html"].iter("p")}
    assert "A rung is one kernel design in one header: a struct with static functions." in cards, "a sentence may go on in the next line"
    assert "bench/run times every rung beside CUB on your GPU, and writes the report." in cards, "code before it is no sentence"


def unfenced(text: str) -> list[str]:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()


def test_addresses_outside_stand_as_code(trees, committed_site):
    named = {path.stem: re.findall(r"\]\((https?:[^)]*)\)", "\n".join(unfenced(path.read_text(encoding="utf-8")))) for path in (REPOSITORY / "docs").glob("*.md")}
    assert sum(map(len, named.values())) > 0
    for stem, addresses in named.items():
        links = {each.get("href") for each in trees[f"docs/{stem}.html"].iter("a")}
        code = {"".join(each.itertext()) for each in trees[f"docs/{stem}.html"].iter("code")}
        assert set(addresses) <= code and not set(addresses) & links, stem


def test_links_and_anchors_lead_somewhere(trees, committed_site):
    files = {path.relative_to(committed_site).as_posix() for path in committed_site.rglob("*") if path.is_file()}
    assert broken(trees, files) == []
    page = strict('<!DOCTYPE html><title>x</title><a href="nowhere.html">x</a><a href="#no">x</a><a href="https://elsewhere">x</a>', "x")
    assert broken({"x.html": page}, {"x.html"}) == ["x.html: nowhere.html", "x.html: #no"]


def test_pages_are_small_and_ask_nobody(trees, committed_site):
    for name in trees:
        text = (committed_site / name).read_text(encoding="utf-8")
        assert len(text.encode()) < LIMIT, name
        prose = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
        assert not re.search(r"<(?:img|iframe|object|embed)|\bsrc=|url\((?!#)|@import", prose), name
        assert text.count("<script") == (2 if "/explorer/" in name else 0), "reading needs no script"
        outside = set(re.findall(r'(?:href|content)="(https?:[^"]*)"', prose))
        assert all(each.startswith(OUTSIDE) for each in outside), (name, outside)
    style = (committed_site / "site.css").read_text(encoding="utf-8")
    assert "url(" not in style and "@import" not in style and len(style) < 20_000


def test_nothing_is_left_in_markdown(trees):
    left = re.compile(r"\*\*|\]\(|`|^\s*\||^#{1,6} |^\s*```|\\[|*_\[]|<br>|</?\w+>|&(?:lt|gt|amp);", re.MULTILINE)
    assert left.search("a **b** c") and left.search("| a | b |") and not left.search("2 * 3 # 4 | 5")
    for name, tree in trees.items():
        for text in texts(tree):
            assert not left.search(text), (name, text[:200])


def test_pages_can_be_read_by_everybody(trees):
    """Landmarks, one title, headings in order, tables with headers, pictures with names, ids once."""
    for name, tree in trees.items():
        every = [each for each in tree.iter() if isinstance(each.tag, str)]
        of = Counter(each.tag for each in every)
        assert tree.get("lang") == "en" and of["main"] == of["header"] == of["footer"] == of["h1"] == of["title"] == 1, name
        levels = [int(each.tag[1]) for each in tree.find("body/div/main").iter() if each.tag in HEADINGS]
        assert levels[0] == 1 and all(after <= before + 1 for before, after in zip(levels, levels[1:])), (name, levels)
        assert all(each.get("scope") == "col" and "".join(each.itertext()).strip() for each in every if each.tag == "th"), name
        assert len(set(ids(tree))) == len(ids(tree)), name
        named = set(ids(tree))
        for each in every:
            assert set((each.get("aria-labelledby") or "").split()) <= named, name
            if each.tag.endswith("}svg") or each.tag == "svg":
                assert each.get("role") == "img" and (each.get("aria-labelledby") or each.get("aria-label")), name
            if each.tag == "nav":
                assert each.get("aria-label"), name
            if "scroll" in (each.get("class") or "").split():
                assert each.get("tabindex") == "0" and each.get("role") and (each.get("aria-label") or each.get("aria-labelledby")), name
            if each.tag == "a" and each.get("href"):
                assert "".join(each.itertext()).strip(), (name, each.get("href"))
            assert each.tag != "table" or any("scroll" in (box.get("class") or "") for box in every if each in list(box)), name


def test_rungs_lead_to_their_sources_at_the_commit_that_was_measured(trees):
    links = {each.get("href") for tree in trees.values() for each in tree.iter("a")}
    sources = [match for link in links if (match := re.fullmatch(rf"{OUTSIDE}/(blob|tree)/([^/]+)/?(.*)", link or ""))]
    runs = list((REPORT / "data").glob("*/*.json.gz"))
    measured = {match[1] for path in runs if (match := re.search(r"Z-([0-9a-f]+)\.json", path.name))}
    assert len(sources) > 50 and any(match[1] == "tree" and match[3] for match in sources)

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", "-C", str(REPOSITORY), *words], capture_output=True, text=True)

    def git_has(name: str) -> bool:
        return git("cat-file", "-e", name).returncode == 0

    # What is no rung's source, such as a file that docs/ name, is linked as it is now.
    head = {git("rev-parse", "--short", "HEAD").stdout.strip()} if (REPOSITORY / ".git").exists() else set()
    for match in sources:
        link, commit, path = match[0], match[2], unquote(match[3])
        assert commit in measured | head, link
        # A file may have moved since. Where the history is not at hand, it has to be where it was.
        assert git_has(f"{commit}:{path}") if git_has(commit) else (REPOSITORY / path).exists(), link


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_colours_contrast_in_both_schemes():
    """By WCAG: 4.5 to 1 for text, 3 to 1 for what a chart is drawn with; in the light the colours are those of the Markdown's charts."""
    style = (site.ASSETS / site.STYLE).read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", each)) for each in re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2])
    assert contrast("#000000", "#ffffff") == pytest.approx(21) and light.keys() == dark.keys() >= {"paper", "ink", "soft", "accent", "field"}
    for scheme in (light, dark):
        for ink in ("ink", "soft", "accent", "good", "bad"):
            assert contrast(scheme[ink], scheme["paper"]) >= 4.5 and contrast(scheme[ink], scheme["field"]) >= 4.5, ink
    for table, scheme, least in ((site.LIGHT_TEXT, light, 4.5), (site.DARK, dark, 4.5)):
        for told, seen in table.items():
            if seen.startswith("#") and told != "#8a8f97":  # the grey of lines that nobody names
                assert contrast(seen, scheme["paper"]) >= least, (told, seen)


# ---- on synthetic results


@pytest.fixture
def little(repository, small):
    add_small_cell(small, items=1 << 20)
    add_small_scans(small)
    synthetic.write(repository / "report/data", small)
    synthetic.write_sources(repository)
    return repository


def test_what_an_earlier_site_left_goes_and_nothing_else(little, run):
    assert run("site")[0] == 0
    out = little / "report/site"
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (out / "synthetic-gpu/reductions/of_once.html").write_text((out / "synthetic-gpu/reductions.html").read_text())
    (out / "mine.html").write_text("<p>by hand</p>")
    code, told, _ = run("site")
    assert code == 0 and ", 1 removed" in told and not (out / "synthetic-gpu/reductions/of_once.html").exists() and (out / "mine.html").exists()
    assert {path: path.read_bytes() for path in before} == before, "the same results make the same site"


@pytest.mark.parametrize("address", ["owner/name", "https://host/<script>", "javascript:alert(1)", "ftp://host/x", "https://host/a b", ""])
def test_what_is_no_address_is_refused(little, run, address):
    code, _, err = run("site", "--repository", address)
    assert code == 2 and "is no address of a repository" in err and not (little / "report/site").exists()


def test_without_a_repository_nothing_leads_outside(little, run):
    assert run("site")[0] == 0
    for path in (little / "report/site").rglob("*.html"):
        assert not re.search(r'href="https?:', path.read_text()), path
    assert run("site", "--repository", "https://host.example/owner/rungs.git/")[0] == 0
    told = (little / "report/site/synthetic-gpu/reductions/the-ladder.html").read_text()
    assert '<a href="https://host.example/owner/rungs/blob/abc1234/handwritten/rungs/reductions/13_last_block.cuh"><code>last_block</code></a>' in told


def test_a_run_with_uncommitted_changes_names_no_source(repository, run, small):
    synthetic.write(repository / "report/data", json.loads(json.dumps(small).replace("abc1234", "abc1234-dirty")))
    run("site", "--repository", "https://host.example/owner/rungs")
    assert "/blob/" not in "".join(path.read_text() for path in (repository / "report/site").rglob("*.html"))


def test_a_page_of_all_gpus_is_found_without_any_list(little, monkeypatch, run):
    """Whatever the report writes, the site has."""
    written = render.committed
    page = "# Across GPUs\n\nWhat differs. It differs.\n\n## Winners: two\n\n| a | >b |\n|---|--:|\n| `x` | [r](synthetic-gpu/reductions.md#the-sweep-over-n) |\n\n![Both](charts/both.svg)\n"
    more = {"across.md": page, "charts/both.svg": '<svg xmlns="http://www.w3.org/2000/svg"><path id="s0" d="M0,0h1"/></svg>'}
    monkeypatch.setattr(render, "committed", lambda *given: written(*given) | more)
    assert run("site")[0] == 0
    out = little / "report/site"
    assert '<a href="across.html">Across GPUs</a>' in (out / "index.html").read_text() and "What differs." in (out / "index.html").read_text()
    assert 'href="across/winners.html"' in (out / "across.html").read_text()
    told = (out / "across/winners.html").read_text()
    assert '<path id="both_s0"' in told and "Both</figcaption>" in told
    assert "<h1>Winners: two</h1>" in told and '<a href="../synthetic-gpu/reductions/the-sweep-over-n.html">r</a>' in told
    assert 'href="../across.html"' in (out / "synthetic-gpu/reductions.html").read_text()


def test_the_home_has_what_the_readme_says(little, run):
    readme = "# x\n\nWhat [it](docs/a.md) is.\n\n## The front door against CUB\n\nThe *door*.\n\n| call | mean |\n|---|--:|\n| `Sum` | 1.10x |\n\n## Other\n\nnot this\n"
    (little / "README.md").write_text(readme)
    assert run("site", "--repository", "https://host.example/o/r")[0] == 0
    home = (little / "report/site/index.html").read_text()
    assert "What <a href=\"https://host.example/o/r/blob/abc1234/docs/a.md\">it</a> is." in home
    assert "<em>door</em>" in home and '<td class="r">1.10x</td>' in home and "not this" not in home
    assert '<li id="reductions"><h3>Reductions</h3>' in home and "the best rung is" in home and "caption_synthetic-gpu_headline" in home


DOC = """# A page

```
bench/run     # code, no sentence
```

The first [sentence](b.md) goes on
here. The second.

- [tasks](https://elsewhere.example/tasks), [file](../best/x.cuh), [none](../best/none.cuh), [folder](../best), [results](../report/synthetic-gpu/reductions.md#the-sweep-over-n)

## What: it is

See [below](#more) and `last_block`.

### More

```cpp
int wide = 0;  // <b>not bold</b>
```
"""


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@host.example"]
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_pages_of_docs(little, run):
    (little / "docs").mkdir()
    (little / "docs/a.md").write_text(DOC)
    (little / "docs/faq.md").write_text("# Answers\n\nShort ones.\n")
    (little / "best").mkdir()
    (little / "best/x.cuh").write_text("")
    git(little, "init", "-q")
    git(little, "add", "best", "docs")
    git(little, "commit", "-q", "-m", "x")
    head = git(little, "rev-parse", "--short", "HEAD")
    assert run("site", "--repository", "https://host.example/o/r")[0] == 0
    out = little / "report/site"
    told = (out / "docs/a.html").read_text()
    strict(told, "docs/a.html")
    assert "tasks (<code>https://elsewhere.example/tasks</code>)," in told
    assert f'<a href="https://host.example/o/r/blob/{head}/best/x.cuh">file</a>' in told and f'<a href="https://host.example/o/r/tree/{head}/best">folder</a>' in told
    assert " none, " in told, "what is not in the repository is no link"
    assert '<a href="../synthetic-gpu/reductions/the-sweep-over-n.html">results</a>' in told and '<a href="a.html#more">below</a>' in told
    assert '<h2 id="what-it-is">What: it is</h2>' in told and '<h3 id="more">More</h3>' in told and '<a href="faq.html">Answers</a>' in told
    assert '<pre class="scroll" tabindex="0" role="group" aria-label="code: More"><code>int wide = 0;  // &lt;b&gt;not bold&lt;/b&gt;</code></pre>' in told
    home = (out / "index.html").read_text()
    assert '<h3><a href="docs/a.html">A page</a></h3><p>The first sentence goes on here.</p>' in home
    assert home.index('"docs/faq.html"') < home.index('"docs/a.html"'), "short answers first"
    assert 'href="../docs/a.html"' in (out / "synthetic-gpu/reductions.html").read_text()
    assert run("site")[0] == 0
    assert "https" not in re.sub("<code>.*?</code>", "", (out / "docs/a.html").read_text())


def test_sections_keep_their_names_when_the_data_differ():
    lines = ["text", "", "## The ladder: f32, 16 Mi", "", "### A", "", "### A", "", "## Types: a", "", "## Types: b", "", '<a id="diff-x"></a>', ""]
    first, ladder, one, two = markdown.sections(lines)
    assert (first.name, ladder.name, one.name, two.name) == ("", "the-ladder", "types-a", "types-b")
    assert ladder.anchors == {"the-ladder-f32-16-mi": "", "a": "a", "a-1": "a-1"} and two.anchors["diff-x"] == "diff-x"
    assert short("What each rung gained, and why") == "what-each-rung-gained-and-why"
    lines = ["## One: 1", "", "<details>", "<summary>more</summary>", "", "x", "", "</details>", "", "y"]
    assert divided(lines, "report/site/g/p") == (["## One: 1", "", "Only in `report/site/g/p/one.html`: more.", "", "y"], True)


def test_a_cell_that_is_prose_wraps_and_numbers_stand_right():
    places = markdown.Places(lambda to: None, lambda name: None, lambda source: None)
    table = ["| | >n | what |".replace(">", ""), "|---|--:|---|", f"| a | 1 | {'long ' * 12}<br>short |", "| [not so short](b.md) | | thirty signs or a little more |"]
    told = markdown.html(markdown.sections(table)[0], places)
    assert '<td class="r">1</td>' in told and '<td class="long">long' in told and '<th class="r" scope="col">n</th>' in told.replace('scope="col" class="r"', 'class="r" scope="col"')
    assert '<td class="mid">thirty' in told and "<td>not so short" in told
    assert told.startswith('<div class="scroll" role="group" tabindex="0"') and "<th></th>" not in told


def test_a_link_without_a_place_is_text():
    places = markdown.Places(lambda to: None, lambda name: "x.cuh" if name == "rung" else None, lambda source: None)
    told = markdown.html(markdown.sections(["[a](b.md), `rung`, `rung`, `other`, [`rung`](c.md)"])[0], places)
    assert told == '<p>a, <a href="x.cuh"><code>rung</code></a>, <code>rung</code>, <code>other</code>, <code>rung</code></p>\n'


def costs_of(**by_rung: tuple[float | None, ...]) -> dict[int, dict[int, float]]:
    return {int(name[1:]): {place: value for place, value in enumerate(own) if value} for name, own in by_rung.items()}


def test_the_best_three_are_best_together() -> None:
    """One alone is best nowhere but good everywhere; the next are those that help it most."""
    found = costs_of(r0=(1.0, 9.0, 9.0), r1=(9.0, 9.0, 1.0), r2=(1.2, 1.2, 1.2), r3=(1.3, 1.1, 1.3), r4=(1.0, None, None))
    assert explorer.together(found, 1) == [2]
    chosen: Any = explorer.together(found, 3)
    assert chosen[0] == 2 and len(set(chosen)) == 3 and 4 not in chosen
    assert explorer.together(found, 9) and len(explorer.together(found, 9)) == 5 and explorer.together({}, 3) == []
