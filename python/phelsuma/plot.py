"""Pictures of results, in one style: readable in print, told apart without colours (Okabe and Ito's, and hatches).

Each function draws on `axes`, or on a figure of its own, and gives the axes back:
`plot.wa(results).figure.savefig(...)`.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

import numpy as np
from numpy.typing import ArrayLike

from .drives import NOWHERE, PAGE_STATES, Drive, Extents
from .errors import InputError
from .results import Latency, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours that are told apart with any kind of colour blindness; their greys differ as well.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, RED, YELLOW, BLACK = "#56B4E9", "#D55E00", "#F0E442", "#000000"
CYCLE = (BLUE, ORANGE, GREEN, RED, SKY, PINK, BLACK, YELLOW)
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

STYLE: Dict[str, Any] = {
    "figure.figsize": (6.4, 3.9),
    "figure.dpi": 120,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
}

Draw = TypeVar("Draw", bound=Callable[..., Any])


def _matplotlib() -> Any:
    """Matplotlib, with what is used of it."""
    try:
        import matplotlib.colors
        import matplotlib.patches
        import matplotlib.pyplot
        import matplotlib.ticker
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'phelsuma[plot]' would be right") from error
    return matplotlib


def _axes(axes: Optional[Axes], **size: Any) -> Axes:
    if axes is not None:
        return axes
    with _matplotlib().rc_context(STYLE):
        made: Axes = _matplotlib().pyplot.figure(**size).add_subplot()
    return made


def _each(results: Union[Result, Iterable[Result]]) -> List[Result]:
    each = [results] if isinstance(results, Result) else list(results)
    if not each:
        raise InputError("there is no result to draw; one or more would be right")
    return each


def _names(results: Sequence[Result]) -> List[str]:
    # What is told what no real FTL knows is marked.
    return [result.ftl + ("\n(oracle)" if result.oracle else "") for result in results]


def _legend_above(axes: Axes, columns: int) -> None:
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, handlelength=1.6, frameon=False
    )


def _level_names(axes: Axes, names: Sequence[str]) -> None:
    """Names under bars: aslant where they would not fit side by side."""
    slanted = sum(len(name) for name in names) > 56
    axes.set_xticks(range(len(names)), names, rotation=30 if slanted else 0, ha="right" if slanted else "center")


def wa(results: Union[Result, Iterable[Result]], *, reads_weighted: bool = False, axes: Optional[Axes] = None) -> Axes:
    """Write amplification by cause, a stacked bar for each result; the host's own write is the dark line at 1.

    With `reads_weighted` as GeckoFTL's paper counts: reads as well, each as so much of a program as it takes of its
    time.
    """
    each = [result for result in _each(results) if result.write_amplification is not None]
    if not each:
        raise InputError("the host wrote nothing in these runs, so there is no write amplification to draw")
    axes = _axes(axes)
    parts = (("user", "user data"), ("translation", "translation"), ("validity", "validity"), ("other", "other"))
    bottom = np.zeros(len(each))
    for (part, label), colour, hatch in zip(parts, (BLUE, ORANGE, GREEN, PINK), HATCHES):
        of = [r.write_amplification for r in each]
        heights = np.array([getattr(w.reads_weighted if reads_weighted else w, part) for w in of if w is not None])
        if heights.any():
            axes.bar(
                range(len(each)),
                heights,
                0.62,
                bottom=bottom,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                label=label,
            )
        bottom += heights
    for place, height in enumerate(bottom):
        axes.annotate(f"{height:.2f}", (place, height), (0, 3), textcoords="offset points", ha="center", fontsize=9)
    axes.axhline(1, color="black", linewidth=1)
    axes.set_ylim(0, max(bottom) * 1.1)
    _level_names(axes, _names(each))
    axes.grid(False, axis="x")
    axes.set_ylabel("write amplification" + (",\nreads weighted" if reads_weighted else "") + " (programs per page)")
    _legend_above(axes, 4)
    return axes


def tradeoff(results: Iterable[Result], *, axes: Optional[Axes] = None) -> Axes:
    """RAM against recovery, with write amplification as the colour of each mark: of runs with `cut_at_end`.

    What is nearest to the lower left, and dark, is best. RAM is as papers count it.
    """
    each = [result for result in _each(results) if result.recovery is not None]
    if not each:
        raise InputError("none of these runs ends with a power cut; cut_at_end=True would be right")
    matplotlib = _matplotlib()
    axes = _axes(axes)
    least, most = min(result.wa for result in each), max(result.wa for result in each)
    scale = matplotlib.colors.LogNorm(least, max(most, least * 1.01))
    for n, result in enumerate(each):
        assert result.recovery is not None
        axes.scatter(
            result.ram_bytes.papers["total"] / 1024,
            max(result.recovery.simulated_us, 1) / 1e6,
            s=90,
            c=[result.wa],
            cmap="cividis",
            norm=scale,
            marker=MARKERS[n % 8],
            edgecolor="black",
            linewidth=0.8,
            label=f"{result.ftl}{' (oracle)' if result.oracle else ''}: WA {result.wa:.2f}",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticker = matplotlib.ticker
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(ticker.NullFormatter())
    axes.margins(0.12)
    axes.set_xlabel("RAM, as papers count it (KiB)")
    axes.set_ylabel("recovery, simulated (s)")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), borderaxespad=0.2, frameon=False)
    return axes


def latencies(results: Union[Result, Iterable[Result]], *, op: str = "write", axes: Optional[Axes] = None) -> Axes:
    """Percentiles of the latencies of one kind of request, `write` or `read`."""
    if op not in ("write", "read"):
        raise InputError(f"op {op!r} has no latencies; write or read would be right")
    found: List[Tuple[str, Latency]] = []
    for result in _each(results):
        latency = getattr(result.latency_us, op)
        if latency is not None:
            found.append((result.ftl, latency))
    if not found:
        raise InputError(f"there was no {op} in these runs, so there are no latencies to draw")
    axes = _axes(axes)
    levels = (("p50", "median"), ("mean", "mean"), ("p99", "99 %"), ("p999", "99.9 %"), ("max", "longest"))
    width = 0.8 / len(found)
    for n, (name, latency) in enumerate(found):
        places = np.arange(len(levels)) + (n - (len(found) - 1) / 2) * width
        heights = [max(getattr(latency, level), 1e-3) / 1000 for level, _ in levels]
        axes.bar(places, heights, width * 0.92, color=CYCLE[n % 8], hatch=HATCHES[n % 8], edgecolor="white", label=name)
    axes.set_yscale("log")
    axes.set_xticks(range(len(levels)), [label for _, label in levels])
    axes.grid(False, axis="x")
    axes.set_ylabel(f"latency of a {op} (ms)")
    _legend_above(axes, min(len(found), 4))
    return axes


def lifetimes(results: Union[Result, Iterable[Result]], *, axes: Optional[Axes] = None) -> Axes:
    """How long pages live, of runs with `distributions=True` (figure 3 of Dual Greedy's paper)."""
    each = [result for result in _each(results) if result.distributions is not None]
    if not each:
        raise InputError("these runs observed no lifetimes; distributions=True would be right")
    axes = _axes(axes)
    for n, result in enumerate(each):
        assert result.distributions is not None
        counts = result.distributions.page_lifetimes.array().astype(float)
        shares = 100 * counts / max(counts.sum(), 1)
        label = result.ftl if len({r.ftl for r in each}) > 1 else result.workload
        # Entry k is from 2^k to 2^(k+1): drawn as a step over just that.
        edges = 2.0 ** np.arange(len(shares) + 1)
        axes.stairs(
            shares, edges, color=CYCLE[n % 8], linestyle=("-", "--", ":", "-.")[n % 4], linewidth=1.8, label=label
        )
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("lifetime of a page (pages written by the host)")
    axes.set_ylabel("pages (%)")
    _legend_above(axes, min(len(each), 4))
    return axes


def series(results: Union[Result, Iterable[Result]], *, axes: Optional[Axes] = None) -> Axes:
    """Write amplification over time, of runs with `interval=`."""
    each = [result for result in _each(results) if result.series]
    if not each:
        raise InputError("these runs have no series; interval=N would be right")
    axes = _axes(axes)
    longest = max(result.series[-1].write_pages for result in each)
    unit, name = (1e6, "millions") if longest >= 2e6 else (1e3, "thousands")
    for n, result in enumerate(each):
        written = [point.write_pages / unit for point in result.series]
        amplification = [point.write_amplification for point in result.series]
        dashes = ("-", "--", ":", "-.")[n % 4]
        axes.plot(written, amplification, color=CYCLE[n % 8], linestyle=dashes, linewidth=1.8, label=result.ftl)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"pages written by the host ({name})")
    axes.set_ylabel("write amplification since the point before")
    _legend_above(axes, 4)
    return axes


