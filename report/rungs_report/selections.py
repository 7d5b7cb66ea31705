"""Selections: how the time depends on the share of items that are chosen."""

from rungs_report import compare, extrema, words
from rungs_report.data import is_cub
from rungs_report.page import Page
from rungs_report.topics import SELECTIONS
from rungs_report.words import spaced, table

OPERATION = "select_if"


def over_cub(times: dict) -> float | None:
    door = next((time for variant, time in times.items() if compare.is_door(variant)), None)
    cub = min((time for variant, time in times.items() if time and is_cub(variant)), default=None)
    return cub / door if cub and door else None


def shares(page: Page) -> list[str]:
    """Share by share, at the largest size that has several: the front door, the rungs, the libraries."""
    machine = page.machine
    about = (OPERATION, "f32", "cold")
    found = [cell for cell in machine.cells if (cell.operation, cell.input_type, cell.mode) == about and "percent" in cell.sizes] if page.topic and page.topic.name == SELECTIONS else []
    sizes = {cell.items for cell in found if len({other.sizes["percent"] for other in found if other.items == cell.items}) > 1}
    if not sizes:
        return []
    found = sorted((cell for cell in found if cell.items == max(sizes)), key=lambda cell: cell.sizes["percent"])
    variants = extrema.columns(machine, found)
    rows = []
    for cell in found:
        times = {variant: compare.figure(machine, cell, variant, "median_us") for variant in variants}
        rows.append([f"{cell.sizes['percent']} %", *map(words.time, times.values()), words.ratio(over_cub(times))])
    headers = [">chosen", *(f">{page.label(variant)}" for variant in variants), ">front door over CUB"]
    return spaced("## By the share of chosen items", f"{words.size(max(sizes))} floats, cold.", table(headers, rows))
