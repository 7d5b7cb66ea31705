"""From a build's objects to sass.json (SCHEMA.md): what the compiler made of each kernel of the catalog.

Registers and shared memory are ptxas' own words, which the build keeps beside each object; instructions are counted in
what cuobjdump disassembles. Counts are static: a loop's body counts once, and so does a path that is hardly ever taken.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from pathlib import Path
from typing import Any

from rungs_report import ptxas
from rungs_report.data import Unusable

SCHEMA = "rungs.sass/1"
FAMILIES = ("handwritten", "cluster", "library_baselines")
TOOLKIT = "it comes with the CUDA toolkit, or by pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm; name one with --cuobjdump"

ABOUT = {
    "family": re.compile(r"\.family = family::(\w+)"),
    "ladder": re.compile(r'\.ladder = "([^"]*)"'),
    "rung": re.compile(r'\.rung = "([^"]*)"'),
    "number": re.compile(r"\.number = (-?\d+)"),
}
FUNCTION = re.compile(r"\s*Function : (\S+)")
CODE_FOR = re.compile(r"\s*code for (sm_\w+)")
# /*0110*/  @!P1 LDG.E.128 R0, desc[UR6][R6.64] ;  /* encoding */
INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]+)\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)((?:\.\w+)*)([^;]*);")

OPERATORS = "plus|minimum|maximum|compose|minus|increment|bit_and|bit_or|bit_xor|exchange"
OPERATOR = re.compile(rf"\b(?:rungs|cuda|thrust)::[\w:]*?\b({OPERATORS})\b")
SCALARS = {
    "signed char": "i8", "unsigned char": "u8", "short": "i16", "unsigned short": "u16", "int": "i32", "unsigned int": "u32",
    "long long": "i64", "unsigned long long": "u64", "__half": "f16", "__nv_bfloat16": "bf16", "float": "f32",
    "double": "f64", "rungs::v0::affine": "affine", "__half2": "f16x2", "__nv_bfloat162": "bf16x2",
}  # fmt: skip
# The inline namespaces of the library: its version, and what it was compiled for.
NAMESPACE = re.compile(r"\brungs::v0\w*::")
# Longest first; what stands in parentheses is the type of a value, (int)256, and no type of an item.
NAMES = "|".join(sorted(map(re.escape, SCALARS), key=len, reverse=True))
TYPE = re.compile(rf"(?<![\w(:])({NAMES})(?![\w:]| (?:long|int|char|short))")

# What a reader of machine code counts, by opcode; of accesses to global memory the bits that a thread moves matter too.
COUNTED = {
    "LDG": "loads", "STG": "stores", "LDGSTS": "asynchronous copies", "UBLKCP": "bulk copies", "LDS": "shared loads", "STS": "shared stores",
    "SHFL": "shuffles", "REDUX": "warp reductions", "MATCH": "matches", "BAR": "barriers", "UCGABAR_ARV": "cluster barriers",
    "ATOM": "atomics", "ATOMG": "atomics", "RED": "atomics", "REDG": "atomics", "ATOMS": "shared atomics", "LDL": "local loads",
    "STL": "local stores",
}  # fmt: skip
WITH_WIDTH = ("LDG", "STG")


def resources(report: str) -> dict[tuple[str, str], dict[str, int]]:
    """What ptxas -v says about each kernel, by mangled name and architecture. A frame of a function that was not inlined is no
    kernel's."""
    found = {}
    for kernel in ptxas.parse(report):
        if not kernel.is_entry:
            continue
        if not kernel.is_complete():
            raise ValueError(f"ptxas' report on {kernel.mangled} is incomplete")
        found[kernel.mangled, kernel.architecture] = {
            "stack_bytes": kernel.stack_bytes,
            "spill_bytes": kernel.spill_store_bytes + kernel.spill_load_bytes,
            "registers": kernel.registers,
            "shared_bytes": kernel.shared_bytes,
        }
    return found


def functions(disassembly: str) -> Iterator[tuple[str, str, list[tuple[int, str, str, str]]]]:
    """Mangled name, architecture and instructions (address, opcode, its modifiers, its operands) of each function."""
    architecture, name, of, body = "", "", "", []
    for line in disassembly.splitlines():
        if match := CODE_FOR.match(line):
            architecture = match[1]
        elif match := FUNCTION.match(line):
            if name:
                yield name, of, body
            name, of, body = match[1], architecture, []
        elif name and (match := INSTRUCTION.match(line)):
            body.append((int(match[1], 16), match[2], match[3], match[4].strip()))
    if name:
        yield name, of, body


