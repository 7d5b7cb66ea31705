"""Errors of sums: their page and their claims, from a small study, and that neither is there without one."""

import json
import math
import re
import struct

import pytest
import synthetic
from conftest import machine_of
from rungs_report import claims, data, errors
from synthetic import section

KINDS = {"uniform": (8e6, 8e6), "scaled": (6e8, 6e8), "cancelling": (2e-24, 2e43)}
CALLS = 100


def way(rung, by_kind, time, family="handwritten", ladder="accumulators", on_host=False):
    """by_kind: of each kind the errors in ulp, with how many calls had them; None: not finite."""
    results = [
        {
            "kind": kind, "median_us": time, "low_us": time, "high_us": time, "samples": 30,
            "values": [
                {"bits": number, "count": count, "error_ulp": error, "error_of_magnitudes": None if error is None else error * 1e-7}
                for number, (error, count) in enumerate(values)
            ],
        }
        for kind, values in zip(KINDS, by_kind, strict=True)
    ]  # fmt: skip
    return {
        "family": family, "ladder": ladder, "rung": rung, "idea": f"the idea of {rung}", "deterministic": True,
        "executes_on": "host" if on_host else "device", "results": results,
    }  # fmt: skip


def same(*by_kind):
    return [[(error, CALLS)] for error in by_kind]


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def dot(rung, results, time, **about):
    """results: of each kind the floats answered, with their error in ulp and how many calls had them."""
    made = way(rung, [[(error, count) for _, error, count in of] for of in results], time, **{"ladder": "dots"} | about)
    for result, of in zip(made["results"], results, strict=True):
        for value, (answer, *_) in zip(result["values"], of, strict=True):
            value["bits"] = bits(answer)
    return made


def with_dots(made):
    """Of uniform pairs the exact result is 1024 + 2^-14, 0.5 ulp above 1024; of others 1."""
    libraries = {"family": "library_baselines"}
    right = [(1.0, 0.25, CALLS)]
    up = 1024 * (1 + 2**-23)
    made["dots"] = {
        "kinds": [{"kind": kind, "description": f"items of {kind}", "exact": 1.0, "magnitudes": 1.0} for kind in KINDS],
        "ways": [
            dot("atomic_per_element", [[(1024.0, -0.5, 60), (up * 1.01, 80.0, 39), (math.nan, None, 1)], right, right], 9000.0),
            dot("shared_tree", [[(1024.0, -0.5, 60), (1024 + 2**-12, 1.5, 40)], right, right], 21.0),
            dot("warp_shuffle", [[(1024 + 2**-11, 3.5, CALLS)], right, right], 20.5),
            dot("tagged_sums", [[(up, 0.5, CALLS)], right, [(2.0, 2.0**23, CALLS)]], 20.0),
            dot("exact_dot", [[(up, 0.5, CALLS)], right, right], 30.0, ladder="exact"),
            dot("transform_reduce", [[(up, 0.5, CALLS)], right, right], 22.0, ladder="front_door_of_dots"),
            dot("cub_device_transform_reduce", [[(up, 0.5, CALLS)], right, right], 23.0, **libraries),
            dot("cublas_dot", [[(up, 0.5, CALLS)], right, right], 24.0, **libraries),
            dot("host_serial_float", [[(1024 + 2**-10, 7.5, CALLS)], right, [(1.0, 0.25, CALLS)]], 12000.0, on_host=True, **libraries),
            dot("host_float_from_double", [[(1024.0, -0.5, CALLS)], right, right], 13000.0, on_host=True, **libraries),
        ],
    }  # fmt: skip
    return made


