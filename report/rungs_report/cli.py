"""report/run: what each subcommand does, and how it fails."""

import argparse
import subprocess
import sys
from pathlib import Path

from rungs_report import counters, data, export, render, sass, tune, versus

ROOT = Path(__file__).resolve().parents[2]
OK, WRONG, USAGE = 0, 1, 2
EPILOG = """exit codes:
  0  done; check: everything is as the generator writes it; compare: no regression
  1  pages were written but something was refused; check, tune --check: something differs; compare: a regression; counters: a
     profile could not be read; test: a test failed
  2  usage: an unknown option, a directory that is not there, a README without its markers, nothing to compare
  130  interrupted"""


class Usage(Exception):
    """A command line that cannot be followed: names the thing and what to do."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="report/run", description="Writes the report from the result files that bench/run left.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    # argparse never sees --no-install: report/run acts on it before any package is there.
    made.add_argument("--no-install", action="store_true", help="install nothing; say exactly which packages are missing")
    commands = made.add_subparsers(dest="command", metavar="COMMAND")
    places = argparse.ArgumentParser(add_help=False)
    places.add_argument("--data", type=Path, metavar="DIR", help="result files, DIR/<gpu>/<run>.json or .json.gz (default: report/data)")
    places.add_argument("--out", type=Path, metavar="DIR", help="where the pages are (default: report)")
    places.add_argument(
        "--readme",
        type=Path,
        metavar="FILE",
        help="file whose headline is rewritten between its markers (default: README.md, unless --data or --out is given)",
    )
    places.add_argument(
        "--root", type=Path, metavar="DIR", help="repository the rungs' sources are read from (default: this one)"
    )
    places.add_argument("--no-install", action="store_true", help="install nothing; say exactly which packages are missing")
    for name, says in (
        ("render", "read the results and write the pages (the default)"),
        ("check", "fail if the pages are not what render would write"),
    ):
        commands.add_parser(
            name,
            help=says,
            description=says,
            parents=[places],
            epilog=EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    exporting = commands.add_parser(
        "export",
        help="write the fastest rung of a problem as one self-contained header",
        description="Writes the fastest rung that was measured for a problem as one header that includes nothing of this project, "
        "with its licence and where its numbers come from: export reduce sum f32 n=4Mi, export scan sum u8:u32 n=16Mi, "
        "export histogram i32 n=1Mi bins=4096.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    exporting.add_argument("problem", nargs="+", metavar="WORD", help="operation, operator, types, n=SIZE (histograms: bins=N)")
    exporting.add_argument("--gpu", metavar="NAME", help="whose measurements, a folder of the data (needed where there are several)")
    exporting.add_argument(
        "--workspace", choices=("none", "uninitialised", "zeroed_once"), help="only rungs that ask no more of their workspace"
    )
    exporting.add_argument("--repeatable", action="store_true", help="only rungs that give the same bits every time")
    exporting.add_argument("--output", type=Path, metavar="FILE", help="where to write it (default: standard output)")
    exporting.add_argument("--data", type=Path, metavar="DIR", help="result files, DIR/<gpu>/<run>.json or .json.gz (default: report/data)")
    exporting.add_argument(
        "--root", type=Path, metavar="DIR", help="repository the rungs' sources are read from (default: this one)"
    )
    exporting.add_argument("--no-install", action="store_true", help="install nothing; say exactly which packages are missing")
    counting = commands.add_parser(
        "sass",
        help="disassemble a build and write what each kernel is made of",
        description="disassemble a build and write registers, shared memory and opcode counts of each kernel",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    counting.add_argument("--build", type=Path, metavar="DIR", help="build folder (default: build)")
    counting.add_argument("--data", type=Path, metavar="DIR", help="where DIR/<gpu>/sass.json is written (default: report/data)")
    counting.add_argument("--gpu", metavar="SLUG", help="whose results the kernels belong to (default: the only one in --data)")
    counting.add_argument("--cuobjdump", type=Path, metavar="FILE", help="the disassembler (default: the one on the PATH)")
    counting.add_argument("--no-install", action="store_true", help="install nothing; say exactly which packages are missing")
    says = "write the hardware counters that bench/counters collected"
    profiled = commands.add_parser(
        "counters", help=says, description=says, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    profiled.add_argument("folder", type=Path, metavar="DIR", help="what bench/counters --out=DIR left, here or on another machine")
    profiled.add_argument("--data", type=Path, metavar="DIR", help="where DIR/<gpu>/counters.json is written (default: report/data)")
    profiled.add_argument("--no-install", action="store_true", help="install nothing; say exactly which packages are missing")
    about = (
        "compare two runs on one GPU (SLOW, FAST, SAME, AMBIGUOUS by interval and noise floor), or two GPUs, each against its own"
        " ceilings (what changed winner)"
    )
    comparing = commands.add_parser(
        "compare", help=about, description=about, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    comparing.add_argument("A", help="a result file, a folder of result files, or the name of a GPU or a run in --data")
    comparing.add_argument("B", help="likewise; a regression is what is slower in B than in A")
    comparing.add_argument("--all", action="store_true", help="every case, not only those that differ")
    comparing.add_argument("--data", type=Path, metavar="DIR", help="where names are looked for (default: report/data)")
    comparing.add_argument("--no-install", action="store_true", help="install nothing; say exactly which packages are missing")
    says = "write the tables of the front door, best/rungs/tuning, from the results"
    tuning = commands.add_parser(
        "tune", help=says, description=says, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tuning.add_argument("--data", type=Path, metavar="DIR", help="result files, DIR/<gpu>/<run>.json or .json.gz (default: report/data)")
    tuning.add_argument("--out", type=Path, metavar="DIR", help="where the tables are (default: best/rungs/tuning)")
    tuning.add_argument("--runs", nargs="+", metavar="RUN", help="make them from these runs (default: from all of the suite's and of the grid of histograms)")
    tuning.add_argument(
        "--check", action="store_true", help="write nothing; fail if a table is not what would be written from the runs that it names"
    )
    tuning.add_argument("--no-install", action="store_true", help="install nothing; say exactly which packages are missing")
    tests = commands.add_parser(
        "test",
        help="run the report's tests",
        description="run the report's tests; what follows goes to pytest",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tests.add_argument("--no-install", action="store_true", help="install nothing; say exactly which packages are missing")
    tests.add_argument("pytest", nargs=argparse.REMAINDER, metavar="...", help="arguments for pytest")
    return made


def say(line: str) -> None:
    print(line, flush=True)


def complain(line: str) -> None:
    print(f"report/run: {line}", file=sys.stderr, flush=True)


def gather(options: argparse.Namespace) -> tuple[data.Collection, dict[str, str], Path, Path | None, str | None]:
    """Everything render would write: the pages, and the README's path and new text where there is one to rewrite."""
    source, out = options.data or ROOT / "report" / "data", options.out or ROOT / "report"
    if not source.is_dir():
        raise Usage(f"{source}: no such directory; run bench/run first, or name the results with --data DIR")
    if out.exists() and not out.is_dir():
        raise Usage(f"{out}: is no directory; name one with --out DIR")
    collection = data.read(source)
    say(collection.accounting())
    for refusal in collection.refusals:
        rows = f" ({refusal.rows} rows)" if refusal.rows else ""
        complain(f"refused {refusal.file}: {refusal.reason}{rows}")
    made = render.files(collection, options.root or ROOT, say)
    path, own = options.readme, options.readme is None and options.data is None and options.out is None
    path = ROOT / "README.md" if own else path
    new = None
    if path is not None:
        try:
            new = render.readme(collection, path, out)
        except render.ReadmeFault as fault:
            if not own:
                raise Usage(f"{path}: {fault}") from None
            complain(f"{path.relative_to(ROOT)} {fault}; its headline was left alone")
            path = None
    return collection, made, out, path, new


