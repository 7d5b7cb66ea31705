"""What inference needs, from what rungs_top_k, rungs_sampling and rungs_low_precision wrote: routing, top-k, sampling, verification and low
precision beside CUB's calls, the toolkit's conversions, plain kernels and published figures. All numbers of a cell come from one process, whose
ways took turns."""

from typing import Any

from rungs_report import studies, words
from rungs_report.data import Machine
from rungs_report.page import SAID, Page
from rungs_report.published import SERVING
from rungs_report.studies import Cell, Result, Run
from rungs_report.words import code, section, spaced, table, text

NAMES = {
    "route": "experts of a token", "top_k": "greatest keys", "sample_top_p": "draw by top-p", "sample_top_k": "draw by top-k", "sample": "draw from all tokens",
    "sample_gumbel": "draw by Gumbel's noise", "verify": "verify drafts", "greatest_ratio": "maximum of p/q", "merge_attention": "merge attention's states",
    "sum_e4m3": "sum of e4m3", "sum_e5m2": "sum of e5m2", "sum_nvfp4": "dequantising sum of nvfp4", "sum_mxfp4": "dequantising sum of mxfp4",
    "quantise_fp8": "to fp8, a scale for 128", "quantise_fp8_rows": "to fp8, a scale for a row", "quantise_mxfp8": "to mxfp8", "quantise_mxfp4": "to mxfp4",
    "quantise_nvfp4": "to nvfp4", "softmax_e4m3_to_bf16": "softmax to bf16", "rms_norm_e4m3_to_bf16": "RMSNorm to bf16", "rms_norm_bf16_to_e4m3": "RMSNorm to fp8",
}  # fmt: skip
GROUPS = {
    "Routing of a mixture of experts": ("route",),
    "Greatest keys of rows": ("top_k",),
    "Sampling": ("sample_top_p", "sample_top_k", "sample", "sample_gumbel"),
    "Verification of drafts": ("verify", "greatest_ratio"),
    "Attention over parts of a sequence": ("merge_attention",),
    "Sums of fp8 and fp4": ("sum_e4m3", "sum_e5m2", "sum_nvfp4", "sum_mxfp4"),
    "Quantisation": ("quantise_fp8", "quantise_fp8_rows", "quantise_mxfp8", "quantise_mxfp4", "quantise_nvfp4"),
    "Softmax and norms of fp8": ("softmax_e4m3_to_bf16", "rms_norm_e4m3_to_bf16", "rms_norm_bf16_to_e4m3"),
}
TAUGHT = {
    "scan_then_cut": "is a rung that teaches: a block sorts a row, scans it, cuts and draws.",
    "cut_by_bins": "is the next one: it sorts a bin of the row, which a scan of the bins tells.",
}
LARGE = 64 << 20  # bytes from which shares of a roof are told in short


def runs(machine: Machine) -> list[Run]:
    """Of each program the latest beside each CCCL."""
    return studies.latest(machine.inference, lambda run: (run["program"], run["versions"]["cccl"]))


def timed(cell: Cell, role: str) -> list[Result]:
    return [each for each in cell["results"] if each["role"] == role and "median_us" in each]


def ours(cell: Cell) -> Result | None:
    """What rivals are compared with: the first of ours."""
    return next((each if "median_us" in each else None for each in cell["results"] if each["role"] == "rungs"), None)


def roof(cell: Cell, name: str = "") -> Result | None:
    """A plain read or copy of the cell's bytes, or the empty kernel."""
    return next((each for each in timed(cell, "roof") if each["name"] == (name or cell["roof"])), None)


def share(cell: Cell) -> float | None:
    """Per cent of the roof's speed."""
    own, limit = ours(cell), roof(cell)
    return 100 * limit["median_us"] / own["median_us"] if own and limit else None


def moved(cell: Cell) -> int:
    return cell["read_bytes"] + cell["written_bytes"]


def shape(cell: Cell) -> str:
    return f"{cell['rows']:,} x {words.size(cell['columns'])}"


def where(cell: Cell) -> str:
    return ", ".join(filter(None, (cell["input"], shape(cell), cell["parameter"], cell["data"])))


def find(machine: Machine, work: str, **about: Any) -> list[tuple[Run, Cell]]:
    """The cells of a work that have these fields, of the latest runs, the first first."""
    return [(run, cell) for run in runs(machine) for cell in run["cells"] if cell["work"] == work and all(cell[name] == value for name, value in about.items())]


def groups(machine: Machine) -> list[tuple[str, Run, list[Cell]]]:
    """The cells by what they are about, and of each run apart."""
    found = [(title, run, [cell for work in works for cell in run["cells"] if cell["work"] == work]) for title, works in GROUPS.items() for run in runs(machine)]
    return [(title, run, cells) for title, run, cells in found if cells]


def beside(run: Run) -> str:
    """What distinguishes two runs of a program."""
    return f"CCCL {run['versions']['cccl']}"


def filtered(run: Run) -> list[str]:
    return [f"Run {code(run['run'])} has only the cells that {code(run['arguments'][1])} matches."] if len(run["arguments"]) > 1 else []