def study(cccl="3.0.1", more=()):
    libraries = {"family": "library_baselines", "ladder": "baselines"}
    return {
        "schema": errors.STUDY_SCHEMA, "gpu": "synthetic-gpu", "run": "2030-01-02T030405Z", "commit": "abc1234",
        "versions": {"cccl": cccl}, "items": 1 << 24, "runs": CALLS,
        "kinds": [{"kind": kind, "description": f"items of {kind}", "exact": exact, "magnitudes": of} for kind, (exact, of) in KINDS.items()],
        "ways": [
            way("plain", same(2.5, 1.5, 1e7), 20.0),
            way("kahan", same(0.4, 0.3, 1e7), 21.0),
            way("neumaier", same(0.4, 0.3, 3.0), 21.0),
            way("double_precision", same(0.4, 0.3, None), 22.0),
            way("exact_sum", same(0.4, 0.3, 0.2), 23.0, ladder="exact"),
            way("front_door", same(1.5, 0.8, 1e7), 19.5, ladder="front_door_of_reductions"),
            way("atomic_per_element", [[(50.0, 60), (-20.0, 39), (None, 1)], [(30.0, CALLS)], [(1e7, CALLS)]], 9000.0, ladder="reductions"),
            way("atomic_per_block", same(3.5, 1.8, 1e7), 100.0, ladder="reductions"),
            way("cub_device_reduce", same(1.6, 0.9, 1e7), 20.5, **libraries),
            way("host_serial_float", same(560.0, 1.7e5, 1e7), 12000.0, on_host=True, **libraries),
            *more,
        ],
    }  # fmt: skip


@pytest.fixture
def written(repository, run, small, tmp_path):
    """The page of these studies, by the command that joins them."""

    def write(*studies):
        files = []
        for number, made in enumerate(studies):
            files.append(tmp_path / f"study{number}.json")
            files[-1].write_text(json.dumps(made))
        synthetic.write(repository / "report/data", small)
        assert errors_command(repository, files) == 0
        assert run()[0] == 0
        return (repository / "report/synthetic-gpu/accuracy.md").read_text()

    return write


def errors_command(repository, files):
    from rungs_report import cli

    return cli.main(["accuracy", "--data", str(repository / "report/data"), *map(str, files)])


def test_the_page(written):
    text = written(study())
    assert "Rounded correctly on every kind: `exact_sum`." in text
    table = section(text, "Error and time")
    assert re.search(r"\| `plain` +\| +20\.0 µs \| yes +\| +2\.5 \| +1\.5 \| +1e\+07 \|", table)
    assert re.search(r"\| `double_precision` .*\| +\*\*0\.40\*\* \| +\*\*0\.30\*\* \| +no sum \|", table)
    assert table.index("`rungs::DeviceReduce::Sum`") < table.index("`plain`") < table.index("`host_serial_float`"), "by time, the host last"
    assert "`cub_device_reduce` (3.0.1)" in table
    changing = section(text, "Results that change from call to call")
    assert re.search(r"\| `atomic_per_element` \| uniform \| +3 \| +60\.0 % \| +−20 \| +50 \| +50 \| +1 \|", changing)
    assert "`plain`" not in changing
    order = section(text, "Which order comes nearer")
    assert re.search(r"\| uniform +\| +560 \| +no sum \| +3\.5 \| +1\.6 \| +\*\*1\.5\*\* \|", order)
    assert "What an accumulator costs" not in text, "no build was disassembled"


def test_of_several_releases_the_newest_leads_and_others_add_their_library(written):
    newer = study("3.5.0", [way("cub_device_reduce_gpu_to_gpu", same(0.9, 0.9, 5.0), 40.0, "library_baselines", "baselines")])
    table = section(written(study(), newer), "Error and time")
    assert "`cub_device_reduce_gpu_to_gpu` (3.5.0)" in table and "`cub_device_reduce` (3.0.1)" in table
    assert table.count("`plain`") == 1 and table.count("`host_serial_float`") == 1


