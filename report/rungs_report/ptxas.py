"""What ptxas -v says about each kernel, for sass.py and for tests/tools/resources.py. The latter also runs in Python 3.8."""

import re
from dataclasses import dataclass
from typing import List, Optional

FACT = re.compile(
    r"Compiling entry function '(?P<entry>[^'\n]+)' for '(?P<architecture>[^'\n]+)'"
    r"|Function properties for (?P<described>\S+)\n"
    r" *(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
    r"|Used (?P<registers>\d+) registers(?:.* (?P<shared>\d+) bytes smem)?"
)
OTHER = re.compile(r".*(?:Compiling entry function|bytes stack frame|Used .*registers).*")


@dataclass
class Kernel:
    """-1: the report does not say."""

    mangled: str
    architecture: str
    is_entry: bool = True
    registers: int = -1
    shared_bytes: int = 0
    stack_bytes: int = -1
    spill_store_bytes: int = -1
    spill_load_bytes: int = -1

    def is_complete(self) -> bool:
        return min(self.registers, self.stack_bytes, self.spill_store_bytes, self.spill_load_bytes) >= 0


def parse(report: str) -> List[Kernel]:
    """Reads one report; device functions that were not inlined count as kernels. Raises ValueError on a line of it that cannot
    be understood."""
    kernels: List[Kernel] = []
    entry: Optional[Kernel] = None
    for fact in FACT.finditer(report):
        if fact["entry"]:
            entry = Kernel(fact["entry"], fact["architecture"])
            kernels.append(entry)
        elif fact["described"]:
            kernel = entry
            if entry is None or entry.mangled != fact["described"]:  # a device function that was not inlined
                kernel = Kernel(fact["described"], entry.architecture if entry else "", False, registers=0)
                kernels.append(kernel)
            kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes = map(int, fact.group("stack", "stores", "loads"))
        elif entry is None:
            raise ValueError(f"whose registers are these? {fact[0]}")
        else:
            entry.registers, entry.shared_bytes = int(fact["registers"]), int(fact["shared"] or 0)
    other = OTHER.search(FACT.sub("", report))
    if other:
        raise ValueError(f"what does this line say? {other[0].strip()}")
    return kernels
