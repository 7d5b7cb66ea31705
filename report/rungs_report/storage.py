"""The temporary storage that calls ask for, in bytes, ours beside CUB's."""

from rungs_report import words
from rungs_report.words import code, spaced, table

SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28)  # the columns
Bytes = tuple[set[int], set[int]]  # of ours and of CUB's entries


def fields(several: list[Bytes]) -> str:
    """4,368 : 257 to 21,503."""
    return " : ".join(words.span(set().union(*each)) for each in zip(*several, strict=True))


class Storage:
    """What was asked for: by call and by what tells its problems apart, at each n."""

    def __init__(self) -> None:
        self.asked: dict[tuple[str, str], dict[int, Bytes]] = {}

    def add(self, call: str, of: str, items: int, ours: int, cubs: set[int]) -> None:
        own, theirs = self.asked.setdefault((call, of), {}).setdefault(items, (set(), set()))
        own.add(ours)
        theirs |= cubs

    def table(self) -> list[str]:
        """A line for the types of a call of which ours asks for the same at each n; and for shapes, which have one n each."""
        by_size: dict[tuple[object, ...], list[tuple[str, dict[int, Bytes]]]] = {}
        by_shape: dict[tuple[object, ...], list[tuple[str, Bytes]]] = {}
        for (call, of), told in self.asked.items():
            shown = {n: told[n] for n in SIZES if n in told}
            if " x " in of:
                by_shape.setdefault((call, *(max(own) for own, _ in told.values())), []).append((of, *told.values()))
            elif shown:
                by_size.setdefault((call, of if "bins" in of else "", *((n, *own) for n, (own, _) in shown.items())), []).append((of, shown))
        rows = [
            [code(call), ", ".join(of for of, _ in alike), *(fields([shown[n] for _, shown in alike]) if n in alike[0][1] else words.UNKNOWN for n in SIZES)]
            for (call, *_), alike in by_size.items()
        ]
        shapes = [[code(call), "; ".join(of for of, _ in alike), fields([told for _, told in alike])] for (call, *_), alike in by_shape.items()]
        lines = spaced(
            "`ours : CUB's` in bytes; of several types, releases or entries of CUB's the least and the most. CUB asks for 1 byte where it needs none.",
        )
        lines += spaced(table(["call", "of", *(f">n = {words.size(n)}" for n in SIZES)], rows))
        return lines + (spaced(table(["call", "rows x columns", ">bytes"], shapes)))