def _as_map(values: np.ndarray[Any, Any], columns: int) -> np.ndarray[Any, Any]:
    rows = -(-len(values) // columns)
    padded = np.full(rows * columns, np.nan)
    padded[: len(values)] = values
    return padded.reshape(rows, columns)


def wear(drive: Union[Drive, ArrayLike], *, axes: Optional[Axes] = None) -> Axes:
    """How often each block was erased, a square each, in the order of their numbers from the upper left."""
    erases = np.asarray(drive.erase_counts() if isinstance(drive, Drive) else drive, dtype=float)
    axes = _axes(axes)
    columns = max(int(np.ceil(np.sqrt(len(erases) * 1.7))), 1)
    image = axes.imshow(_as_map(erases, columns), cmap="cividis", interpolation="nearest", aspect="auto", vmin=0)
    axes.figure.colorbar(image, ax=axes, label="erases of a block")
    axes.grid(False)
    axes.set_xlabel(f"block, {columns} in a row")
    axes.set_ylabel("row")
    return axes


def validity(drive: Union[Drive, ArrayLike], *, blocks: int = 128, axes: Optional[Axes] = None) -> Axes:
    """What is on each physical page of the first `blocks` blocks: a column for each block, its first page below."""
    states = np.asarray(drive.validity() if isinstance(drive, Drive) else drive)[:blocks]
    matplotlib = _matplotlib()
    axes = _axes(axes)
    # Light to dark as well, so that a print in grey still tells them apart.
    colours = ("#f7f7f7", YELLOW, BLUE, PINK, BLACK)
    shown = matplotlib.colors.ListedColormap(colours)
    axes.imshow(states.T, cmap=shown, vmin=-0.5, vmax=4.5, interpolation="nearest", aspect="auto", origin="lower")
    axes.grid(False)
    axes.set_xlabel("block")
    axes.set_ylabel("page of the block")
    there = [n for n in range(len(PAGE_STATES)) if (states == n).any()]
    handles = [matplotlib.patches.Patch(facecolor=colours[n], edgecolor="#666666", label=PAGE_STATES[n]) for n in there]
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(there), borderaxespad=0.2, frameon=False
    )
    return axes