def test_exact_sums_at_every_size(written):
    def size(items, **times):
        return {"items": items, "ways": [{"family": "handwritten", "rung": rung, "median_us": time} for rung, time in times.items()]}

    wrong = {"items": 1 << 20, "ways": [{"family": "handwritten", "rung": "sum", "median_us": 5.0}, {"family": "handwritten", "rung": "exact_sum", "wrong": True}]}
    made = study()
    made["sweeps"] = [
        {"operation": "reduce", "input_type": "f32", "kind": "normal", "sizes": [size(1024, sum=3.0, exact_sum=4.0, cub_device_reduce_gpu_to_gpu=8.0), wrong]},
        {"operation": "dot", "input_type": "f32", "kind": "normal", "sizes": [size(1024, dot=3.0, exact_dot=6.0)]},
    ]  # fmt: skip
    told = section(written(made), "Exact sums at every size")
    assert re.search(r"\| +1 Ki \| +3\.00 µs \| +4\.00 µs \| +75\.0 % \| +8\.00 µs \| +2\.00x \|", told)
    assert re.search(r"\| +1 Mi \| +5\.00 µs \| +\*\*wrong\*\* \|", told)
    dot = told.partition("### f32 dot product, normal")[2]
    assert "50.0 %" in dot and "CUB" not in dot
    assert "Exact sums at every size" not in written(study())


def row(text, label):
    return [cell.strip() for cell in next(line for line in text.splitlines() if line.startswith(f"| {label} ")).split("|")[2:-1]]


def test_dot_products(written):
    told = section(written(with_dots(study())), "Dot products")
    first, serial, double, changing, orders = told.split("\n### ")[1:]
    assert "Rounded correctly on every kind: `rungs::DeviceReduce::TransformReduce`, `cub_device_transform_reduce` (3.0.1), `cublas_dot`, `exact_dot` and `host_float_from_double`." in told
    assert row(first, "`tagged_sums`") == ["20.0 µs", "yes", "**0.50**", "**0.25**", "8.4e+06"]
    assert row(first, "`atomic_per_element`") == ["9.00 ms", "**no**", "no sum", "**0.25**", "**0.25**"]
    assert first.index("`tagged_sums`") < first.index("`exact_dot`") < first.index("`host_serial_float`"), "by time, the host last"
    assert row(serial, "`shared_tree`") == ["8.0", "0", "0"], "1024 lies 8 ulp below the serial sum"
    assert row(serial, "`tagged_sums`") == ["7.0", "0", "8.4e+06"] and "`host_serial_float`" not in serial
    assert row(double, "`host_serial_float`") == ["8.0", "0", "0"] and row(double, "`atomic_per_element`")[0] == "no sum"
    assert row(changing, "`shared_tree`") == ["uniform", "2", "60.0 %", "−0.50", "−0.50", "1.5", "2.0", ""]
    assert row(changing, "`atomic_per_element`") == ["uniform", "3", "60.0 %", "−0.50", "−0.50", "80", "80", "1"]
    assert "`tagged_sums`" not in changing
    assert row(orders, "uniform")[:4] == ["7.5", "no sum", "1.5", "3.5"] and row(orders, "uniform")[4:] == ["**0.50**"] * 4
    assert row(orders, "kinds on which it is nearest") == ["2", "2", "2", "2", "2", "3", "3", "3"]


def test_dot_products_of_the_newest_release_lead_and_others_add_their_library(written):
    told = section(written(with_dots(study()), with_dots(study("3.5.0")), study("3.9.0")), "Dot products")
    first = told.split("\n### ")[1]
    assert "`cub_device_transform_reduce` (3.5.0)" in first and "`cub_device_transform_reduce` (3.0.1)" in first
    assert first.count("`cublas_dot`") == first.count("`tagged_sums`") == 1


def test_a_study_without_dot_products_says_nothing_of_them(repository, written):
    made = study()
    plain = written(made)
    assert "Dot products" not in plain
    made["dots"] = {"kinds": [], "ways": []}
    assert written(made) == plain
    assert not any(claim in claims.of(machine_of(repository))["accuracy"] for claim in claims.ACCURACY_OF_DOTS)


