"""A hash of what a kernel is made of: its file and, transitively, the files of this tree that it includes, without their comments
and without regard to white space. Editing a comment asks for no new run on a GPU; anything else does."""

import functools
import os.path
import re
from pathlib import Path
from typing import List, Tuple

# Where an #include in angle or plain quotes may lead, beside the including file's own folder.
INCLUDE_ROOTS = ("handwritten", "cluster", "best", "library_baselines", "bench")

COMMENT = r"//(?:[^\n]|(?<=\\)\n)*|/\*.*?(?:\*/|\Z)"  # a backslash at the end of the line continues a comment
RAW_STRING = r'(?<=R)"(?:(?P<tag>[^(]*)\(.*?\)(?P=tag)"|.*)'
LITERAL = rf"""{RAW_STRING}|"(?:\\.?|[^"\\\n])*"?|(?<![0-9A-Za-z])'(?:\\.?|[^'\\\n])*'?"""  # 1'000 is no literal
COMMENTS = re.compile(COMMENT, re.DOTALL)
GAPS_AND_LITERALS = re.compile(rf"(?P<gap>(?:[ \t\r\v\f\n]|{COMMENT})+)|{LITERAL}", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[^<"\n]*(?:<([^>\n]*)>|"([^"\n]*)")', re.MULTILINE)


def without_comments(source: str) -> str:
    """Comments become one space, runs of white space one space or, where the line ends, one newline. Literals stay as they are."""

    def evened_out(found: "re.Match[str]") -> str:
        gap = found["gap"]
        if gap is None:
            return found[0]
        if found.start() == 0 or found.end() == len(source):
            return ""
        return "\n" if "\n" in COMMENTS.sub(" ", gap) else " "

    stripped = GAPS_AND_LITERALS.sub(evened_out, source)
    return stripped + "\n" if stripped else ""


@functools.lru_cache(maxsize=None)
def stripped_file(path: Path) -> str:
    return without_comments(path.read_bytes().decode("latin-1"))  # a character a byte, whatever it means


@functools.lru_cache(maxsize=None)
def included_by(root: Path, source: str) -> Tuple[str, ...]:
    """The files of this tree in a source's #include lines. Includes that are not found under the roots are not ours."""
    found = []
    for names in INCLUDE.findall(stripped_file(root / source)):
        for folder in (os.path.dirname(source), *INCLUDE_ROOTS):
            path = os.path.normpath(os.path.join(folder, "".join(names)))
            if not path.startswith(("..", "/")) and (root / path).is_file():
                found.append(path)
                break
    return tuple(found)


def sources_of(root: Path, source: str) -> List[str]:
    """The files that `source` (relative to the root) is made of, itself first, each once, in the order they are met.

    Raises OSError when `source` cannot be read."""
    files = [source]

    def collect(including: str) -> None:
        for path in included_by(root, including):
            if path not in files:
                files.append(path)
                collect(path)

    collect(source)
    return files


def fnv1a(data: bytes, value: int) -> int:
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


@functools.lru_cache(maxsize=None)
def hash_of(root: Path, source: str, compile_flags: str) -> str:
    """16 hexadecimal digits of the sources and the compiler's flags (64-bit FNV-1a)."""
    value = fnv1a(compile_flags.encode(), 0xCBF29CE484222325)
    for path in sources_of(root, source):
        value = fnv1a(path.encode() + b"\0" + stripped_file(root / path).encode("latin-1"), value)
    return f"{value:016x}"
