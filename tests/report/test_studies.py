"""What all studies have in common: which of their files are refused, which are replaced, and what stands first on their pages."""

import copy

import pytest
import synthetic
import test_across
import test_by_key
import test_inference
import test_others

# Of each study a file, another one, its first cell and result in words, how the name of its file begins, and the title of its page.
STUDIES = {
    "across": (
        test_across.document(), test_across.document(4), "operation all_reduce, type f32, operator plus, items 1, mode graph", "planned", "across_2", "All-reduce across GPUs"
    ),
    "by_key": (
        test_by_key.document(), test_by_key.document(cccl="3.5.0"), "operation select_if, keys i32, items 65536, chosen percent 0", "rungs", "by_key_3.0.1", "Selections and runs of keys"
    ),
    "others": (
        test_others.document(), test_others.document(cccl="3.5.0"), "operation inclusive_scan, input type f32, items 268435456",
        "handwritten/scans/front_door/uninitialised", "others_3.0.1", "Others' problems",
    ),
    "inference": (
        test_inference.top_k(), test_inference.sampling(), "work route, input f32, rows 4096, columns 256, parameter k 8", "route", "inference_top_k_3.5.0", "What inference needs"
    ),
}  # fmt: skip


def first(made):
    return made["cells"][0]["results"][0]


# What is done to a file, and what is said of it.
BROKEN = {
    "wrong": (lambda made: first(made).update(verified=False), "holds a result that is wrong: {result} at {cell};"),
    "a cell twice": (lambda made: made["cells"].append(made["cells"][0]), "has {cell} twice"),
    "a result twice": (lambda made: made["cells"][0]["results"].append(first(made)), "has {cell} twice"),
    "outside": (lambda made: first(made).update(low_us=first(made)["median_us"] * 1.01), "has a median outside its own interval: {result} at {cell}"),
    "zero": (lambda made: first(made).update(median_us=0.0, low_us=0.0), "has a median outside its own interval: {result} at {cell}"),
    "untimed": (lambda made: first(made).pop("median_us"), "lacks the time: {result} at {cell}"),
    "no samples": (lambda made: first(made).update(samples=0), "has a median outside its own interval: {result} at {cell}"),
    "no number": (lambda made: first(made).update(median_us=float("nan")), "holds NaN, which is no JSON number"),
    "empty": (lambda made: made.update(cells=[]), "has no cells"),
    "another schema": (lambda made: made.update(schema=made["schema"][:-1] + "2"), "; this generator reads '{schema}'"),
    "no such card": (lambda made: made.update(gpu="../elsewhere"), "has gpu '../elsewhere'"),
}
OWN = {
    ("across", "different bits"): (lambda made: made["checks"][0]["results"][1].update(same_bits=False), "holds a result that is not the same bits on every GPU: two_shot at"),
    ("across", "one GPU"): (lambda made: made.update(devices=made["devices"][:1]), "has 2 ranks on 1 GPU(s), so its times compare nothing"),
    ("across", "mixed"): (lambda made: made["devices"][1].update(name="Another GPU"), "is of different GPUs: Another GPU, Synthetic GPU"),
    ("across", "one rank"): (lambda made: made.update(ranks=1, devices=made["devices"][:1]), "has one rank"),
    ("by_key", "no structure"): (lambda made: made["cells"][0].pop("chosen_percent"), "does not tell of operation select_if, keys i32, items 65536 what is chosen or how long runs are"),
    ("by_key", "another speed-up"): (lambda made: made["cells"][0]["speedup"].update(value=2.1), "has a speed-up that is not of its times at {cell}"),
    ("by_key", "unknown"): (lambda made: made["cells"][0].update(operation="sort"), "'sort', which is none of encode"),
    ("by_key", "a path as version"): (lambda made: made["versions"].update(cccl="../3.0"), "'../3.0', which is no release"),
    ("others", "another mode"): (lambda made: made["cells"][0].update(mode="cold"), "'cold', which is none of dirty, warm"),
    ("inference", "another speed-up"): (lambda made: made["cells"][0]["results"][2]["speedup"].update(value=2.1), "has a speed-up that is not of its times at {cell}"),
    ("inference", "unknown"): (lambda made: made["cells"][0].update(work="beam_search"), "'beam_search', which is none of"),
    ("inference", "another program"): (lambda made: made.update(program="rungs_bench"), "'rungs_bench', which is none of"),
}  # fmt: skip
CASES = [(name, how) for name in STUDIES for how in BROKEN] + list(OWN)


@pytest.mark.parametrize(("name", "how"), CASES, ids=map(" ".join, CASES))
def test_a_file_in_doubt_is_neither_installed_nor_read(repository, install, small, capsys, name, how, run_of):
    sound, another, cell, result, *_ = STUDIES[name]
    change, says = OWN.get((name, how)) or BROKEN[how]
    says = says.format(cell=cell, result=result, schema=sound["schema"])
    made = copy.deepcopy(sound)
    change(made)
    assert install(another, made) == 2
    assert says in capsys.readouterr().err
    assert not (repository / "report/data/synthetic-gpu").exists(), "nor is the sound one beside it"
    synthetic.write(repository / "report/data", small)
    code, _, told = run_of(made, folder=synthetic.GPU, name=f"{name}_x")
    assert code == 1 and says in told
    assert not (repository / f"report/synthetic-gpu/{name}.md").exists()


@pytest.mark.parametrize("name", STUDIES)
def test_in_the_wrong_folder_it_is_refused(repository, run, name):
    synthetic.write(repository / "report/data", STUDIES[name][0], folder="another-gpu", name=f"{name}_x")
    assert "was measured on synthetic-gpu but lies in the folder of another-gpu" in run()[2]


@pytest.mark.parametrize("name", STUDIES)
def test_a_newer_run_replaces_an_older_one_of_its_kind(repository, install, name):
    made = STUDIES[name][0]
    assert install(made) == install(made | {"commit": "def5678"}) == 0
    assert [path.name for path in (repository / "report/data/synthetic-gpu").iterdir()] == [f"{STUDIES[name][4]}.json.gz"]


@pytest.mark.parametrize("name", STUDIES)
def test_a_gpu_without_the_suite_has_this_page_alone(repository, run, install, name):
    made, title = copy.deepcopy(STUDIES[name][0]), STUDIES[name][5]
    made["gpu"] = "nvidia-h100"
    for device in made.get("devices") or [made["device"]]:
        device["name"] = "NVIDIA H100"
    assert install(made) == 0
    for command in ("render", "check", "site"):
        assert run(command)[0] == 0
    assert [path.name for path in (repository / "report/nvidia-h100").iterdir()] == [f"{name}.md"]
    assert f"{title} alone, without the suite: [NVIDIA H100](nvidia-h100/{name}.md)." in (repository / "report/index.md").read_text()
    next((repository / "report/data/nvidia-h100").iterdir()).unlink()
    assert run("check")[0] != 0, "the page is stale"


@pytest.mark.parametrize("name", STUDIES)
def test_what_a_reader_must_know_stands_first(study_page, name):
    made = STUDIES[name][0]
    text = study_page(name)(made | {"commit": "abc1234-dirty", "banners": ["another process used the GPU"]} | ({"complete": False} if "complete" in made else {}))
    for said in ("another process used the GPU", "uncommitted changes", *(["is incomplete"] if "complete" in made else [])):
        assert said in text
