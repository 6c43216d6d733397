"""The compiled engine that the package calls. Use the package instead."""

from collections.abc import Callable
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Drive",
    "Requests",
    "Trace",
    "compare",
    "names",
    "run",
    "sources",
    "version",
    "workload_info",
    "workload_requests",
]

_Progress = Callable[[str, str | None, int, int | None], Any]
_OfTrace = tuple[
    NDArray[np.uint64],
    NDArray[np.uint32],
    NDArray[np.uint8],
    NDArray[np.uint64],
    NDArray[np.uint64],
    NDArray[np.uint8],
]
_Histogram = tuple[NDArray[np.uint64], NDArray[np.uint64]]

def run(
    words: list[str],
    requests: Requests | None = None,
    progress: _Progress | None = None,
    memory_bytes: int | None = None,
) -> str: ...
def compare(
    words: list[str], requests: Requests | None = None, progress: _Progress | None = None
) -> tuple[str, list[str]]: ...
def names() -> str: ...
def sources() -> str: ...
def version() -> str: ...
def workload_info(
    spec: str, logical_pages: int, page_bytes: int, seed: int, pages_written: int | None = None
) -> str: ...
def workload_requests(spec: str, most: int, logical_pages: int, page_bytes: int, seed: int) -> _OfTrace: ...

@final
class Requests:
    def __new__(
        cls,
        name: str,
        op: NDArray[np.uint8],
        offset_bytes: NDArray[np.uint64],
        size_bytes: NDArray[np.uint64],
        time_ns: NDArray[np.uint64] | None = None,
        device: NDArray[np.uint32] | None = None,
        handle: NDArray[np.uint8] | None = None,
    ) -> Requests: ...
    def __len__(self) -> int: ...

@final
class Trace:
    def __new__(cls, path: str | PathLike[str], words: list[str]) -> Trace: ...
    def format(self) -> str: ...
    def info(self, page: str) -> str: ...
    def requests(self, most: int | None = None) -> _OfTrace: ...

@final
class Drive:
    def __new__(cls, words: list[str], progress: _Progress | None = None) -> Drive: ...
    @property
    def logical_pages(self) -> int: ...
    @property
    def pages_per_block(self) -> int: ...
    @property
    def ftl(self) -> str: ...
    def ask(self, op_code: int, first: int, pages: int, at_ns: int) -> int: ...
    def submit(
        self,
        op_codes: NDArray[np.uint8],
        first: NDArray[np.uint64],
        pages: NDArray[np.uint32] | None = None,
        at_ns: NDArray[np.uint64] | None = None,
    ) -> int: ...
    def begin_counting(self) -> None: ...
    def result(self) -> str: ...
    def power_cut(self) -> str: ...
    def counters(self) -> str: ...
    def erases(self) -> NDArray[np.uint32]: ...
    def blocks(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int32]] | None: ...
    def pages(self) -> NDArray[np.uint8]: ...
    def places(self) -> NDArray[np.uint32]: ...
    def gecko_runs(self) -> list[tuple[int, int]] | None: ...
    def latencies(self) -> tuple[_Histogram, _Histogram]: ...
