"""The generator's tests use results of a GPU that does not exist, in temporary directories only."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "report"), str(Path(__file__).resolve().parent)]

import synthetic  # noqa: E402
from rungs_report import charts, cli, data, pages, render, topics  # noqa: E402
from rungs_report.page import Page  # noqa: E402
from synthetic import libraries, ours  # noqa: E402


COMMITTED = Path(__file__).resolve().parents[2] / "report/data"


@pytest.fixture(scope="session", autouse=True)
def committed_results_read_once() -> Iterator[dict[tuple[object, ...], Any]]:
    """Many tests read all committed results, which change under none. Nobody changes a run or a document that was read."""
    known: dict[tuple[object, ...], Any] = {}

    def once(name: str) -> Callable[..., Any]:
        read = getattr(data, name)

        def call(path: Path, *more: Any, **named: Any) -> Any:
            file = path.resolve()
            if not file.is_relative_to(COMMITTED):
                return read(path, *more, **named)
            # A record of rungs that have not passed decides about rows.
            told = (json.dumps(part.not_passed) if isinstance(part, data.Records) else part for part in more)
            about = (name, file, *told, *named.items())
            if about not in known:
                known[about] = read(path, *more, **named)
            return known[about]

        return call

    with pytest.MonkeyPatch.context() as patched:
        for name in ("read", "parse", "read_run", "read_facts", "read_accuracy", "read_study"):
            patched.setattr(data, name, once(name))
        yield known


@pytest.fixture(scope="session", autouse=True)
def committed_pages_made_once(committed_results_read_once: dict[tuple[object, ...], Any]) -> Iterator[None]:
    """The committed pages and the site begin with the same pages of the same machines. Those whose charts were held against the
    grammar stand for those that were not, but not the other way round."""
    make = pages.pages
    made: dict[tuple[object, ...], tuple[bool, pages.Pages]] = {}

    def once(machine: data.Machine, root: Path, looks: dict[Any, charts.Style], others: tuple[str, ...] = ()) -> pages.Pages:
        if not any(machine in read.machines for (name, *_), read in committed_results_read_once.items() if name == "read"):
            return make(machine, root, looks, others)
        about, checked = (machine.gpu, root, *looks.items(), others), charts.check_grammar is not None
        if about not in made or made[about][0] < checked:
            made[about] = checked, make(machine, root, looks, others)
        return made[about][1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pages, "pages", once)
        yield


@pytest.fixture(scope="session", autouse=True)
def drawing() -> Iterator[Callable[[charts.Chart], str]]:
    """The same description makes the same picture, which test_charts_hold_no_generated_names proves without this."""
    draw = charts.svg
    drawn: dict[str, str] = {}

    def svg(chart: charts.Chart) -> str:
        described = json.dumps(chart.spec)
        if described not in drawn:
            drawn[described] = draw(chart)
        return drawn[described]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(charts, "svg", svg)
        yield draw


@pytest.fixture(autouse=True)
def drawn_anew(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, drawing: Callable[[charts.Chart], str]) -> None:
    if request.node.get_closest_marker("draws_anew"):
        monkeypatch.setattr(charts, "svg", drawing)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "draws_anew: charts are drawn however often they were drawn before")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty repository: report/data to be filled, and a README with the markers."""
    (tmp_path / "report" / "data").mkdir(parents=True)
    (tmp_path / "README.md").write_text(
        "# synthetic\n\n<!-- rungs:headline begin -->\nold\n<!-- rungs:headline end -->\n\nThe rest.\n"
    )
    return tmp_path


