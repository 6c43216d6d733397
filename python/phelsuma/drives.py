"""Drives that are asked step by step."""

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
"""What a physical page can hold, in the order of the numbers of `Drive.validity()`."""

BLOCK_STATES = ("free", "held", "open", "written", "bad")
"""What can be done with a block, in the order of the numbers of `Blocks.state`."""

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
    255: "none",
}
"""What a block can hold, by the numbers of `Blocks.kind`."""


class Blocks(NamedTuple):
    """What the FTL knows of each block."""

    state: NDArray[np.uint8]
    """What is being done with it (`BLOCK_STATES`)."""
    kind: NDArray[np.uint8]
    """What it holds (`BLOCK_KINDS`)."""
    live_pages: NDArray[np.int32]
    """Pages of it that count as live; -1 where the FTL does not count those of this block."""


NOWHERE = 2**32 - 1
"""The place of a logical page that has no data (`Drive.places()`)."""


class Extents(NamedTuple):
    """Logical pages that follow each other and whose data follow each other in one block, by their first page."""

    first: NDArray[np.uint32]
    """The first logical page."""
    place: NDArray[np.uint32]
    """The physical page that has the first one's data, block after block."""
    pages: NDArray[np.uint32]
    """How many pages it has."""

    @classmethod
    def of(cls, places: NDArray[np.uint32], pages_per_block: int) -> Extents:
        """The extents of `places` (`Drive.places()`)."""
        first = np.flatnonzero(places != NOWHERE).astype(np.uint32)
        place = places[first]
        if len(first) == 0:
            return cls(first, place, first)
        goes_on = (np.diff(first) == 1) & (np.diff(place.astype(np.int64)) == 1) & (place[1:] % pages_per_block != 0)
        begins = np.flatnonzero(np.concatenate(([True], ~goes_on)))
        pages = np.diff(np.append(begins, len(first))).astype(np.uint32)
        return cls(first[begins], place[begins], pages)


class Histogram(NamedTuple):
    """How often each value was there."""

    values: NDArray[np.uint64]
    counts: NDArray[np.uint64]


_OF_INPUTS = ("workload", "trace", "format", "time_unit", "sector", "fold", "warmup", "passes", "loops", "cut_at_end")
"""Options of a run that say what a drive is asked, which whoever asks it does."""


