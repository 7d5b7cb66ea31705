"""compute-sanitizer's output, read and judged: findings in our kernels fail, findings in the libraries' are listed. There are no
suppressions."""

import re
from collections import Counter
from typing import Iterable, List, NamedTuple, Set, Tuple


class Finding(NamedTuple):
    headline: str
    kernel: str  # empty where the tool named none
    test: str = ""  # the test that ran, as GoogleTest names it


# How GoogleTest begins a test.
BEGINNING = re.compile(r"\[ RUN      \] (.*)")

# A finding begins with a headline and goes on with indented lines.
HEADLINE = re.compile(r"========= ([^ \t].*)")
CHATTER = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY", "Target application", "were not printed", "No attachable")

# Where a line names a kernel. After "in", only a qualified name is one: others are files.
PLACES = (
    re.compile(r"=========     at (?:void )?(.*)"),
    re.compile(r".*?access at void (.*)"),
    re.compile(r".*?(?<![A-Za-z0-9_])in (?:kernel )?(?:void )?([^ \t]+?::.*)"),
)


def findings(output: str) -> List[Finding]:
    """Every finding in a tool's output, in its order."""
    found: List[Finding] = []
    test = ""
    for line in output.splitlines():
        if not line.startswith("========="):
            beginning = BEGINNING.fullmatch(line)
            test = beginning[1] if beginning else test
            continue
        headline = HEADLINE.fullmatch(line)
        if headline and not any(words in line for words in CHATTER):
            found.append(Finding(headline[1], "", test))
        if found and not found[-1].kernel:  # the first kernel named
            named = next(filter(None, (place.fullmatch(line) for place in PLACES)), None)
            found[-1] = found[-1]._replace(kernel=named[1] if named else "")
    return found


LIBRARIES_TESTS = "catalog.library_baselines/"
WIDE_TILES = ("baselines::cg_block_reduce_shaped<", "baselines::cg_store_async,", "baselines::cg_update_async_kernel<")


def is_ours(found: Finding) -> bool:
    """A finding in an unnamed place is ours too, until it is proved not to be.

    What a library copies for the host is the library's: of Thrust's results, in a graph, initcheck says that they are read before
    they are written.

    Some races in kernels of ours are the library's: a block meets in a tile of cooperative groups that is wider than a warp. Such a
    kernel keeps nothing else in shared memory. Its warps wait there for each other by releases and acquires, which racecheck does
    not follow.
    """
    if "Race reported" in found.headline and any(name in found.kernel for name in WIDE_TILES):
        return False
    if found.headline.startswith("Host API memory access") and found.test.startswith(LIBRARIES_TESTS):
        return False
    return not found.kernel or found.kernel.startswith("rungs::")


FOUND_SOMETHING = 86  # how a process under a tool ends where all that failed is what the tool found


class Shard(NamedTuple):
    """One process under a tool."""

    status: int
    output: str
    launched: Set[str]  # the kernels' mangled names


class Verdict:
    """One tool, over all its shards."""

    def __init__(self, shards: Iterable[Shard]) -> None:
        self.ours: "Counter[Tuple[str, str]]" = Counter()  # how often, by headline and kernel without places
        self.libraries: "Counter[Tuple[str, str]]" = Counter()
        self.launched: Set[str] = set()
        self.broken: List[int] = []  # how the shards ended that proved nothing
        for shard in shards:
            self.launched |= shard.launched
            found = findings(shard.output)
            for one in found:
                kind = one.headline.split(" at ")[0], one.kernel.split("+0x")[0]
                (self.ours if is_ours(one) else self.libraries)[kind] += 1
            ended_well = shard.status == 0 or (shard.status == FOUND_SOMETHING and found)
            if not ended_well or "were not printed" in shard.output:  # what was not printed might be ours
                self.broken.append(shard.status)

    def is_clean(self) -> bool:
        return not self.ours and not self.broken


class Excuse(NamedTuple):
    kernel: str  # how mangled names without their ABI begin; they go on alike
    instead: str
    tools: Tuple[str, ...]
    why: str


ALL_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SPLIT_BINS = "_ZN5rungs10histograms17split_bins_kernelINS0_5parts11sample_rowsILi1024E"
LANE_PRIVATE = "_ZN5rungs10histograms19lane_private_kernelILi4E"
EXCUSES = (
    Excuse(
        SPLIT_BINS + "Li6E",
        SPLIT_BINS + "Li4E",
        ("racecheck",),
        "more loads on their way for millions of samples, which take racecheck minutes",
    ),
    Excuse(LANE_PRIVATE + "Li8E", LANE_PRIVATE + "Li32E", ALL_TOOLS, "fewer counters for GPUs with less shared memory"),
    Excuse(LANE_PRIVATE + "Li32E", LANE_PRIVATE + "Li8E", ALL_TOOLS, "more counters for GPUs with more shared memory"),
)


def without_abi(mangled: str) -> str:
    """Without the namespace that bears the version and the architectures (rungs/version.cuh), such as v0_sm_900."""
    found = re.match(r"_ZN5rungs([0-9]+)v[0-9]", mangled)
    return "_ZN5rungs" + mangled[found.end(1) + int(found[1]) :] if found else mangled


def excuse(kernel: str, tool: str, launched: Set[str]) -> str:
    """Why a kernel of ours need not be launched under a tool, where the same of another shape was; empty where it must."""
    name = without_abi(kernel)
    for one in EXCUSES:
        if tool in one.tools and name.startswith(one.kernel):
            other = one.instead + name[len(one.kernel) :]
            if any(without_abi(candidate) == other for candidate in launched):
                return one.why
    return ""