@pytest.fixture
def run(repository: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """report/run's main on that repository: exit code, stdout, stderr."""

    def call(command: str = "render", *more: str) -> tuple[int, str, str]:
        out = repository / ("report/site" if command == "site" else "report")
        where = {"--data": repository / "report/data", "--out": out, "--root": repository}
        code = cli.main([command, *(str(word) for pair in where.items() for word in pair), *more])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture
def run_of(repository: Path, run: Callable[..., tuple[int, str, str]]) -> Callable[..., tuple[int, str, str]]:
    """What run tells of a document, which is written as synthetic.write does."""

    def call(*made: Any, **where: Any) -> tuple[int, str, str]:
        synthetic.write(repository / "report/data", *made, **where)
        return run()

    return call


@pytest.fixture
def install(repository: Path, tmp_path: Path) -> Callable[..., int]:
    """report/run accept of these documents, whose exit code it returns."""

    def call(*documents: dict[str, Any]) -> int:
        files = [tmp_path / f"run{number}.json" for number, _ in enumerate(documents)]
        for file, made in zip(files, documents, strict=True):
            file.write_text(json.dumps(made))
        return cli.main(["accept", "--data", str(repository / "report/data"), *map(str, files)])

    return call


@pytest.fixture
def study_page(repository: Path, run: Callable[..., tuple[int, str, str]], small: dict[str, Any], install: Callable[..., int]) -> Callable[[str], Callable[..., str]]:
    """The page of a study beside the suite's, from documents that are installed."""

    def page(name: str) -> Callable[..., str]:
        def write(*documents: dict[str, Any], name: str = name) -> str:
            synthetic.write(repository / "report/data", small)
            assert install(*documents) == 0
            assert (told := run())[0] == 0, told
            return (repository / f"report/synthetic-gpu/{name}.md").read_text()

        return write

    return page


@pytest.fixture
def rendered(repository: Path, run_of: Callable[..., tuple[int, str, str]]) -> Callable[..., Path]:
    """Writes a run beside the rungs' sources, and gives the folder of its pages."""

    def write(*made: Any, **where: Any) -> Path:
        synthetic.write_sources(repository)
        assert run_of(*made, **where)[0] == 0
        return repository / "report/synthetic-gpu"

    return write


@pytest.fixture
def whole_page(repository: Path) -> Callable[..., str]:
    """A page with what is folded in it, as the site has it, in Markdown."""

    def read(name: str, gpu: str = "synthetic-gpu") -> str:
        built = render.written(data.read(repository / "report/data"), repository, lambda _: None)
        whole = next(own.whole for machine, own in built if machine.gpu == gpu)
        return "\n".join(whole[f"{name}.md"]) + "\n"

    return read


@pytest.fixture
def small() -> dict[str, Any]:
    """One run with one cell: two rungs and CUB."""
    made = synthetic.document()
    add_small_cell(made)
    return made


def add_small_cell(made: dict[str, Any], items: int = 1 << 24, ours: float = 20.0, cub: float = 22.0) -> None:
    times = synthetic.ours(grid_stride=ours * 1.5, last_block=ours) | libraries(cub_device_reduce=cub)
    synthetic.add_cell(made, items, times)


def add_small_histograms(made: dict[str, Any], cub: float = 22.0) -> None:
    """Bytes, integers in few and many bins with three distributions, ranges, channels, and what CUB gets wrong."""
    counts = {"operator": "", "accumulator_type": "u32", "output_type": "u32", "error": 0}
    slow = {"uniform": 1.0, "constant": 1.5, "zipf": 1.1}
    for input_type, bins, items in (("u8", 256, 1 << 20), ("u8", 256, 1 << 24), ("i32", 256, 1 << 24), ("i32", 4096, 1 << 24)):
        for distribution, times in slow.items():
            about = counts | {"input_type": input_type, "shape": f"bins={bins}", "distribution": distribution}
            rungs = ours(global_atomics=300.0 * times**3, grid_stride=30.0 * times, overlapped_clear=14.0 * times)
            rungs |= libraries(cub_device_histogram=cub * (1 if bins <= 256 else 5) * times**0.5)
            if bins > 256:  # best where samples are spread, worst where they are not
                rungs |= ours(bin_ranges=12.0 if distribution == "uniform" else 90.0)
            synthetic.add_cell(made, items, rungs, operation="histogram_even", **about)
    rungs = ours(overlapped_clear=20.0) | libraries(cub_device_histogram=cub * 2)
    synthetic.add_cell(made, 1 << 24, rungs, operation="histogram_range", **counts, input_type="i32", shape="bins=256")
    rungs = ours(overlapped_clear=25.0) | libraries(cub_device_multi_histogram=cub * 3)
    about = counts | {"input_type": "u8", "shape": "bins=256 channels=4 active=3", "operation": "multi_histogram_even"}
    synthetic.add_cell(made, 1 << 24, rungs, **about)
    about = counts | {"input_type": "i8", "shape": "bins=256", "operation": "histogram_even"}
    for distribution in ("uniform", "zipf"):
        synthetic.add_cell(made, 1 << 24, ours(overlapped_clear=13.0), distribution=distribution, **about)
    synthetic.add_fault(made, "cub_device_histogram", 1 << 24, "wrong", "bin 0 counts 0 instead of 65,536", **about)


def add_small_atomics(made: dict[str, Any]) -> None:
    """Additions by four mechanisms on three numbers of addresses, of floats by two, and one other operator."""
    rungs = {
        "global": (1000.0, 50.0, 20.0), "returning": (1000.0, 52.0, 30.0), "warp_aggregated": (40.0, 45.0, 33.0),
        "one_per_block": (10.0, None, None),
    }  # fmt: skip
    for operator, input_type, names in (("plus", "u32", tuple(rungs)), ("plus", "f32", ("global",)), ("exchange", "u32", ("global",))):
        for position, count in enumerate((1, 1 << 10, 1 << 20)):
            times = ours(**{name: rungs[name][position] for name in names if rungs[name][position]})
            about = {"operator": operator, "input_type": input_type, "accumulator_type": input_type, "output_type": input_type}
            about |= {"percent_of_ceiling": None, "percent_of_peak": None, "error": 0, "shape": f"addresses={count}"}
            synthetic.add_cell(made, 1 << 20, times, operation="atomics", **about)


def add_small_scans(made: dict[str, Any], cub: float = 44.0) -> None:
    """Scans beside them: a rung whose name is on both ladders, inclusive and exclusive, and pairs that do not commute."""
    for items, scale in ((1 << 10, 0.2), (1 << 24, 1.0)):
        times = ours(hillis_steele=150.0 * scale, warp_shuffle=80.0 * scale, bulk_pipeline=36.0 * scale)
        times |= libraries(cub_device_scan=cub * scale)
        for operation in ("inclusive_scan", "exclusive_scan"):
            synthetic.add_cell(made, items, times, operation=operation)
    times = ours(bulk_pipeline=70.0) | libraries(cub_device_scan=90.0)
    synthetic.add_cell(made, 1 << 24, times, operation="inclusive_scan", operator="compose", input_type="affine")


def machine_of(repository: Path, *documents: dict[str, Any]) -> data.Machine:
    """The first machine of the results, with these documents among them."""
    for made in documents:
        synthetic.write(repository / "report/data", made)
    return data.read(repository / "report/data").machines[0]


def page_of(repository: Path, *documents: dict[str, Any]) -> Page:
    """A page in the making of that machine, of no topic."""
    machine = machine_of(repository, *documents)
    return Page(machine, repository, charts.styles([machine]), topics.of(machine), None, [])


@pytest.fixture(scope="session")
def committed_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the committed results: written once, for it takes half a minute."""
    out = tmp_path_factory.mktemp("committed") / "site"
    assert cli.main(["site", "--out", str(out), "--repository", "https://host.example/owner/rungs.git"]) == 0
    return out
