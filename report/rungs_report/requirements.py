"""What a Python lacks of requirements.txt. Run as a script before anything is installed, so it imports nothing else."""

import sys
from importlib import metadata
from pathlib import Path


def missing(requirements: Path, with_tests: bool) -> list[str]:
    """The pins that this interpreter does not satisfy, each with what it has instead."""
    absent = []
    for line in requirements.read_text(encoding="utf-8").splitlines():
        if line.startswith("# tests") and not with_tests:
            break
        if "==" not in line or line.startswith("#"):
            continue
        name, version = line.strip().split("==")
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            absent.append(f"{name}=={version} (not installed)")
            continue
        if found != version:
            absent.append(f"{name}=={version} (has {found})")
    return absent


if __name__ == "__main__":
    absent = missing(Path(sys.argv[1]), with_tests=sys.argv[2] == "test")
    print("\n".join(absent), end="\n" if absent else "")
    sys.exit(1 if absent else 0)
