"""Traces, workloads, and requests as columns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _engine
from .errors import InputError
from .options import words

OPS = ("read", "write", "trim", "flush")
"""Operations, in the order of their numbers in a column: 0 read, 1 write, 2 trim, 3 flush."""


_CODES: Dict[Union[str, bytes], int] = {name: code for code, name in enumerate(OPS)}
_CODES.update({name.encode(): code for code, name in enumerate(OPS)})
_NAMES = f"use a name ({', '.join(OPS)}) or its number, 0 to {len(OPS) - 1}"


def op_codes(op: Union[ArrayLike, Sequence[str], str]) -> NDArray[np.uint8]:
    """The numbers of a column of operations, given by name or number.

    Raises:
        InputError: a value is neither a name nor a number of an operation.
    """
    array = np.asarray(op)
    if array.dtype.kind in "uib" or array.size == 0:
        return column("op", array, np.uint8)
    if array.dtype.kind not in "USTO":
        raise InputError(f"op holds {array.dtype}; {_NAMES}")
    # Of text there are few kinds in many rows; of objects, as data frames have them, any.
    kinds, of = (array, None) if array.dtype.kind == "O" else np.unique(array, return_inverse=True)
    codes = np.fromiter((op_code(one) for one in kinds.flat), np.uint8, kinds.size)
    return column("op", (codes if of is None else codes[of]).reshape(array.shape), np.uint8)


def _at_most(most: Optional[int]) -> None:
    if most is not None and not 0 <= most < 2**64:
        raise InputError(f"most is {most}; use a whole number from 0 on")


def op_code(op: object) -> int:
    """The number of an operation, given by name or number.

    Raises:
        InputError: there is no such operation.
    """
    op = op.item() if isinstance(op, np.generic) else op
    code = _CODES.get(op) if isinstance(op, (str, bytes)) else op
    if isinstance(code, int) and 0 <= code < len(OPS):
        return code
    raise InputError(f"op {op!r} is not an operation; {_NAMES}")


def column(name: str, values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """`values` as a contiguous column of `dtype`, without a copy if they are one already.

    Raises:
        InputError: a value is not a whole number of that size.
    """
    array = np.asarray(values)
    if array.dtype == dtype and array.ndim == 1:
        # A field of a structured array is not.
        return np.ascontiguousarray(array)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions; use a column, which has one")
    limits = np.iinfo(dtype)
    if array.size and array.dtype.kind not in "uib":
        raise InputError(f"{name} holds {array.dtype}; use whole numbers")
    if array.size and (int(array.min()) < limits.min or int(array.max()) > limits.max):
        raise InputError(f"{name} has values out of range; use whole numbers from {limits.min} to {limits.max}")
    return array.astype(dtype)


class Requests:
    """Requests as columns of one length. A run takes them as a trace.

    `op` holds names or numbers (`OPS`). Offsets and sizes are bytes. Times are nanoseconds in any epoch. Contiguous
    arrays of the right type are copied once, when the engine takes them. `handle` holds placement handles, 0 to 255.
    """

    def __init__(
        self,
        op: Union[ArrayLike, Sequence[str]],
        offset_bytes: ArrayLike,
        size_bytes: ArrayLike,
        time_ns: Optional[ArrayLike] = None,
        device: Optional[ArrayLike] = None,
        handle: Optional[ArrayLike] = None,
        *,
        name: str = "requests",
    ) -> None:
        self.name = name
        self.op = op_codes(op)
        self.offset_bytes: NDArray[np.uint64] = column("offset_bytes", offset_bytes, np.uint64)
        self.size_bytes: NDArray[np.uint64] = column("size_bytes", size_bytes, np.uint64)
        self.time_ns: Optional[NDArray[np.uint64]] = None if time_ns is None else column("time_ns", time_ns, np.uint64)
        self.device: Optional[NDArray[np.uint32]] = None if device is None else column("device", device, np.uint32)
        self.handle: Optional[NDArray[np.uint8]] = None if handle is None else column("handle", handle, np.uint8)

    @classmethod
    def from_array(cls, array: NDArray[Any], *, name: str = "requests") -> Requests:
        """Makes requests from a structured array.

        Its fields are `op`, `offset_bytes`, `size_bytes` and optionally `time_ns`, `device` and `handle`.
        """
        names = array.dtype.names or ()
        missing = [field for field in ("op", "offset_bytes", "size_bytes") if field not in names]
        if missing:
            raise InputError(f"the array lacks {', '.join(missing)}; add fields of these names")
        more = {field: array[field] for field in ("time_ns", "device", "handle") if field in names}
        return cls(array["op"], array["offset_bytes"], array["size_bytes"], name=name, **more)

    def shared(self) -> _engine.Requests:
        """A checked copy for the engine."""
        optional = (self.time_ns, self.device, self.handle)
        return _engine.Requests(self.name, self.op, self.offset_bytes, self.size_bytes, *optional)

    def __len__(self) -> int:
        return len(self.op)

    def __repr__(self) -> str:
        return f"Requests({self.name!r}, {len(self):,} requests)"

    def to_frame(self) -> Any:
        """The requests as a data frame, with operations by name."""
        from .results import _pandas

        columns: Dict[str, Any] = {} if self.time_ns is None else {"time_ns": self.time_ns}
        if self.device is not None:
            columns["device"] = self.device
        columns["op"] = np.array(OPS)[self.op]
        columns.update(offset_bytes=self.offset_bytes, size_bytes=self.size_bytes)
        if self.handle is not None:
            columns["handle"] = self.handle
        return _pandas().DataFrame(columns)


def _if_any(handle: NDArray[np.uint8]) -> Optional[NDArray[np.uint8]]:
    """Placement handles, or none where every request has the default."""
    return handle if handle.any() else None


@dataclass(frozen=True)
class Trace:
    """A block trace in a file: plain or packed (gz, zst, xz, bz2, lz4, tar, zip), in any format of `phelsuma list`."""

    path: Path
    format: str
    """The format, given or detected."""
    given: Mapping[str, Any]
    """The options with which it was opened."""
    _opened: _engine.Trace

    @classmethod
    def open(
        cls,
        path: Union[str, PathLike[str]],
        *,
        format: Optional[str] = None,
        time_unit: Optional[str] = None,
        sector: Union[int, str, None] = None,
        columns: Optional[str] = None,
        separator: Optional[str] = None,
        skip_lines: Optional[int] = None,
        ops: Optional[str] = None,
        event: Optional[str] = None,
        sort: bool = False,
        only_device: Optional[int] = None,
        first: Optional[int] = None,
        span: Optional[str] = None,
        addresses: Optional[str] = None,
        drop_trims: bool = False,
        shift: Union[int, str, None] = None,
        strict: bool = False,
    ) -> Trace:
        """Opens a trace, or one that `phelsuma trace get` lists by its name. The options are those of `Options`.

        Raises:
            InputError: the file cannot be read, or its format is unknown.
        """
        options = {
            "format": format,
            "time_unit": time_unit,
            "sector": sector,
            "columns": columns,
            "separator": separator,
            "skip_lines": skip_lines,
            "ops": ops,
            "event": event,
            "sort": sort,
            "only_device": only_device,
            "first": first,
            "span": span,
            "addresses": addresses,
            "drop_trims": drop_trims,
            "shift": shift,
            "strict": strict,
        }
        given = {name: value for name, value in options.items() if value is not None and value is not False}
        trace = _engine.Trace(fspath(path), words(given))
        return cls(Path(path), trace.format(), given, trace)

    def info(self, page: Union[int, str] = "4KiB") -> Dict[str, Any]:
        """A summary of the trace: `phelsuma.trace-info/1` (docs/JSON.md)."""
        value: Dict[str, Any] = json.loads(self._opened.info(str(page)))
        return value

    def requests(self, most: Optional[int] = None) -> Requests:
        """The requests of the trace, or the first `most` of them, as columns. Times are since the earliest of these."""
        _at_most(most)
        time_ns, device, op, offset_bytes, size_bytes, handle = self._opened.requests(most)
        time_ns = time_ns - time_ns.min() if len(time_ns) else time_ns
        return Requests(op, offset_bytes, size_bytes, time_ns, device, _if_any(handle), name=self.path.name)


@dataclass(frozen=True)
class Workload:
    """A synthetic workload, such as uniform, zipf:0.99 or desktop (`phelsuma list`)."""

    spec: str

    def __str__(self) -> str:
        return self.spec

    def info(
        self, logical_pages: int, *, page_bytes: int = 4096, seed: int = 1, pages_written: Optional[int] = None
    ) -> Dict[str, Any]:
        """A summary of the workload on a drive of `logical_pages`: `phelsuma.trace-info/1` (docs/JSON.md)."""
        text = _engine.workload_info(self.spec, logical_pages, page_bytes, seed, pages_written)
        value: Dict[str, Any] = json.loads(text)
        return value

    def requests(self, most: int, *, logical_pages: int, page_bytes: int = 4096, seed: int = 1) -> Requests:
        """The first `most` requests of the workload on a drive of `logical_pages`, as columns."""
        _at_most(most)
        columns = _engine.workload_requests(self.spec, most, logical_pages, page_bytes, seed)
        time_ns, device, op, offset_bytes, size_bytes, handle = columns
        return Requests(op, offset_bytes, size_bytes, time_ns, device, _if_any(handle), name=self.spec)
