"""Top-k of rows: the front door, the rungs and the libraries, shape by shape."""

from rungs_report import compare, extrema, rows, selections, words
from rungs_report.page import Page
from rungs_report.topics import TOP_K
from rungs_report.words import spaced, table

OPERATION = "top_k"


def shapes(page: Page) -> list[str]:
    machine = page.machine
    about = (OPERATION, "f32", "cold")
    found = [cell for cell in machine.cells if (cell.operation, cell.input_type, cell.mode) == about and "k" in cell.sizes] if page.topic and page.topic.name == TOP_K else []
    if len(found) < 2:
        return []
    found.sort(key=lambda cell: (cell.items, cell.sizes["rows"], cell.sizes["k"]))
    variants = extrema.columns(machine, found)
    lines = []
    for cell in found:
        times = {variant: compare.figure(machine, cell, variant, "median_us") for variant in variants}
        lines.append([rows.shape(cell), words.number(cell.sizes["k"]), *map(words.time, times.values()), words.ratio(selections.over_cub(times))])
    headers = ["rows x columns", ">k", *(f">{page.label(variant)}" for variant in variants), ">front door over CUB"]
    about = "Floats, cold. CUB has no such call with sorted results: it sorts whole rows, or k of them behind `cub::DeviceTopK`."
    return spaced("## By rows, columns and k", about, table(headers, lines))
