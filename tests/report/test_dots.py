"""Dot products: an ordinary page, claims of the text about them, and that neither is there without them."""

import re

import pytest
import synthetic
from rungs_report import claims, data


@pytest.fixture
def folder(rendered):
    """The pages of a run with dot products."""
    made = synthetic.document()
    synthetic.add_dots(made)
    return rendered(made)


def test_the_page(folder):
    text = (folder / "dots.md").read_text()
    assert "the read-only roof over both arrays" in text
    assert re.search(r"\| `shared_tree_512` +\|", text) and re.search(r"\| `cublas_dot` +\|", text)


def test_claims(folder, repository):
    machine = data.read(repository / "report/data").machines[0]
    faster, varies, blocks, wrong, shuffles, passes = (claims.answer(claim, machine) for claim in claims.DOTS)
    assert faster.verdict == claims.HOLDS and faster.measured.endswith("faster at 1 Mi")
    assert varies.measured.startswith("atomic_per_element")
    assert blocks.measured == "shared_tree_128 6.60 µs, shared_tree 7.10 µs and shared_tree_512 7.60 µs at 1 Mi" and blocks.verdict == claims.HOLDS
    assert wrong.verdict == claims.FALSE
    assert shuffles.verdict == claims.HOLDS and passes.verdict == claims.FAILS
    assert "## Dots" in (folder / "claims.md").read_text()


def test_without_dot_products_nothing_is_said_of_them(rendered, small):
    folder = rendered(small)
    assert not (folder / "dots.md").exists() and "## Dots" not in (folder / "claims.md").read_text()
