"""The declarations of library.py are those of the header, and a library that is missing or another one is told in words.
Needs neither torch nor a GPU."""

import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

PYTHON = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PYTHON / "rungs_torch"))  # the module alone: the package would import all of itself

import library  # noqa: E402

HEADER = (PYTHON / "src" / "rungs_torch.h").read_text()
LETTERS = {"int": "i", "unsigned": "u", "long long": "q", "size_t": "n", "float": "f", "double": "d"}


def declared():
    """Name, result and letters of the arguments of every function of the header."""
    found = {}
    for result, name, arguments in re.findall(r"^RUNGS_CALL (.+?)(rungs_\w+)\(([^)]*)\);", HEADER, re.MULTILINE):
        types = [] if arguments == "void" else [re.sub(r"\w+$", "", each).strip() for each in arguments.split(",")]
        found[name] = (result.strip(), "".join("p" if "*" in each else LETTERS[each] for each in types))
    return found


class Interface(unittest.TestCase):
    def test_functions(self):
        self.assertEqual(library.DECLARATIONS, {name: letters for name, (_, letters) in declared().items()})

    def test_results(self):
        texts = {name for name, (result, _) in declared().items() if result == "const char*"}
        self.assertEqual(library.TEXTS, texts)
        self.assertEqual({result for result, _ in declared().values()}, {"int", "const char*"})

    def test_version_of_the_interface(self):
        self.assertIn(f"#define RUNGS_INTERFACE {library.INTERFACE}\n", HEADER)

    def test_enums(self):
        names = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}
        names.update({"uint8": "u8", "int32": "i32", "int64": "i64"})
        for enum, told in (("type", {names[name]: value for name, value in library.TYPES.items()}), ("operation", library.OPERATIONS)):
            listed = re.search(rf"enum rungs_{enum} {{ (.*?) }};", HEADER)[1].split(", ")
            self.assertEqual({f"rungs_{name}": value for name, value in told.items()}, {name: i for i, name in enumerate(listed)})


class Programs(unittest.TestCase):
    """They run where a GPU is; elsewhere they are compiled."""

    def test_syntax(self):
        root = Path(__file__).resolve().parents[2]
        for name in ("examples/torch_rows.py", "python/bench_torch.py", "python/bench_torch_across.py", "python/tests/test_results.py"):
            with self.subTest(name):
                compile((root / name).read_text(), name, "exec")


class Missing(unittest.TestCase):
    def test_no_library(self):
        with mock.patch.dict(os.environ, RUNGS_LIBRARY="/nowhere/librungs_torch.so"):
            with self.assertRaisesRegex(ImportError, "there is no /nowhere/librungs_torch.so.*pip install ./python"):
                library._open()

    def test_no_shared_library(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file, mock.patch.dict(os.environ, RUNGS_LIBRARY=file.name):
            with self.assertRaises(OSError):
                library._open()


if __name__ == "__main__":
    unittest.main()
