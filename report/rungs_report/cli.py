"""report/run: what each subcommand does, and how it fails."""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rungs_report import counters, data, errors, export, facts, pick, render, sass, site, tune, versus, words

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "report" / "data"
OK, WRONG, USAGE = 0, 1, 2
EPILOG = """exit codes:
  0  done; check: everything is as the generator writes it; compare: no regression
  1  pages were written but something was refused; check, tune --check: something differs; compare: a regression; counters: a
     profile could not be read; test: a test failed
  2  usage: an unknown option, a directory that is not there, a README without its markers, nothing to compare
  130  interrupted"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="report/run", description="Writes the report from the result files that bench/run left.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    # argparse never sees --no-install: report/run acts on it before any package is there.
    nothing = {"action": "store_true", "help": "install nothing; say exactly which packages are missing"}
    made.add_argument("--no-install", **nothing)
    commands = made.add_subparsers(dest="command", metavar="COMMAND")

    def command(does: Callable[[argparse.Namespace], int], name: str, says: str, description: str = "") -> Callable[..., None]:
        """A subcommand: what adds an option to it."""
        of = commands.add_parser(
            name, help=says, description=description or says, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        of.add_argument("--no-install", **nothing)
        of.set_defaults(does=does)
        return of.add_argument

    folder, file = {"type": Path, "metavar": "DIR"}, {"type": Path, "metavar": "FILE"}
    results = {**folder, "default": DATA, "help": "result files, DIR/<gpu>/<run>.json or .json.gz (default: report/data)"}
    sources = {**folder, "default": ROOT, "help": "repository the rungs' sources are read from (default: this one)"}
    for does, name, says in (
        (render_pages, "render", "read the results and write the pages (the default)"),
        (check_pages, "check", "fail if the pages are not what render would write"),
    ):
        add = command(does, name, says)
        add("--data", **results)
        add("--out", **folder, help="where the pages are (default: report)")
        add("--readme", **file, help="file whose headline is rewritten between its markers (default: README.md, unless --data or --out is given)")
        add("--root", **sources)
    add = command(
        write_site,
        "site",
        "write all pages as HTML, pages to filter and zoom, and every row as results.csv, into a folder that is not committed",
        "Writes the site: static pages that need neither a network nor, to be read, JavaScript. Open its index.html, or publish the folder as it is.",
    )
    add("--data", **results)
    add("--out", **folder, default=ROOT / "report" / "site", help="where they are written (default: report/site)")
    add("--repository", metavar="URL", help="where names of rungs link to their sources, at the commit that was measured: https://host/owner/name (default: no such links)")
    add("--root", **sources)
    add = command(
        export_header,
        "export",
        "write the rung for a problem as one self-contained header",
        "Writes the rung that the front door takes for a problem as one header that includes nothing of this project, "
        "with its licence and where its numbers come from: export reduce sum f32 n=4Mi, export scan sum u8:u32 n=16Mi, "
        "export histogram i32 n=1Mi bins=4096.",
    )

    def problem() -> None:
        add("problem", nargs="+", metavar="WORD", help="operation, operator, types, n=SIZE (histograms: bins=N)")
        add("--gpu", metavar="NAME", help="whose measurements, a folder of the data (default: the GPU that the front door's tables were made from)")
        add("--workspace", choices=("none", "uninitialised", "zeroed_once"), help="only rungs that ask no more of their workspace")
        add("--repeatable", action="store_true", help="only rungs that give the same bits every time")
        add("--measured", action="store_true", help="the fastest at the nearest size that was measured, whatever the front door takes")

    problem()
    add("--output", **file, help="where to write it (default: standard output)")
    add("--data", **results)
    add("--root", **sources)
    add = command(
        choose_variant,
        "choose",
        "say what to take for a problem, and what was measured of it in a stream and in a graph",
        "Says which call to take for a problem and which rung it launches, with the times nearest to it that were measured: cold, warm "
        "and in a captured graph. Words as for export: choose reduce sum f16 n=300000.",
    )
    problem()
    add("--data", **results)
    add("--root", **sources)
    add = command(
        write_sass,
        "sass",
        "disassemble a build and write what each kernel is made of",
        "Disassembles a build and writes what the pages show of registers, shared memory and opcodes of each kernel.",
    )
    add("--build", **folder, default=ROOT / "build", help="build folder (default: build)")
    add("--data", **folder, default=DATA, help=f"where DIR/<gpu>/{data.SASS} is written (default: report/data)")
    add("--gpu", metavar="SLUG", help="whose results the kernels belong to (default: the only one in --data)")
    add("--cuobjdump", **file, help="the disassembler (default: the one on the PATH)")
    add("--whole", **file, help="write all facts there, too: every opcode of every kernel")
    add("--from", **file, help="take what --whole wrote once, and no build")
    add = command(write_counters, "counters", "write what the pages show of the hardware counters that bench/counters collected")
    add("folder", type=Path, metavar="DIR", help="what bench/counters --out=DIR left, here or on another machine; or what --whole wrote once")
    add("--data", **folder, default=DATA, help=f"where DIR/<gpu>/{data.COUNTERS} is written (default: report/data)")
    add("--whole", **file, help="write all counters there, too")
    add = command(
        write_accuracy,
        "accuracy",
        "write what the pages show of errors of sums and dot products",
        "Joins what rungs_accuracy --out wrote, once for each CCCL, with the instructions that a build's accumulators take.",
    )
    add("files", nargs="+", **file, help="what rungs_accuracy --out=FILE wrote, here or on another machine")
    add("--build", **folder, help="build folder whose accumulators are disassembled (default: none, and no instructions are counted)")
    add("--data", **folder, default=DATA, help=f"where DIR/<gpu>/{data.ACCURACY} is written (default: report/data)")
    add("--cuobjdump", **file, help="the disassembler (default: the one on the PATH)")
    add = command(
        accept_results,
        "accept",
        "check what bench/run or the program of a study wrote, here or anywhere, and install it as data",
        "Checks result files of bench/run and packs each as DIR/<gpu>/<run>.json.gz; and files of rungs_across, rungs_by_key, rungs_others,"
        " rungs_top_k, rungs_sampling, rungs_low_precision and python/bench_torch_across.py, each by its number of GPUs or its CCCL."
        " Refuses what render would refuse. Of bench/run it refuses a run of fewer cases than were asked for unless --incomplete is given, and another run of the"
        " same name. Nothing is installed unless all are.",
    )
    add("files", nargs="+", **file, help="FILE.json or FILE.json.gz, from here or another machine")
    add("--incomplete", action="store_true", help="take runs of bench/run that were cut short, too; their pages say so")
    add("--data", **folder, default=DATA, help="where they are installed (default: report/data)")
    add = command(
        compare_results,
        "compare",
        "compare two runs on one GPU (SLOW, FAST, SAME, AMBIGUOUS by interval and noise floor), or two GPUs, each against its own"
        " ceilings (what changed winner)",
    )
    add("A", help="a result file, a folder of result files, or the name of a GPU or a run in --data")
    add("B", nargs="?", help="likewise; a regression is what is slower in B than in A")
    add("--against", choices=("committed",), help="instead of B: compare what is committed of the same GPU (as A) with the one that is named (as B)")
    add("--all", action="store_true", help="every case, not only those that differ")
    add("--libraries", action="store_true", help="also what differs of CUB and other libraries, which no change of ours touches")
    for name, what in (
        ("family", "handwritten, cluster, library_baselines"), ("operation", "such as reduce,inclusive_scan"), ("type", "of the input, such as f32,u8:u32"),
        ("size", "numbers of items, such as 1Mi,1Ki:64Ki"), ("variant", "names of rungs"), ("mode", "such as cold,graph"),
    ):  # fmt: skip
        add(f"--{name}", metavar="LIST", help=f"only these, apart by commas: {what}")
    add("--threshold", type=_percent, default=0.0, metavar="PERCENT", help="the least difference that counts, where the noise floor is lower (default: 0%%)")
    add("--json", metavar="FILE", help="write the comparison as JSON, too; -: to standard output instead of the text")
    add("--md", metavar="FILE", help="write the text, whose table is Markdown, to a file, too; -: to standard output")
    add("--data", **folder, default=DATA, help="where names are looked for (default: report/data)")
    add = command(write_tables, "tune", "write the tables of the front door, best/rungs/tuning, from the results")
    add("--data", **results)
    add("--out", **folder, default=tune.folder(ROOT), help="where the tables are (default: best/rungs/tuning)")
    add("--gpu", help="of GPUs with one compute capability, which share a row, this one: a folder of the results")
    add("--runs", nargs="+", metavar="RUN", help="make them from these runs (default: from all of the suite's and of the grid of histograms)")
    add("--check", action="store_true", help="write nothing; fail if a table is not what would be written from the runs that it names")
    add = command(run_tests, "test", "run the report's tests", "run the report's tests; what follows goes to pytest")
    add("pytest", nargs="*", metavar="...", help="arguments for pytest")
    return made


def say(line: str) -> None:
    print(line, flush=True)


def complain(line: str) -> None:
    print(f"report/run: {line}", file=sys.stderr, flush=True)


def source(options: argparse.Namespace) -> Path:
    """The folder of result files."""
    if not options.data.is_dir():
        raise data.Unusable(f"{options.data}: no such directory; run bench/run first, or name the results with --data DIR")
    return options.data


def collected(options: argparse.Namespace, out: Path) -> data.Collection:
    """All results, and what was refused of them told."""
    folder = source(options)
    if out.exists() and not out.is_dir():
        raise data.Unusable(f"{out}: is no directory; name one with --out DIR")
    collection = data.read(folder)
    say(collection.accounting())
    for refusal in collection.refusals:
        complain(str(refusal))
    return collection


def gather(options: argparse.Namespace) -> tuple[data.Collection, dict[str, str], Path, Path | None, str | None]:
    """Everything render would write: the pages, and the README's path and new text where there is one to rewrite."""
    out = options.out or ROOT / "report"
    collection = collected(options, out)
    made = render.files(collection, options.root, say)
    path, own = options.readme, options.readme is None and options.data == DATA and options.out is None
    path = ROOT / "README.md" if own else path
    new = None
    if path is not None:
        try:
            new = render.readme(collection, path, out)
        except render.ReadmeFault as fault:
            if not own:
                raise data.Unusable(f"{path}: {fault}") from None
            complain(f"{path.relative_to(ROOT)} {fault}; its headline was left alone")
            path = None
    return collection, made, out, path, new


