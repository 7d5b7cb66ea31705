"""Facts of kernels that nobody timed, sass.json and counters.json (SCHEMA.md): written whole where asked, committed as a digest."""

import gzip
import json
from pathlib import Path
from typing import Any

from rungs_report.data import Unusable

Document = dict[str, Any]


def text(document: Document) -> str:
    """One line a kernel, so that a change of one shows as one."""
    head = {name: value for name, value in document.items() if name != "entries"}
    entries = []
    for entry in document["entries"]:
        about = json.dumps({name: value for name, value in entry.items() if name != "kernels"})
        kernels = ",\n".join("  " + json.dumps(kernel) for kernel in entry["kernels"])
        entries.append(f'{about[:-1]}, "kernels": [' + (f"\n{kernels}" if kernels else "") + "]}")
    return json.dumps(head)[:-1] + ', "entries": [\n' + ",\n".join(entries) + "]}\n"


def packed(document: Document) -> bytes:
    """The same bytes for the same facts: gzip would note the hour."""
    return gzip.compress(text(document).encode("utf-8"), 9, mtime=0)


def whole(path: Path, schema: str) -> Document:
    """What --whole wrote once."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != schema or document.get("digest"):
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        raise Unusable(f"{path} holds no facts of schema {schema!r}; name a file that --whole wrote") from None
    return document
