"""Drives that take requests step by step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _engine
from .errors import InputError
from .options import Options, words
from .progress import Progress, Showing
from .results import Recovery, Result
from .traces import column, op_code, op_codes

if TYPE_CHECKING:
    from typing_extensions import Unpack

PAGE_STATES = ("erased", "stale", "live", "metadata", "unreadable")
"""States of a physical page, in the order of the numbers in `Drive.validity()`."""

BLOCK_STATES = ("free", "held", "open", "written", "bad")
"""States of a block, in the order of the numbers in `Blocks.state`."""

BLOCK_KINDS = {
    1: "user",
    2: "tombstone",
    3: "anchor",
    4: "translation",
    5: "bitmap",
    6: "gecko",
    7: "validity-log",
    8: "map",
    9: "summary",
    10: "tree",
    11: "block-log",
    12: "mapping-log",
    255: "none",
}
"""Kinds of pages that a block holds, by the numbers in `Blocks.kind`."""


class Blocks(NamedTuple):
    """The state of each block in the FTL."""

    state: NDArray[np.uint8]
    """The state of the block (`BLOCK_STATES`)."""
    kind: NDArray[np.uint8]
    """The kind of its pages (`BLOCK_KINDS`)."""
    live_pages: NDArray[np.int32]
    """How many of its pages count as live; -1 if the FTL has no count for this block."""


NOWHERE = 2**32 - 1
"""The place of a logical page that has no data (`Drive.places()`)."""


class Extents(NamedTuple):
    """Extents: runs of consecutive logical pages whose data are consecutive in one block."""

    first: NDArray[np.uint32]
    """The first logical page of each extent."""
    place: NDArray[np.uint32]
    """The physical page with the data of the first logical page. Pages are numbered block after block."""
    pages: NDArray[np.uint32]
    """The length of each extent, in pages."""

    @classmethod
    def of(cls, places: NDArray[np.uint32], pages_per_block: int) -> Extents:
        """Computes the extents of `places` (`Drive.places()`)."""
        first = np.flatnonzero(places != NOWHERE).astype(np.uint32)
        place = places[first]
        if len(first) == 0:
            return cls(first, place, first)
        goes_on = (np.diff(first) == 1) & (np.diff(place.astype(np.int64)) == 1) & (place[1:] % pages_per_block != 0)
        begins = np.flatnonzero(np.concatenate(([True], ~goes_on)))
        pages = np.diff(np.append(begins, len(first))).astype(np.uint32)
        return cls(first[begins], place[begins], pages)


class Histogram(NamedTuple):
    """How often each value occurred."""

    values: NDArray[np.uint64]
    counts: NDArray[np.uint64]


_OF_INPUTS = (
    *("workload", "trace", "format", "time_unit", "sector", "columns", "separator", "skip_lines", "ops", "event"),
    *("sort", "only_device", "first", "span", "addresses", "drop_trims", "shift", "strict"),
    *("fold", "warmup", "passes", "loops"),
    "cut_at_end",
)
"""Options of a run that are about its input. A `Drive` has no input."""


class Drive:
    """A drive in simulated time that takes requests step by step.

    It has the options of `run`, except those of an input: `Drive("geckoftl", capacity="256MiB", ratio=0.8)`. It is
    filled first, as `fill` says. The fill is not counted.

    Raises:
        InputError: the drive is impossible.
        TypeError: an option does not exist, or is about an input.
    """

    def __init__(self, ftl: str, *, progress: Progress = None, **options: Unpack[Options]) -> None:
        for name in _OF_INPUTS:
            value = options.get(name)
            if value is not None and value is not False:
                raise TypeError(f"a drive has no {name!r}, because it takes requests step by step; leave {name!r} out")
        # The words of a run; nothing is asked of the workload.
        said = words({"ftl": ftl, "workload": "uniform", **options})
        with Showing(progress) as callback:
            self._drive = _engine.Drive(said, callback)

    def __repr__(self) -> str:
        return f"Drive({self.ftl!r}, {self.logical_pages:,} logical pages)"

    @property
    def ftl(self) -> str:
        """The name of the FTL."""
        return self._drive.ftl

    @property
    def logical_pages(self) -> int:
        """How many pages the host sees; they are numbered from 0."""
        return self._drive.logical_pages

    @property
    def pages_per_block(self) -> int:
        """Pages of a block."""
        return self._drive.pages_per_block

    def _ask(self, code: int, first: int, pages: int, at_ns: int) -> int:
        for name, value, bits in (("first", first, 64), ("pages", pages, 32), ("at_ns", at_ns, 64)):
            if not 0 <= value < 2**bits:
                raise InputError(f"{name} is {value}; use a whole number from 0 to {2**bits - 1}")
        return self._drive.ask(code, first, pages, at_ns)

    def write(self, first: int, pages: int = 1, *, at_ns: int = 0) -> None:
        """Writes pages in one request.

        Raises:
            InputError: the drive does not have such a page. This holds for all requests.
        """
        self._ask(1, first, pages, at_ns)

    def read(self, first: int, pages: int = 1, *, at_ns: int = 0) -> int:
        """Reads pages in one request. Returns how many of them are read errors."""
        return self._ask(0, first, pages, at_ns)

    def trim(self, first: int, pages: int = 1, *, at_ns: int = 0) -> None:
        """Trims pages: they read as zeros from now on. A power cut before the next flush may bring them back."""
        self._ask(2, first, pages, at_ns)

    def flush(self, *, at_ns: int = 0) -> None:
        """Makes all acknowledged writes and trims durable."""
        self._ask(3, 0, 0, at_ns)

    def submit(
        self,
        op: Union[ArrayLike, Sequence[str], str],
        first: ArrayLike,
        pages: Optional[ArrayLike] = None,
        at_ns: Optional[ArrayLike] = None,
    ) -> int:
        """Submits columns of requests, in order. Returns how many pages were read errors.

        `op` is the name of one operation for all requests, or a column of names or numbers. Without `pages`, each
        request has one page. Contiguous arrays of the engine's types (uint8, uint64, uint32, uint64) are copied once.

        Raises:
            InputError: a request is wrong. Those before it are done.
        """
        first = column("first", first, np.uint64)
        codes = np.full(len(first), op_code(op), np.uint8) if isinstance(op, str) else op_codes(op)
        counts = None if pages is None else column("pages", pages, np.uint32)
        times = None if at_ns is None else column("at_ns", at_ns, np.uint64)
        return self._drive.submit(codes, first, counts, times)

    def begin_counting(self) -> None:
        """Waits until the drive is idle, then counts from zero."""
        self._drive.begin_counting()

    def stats(self) -> Result:
        """The counts since `begin_counting`, or since the drive was filled or mounted, as the result of a run."""
        return Result.from_json(self._drive.result())

    def power_cut(self) -> Recovery:
        """Cuts the power while nothing is in progress, mounts the drive from its flash alone, and checks every page.

        Counts begin at zero afterwards.

        Raises:
            InputError: the FTL does not survive power cuts.
            RunFailedError: the drive did not mount, or its pages changed.
        """
        return Recovery.of(json.loads(self._drive.power_cut()))

    def counters(self) -> Dict[str, int]:
        """The counters of the FTL since it was mounted, by name (docs/JSON.md)."""
        value: Dict[str, int] = json.loads(self._drive.counters())
        return value

    def erase_counts(self) -> NDArray[np.uint32]:
        """How often each block was erased. Unlike `stats()`, this includes the erases of the format and the fill."""
        return self._drive.erases()

    def blocks(self) -> Optional[Blocks]:
        """The state of each block in the FTL; None if the FTL does not have it."""
        blocks = self._drive.blocks()
        return None if blocks is None else Blocks(*blocks)

    def validity(self) -> NDArray[np.uint8]:
        """The state of each physical page (`PAGE_STATES`), one row for each block.

        It is read from all of the flash. These reads are not counted.
        """
        return self._drive.pages().reshape(-1, self.pages_per_block)

    def places(self) -> NDArray[np.uint32]:
        """The physical page that holds the data of each logical page, or `NOWHERE`.

        Physical pages are numbered block after block. They are read from all of the flash. These reads are not counted.
        """
        return self._drive.places()

    def extents(self) -> Extents:
        """The extents of the logical pages, computed from `places()`.

        A mapping by extents cannot have longer ones, whatever the mapping of the FTL is. For the extents in the mapping
        of µ-FTL, see `counters()`.
        """
        return Extents.of(self.places(), self.pages_per_block)

    def gecko_runs(self) -> Optional[List[Tuple[int, int]]]:
        """Runs of Logarithmic Gecko, newest first, as (level, pages); None if the FTL has no Gecko."""
        return self._drive.gecko_runs()

    def latencies_ns(self) -> Dict[str, Histogram]:
        """Simulated latencies of writes and of reads, in nanoseconds.

        They are counted since the drive was filled, or since the last `begin_counting` or `power_cut`.
        """
        writes, reads = self._drive.latencies()
        return {"write": Histogram(*writes), "read": Histogram(*reads)}