def outcome(collection: data.Collection) -> int:
    """A pending rung is work in progress, a run without a GPU may have nothing to measure: both are told. Anything else that was
    refused is a fault."""
    return WRONG if any(not refusal.expected for refusal in collection.refusals) else OK


def render_pages(options: argparse.Namespace) -> int:
    collection, made, out, readme, new = gather(options)
    gone = render.stale(out, made)
    if gone and not collection.machines:
        raise data.Unusable(f"{options.data} holds no results, and all {len(gone)} pages of {out} would go; name others by --data or --out")
    changed = sum(render.write(out / name, content) for name, content in made.items())
    render.remove(gone)
    if readme is not None and new is not None:
        changed += render.write(readme, new)
    say(f"{len(made)} files in {out}, {changed} changed, {len(gone)} removed")
    return outcome(collection)


def write_site(options: argparse.Namespace) -> int:
    out, repository = options.out, site.repository_of(options.repository)
    collection = collected(options, out)
    made = render.site(collection, options.root, repository, say)
    for name, content in made.items():
        render.write(out / name, content)
    gone = render.left_over(out, made)
    render.remove(gone)
    say(f"{len(made)} files in {out}, {len(gone)} removed; open {out / site.HOME}")
    return outcome(collection)


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
    folder = source(options)
    asked = export.question(options.problem, options.workspace, options.repeatable, options.measured)
    collection = data.read(folder)
    for refusal in collection.refusals:
        if not refusal.expected:
            complain(str(refusal))
    text = export.header(collection, options.root, asked, options.gpu, complain)
    if options.output is None:
        print(text, end="")
    else:
        options.output.write_text(text, encoding="utf-8")
    return OK


