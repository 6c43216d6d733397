"""Sweeps: rows for all configurations, wherever they run, and however often they are interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest
from conftest import SMALL, TRACE

import phelsuma
from phelsuma import _engine

pyarrow = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

CONFIGURATIONS = phelsuma.grid(
    ftl=["page", "dftl", "fast"], workload=["uniform", "zipf:0.9"], ratio=[0.5, 0.6], seed=[1]
)
for configuration in CONFIGURATIONS:
    configuration.update({**SMALL, "ratio": configuration["ratio"]})


# Two hundred in the long mode.
MANY = list(CONFIGURATIONS)
if os.environ.get("PHELSUMA_THOROUGH"):
    MANY = phelsuma.grid(ftl=["page", "dftl", "geckoftl", "fast"], workload=["uniform", "zipf:0.9"], seed=range(25))
    MANY = [{**SMALL, **configuration} for configuration in MANY]


ONE = {"ftl": "page", "workload": "uniform", "fill": "none", "warmup": 0, "passes": 0.1, **SMALL}
"""What takes next to nothing."""


def rows(sweep: phelsuma.Sweep) -> list[dict[str, Any]]:
    """Without the part that differs from run to run."""
    shown = []
    for row in sweep.rows():
        shown.append({k: v for k, v in row.items() if not k.startswith("machine.") and k != "result"})
    return shown


def test_a_grid_has_every_combination_and_the_last_keyword_changes_fastest() -> None:
    grid = phelsuma.grid(ftl=["page", "dftl"], workload="uniform", ratio=[0.7, 0.8])
    assert [(one["ftl"], one["ratio"]) for one in grid] == [("page", 0.7), ("page", 0.8), ("dftl", 0.7), ("dftl", 0.8)]
    # Arrays are lists, and what is in them is Python's.
    grid = phelsuma.grid(ratio=np.linspace(0.5, 0.7, 3, dtype=np.float32), seed=np.arange(2), cache=np.array(4096))
    assert [(one["ratio"], one["seed"]) for one in grid] == [(r, s) for r in (0.5, 0.6, 0.7) for s in (0, 1)]
    assert json.loads(json.dumps(grid)) == grid and grid[0]["cache"] == 4096


def test_each_row_is_what_a_run_gives_and_a_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    wrong = {"ftl": "page", "workload": "uniform", **SMALL, "ratio": 0.9999}
    sweep = phelsuma.sweep([wrong, *CONFIGURATIONS], tmp_path)
    frame = sweep.to_frame()
    assert len(frame) == len(CONFIGURATIONS) + 1 and [one["ratio"] for one, _ in sweep.failed] == [0.9999]
    with pytest.raises(phelsuma.InputError) as said:
        phelsuma.run(**wrong)
    assert sweep.failed[0][1] == str(said.value)
    alone = [phelsuma.run(**one).wa for one in CONFIGURATIONS]
    assert list(frame["write_amplification.total"][1:]) == alone
    assert [result.wa for result in sweep.results()] == alone


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    began = phelsuma.sweep(CONFIGURATIONS[:5], tmp_path)
    before = [row["machine.cpu_seconds"] for row in began.rows()]
    done: list[int] = []
    sweep = phelsuma.sweep(CONFIGURATIONS, tmp_path, progress=lambda name, phase, n, of: done.append(of or 0))
    assert set(done) == {len(CONFIGURATIONS) - 5}
    assert [row["machine.cpu_seconds"] for row in sweep.rows()][:5] == before
    # A trace that has changed is another one.
    trace = tmp_path / "trace.csv"
    one = {"ftl": "page", "trace": str(trace)}
    for size in (4096, 8192):
        trace.write_text(f"time_us,device,op,offset_bytes,size_bytes\n0,0,write,0,{size}\n")
        assert phelsuma.sweep([one], tmp_path / "of-trace").rows()[0]["host.write_pages"] == size // 4096


def test_an_interrupted_sweep_resumes_where_it_was(tmp_path: Path) -> None:
    configurations = phelsuma.grid(ftl="page", workload="uniform", capacity="64MiB", warmup=20, seed=range(1, 500))
    # What is started in the background of a shell has it ignored.
    program = "import phelsuma, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += f"phelsuma.sweep({configurations!r}, {str(tmp_path)!r}, jobs=2)\n"
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("part-*.parquet")):
        assert process.poll() is None, "it is at work"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode != 0 and "KeyboardInterrupt" in said
    keys = {
        row["key"] for row in phelsuma.sweeps._rows(tmp_path, [phelsuma.sweeps._key(one) for one in configurations])
    }
    done = len(keys)
    assert 0 < done < len(configurations), "some were done, and what was done was kept"
    told: list[int] = []
    # Those that were done, whichever they were, and five more.
    missing = [one for one in configurations if phelsuma.sweeps._key(one) not in keys]
    again = [one for one in configurations if phelsuma.sweeps._key(one) in keys] + missing[:5]
    sweep = phelsuma.sweep(again, tmp_path, progress=lambda name, phase, n, of: told.append(of or 0))
    assert set(told) == {5} and len(sweep.rows()) == done + 5


def test_what_cannot_be_a_configuration_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no option 'ration'"):
        phelsuma.sweep([CONFIGURATIONS[0], {"ftl": "page", "workload": "uniform", "ration": 0.5}], tmp_path)
    for wrong, right in [
        ({"workload": "uniform"}, "ftl=NAME"),
        ({"ftl": None}, "ftl=NAME"),
        ({**ONE, "jobs": 2}, "jobs"),
    ]:
        with pytest.raises(TypeError, match=right):
            phelsuma.sweep([CONFIGURATIONS[0], wrong], tmp_path)
    assert not list(tmp_path.glob("part-*"))
    with pytest.raises(phelsuma.InputError, match="there twice"):
        phelsuma.sweep([CONFIGURATIONS[0], dict(CONFIGURATIONS[0])], tmp_path)
    with pytest.raises(phelsuma.InputError, match="jobs is -1"):
        phelsuma.sweep([CONFIGURATIONS[0]], tmp_path, jobs=-1)
    assert len(phelsuma.sweep([ONE], tmp_path, jobs=0).rows()) == 1, "0 are all cores"


def test_whatever_goes_wrong_with_a_run_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _engine.run

    def broken(words: list[str], *more: Any) -> str:
        if "--seed=2" in words:
            raise MemoryError("not enough\nof it")
        return run(words, *more)

    monkeypatch.setattr(_engine, "run", broken)
    sweep = phelsuma.sweep([{**ONE, "seed": seed} for seed in (1, 2, 3)], tmp_path)
    assert [(one["seed"], said) for one, said in sweep.failed] == [(2, "MemoryError: not enough of it")]
    assert len(sweep.results()) == 2


def test_the_folder_is_a_data_set(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    # Parts of which each has columns that others lack; and seeds that are no int64.
    seeds = (1, 2**63, 2**64 - 1)
    wrong = {**ONE, "ratio": 0.9999}
    each = [{**ONE, "seed": seeds[0]}, wrong, {**ONE, "ftl": "fast", "seed": seeds[1]}, {**ONE, "seed": seeds[2]}]
    for one in each:
        phelsuma.sweep([one], tmp_path)
    sweep = phelsuma.sweep([*each, {**ONE, "seed": 2**64}], tmp_path)
    frame = pandas.read_parquet(tmp_path).set_index("key").loc[sweep.keys]
    assert len(frame) == 5 and frame["error"].notna().tolist() == [False, True, False, False, True]
    assert set(sweep.to_frame().columns) - {"key"} == set(frame.columns) - {"result"}
    found = [row["seed"] for row in sweep.rows() if row["error"] is None]
    assert found == list(seeds) == [result.seed for result in sweep.results()]
    types = {field.name: field.type for field in dataset.dataset(tmp_path).schema}
    assert types["seed"] == pyarrow.uint64() and types["write_amplification.total"] == pyarrow.float64()
    assert {types[name] for name in ("key", "configuration", "error", "result")} == {pyarrow.string()}
    merged = frame["ram_bytes.all.total"].dropna().tolist()
    assert merged == [result.ram_bytes.all["total"] for result in sweep.results()]


def test_columns_hold_whatever_is_in_them() -> None:
    column = phelsuma.sweeps._column
    assert column([1, 2.5, None], False).to_pylist() == [1.0, 2.5, None]
    assert column([2**64, 1], False).to_pylist() == [2.0**64, 1.0]
    assert column([1, "x", "\udcff"], False).to_pylist() == ["1", "x", "\\udcff"]
    assert column([None], False) is None and column([None], True).type == pyarrow.string()


@pytest.mark.parametrize("content", [b"", b"not Parquet at all", None, "foreign"])
def test_a_part_that_is_damaged_is_named_with_what_would_be_right(tmp_path: Path, content: object) -> None:
    phelsuma.sweep([ONE], tmp_path)
    (part,) = tmp_path.glob("part-*.parquet")
    if content == "foreign":
        parquet.write_table(pyarrow.table({"x": [1]}), part)
    else:
        # Cut short, as a copy that was interrupted is.
        part.write_bytes(content if isinstance(content, bytes) else part.read_bytes()[:-100])
    with pytest.raises(phelsuma.InputError) as said:
        phelsuma.sweep([ONE], tmp_path)
    assert part.name in str(said.value) and "delete it" in str(said.value)
    assert "\n" not in str(said.value)
    part.unlink()
    assert len(phelsuma.sweep([ONE], tmp_path).results()) == 1


def test_what_a_sweep_that_was_killed_has_left_goes_and_what_is_at_work_stays(tmp_path: Path) -> None:
    old, young = tmp_path / ".making-old-1", tmp_path / ".making-young-2"
    for left in (old, young):
        left.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000, time.time() - 90_000))
    sweep = phelsuma.sweep([ONE], tmp_path)
    assert list(tmp_path.glob(".making-*")) == [young] and len(sweep.rows()) == 1


def test_settings_keep_their_order_in_the_key_and_other_words_do_not(tmp_path: Path) -> None:
    key = phelsuma.sweeps._key
    assert key({**ONE, "set": ["victim=fifo", "wear=none"]}) != key({**ONE, "set": ["wear=none", "victim=fifo"]})
    assert key({**ONE, "set": {"victim": "fifo"}}) == key({**ONE, "set": ["victim=fifo"]})
    assert key({**ONE, "set": "victim=fifo"}) == key({**ONE, "set": ["victim=fifo"]}) != key(ONE)
    assert key(dict(reversed(list(ONE.items())))) == key(ONE)


def test_what_does_not_fit_the_memory_beside_others_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work: set[str] = set()
    looks: list[int] = []
    run = _engine.run

    def watched(words: list[str], requests: Any, go_on: Any, memory_bytes: Any) -> str:
        def told(name: str, phase: Any, done: int, of: Any) -> None:
            (at_work.discard if phase is None else at_work.add)(str(words))
            looks.append(len(at_work))

        return run(words, requests, told, memory_bytes)

    monkeypatch.setattr(_engine, "run", watched)
    several = [{"ftl": "page", "workload": "uniform", "capacity": "2GiB", "seed": seed} for seed in range(3)]
    together = []
    for memory_bytes in (1, 10**9):
        looks.clear()
        sweep = phelsuma.sweep(several, tmp_path / str(memory_bytes), jobs=3, memory_bytes=memory_bytes)
        assert len(sweep.results()) == 3
        together.append(sum(n > 1 for n in looks))
    # That one has ended may be told just after the next one's first look.
    assert together[0] <= 2 < together[1]


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A cluster on this machine, whose workers are begun again where they die."""
    distributed = pytest.importorskip("distributed")
    there = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    )
    with there, distributed.Client(there) as client:
        yield client


