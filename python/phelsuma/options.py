"""The options of the command, as keywords."""

from __future__ import annotations

from decimal import Decimal
from os import PathLike
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple, TypedDict, Union

import numpy as np

if TYPE_CHECKING:
    from . import _engine

Size = Union[int, str]
"""Bytes as a number, or as text with a unit: 4096, "256MiB", "64GB"."""

Settings = Union[Mapping[str, object], Sequence[str], str]
"""Changes of parts and parameters: {"victim": "fifo"}, ["victim=fifo"] or, for a single one, "victim=fifo"."""


class Options(TypedDict, total=False):
    """The options of `run`, `compare` and `Drive` besides FTL and input, as in `phelsuma run --help`.

    An option that is None or left out has the command's default.
    """

    capacity: Size | None
    """Physical bytes [default: 4 GiB; with a trace, the smallest power of two that holds it, at least 256 MiB]."""
    ratio: float | None
    """Logical over physical pages [default: 0.70]."""
    page: Size | None
    """Size of a page [default: 4 KiB]."""
    pages_per_block: int | None
    """Pages of a block [default: 128]."""
    channels: int | None
    """Channels [default: 1]."""
    dies: int | None
    """Dies on each channel [default: 1]."""
    seed: int | None
    """Seed of everything random [default: 1]."""
    cache: Size | None
    """Size of the cache of mapping entries, at 8 bytes an entry, for FTLs that have one [default: 1/512 of the table,
    at least 1,024 entries]."""
    set: Settings | None
    """Changes of parts and parameters of the FTL."""
    fill: str | None
    """What is written before anything is counted: sequential, random or none [default: sequential]."""
    warmup: float | None
    """Logical capacities that a workload writes before anything is counted [default: 2; 0 for one that ends]."""
    passes: float | None
    """Logical capacities that a workload writes while counted [default: 1; to the end for one that ends]."""
    loops: int | None
    """How often a trace is replayed; the last time is counted [default: 1]."""
    fold: str | None
    """How a trace's addresses become logical pages: compact or wrap [default: compact]."""
    queue_depth: int | None
    """Requests in progress at all times [default: 1]."""
    open_loop: bool | None
    """Requests arrive at their timestamps."""
    timing: str | None
    """How long flash operations take [default: gecko]."""
    interval: int | None
    """Host pages written between two points of the series [default: no series]."""
    distributions: bool | None
    """Observe how long pages live and how long blocks are dormant."""
    cut_at_end: bool | None
    """Cut the power at the end and recover."""
    format: str | None
    """Trace format, where detection is wrong."""
    time_unit: str | None
    """Unit of the trace's times: s, ms, us, 100ns (or filetime), ns or ps."""
    sector: int | str | None
    """Size of the trace's sectors, where the format's own is not right."""
    columns: str | None
    """What each column of the trace is, such as time:us,device,op,lba:512,size:512, or a file that says so."""
    separator: str | None
    """What separates the columns: a character, tab or blank [default: as the lines show]."""
    skip_lines: int | None
    """Lines before the first record."""
    ops: str | None
    """Names of operations, such as read=0|R,write=1,skip=2 [default: the usual words]."""
    event: str | None
    """Which event of a request stands for it, for blkparse, blktrace and ftrace: issued, queued or completed."""
    sort: bool | None
    """Sort the trace's requests by time."""
    only_device: int | None
    """Only requests of this device."""
    first: int | None
    """Only the first requests."""
    span: str | None
    """Only requests from one second to another after the first request, such as 0..3600."""
    addresses: str | None
    """Only requests that begin from one byte to before another, such as 0..10GiB."""
    drop_trims: bool | None
    """Leave trims out."""
    shift: int | str | None
    """Move all requests up by so many bytes, such as 512 where a partition begins at sector 63."""
    strict: bool | None
    """Fail where the trace's reader has a warning."""


def words(options: Mapping[str, Any]) -> List[str]:
    """The words of the command for these keywords."""
    said: List[str] = []
    for name, value in options.items():
        if name not in Options.__annotations__ and name not in ("ftl", "workload", "trace", "jobs"):
            known = ", ".join(sorted(Options.__annotations__))
            raise TypeError(f"there is no option {name!r}; known are {known}")
        word = "--" + name.replace("_", "-")
        if isinstance(value, np.bool_):
            value = bool(value)
        if value is None or value is False:
            continue
        if value is True:
            said.append(word)
        elif name == "set":
            said.extend(f"--set={setting}" for setting in _settings(value))
        else:
            said.append(f"{word}={_text(value)}")
    return said


def _settings(value: Settings) -> List[str]:
    """Settings as the command takes them, in their order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [f"{parameter}={_text(of)}" for parameter, of in value.items()]
    return [str(setting) for setting in value]


def _text(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    # Every digit that tells it from its neighbours, and no exponent, which is no number to whoever reads it.
    text = str(value)
    return format(Decimal(text), "f") if isinstance(value, (float, np.floating)) and "e" in text else text


def with_input(
    options: Mapping[str, Any], workload: object, trace: object
) -> Tuple[List[str], _engine.Requests | None]:
    """Words for options and input, and the requests if they are in memory."""
    from .traces import Requests, Trace

    # In the order in which people write them, which is that of errors about two of them.
    first = {name: options[name] for name in ("ftl",) if name in options}
    given: Dict[str, Any] = {**first, "workload": None, "trace": None, **options}
    requests = None
    if workload is not None:
        given["workload"] = str(workload)
    if isinstance(trace, Requests):
        given["trace"] = trace.name
        requests = trace.shared()
    elif isinstance(trace, Trace):
        given["trace"] = str(trace.path)
        if trace.given.get("columns") is None:
            given.setdefault("format", trace.format)
        for name, value in trace.given.items():
            given.setdefault(name, value)
    elif isinstance(trace, (str, PathLike)):
        given["trace"] = trace
    elif trace is not None:
        raise TypeError(f"a trace is a path, a Trace or Requests, not {type(trace).__name__}")
    return words(given), requests