def extents(drive: Drive, *, axes: Optional[Axes] = None) -> Axes:
    """How the data of logical pages lie: a square for each in the order of their numbers from the upper left, as light
    as its extent is long (pages that follow each other, whose data follow each other in one block); pages without data
    are white."""
    places = drive.places()
    found = Extents.of(places, drive.pages_per_block)
    if len(found.pages) == 0:
        raise InputError("no page of this drive has data, so there is no extent to draw")
    lengths = np.full(len(places), np.nan)
    lengths[places != NOWHERE] = np.repeat(found.pages, found.pages)
    axes = _axes(axes)
    columns = max(int(np.ceil(np.sqrt(len(lengths) * 1.7))), 1)
    norm = _matplotlib().colors.LogNorm(1, drive.pages_per_block)
    image = axes.imshow(
        _as_map(lengths, columns), cmap="cividis", norm=norm, interpolation="nearest", aspect="auto", rasterized=True
    )
    bar = axes.figure.colorbar(image, ax=axes, label="pages of the extent")
    marks = [2**n for n in range(0, drive.pages_per_block.bit_length(), 2)]
    bar.set_ticks(marks, labels=[str(mark) for mark in marks])
    bar.ax.minorticks_off()
    axes.grid(False)
    axes.set_xlabel(f"logical page, {columns:,} in a row")
    axes.set_ylabel("row")
    return axes


def gecko_runs(samples: Mapping[int, Sequence[Tuple[int, int]]], *, axes: Optional[Axes] = None) -> Axes:
    """Sizes of the runs of Logarithmic Gecko over time, by level: `samples` has what `Drive.gecko_runs()` gave after so
    many pages written."""
    if not samples or not any(samples.values()):
        raise InputError("there is no run to draw; samples of a drive that has a Logarithmic Gecko would be right")
    axes = _axes(axes)
    written = sorted(samples)
    levels = sorted({level for runs in samples.values() for level, _ in runs})
    heights = [[sum(pages for of, pages in samples[when] if of == level) for when in written] for level in levels]
    # The largest at the bottom, as the oldest.
    colours = [_matplotlib().colormaps["cividis"](x) for x in np.linspace(0.05, 0.95, len(levels))]
    areas = axes.stackplot(
        np.array(written) / 1000,
        heights[::-1],
        colors=colours,
        step="post",
        labels=[f"level {level}" for level in levels[::-1]],
        edgecolor="white",
        linewidth=0.3,
    )
    for area, hatch in zip(areas, HATCHES):
        area.set_hatch(hatch)
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    axes.set_xlabel("pages written by the host (thousands)")
    axes.yaxis.set_major_locator(_matplotlib().ticker.MaxNLocator(integer=True))
    axes.set_ylabel("pages of runs")
    _legend_above(axes, min(len(levels), 5))
    return axes
