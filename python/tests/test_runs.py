"""Runs and comparisons come to what the command comes to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL, TRACE, command, complaint, without_machine

import phelsuma
from phelsuma.results import Result

WORDS = ["--capacity", "64MiB", "--ratio", "0.8", "--pages-per-block", "32"]


def test_a_run_gives_what_the_command_gives() -> None:
    options = ["--workload", "zipf:0.99", "--seed", "7", "--set", "victim=fifo", "--interval", "5000", "--cut-at-end"]
    theirs = command("run", "--ftl", "page", *WORDS, *options)
    ours = phelsuma.run(
        "page", workload="zipf:0.99", seed=7, set={"victim": "fifo"}, interval=5000, cut_at_end=True, **SMALL
    )
    assert without_machine(ours.raw) == without_machine(theirs)
    assert ours.composition.victim == "fifo" and len(ours.series) == 3 and ours.recovery is not None


def test_a_comparison_on_the_demo_trace_gives_what_the_command_gives() -> None:
    shape = ["--capacity", "352MiB", "--ratio", "0.92", "--cache", "1KiB"]
    theirs = command("compare", "--ftl", "page,dftl", "--trace", str(TRACE), *shape)
    ours = phelsuma.compare(["page", "dftl"], trace=TRACE, capacity="352MiB", ratio=0.92, cache="1KiB")
    # The command adds its verdict to each.
    alone = [{key: part for key, part in one.items() if key != "comparison"} for one in theirs]
    assert without_machine([result.raw for result in ours]) == without_machine(alone)
    assert [result.ftl for result in ours] == ["page", "dftl"] and ours["dftl"].wa > ours["page"].wa


def test_results_say_which_are_not_steady() -> None:
    results = phelsuma.compare(["page", "dftl"], workload="zipf:0.99", warmup=0, passes=0.5, **SMALL)
    unsteady = [result.ftl for result in results if result.steady is False]
    assert unsteady and results.not_steady == unsteady
    assert repr(results).count("(not steady)") == results._repr_html_().count("<td>no</td>") == len(unsteady)


def test_one_ftl_is_run_and_several_are_compared() -> None:
    with pytest.raises(TypeError, match="ftl is one name, not list; compare\\(\\) takes several"):
        phelsuma.run(["page", "dftl"])  # type: ignore[arg-type]
    for wrong in ([], 5, ["page", 5]):
        with pytest.raises(TypeError, match="ftls are names, one or more, not "):
            phelsuma.compare(wrong)  # type: ignore[arg-type]
    for ask in (phelsuma.Workload("uniform").requests, phelsuma.Trace.open(TRACE).requests):
        with pytest.raises(phelsuma.InputError, match="most is -1; use a whole number from 0 on"):
            ask(-1, **({"logical_pages": 9} if ask.__qualname__.startswith("Workload") else {}))


def test_what_some_ftls_have_no_part_for_is_remarked() -> None:
    results = phelsuma.compare(
        ["page", "geckoftl"], workload="uniform", set=["gecko.size_ratio=4"], passes=0.1, warmup=0, **SMALL
    )
    assert len(results.remarks) == 1
    assert results.remarks[0].startswith(
        ("gecko.size-ratio is not set for page", "gecko.size_ratio is not set for page")
    )


def test_keywords_become_the_commands_words_without_loss() -> None:
    def said(**options: object) -> list[str]:
        return phelsuma.options.words(options)

    assert said(ratio=1e-7, passes=1e22) == ["--ratio=0.0000001", "--passes=10000000000000000000000"]
    small = 1.2345678901234567e-9
    assert float(said(ratio=small)[0].split("=")[1]) == small
    assert said(ratio=np.float32(1e-6), seed=np.uint64(2**64 - 1)) == ["--ratio=0.000001", f"--seed={2**64 - 1}"]
    assert said(open_loop=np.True_, cut_at_end=np.False_, cache=None) == ["--open-loop"]
    for settings in ("victim=fifo", ["victim=fifo"], {"victim": "fifo"}):
        assert said(set=settings) == ["--set=victim=fifo"]
    assert phelsuma.run("page", workload="uniform", set="victim=fifo", **SMALL).composition.victim == "fifo"


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--ftl", "nosuch", "--workload", "uniform"], {"ftl": "nosuch", "workload": "uniform"}),
        (["--ftl", "page", "--workload", "zipf"], {"ftl": "page", "workload": "zipf"}),
        (
            ["--ftl", "page", "--workload", "uniform", "--ratio", "-1"],
            {"ftl": "page", "workload": "uniform", "ratio": -1},
        ),
        (
            ["--ftl", "page", "--workload", "uniform", "--capacity", "x"],
            {"ftl": "page", "workload": "uniform", "capacity": "x"},
        ),
        (["--ftl", "page"], {"ftl": "page"}),
        (
            ["--ftl", "page", "--workload", "uniform", "--loops", "2"],
            {"ftl": "page", "workload": "uniform", "loops": 2},
        ),
        (["--ftl", "page", "--trace", "/no/such/file"], {"ftl": "page", "trace": "/no/such/file"}),
        (
            ["--ftl", "dftl", "--workload", "uniform", "--cache", "9"],
            {"ftl": "dftl", "workload": "uniform", "cache": 9},
        ),
    ],
)
def test_what_cannot_be_is_said_in_the_commands_line(words: list[str], options: dict[str, object]) -> None:
    with pytest.raises(phelsuma.InputError) as raised:
        phelsuma.run(**options)  # type: ignore[arg-type]
    assert str(raised.value) == complaint("run", *words)
    assert isinstance(raised.value, ValueError) and "\n" not in str(raised.value)


def test_an_option_that_there_is_not_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="no option 'capacty'.*capacity"):
        phelsuma.run("page", workload="uniform", capacty="64MiB")  # type: ignore[call-arg]


def test_an_interrupt_ends_a_run_within_a_tenth_of_a_second() -> None:
    # A run of minutes, of an FTL that is slow, and one of several.
    slow = "phelsuma.run('fast', workload='uniform', capacity='8GiB', passes=1000)"
    several = "phelsuma.compare(['page', 'fast'], workload='uniform', capacity='8GiB', passes=1000)"
    for what in (slow, several):
        program = (
            "import phelsuma, signal, time\n"
            # What is started in the background of a shell has it ignored.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "print('begun', flush=True)\n"
            f"try: {what}\n"
            "except KeyboardInterrupt: print(time.time(), flush=True)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        time.sleep(1.0)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        ended = float(process.stdout.readline())
        assert process.wait(10) == 0
        # Of this the engine takes 0.04 s at the most; the rest is for machines with much else to do.
        assert ended - sent < float(os.environ.get("PHELSUMA_INTERRUPT_SECONDS", "0.5"))


def test_other_threads_go_on_while_the_engine_runs() -> None:
    steps = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal steps
        while not ended.wait(0.001):
            steps += 1

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    phelsuma.run("page", workload="uniform", capacity="4GiB")
    seconds = time.monotonic() - began
    ended.set()
    thread.join()
    assert steps > 20 * seconds, "a thread of Python's gets its turn while the engine is at work"


def test_progress_tells_phases_and_never_goes_back_in_one() -> None:
    told: list[tuple[str, str | None, int, int | None]] = []
    phelsuma.run("page", workload="uniform", capacity="8GiB", progress=lambda *what: told.append(what))
    assert {name for name, *_ in told} == {"page"}
    phases = [phase for _, phase, *_ in told]
    assert phases[-1] is None and set(phases) <= {"fill", "warm-up", "measure", None} and len(set(phases)) > 1
    measured = [done for _, phase, done, _ in told if phase == "measure"]
    assert measured == sorted(measured)


def test_an_error_of_whoever_is_told_of_progress_ends_the_run() -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        phelsuma.run("page", workload="uniform", capacity="8GiB", passes=100, progress=refuse)


def test_several_runs_at_a_time_are_alike() -> None:
    results: list[Result] = []
    one = lambda: results.append(phelsuma.run("geckoftl", workload="uniform", **SMALL))  # noqa: E731
    threads = [threading.Thread(target=one) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len({json.dumps(without_machine(result.raw)) for result in results}) == 1 and len(results) == 3


def test_names_are_those_of_the_command() -> None:
    assert phelsuma.names() == command("list")
    assert {"page", "dftl", "geckoftl"} <= set(phelsuma.ftls())


def test_a_result_reads_again_from_a_file(tmp_path: Path) -> None:
    result = phelsuma.run("page", workload="uniform", **SMALL)
    (tmp_path / "result.json").write_text(result.to_json())
    assert Result.from_json((tmp_path / "result.json").read_text()) == result
