"""From a data directory to the files of the report: made in memory, then written whole or compared with what is there."""

import csv
import io
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from rungs_report import charts, explorer, pages
from rungs_report.data import COLUMNS, Collection, Machine, Variant

SITE, ROWS = "index.html", "results.csv"
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


@dataclass
class Written:
    """What was written about one machine."""

    machine: Machine
    pages: dict[str, list[str]]
    charts: list[tuple[charts.Chart, str]]
    answers: list[pages.Answer]

    def files(self) -> dict[str, str]:
        """Pages and charts by their paths."""
        gpu = self.machine.gpu
        made = {f"{gpu}/{name}": "\n".join(lines) + "\n" for name, lines in self.pages.items()}
        return made | {f"{gpu}/charts/{chart.name}.svg": svg for chart, svg in self.charts}


def written(
    collection: Collection, root: Path, looks: dict[Variant, charts.Style], told: Callable[[str], None], whole: bool
) -> Iterator[Written]:
    """The machines, GPUs first, for which a reader looks first. root is where the rungs' sources lie. whole: the pages of the site,
    not those that are committed."""
    machines = sorted(collection.machines, key=lambda machine: machine.device is None)
    for machine in machines:
        told(f"writing the pages of {machine.gpu}")
        others = tuple(each.gpu for each in machines if each.device and each is not machine)
        if whole:
            lines, drawn, answers = pages.pages(machine, root, looks, others)
        else:
            lines, drawn, answers = *pages.committed(machine, root, looks, others), []
        yield Written(machine, lines, [(chart, charts.svg(chart)) for chart in drawn], answers)


def files(collection: Collection, root: Path, told: Callable[[str], None] = lambda _: None) -> dict[str, str]:
    """Every file of the report by its path under --out: pages and charts, which are committed."""
    made: dict[str, str] = {}
    for each in written(collection, root, charts.styles(collection.machines), told, False):
        made |= each.files()
    made["index.md"] = "\n".join(pages.index(collection)) + "\n"
    return made


def site(collection: Collection, root: Path, links: str, told: Callable[[str], None] = lambda _: None) -> dict[str, str]:
    """What follows from the results and is not committed: the interactive page, all rows, and the whole pages with their charts.
    links: from the site to the committed pages."""
    looks = charts.styles(collection.machines)
    found = list(written(collection, root, looks, told, True))
    made = {path: content for each in found for path, content in each.files().items()}
    made |= {f"{each.machine.gpu}/{ROWS}": results_csv(each.machine) for each in found}
    sections = [explorer.Section(each.machine, each.answers, each.charts, links) for each in found]
    made[SITE] = explorer.page([each.machine for each in found], looks, sections, pages.GENERATED)
    return made


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
    found = []
    for page in sorted(out.glob("*/index.md")):
        if ours(page):
            folder = page.parent
            written = [each for each in sorted(folder.glob("*.md")) if ours(each)]
            written += [folder / ROWS, *sorted((folder / "charts").glob("*.svg"))]  # the rows lay here once
            found += [path for path in written if path.is_file() and path.relative_to(out).as_posix() not in made]
    return found


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