def test_dot_products_alone(written):
    made = with_dots(study())
    made["ways"], made["kinds"] = [], []
    text = written(made)
    assert "## Dot products" in text and "## Error and time" not in text and "## Which order comes nearer\n" not in text


def test_claims_of_dot_products(repository, written):
    written(with_dots(study()))
    machine = machine_of(repository)
    stray, near, tree, order = (claims.answer(claim, machine) for claim in claims.ACCURACY_OF_DOTS)
    assert stray.measured.endswith("of the dot product of uniform pairs, and 3 different results in 100 calls")
    assert near.verdict == claims.HOLDS and near.measured.startswith("4.8e-07 of the dot product"), "2^-11 of 1024"
    assert tree.verdict == claims.HOLDS and tree.measured.startswith("shared_tree 1.5 and 0.25 ulp")
    assert order.verdict == claims.FAILS and order.measured.startswith("shared_tree 8.0 and warp_shuffle 4.0 ulp")
    assert "8e-7" in (repository / "report/synthetic-gpu/claims.md").read_text()


def test_claims(repository, written):
    written(study())
    machine = machine_of(repository)
    double, kahan, neumaier, stray, tree, own, near, times = (claims.answer(claim, machine) for claim in claims.ACCURACY)
    assert {each.verdict for each in (double, kahan, neumaier, tree, own, near)} == {claims.HOLDS}
    assert "kahan 0.40 and 0.30 ulp, right on 2 of 3 kinds; plain 2.5 and 1.5 ulp, right on 0 of 3 kinds" in kahan.measured
    assert stray.measured.endswith("3 different results in 100 calls")
    assert times.verdict == claims.UNMEASURED
    machine.accuracy["instructions"] = {"plain": {"FADD": 32, "IADD3": 5}, "kahan": {"FADD": 128}}
    times = claims.answer(claims.ACCURACY[-1], machine)
    assert times.ratio_of_ratios == pytest.approx(1) and times.measured == "128 for 32 items, plain 32: 4.00x; in time 1.05x"
    assert "## Accuracy" in (repository / "report/synthetic-gpu/claims.md").read_text()


def test_what_is_no_study_is_refused(repository, tmp_path, capsys):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"schema": "something else"}))
    assert errors_command(repository, [path]) == 2
    assert "is no study of schema" in capsys.readouterr().err


def test_a_broken_file_is_told_and_the_other_pages_stand(repository, run, small):
    synthetic.write(repository / "report/data", small)
    (repository / "report/data/synthetic-gpu/accuracy.json").write_text(json.dumps({"schema": data.ACCURACY_SCHEMA, "gpu": "synthetic-gpu"}))
    code, _, told = run()
    assert code == 1 and "accuracy.json" in told
    assert not (repository / "report/synthetic-gpu/accuracy.md").exists()


def test_without_a_study_nothing_is_said(repository, small, rendered):
    folder = rendered(small)
    assert not (folder / "accuracy.md").exists() and "## Accuracy" not in (folder / "claims.md").read_text()
    assert not errors.measured(machine_of(repository))


def test_instructions_are_those_of_the_block_that_adds():
    line = "        /*{:04x}*/   {} ;  /* 0x0 */"
    body = ["LDG.E R1, [R2]", "BRA 0x50", "FADD R1, R1, R2", "FADD R1, R1, R3", "@P0 BRA 0x70", "FADD R1, R1, R2", "FSETP.LT P0, R1, R2", "MOV R1, R2", "FADD R1, R1, R2", "EXIT"]
    function = "\t\tFunction : _ZN5rungs9v0_sm_9005parts17accumulate_kernelINS0_12accumulators{}EPKfEEvT0_mPNT_7partialEb"
    text = ["code for sm_90"]
    for name in ("17kahan_accumulator", "18double_accumulator"):
        text += [function.format(name), *(line.format(16 * at, each) for at, each in enumerate(body))]
    own = {"FADD": 2, "FSETP": 1, "MOV": 1}
    assert errors.instructions("\n".join(text)) == {"kahan": own, "double_precision": own}
