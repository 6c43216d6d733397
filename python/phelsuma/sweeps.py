"""Sweeps: many configurations, on all cores or on a cluster, with a row of Parquet for each.

Rows are written to a folder as they come. A sweep that is begun again does what is not there yet; what went wrong with
a configuration is a row as well, and does not stop the others.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import InputError, PhelsumaError
from .options import with_input
from .progress import Progress, Showing
from .results import Result
from .runs import run
from .traces import Requests, Trace

if TYPE_CHECKING:
    import pandas

Configuration = Mapping[str, Any]
"""Keywords of `run`, the FTL among them as `ftl`."""

_BETWEEN_PARTS_SECONDS = 2.0


def grid(**values: Any) -> List[Dict[str, Any]]:
    """Every combination of these keywords of `run`, of which those that are lists are tried value by value; the last
    one changes fastest: `grid(ftl=["page", "dftl"], workload="uniform", ratio=[0.7, 0.8])` are four."""
    axes = [value if isinstance(value, (list, tuple, range)) else [value] for value in values.values()]
    return [dict(zip(values, chosen)) for chosen in itertools.product(*axes)]


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("sweeps write Parquet: pip install 'phelsuma[sweep]' would be right") from error
    return pyarrow


@dataclass(frozen=True)
class Sweep:
    """What a sweep has found, in the order of its configurations."""

    folder: Path
    keys: List[str]

    def rows(self) -> List[Dict[str, Any]]:
        """A row for each configuration that is done: `key`, `configuration` (JSON), `error` (null, or what is wrong
        with it), `result` (the JSON of its run) and every figure of it under its path, such as
        `write_amplification.total`."""
        found = {row["key"]: row for row in _rows(self.folder)}
        return [found[key] for key in self.keys if key in found]

    def to_frame(self) -> pandas.DataFrame:
        """The same as a data frame, but for `result`."""
        from .results import _pandas

        frame: pandas.DataFrame = _pandas().DataFrame(self.rows()).drop(columns="result", errors="ignore")
        return frame

    def results(self) -> List[Result]:
        """Results of those that nothing was wrong with."""
        return [Result.from_json(row["result"]) for row in self.rows() if row["error"] is None]

    @property
    def failed(self) -> List[Tuple[Dict[str, Any], str]]:
        """Configurations that gave no result, each with what is wrong with it."""
        return [(json.loads(row["configuration"]), row["error"]) for row in self.rows() if row["error"] is not None]


def _rows(folder: Path) -> Iterator[Dict[str, Any]]:
    for part in sorted(folder.glob("part-*.parquet")):
        for row in _pyarrow().parquet.read_table(part).to_pylist():
            # A figure that only others in the same part have.
            yield {name: value for name, value in row.items() if value is not None or name in ("error", "result")}


def _plain(configuration: Configuration) -> Dict[str, Any]:
    """The same with nothing in it that another process could not be given."""
    plain = dict(configuration)
    trace = plain.get("trace")
    if isinstance(trace, Requests):
        raise TypeError("a sweep takes traces from files; Requests are for run and compare")
    if isinstance(trace, Trace):
        plain.setdefault("format", trace.format)
        plain.setdefault("time_unit", trace.time_unit)
        plain["trace"] = os.fspath(trace.path)
    elif isinstance(trace, os.PathLike):
        plain["trace"] = os.fspath(trace)
    if "workload" in plain and plain["workload"] is not None:
        plain["workload"] = str(plain["workload"])
    return plain


def _key(plain: Configuration) -> str:
    """What a configuration is found again by: its words, the trace's size and age, and the engine."""
    from . import __version__, _engine

    options = {name: value for name, value in plain.items() if name not in ("workload", "trace")}
    said, _ = with_input(options, plain.get("workload"), plain.get("trace"))
    known: List[Any] = [__version__, _engine.sources(), sorted(said)]
    if plain.get("trace") is not None and os.path.exists(plain["trace"]):
        about = os.stat(plain["trace"])
        known.append([about.st_size, about.st_mtime_ns])
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


def _row(key: str, plain: Dict[str, Any], stop: Optional[Callable[[], bool]] = None) -> Dict[str, Any]:
    """Runs it. This is what a worker does."""

    def go_on(*_: object) -> None:
        if stop is not None and stop():
            raise InterruptedError

    row: Dict[str, Any] = {"key": key, "configuration": json.dumps(plain, default=str), "error": None, "result": None}
    try:
        result = run(progress=go_on, **plain)
    except PhelsumaError as error:
        row["error"] = str(error)
        return row
    row["result"] = result.to_json(indent=None)
    row.update(result.flat())
    return row


