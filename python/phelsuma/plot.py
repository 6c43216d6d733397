"""Pictures of results, in one style. Colours (Okabe and Ito's) and hatches keep them readable in print without colour.

Each function draws on `axes`, or on a new figure, and returns the axes: `plot.wa(results).figure.savefig(...)`.
"""

from __future__ import annotations

from dataclasses import asdict
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
    Set,
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
    """Matplotlib, with the modules that are used here."""
    try:
        import matplotlib.colors
        import matplotlib.patches
        import matplotlib.pyplot
        import matplotlib.ticker
    except ImportError as error:
        raise ImportError("pictures need matplotlib; run pip install 'phelsuma[plot]'") from error
    return matplotlib


def _axes(axes: Optional[Axes], **size: Any) -> Axes:
    if axes is not None:
        return axes
    with _matplotlib().rc_context(STYLE):
        made: Axes = _matplotlib().pyplot.figure(**size).add_subplot()
    return made


def _whole(axes: Axes) -> Any:
    """The whole figure of the axes, also if they are in a part of it."""
    return axes.figure.canvas.figure


def _each(results: Union[Result, Iterable[Result]]) -> List[Result]:
    each = [results] if isinstance(results, Result) else list(results)
    if not each:
        raise InputError("there is no result to draw; give one or more")
    return each


def _size(size_bytes: int) -> str:
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.4g} {name}"
    return f"{size_bytes} B"


def _told_apart(result: Result) -> List[str]:
    """The properties in which results of one FTL can differ, those that are varied most often first."""
    drive, parts = result.geometry, asdict(result.composition)
    return [
        result.workload,
        f"ratio {drive.ratio:.4g}",
        _size(drive.capacity_bytes),
        f"pages of {_size(drive.page_bytes)}",
        f"{drive.pages_per_block} pages a block",
        f"{drive.channels} channels",
        f"{drive.dies} dies",
        *(f"{part}={value or 'none'}" for part, value in parts.items()),
        f"timing {result.timing}",
        f"fold {result.fold or 'none'}",
        f"RAM {_size(result.ram_bytes.papers['total'])}",
        f"seed {result.seed}",
    ]


def _labels(results: Sequence[Result]) -> List[Tuple[str, ...]]:
    """A label for each result: the name of its FTL and, if others have the same name, the properties that differ."""
    # What is told what no real FTL knows is marked.
    labels: List[Tuple[str, ...]] = [(r.ftl, *(("(oracle)",) if r.oracle else ())) for r in results]
    numbers = [f"no. {n}" for n, _ in enumerate(results, 1)]
    for texts in (*zip(*map(_told_apart, results)), numbers):
        alike: Dict[Tuple[str, ...], Set[str]] = {}
        for label, text in zip(labels, texts):
            alike.setdefault(label, set()).add(text)
        labels = [(*label, text) if len(alike[label]) > 1 else label for label, text in zip(labels, texts)]
    return labels


def _line(label: Sequence[str]) -> str:
    return ", ".join(label).replace(", (", " (")


