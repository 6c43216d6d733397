"""Parts that all pictures of the report share: the style of `phelsuma.plot`, legends, ticks and labels."""

from __future__ import annotations

import io
import textwrap
from typing import Any, List, Sequence

from .. import plot

# Yellow lines cannot be seen on white.
LINES = (*plot.CYCLE[:7], "#8c8c8c")
DASHES: Sequence[Any] = ("-", "--", ":", "-.", (0, (6, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (6, 2, 1, 2, 1, 2)))
DPI = 160
_TENTHS = (*(n / 10 for n in range(10, 20)), *(n / 2 for n in range(4, 20)))


def style() -> Any:
    """A context that sets the style."""
    return plot._matplotlib().rc_context({**plot.STYLE, "font.size": 9, "axes.titlesize": 10, "figure.dpi": 100})


def figure(width: float, height: float) -> Any:
    """An empty figure of this size in inches, outside of pyplot."""
    plot._matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def png(made: Any) -> bytes:
    """The picture as PNG, in a resolution for print."""
    out = io.BytesIO()
    with style():
        made.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    return out.getvalue()


def patch(colour: str, label: str, hatch: str = "") -> Any:
    """A coloured field for a legend."""
    return plot._matplotlib().patches.Patch(facecolor=colour, edgecolor="white", hatch=hatch, label=label)


def marker(mark: str, colour: str, label: str, face: str = "") -> Any:
    """A mark for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker=mark, color=colour, markerfacecolor=face or colour, label=label)


def _columns(width: float, labels: Sequence[str]) -> int:
    """The number of legend columns that fit."""
    return max(1, min(len(labels), int(width * 72 / (40 + 5.1 * max(len(label) for label in labels)))))


def legend_height(width: float, labels: Sequence[str]) -> float:
    """The height of a legend in inches."""
    return 0.1 + 0.19 * -(-len(labels) // _columns(width, labels)) if len(labels) > 1 else 0.0


def legend(made: Any, handles: List[Any]) -> None:
    """Puts a legend above the picture, in as many columns as fit. A single entry gets no legend."""
    if len(handles) < 2:
        return
    columns = _columns(made.get_figwidth(), [handle.get_label() for handle in handles])
    made.legend(
        handles=handles, loc="outside upper left", ncols=columns, frameon=False, handlelength=2.4, columnspacing=1.2
    )


def wrapped(label: str, inches: float) -> str:
    """A label in lines of at most this length. Line breaks in it stay."""
    most = max(int(inches * 14), 12)
    return "\n".join(line for part in label.split("\n") for line in textwrap.wrap(part, most))


def told(x: float) -> str:
    """A number on an axis or at a bar."""
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.3g}"


def plain(axis: Any, ticks: int = 5) -> None:
    """Sets few ticks, without a factor or an offset at the axis."""
    ticker = plot._matplotlib().ticker
    axis.set_major_locator(ticker.MaxNLocator(ticks))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))


def log_ticks(axis: Any, low: float, high: float) -> None:
    """Sets few ticks on a logarithmic axis, but at least four, with plain numbers."""
    ticker = plot._matplotlib().ticker
    ticks: List[float] = []
    digits: Sequence[float]
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), _TENTHS):
        ticks = [digit * 10.0**power for power in range(-9, 10) for digit in digits]
        ticks = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if len(ticks) >= 4:
            break
    step = max(-(-len(ticks) // 8), 1)
    # Of many some, with 1 among them.
    ticks = ticks[ticks.index(1) % step if 1 in ticks else 0 :: step] or [low, high]
    axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(ticker.NullLocator())


def log2_axis(axes: Any, values: Sequence[float]) -> None:
    """Sets an x axis to base 2, with ticks at the values, as far as they fit."""
    ticker = plot._matplotlib().ticker
    axes.set_xscale("log", base=2)
    ticks = sorted({value for value in values if value > 0})
    kept: List[float] = []
    for tick in ticks[::-1]:
        if not kept or tick <= kept[-1] / (ticks[-1] / ticks[0]) ** (1 / 9):
            kept.append(tick)
    axes.xaxis.set_major_locator(ticker.FixedLocator(kept[::-1]))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: told(value)))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
