"""Selections: an ordinary page, the table by share, and that neither is there without them."""

import re

import pytest
import synthetic


@pytest.fixture
def folder(rendered):
    """The pages of a run with selections."""
    made = synthetic.document()
    synthetic.add_selections(made)
    synthetic.add_cell(made, 1 << 24, synthetic.ours(two_passes=22.0))
    return rendered(made)


def test_the_page(folder):
    text = (folder / "selections.md").read_text()
    assert re.search(r"\| `staged` +\|", text) and re.search(r"\| `cub_device_select` +\|", text)
    assert "f32 selection, 50 % chosen, cold" in text


def test_by_share(folder):
    told = synthetic.section((folder / "selections.md").read_text(), "By the share of chosen items")
    assert "16 Mi floats, cold." in told
    floor = synthetic.FLOOR
    for percent in (1, 50, 100):
        per_mi = (1 + percent / 100) / 1.5 * 16
        door, cub = floor + 1.8 * per_mi, floor + 2.2 * per_mi
        assert re.search(rf"\| +{percent} % \| +{door:.1f} µs \| .* \| +{cub / door:.2f}x \|", told), told


def test_one_share_has_no_table(rendered):
    made = synthetic.document()
    synthetic.add_selections(made, percents=(50,))
    assert "By the share" not in (rendered(made) / "selections.md").read_text()


def test_without_them_there_is_no_page(rendered, small):
    assert not (rendered(small) / "selections.md").exists()
