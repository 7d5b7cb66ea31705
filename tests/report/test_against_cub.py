"""The front door beside CUB: its page, what counts where there are two releases, and where CUB is faster."""

import re

import synthetic

DOOR = ("handwritten", "front_door")
CUB = ("library_baselines", "cub_device_arg")


def made(release: str, run: str, times: dict[int, tuple[float, float]], gpu: str = synthetic.GPU):
    """A run of places of the least float: at each size the front door's time and CUB's."""
    found = synthetic.document(run=run, gpu=gpu)
    found["context"]["device"]["name"] = gpu
    found["context"]["versions"]["cccl"] = release
    synthetic.add_extrema(found, ())
    for items, (ours, cub) in times.items():
        synthetic.add_cell(found, items, {DOOR: ours, CUB: cub}, operation="arg_extremum", operator="minimum", output_type="i64")
        for row in found["rows"]:
            if row["rung"] == "front_door":
                row["ladder"] = "front_door_of_extrema"
    return found


def test_the_page(repository, run):
    data = repository / "report/data"
    synthetic.write(data, made("3.0.1", "2026-11-01T000000Z-1a2b3c4", {1 << 20: (5.0, 50.0)}))
    synthetic.write(data, made("3.0.1", "2026-11-02T000000Z-1a2b3c4", {1 << 20: (5.0, 6.0), 1 << 24: (20.0, 30.0)}))
    synthetic.write(data, made("3.5.0", "2026-11-03T000000Z-1a2b3c4", {1 << 20: (5.0, 4.0)}))
    synthetic.write_sources(repository)
    assert run()[0] == 0
    folder = repository / "report/synthetic-gpu"
    assert "](front_door.md)" in (folder / "index.md").read_text()
    page = (folder / "front_door.md").read_text()

    # The latest run beside each release counts; the times are those beside the lower speed-up.
    assert re.search(r"\| +1 Mi \| cold \| 5\.00 : 4\.00, 1\.20x / 0\.80x − \|", page)
    assert "10.0x" not in page
    # What met one release only says so.
    assert re.search(r"\| +16 Mi \| cold \| 20\.0 : 30\.0, 1\.50x / – +\|", page)
    # The lower speed-up counts in the tallies.
    assert re.search(r"\| `DeviceReduce::ArgMin, ArgMax` \| cold \| +2 \| +1\.10x \| +1\.15x \| +0\.80x \| +1 \| +0 \| +1 \|", page)
    told = page.partition("## Where CUB is faster\n")[2]
    assert told.startswith("\n1 cell, the worst first: 1 of `DeviceReduce::ArgMin, ArgMax`.")
    assert re.search(r"\| +0\.80x \| `DeviceReduce::ArgMin, ArgMax` \| f32 +\| minimum, cold +\| +1 Mi \| +5\.00 \| +4\.00 \| 3\.5\.0 \|", told)


def test_bytes_of_both(repository, run):
    """Ours beside the least and the most of what CUB's entries of all releases ask for, at each n of the table."""
    for release, day, cubs in (("3.0.1", 1, 43007), ("3.5.0", 2, 767)):
        found = made(release, f"2026-11-0{day}T000000Z-1a2b3c4", {1 << 20: (5.0, 6.0), 1 << 24: (20.0, 30.0)})
        for row in found["rows"]:
            row["workspace_bytes"] = (8704 if row["items"] == 1 << 20 else 16384) if row["rung"] == "front_door" else cubs
        synthetic.write(repository / "report/data", found)
    synthetic.write_sources(repository)
    assert run()[0] == 0
    page = (repository / "report/synthetic-gpu/front_door.md").read_text()
    told = page.partition("## Workspace\n")[2]
    assert "in 0 of 2 cells ours asks for no more than any entry of CUB's, in 2 for no more than some, in 0 for more than all." in told
    assert "above: 16,384 bytes beside 767 to 43,007 (`DeviceReduce::ArgMin, ArgMax`, 16 Mi items)" in told
    assert re.search(r"\| `DeviceReduce::ArgMin, ArgMax` \| f32 \| +– \| +– \| +8,704 : 767 to 43,007 \| +16,384 : 767 to 43,007 \| +– \|", told)


def test_two_gpus(repository, run):
    """Only runs of one commit beside one release are compared; whose times are larger, and which cells lose on one of them alone."""
    data, commit = repository / "report/data", "1a2b3c4"
    synthetic.write(data, made("3.0.1", f"2026-11-01T000000Z-{commit}", {1 << 20: (8.0, 9.0), 1 << 24: (30.0, 20.0)}, "one"))
    assert run()[0] == 0 and not (repository / "report/chips.md").exists()
    synthetic.write(data, made("3.0.1", f"2026-11-02T000000Z-{commit}", {1 << 20: (5.0, 6.0), 1 << 24: (20.0, 30.0)}, "two"))
    synthetic.write(data, made("3.5.0", f"2026-11-03T000000Z-{commit}", {1 << 20: (1.0, 2.0)}, "two"))
    assert run()[0] == 0
    page = (repository / "report/chips.md").read_text()
    assert "(chips.md)" in (repository / "report/index.md").read_text() and "](../chips.md)" in (repository / "report/two/index.md").read_text()
    assert f"`2026-11-01T000000Z-{commit}` and `2026-11-02T000000Z-{commit}` (CUB 3.0.1)" in page
    # 8 / 5 and 30 / 20; the means of 9 / 8 and 20 / 30, and of 6 / 5 and 30 / 20.
    assert re.search(r"\| `DeviceReduce::ArgMin, ArgMax` \| cold \| +2 \| +1\.60x \| +1\.50x \| +0\.87x \| +1\.34x \|", page)
    told = page.partition("Slower than CUB on one of them, and not on the other:")[2]
    assert re.search(r"\| f32 +\| cold +\| 16 Mi \| 0\.67x \*\*slower\*\* \| 1\.50x faster \|", told) and "1 Mi" not in told


def test_no_front_door_no_page(repository, run):
    synthetic.write(repository / "report/data", synthetic.document())
    run()
    assert not (repository / "report/synthetic-gpu/front_door.md").exists()