class Drive:
    """A drive in simulated time, to be asked step by step by whoever decides each step when the one before is done.

    Options are those of `run`, but for an input and what is done with it: `Drive("geckoftl", capacity="256MiB",
    ratio=0.8)`. It is filled as `fill` says, which is not counted.

    Raises:
        InputError: a drive that cannot be.
        TypeError: an option that is none, or is about an input.
    """

    def __init__(self, ftl: str, *, progress: Progress = None, **options: Unpack[Options]) -> None:
        for name in _OF_INPUTS:
            value = options.get(name)
            if value is not None and value is not False:
                raise TypeError(f"a drive has no {name!r}: it is asked step by step; without it would be right")
        # The words of a run; nothing is asked of the workload.
        said = words({"ftl": ftl, "workload": "uniform", **options})
        with Showing(progress) as callback:
            self._drive = _engine.Drive(said, callback)

    def __repr__(self) -> str:
        return f"Drive({self.ftl!r}, {self.logical_pages:,} logical pages)"

    @property
    def ftl(self) -> str:
        """The name of its FTL."""
        return self._drive.ftl

    @property
    def logical_pages(self) -> int:
        """Pages that the host sees; it asks for those from 0 on."""
        return self._drive.logical_pages

    @property
    def pages_per_block(self) -> int:
        """Pages of a block."""
        return self._drive.pages_per_block

    def _ask(self, code: int, first: int, pages: int, at_ns: int) -> int:
        for name, value, bits in (("first", first, 64), ("pages", pages, 32), ("at_ns", at_ns, 64)):
            if not 0 <= value < 2**bits:
                raise InputError(f"{name} is {value}; whole numbers from 0 to {2**bits - 1} would be right")
        return self._drive.ask(code, first, pages, at_ns)

    def write(self, first: int, pages: int = 1, *, at_ns: int = 0) -> None:
        """Writes pages, in one request.

        Raises:
            InputError: a page that the drive has not; so do the others.
        """
        self._ask(1, first, pages, at_ns)

    def read(self, first: int, pages: int = 1, *, at_ns: int = 0) -> int:
        """Reads pages, in one request; how many of them are read errors."""
        return self._ask(0, first, pages, at_ns)

    def trim(self, first: int, pages: int = 1, *, at_ns: int = 0) -> None:
        """Discards pages: they read as zeros from now on. A cut before the next flush may bring them back."""
        self._ask(2, first, pages, at_ns)

    def flush(self, *, at_ns: int = 0) -> None:
        """Makes everything durable that is not yet."""
        self._ask(3, 0, 0, at_ns)

    def submit(
        self,
        op: Union[ArrayLike, Sequence[str], str],
        first: ArrayLike,
        pages: Optional[ArrayLike] = None,
        at_ns: Optional[ArrayLike] = None,
    ) -> int:
        """Asks for a column of requests, in order; how many pages were read errors.

        `op` is one operation for all (a name), or a column of names or numbers; `pages` is one each where it is left
        out.
        Contiguous arrays of the engine's types (uint8, uint64, uint32, uint64) are copied once.

        Raises:
            InputError: a request that is none; those before it are done.
        """
        first = column("first", first, np.uint64)
        codes = np.full(len(first), op_code(op), np.uint8) if isinstance(op, str) else op_codes(op)
        counts = None if pages is None else column("pages", pages, np.uint32)
        times = None if at_ns is None else column("at_ns", at_ns, np.uint64)
        return self._drive.submit(codes, first, counts, times)

    def begin_counting(self) -> None:
        """Waits until it is idle, then counts from zero."""
        self._drive.begin_counting()

    def stats(self) -> Result:
        """What has been counted since `begin_counting`, or since it was made or came up, as a run would give it."""
        return Result.from_json(self._drive.result())

    def power_cut(self) -> Recovery:
        """Cuts the power while nothing is in progress, brings the drive up again from its flash alone, and looks at
        every page of it. From then on it counts from zero.

        Raises:
            InputError: the FTL does not survive power cuts.
            RunFailedError: it did not come up, or not as it was.
        """
        return Recovery.of(json.loads(self._drive.power_cut()))

    def counters(self) -> Dict[str, int]:
        """What the FTL has counted since it came up, by name (docs/JSON.md)."""
        value: Dict[str, int] = json.loads(self._drive.counters())
        return value

    def erase_counts(self) -> NDArray[np.uint32]:
        """How often each block was erased since the drive was made, to format and to fill it as well, which `stats()`
        does not count."""
        return self._drive.erases()

    def blocks(self) -> Optional[Blocks]:
        """What the FTL knows of each block; None where it does not tell."""
        blocks = self._drive.blocks()
        return None if blocks is None else Blocks(*blocks)

    def validity(self) -> NDArray[np.uint8]:
        """What is on each physical page (`PAGE_STATES`), a row for each block; as an onlooker sees it who reads all of
        the flash, for which nothing is counted."""
        return self._drive.pages().reshape(-1, self.pages_per_block)

    def places(self) -> NDArray[np.uint32]:
        """Where the data of each logical page are: the number of its physical page, block after block, or `NOWHERE`;
        as an onlooker sees it who reads all of the flash, for which nothing is counted."""
        return self._drive.places()

    def extents(self) -> Extents:
        """Its logical pages in extents, as an onlooker sees them: pages that follow each other, whose data follow each
        other in one block. It is what a mapping by extents can come to, whatever the mapping is (of µ-FTL's own, which
        takes what it is told, `counters()` has the lengths)."""
        return Extents.of(self.places(), self.pages_per_block)

    def gecko_runs(self) -> Optional[List[Tuple[int, int]]]:
        """Runs of its Logarithmic Gecko, newest first, as level and pages; None where it has none."""
        return self._drive.gecko_runs()

    def latencies_ns(self) -> Dict[str, Histogram]:
        """Latencies of writes and of reads since counting began, in nanoseconds, simulated. `begin_counting` and
        `power_cut` begin anew."""
        writes, reads = self._drive.latencies()
        return {"write": Histogram(*writes), "read": Histogram(*reads)}