def choose_variant(options: argparse.Namespace) -> int:
    asked = export.question(options.problem, options.workspace, options.repeatable, options.measured)
    machine = export.machine_of(data.read(source(options)), options.gpu, options.root)
    print("\n".join(pick.answer(machine, asked, options.problem, options.root)))
    return OK


def write_facts(document: facts.Document, path: Path, shown: Callable[[facts.Document], facts.Document], whole: Path | None) -> None:
    """The digest that pages are made of, and all facts where they are asked for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    render.write(path, facts.packed(shown(document)))
    if whole is not None:
        render.write(whole, facts.text(document))


def write_sass(options: argparse.Namespace) -> int:
    to, source = options.data, getattr(options, "from")
    gpus = [options.gpu] if options.gpu else sorted(path.name for path in to.glob("*") if path.is_dir())
    if len(gpus) != 1 or not data.SLUG.fullmatch(gpus[0]):
        raise data.Unusable(f"{', '.join(gpus) or 'no GPU'} in {to}: name one with --gpu SLUG, such as nvidia-h200")
    path = to / gpus[0] / data.SASS
    document = facts.whole(source, data.SASS_SCHEMA) if source else sass.collect(options.build, options.cuobjdump)
    write_facts(document, path, sass.shown, options.whole)
    kernels = sum(len(entry["kernels"]) for entry in document["entries"])
    say(f"{path}: {kernels} kernels of {len(document['entries'])} variants")
    return OK


def write_counters(options: argparse.Namespace) -> int:
    left_out: list[str] = []
    source = options.folder
    document = facts.whole(source, data.COUNTERS_SCHEMA) if source.is_file() else counters.collect(source, left_out)
    path = options.data / document["gpu"] / data.COUNTERS
    write_facts(document, path, counters.shown, options.whole)
    for line in left_out:
        complain(f"left out: {line}")
    kernels = sum(len(entry["kernels"]) for entry in document["entries"])
    say(f"{path}: {len(document['units'])} counters of {kernels} kernels in {len(document['entries'])} cases")
    return WRONG if left_out else OK


def write_accuracy(options: argparse.Namespace) -> int:
    document = errors.collect(options.files, options.build, options.cuobjdump)
    path = options.data / document["gpu"] / data.ACCURACY
    path.parent.mkdir(parents=True, exist_ok=True)
    render.write(path, errors.packed(document))
    counted = f", instructions of {words.plural(len(document['instructions']), 'accumulator')}" * bool(document["instructions"])
    say(f"{path}: {words.plural(len(document['studies']), 'study')}{counted}")
    return OK


def accept_results(options: argparse.Namespace) -> int:
    records = data.Records(data.find_records(options.data))
    accepted: dict[Path, tuple[bytes, str]] = {}
    for file in options.files:
        try:
            study = data.study_of(data.parse(file))
            path, document, told = accepted_study(file, study, options) if study else accepted_run(file, records, options)
        except data.Refused as refusal:
            raise data.Unusable(f"{file} {refusal}; {refusal.todo}") from None
        packed = errors.packed(document)
        if not study and (path in accepted or path.is_file() and path.read_bytes() != packed or path.with_name(f"{document['run']}.json").exists()):
            raise data.Unusable(f"{file}: there is another run {document['run']} already")
        accepted[path] = packed, told
    for path, (packed, told) in accepted.items():
        render.write(path, packed)
        say(f"{path}: {told}; `report/run render` writes the pages")
    return OK


def accepted_study(file: Path, study: data.Study, options: argparse.Namespace) -> tuple[Path, dict[str, Any], str]:
    document = data.read_study(file, None, study)
    return options.data / document["gpu"] / study.file_of(document), document, words.plural(len(document["cells"]), "cell")


def accepted_run(file: Path, records: data.Records, options: argparse.Namespace) -> tuple[Path, dict[str, Any], str]:
    run, refusals = data.read_run(file, str(file), records, placed=False)
    if in_doubt := [refusal for refusal in refusals if not refusal.expected]:
        raise data.Unusable("; ".join(map(str, in_doubt)))
    if not run.document["complete"] and not options.incomplete:
        raise data.Unusable(f"{file}: was cut short; finish it with bench/run --resume={file}, or take it with --incomplete")
    return options.data / run.document["gpu"] / f"{run.name}{data.PACKED}", run.document, f"{words.plural(len(run.rows), 'row')} beside CUB {run.cccl}"


def compare_results(options: argparse.Namespace) -> int:
    if (options.B is None) == (options.against is None):
        raise data.Unusable("compare takes two results, or one and --against=committed")
    a = versus.side(options.A, options.data, complain)
    b = versus.side(options.B, options.data, complain) if options.B is not None else a
    if options.against is not None:
        a = versus.committed(b, options.data, complain)
    wanted = versus.Filter(**{name: getattr(options, name) for name in versus.Filter.OPTIONS})
    if a.gpu == b.gpu:
        report = versus.two_runs(a, b, options.all, options.libraries, wanted, options.threshold)
    else:
        report = versus.two_gpus(a, b, options.all, wanted)
    told = "\n".join(report.lines)
    for path, content in ((options.json, json.dumps(report.document, indent=1, allow_nan=False)), (options.md, told)):
        if path == "-":
            say(content)
        elif path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            render.write(Path(path), content + "\n")
    if "-" not in (options.json, options.md):
        say(told)
    return WRONG if report.worse else OK


def _percent(text: str) -> float:
    """A share, of a text such as 3% or 3."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage such as 3%")
    return value / 100