class _Parts:
    """Writes rows, some at a time; each part appears whole or not at all."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._rows: List[Dict[str, Any]] = []
        self._last = time.monotonic()

    def add(self, row: Dict[str, Any]) -> None:
        self._rows.append(row)
        if time.monotonic() - self._last >= _BETWEEN_PARTS_SECONDS:
            self.write()

    def write(self) -> None:
        self._last = time.monotonic()
        if not self._rows:
            return
        pyarrow = _pyarrow()
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        table = pyarrow.table({name: [row.get(name) for row in self._rows] for name in names})
        # Named after what is in it: two sweeps into one folder do not meet.
        named = hashlib.sha256("".join(row["key"] for row in self._rows).encode()).hexdigest()[:16]
        making = self._folder / f".making-{named}-{os.getpid()}"
        pyarrow.parquet.write_table(table, making)
        os.replace(making, self._folder / f"part-{time.time_ns():020}-{named}.parquet")
        self._rows = []


def sweep(
    configurations: Sequence[Configuration],
    folder: Union[str, os.PathLike[str]],
    *,
    jobs: Optional[int] = None,
    dask: Any = None,
    retry_failed: bool = False,
    progress: Progress = None,
) -> Sweep:
    """Runs all of these, each with `run`, as many at a time as there are cores or as `jobs` says, and keeps a row for
    each in `folder`. What is there already, of the same engine, is not run again.

    With `dask` they run on a cluster: the address of a scheduler or a `distributed.Client`, or True for one that is
    started on this machine. Traces are files that each worker can read under the same name. Where a worker dies,
    others do what it was doing.

    Raises:
        InputError: two configurations are the same.
        TypeError: a configuration has what is no keyword of `run`.
    """
    plain = [_plain(configuration) for configuration in configurations]
    keys = [_key(one) for one in plain]
    twice = next((one for n, one in enumerate(plain) if keys[n] in keys[:n]), None)
    if twice is not None:
        raise InputError(f"a configuration is there twice, once would be right: {json.dumps(twice, default=str)}")
    found = Sweep(Path(folder), keys)
    parts = _Parts(found.folder)
    there = {row["key"] for row in found.rows() if row["error"] is None or not retry_failed}
    to_do = [(key, one) for key, one in zip(keys, plain) if key not in there]
    failed = 0
    try:
        with Showing(progress) as told:
            for done, row in enumerate(_on_cluster(to_do, dask) if dask else _on_threads(to_do, jobs), 1):
                parts.add(row)
                failed += row["error"] is not None
                if told is not None:
                    told(f"sweep, {failed} failed" if failed else "sweep", "configurations", done, len(to_do))
    finally:
        parts.write()
    return found


def _on_threads(to_do: Sequence[Tuple[str, Dict[str, Any]]], jobs: Optional[int]) -> Iterator[Dict[str, Any]]:
    stopped = threading.Event()
    with ThreadPoolExecutor(max_workers=jobs or os.cpu_count() or 1, thread_name_prefix="phelsuma-sweep") as pool:
        pending = {pool.submit(_row, key, one, stopped.is_set) for key, one in to_do}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            # An interrupt: those at work stop at once, and others are not begun.
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _on_cluster(to_do: Sequence[Tuple[str, Dict[str, Any]]], dask: Any) -> Iterator[Dict[str, Any]]:
    distributed: Any
    try:
        import distributed
    except ImportError as error:
        raise ImportError("a cluster needs Dask: pip install 'phelsuma[dask]' would be right") from error
    mine = not isinstance(dask, distributed.Client)
    if dask is True:
        # One run has one thread.
        client = distributed.Client(host="127.0.0.1", threads_per_worker=1, dashboard_address=None)
    else:
        client = distributed.Client(dask) if mine else dask
    try:
        # A run that a worker died of is tried elsewhere, and again.
        futures = [client.submit(_row, key, one, key=f"phelsuma-{key}", pure=True, retries=3) for key, one in to_do]
        for future in distributed.as_completed(futures):
            yield future.result()
            future.release()
    finally:
        if mine:
            client.close()
