"""Places of extrema: an ordinary page, what the text says of them, and that neither is there without them."""

import re

import pytest
import synthetic
from rungs_report import claims, data


@pytest.fixture
def folder(repository, run):
    """The pages of a run with places of extrema."""
    made = synthetic.document()
    synthetic.add_extrema(made)
    synthetic.add_cell(made, 1 << 24, synthetic.ours(two_passes=22.0))
    synthetic.write(repository / "report/data", made)
    synthetic.write_sources(repository)
    assert run()[0] == 0
    return repository / "report/synthetic-gpu"


def test_the_page(folder):
    text = (folder / "extrema.md").read_text()
    assert re.search(r"\| `tile_found_last` +\|", text) and re.search(r"\| `cub_device_arg` +\|", text)


def test_claims(folder, repository):
    machine = data.read(repository / "report/data").machines[0]
    least, greatest, like_a_sum = (claims.answer(claim, machine) for claim in claims.EXTREMA)
    assert least.verdict == greatest.verdict == claims.HOLDS and least.measured.startswith("verified at 2 sizes")
    assert re.match(r"the best runs at .* of the read-only ceiling, that of sums at .* at 16 Mi", like_a_sum.measured)
    assert "## Extrema" in (folder / "claims.md").read_text()


def test_without_them_nothing_is_said_of_them(repository, run, small):
    synthetic.write(repository / "report/data", small)
    assert run()[0] == 0
    folder = repository / "report/synthetic-gpu"
    assert not (folder / "extrema.md").exists() and "## Extrema" not in (folder / "claims.md").read_text()
