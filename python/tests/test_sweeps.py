"""Sweeps: rows for all configurations, wherever they run, and however often they are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, TRACE

import phelsuma

pytest.importorskip("pyarrow")

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


def rows(sweep: phelsuma.Sweep) -> list[dict[str, Any]]:
    """Without the part that differs from run to run."""
    shown = []
    for row in sweep.rows():
        shown.append({k: v for k, v in row.items() if not k.startswith("machine.") and k != "result"})
    return shown


def test_a_grid_has_every_combination_and_the_last_keyword_changes_fastest() -> None:
    grid = phelsuma.grid(ftl=["page", "dftl"], workload="uniform", ratio=[0.7, 0.8])
    assert [(one["ftl"], one["ratio"]) for one in grid] == [("page", 0.7), ("page", 0.8), ("dftl", 0.7), ("dftl", 0.8)]


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
    keys = {row["key"] for row in phelsuma.sweeps._rows(tmp_path)}
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
    assert not list(tmp_path.glob("part-*"))
    with pytest.raises(phelsuma.InputError, match="there twice"):
        phelsuma.sweep([CONFIGURATIONS[0], dict(CONFIGURATIONS[0])], tmp_path)


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
