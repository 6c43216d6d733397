"""Sweeps: many configurations, on all cores or on a cluster, with a row of Parquet for each.

Rows are written to a folder as runs end. A sweep that is started again runs only the configurations without a row. A
configuration that fails has a row with its error, and the others still run.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import threading
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Dict,
    Generator,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

import numpy as np

from . import _engine
from .errors import InputError, PhelsumaError, RunFailedError
from .options import with_input
from .progress import Progress, Showing
from .results import Result
from .traces import Requests, Trace

if TYPE_CHECKING:
    import pandas

Configuration = Mapping[str, Any]
"""Keywords of `run`, including the FTL as `ftl`."""

_BETWEEN_PARTS_SECONDS = 2.0

# What a sweep leaves where it was killed; another one, perhaps of another machine, may be at work on what is younger.
_LEFT_SECONDS = 86_400.0

# What every row has; figures are added to them.
_FIXED = ("key", "configuration", "error", "result")


def grid(**values: Any) -> List[Dict[str, Any]]:
    """Every combination of keywords of `run`.

    A list, range or array stands for all of its values. The last keyword changes fastest. For example,
    `grid(ftl=["page", "dftl"], workload="uniform", ratio=[0.7, 0.8])` has four combinations.
    """
    axes = [list(np.atleast_1d(value)) if isinstance(value, np.ndarray) else value for value in values.values()]
    axes = [[_item(one) for one in axis] if isinstance(axis, (list, tuple, range)) else [axis] for axis in axes]
    return [dict(zip(values, chosen)) for chosen in itertools.product(*axes)]


def _item(value: Any) -> Any:
    """A NumPy number as a Python number, with the digits that it prints as."""
    if isinstance(value, np.floating):
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("sweeps write Parquet; run pip install 'phelsuma[sweep]'") from error
    return pyarrow


@dataclass(frozen=True)
class Sweep:
    """The results of a sweep, in the order of its configurations."""

    folder: Path
    keys: List[str]

    def rows(self) -> List[Dict[str, Any]]:
        """A row for each configuration that has run.

        It has `key`, `configuration` (JSON), `error` (None or a message), `result` (the JSON of its run), and all
        figures by their path, such as `write_amplification.total`.
        """
        return self._in_order(_rows(self.folder, self.keys))

    def _in_order(self, rows: Iterable[Dict[str, Any]]) -> List[Dict[str, Any]]:
        # What was tried again is there more than once.
        found = {row["key"]: row for row in rows}
        return [found[key] for key in self.keys if key in found]

    def to_frame(self) -> pandas.DataFrame:
        """The rows as a data frame, without `result`."""
        from .results import _pandas

        frame: pandas.DataFrame = _pandas().DataFrame(self._in_order(_rows(self.folder, self.keys, without="result")))
        return frame

    def results(self) -> List[Result]:
        """The results of the configurations that did not fail."""
        rows = self._in_order(_rows(self.folder, self.keys, _FIXED))
        return [Result.from_json(row["result"]) for row in rows if row["error"] is None]

    @property
    def failed(self) -> List[Tuple[Dict[str, Any], str]]:
        """The configurations that failed, each with its error."""
        rows = self._in_order(_rows(self.folder, self.keys, _FIXED[:3]))
        return [(json.loads(row["configuration"]), row["error"]) for row in rows if row["error"] is not None]


def _rows(
    folder: Path, keys: Collection[str], only: Optional[Sequence[str]] = None, without: str = ""
) -> Iterator[Dict[str, Any]]:
    """The rows of these keys, in the order of writing, with `only` these columns or all but `without`."""
    wanted = _pyarrow().array(keys, _pyarrow().string())
    for part in _parts_in(folder):
        table = _read(part, only, without)
        table = table.filter(_pyarrow().compute.is_in(table["key"], wanted))
        for row in table.to_pylist():
            # A figure that only others in the same part have.
            yield {name: value for name, value in row.items() if value is not None or name in _FIXED}


def _done(folder: Path, retry_failed: bool) -> Set[str]:
    """The keys that have a row; if failed ones are tried again, a row without an error."""
    done: Dict[str, bool] = {}
    for part in _parts_in(folder):
        found = _read(part, ("key", "error") if retry_failed else ("key",)).to_pydict()
        done.update(zip(found["key"], (error is None for error in found.get("error", [None] * len(found["key"])))))
    return {key for key, well in done.items() if well}


def _parts_in(folder: Path) -> List[Path]:
    return sorted(folder.glob("part-*.parquet"))


def _read(part: Path, only: Optional[Sequence[str]] = None, without: str = "") -> Any:
    """A part as a table of `only` these columns, or of all but `without`.

    Raises:
        InputError: the file is not a part of a sweep, or is damaged.
    """
    pyarrow = _pyarrow()
    right = "delete it, and its configurations are run again"
    try:
        with pyarrow.parquet.ParquetFile(part) as file:
            names = file.schema_arrow.names
            if not set(_FIXED) <= set(names):
                raise InputError(f"{part} has no rows of a sweep; use another folder, or {right}")
            return file.read(columns=[name for name in only or names if name != without])
    except (pyarrow.ArrowException, OSError) as error:
        # Of what the system refuses, which is not about what is in it, there is a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{part} is damaged: {' '.join(str(error).split())}; {right}") from error


def _plain(configuration: Configuration) -> Dict[str, Any]:
    """The same, in values that can be sent to another process."""
    plain = {name: _item(value) for name, value in configuration.items()}
    if not isinstance(plain.get("ftl"), str):
        raise TypeError(f"a configuration has no FTL; add ftl=NAME: {json.dumps(plain, default=str)}")
    if "jobs" in plain:
        raise TypeError("a configuration has no option 'jobs'; use jobs of the sweep")
    trace = plain.get("trace")
    if isinstance(trace, Requests):
        raise TypeError("a sweep takes traces from files; Requests are for run and compare")
    if isinstance(trace, Trace):
        if trace.given.get("columns") is None:
            plain.setdefault("format", trace.format)
        for name, value in trace.given.items():
            plain.setdefault(name, value)
        plain["trace"] = os.fspath(trace.path)
    elif isinstance(trace, os.PathLike):
        plain["trace"] = os.fspath(trace)
    if "workload" in plain and plain["workload"] is not None:
        plain["workload"] = str(plain["workload"])
    settings = plain.get("set")
    if isinstance(settings, Mapping):
        plain["set"] = {name: _item(value) for name, value in settings.items()}
    elif settings is not None and not isinstance(settings, str):
        plain["set"] = list(settings)
    return plain


def _words(plain: Configuration) -> List[str]:
    options = {name: value for name, value in plain.items() if name not in ("workload", "trace")}
    return with_input(options, plain.get("workload"), plain.get("trace"))[0]


def _engine_here() -> str:
    """The identity of the engine in this process."""
    return f"{_engine.version()} of sources {_engine.sources()}"


def _key(plain: Configuration) -> str:
    """The identity of a configuration: its words, the size and age of its trace, and the engine."""
    said = _words(plain)
    # A setting that names a part can change what an earlier one has set; other words come in any order.
    settings = [word for word in said if word.startswith("--set=")]
    known: List[Any] = [_engine.version(), _engine.sources(), sorted(set(said) - set(settings)), settings]
    if plain.get("trace") is not None and os.path.exists(plain["trace"]):
        about = os.stat(plain["trace"])
        known.append([about.st_size, about.st_mtime_ns])
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


def _failed(key: str, plain: Configuration, error: Optional[str]) -> Dict[str, Any]:
    return {"key": key, "configuration": json.dumps(plain, default=str), "error": error, "result": None}


def _row(
    key: str,
    plain: Configuration,
    stop: Optional[Callable[[], bool]] = None,
    *,
    engine: Optional[str] = None,
    memory_bytes: Optional[int] = None,
) -> Dict[str, Any]:
    """Runs a configuration in a worker, whose engine must be `engine`."""

    def go_on(*_: object) -> None:
        if stop is not None and stop():
            raise InterruptedError

    if engine is not None and engine != _engine_here():
        return _failed(key, plain, f"the worker has engine {_engine_here()}; install {engine} there")
    try:
        result = Result.from_json(_engine.run(_words(plain), None, go_on, memory_bytes))
        return {**_failed(key, plain, None), "result": result.to_json(indent=None), **result.flat()}
    except InterruptedError:
        raise
    except PhelsumaError as error:
        return _failed(key, plain, str(error))
    except Exception as error:
        return _failed(key, plain, _told(error))


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


class _Parts:
    """Writes rows in parts. A part appears whole or not at all, and survives a power failure of the machine."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._rows: List[Dict[str, Any]] = []
        self._last = time.monotonic()
        for left in folder.glob(".making-*"):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                    left.unlink()

    def add(self, row: Dict[str, Any]) -> None:
        self._rows.append(row)
        if time.monotonic() - self._last >= _BETWEEN_PARTS_SECONDS:
            self.write()

    def write(self) -> None:
        self._last = time.monotonic()
        if not self._rows:
            return
        names = dict.fromkeys(name for row in self._rows for name in row)
        columns = {name: _column([row.get(name) for row in self._rows], name in _FIXED) for name in names}
        table = _pyarrow().table({name: column for name, column in columns.items() if column is not None})
        # Named after what is in it: two sweeps into one folder do not meet.
        named = hashlib.sha256("".join(row["key"] for row in self._rows).encode()).hexdigest()[:16]
        self._put(table, f"part-{time.time_ns():020}-{named}.parquet")
        self._rows = []
        self._tell_columns([table.schema])

    def tell_all_columns(self) -> None:
        """Writes the columns of all parts, including those of other sweeps, for readers of the folder."""
        pyarrow = _pyarrow()
        schemas = [pyarrow.parquet.read_schema(part) for part in _parts_in(self._folder)]
        if schemas:
            self._tell_columns(schemas)

    def _tell_columns(self, schemas: Sequence[Any]) -> None:
        """Writes a first file without rows: readers of a folder take columns and types from its first file."""
        pyarrow = _pyarrow()
        first = self._folder / "columns.parquet"
        told = None
        with contextlib.suppress(OSError, pyarrow.ArrowException):
            told = pyarrow.parquet.read_schema(first)
        types: Dict[str, Set[Any]] = {name: {pyarrow.string()} for name in _FIXED}
        for schema in [*([] if told is None else [told]), *schemas]:
            for field in schema:
                types.setdefault(field.name, set()).add(field.type)
        wanted = pyarrow.schema([(name, _holding(of)) for name, of in types.items()])
        if told is None or not told.equals(wanted):
            self._put(wanted.empty_table(), first.name)

    def _put(self, table: Any, name: str) -> None:
        making = self._folder / f".making-{name}-{os.getpid()}-{threading.get_ident()}"
        try:
            with open(making, "wb") as file:
                _pyarrow().parquet.write_table(table, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(making, self._folder / name)
        finally:
            making.unlink(missing_ok=True)
        # The name as well, where a folder can be told to.
        with contextlib.suppress(OSError):
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _column(values: Sequence[Any], of_text: bool) -> Any:
    """The values as a column of a type that holds all of them, or of text; None if there is no value."""
    pyarrow = _pyarrow()
    kind = pyarrow.string() if of_text else _holding({_type(value) for value in values if value is not None})
    if pyarrow.types.is_null(kind):
        return None
    if pyarrow.types.is_string(kind):
        # What is no text (half of a surrogate pair, in a path) is shown.
        values = [None if v is None else str(v).encode(errors="backslashreplace").decode() for v in values]
    elif pyarrow.types.is_floating(kind):
        values = [None if v is None else float(v) for v in values]
    return pyarrow.array(values, kind)


def _type(value: Any) -> Any:
    pyarrow = _pyarrow()
    if isinstance(value, bool):
        return pyarrow.bool_()
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return pyarrow.int64() if value < 2**63 else pyarrow.uint64()
    return pyarrow.float64() if isinstance(value, (int, float)) else pyarrow.string()


def _holding(kinds: Set[Any]) -> Any:
    """A type that holds all of these types. Whole numbers fit in numbers, and everything fits in text."""
    pyarrow = _pyarrow()
    kinds = {kind for kind in kinds if not pyarrow.types.is_null(kind)}
    if len(kinds) <= 1:
        return next(iter(kinds), pyarrow.null())
    if all(pyarrow.types.is_integer(kind) for kind in kinds):
        # Seeds from 2^63 on; nothing that is counted is negative.
        return pyarrow.uint64()
    numbers = all(pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) for kind in kinds)
    return pyarrow.float64() if numbers else pyarrow.string()