def test_a_configuration_that_workers_die_of_is_a_row_and_the_others_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A nested function goes to workers as it is.
    def deadly(key: str, plain: dict[str, Any], **more: Any) -> dict[str, Any]:
        if plain["seed"] == 3:
            os._exit(1)
        if plain["seed"] == 5:
            more["engine"] = "0.0.0 of sources none"
        return phelsuma.sweeps._row(key, plain, **more)

    monkeypatch.setattr(phelsuma.sweeps, "_row", deadly)
    several = [{**ONE, "seed": seed} for seed in range(10)]
    with cluster(2) as client:
        sweep = phelsuma.sweep(several, tmp_path, dask=client)
        said = {one["seed"]: error for one, error in sweep.failed}
        assert set(said) == {3, 5} and "died" in said[3] and "install 0.0.0 of sources none" in said[5]
        assert [result.seed for result in sweep.results()] == [0, 1, 2, 4, 6, 7, 8, 9]
        # Workers of another engine are refused before anything is run: those that died are back.
        client.wait_for_workers(2)
        monkeypatch.setattr(_engine, "sources", lambda: "other")
        with pytest.raises(phelsuma.InputError, match="has engine .*; install .* of sources other there"):
            phelsuma.sweep(several, tmp_path, dask=client)


def test_a_cluster_gives_the_same_rows_and_a_worker_that_dies_loses_nothing(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    configurations = [*MANY, {"ftl": "page", "trace": str(TRACE), "capacity": "352MiB", "ratio": 0.92}]
    here = phelsuma.sweep(configurations, tmp_path / "here")
    environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    address_file = tmp_path / "scheduler.json"

    def started(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env=environment, **quiet)  # type: ignore[call-overload,no-any-return]

    processes = [
        started(
            "dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(address_file),
        )
    ]
    try:
        for _ in range(2):
            words = (
                "--scheduler-file",
                str(address_file),
                "--host",
                "127.0.0.1",
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
            )
            processes.append(started("dask_worker", *words))
        with distributed.Client(scheduler_file=str(address_file), timeout=30) as client:
            client.wait_for_workers(2, timeout=30)

            def kill(name: str, phase: Any, done: int, of: Any) -> None:
                if done == len(MANY) // 4:
                    processes[-1].kill()

            there = phelsuma.sweep(configurations, tmp_path / "there", dask=client, progress=kill)
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
    assert rows(there) == rows(here) and len(there.rows()) == len(configurations)
