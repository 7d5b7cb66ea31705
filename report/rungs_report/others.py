"""Tasks and studies that others published, beside ours and CUB's at their sizes, from what rungs_others wrote."""

from typing import NamedTuple

from rungs_report import published, studies, words
from rungs_report.data import Machine
from rungs_report.page import Page
from rungs_report.studies import Cell, Result, Run
from rungs_report.words import code, spaced, table, text

Problem = tuple[str, str, int, int | None]  # operation, input's type, items, percent of contention
DOOR, REPEATABLE, CUB = "front_door", "repeatable_door", "cub_device"
OPERATIONS = {"reduce": "sum", "inclusive_scan": "inclusive sum", "histogram_even": "histogram of 256 bins"}
FLUSHED = {"dirty": "256 MiB or more written before each call", "warm": "none"}
GPU_MODE, CCCL, SCAN_CU, YENCAL = "gpu-mode pmpp_v2", "NVIDIA/cccl pull request 9565", "shreyansh26/scan.cu", "yencal's studies"


class Figure(NamedTuple):
    study: str
    problem: Problem
    what: str
    chip: str
    microseconds: float
    ours: str = DOOR  # what of ours does the same


FIGURES = (
    Figure(GPU_MODE, ("inclusive_scan", "f32", 1 << 28, None), "best entry, May 2025", "A100", 1356),
    Figure(GPU_MODE, ("inclusive_scan", "f32", 1 << 28, None), "best entry, May 2025", "L4", 8876),
    Figure(GPU_MODE, ("inclusive_scan", "f32", 1 << 28, None), "best entry, May 2025", "T4", 9107),
    Figure(GPU_MODE, ("histogram_even", "u8", 10_485_760, 10), "best entry, May 2025", "L4", 79.1),
    *(
        Figure(CCCL, ("inclusive_scan", "f32", items, None), f"CUB, same bits each run, {how}", "H100", time, REPEATABLE)
        for how, times in (("look-back", (6.8, 14.1, 98.7, 1434)), ("look-ahead", (17.3, 33.5, 98.5, 1000)))
        for items, time in zip((1 << 16, 1 << 20, 1 << 24, 1 << 28), times, strict=True)
    ),
    Figure(SCAN_CU, ("inclusive_scan", "f32", 1_000_000, None), "best of its own", "H100", 12.85),
    Figure(SCAN_CU, ("inclusive_scan", "f32", 1_000_000, None), "CUB", "H100", 12.15, CUB),
    Figure(SCAN_CU, ("inclusive_scan", "f32", 4_194_303, None), "best of its own", "H100", 27.82),
    Figure(SCAN_CU, ("inclusive_scan", "f32", 4_194_303, None), "CUB", "H100", 19.09, CUB),
    Figure(YENCAL, ("inclusive_scan", "i32", 1 << 30, None), "best of its own", "H100", 3440),
    Figure(YENCAL, ("inclusive_scan", "i32", 1 << 30, None), "CUB", "H100", 3470, CUB),
    Figure(YENCAL, ("histogram_even", "u8", 1 << 30, None), "best of its own", "H100", 470),
    Figure(YENCAL, ("histogram_even", "u8", 1 << 30, None), "CUB", "H100", 500, CUB),
)
HOW = {
    GPU_MODE: "CUDA events around a call from Python; a fill of 256 MiB before each; at most 100 calls, until the standard error is 0.1 %; the mean. Its score is the largest"
    " size. Histograms have 64-bit counters; the contention is the percentage of samples of one value, the others are uniform. Of H100s no times could be had.",
    CCCL: "nvbench, which flushes by writing; the mean. What was timed are scans whose bits repeat, so `repeatable_door` stands beside them.",
    SCAN_CU: "each program's own time of a call; its post tells neither of a flush nor how many calls were timed. f32.",
    YENCAL: "CUDA events, no flush, 2 calls before 10 that are timed; the mean. The scan is of ones, the histogram of uniform bytes with 32-bit counters, which are set to 0 before the clock"
    " starts. Calls of CUB and of ours set them to 0 themselves.",
}


def runs(machine: Machine) -> list[Run]:
    return studies.latest(machine.others)


def problem(cell: Cell) -> Problem:
    return cell["operation"], cell["input_type"], cell["items"], cell["contention"]