def render_pages(options: argparse.Namespace) -> int:
    collection, made, out, readme, new = gather(options)
    try:
        changed = sum(render.write(out / name, content) for name, content in made.items())
        gone = render.stale(out, made)
        render.remove(gone)
        if readme is not None and new is not None:
            changed += render.write(readme, new)
    except OSError as error:
        raise Usage(f"{error.filename}: cannot be written: {error.strerror}; name another place with --out DIR") from None
    say(f"{len(made)} files in {out}, {changed} changed, {len(gone)} removed")
    # A pending rung is work in progress, a run without a GPU may have nothing to measure: both are told. Anything else that was refused is a fault.
    return WRONG if any(not refusal.expected for refusal in collection.refusals) else OK


def check_pages(options: argparse.Namespace) -> int:
    _, made, out, readme, new = gather(options)
    wanted = [(out / name, content) for name, content in made.items()]
    if readme is not None and new is not None:
        wanted.append((readme, new))
    faults = []
    for path, content in wanted:
        if not path.is_file():
            faults.append(f"{path} is missing")
        elif path.read_bytes() != content.encode("utf-8"):
            faults.append(f"{path} is not what the generator writes")
    faults += [f"{path} is left over from an earlier rendering" for path in render.stale(out, made)]
    for fault in faults:
        complain(fault)
    if faults:
        complain("run report/run render and commit what it writes")
        return WRONG
    say(f"{len(wanted)} files are as the generator writes them")
    return OK


def export_header(options: argparse.Namespace) -> int:
    source = options.data or ROOT / "report" / "data"
    if not source.is_dir():
        raise Usage(f"{source}: no such directory; run bench/run first, or name the results with --data DIR")
    try:
        asked = export.question(options.problem, options.workspace, options.repeatable)
        text = export.header(data.read(source), options.root or ROOT, asked, options.gpu, complain)
        if options.output is None:
            print(text, end="")
        else:
            options.output.write_text(text, encoding="utf-8")
    except export.Unknown as fault:
        raise Usage(f"export: {fault}") from None
    except OSError as error:
        raise Usage(f"{error.filename}: cannot be written: {error.strerror}; name another place with --output") from None
    return OK


