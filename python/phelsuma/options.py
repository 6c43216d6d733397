"""The options of the command, as keywords."""

from __future__ import annotations

from decimal import Decimal
from os import PathLike
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple, TypedDict, Union

import numpy as np

if TYPE_CHECKING:
    from . import _engine

Size = Union[int, str]
"""Bytes, or as people write them: 4096, "256MiB", "64GB"."""

Settings = Union[Mapping[str, object], Sequence[str], str]
"""What changes parts and parameters of an FTL: {"victim": "fifo"}, ["victim=fifo"] or, where it is one, "victim=fifo"."""


class Options(TypedDict, total=False):
    """What `run`, `compare` and `Drive` take besides FTL and input, as `phelsuma run --help` tells it. What is left
    out, or None, is the command's default."""

    capacity: Size | None
    """Physical bytes; 4 GiB, or with a trace the smallest power of two that holds it, at least 256 MiB."""
    ratio: float | None
    """Logical over physical pages; 0.70."""
    page: Size | None
    """Bytes of a page; 4 KiB."""
    pages_per_block: int | None
    """Pages of a block; 128."""
    channels: int | None
    """Channels; 1."""
    dies: int | None
    """Dies on each channel; 1."""
    seed: int | None
    """Seed of everything random; 1."""
    cache: Size | None
    """Bytes of the cache of mapping entries; 1/512 of the table, at least 1,024 entries of 8 bytes."""
    set: Settings | None
    """Changes parts or parameters of the FTL."""
    fill: str | None
    """What is written before anything is counted: sequential, random or none; sequential."""
    warmup: float | None
    """Logical capacities that a workload writes before anything is counted; 2."""
    passes: float | None
    """Logical capacities that a workload writes while counted; 1."""
    loops: int | None
    """How often a trace is replayed; the last time is counted; 1."""
    fold: str | None
    """How a trace's addresses become logical pages: compact or wrap; compact."""
    queue_depth: int | None
    """Requests in progress at all times; 1."""
    open_loop: bool | None
    """Requests arrive at their timestamps."""
    timing: str | None
    """How long flash operations take; gecko."""
    interval: int | None
    """A point of the series after so many host pages written."""
    distributions: bool | None
    """Observe how long pages live and how long blocks are dormant."""
    cut_at_end: bool | None
    """Cut the power at the end and recover."""
    format: str | None
    """Format of a trace, where detection is wrong."""
    time_unit: str | None
    """Unit of a trace's times: s, ms, us, 100ns (or filetime), ns or ps."""
    sector: int | str | None
    """Size of a trace's sectors, where the format's own is not right."""


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
    """Words for options and input, and requests where these are in memory."""
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
        given.setdefault("format", trace.format)
        if trace.time_unit is not None:
            given.setdefault("time_unit", trace.time_unit)
        if trace.sector is not None:
            given.setdefault("sector", trace.sector)
    elif isinstance(trace, (str, PathLike)):
        given["trace"] = trace
    elif trace is not None:
        raise TypeError(f"a trace is a path, a Trace or Requests, not {type(trace).__name__}")
    return words(given), requests
