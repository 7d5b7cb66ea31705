"""report/run itself: its help, its exit codes, the README's markers, and what it says when packages are missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import synthetic

RUN = Path(__file__).resolve().parents[2] / "report" / "run"


def shell(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(RUN), *arguments], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)


@pytest.mark.parametrize("arguments", [["--help"], ["render", "--help"], ["check", "--help"], ["compare", "--help"], ["site", "--help"], ["test", "--help"]])
def test_help(arguments):
    done = shell(*arguments)
    assert done.returncode == 0 and "usage: report/run" in done.stdout and "exit codes" in done.stdout


@pytest.mark.parametrize(
    "arguments", [["--unknown"], ["paint"], ["render", "--data"], ["render", "--data", "/nonexistent"], ["check", "extra"]]
)
def test_usage(arguments):
    done = shell(*arguments)
    assert done.returncode == 2 and done.stderr.strip() and not done.stdout.startswith("Traceback")


def test_render_is_the_default(repository):
    done = shell("--data", str(repository / "report/data"), "--out", str(repository / "out"), "--no-install")
    assert done.returncode == 0, done.stderr
    assert (repository / "out/index.md").exists()


def test_options_of_pytest_reach_it():
    done = shell("test", "--collect-only", "-q", "-k", "test_width", "--no-install")
    assert done.returncode == 0 and "test_sass.py::test_width" in done.stdout and "test_pages" not in done.stdout, done.stderr


def test_unwritable_output(repository):
    (repository / "out").write_text("a file")
    done = shell("render", "--data", str(repository / "report/data"), "--out", str(repository / "out"))
    assert done.returncode == 2 and "no directory" in done.stderr


def test_no_install_names_what_is_missing(tmp_path):
    """A Python without the packages, and no virtual environment to fall back on: a copy of report/ outside the repository."""
    report = tmp_path / "report"
    (report / "rungs_report").mkdir(parents=True)
    for name in ("run", "requirements.txt", "rungs_report/requirements.py"):
        (report / name).write_bytes((RUN.parent / name).read_bytes())
    (report / "run").chmod(0o755)
    path = tmp_path / "bin"
    path.mkdir()
    base = Path(sys.base_prefix) / "bin" / "python3"
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        # -I -S: this interpreter with no site packages at all.
        (path / name).write_text(f'#!/bin/sh\nexec "{base}" -I -S "$@"\n')
        (path / name).chmod(0o755)
    done = subprocess.run([report / "run", "--no-install"], capture_output=True, text=True, env={"PATH": f"{path}:/usr/bin:/bin"})
    assert done.returncode == 2
    pins = [line for line in (report / "requirements.txt").read_text().split("# tests")[0].splitlines() if "==" in line]
    assert all(f"  {pin} (not installed)" in done.stderr for pin in pins) and "pytest" not in done.stderr
    assert not (tmp_path / "build").exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "does not exist"), ("no markers\n", "needs the markers"),
        ("<!-- rungs:headline end -->\n<!-- rungs:headline begin -->\n", "needs the markers"),
        ("<!-- rungs:headline begin -->\n" * 2 + "<!-- rungs:headline end -->\n", "needs the markers"),
    ],
)  # fmt: skip
def test_readme_without_its_markers(repository, run, content, reason):
    readme = repository / "OTHER.md"
    if content is not None:
        readme.write_text(content)
    code, _, err = run("render", "--readme", str(readme))
    assert code == 2 and reason in err and "OTHER.md" in err
    assert content is None or readme.read_text() == content


def test_readme_keeps_everything_else(repository, run, small):
    synthetic.write(repository / "report/data", small)
    folder = repository / "docs"
    folder.mkdir()
    readme = folder / "page.md"
    readme.write_bytes("Vörher\r\n<!-- rungs:headline begin -->x<!-- rungs:headline end -->\r\nafter \\1 \\g<0>\r\n".encode())
    assert run("render", "--readme", str(readme))[0] == 0
    text = readme.read_bytes().decode()
    assert text.startswith("Vörher\r\n<!-- rungs:headline begin -->\r\n") and text.endswith(
        "<!-- rungs:headline end -->\r\nafter \\1 \\g<0>\r\n"
    )
    assert "](../report/synthetic-gpu/index.md)" in text and "\n" not in text.replace("\r\n", "")
    before = readme.stat().st_mtime_ns
    assert run("render", "--readme", str(readme))[0] == 0
    assert readme.stat().st_mtime_ns == before, "what is unchanged is not written"


def test_the_readme_is_left_alone_for_other_data(repository, run):
    before = (repository / "README.md").read_text()
    run()
    assert (repository / "README.md").read_text() == before