def write_sass(options: argparse.Namespace) -> int:
    build, to = options.build or ROOT / "build", options.data or ROOT / "report" / "data"
    gpus = [options.gpu] if options.gpu else sorted(path.name for path in to.glob("*") if path.is_dir())
    if len(gpus) != 1 or not data.SLUG.fullmatch(gpus[0]):
        raise Usage(f"{', '.join(gpus) or 'no GPU'} in {to}: name one with --gpu SLUG, such as nvidia-h200")
    try:
        document = sass.collect(build, options.cuobjdump)
        path = to / gpus[0] / data.SASS
        path.parent.mkdir(parents=True, exist_ok=True)
        render.write(path, sass.text(document))
    except sass.Fault as fault:
        raise Usage(str(fault)) from None
    except OSError as error:
        raise Usage(f"{error.filename}: {error.strerror}") from None
    kernels = sum(len(entry["kernels"]) for entry in document["entries"])
    say(f"{path}: {kernels} kernels of {len(document['entries'])} variants")
    return OK


def write_counters(options: argparse.Namespace) -> int:
    left_out: list[str] = []
    try:
        document = counters.collect(options.folder, left_out)
        path = (options.data or ROOT / "report" / "data") / document["gpu"] / data.COUNTERS
        path.parent.mkdir(parents=True, exist_ok=True)
        render.write(path, counters.text(document))
    except counters.Fault as fault:
        raise Usage(str(fault)) from None
    except OSError as error:
        raise Usage(f"{error.filename}: {error.strerror}") from None
    for line in left_out:
        complain(f"left out: {line}")
    kernels = sum(len(entry["kernels"]) for entry in document["entries"])
    say(f"{path}: {len(document['units'])} counters of {kernels} kernels in {len(document['entries'])} cases")
    return WRONG if left_out else OK


def compare_results(options: argparse.Namespace) -> int:
    source = options.data or ROOT / "report" / "data"
    try:
        a, b = (versus.side(named, source, complain) for named in (options.A, options.B))
        lines, worse = versus.two_runs(a, b, options.all) if a.gpu == b.gpu else (versus.two_gpus(a, b, options.all), False)
    except versus.NotFound as fault:
        raise Usage(str(fault)) from None
    say("\n".join(lines))
    return WRONG if worse else OK
def write_tables(options: argparse.Namespace) -> int:
    source, out = options.data or ROOT / "report" / "data", options.out or tune.folder(ROOT)
    for folder in (source, out):
        if not folder.is_dir():
            raise Usage(f"{folder}: no such directory")
    runs = options.runs or (tune.named_runs(out) if options.check else None)

    def made(also_pending: bool) -> dict[str, str]:
        try:
            return tune.files(data.read(source, earlier=runs is not None, also_pending=also_pending), runs)
        except tune.Undecided as fault:
            raise Usage(f"{source}: {fault}") from None

    if options.check:
        # A table stands though a rung was edited after it was made; it may also have been made after that, without the rung.
        differing = _differing(out, made(also_pending=True))
        differing = differing and _differing(out, made(also_pending=False))
        for name in differing:
            complain(f"{out / name} is not what the generator writes: run report/run tune and commit what it writes")
        return WRONG if differing else OK
    tables = made(also_pending=False)
    differing = _differing(out, tables)
    try:
        for name in differing:
            render.write(out / name, tables[name])
    except OSError as error:
        raise Usage(f"{error.filename}: cannot be written: {error.strerror}; name another place with --out DIR") from None
    say(f"{len(tables)} tables in {out}, {len(differing)} changed")
    return OK


def _differing(folder: Path, made: dict[str, str]) -> list[str]:
    return [name for name, content in made.items() if _read(folder / name) != content]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def run_tests(arguments: list[str]) -> int:
    arguments = [argument for argument in arguments if argument != "--"] or [str(ROOT / "tests" / "report")]
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments], cwd=ROOT, check=False)
    return OK if done.returncode == 0 else WRONG


def main(arguments: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or (arguments[0].startswith("-") and not {"-h", "--help"} & set(arguments)):
        arguments.insert(0, "render")
    options = parser().parse_args(arguments)
    try:
        if options.command == "test":
            return run_tests(options.pytest)
        commands = {
            "render": render_pages, "check": check_pages, "export": export_header, "sass": write_sass,
            "counters": write_counters, "tune": write_tables, "compare": compare_results,
        }  # fmt: skip
        return commands[options.command](options)
    except Usage as fault:
        complain(str(fault))
        return USAGE
    except BrokenPipeError:
        return WRONG
    except KeyboardInterrupt:
        complain("interrupted; every file is whole")
        return 130
