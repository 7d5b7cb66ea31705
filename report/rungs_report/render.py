"""From a data directory to the files of the report: made in memory, then written whole or compared with what is there."""

import csv
import io
import os
import shutil
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path

from rungs_report import charts, chips, pages, words
from rungs_report import site as sites
from rungs_report.data import COLUMNS, Collection, Machine

ROWS = "results.csv"
BEGIN, END = "<!-- rungs:headline begin -->", "<!-- rungs:headline end -->"


class ReadmeFault(Exception):
    """Why a README cannot be rewritten."""


def results_csv(machine: Machine) -> str:
    """All rows of all runs, the grids' behind the suite's, numbers as the result files hold them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    columns_of = itemgetter(*COLUMNS)
    for own in (machine, *machine.grids.values()):
        for row in own.sorted_rows():
            writer.writerow(columns_of(row.values))
    return out.getvalue()


def files_of(machine: Machine, lines: dict[str, list[str]], shown: list[charts.Chart]) -> dict[str, str]:
    """Pages and charts by their paths."""
    made = {f"{machine.gpu}/{name}": "\n".join(page) + "\n" for name, page in lines.items()}
    return made | {f"{machine.gpu}/charts/{chart.name}.svg": charts.svg(chart) for chart in shown}


def written(collection: Collection, root: Path, told: Callable[[str], None]) -> Iterator[tuple[Machine, pages.Pages]]:
    """The machines and their pages, GPUs first, for which a reader looks first. root is where the rungs' sources lie."""
    looks = charts.styles(collection.machines)
    machines = sorted(collection.machines, key=lambda machine: machine.device is None)
    for machine in machines:
        told(f"writing the pages of {machine.gpu}")
        yield machine, pages.pages(machine, root, looks, tuple(each.gpu for each in machines if each.device and each is not machine))


def files(collection: Collection, root: Path, told: Callable[[str], None] = lambda _: None) -> dict[str, str]:
    """Every file of the report by its path under --out: pages and charts, which are committed."""
    return committed(collection, root, list(written(collection, root, told)))


def committed(collection: Collection, root: Path, built: list[tuple[Machine, pages.Pages]]) -> dict[str, str]:
    made: dict[str, str] = {}
    for machine, own in built:
        shown = own.shown()
        made |= files_of(machine, own.committed, [chart for chart in own.charts if chart.name in shown])
    for machine in collection.without_suite:
        made |= files_of(machine, pages.without_suite(machine, root), [])
    made["index.md"] = "\n".join(pages.index(collection)) + "\n"
    if beside := chips.contents(collection):
        made[chips.FILE] = "\n".join([pages.GENERATED, "", *pages.finished(beside)]) + "\n"
    return made


def site(collection: Collection, root: Path, repository: str | None, told: Callable[[str], None] = lambda _: None) -> dict[str, str]:
    """What follows from the results and is not committed: all pages as HTML and all rows. repository: where names of rungs link to.
    Its pages are the committed ones, those of a machine with what is folded in them."""
    built = list(written(collection, root, told))
    report = committed(collection, root, built)
    markdown = {path: content.splitlines() for path, content in report.items() if path.endswith(".md")}
    drawn = {path: (sites.inlined(content, Path(path).stem), "") for path, content in report.items() if path.endswith(".svg")}
    rows: dict[str, str] = {}
    for machine, own in built:
        markdown |= {f"{machine.gpu}/{name}": lines for name, lines in own.whole.items()}
        for chart in own.charts:
            path = f"{machine.gpu}/charts/{chart.name}.svg"
            drawn[path] = (sites.inlined(report.get(path) or charts.svg(chart), f"{machine.gpu}_{chart.name}"), words.text(chart.title))
        rows[f"{machine.gpu}/{ROWS}"] = results_csv(machine)
    machines = [(machine, own.answers) for machine, own in built] + [(machine, []) for machine in collection.without_suite]
    markdown |= sites.documentation(root)
    told("writing the site")
    return sites.made(sites.Site(machines, markdown, drawn, charts.styles(collection.machines), root, repository)) | rows


def readme(collection: Collection, path: Path, out: Path) -> str:
    """The README with the text between its markers replaced; everything else stays as it is, line endings too."""
    try:
        old = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise ReadmeFault("does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReadmeFault(f"cannot be read: {error}") from None
    if old.count(BEGIN) != 1 or old.count(END) != 1 or old.index(BEGIN) > old.index(END):
        raise ReadmeFault(f"needs the markers {BEGIN} and {END}, each once and in this order")
    newline = "\r\n" if "\r\n" in old else "\n"
    links = Path(os.path.relpath(out.resolve(), path.resolve().parent)).as_posix() + "/"
    block = pages.readme_block(collection, charts.styles(collection.machines), "" if links == "./" else links)
    middle = newline.join(["", "", *block, "", ""])
    return old[: old.index(BEGIN) + len(BEGIN)] + middle + old[old.index(END) :]


def ours(page: Path) -> bool:
    """Whether this generator wrote the page."""
    try:
        return page.read_text(encoding="utf-8").startswith(pages.GENERATED)
    except (OSError, UnicodeDecodeError):
        return False


def stale(out: Path, made: dict[str, str]) -> list[Path]:
    """What an earlier rendering left and this one would not write: charts no longer drawn, pages of a topic or a GPU without
    data. A page that somebody else put there stays."""
    found = [path for path in (out / chips.FILE,) if ours(path) and path.name not in made]
    folders = {path.parent for path in out.glob("*/*.md") if path.name in ("index.md", *(sheet.file for sheet in pages.SHEETS if sheet.alone)) and ours(path)}
    for folder in sorted(folders):
        written = [each for each in sorted(folder.glob("*.md")) if ours(each)]
        written += [folder / ROWS, *sorted((folder / "charts").glob("*.svg"))]  # the rows lay here once
        found += [path for path in written if path.is_file() and path.relative_to(out).as_posix() not in made]
    return found


def left_over(out: Path, made: dict[str, str]) -> list[Path]:
    """Pages of an earlier site that this one has not. What somebody else put there stays."""

    def of_the_site(page: Path) -> bool:
        with page.open("rb") as file:
            return sites.GENERATED.encode() in file.read(200)

    return [page for page in sorted(out.rglob("*.html")) if page.relative_to(out).as_posix() not in made and of_the_site(page)]


def write(path: Path, content: str | bytes) -> bool:
    """Written aside and renamed, so that an interrupted run leaves the old file or the new one. True when it changed."""
    encoded = content.encode("utf-8") if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == encoded:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_bytes(encoded)
        if path.exists():
            shutil.copymode(path, aside)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    return True


def remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink()
        folder = path.parent
        while folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