MEMORY = {"LDG", "STG", "LDS", "STS", "LD", "ST", "LDL", "STL", "LDGSTS"}


def width(modifiers: str) -> str:
    """Bits that a load or store moves for a thread: LDG.E.128, LDS.U8; 32 where nothing is said."""
    sizes = [part.lstrip("US") for part in modifiers.split(".") if re.fullmatch(r"[US]?(8|16)|64|128|256", part)]
    return sizes[0] if sizes else "32"


def count(body: list[tuple[int, str, str, str]]) -> dict[str, Any]:
    """Instructions by opcode. Left out is the padding behind the last one. Where a warp may come apart before a
    collective, the compiler writes that a second time, out of line, between WARPSYNC.COLLECTIVE and the address it names:
    counted on its own."""
    opcodes, diverged = Counter(), Counter()
    widths: dict[str, Counter[str]] = {}
    resumes = 0
    for address, opcode, modifiers, operands in body:
        if opcode in ("NOP", "ENDCOLLECTIVE") or (opcode == "BRA" and operands == f"{address:#x}"):
            continue
        if opcode == "WARPSYNC" and ".COLLECTIVE" in modifiers:
            resumes = int(operands.rsplit(" ", 1)[-1], 16)
            continue
        (diverged if address < resumes else opcodes)[opcode] += 1
        if opcode in MEMORY:
            widths.setdefault(opcode, Counter())[width(modifiers)] += 1
    counted = {
        "instructions": opcodes.total(),
        "opcodes": dict(sorted(opcodes.items())),
        "widths": {opcode: dict(sorted(bits.items(), key=lambda pair: int(pair[0]))) for opcode, bits in sorted(widths.items())},
    }
    return counted | ({"diverged": dict(sorted(diverged.items()))} if diverged else {})


def demangle(names: list[str]) -> dict[str, str]:
    """By the C++ compiler's own c++filt; a name stays as it is where there is none."""
    filt = shutil.which("c++filt")
    if filt is None or not names:
        return {name: name for name in names}
    done = subprocess.run([filt], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.splitlines(), strict=True))


def parts(demangled: str) -> tuple[str, str]:
    """void a::kernel<b<c>, 4>(d): its name, a::kernel, and its template arguments, b<c>, 4."""
    demangled = demangled.replace("(anonymous namespace)::", "")
    depth = begin = 0
    for at, letter in enumerate(demangled):
        if letter == "<":
            if depth == 0:
                begin = at
            depth += 1
        elif letter == ">":
            depth -= 1
            if depth == 0:
                return demangled[:begin].rsplit(" ", 1)[-1], demangled[begin + 1 : at].strip()
        elif letter == "(" and depth == 0:
            return demangled[:at].rsplit(" ", 1)[-1], ""
    return demangled, ""


def describe(demangled: str) -> dict[str, Any]:
    name, arguments = parts(demangled)
    operators = set(OPERATOR.findall(arguments))
    types = dict.fromkeys(SCALARS[each] for each in TYPE.findall(arguments))
    return {
        "kernel": NAMESPACE.sub("", name),
        "arguments": NAMESPACE.sub("", arguments),
        "operator": operators.pop() if len(operators) == 1 else "",
        "types": list(types),
    }


def disassembler(named: Path | None) -> Path:
    if named is not None:
        found = shutil.which(str(named))
    else:
        homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)] + ["/usr/local/cuda"]
        found = shutil.which("cuobjdump") or next(filter(None, (shutil.which(f"{home}/bin/cuobjdump") for home in homes)), None)
    if found is None:
        raise Unusable(f"{named or 'cuobjdump'} is not there; {TOOLKIT}")
    return Path(found)


def run(tool: Path, *arguments: str) -> str:
    # cuobjdump calls nvdisasm, which lies beside it.
    path = os.pathsep.join((str(tool.resolve().parent), os.environ.get("PATH", "")))
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False)
    if done.returncode != 0:
        raise Unusable(f"{tool} {' '.join(arguments)}: {(done.stderr or done.stdout).strip() or f'exit code {done.returncode}'}")
    return done.stdout


