"""How numbers, sizes and names are written: one place, so that every page writes them alike."""

import re
import statistics
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")
UNKNOWN = "–"
SENTENCE = 120  # characters of a table's field from which on it is read as text
_BINARY = ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))


def significant(value: float, digits: int = 3) -> str:
    """Three significant digits without an exponent: 0.734, 12.3, 946, 1,230."""
    if value == 0:
        return "0"
    # Rounding first: 9.996 has to become 10.0, not 10.00.
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = int(f"{abs(rounded):e}".split("e")[1])
    return f"{rounded:,.{max(digits - 1 - exponent, 0)}f}"


def size(count: int) -> str:
    """1024 is 1 Ki, 2^24 is 16 Mi; what is no multiple of 1024 is written out."""
    for unit, suffix in _BINARY:
        if count >= unit and count % unit == 0:
            return f"{count // unit:,} {suffix}"
    return f"{count:,}"


def byte_size(count: int | None) -> str:
    if count is None:
        return UNKNOWN
    for unit, suffix in _BINARY:
        if count >= unit:
            return f"{significant(count / unit)} {suffix}B" if count % unit else f"{count // unit:,} {suffix}B"
    return f"{count:,} B"


def time(microseconds: float | None) -> str:
    if microseconds is None:
        return UNKNOWN
    if microseconds >= 1e6:
        return f"{significant(microseconds / 1e6)} s"
    if microseconds >= 1e3:
        return f"{significant(microseconds / 1e3)} ms"
    return f"{significant(microseconds)} µs"


def ratio(value: float | None) -> str:
    """1.32x, 52.3x, 481x; what is far below one keeps two digits: 0.0071x."""
    if value is None:
        return UNKNOWN
    if abs(value) < 0.095:
        return f"{significant(value, 2)}x"
    return f"{value:.2f}x" if abs(value) < 9.995 else f"{significant(value)}x"


def interval(low: float | None, high: float | None) -> str:
    """One digit more than the ratio has: whether 1 lies inside is what an interval is read for."""
    if low is None or high is None:
        return ""
    return " to ".join(f"{v:.3f}" if 0.0995 <= abs(v) < 9.9995 else significant(v) for v in (low, high))


def percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{significant(value)} %"


def number(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, int):
        return f"{value:,}"
    return significant(value)


def span(counts: Collection[int]) -> str:
    """A count, or the least and the most of several."""
    return " to ".join(dict.fromkeys(f"{each:,}" for each in (min(counts), max(counts))))


def yes_no(value: bool | None) -> str:
    return UNKNOWN if value is None else ("yes" if value else "no")


def median(values: Iterable[float | None]) -> float | None:
    """The median of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if len(known) > 1 else next(iter(known), None)


def grouped(found: Iterable[Item], by: Callable[[Item], Any], what: Callable[[Item], Any] = lambda each: each) -> dict[Any, list[Any]]:
    """Those that are alike together, in their order. what: is kept of each."""
    groups: dict[Any, list[Any]] = {}
    for each in found:
        groups.setdefault(by(each), []).append(what(each))
    return groups


def plural(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def listed(items: Sequence[str]) -> str:
    """a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def text(value: object) -> str:
    """Free text from a result file, safe inside a Markdown table or paragraph and inside HTML."""
    flat = " ".join(str(value).split())
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", flat)


def code(value: object) -> str:
    """A name as a code span; what could end the span or the table cell is dropped."""
    flat = re.sub(r"[`|\s]+", " ", str(value)).strip()
    return f"`{flat}`" if flat else ""


def html(value: object) -> str:
    escaped = str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace('"', "&quot;").replace("'", "&#39;")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table, padded so that it reads as one in the source too, but for columns of sentences; nothing without rows. A header
    that begins with '>' aligns right."""
    right = [header.startswith(">") for header in headers]
    cells = [[header.lstrip(">") for header in headers], *[list(row) for row in rows]]
    if len(cells) == 1:
        return []
    longest = [max(len(line[column]) for line in cells) for column in range(len(headers))]
    widths = [max(3, width) if width <= SENTENCE else 3 for width in longest]

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True))
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True)) + "|"
    return [line(cells[0]), rule, *[line(row) for row in cells[1:]]]


def columns(found: Iterable[Any], told: dict[str, Callable[[Any], str]]) -> list[str]:
    """A table with a line for each, of what is told of it under each header."""
    return table(list(told), [[tell(each) for tell in told.values()] for each in found])


def spaced(*parts: str | Sequence[str]) -> list[str]:
    """Paragraphs, tables and sections as lines, with one empty line behind each; what is empty is left out."""
    lines: list[str] = []
    for part in parts:
        lines += [part] if isinstance(part, str) and part else part
        if lines and lines[-1]:
            lines.append("")
    return lines


def section(heading: str, *parts: str | Sequence[str]) -> list[str]:
    """A heading and what stands under it; nothing where no table and no lines do."""
    return spaced(heading, *parts) if any(part for part in parts if not isinstance(part, str)) else []
