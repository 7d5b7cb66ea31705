"""Places of extrema: an ordinary page, what the text says of them, and that neither is there without them."""

import re

import pytest
import synthetic
from rungs_report import claims, data


@pytest.fixture
def folder(rendered):
    """The pages of a run with places of extrema."""
    made = synthetic.document()
    synthetic.add_extrema(made)
    synthetic.add_cell(made, 1 << 24, synthetic.ours(two_passes=22.0))
    return rendered(made)


def test_the_page(folder):
    text = (folder / "extrema.md").read_text()
    assert re.search(r"\| `tile_found_last` +\|", text) and re.search(r"\| `cub_device_arg` +\|", text)


def test_both_at_once(folder, rendered):
    assert "Both at once" not in (folder / "extrema.md").read_text()
    made = synthetic.document()
    synthetic.add_extrema(made)
    synthetic.add_both_extrema(made)
    text = (rendered(made) / "extrema.md").read_text()
    told = synthetic.section(text, "Both at once: one read instead of two")
    floor = synthetic.FLOOR
    assert re.search(r"\| +n \| +`front_door_of_both` \| +`both_at_once` \| +`cub_device_arg_twice` \| +the least alone \| +over two such calls \|", told)
    times = " µs \\| +".join(f"{floor + us * 16:.1f}" for us in (1.5, 1.6, 4.0, 1.25))
    assert re.search(rf"\| +16 Mi \| +{times} µs \| +{2 * (floor + 20) / (floor + 24):.2f}x \|", told)
    assert "f32 places of the minimum and the maximum, cold" in text


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