def told(about: Problem) -> str:
    operation, input_type, items, contention = about
    return f"{input_type} {OPERATIONS[operation]}, {words.size(items)} items" + (f", contention {contention} %" if contention else "")


def fastest(cell: Cell, wanted: str | None = None) -> Result | None:
    """Of the results whose name begins so; of none, our rungs but for the doors."""

    def fits(each: Result) -> bool:
        return each["rung"].startswith(wanted) if wanted else each["family"] != "library_baselines" and each["rung"] not in (DOOR, REPEATABLE)

    return min((each for each in cell["results"] if "mean_us" in each and fits(each)), key=lambda each: each["mean_us"], default=None)


def speedup(cell: Cell, wanted: str | None = None) -> float | None:
    own, cub = fastest(cell, wanted), fastest(cell, CUB)
    return cub["mean_us"] / own["mean_us"] if own and cub else None


def by_problem(page: Page) -> dict[Problem, list[Cell]]:
    """Of each run one, the latest last."""
    return words.grouped((cell for run in runs(page.machine) for cell in run["cells"]), problem)


def mean(result: Result | None) -> str:
    return words.time(result["mean_us"]) if result else words.UNKNOWN


def beside_cub(page: Page) -> list[str]:
    every, rows = runs(page.machine), []
    for about, found in by_problem(page).items():
        cubs = {run["versions"]["cccl"]: fastest(cell, CUB) for run in every for cell in run["cells"] if problem(cell) == about}
        rung, latest = fastest(found[-1]), found[-1]
        lowest = [min((each for cell in found if (each := speedup(cell, wanted))), default=None) for wanted in (DOOR, None)]
        zeroed = " (zeroed once)" if rung and rung["temp_storage"] == "zeroed_once" else ""
        times = [mean(fastest(latest, DOOR)), *(mean(cubs.get(run["versions"]["cccl"])) for run in every)]
        best = [code(rung["rung"]) + zeroed if rung else words.UNKNOWN, mean(rung)]
        rows.append([told(about), FLUSHED[latest["mode"]], *times, words.ratio(lowest[0]), *best, words.ratio(lowest[1])])
    headers = ["problem", "flush", ">front door", *(f">CUB {text(run['versions']['cccl'])}" for run in every), ">over CUB", "best rung", ">time", ">over CUB"]
    return spaced(
        "## Ours and CUB's at their sizes",
        "All times are means of calls that took turns, verified before and after. Over CUB is the lowest ratio of the runs; times of ours are of the latest."
        " Zeroed once: the rung's storage must hold zeros before the first call.",
        table(headers, rows),
    )


def beside_theirs(page: Page) -> list[str]:
    chips = list(dict.fromkeys(run["device"]["name"] for run in runs(page.machine)))
    same = all(map(published.comparable, chips))
    found, rows = by_problem(page), []
    for each in FIGURES:
        if each.problem not in found:
            continue
        own = fastest(found[each.problem][-1], each.ours)
        ratio = words.ratio(each.microseconds / own["mean_us"]) if own and same and each.chip == "H100" else words.UNKNOWN
        rows.append([text(each.study), told(each.problem), text(each.what), each.chip, words.time(each.microseconds), code(own["rung"]) if own else words.UNKNOWN, mean(own), ratio])
    about = (
        "A ratio, theirs over ours, stands where their figure is of an H100. They do not tell which H100, its clock or its driver, so differences of a few percent say nothing."
        if same
        else f"These runs are of {words.listed([text(chip) for chip in chips])}. No published figure is of that chip, so no ratios are drawn."
    )
    return spaced(
        "## Beside what they published",
        about,
        table(["study", "problem", "theirs", "chip", ">their time", "here", ">time here", ">theirs / here"], rows),
    )


def how(page: Page) -> list[str]:
    return spaced(
        "## How they measured, and how these were measured",
        list(f"- {text(study)}: {method}" for study, method in HOW.items()),
        "`rungs_others` measures with CUDA events, launches hidden behind earlier work, buffers and storage allocated before. It flushes as each of them does. It takes 60 samples"
        " or more of a call, 20 of those over 1 GiB. Items are random where theirs are ones; the scans of integers and floats move as many bytes.",
        studies.measured_with(runs(page.machine), "`run`", "card", "driver", "CCCL", "nvcc"),
    )