def _legend_above(axes: Axes, columns: int, own: bool, **what: Any) -> None:
    """Puts a legend above the axes, in as many columns as fit. If `own`, the figure grows with the rows."""
    figure = _whole(axes)
    figure.draw_without_rendering()
    room = axes.get_window_extent().width
    entries = len(what.get("handles") or axes.get_legend_handles_labels()[1])
    placed = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "handlelength": 1.6, **what}
    columns = min(columns, entries)
    legend = axes.legend(ncols=columns, frameon=False, **placed)
    while columns > 1 and legend.get_window_extent().width > room:
        columns -= 1
        legend = axes.legend(ncols=columns, frameon=False, **placed)
    width = legend.get_window_extent().width
    if width > room:
        points = legend.get_texts()[0].get_fontproperties().get_size_in_points()
        legend = axes.legend(ncols=1, frameon=False, fontsize=max(points * room / width, 4), **placed)
    rows = -(-entries // columns)
    if own:
        figure.set_figheight(figure.get_figheight() + 0.2 * max(rows - 2, 0))
    elif figure.get_layout_engine() is None and legend.get_window_extent().y1 > figure.bbox.y1:
        # Nobody makes room for it over these axes.
        axes.legend(ncols=columns, fontsize="small", **what)


def _level_names(axes: Axes, labels: Sequence[Sequence[str]], own: bool) -> None:
    """Puts names under bars: slanted if they do not fit side by side, and upright if they are many or long."""
    slanted = sum(max(map(len, label)) for label in labels) > 56
    names = [_line(label) if slanted else "\n".join(label) for label in labels]
    upright = len(names) > (8 if max(map(len, names)) > 28 else 16)
    turned = 0 if not slanted else 90 if upright else 30
    axes.set_xticks(range(len(names)), names, rotation=turned, ha="right" if turned == 30 else "center")
    if own:
        figure = _whole(axes)
        figure.set_figwidth(figure.get_figwidth() + 0.35 * max(len(names) - 12, 0))
        # Long names take of the height, of which bars need some.
        figure.set_figheight(figure.get_figheight() + 0.07 * np.sin(np.radians(turned)) * max(map(len, names)))


def wa(results: Union[Result, Iterable[Result]], *, reads_weighted: bool = False, axes: Optional[Axes] = None) -> Axes:
    """Write amplification by cause, as a stacked bar for each result. The dark line at 1 is the host's own write.

    With `reads_weighted`, reads count as well, as in GeckoFTL's paper: a read is the share of a program's time that it
    takes.
    """
    each = [result for result in _each(results) if result.write_amplification is not None]
    if not each:
        raise InputError("the host wrote nothing in these runs, so there is no write amplification to draw")
    own = axes is None
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
    _level_names(axes, _labels(each), own)
    axes.grid(False, axis="x")
    axes.set_ylabel("write amplification" + (",\nreads weighted" if reads_weighted else "") + " (programs per page)")
    _legend_above(axes, 4, own)
    return axes


def tradeoff(results: Iterable[Result], *, axes: Optional[Axes] = None) -> Axes:
    """RAM against recovery time, with write amplification as the colour of the mark, for runs with `cut_at_end`.

    The best marks are dark and near the lower left. RAM is as papers count it. Labels mark FTLs that write on a battery
    at the cut.
    """
    each = [result for result in _each(results) if result.recovery is not None]
    if not each:
        raise InputError("none of these runs ends with a power cut; use cut_at_end=True")
    matplotlib = _matplotlib()
    own = axes is None
    axes = _axes(axes)
    amplified = [result.wa for result in each if result.write_amplification is not None]
    least, most = min(amplified, default=1), max(amplified, default=1)
    scale = matplotlib.colors.LogNorm(least, max(most, least * 1.01))
    for n, (result, label) in enumerate(zip(each, _labels(each))):
        assert result.recovery is not None
        wrote = result.write_amplification is not None
        axes.scatter(
            result.ram_bytes.papers["total"] / 1024,
            max(result.recovery.simulated_us, 1) / 1e6,
            s=90,
            c=[result.wa] if wrote else "white",
            **({"cmap": "cividis", "norm": scale} if wrote else {}),
            marker=MARKERS[n % 8],
            # Marks come again from the ninth on, with another edge.
            edgecolor=(BLACK, RED, SKY, PINK)[n // 8 % 4],
            linewidth=0.8 if n < 8 else 1.8,
            label=f"{_line(label)}: "
            + (f"WA {result.wa:.2f}" if wrote else "no writes")
            + (", with a battery" if result.recovery.battery_programs else ""),
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.margins(0.12)
    for axis in (axes.xaxis, axes.yaxis):
        _few_ticks(axis)
    axes.set_xlabel("RAM, as papers count it (KiB)")
    axes.set_ylabel("recovery, simulated (s)")
    _legend_beside(axes, own)
    return axes


def _few_ticks(axis: Any) -> None:
    """Sets ticks of a logarithmic axis so that their labels do not overlap."""
    ticker = _matplotlib().ticker
    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    if decades < 1:
        axis.set_major_locator(ticker.MaxNLocator(4))
    else:
        subs = (1, 2, 5) if decades < 2.2 else (1, 3) if decades < 4 else (1,)
        axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=6))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.10g}" if decades < 1 else f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def _legend_beside(axes: Axes, own: bool) -> None:
    """Puts a legend on the right and, if `own`, enlarges the figure. Above the axes if it would cover too much of them."""
    legend = axes.legend(loc="upper left", bbox_to_anchor=(1, 1), borderaxespad=0.2, frameon=False)
    figure, box = _whole(axes), legend.get_window_extent()
    if own:
        figure.set_figwidth(max(figure.get_figwidth(), 4 + box.width / figure.dpi))
        figure.set_figheight(max(figure.get_figheight(), 0.4 + box.height / figure.dpi))
    elif figure.get_layout_engine() is None or box.width > 0.5 * axes.get_window_extent().width:
        _legend_above(axes, 2, own)


