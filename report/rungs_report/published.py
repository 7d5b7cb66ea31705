"""What others published of operations on rows, beside ours on the same shapes. quack's figures are GB/s of bf16 on an H100 SXM, read from
the chart of its post of July 2025."""

from typing import Any

from rungs_report import words
from rungs_report.words import table, text

Cell = dict[str, Any]
PEAK_GB_PER_S = 3350  # of an H100 SXM's memory, by its data sheet
SHAPES = (*((32768, 2**k) for k in range(8, 17)), (16384, 131072), (8192, 262144))
QUACK = {
    "rms_norm": (1913, 2298, 2581, 2761, 2900, 2987, 2960, 2987, 3020, 2986, 2811),
    "softmax": (1900, 2344, 2630, 2813, 2889, 2938, 2974, 2985, 3004, 3009, 3012),
    "cross_entropy": (1113, 1600, 1902, 2320, 2692, 2942, 3061, 3021, 3182, 3163, 3034),
}
TYPE = "bfloat16"


def comparable(gpu: str) -> bool:
    """Whether this is the card of the published figures: PCIe and NVL cards have other memory."""
    return "H100" in gpu and "HBM3" in gpu.split()


def of_peak(gb_per_s: float) -> float:
    return 100 * gb_per_s / PEAK_GB_PER_S


def ours(cell: Cell) -> float:
    """GB/s of the bytes that must move, which quack counts alike."""
    return cell["bytes"] / cell["rungs"]["median_us"] / 1000


def beside(cells: list[Cell], gpus: list[str], name: Any) -> list[str]:
    """gpus: what the cells were measured on. name: of an operation."""
    lines = ["## Beside quack's published figures", ""]
    if others := [gpu for gpu in gpus if not comparable(gpu)]:
        measured = words.listed([text(gpu) for gpu in others])
        return [*lines, f"quack published figures of an H100 SXM. These runs are of {measured}, so they are not set beside them.", ""]
    found = {(cell["operation"], tuple(cell["shape"])): cell for cell in cells if cell["type"] == TYPE}
    rows, ratios = [], []
    for operation, figures in QUACK.items():
        for shape, published in zip(SHAPES, figures, strict=True):
            if cell := found.get((operation, shape)):
                reached = ours(cell)
                ratios.append(reached / published)
                rows.append(
                    [
                        name(operation),
                        " x ".join(words.size(each) for each in shape),
                        words.percent(of_peak(reached)),
                        words.percent(of_peak(published)),
                        words.ratio(ratios[-1]),
                    ]
                )
    if not rows:
        return [*lines, "None of the shapes that quack published was measured.", ""]
    above = sum(ratio >= 1 for ratio in ratios)
    return [
        *lines,
        f"bf16, shares of {PEAK_GB_PER_S:,} GB/s, the peak of an H100 SXM. quack's figures were read from the chart of its post of July 2025: "
        f"another card, another clock and another harness. Ours reach or exceed them in {above} of {words.plural(len(rows), 'cell')}. "
        "Our cross-entropy includes the mean over the rows.",
        "",
        *table(["", "rows x columns", ">ours", ">quack", ">over quack"], rows),
        "",
    ]
