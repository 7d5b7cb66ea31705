"""What others published of operations on rows and of inference, beside ours on the same shapes. quack's figures are GB/s of bf16 on an H100
SXM, read from the chart of its post of July 2025. Those of inference are microseconds from pull requests."""

from typing import Any, NamedTuple

from rungs_report import words
from rungs_report.words import spaced, table, text

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


def ours(cell: Cell) -> float:
    """GB/s of the bytes that must move, which quack counts alike."""
    return cell["bytes"] / cell["rungs"]["median_us"] / 1000


def beside(cells: list[Cell], gpus: list[str], name: Any) -> list[str]:
    """gpus: what the cells were measured on. name: of an operation."""
    lines = spaced("## Beside quack's published figures")
    if others := [gpu for gpu in gpus if not comparable(gpu)]:
        measured = words.listed([text(gpu) for gpu in others])
        return spaced(lines, f"quack published figures of an H100 SXM. These runs are of {measured}, so they are not set beside them.")
    found = {(cell["operation"], tuple(cell["shape"])): cell for cell in cells if cell["type"] == TYPE}
    rows, ratios = [], []
    for operation, figures in QUACK.items():
        for shape, published in zip(SHAPES, figures, strict=True):
            if cell := found.get((operation, shape)):
                reached = ours(cell)
                ratios.append(reached / published)
                of_peak = [words.percent(100 * each / PEAK_GB_PER_S) for each in (reached, published)]
                rows.append([name(operation), " x ".join(words.size(each) for each in shape), *of_peak, words.ratio(ratios[-1])])
    if not rows:
        return spaced(lines, "None of the shapes that quack published was measured.")
    above = sum(ratio >= 1 for ratio in ratios)
    return spaced(
        lines,
        f"bf16, shares of {PEAK_GB_PER_S:,} GB/s, the peak of an H100 SXM. quack's figures were read from the chart of its post of July 2025: "
        f"another card, another clock and another harness. Ours reach or exceed them in {above} of {words.plural(len(rows), 'cell')}. "
        "Our cross-entropy includes the mean over the rows.",
        table(["", "rows x columns", ">ours", ">quack", ">over quack"], rows),
    )


class Published(NamedTuple):
    """A figure of one cell of inference.md."""

    work: str
    input: str
    rows: int
    columns: int
    parameter: str
    data: str
    microseconds: float
    chip: str
    whose: str
    source: str  # owner/repository#number

    def about(self) -> dict[str, Any]:
        """The fields of the cell, but for its work."""
        return {name: getattr(self, name) for name in ("input", "rows", "columns", "parameter", "data")}

    @property
    def credit(self) -> str:
        repository, number = self.source.split("#")
        return f"{self.whose} ({repository.split('/')[1]}#{number})"


UNSTATED = "not stated"
GUMBEL = "probabilities of Gumbel, scale 0.1"
NORMAL = "probabilities of normal, deviation 1"
SERVING = (
    *(
        Published("route", "f32", tokens, 256, "k 8", "", figure, UNSTATED, "TensorRT-LLM, with the permutation of tokens", "NVIDIA/TensorRT-LLM#15656")
        for tokens, figure in ((8, 9.184), (256, 13.312), (1024, 14.336), (4096, 18.336), (8192, 20.448))
    ),
    *(
        Published("top_k", "f32", rows, columns, f"k {k}", "", figure, UNSTATED, "flashinfer", "flashinfer-ai/flashinfer#3009")
        for rows, columns, k, figure in ((256, 131072, 4096, 161.81), (256, 262144, 1024, 158.18), (2048, 131072, 1024, 470.11))
    ),
    *(
        Published("top_k", "f32", rows, columns, "k 512", "", figure, "B200", f"{whose}, in a graph", "sgl-project/sglang#33237")
        for rows, columns, of_sglang, of_flashinfer in ((4, 8192, 5.0381, 12.3907), (4, 65536, 11.3459, 46.9206), (16, 65536, 16.7372, 47.8248))
        for whose, figure in (("sglang's JIT-v2", of_sglang), ("flashinfer", of_flashinfer))
    ),
    *(
        Published("sample_top_p", "f32", 256, 128512, f"p {p}", GUMBEL, figure, "B200", "flashinfer", "flashinfer-ai/flashinfer#2945")
        for p, figure in ((0.1, 207), (0.5, 168), (0.9, 121))
    ),
    *(
        Published("sample_top_k", "f32", 1, 128512, f"k {k}", NORMAL, figure, "B200", "flashinfer, whose logits are not stated", "flashinfer-ai/flashinfer#2945")
        for k, figure in ((10, 170), (100, 135), (1000, 92), (5000, 58))
    ),
    Published("quantise_fp8_rows", "bf16", 32768, 4096, "", "", 337.736, "H20", "sglang, before that change", "sgl-project/sglang#16725"),
)
