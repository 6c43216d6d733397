"""Runs and comparisons."""

from __future__ import annotations

import json
from os import PathLike
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Union

from . import _engine
from .options import Options, with_input
from .progress import Progress, Showing
from .results import Result, Results
from .traces import Requests, Trace, Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

TraceLike = Union[str, "PathLike[str]", Trace, Requests]


def run(
    ftl: str,
    *,
    workload: Union[str, Workload, None] = None,
    trace: Optional[TraceLike] = None,
    progress: Progress = None,
    **options: Unpack[Options],
) -> Result:
    """Runs a workload or a trace on one FTL, as `phelsuma run` does, and gives its result.

    The GIL is released while the engine runs; an interrupt ends it at once.

    Raises:
        InputError: what was asked for cannot be.
        RunFailedError: it was begun and not completed.
    """
    if not isinstance(ftl, str):
        raise TypeError(f"ftl is one name, not {type(ftl).__name__}; compare() takes several")
    words, requests = with_input({"ftl": ftl, **options}, workload, trace)
    with Showing(progress) as callback:
        return Result.from_json(_engine.run(words, requests, callback))


def compare(
    ftls: Sequence[str],
    *,
    workload: Union[str, Workload, None] = None,
    trace: Optional[TraceLike] = None,
    jobs: Optional[int] = None,
    progress: Progress = None,
    **options: Unpack[Options],
) -> Results:
    """Runs the same on several FTLs, on all cores, as `phelsuma compare` does: results, least write amplification
    first, whatever the order of the names; `results["page"]` is that of one.

    Raises:
        InputError: what was asked for cannot be.
        RunFailedError: one of them was begun and not completed.
    """
    asked = [ftls] if isinstance(ftls, str) else list(ftls) if isinstance(ftls, Iterable) else [ftls]
    if not asked or not all(isinstance(name, str) for name in asked):
        raise TypeError(f"ftls are names, one or more, not {ftls!r}")
    names = ",".join(asked)
    words, requests = with_input({"ftl": names, "jobs": jobs, **options}, workload, trace)
    with Showing(progress) as callback:
        text, remarks = _engine.compare(words, requests, callback)
    return Results([Result.of(value) for value in json.loads(text)], remarks)


def names() -> Dict[str, Any]:
    """Everything that has a name: `phelsuma.list/1`, as docs/JSON.md has it."""
    value: Dict[str, Any] = json.loads(_engine.names())
    return value


def ftls() -> List[str]:
    """The names of all FTLs."""
    return [ftl["name"] for ftl in names()["ftls"]]