def findings(page: Page) -> list[str]:
    """A line for each work and rival."""
    rows = []
    for title, run, cells in groups(page.machine):
        names = dict.fromkeys(each["name"] for cell in cells for each in timed(cell, "rival") if "speedup" in each)
        shares = [found for cell in cells if moved(cell) >= LARGE and (found := share(cell)) is not None]
        reached = " to ".join(dict.fromkeys(words.percent(each) for each in (min(shares), max(shares)))) if shares else words.UNKNOWN
        for name in names or ("",):
            compared = [(cell, each["speedup"]) for cell in cells for each in timed(cell, "rival") if each["name"] == name and "speedup" in each]
            over = studies.ratios([speedup for _, speedup in compared], [cell for cell, _ in compared], lambda cell: f"({where(cell)})")
            rows.append([title, code(name), text(beside(run)), *over, reached])
    headers = ["", "beside", "of", ">over it", "least", ">most", ">faster / tie / slower / undecided", ">share of the roof from 64 MiB"]
    return spaced(table(headers, rows), verified(page))


def verified(page: Page) -> list[str]:
    """What follows from the files having been believed: wrong results of ours refuse them."""
    cells = [cell for run in runs(page.machine) for cell in run["cells"]]
    lines = [f"The host verified each way of {words.plural(len(cells), 'cell')}, before the samples and behind them: ours were right in all."]
    wrong = [(cell, each) for cell in cells for each in cell["results"] if each["role"] == "rival" and not each["verified"]]
    lines += [f"{code(each['name'])} was wrong at {where(cell)}: {text(each['defect'])}." for cell, each in wrong]
    return spaced(" ".join(lines))


def told(cell: Cell, name: str) -> str:
    """A way's time, and how many times as fast the first of ours is."""
    found = next((each for each in (*timed(cell, "rungs"), *timed(cell, "rival")) if each["name"] == name), None)
    if found is None:
        return words.UNKNOWN
    speedup = found.get("speedup")
    verdict = SAID[speedup["verdict"]].replace("CUB", "it") if speedup else ""
    return words.time(found["median_us"]) + (f", {words.ratio(speedup['value'])}{verdict}" if speedup else "")


def over_empty(cell: Cell) -> str:
    own, empty = ours(cell), roof(cell, "empty")
    return words.time(max(own["median_us"] - empty["median_us"], 0)) if own and empty else words.UNKNOWN


def times(page: Page) -> list[str]:
    """A table of each group: cells down, ways across."""
    lines = []
    for title, run, cells in groups(page.machine):
        names = {role: list(dict.fromkeys(each["name"] for cell in cells for each in timed(cell, role))) for role in ("rungs", "rival")}
        rows = [
            [NAMES[cell["work"]], ", ".join(filter(None, (cell["input"], text(cell["data"])))), shape(cell), cell["parameter"]]
            + [told(cell, name) for own in names.values() for name in own]
            + [f"{words.time(limit['median_us'])} ({cell['roof']})" if limit else words.UNKNOWN, words.percent(share(cell)), over_empty(cell)]
            for cell, limit in ((cell, roof(cell)) for cell in cells)
        ]
        ways = [f">{name}" for name in names["rungs"]] + [f">{code(name)}" for name in names["rival"]]
        headers = ["", "input", ">rows x columns", "", *ways, ">roof", ">share of the roof", ">over an empty kernel"]
        lines += spaced(f"## {title}, {text(beside(run))}", table(headers, rows))
    return lines


def publications(page: Page) -> list[str]:
    """Others' figures of cells that were measured here."""
    measured = ((each, next((cell for _, cell in find(page.machine, each.work, **each.about()) if ours(cell)), None)) for each in SERVING)
    rows = [
        [NAMES[each.work], where(cell), words.time(ours(cell)["median_us"]), words.time(each.microseconds), each.chip, each.credit]
        for each, cell in measured
        if cell
    ]
    return section(
        "## Beside published figures",
        f"Ours are of this {text(page.machine.name)}, cold. Theirs are of other chips, clocks and harnesses, so no ratio is made of them. RadiK (ICS 2024) publishes gains over its"
        " predecessors, up to 2.5x for one row and 4.8x for batches, and no times of these shapes. vLLM samples by flashinfer.",
        table(["", "cell", ">ours", ">theirs", "chip", "whose"], rows),
    )


left_out = studies.left_out(runs, ["program", "of", "way"], lambda run, each: (code(run["program"]), text(beside(run)), code(each["name"])))


def how(page: Page) -> list[str]:
    """What was measured, and with what."""
    names = {each["name"] for run in runs(page.machine) for cell in run["cells"] for each in timed(cell, "rungs")}
    taught = "".join(f" {code(name)} {what}" for name, what in TAUGHT.items() if name in names)
    return spaced(
        "## How this was measured",
        "All ways of a cell take turns, cold: a clean flush comes before each sample. Storage is allocated before. Times are medians. The roof is a plain kernel that reads as many bytes"
        " as the call has to read, or copies as many as it has to read and write; the share is its time over the first of ours. The last column is the first of ours less the"
        " time of an empty kernel.",
        "`route`, `sorted`, `unsorted` and `rungs` are ours. A rival's field tells its time, and how many times as fast the first of ours is. `cub_radix_sort` sorts whole rows with their columns."
        " `cub_sort_and_scan` sorts, scans, cuts and draws. `toolkit` is a kernel with the conversions of the toolkit's headers." + taught,
        studies.undecided(runs(page.machine), "the first of ours lies"),
        studies.measured_with(runs(page.machine), "program", "run", "card", "driver", "CCCL", "nvcc", "commit", ">cells"),
    )
