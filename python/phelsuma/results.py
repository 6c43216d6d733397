"""Results as typed objects: the structure of `phelsuma.run/1` (docs/JSON.md), field by field.

Every field has the name of its JSON key. Keys that this version does not have stay in `raw`. A field is None if the
result is older than its key, or was stored without its part about the machine.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Type, TypeVar, Union, overload

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")

_SCHEMA = "phelsuma.run/1"
_STEADY = {True: "yes", False: "no", None: "unknown"}


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas; run pip install 'phelsuma[frames]'") from error
    return pandas


def _fields(of: Type[T], value: Dict[str, Any], **made: Any) -> T:
    """Makes an `of` from its keys in `value`; the fields in `made` replace them."""
    names = {f.name for f in dataclasses.fields(of) if f.init}  # type: ignore[arg-type]
    return of(**{**{key: value[key] for key in names if key in value}, **made})


def _flat(of: Dict[str, Any]) -> Dict[str, Any]:
    """What is in an object and in those within it, by its path, without lists."""
    row: Dict[str, Any] = {}

    def put(path: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                put(f"{path}.{key}" if path else key, part)
        elif not isinstance(value, list):
            row[path] = value

    put("", of)
    return row


@dataclass(frozen=True)
class Composition:
    """The parts of an FTL, with their parameters in parentheses."""

    mapping: str
    validity: str
    victim: str
    placement: str
    metadata: str
    power: str
    collection: str = "whole"
    wear: Optional[str] = None
    slc: Optional[str] = None
    write_cache: Optional[str] = None


@dataclass(frozen=True)
class Geometry:
    """The shape of the drive."""

    capacity_bytes: int
    logical_bytes: int
    page_bytes: int
    pages_per_block: int
    blocks: int
    channels: int
    dies: int
    ratio: float
    effective_ratio: float
    reserve_blocks: int
    open_blocks: int
    metadata_programs_per_collection: int
    log_blocks: Optional[int] = None
    unused_blocks: Optional[int] = None


@dataclass(frozen=True)
class HostCounts:
    """Pages and requests of the host in the counted part."""

    read_pages: int
    write_pages: int
    trim_pages: int
    requests: int
    partial_pages: int
    trace_requests: int
    dropped_trims_without_whole_page: int
    dropped_trims_outside_footprint: int


@dataclass(frozen=True)
class FlashCounts:
    """Flash operations for one purpose."""

    reads: int
    spare_reads: int
    programs: int
    erases: int


@dataclass(frozen=True)
class ReadsWeighted:
    """The parts of write amplification with weighted reads, as in GeckoFTL's paper."""

    user: float
    translation: float
    validity: float
    other: float


@dataclass(frozen=True)
class WriteAmplification:
    """Programs per host page, by cause. The four parts add up to the total."""

    total: float
    user: float
    translation: float
    validity: float
    other: float
    by_reads_weighted: float
    reads_weighted: ReadsWeighted


@dataclass(frozen=True)
class ManagementSeconds:
    """Time of the flash operations of the FTL itself, by cause (management overhead in µ-FTL's paper)."""

    total: float
    user: float
    translation: float
    validity: float
    other: float


@dataclass(frozen=True)
class RamBytes:
    """RAM in bytes by structure, as papers count it and in full. The sum is under `total`."""

    papers: Dict[str, int]
    all: Dict[str, int]


@dataclass(frozen=True)
class EraseCounts:
    """Erases in the counted part: all, and per block."""

    total: int
    min: int
    max: int
    mean: float
    stddev: float


@dataclass(frozen=True)
class VictimChoices:
    """The number of victims, and the blocks examined to choose each."""

    count: int
    blocks_examined_mean: float
    blocks_examined_max: int


@dataclass(frozen=True)
class Latency:
    """Simulated latencies in microseconds."""

    mean: float
    p50: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True)
class Latencies:
    """Latencies of reads and writes; None if there was no such request."""

    read: Optional[Latency]
    write: Optional[Latency]

    @classmethod
    def of(cls, value: Dict[str, Any]) -> Latencies:
        """Makes it from the JSON value of a `latency_us`."""
        each = {key: None if of is None else _fields(Latency, of) for key, of in value.items()}
        return cls(each["read"], each["write"])


@dataclass(frozen=True)
class Throughput:
    """What the host moved in a second of simulated time."""

    read_mb_per_second: float
    write_mb_per_second: float
    requests_per_second: float


