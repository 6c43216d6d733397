"""Results have every field that the JSON has, under the same names."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from typing import Any, Iterator

import pytest
from conftest import ROOT, SMALL, documented_keys

import phelsuma
from phelsuma import results


def paths(of: Any, prefix: str = "") -> Iterator[str]:
    """Every field of a dataclass as docs/JSON.md writes its key."""
    for field in dataclasses.fields(of):
        if field.name == "raw":
            continue
        kind = typing.get_type_hints(of)[field.name]
        path = prefix + field.name
        parts = [part for part in typing.get_args(kind) if part is not type(None)]
        if len(parts) == 1 and typing.get_origin(parts[0]) is list:
            # A list that may not be there.
            kind, parts = parts[0], list(typing.get_args(parts[0]))
        if typing.get_origin(kind) is list and dataclasses.is_dataclass(parts[0]):
            yield from paths(parts[0], path + "[].")
        elif typing.get_origin(kind) is list:
            yield path + "[]"
        elif typing.get_origin(kind) is dict and dataclasses.is_dataclass(parts[1]):
            yield from paths(parts[1], path + ".PURPOSE.")
        elif typing.get_origin(kind) is dict:
            yield path + ".NAME"
        elif parts and dataclasses.is_dataclass(parts[0]):
            yield from paths(parts[0], path + ".")
        elif dataclasses.is_dataclass(kind):
            yield from paths(kind, path + ".")
        else:
            yield path


def written_out(key: str) -> Iterator[str]:
    """A key of the table, with its braces written out."""
    braces = re.search(r"\{([^}]*)\}", key)
    if not braces:
        yield key
        return
    for part in braces[1].split(","):
        yield from written_out(key[: braces.start()] + part + key[braces.end() :])


def test_every_documented_key_is_a_field_and_every_field_is_documented() -> None:
    documented = {path for key in documented_keys("phelsuma.run/1") for path in written_out(key)}
    # The one name that depends on the column.
    ours = {path.replace("ram_bytes.papers.NAME", "ram_bytes.papers.STRUCTURE") for path in paths(results.Result)}
    ours = {path.replace("ram_bytes.all.NAME", "ram_bytes.all.STRUCTURE") for path in ours}
    documented -= {"ram_bytes.papers.total", "ram_bytes.all.total"}
    assert ours == documented


def test_typed_objects_hold_what_the_json_holds() -> None:
    result = phelsuma.run(
        "geckoftl", workload="mixed:read=30:zipf:0.9", interval=4000, distributions=True, cut_at_end=True, **SMALL
    )
    again = dataclasses.asdict(result)
    raw = again.pop("raw")
    # Only there if it is so.
    for part in ("wear", "slc", "write_cache"):
        again["composition"].pop(part)
    again["recovery"].pop("lost_pages")
    again["distributions"].pop("extent_pages_mean")
    assert again.pop("input") is again.pop("comparison") is again.pop("time") is None
    for point in again["series"]:
        assert point.pop("throughput") is point.pop("latency_us") is None
    assert again == raw


def test_a_drive_with_a_link_says_where_the_time_went() -> None:
    result = phelsuma.run(
        "dftl",
        workload="mixed:read=30:uniform",
        interval=4000,
        timing="970pro",
        channels=1,
        dies=1,
        queue_depth=8,
        **SMALL,
    )
    again = dataclasses.asdict(result)
    assert again["time"] == result.raw["time"] and again["series"] == result.raw["series"]
    assert result.time is not None and result.time.link is not None and 0 < result.time.dies.busy <= 1


def test_results_from_before_a_key_was_added_are_read() -> None:
    value = phelsuma.run("page", workload="uniform", **SMALL).raw
    before = {
        key: part for key, part in value.items() if key not in ("management_seconds", "victim_choices", "channels")
    }
    before["geometry"] = {
        key: part for key, part in value["geometry"].items() if key not in ("log_blocks", "unused_blocks")
    }
    result = phelsuma.Result.from_json(json.dumps(before))
    assert result.channels is result.management_seconds is result.victim_choices is result.geometry.log_blocks is None
    assert result.raw == before and result.wa == phelsuma.Result.of(value).wa


def test_stored_runs_of_the_papers_are_read_whatever_their_age() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    stored = sorted((ROOT / "papers").glob("*/runs.jsonl.zst"))
    lines = [line for path in stored for line in pyarrow.input_stream(str(path)).read().splitlines()]
    # What is in a trace is no run.
    found = [of for of in (json.loads(line)["result"] for line in lines) if of.get("schema") == "phelsuma.run/1"]
    runs = [phelsuma.Result.of(one) for one in found]
    assert len(runs) > 100 and all(run.wa >= 1 or run.write_amplification is None for run in runs)


def test_what_is_no_result_is_said() -> None:
    for text in ('{"schema": "phelsuma.list/1"}', "{}", "[]"):
        with pytest.raises(phelsuma.InputError, match="use one of schema 'phelsuma.run/1'"):
            phelsuma.Result.from_json(text)


def test_frames_have_a_row_for_each_result() -> None:
    pytest.importorskip("pandas")
    compared = phelsuma.compare(["page", "dftl", "fast"], workload="uniform", interval=10_000, **SMALL)
    frame = compared.to_frame()
    assert list(frame["ftl"]) == [result.ftl for result in compared]
    assert frame["write_amplification.total"].is_monotonic_increasing
    assert frame.loc[0, "geometry.blocks"] == 512
    one = compared["fast"]
    drive = phelsuma.run("page", workload="uniform", interval=10_000, timing="970pro", channels=1, dies=1, **SMALL)
    assert drive.series_frame()["latency_us.write.p99"].min() > 0
    assert len(one.to_frame()) == 1 and len(one.series_frame()) == len(one.series)
    assert one.flash_frame().loc["merge", "programs"] == one.flash["merge"].programs > 0


def test_a_result_shows_itself_in_a_notebook() -> None:
    compared = phelsuma.compare(["page", "dftl"], workload="uniform", **SMALL)
    assert "dftl" in compared._repr_html_() and "write amplification" in compared[0]._repr_html_()