def sweep(
    configurations: Sequence[Configuration],
    folder: Union[str, os.PathLike[str]],
    *,
    jobs: Optional[int] = None,
    memory_bytes: Optional[int] = None,
    dask: Any = None,
    retry_failed: bool = False,
    progress: Progress = None,
) -> Sweep:
    """Runs each configuration as `run` does, and writes a row for each to `folder`, a data set of Parquet.

    Configurations that have a row from the same engine are not run again.

    `jobs` runs at a time; None and 0 are one for each core. A run waits if its drive would not fit into `memory_bytes`
    beside the others. None is the machine's memory.

    With `dask` they run on a cluster. It is the address of a scheduler, a `distributed.Client`, or True to start a
    cluster on this machine. The workers then decide how many run at a time, and `memory_bytes` holds for each worker.
    Every worker must be able to read the traces under the same paths. If a worker dies, other workers repeat its runs.
    A configuration that repeatedly kills workers has failed.

    Raises:
        InputError: two configurations are equal; a part in the folder is damaged; a worker has another engine.
        RunFailedError: the cluster is gone.
        TypeError: a configuration has no FTL, or a keyword that `run` does not have.
    """
    for name, value in (("jobs", jobs), ("memory_bytes", memory_bytes)):
        if value is not None and value < 0:
            raise InputError(f"{name} is {value}; use a whole number from 0 on")
    plain = [_plain(configuration) for configuration in configurations]
    keys = [_key(one) for one in plain]
    seen: Set[str] = set()
    for key, one in zip(keys, plain):
        if key in seen:
            raise InputError(f"a configuration is there twice; give it once: {json.dumps(one, default=str)}")
        seen.add(key)
    found = Sweep(Path(folder), keys)
    parts = _Parts(found.folder)
    there = _done(found.folder, retry_failed)
    to_do = [(key, one) for key, one in zip(keys, plain) if key not in there]
    rows = _on_cluster(to_do, dask, memory_bytes) if dask else _on_threads(to_do, jobs, memory_bytes)
    failed = 0
    try:
        # An interrupt while a row is added ends those at work as well.
        with Showing(progress) as told, contextlib.closing(rows):
            for done, row in enumerate(rows, 1):
                parts.add(row)
                failed += row["error"] is not None
                if told is not None:
                    told(f"sweep, {failed} failed" if failed else "sweep", "configurations", done, len(to_do))
    finally:
        parts.write()
    parts.tell_all_columns()
    return found