def latencies(results: Union[Result, Iterable[Result]], *, op: str = "write", axes: Optional[Axes] = None) -> Axes:
    """Percentiles of the latencies of one kind of request, `write` or `read`."""
    if op not in ("write", "read"):
        raise InputError(f"op {op!r} has no latencies; use write or read")
    each = [result for result in _each(results) if getattr(result.latency_us, op) is not None]
    found: List[Tuple[str, Latency]] = [
        (_line(label), getattr(result.latency_us, op)) for result, label in zip(each, _labels(each))
    ]
    if not found:
        raise InputError(f"there was no {op} in these runs, so there are no latencies to draw")
    own = axes is None
    axes = _axes(axes)
    levels = (("p50", "median"), ("mean", "mean"), ("p99", "99 %"), ("p999", "99.9 %"), ("max", "longest"))
    width = 0.8 / len(found)
    for n, (name, latency) in enumerate(found):
        places = np.arange(len(levels)) + (n - (len(found) - 1) / 2) * width
        heights = [max(getattr(latency, level), 1e-3) / 1000 for level, _ in levels]
        colour, hatch = CYCLE[n % 8], HATCHES[(n + n // 8) % 8]
        axes.bar(places, heights, width * 0.92, color=colour, hatch=hatch, edgecolor="white", label=name)
    axes.set_yscale("log")
    axes.set_xticks(range(len(levels)), [label for _, label in levels])
    axes.grid(False, axis="x")
    axes.set_ylabel(f"latency of a {op} (ms)")
    _legend_above(axes, 4, own)
    return axes


def _dashes(n: int) -> str:
    # With the colour, which comes again from the ninth on, they are others.
    return ("-", "--", ":", "-.")[(n + n // 8) % 4]


def lifetimes(results: Union[Result, Iterable[Result]], *, axes: Optional[Axes] = None) -> Axes:
    """How long pages live, for runs with `distributions=True` (figure 3 of Dual Greedy's paper)."""
    each = [result for result in _each(results) if result.distributions is not None]
    if not each:
        raise InputError("these runs observed no lifetimes; use distributions=True")
    own = axes is None
    axes = _axes(axes)
    # Of one FTL alone the workloads are what is to be told apart.
    of_one = len({result.ftl for result in each}) == 1
    for n, (result, label) in enumerate(zip(each, _labels(each))):
        assert result.distributions is not None
        counts = result.distributions.page_lifetimes.array().astype(float)
        shares = 100 * counts / max(counts.sum(), 1)
        name = _line(label[1:] or [result.workload]) if of_one else _line(label)
        # Entry k is from 2^k to 2^(k+1): drawn as a step over just that.
        edges = 2.0 ** np.arange(len(shares) + 1)
        axes.stairs(shares, edges, color=CYCLE[n % 8], linestyle=_dashes(n), linewidth=1.8, label=name)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("lifetime of a page (pages written by the host)")
    axes.set_ylabel("pages (%)")
    _legend_above(axes, 4, own)
    return axes


def series(results: Union[Result, Iterable[Result]], *, axes: Optional[Axes] = None) -> Axes:
    """Write amplification over time, for runs with `interval=`."""
    each = [result for result in _each(results) if result.series]
    if not each:
        raise InputError("these runs have no series; use interval=N")
    own = axes is None
    axes = _axes(axes)
    longest = max(result.series[-1].write_pages for result in each)
    unit, name = (1e6, "millions") if longest >= 2e6 else (1e3, "thousands")
    for n, (result, label) in enumerate(zip(each, _labels(each))):
        written = [point.write_pages / unit for point in result.series]
        amplification = [point.write_amplification for point in result.series]
        colour, dashes = CYCLE[n % 8], _dashes(n)
        axes.plot(written, amplification, color=colour, linestyle=dashes, linewidth=1.8, label=_line(label))
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"pages written by the host ({name})")
    axes.set_ylabel("write amplification since the point before")
    _legend_above(axes, 4, own)
    return axes


def _as_map(values: np.ndarray[Any, Any], columns: int) -> np.ndarray[Any, Any]:
    rows = -(-len(values) // columns)
    padded = np.full(rows * columns, np.nan)
    padded[: len(values)] = values
    return padded.reshape(rows, columns)


def wear(drive: Union[Drive, ArrayLike], *, axes: Optional[Axes] = None) -> Axes:
    """How often each block was erased, as one square a block, in order from the upper left."""
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
    """The state of each physical page of the first `blocks` blocks. A block is a column, with its first page below."""
    states = np.asarray(drive.validity() if isinstance(drive, Drive) else drive)[:blocks]
    matplotlib = _matplotlib()
    own = axes is None
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
    _legend_above(axes, len(there), own, handles=handles, handlelength=2)
    return axes


def extents(drive: Drive, *, axes: Optional[Axes] = None) -> Axes:
    """The length of the extent that each logical page lies in, as one square a page, in order from the upper left.

    An extent is a run of logical pages whose data are consecutive in one block. Light squares are long extents. Pages
    without data are white.
    """
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
    """Sizes of the runs of Logarithmic Gecko over time, by level.

    `samples` maps numbers of written pages to what `Drive.gecko_runs()` returned then.
    """
    if not samples or not any(samples.values()):
        raise InputError("there is no run to draw; give samples of a drive that has a Logarithmic Gecko")
    own = axes is None
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
    _legend_above(axes, 5, own)
    return axes
