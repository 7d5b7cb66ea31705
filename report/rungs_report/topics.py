"""What a GPU's pages are divided by: reductions, scans, and whatever else will be measured.

A topic is a page of its own; the operations of a topic stand beside each other on it. Only what differs between topics in
words is said here; an operation this module has never heard of gets a page too, named after its first word.
"""

from dataclasses import dataclass, replace

from rungs_report.data import Machine

ORDINARY_CONTENTS = "the ladder, how far from the limit, what each rung gained, error, clusters, where CUB wins, other types and modes"
ORDINARY_ERROR = "the error against the oracle, in units of the output's last place"


SCANS, HISTOGRAMS, DOTS, EXTREMA, SELECTIONS, TOP_K, ATOMICS, COSTS = "scans", "histograms", "dots", "extrema", "selections", "top_k", "atomics", "costs"
ROW_REDUCE, ROW_NORM = "row_reduce", "row_norm"  # have two sizes where others have one, so they are no topic: their page is their own
STUDIES = (ATOMICS, COSTS)  # they compare ways of doing a thing, among which nobody has to choose


@dataclass(frozen=True)
class Topic:
    name: str  # of the page and, as a rule, of the ladder: scans
    operations: tuple[str, ...]  # as result files call them, the one that headlines first
    roof: str  # what the ceiling of a row is; empty where there is none
    error: str  # what the column of errors holds
    contents: str = ORDINARY_CONTENTS  # what the front says its page holds


KNOWN = (
    Topic("reductions", ("reduce",), "the read-only roof", ORDINARY_ERROR),
    Topic(
        SCANS,
        ("inclusive_scan", "exclusive_scan"),
        "the copy roof, for a scan writes as much as it reads (the faster of copy and fill where the output is wider than the input)",
        "the largest absolute error over the whole output, in units of the last place of the output's largest magnitude",
    ),
    Topic(
        HISTOGRAMS,
        ("histogram_even", "histogram_range", "multi_histogram_even"),
        "the read-only roof",
        "0: every counter is compared with an independent count",
        "a ladder, how far from the limit, what each rung gained, clusters, samples and bins, each distribution, what CUB cannot count",
    ),
    Topic(DOTS, ("dot",), "the read-only roof over both arrays", ORDINARY_ERROR),
    Topic(EXTREMA, ("arg_extremum",), "the read-only roof", "0: the item and its index are compared with the first of the extreme items"),
    Topic(
        SELECTIONS,
        ("select_if",),
        "the faster of the copy roof and the read-only roof over the items read and the items chosen",
        "0: the count is compared, and a hash of the chosen items in their order",
    ),
    Topic(TOP_K, ("top_k",), "the read-only roof over all rows", "0: columns and items are compared with the first of each row, in their order"),
    Topic(
        ATOMICS,
        ("atomics",),
        "",
        "0: every address is compared with an independent fold",
        "operations per second by addresses, mechanism, type and operator, and what follows from them",
    ),
    Topic(
        COSTS,
        ("collective_reduce", "collective_scan", "barrier"),
        "",
        "0: every word is compared with an independent chain",
        "what a collective of a warp or a block takes, by hand and by the libraries, and what a barrier or a launch takes",
    ),
)


ROOF_OF_SCANS_THAT_WIDEN = (
    "the copy roof, for a scan writes as much as it reads (where it makes words of bytes or of halves, the roof that widens as many)"
)


def name_of(operation: str) -> str:
    for topic in KNOWN:
        if operation in topic.operations:
            return topic.name
    return operation.split("_")[0] + "s"


def of(machine: Machine) -> list[Topic]:
    """The topics this machine has rows of, the known ones first."""
    names: dict[str, set[str]] = {}
    for cell in machine.cells:
        if machine.is_problem(cell) and cell.operation not in (ROW_REDUCE, ROW_NORM):
            names.setdefault(name_of(cell.operation), set()).add(cell.operation)
    known = [topic for topic in KNOWN if topic.name in names]
    if machine.widens:
        known = [replace(topic, roof=ROOF_OF_SCANS_THAT_WIDEN) if topic.name == SCANS else topic for topic in known]
    told = {topic.name for topic in KNOWN}
    others = [
        Topic(name, tuple(sorted(found)), "the roof of its traffic", ORDINARY_ERROR)
        for name, found in sorted(names.items())
        if name not in told
    ]
    return known + others
