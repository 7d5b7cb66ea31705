"""Errors of sums: their page and their claims, from a small study, and that neither is there without one."""

import json
import re

import pytest
import synthetic
from rungs_report import claims, data, errors

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


def section(text, heading):
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


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


def test_claims(repository, written):
    written(study())
    machine = data.read(repository / "report/data").machines[0]
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


def test_without_a_study_nothing_is_said(repository, run, small):
    synthetic.write(repository / "report/data", small)
    assert run()[0] == 0
    folder = repository / "report/synthetic-gpu"
    assert not (folder / "accuracy.md").exists() and "## Accuracy" not in (folder / "claims.md").read_text()
    assert not errors.measured(data.read(repository / "report/data").machines[0])


def test_instructions_are_those_of_the_block_that_adds():
    line = "        /*{:04x}*/   {} ;  /* 0x0 */"
    body = ["LDG.E R1, [R2]", "BRA 0x50", "FADD R1, R1, R2", "FADD R1, R1, R3", "@P0 BRA 0x70", "FADD R1, R1, R2", "FSETP.LT P0, R1, R2", "MOV R1, R2", "FADD R1, R1, R2", "EXIT"]
    function = "\t\tFunction : _ZN5rungs9v0_sm_9005parts17accumulate_kernelINS0_12accumulators{}EPKfEEvT0_mPNT_7partialEb"
    text = ["code for sm_90"]
    for name in ("17kahan_accumulator", "18double_accumulator"):
        text += [function.format(name), *(line.format(16 * at, each) for at, each in enumerate(body))]
    own = {"FADD": 2, "FSETP": 1, "MOV": 1}
    assert errors.instructions("\n".join(text)) == {"kahan": own, "double_precision": own}
