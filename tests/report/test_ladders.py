"""Dot products, places of extrema, selections and top-k: a page each, its tables, what the text says of them, and that nothing is there
without their rows."""

import re
from functools import partial

import pytest
import synthetic
from conftest import machine_of
from rungs_report import claims
from synthetic import section

FLOOR = synthetic.FLOOR
# What adds the rows, a rung and a library, and what else the page says.
PAGES = {
    "dots": (synthetic.add_dots, "shared_tree_512", "cublas_dot", "the read-only roof over both arrays"),
    "extrema": (synthetic.add_extrema, "tile_found_last", "cub_device_arg", "f32 place of the minimum, cold"),
    "selections": (synthetic.add_selections, "staged", "cub_device_select", "f32 selection, 50 % chosen, cold"),
    "top_k": (synthetic.add_top_k, "sampled_bound", "cub_device_sort", "f32 top 64 of 64 x 131,072, cold"),
}


@pytest.fixture
def folder(rendered):
    """The pages of a run with such rows and a sum."""

    def call(*adding):
        made = synthetic.document()
        for add in adding:
            add(made)
        synthetic.add_cell(made, 1 << 24, synthetic.ours(two_passes=22.0))
        return rendered(made)

    return call


@pytest.fixture
def answers(folder, repository):
    def call(add, asked):
        assert f"## {add.__name__.removeprefix('add_').capitalize()}" in (folder(add) / "claims.md").read_text()
        machine = machine_of(repository)
        return [claims.answer(claim, machine) for claim in asked]

    return call


@pytest.mark.parametrize("name", PAGES)
def test_the_page(folder, name):
    add, rung, library, says = PAGES[name]
    text = (folder(add) / f"{name}.md").read_text()
    assert says in text and re.search(rf"\| `{rung}` +\|", text) and re.search(rf"\| `{library}` +\|", text)


def test_without_them_nothing_is_said_of_them(rendered, small):
    folder = rendered(small)
    told = (folder / "claims.md").read_text()
    assert not any((folder / f"{name}.md").exists() or f"## {name.capitalize()}" in told for name in PAGES)


def test_both_extrema_at_once(folder):
    assert "Both at once" not in (folder(synthetic.add_extrema) / "extrema.md").read_text()
    text = (folder(synthetic.add_extrema, synthetic.add_both_extrema) / "extrema.md").read_text()
    told = section(text, "Both at once: one read instead of two")
    assert re.search(r"\| +n \| +`front_door_of_both` \| +`both_at_once` \| +`cub_device_arg_twice` \| +the least alone \| +over two such calls \|", told)
    times = " µs \\| +".join(f"{FLOOR + us * 16:.1f}" for us in (1.5, 1.6, 4.0, 1.25))
    assert re.search(rf"\| +16 Mi \| +{times} µs \| +{2 * (FLOOR + 20) / (FLOOR + 24):.2f}x \|", told)
    assert "f32 places of the minimum and the maximum, cold" in text


def test_claims_about_extrema(answers):
    least, greatest, like_a_sum = answers(synthetic.add_extrema, claims.EXTREMA)
    assert least.verdict == greatest.verdict == claims.HOLDS and least.measured.startswith("verified at 2 sizes")
    assert re.match(r"the best runs at .* of the read-only ceiling, that of sums at .* at 16 Mi", like_a_sum.measured)


def test_claims_about_dot_products(answers):
    faster, varies, blocks, wrong, shuffles, passes = answers(synthetic.add_dots, claims.DOTS)
    assert faster.verdict == claims.HOLDS and faster.measured.endswith("faster at 1 Mi")
    assert varies.measured.startswith("atomic_per_element")
    assert blocks.measured == "shared_tree_128 6.60 µs, shared_tree 7.10 µs and shared_tree_512 7.60 µs at 1 Mi" and blocks.verdict == claims.HOLDS
    assert wrong.verdict == claims.FALSE
    assert shuffles.verdict == claims.HOLDS and passes.verdict == claims.FAILS


def test_selections_by_share(folder):
    told = section((folder(synthetic.add_selections) / "selections.md").read_text(), "By the share of chosen items")
    assert "16 Mi floats, cold." in told
    for percent in (1, 50, 100):
        per_mi = (1 + percent / 100) / 1.5 * 16
        door, cub = FLOOR + 1.8 * per_mi, FLOOR + 2.2 * per_mi
        assert re.search(rf"\| +{percent} % \| +{door:.1f} µs \| .* \| +{cub / door:.2f}x \|", told), told
    assert "By the share" not in (folder(partial(synthetic.add_selections, percents=(50,))) / "selections.md").read_text()


def test_top_k_by_shape(folder):
    told = section((folder(synthetic.add_top_k) / "top_k.md").read_text(), "By rows, columns and k")
    for shape, k, mi in (("4 Ki x 256", 8, 1), ("64 x 128 Ki", 64, 8)):
        ratio = (FLOOR + 12 * mi) / (FLOOR + 1.5 * mi)
        assert re.search(rf"\| {shape} +\| +{k} \| +{FLOOR + 1.5 * mi:.3g}\d* µs \| .* \| +{ratio:.2f}x \|", told), told
