"""Drives asked step by step, and columns in and out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL, TRACE, command, without_machine

import phelsuma
from phelsuma import Drive, Requests, Trace, Workload


def test_columns_of_a_trace_run_as_the_trace_does() -> None:
    trace = Trace.open(TRACE)
    requests = trace.requests()
    assert trace.format == "csv" and len(requests) == trace.info()["requests"]
    options = {"capacity": "352MiB", "ratio": 0.92, "open_loop": True}
    from_file = phelsuma.run("page", trace=trace, **options)  # type: ignore[arg-type]
    from_memory = phelsuma.run("page", trace=requests, **options)  # type: ignore[arg-type]
    # What was read of it is of the file, or of memory.
    read = [result.raw["input"] for result in (from_file, from_memory)]
    assert [part["requests"] for part in read] == [len(requests)] * 2
    assert read[0]["duration_ns"] == read[1]["duration_ns"]
    theirs = {**from_file.raw, "input": None}
    assert without_machine({**from_memory.raw, "input": None}) == without_machine(theirs)
    # Half of it is another trace.
    half = Requests(requests.op[::2], requests.offset_bytes[::2], requests.size_bytes[::2])
    assert phelsuma.run("page", trace=half, capacity="352MiB", ratio=0.92).host.trace_requests == len(half)


def test_a_trace_is_filtered_sorted_and_doubted_as_it_was_opened(tmp_path: Path) -> None:
    first = Trace.open(TRACE, first=1000, drop_trims=True)
    assert len(first.requests()) == 1000 and 2 not in first.requests().op
    back = tmp_path / "back.txt"
    back.write_text("9|w|4096|512\n7|w|8192|512\n8|r|4096|512\n")
    trace = Trace.open(back, columns="time:ms,op,offset,size", sort=True)
    assert list(trace.requests().offset_bytes) == [8192, 4096, 4096]
    result = phelsuma.run("page", trace=trace, **SMALL)
    assert result.input is not None and result.input.sorted and result.input.back_in_time == 1
    with pytest.raises(phelsuma.InputError, match="--strict takes no warning"):
        phelsuma.run("page", trace=Trace.open(back, columns="time:ms,op,offset,size", strict=True), **SMALL)


def test_a_structured_array_is_columns() -> None:
    fields = [("op", "u1"), ("offset_bytes", "u8"), ("size_bytes", "u8")]
    array = np.array([(1, page * 4096, 4096) for page in range(1000)], dtype=fields)
    result = phelsuma.run("page", trace=Requests.from_array(array, name="mine"))
    assert result.workload == "mine" and result.host.write_pages == 1000


def test_operations_are_names_or_numbers_in_any_kind_of_column() -> None:
    codes = [1, 0, 2, 1, 3]
    names = [phelsuma.OPS[code] for code in codes]
    for op in (
        names,
        np.array(names),
        np.array(names, dtype="S"),
        np.array(names, dtype=object),
        np.array([name.encode() for name in names], dtype=object),
        np.array(codes, dtype=object),
        np.array(codes, dtype=np.int64),
    ):
        requests = Requests(op, [0, 0, 0, 4096, 0], [4096, 4096, 4096, 4096, 0])
        assert requests.op.dtype == np.uint8 and requests.op.tolist() == codes
    assert len(Requests([], [], [])) == 0


def test_a_frame_of_requests_gives_the_requests_again() -> None:
    pytest.importorskip("pandas")
    frame = Workload("mixed:read=30:uniform").requests(100, logical_pages=1000).to_frame()
    for op in (frame["op"], frame["op"].astype(object), frame["op"].astype("category"), frame["op"].astype("string")):
        again = Requests(op, frame["offset_bytes"], frame["size_bytes"], frame["time_ns"], frame["device"])
        assert again.to_frame().equals(frame) and set(again.op) == {0, 1}


@pytest.mark.parametrize("op", [["write", None], [1.0], ["write", 7], [b"wrote"], [[1], [1]], "write", [float("nan")]])
def test_what_is_no_operation_is_refused_in_one_line(op: object) -> None:
    with pytest.raises(phelsuma.InputError, match="; use ") as said:
        Requests(op, [0], [4096])  # type: ignore[arg-type]
    assert str(said.value).startswith("op ") and "\n" not in str(said.value)


def test_what_is_no_request_is_refused_with_its_row() -> None:
    with pytest.raises(phelsuma.InputError, match="request 1: 0 bytes"):
        phelsuma.run("page", trace=Requests(["write", "write"], [0, 0], [4096, 0]))
    with pytest.raises(phelsuma.InputError, match="op 'wrote' is not an operation"):
        Requests(["wrote"], [0], [4096])
    with pytest.raises(phelsuma.InputError, match="2 values of size_bytes for 1 of op"):
        Requests(["write"], [0], [1, 2]).shared()
    with pytest.raises(phelsuma.InputError, match="offset_bytes has values out of range; use whole numbers from 0"):
        Requests(["write"], [-1], [4096])
    with pytest.raises(phelsuma.InputError, match="use whole numbers"):
        Requests(["write"], [0.5], [4096])
    with pytest.raises(phelsuma.InputError, match="lacks size_bytes"):
        Requests.from_array(np.zeros(3, dtype=[("op", "u1"), ("offset_bytes", "u8")]))


def test_the_requests_of_a_workload_are_those_that_it_asks() -> None:
    workload = Workload("zipf:0.99")
    requests = workload.requests(10_000, logical_pages=1000, seed=3)
    assert (requests.op == 1).all() and requests.offset_bytes.max() < 1000 * 4096
    pages, counts = np.unique(requests.offset_bytes, return_counts=True)
    assert counts.max() > 10 * 10_000 / 1000, "popular pages are written far more often than the mean"
    theirs = command("trace", "info", "--workload", "zipf:0.99", "--pages", "1000", "--writes", "10000", "--seed", "3")
    ours = workload.info(1000, seed=3, pages_written=10_000)
    assert ours == theirs and ours["unique_pages_written"] == len(pages)


def test_a_drive_step_by_step_comes_to_what_a_run_comes_to() -> None:
    options = {**SMALL, "seed": 5}
    theirs = phelsuma.run("geckoftl", workload="uniform", warmup=1, passes=1, **options)
    drive = Drive("geckoftl", **options)
    written = drive.logical_pages
    pages = Workload("uniform").requests(2 * written, logical_pages=written, seed=5).offset_bytes // 4096
    drive.submit("write", pages[:written])
    drive.begin_counting()
    drive.submit("write", pages[written:])
    ours = drive.stats()
    for part in (
        "host",
        "flash",
        "write_amplification",
        "erases",
        "counters",
        "latency_us",
        "geometry",
        "drift",
        "channels",
    ):
        assert ours.raw[part] == theirs.raw[part], part


def test_a_drive_survives_power_cuts_and_goes_on() -> None:
    drive = Drive("geckoftl", **SMALL)
    rng = np.random.default_rng(1)
    for _ in range(3):
        drive.submit("write", rng.integers(drive.logical_pages, size=20_000))
        recovery = drive.power_cut()
        assert recovery.simulated_us == pytest.approx(sum(step.us for step in recovery.steps))
        assert drive.stats().host.write_pages == 0
    with pytest.raises(phelsuma.InputError, match="does not survive power cuts"):
        Drive("geckoftl", set={"power": "nothing"}, **SMALL).power_cut()


def test_what_is_on_the_flash_agrees_with_what_was_asked() -> None:
    drive = Drive("page", fill="none", **SMALL)
    made = drive.erase_counts()
    assert (drive.validity()[2:] == 0).all()
    drive.write(0, 1000)
    drive.trim(10, 5)
    drive.write(0, 20)
    assert drive.read(0, 1000) == 0
    live = phelsuma.PAGE_STATES.index("live")
    validity = drive.validity()
    assert validity.shape == (512, 32) and (validity == live).sum() == 1000
    drive.submit("write", np.arange(4 * drive.logical_pages, dtype=np.uint64) % 977)
    blocks, validity = drive.blocks(), drive.validity()
    assert blocks is not None
    known = (blocks.kind == 1) & (blocks.live_pages >= 0)
    assert ((validity == live).sum(axis=1)[known] == blocks.live_pages[known]).all() and known.any()
    assert (drive.erase_counts() - made).sum() == drive.stats().erases.total > 0
    assert drive.counters()["collections"] > 0 and drive.gecko_runs() is None


def test_latencies_are_histograms() -> None:
    drive = Drive("dftl", **SMALL)
    drive.submit("write", np.arange(10_000, dtype=np.uint64) * 7919 % drive.logical_pages)
    writes = drive.latencies_ns()["write"]
    assert writes.counts.sum() == 10_000 and (np.diff(writes.values.astype(np.int64)) > 0).all()
    latency = drive.stats().latency_us.write
    assert latency is not None
    mean = (writes.values * writes.counts).sum() / 10_000 / 1000
    assert mean == pytest.approx(latency.mean, rel=1e-3)
    assert len(drive.latencies_ns()["read"].values) == 0


def test_runs_of_a_gecko_can_be_seen() -> None:
    drive = Drive("geckoftl", **SMALL)
    drive.submit("write", np.arange(100_000, dtype=np.uint64) * 7919 % drive.logical_pages)
    runs = drive.gecko_runs()
    assert runs and all(pages > 0 for _, pages in runs)
    assert sum(pages for _, pages in runs) == drive.counters()["gecko_pages"]


def test_what_cannot_be_asked_of_a_drive_is_said() -> None:
    drive = Drive("page", **SMALL)
    with pytest.raises(phelsuma.InputError, match="write of 2 pages from page"):
        drive.write(drive.logical_pages - 1, 2)
    with pytest.raises(phelsuma.InputError, match="1 values of pages for 2 of op"):
        drive.submit("write", [1, 2], [1])
    with pytest.raises(phelsuma.InputError, match="an FTL of its own"):
        Drive("ftl-mm:fast", channels=2, **SMALL).validity()
    with pytest.raises(phelsuma.InputError, match="nobody knows step by step"):
        Drive("oracle", **SMALL)
    for wrong in ({"first": -1}, {"first": 2**64}, {"first": 0, "pages": -1}, {"first": 0, "at_ns": -1}):
        with pytest.raises(phelsuma.InputError, match="use a whole number from 0 to"):
            drive.write(**wrong)
    drive.write(np.int64(3))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "option",
    [{"workload": "zipf:0.9"}, {"warmup": 1}, {"passes": 0.0}, {"loops": 2}, {"cut_at_end": True}, {"fold": "wrap"}],
)
def test_a_drive_refuses_what_is_about_an_input(option: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=f"a drive has no '{next(iter(option))}'"):
        Drive("page", **option)  # type: ignore[arg-type]
    # Left out, as in a run.
    Drive("page", **SMALL, cut_at_end=False, warmup=None)


def test_extents_are_what_follows_each_other_for_the_host_and_on_flash() -> None:
    nowhere = phelsuma.NOWHERE
    places = np.array([6, 7, 8, 9, nowhere, 2, 3, 5, 4, nowhere], dtype=np.uint32)
    found = phelsuma.Extents.of(places, 8)
    assert found.first.tolist() == [0, 2, 5, 7, 8], "a block ends before page 8"
    assert found.place.tolist() == [6, 8, 2, 5, 4] and found.pages.tolist() == [2, 2, 2, 1, 1]
    assert phelsuma.Extents.of(np.full(3, nowhere, dtype=np.uint32), 8).pages.tolist() == []

    drive = Drive("page", fill="none", **SMALL)
    assert len(drive.extents().pages) == 0
    drive.write(40, 20)
    drive.trim(50)
    extents = drive.extents()
    assert extents.pages.sum() == 19 and (extents.first != 50).all()
    assert (drive.validity().reshape(-1)[drive.places()[40:50]] == phelsuma.PAGE_STATES.index("live")).all()
    drive.write(45)
    assert 45 in drive.extents().first.tolist(), "it lies elsewhere now"