@dataclass(frozen=True)
class SeriesPoint:
    """Counts since the point before. Rates and latencies are None if times are of flash alone."""

    write_pages: int
    write_amplification: float
    erases: int
    validity_reads: int
    validity_programs: int
    simulated_seconds: float
    throughput: Optional[Throughput] = None
    latency_us: Optional[Latencies] = None

    @classmethod
    def of(cls, value: Dict[str, Any]) -> SeriesPoint:
        """Makes it from the JSON value of a point."""
        throughput, latency = value.get("throughput"), value.get("latency_us")
        return _fields(
            cls,
            value,
            throughput=None if throughput is None else _fields(Throughput, throughput),
            latency_us=None if latency is None else Latencies.of(latency),
        )


@dataclass(frozen=True)
class DieShares:
    """Mean share of the time in which the cells of a die worked, by cause."""

    busy: float
    host_reads: float
    host_programs: float
    collection_reads: float
    collection_programs: float
    erases: float
    translation: float
    validity: float
    other: float


@dataclass(frozen=True)
class ChannelShares:
    """Share of the time in which channels moved pages."""

    busy: float
    each: List[float]


@dataclass(frozen=True)
class LinkShares:
    """Share of the time in which the link moved pages, and requests in the firmware."""

    busy: float
    firmware_requests_mean: float


@dataclass(frozen=True)
class RequestTime:
    """The parts of a mean request, in microseconds."""

    firmware: float
    link: float
    link_waiting: float
    flash: float
    waiting: float


@dataclass(frozen=True)
class RequestTimes:
    """Parts of a mean read and of a mean write; None if there was no such request."""

    read: Optional[RequestTime]
    write: Optional[RequestTime]


@dataclass(frozen=True)
class TimeSpent:
    """Where the time went. Only of drives whose times are not of flash alone."""

    dies: DieShares
    channels: ChannelShares
    link: Optional[LinkShares]
    request_us: RequestTimes

    @classmethod
    def of(cls, value: Dict[str, Any]) -> TimeSpent:
        """Makes it from the JSON value of a `time`."""
        link, requests = value["link"], value["request_us"]
        each = {key: None if of is None else _fields(RequestTime, of) for key, of in requests.items()}
        return cls(
            dies=_fields(DieShares, value["dies"]),
            channels=_fields(ChannelShares, value["channels"]),
            link=None if link is None else _fields(LinkShares, link),
            request_us=RequestTimes(each["read"], each["write"]),
        )


@dataclass(frozen=True)
class Distribution:
    """Values by magnitude, in pages written by the host. Entry k counts values from 2^k to 2^(k+1) - 1."""

    histogram_log2: List[int]
    p50_at_most: int
    p90_at_most: int
    p99_at_most: int

    def array(self) -> NDArray[np.uint64]:
        """The histogram as an array."""
        return np.array(self.histogram_log2, dtype=np.uint64)


@dataclass(frozen=True)
class Distributions:
    """Page lifetimes and dormant periods of blocks (figures 3 and 5 of Dual Greedy's paper), and lengths of extents."""

    page_lifetimes: Distribution
    block_dormant_periods: Distribution
    first_invalidations: int
    extent_pages_mean: Optional[List[float]] = None


@dataclass(frozen=True)
class Channel:
    """Operations of a channel."""

    host_reads: int
    host_programs: int
    busy: float


@dataclass(frozen=True)
class Channels:
    """Operations of each channel, and how evenly the channels were used (LAST++ figure 17)."""

    host_spread: Optional[float]
    host_programs_spread: Optional[float]
    busy_spread: float
    each: List[Channel]


@dataclass(frozen=True)
class FileRead:
    """A file of a trace, as it was read."""

    file: str
    format: str
    format_guessed: bool
    time_unit: str
    time_unit_guessed: bool
    columns: Optional[Dict[str, Any]] = None
    assumed: Optional[str] = None


@dataclass(frozen=True)
class InputRead:
    """What one pass over a trace read."""

    files: List[FileRead]
    records: int
    requests: int
    left_out: Dict[str, int]
    split: int
    back_in_time: int
    sorted: bool
    devices: int
    shared_devices: int
    duration_ns: int
    warnings: List[str]


@dataclass(frozen=True)
class Caveat:
    """A line below the table of a comparison."""

    kind: str
    text: str


@dataclass(frozen=True)
class Comparison:
    """The verdict of the comparison that a result is part of."""

    outcome: str
    verdict: str
    caveats: List[Caveat]