def _on_threads(
    to_do: Sequence[Tuple[str, Dict[str, Any]]], jobs: Optional[int], memory_bytes: Optional[int]
) -> Generator[Dict[str, Any], None, None]:
    stopped = threading.Event()
    with ThreadPoolExecutor(max_workers=jobs or os.cpu_count() or 1, thread_name_prefix="phelsuma-sweep") as pool:
        pending = {pool.submit(_row, key, one, stopped.is_set, memory_bytes=memory_bytes) for key, one in to_do}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            # An interrupt: those at work stop at once, and others are not begun.
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _on_cluster(
    to_do: Sequence[Tuple[str, Dict[str, Any]]], dask: Any, memory_bytes: Optional[int]
) -> Generator[Dict[str, Any], None, None]:
    distributed: Any
    try:
        import distributed
    except ImportError as error:
        raise ImportError("a cluster needs Dask; run pip install 'phelsuma[dask]'") from error
    mine = not isinstance(dask, distributed.Client)
    if dask is True:
        # One run has one thread.
        client = distributed.Client(host="127.0.0.1", threads_per_worker=1, dashboard_address=None)
    else:
        client = distributed.Client(dask) if mine else dask

    def submitted(key: str, one: Dict[str, Any], name: str) -> Any:
        # A run that a worker died of is tried elsewhere, and again.
        more = {"engine": _engine_here(), "memory_bytes": memory_bytes}
        return client.submit(_row, key, one, **more, key=name, pure=True, retries=3)

    try:
        _check_workers(client)
        of = {f"phelsuma-{key}": (key, one) for key, one in to_do}
        died: List[Tuple[Dict[str, Any], str, Dict[str, Any]]] = []
        for future in distributed.as_completed([submitted(*job, name) for name, job in of.items()]):
            row, of_death = _collected(future, *of[future.key])
            if of_death:
                key, one = of[future.key]
                died.append((row, key, one))
            else:
                yield row
        for row, key, one in died:
            # Whoever was beside the one that workers die of did nothing wrong: each alone tells which it is.
            yield row if len(died) == 1 else _collected(submitted(key, one, f"phelsuma-{key}-alone"), key, one)[0]
    finally:
        if mine:
            client.close()


def _check_workers(client: Any) -> None:
    """Refuses workers with another engine. For workers that join later, `_row` does this."""
    for worker, engine in client.run(_engine_here, on_error="return").items():
        if engine != _engine_here():
            has = f"lacks the package ({_told(engine)})" if isinstance(engine, Exception) else f"has engine {engine}"
            raise InputError(f"worker {worker} {has}; install {_engine_here()} there, as here")


def _collected(future: Any, key: str, one: Dict[str, Any]) -> Tuple[Dict[str, Any], bool]:
    """The row of a configuration, and whether workers died while they ran it."""
    from distributed.scheduler import KilledWorker

    try:
        row: Dict[str, Any] = future.result()
    except KilledWorker:
        return _failed(key, one, "the worker that ran it died, and so did others that tried it again"), True
    except CancelledError as error:
        raise RunFailedError("the cluster is gone; start the sweep again, and it continues") from error
    except Exception as error:
        row = _failed(key, one, _told(error))
    finally:
        future.release()
    return row, False
