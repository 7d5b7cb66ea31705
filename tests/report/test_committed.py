"""The committed pages are what the generator makes of the committed results."""

from pathlib import Path

import pytest

from rungs_report import cli

REPOSITORY = Path(__file__).resolve().parents[2]


def test_pages_come_from_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    if not any((REPOSITORY / "report" / "data").glob("*/*.json")):
        pytest.skip("no results are committed")
    assert cli.main(["check", "--root", str(REPOSITORY)]) == 0, capsys.readouterr()