def write_tables(options: argparse.Namespace) -> int:
    source, out = options.data, options.out
    for folder in (source, out) if options.check else (source,):
        if not folder.is_dir():
            raise data.Unusable(f"{folder}: no such directory")
    runs = options.runs or (tune.named_runs(out) if options.check else None)

    def made(also_pending: bool) -> dict[str, str]:
        found = data.read(source, earlier=runs is not None, also_pending=also_pending)
        return tune.files(tune.preferring(found, options.gpu), runs)

    if options.check:
        # A table stands though a rung was edited after it was made; it may also have been made after that, without the rung.
        differing = _differing(out, made(also_pending=True))
        differing = differing and _differing(out, made(also_pending=False))
        for name in differing:
            complain(f"{out / name} is not what the generator writes: run report/run tune and commit what it writes")
        return WRONG if differing else OK
    tables = made(also_pending=False)
    differing = _differing(out, tables)
    for name in differing:
        render.write(out / name, tables[name])
    say(f"{len(tables)} tables in {out}, {len(differing)} changed")
    return OK


def _differing(folder: Path, made: dict[str, str]) -> list[str]:
    return [name for name, content in made.items() if _read(folder / name) != content]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def run_tests(arguments: list[str]) -> int:
    arguments = [argument for argument in arguments if argument != "--"]
    if not any((ROOT / argument.split("::")[0]).exists() for argument in arguments if not argument.startswith("-")):
        arguments.append(str(ROOT / "tests" / "report"))
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments], cwd=ROOT, check=False)
    return OK if done.returncode == 0 else WRONG


def main(arguments: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or (arguments[0].startswith("-") and not {"-h", "--help"} & set(arguments)):
        arguments.insert(0, "render")
    if arguments[0] == "test" and not {"-h", "--help"} & set(arguments):  # argparse would take pytest's options for its own
        return run_tests(arguments[1:])
    options = parser().parse_args(arguments)
    try:
        return options.does(options)
    except data.Unusable as fault:
        complain(str(fault))
    except BrokenPipeError:
        return WRONG
    except OSError as error:
        place = {"export": "--output", "sass": "--data or --whole", "counters": "--data or --whole", "accuracy": "--data", "accept": "--data"}.get(options.command, "--out")
        complain(f"{error.filename}: {error.strerror}; what is written there can go elsewhere, by {place}")
    except KeyboardInterrupt:
        complain("interrupted; every file is whole")
        return 130
    return USAGE