@dataclass(frozen=True)
class RecoveryStep:
    """One step of a recovery."""

    name: str
    reads: int
    spare_reads: int
    programs: int
    us: float


@dataclass(frozen=True)
class Recovery:
    """A recovery after a power cut."""

    scratch_bytes: int
    battery_programs: int
    simulated_us: float
    steps: List[RecoveryStep]
    lost_pages: Optional[int] = None

    @classmethod
    def of(cls, value: Dict[str, Any]) -> Recovery:
        """Makes it from the JSON value of a `recovery`."""
        return _fields(cls, value, steps=[_fields(RecoveryStep, step) for step in value["steps"]])

    def to_frame(self) -> pandas.DataFrame:
        """The steps as a data frame, one a row."""
        frame: pandas.DataFrame = _pandas().DataFrame([dataclasses.asdict(step) for step in self.steps])
        return frame


@dataclass(frozen=True)
class Machine:
    """What the run cost the machine. Only this part differs between equal runs."""

    wall_seconds: float
    cpu_seconds: float
    host_pages_per_second: float
    peak_rss_bytes: Optional[int]
    simulation_bytes: int
    payload_bytes: int


@dataclass(frozen=True)
class Result:
    """The result of a run: `phelsuma.run/1` (docs/JSON.md)."""

    schema: str
    ftl: str
    composition: Composition
    seed: int
    oracle: bool
    geometry: Geometry
    workload: str
    fold: Optional[str]
    timing: str
    delta: float
    steady: Optional[bool]
    drift: Optional[float]
    host: HostCounts
    flash: Dict[str, FlashCounts]
    write_amplification: Optional[WriteAmplification]
    ram_bytes: RamBytes
    erases: EraseCounts
    counters: Dict[str, int]
    series: List[SeriesPoint]
    latency_us: Latencies
    simulated_seconds: float
    recovery: Optional[Recovery]
    machine: Optional[Machine] = None
    management_seconds: Optional[ManagementSeconds] = None
    victim_choices: Optional[VictimChoices] = None
    channels: Optional[Channels] = None
    distributions: Optional[Distributions] = None
    input: Optional[InputRead] = None
    loops: Optional[int] = None
    backlog_seconds: Optional[float] = None
    times_are_of_flash_alone: Optional[bool] = None
    throughput: Optional[Throughput] = None
    time: Optional[TimeSpent] = None
    comparison: Optional[Comparison] = None
    raw: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, value: Dict[str, Any]) -> Result:
        """Makes it from the JSON value that this or an earlier version of the command printed.

        Raises:
            InputError: the value is not the result of a run.
        """
        schema = value.get("schema") if isinstance(value, dict) else None
        if schema != _SCHEMA:
            raise InputError(f"this is not a result of a run: its schema is {schema!r}; use one of schema {_SCHEMA!r}")

        def perhaps(of: Type[T], part: Optional[Dict[str, Any]]) -> Optional[T]:
            return None if part is None else _fields(of, part)

        wa = value["write_amplification"]
        recovery = value["recovery"]
        found = value.get("distributions")
        channels, time = value.get("channels"), value.get("time")
        read, compared = value.get("input"), value.get("comparison")
        return _fields(
            cls,
            value,
            composition=_fields(Composition, value["composition"]),
            geometry=_fields(Geometry, value["geometry"]),
            host=_fields(HostCounts, value["host"]),
            flash={purpose: _fields(FlashCounts, counts) for purpose, counts in value["flash"].items()},
            write_amplification=None
            if wa is None
            else _fields(WriteAmplification, wa, reads_weighted=_fields(ReadsWeighted, wa["reads_weighted"])),
            management_seconds=perhaps(ManagementSeconds, value.get("management_seconds")),
            ram_bytes=_fields(RamBytes, value["ram_bytes"]),
            erases=_fields(EraseCounts, value["erases"]),
            victim_choices=perhaps(VictimChoices, value.get("victim_choices")),
            series=[SeriesPoint.of(point) for point in value["series"]],
            channels=None
            if channels is None
            else _fields(Channels, channels, each=[_fields(Channel, channel) for channel in channels["each"]]),
            latency_us=Latencies.of(value["latency_us"]),
            throughput=perhaps(Throughput, value.get("throughput")),
            time=None if time is None else TimeSpent.of(time),
            recovery=None if recovery is None else Recovery.of(recovery),
            machine=perhaps(Machine, value.get("machine")),
            distributions=None
            if found is None
            else Distributions(
                _fields(Distribution, found["page_lifetimes"]),
                _fields(Distribution, found["block_dormant_periods"]),
                found["first_invalidations"],
                found.get("extent_pages_mean"),
            ),
            input=None
            if read is None
            else _fields(InputRead, read, files=[_fields(FileRead, file) for file in read["files"]]),
            comparison=None
            if compared is None
            else _fields(Comparison, compared, caveats=[_fields(Caveat, caveat) for caveat in compared["caveats"]]),
            raw=value,
        )

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Makes it from the text that `phelsuma run --json` prints."""
        return cls.of(json.loads(text))

    def to_json(self, indent: Optional[int] = 2) -> str:
        """The text that `phelsuma run --json` prints."""
        return json.dumps(self.raw, indent=indent)

    @property
    def wa(self) -> float:
        """Write amplification; NaN if the host wrote nothing."""
        return float("nan") if self.write_amplification is None else self.write_amplification.total

    def flat(self) -> Dict[str, Any]:
        """All figures by their path in the JSON, such as `write_amplification.total`, without lists."""
        return _flat(self.raw)

    def to_frame(self) -> pandas.DataFrame:
        """A data frame of one row, with the columns of `flat()`."""
        frame: pandas.DataFrame = _pandas().DataFrame([self.flat()])
        return frame

    def series_frame(self) -> pandas.DataFrame:
        """The points of the series, one a row. A run has points if it has `interval=`."""
        frame: pandas.DataFrame = _pandas().DataFrame([_flat(point) for point in self.raw["series"]])
        return frame

    def flash_frame(self) -> pandas.DataFrame:
        """Flash operations, one row for each purpose."""
        rows = {purpose: dataclasses.asdict(counts) for purpose, counts in self.flash.items()}
        frame: pandas.DataFrame = _pandas().DataFrame.from_dict(rows, orient="index").rename_axis("purpose")
        return frame

    def _repr_html_(self) -> str:
        figures = [
            ("FTL", self.ftl + (" (oracle)" if self.oracle else "")),
            ("workload", self.workload),
            ("write amplification", f"{self.wa:.4f}"),
            ("erases", f"{self.erases.total:,}"),
            ("RAM, as papers count it, in bytes", f"{self.ram_bytes.papers['total']:,}"),
            ("steady", _STEADY[self.steady]),
        ]
        import html

        cells = "".join(f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in figures)
        return f"<table>{cells}</table>"


class Results(Sequence[Result]):
    """Several results, such as those of a comparison."""

    def __init__(self, results: Sequence[Result], remarks: Sequence[str] = ()) -> None:
        self._results = list(results)
        #: The remarks of the command: parameters that some of the FTLs have no part for.
        self.remarks = list(remarks)

    @overload
    def __getitem__(self, which: Union[int, str]) -> Result: ...
    @overload
    def __getitem__(self, which: slice) -> Results: ...
    def __getitem__(self, which: Union[int, str, slice]) -> Union[Result, Results]:
        """A result by its index, or by the name of its FTL."""
        if isinstance(which, slice):
            return Results(self._results[which], self.remarks)
        if isinstance(which, int):
            return self._results[which]
        for result in self._results:
            if result.ftl == which:
                return result
        raise KeyError(which)

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    def not_steady(self) -> List[str]:
        """The FTLs whose figures were still changing. A longer run (`warmup`, `passes`) would give other figures.

        The halves of a trace are seldom alike, so there this says little.
        """
        return [result.ftl for result in self if result.steady is False]

    def __repr__(self) -> str:
        def told(result: Result) -> str:
            return f"{result.ftl}: {result.wa:.4f}" + (" (not steady)" if result.steady is False else "")

        return "Results([" + ", ".join(map(told, self)) + "])"

    def to_frame(self) -> pandas.DataFrame:
        """A data frame of one row for each result, with the columns of `Result.flat()`."""
        frame: pandas.DataFrame = _pandas().DataFrame([result.flat() for result in self])
        return frame

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{r.ftl}</th><td>{r.wa:.4f}</td><td>{r.erases.total:,}</td>"
            f"<td>{r.ram_bytes.papers['total']:,}</td><td>{_STEADY[r.steady]}</td></tr>"
            for r in self
        )
        heads = "<tr><th>FTL</th><th>WA</th><th>erases</th><th>RAM (papers), bytes</th><th>steady</th></tr>"
        return f"<table>{heads}{rows}</table>"