def built(build: Path, name: str) -> str:
    """A value that the build baked into the program."""
    path = build / "bench" / "build_values.hpp"
    match = re.search(rf'#define RUNGS_BUILD_{name} "([^"]*)"', path.read_text(encoding="utf-8")) if path.is_file() else None
    if match is None:
        raise Unusable(f"{path} does not say the {name.lower()}; build the target rungs_bench first")
    return match[1]


def read_unit(tool: Path, build: Path, unit: Path) -> tuple[list[tuple[str, str, str, int]], list[tuple[str, dict[str, Any]]]]:
    """Which variants a unit of the catalog enrols, and the kernels that they come to, by mangled name."""
    source = unit.read_text(encoding="utf-8")
    about = {name: pattern.findall(source) for name, pattern in ABOUT.items()}
    for name, found in about.items():
        if len(found) != len(about["family"]):
            raise Unusable(f"{unit} does not say the {name} of its variant")
    written = build / "CMakeFiles" / "rungs_catalog.dir" / "catalog" / f"{unit.name}.o"
    report = written.with_name(written.name + ".ptxas")
    for path in (written, report):
        if not path.is_file():
            raise Unusable(f"{path} is missing; build the target rungs_catalog first")
    try:
        known = resources(report.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise Unusable(f"{report}: {problem}") from None
    kernels = []
    for name, architecture, body in functions(run(tool, "-sass", str(written))):
        if (name, architecture) not in known:
            raise Unusable(f"{report} says nothing of {name}; build the target rungs_catalog again")
        kernels.append((name, {"architecture": architecture} | known.pop((name, architecture)) | count(body)))
    if known:
        raise Unusable(f"{written} holds no code of {next(iter(known))[0]}, which ptxas reports on; build it again")
    return list(zip(about["family"], about["ladder"], about["rung"], map(int, about["number"]))), kernels


def collect(build: Path, cuobjdump: Path | None) -> dict[str, Any]:
    """The document for all units that the build's configuration lists."""
    units = sorted((build / "catalog").glob("*.cu"))
    units = [unit for unit in units if ABOUT["family"].search(unit.read_text(encoding="utf-8"))]
    if not units:
        raise Unusable(f"{build / 'catalog'} holds no unit of the catalog; name a build folder with --build DIR")
    commit, nvcc = built(build, "COMMIT"), built(build, "NVCC")
    tool = disassembler(cuobjdump)
    version = re.search(r"release [\d.]+, V([\d.]+)", run(tool, "--version"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        read = list(pool.map(lambda unit: read_unit(tool, build, unit), units))
    readable = demangle(sorted({name for _, kernels in read for name, _ in kernels}))
    entries: dict[tuple[str, str, str, int], list[dict[str, Any]]] = {}
    for variants, kernels in read:
        for entry in variants:
            entries.setdefault(entry, []).extend(describe(readable[name]) | counted for name, counted in kernels)
    return {
        "schema": SCHEMA,
        "commit": commit,
        "nvcc": nvcc,
        "cuobjdump": version[1] if version else None,
        "entries": [
            {"family": family, "ladder": ladder, "rung": rung, "number": number, "kernels": sorted(kernels, key=itemgetter("kernel", "arguments", "architecture"))}
            for (family, ladder, rung, number), kernels in sorted(
                entries.items(), key=lambda pair: (FAMILIES.index(pair[0][0]), pair[0][1], pair[0][3], pair[0][2])
            )
        ],
    }


def shown(document: dict[str, Any]) -> dict[str, Any]:
    """The digest: what pages show. Those are our rungs, and of a kernel what it may serve, its sizes, and the opcodes counted."""

    def of(kernel: dict[str, Any]) -> dict[str, Any]:
        about = {name: kernel[name] for name in ("arguments", "operator", "types", "registers", "shared_bytes")}
        opcodes = {name: count for name, count in kernel["opcodes"].items() if name in COUNTED}
        return about | {"opcodes": opcodes, "widths": {name: bits for name, bits in kernel["widths"].items() if name in WITH_WIDTH}}

    ours = [entry for entry in document["entries"] if entry["family"] != "library_baselines"]
    return {**document, "digest": True, "entries": [{**entry, "kernels": [of(kernel) for kernel in entry["kernels"]]} for entry in ours]}
