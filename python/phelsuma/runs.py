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
    """Runs a workload or a trace on one FTL, as `phelsuma run` does, and returns the result.

    The engine releases the GIL while it runs. An interrupt ends the run at once.

    Raises:
        InputError: the FTL, an option or the input is wrong.
        RunFailedError: the run began but was not completed.
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
    """Runs a workload or a trace on several FTLs, on all cores, as `phelsuma compare` does.

    The results are sorted by write amplification, least first. `results["page"]` is the result of one FTL.

    Raises:
        InputError: an FTL, an option or the input is wrong.
        RunFailedError: a run began but was not completed.
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
    """All names, as `phelsuma list --json` prints them: `phelsuma.list/1` (docs/JSON.md)."""
    value: Dict[str, Any] = json.loads(_engine.names())
    return value


def ftls() -> List[str]:
    """The names of all FTLs."""
    return [ftl["name"] for ftl in names()["ftls"]]
