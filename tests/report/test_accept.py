"""report/run accept: a result file becomes data, or says why not."""

import json

import pytest
import synthetic
from rungs_report import cli, data


@pytest.fixture
def arrived(tmp_path):
    """Writes a result file as it comes from another machine, under any name."""

    def write(made, name="from a stranger.json"):
        path = tmp_path / name
        path.write_text(json.dumps(made))
        return path

    return write


def accept(repository, *words):
    return cli.main(["accept", *map(str, words), "--data", str(repository / "report" / "data")])


def test_it_is_installed_under_its_gpu_and_name(repository, arrived, capsys):
    made = synthetic.full()
    assert accept(repository, arrived(made)) == 0
    path = repository / "report" / "data" / made["gpu"] / f"{made['run']}.json.gz"
    assert data.parse(path) == made
    assert str(path) in capsys.readouterr().out
    assert accept(repository, arrived(made, "again.json")) == 0, "the same once more changes nothing"


def wrong(made):
    made["rows"][0]["verified"] = "no"


def cut_short(made):
    made["complete"] = False


def of_nowhere(made):
    made["gpu"] = "../elsewhere"
    for row in made["rows"]:
        row["gpu"] = made["gpu"]


@pytest.mark.parametrize("broken, said", [(wrong, "was not verified"), (cut_short, "--incomplete"), (of_nowhere, "gpu")])
def test_what_is_in_doubt_is_refused_in_one_line_and_nothing_installed(repository, arrived, capsys, broken, said):
    fine, made = synthetic.full(run="2030-01-05T030405Z-abc1234"), synthetic.full()
    broken(made)
    before = sorted((repository / "report" / "data").rglob("*"))
    assert accept(repository, arrived(fine, "fine.json"), arrived(made)) == 2
    told = capsys.readouterr().err
    assert said in told and len(told.splitlines()) == 1
    assert sorted((repository / "report" / "data").rglob("*")) == before


def test_a_run_that_was_cut_short_is_taken_where_that_is_asked_for(repository, arrived):
    made = synthetic.full()
    cut_short(made)
    assert accept(repository, arrived(made), "--incomplete") == 0


def test_another_run_of_the_same_name_is_refused(repository, arrived, capsys):
    made = synthetic.full()
    assert accept(repository, arrived(made)) == 0
    made["rows"][0]["median_us"] *= 1.0001
    assert accept(repository, arrived(made, "other.json")) == 2
    assert "another run" in capsys.readouterr().err
