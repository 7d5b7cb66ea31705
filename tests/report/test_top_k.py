"""Top-k: an ordinary page, the table by shape, and that neither is there without it."""

import re

import pytest
import synthetic


@pytest.fixture
def folder(rendered):
    """The pages of a run with top-k."""
    made = synthetic.document()
    synthetic.add_top_k(made)
    synthetic.add_cell(made, 1 << 24, synthetic.ours(two_passes=22.0))
    return rendered(made)


def test_the_page(folder):
    text = (folder / "top_k.md").read_text()
    assert re.search(r"\| `sampled_bound` +\|", text) and re.search(r"\| `cub_device_sort` +\|", text)
    assert "f32 top 64 of 64 x 131,072, cold" in text


def test_by_shape(folder):
    told = synthetic.section((folder / "top_k.md").read_text(), "By rows, columns and k")
    floor = synthetic.FLOOR
    for shape, k, mi in (("4 Ki x 256", 8, 1), ("64 x 128 Ki", 64, 8)):
        ratio = (floor + 12 * mi) / (floor + 1.5 * mi)
        assert re.search(rf"\| {shape} +\| +{k} \| +{floor + 1.5 * mi:.3g}\d* µs \| .* \| +{ratio:.2f}x \|", told), told


def test_without_it_there_is_no_page(rendered, small):
    assert not (rendered(small) / "top_k.md").exists()
