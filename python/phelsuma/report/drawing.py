"""Draws the series of a figure. Its entry in `claims.toml` declares the kind of picture (crates/claims/src/drawing.rs).

Nothing is guessed: a figure without a kind is refused. Bars begin at zero and are never on a logarithmic axis. Zeros
and missing values are marked.
"""

from __future__ import annotations

import math
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .. import plot
from ..errors import InputError
from . import axes
from .papers import Figure, Row

NAN = float("nan")
# So many points of a line are no marks each.
MANY = 20


def read(row: Row, column: str) -> float:
    """The number in a cell; NaN if it is empty."""
    return float(row[column]) if row[column] else NAN


def split(patterns: Sequence[str], run: str) -> Tuple[str, str]:
    """The series and the group in a run's name, by the first pattern that matches."""
    words = run.split("_")
    for pattern in patterns:
        of = pattern.split("_")
        at = of.index("{series}") if "{series}" in of else len(of)
        more = len(words) - len(of)
        if more < 0 or (more and at == len(of)):
            continue
        parts = [words[n] if n < at else "_".join(words[n : n + more + 1]) if n == at else words[n + more]
                 for n in range(len(of))]  # fmt: skip
        if all(word.startswith("{") or word == part for word, part in zip(of, parts)):
            named = dict(zip(of, parts))
            return named.get("{series}", ""), named.get("{group}", "")
    return run, ""


class _Shown:
    """The entry of a figure, with the labels of its names."""

    def __init__(self, of: Figure) -> None:
        self.spec = of.spec
        self.rows = _without_parts_of_intervals(of) if of.spec.get("points") else of.rows
        self.x: Optional[str] = of.spec.get("x")
        self.columns: List[str] = of.spec.get("y") or [name for name in of.columns if name != self.x]
        split_runs = [split(of.spec.get("pattern", []), row["run"]) for row in self.rows]
        # Those that read alike are one series.
        self.series = [self.name(row["run"], self.name(series)) for row, (series, _) in zip(self.rows, split_runs)]
        self.groups = [self.name(group) for _, group in split_runs]
        self.log_y = bool(of.spec.get("log_y"))
        self.base = self.name(of.spec["relative_to"]) if "relative_to" in of.spec else None

    def name(self, word: str, otherwise: Optional[str] = None) -> str:
        """The label of a name."""
        plain = word.replace("_", " ") if otherwise is None else otherwise
        return str(self.spec.get("names", {}).get(word, plain))

    def label(self, column: str) -> str:
        """The label of the axis of values, with the base of relative values."""
        alone = len(self.columns) == 1 and "unit" in self.spec
        label = str(self.spec["unit"]) if alone else self.name(column)
        if self.base is not None:
            label += f", ratio to {self.base}" if len(self.base) < 16 else ", ratio"
        return self._logarithmic(label)

    def _logarithmic(self, label: str) -> str:
        if not self.log_y:
            return label
        return label[:-1] + ", log)" if label.endswith(")") else label + " (log)"

    def unit(self) -> str:
        """The label of the axis that several columns share."""
        return self._logarithmic(str(self.spec.get("unit", "")))

    def x_label(self) -> str:
        """The label of the x axis."""
        return str(self.spec.get("x_label") or self.name(self.x or ""))

    def ranged(self, shown: Any) -> None:
        """Sets the range of the y axis as in the entry, with room for a mark at its end."""
        if "range" in self.spec:
            low, high = self.spec["range"]
            shown.set_ylim(low, high + 0.03 * (high - low))

    def bar_labels(self) -> List[str]:
        """The labels beside bars: the run, or its group and series."""
        if self.x is not None:
            return [axes.told(read(row, self.x)) for row in self.rows]
        return [f"{group}, {series}" if group else series for series, group in zip(self.series, self.groups)]


def _without_parts_of_intervals(of: Figure) -> List[Row]:
    """The rows without a last point in the middle of an interval, which counts fewer pages."""
    x, kept = of.spec["x"], []
    for run in dict.fromkeys(row["run"] for row in of.rows):
        rows = [row for row in of.rows if row["run"] == run]
        whole = read(rows[1], x) - read(rows[0], x) if len(rows) > 1 else 0.0
        if len(rows) > 2 and read(rows[-1], x) - read(rows[-2], x) < 0.999 * whole:
            rows.pop()
        kept += rows
    return kept


def draw(of: Figure) -> Any:
    """Draws the picture.

    Raises:
        InputError: its entry does not say how it is drawn.
    """
    kinds: Dict[str, Callable[[_Shown], Any]] = {
        "bars": _bars,
        "stacked": _stacked,
        "groups": _groups,
        "lines": _lines,
        "histogram": _histogram,
        "cumulative": _lines,
        "map": _map,
    }
    kind = of.spec.get("draw")
    if kind not in kinds:
        raise InputError(f"figure {of.id}: draw = {kind!r}; use one of {', '.join(kinds)}")
    with axes.style():
        return kinds[kind](_Shown(of))


def _panels(many: int) -> Tuple[int, int]:
    """Panels across and down."""
    across = 2 if many == 4 else min(many, 3)
    return across, -(-many // across)


def _horizontal(shown: Any, lows: List[float], highs: List[float], places: Sequence[float], labels: List[str]) -> None:
    """The settings that all horizontal bars share."""
    shown.set_yticks(places, labels)
    shown.set_ylim(max(places) + 0.6, min(places) - 0.6)
    shown.grid(False, axis="y")
    low, high = min([0.0, *lows]), max([0.0, *highs])
    room = (high - low or 1) * 0.2
    shown.set_xlim(low - (room if low < 0 else 0), high + room if high > 0 else 0.02 * room)
    if low < 0:
        shown.axvline(0, color="black", linewidth=1)
    axes.plain(shown.xaxis, 3 if high >= 1e5 else 4)


def _at_end(shown: Any, place: float, value: float) -> None:
    """Writes the number of a bar at its end."""
    nothing = math.isnan(value)
    shown.annotate(
        "none" if nothing else axes.told(value), (0 if nothing else value, place),
        (-3 if value < 0 else 3, 0), textcoords="offset points", va="center", ha="right" if value < 0 else "left",
        fontsize=8, color="#666666" if nothing else "black",
    )  # fmt: skip


def _bars(of: _Shown) -> Any:
    if len(of.rows) == 1:
        # Of one run: a bar for each column.
        panels = [(of.unit(), [read(of.rows[0], column) for column in of.columns])]
        labels = [of.name(column) for column in of.columns]
    else:
        panels = [(of.label(column), [read(row, column) for row in of.rows]) for column in of.columns]
        labels = of.bar_labels()
    across, down = _panels(len(panels))
    longest = max(len(label) for label in labels) * 0.075
    width = (3.6 + longest) if len(panels) == 1 else 3.0 * across + longest
    made = axes.figure(width, (0.65 + 0.27 * len(labels)) * down)
    for n, (label, values) in enumerate(panels):
        shown = made.add_subplot(down, across, n + 1)
        places = list(range(len(values)))
        there = [0.0 if math.isnan(value) else value for value in values]
        shown.barh(places, there, 0.66, color=plot.BLUE)
        for place, value in zip(places, values):
            _at_end(shown, place, value)
        _horizontal(shown, there, there, places, labels if n % across == 0 else [""] * len(labels))
        shown.set_xlabel(axes.wrapped(label, 3.0))
    return made


def _stacked(of: _Shown) -> Any:
    labels, order = of.bar_labels(), list(range(len(of.rows)))
    if any(of.groups):
        groups = list(dict.fromkeys(of.groups))
        order.sort(key=lambda n: groups.index(of.groups[n]))
    places: List[float] = []
    for k, n in enumerate(order):
        apart = k > 0 and of.groups[n] != of.groups[order[k - 1]]
        places.append(places[-1] + (1.5 if apart else 1) if places else 0.0)
    heads = [of.name(column) for column in of.columns]
    made = axes.figure(7.2, 0.75 + 0.29 * len(order) + axes.legend_height(7.2, heads))
    shown = made.add_subplot()
    left, handles = [0.0] * len(order), []
    for m, column in enumerate(of.columns):
        values = [read(of.rows[n], column) for n in order]
        values = [0.0 if math.isnan(value) else value for value in values]
        if any(values):
            colour, hatch = plot.CYCLE[m % 8], plot.HATCHES[m % 8]
            shown.barh(places, values, 0.72, left=left, color=colour, hatch=hatch, edgecolor="white")
            handles.append(axes.patch(colour, of.name(column), hatch))
        left = [a + b for a, b in zip(left, values)]
    for place, total in zip(places, left):
        _at_end(shown, place, total)
    _horizontal(shown, [], left, places, [labels[n] for n in order])
    shown.set_xlabel(of.unit())
    if of.x is not None:
        shown.set_ylabel(of.x_label())
    axes.legend(made, handles)
    return made


def _groups(of: _Shown) -> Any:
    """One panel for each column: the series of each group side by side, as bars or points (see the module)."""
    groups = of.groups if of.x is None else [axes.told(read(row, of.x)) for row in of.rows]
    in_order = list(dict.fromkeys(groups))
    series = list(dict.fromkeys(of.series))
    base = of.base
    as_points = of.log_y or base is not None
    width = 9.0 if len(in_order) > 6 else 6.2
    made = axes.figure(width, 2.4 * len(of.columns) + 0.55 + axes.legend_height(width, [*series, ""]))
    marked_zero = marked_none = False
    for n, column in enumerate(of.columns):
        shown = made.add_subplot(len(of.columns), 1, n + 1)
        values = {(s, g): read(row, column) for s, g, row in zip(of.series, groups, of.rows)}
        if base is not None:
            values = {(s, g): _over(value, values.get((base, g), NAN)) for (s, g), value in values.items()}
        drawn = [name for name in series if name != base]
        positive = [value for (s, _), value in values.items() if s in drawn and value > 0]
        apart = 0.8 / len(drawn)
        if as_points:
            _y_axis_of_points(shown, of, positive, base is not None)
        bottom = shown.get_ylim()[0]
        for m, name in enumerate(drawn):
            colour, mark = axes.LINES[series.index(name) % 8], plot.MARKERS[series.index(name) % 8]
            places = [k + (m - (len(drawn) - 1) / 2) * apart for k in range(len(in_order))]
            heights = [values.get((name, group), NAN) for group in in_order]
            if as_points:
                above = [(x, y) for x, y in zip(places, heights) if y > 0 or (y == 0 and not of.log_y)]
                xs, ys = [x for x, _ in above], [y for _, y in above]
                shown.plot(xs, ys, mark, color=colour, markersize=6.5, markeredgecolor="white", markeredgewidth=0.5)
            else:
                hatch = plot.HATCHES[series.index(name) % 8]
                drawable = [0.0 if math.isnan(y) else y for y in heights]
                colour = plot.CYCLE[series.index(name) % 8]
                shown.bar(places, drawable, apart * 0.92, color=colour, hatch=hatch, edgecolor="white")
            zeros = [x for x, y in zip(places, heights) if y == 0 and (of.log_y or not as_points)]
            nothing = [x for x, y in zip(places, heights) if math.isnan(y)]
            at = bottom if as_points else 0.0
            for there, sign, face in ((zeros, mark, "white"), (nothing, "x", colour)):
                # A line of no points would still claim room at the picture's corner.
                if there:
                    edge = [at] * len(there)
                    shown.plot(
                        there, edge, sign, color=colour, markerfacecolor=face, markersize=5, clip_on=False, zorder=4
                    )
            marked_zero, marked_none = marked_zero or bool(zeros), marked_none or bool(nothing)
        if base is not None:
            shown.axhline(1, color="black", linewidth=1, zorder=1)
        if not as_points and min([0.0, *(y for y in values.values() if not math.isnan(y))]) < 0:
            shown.axhline(0, color="black", linewidth=1)
        if not as_points:
            of.ranged(shown)
        for between in range(1, len(in_order)):
            shown.axvline(between - 0.5, color="#dddddd", linewidth=0.6)
        last, slanted = n == len(of.columns) - 1, sum(len(name) for name in in_order) > 45
        shown.set_xticks(
            range(len(in_order)), in_order if last else [""] * len(in_order),
            rotation=30 if slanted else 0, ha="right" if slanted else "center",
        )  # fmt: skip
        shown.set_xlim(-0.5, len(in_order) - 0.5)
        shown.grid(False, axis="x")
        shown.set_ylabel(axes.wrapped(of.label(column), 2.3))
        if last:
            shown.set_xlabel(of.x_label() if of.x is not None else "workload")
    handles: List[Any] = []
    for m, name in enumerate(series):
        if name == base:
            handles.insert(0, _line("black", "-", "", f"{name}: 1"))
        elif as_points:
            handles.append(axes.marker(plot.MARKERS[m % 8], axes.LINES[m % 8], name))
        else:
            handles.append(axes.patch(plot.CYCLE[m % 8], name, plot.HATCHES[m % 8]))
    if marked_zero:
        handles.append(axes.marker("o", "#444444", "hollow: zero", "white"))
    if marked_none:
        handles.append(axes.marker("x", "#444444", "no value"))
    axes.legend(made, handles)
    return made


def _over(value: float, base: float) -> float:
    return value / base if base > 0 else NAN


def _y_axis_of_points(shown: Any, of: _Shown, positive: List[float], ratio: bool) -> None:
    around = [*positive, *([1.0] if ratio else [])] or [1.0]
    low, high = min(around), max(around)
    if of.log_y:
        low, high = low / 1.3, high * 1.3
        shown.set_yscale("log")
        axes.log_ticks(shown.yaxis, low, high)
        shown.set_ylim(low, high)
    else:
        room = 0.08 * (high - low or 1)
        shown.set_ylim(low - room, high + room)


def _line(colour: str, dashes: Any, mark: str, label: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linestyle=dashes, marker=mark, markersize=4.5, label=label)


def _numbers(columns: Sequence[str]) -> List[float]:
    """The numbers at the end of headings."""
    return [float(match[1]) for match in (re.search(r"(\d+)$", column) for column in columns) if match]


def _curves(of: _Shown) -> List[Tuple[str, str, List[Tuple[str, List[float], List[float]]]]]:
    """Panels: a heading, the label of the y axis, and named lines."""
    panels = []
    if of.x is None:
        # The x is in the headings: a line for each run.
        xs = _numbers(of.columns)
        lines = [(s, xs, [read(row, column) for column in of.columns]) for s, row in zip(of.series, of.rows)]
        return [("", of.unit(), lines)]
    x = of.x
    has_series = len(set(of.series)) > 1
    for group in dict.fromkeys(of.groups):
        rows = [(s, row) for s, g, row in zip(of.series, of.groups, of.rows) if g == group]

        def line(column: str, rows: List[Tuple[str, Row]]) -> Tuple[List[float], List[float]]:
            return [read(row, x) for _, row in rows], [read(row, column) for _, row in rows]

        if has_series:
            for column in of.columns:
                names = list(dict.fromkeys(s for s, _ in rows))
                lines = [(name, *line(column, [one for one in rows if one[0] == name])) for name in names]
                panels.append((group, of.label(column), lines))
        else:
            lines = [(of.name(column), *line(column, rows)) for column in of.columns]
            label = of.label(of.columns[0]) if len(of.columns) == 1 else of.unit()
            panels.append((group, label, lines))
    return panels


def _lines(of: _Shown) -> Any:
    panels = _curves(of)
    names = list(dict.fromkeys(name for _, _, lines in panels for name, _, _ in lines))
    longest = max(len(xs) for _, _, lines in panels for _, xs, _ in lines)
    across, down = _panels(len(panels)) if longest <= MANY else (1, len(panels))
    width = (5.4 if len(panels) == 1 else 3.35 * across) if longest <= MANY else 9.0
    made = axes.figure(width, (3.3 if len(panels) == 1 else 2.7) * down + axes.legend_height(width, names))
    for n, (heading, label, lines) in enumerate(panels):
        shown = made.add_subplot(down, across, n + 1)
        for name, xs, ys in lines:
            m = names.index(name) % 8
            shown.plot(
                xs, ys, linestyle=axes.DASHES[m], marker=plot.MARKERS[m], color=axes.LINES[m], markersize=4.5,
                linewidth=1.4 if longest <= MANY else 1.0, clip_on=False,
                markevery=(m * len(xs) // 64, max(len(xs) // 8, 1)) if longest > MANY else None,
            )  # fmt: skip
        all_x = [x for _, xs, _ in lines for x in xs]
        all_y = [y for _, _, ys in lines for y in ys if not math.isnan(y)]
        if of.spec.get("log_x"):
            axes.log2_axis(shown, all_x)
        else:
            axes.plain(shown.xaxis)
        if of.log_y:
            low, high = min(y for y in all_y if y > 0) / 1.3, max(all_y) * 1.3
            shown.set_yscale("log")
            axes.log_ticks(shown.yaxis, low, high)
            shown.set_ylim(low, high)
        else:
            axes.plain(shown.yaxis, 6)
            # What differs by little is looked at closely, which is said; what does not differ is not.
            if 0.7 < min(all_y) / (max(all_y) or 1) < 0.999 and "range" not in of.spec:
                label += ", not from 0"
            else:
                shown.set_ylim(min(0, min(all_y)), max(all_y) * 1.06 or 1)
        of.ranged(shown)
        if heading:
            shown.set_title(heading)
        shown.set_xlabel(axes.wrapped(of.x_label(), width / across - 0.5))
        shown.set_ylabel(axes.wrapped(label, 2.4))
    axes.legend(made, [_line(axes.LINES[m % 8], axes.DASHES[m % 8], plot.MARKERS[m % 8], name)
                       for m, name in enumerate(names)])  # fmt: skip
    return made


def _histogram(of: _Shown) -> Any:
    made = axes.figure(5.4, 3.3)
    shown = made.add_subplot()
    edges = [2.0**k for k in range(len(of.columns) + 1)]
    handles = []
    for m, (name, row) in enumerate(zip(of.series, of.rows)):
        counts = [read(row, column) for column in of.columns]
        counts = [0.0 if math.isnan(count) else count for count in counts]
        filled = len(of.rows) == 1
        shown.stairs(
            counts, edges, color=plot.CYCLE[m % 8], linestyle=axes.DASHES[m % 8], linewidth=1.6, fill=filled, alpha=0.85
        )
        handles.append(_line(plot.CYCLE[m % 8], axes.DASHES[m % 8], "", name))
    axes.log2_axis(shown, edges[::3])
    shown.set_ylim(bottom=0)
    axes.plain(shown.yaxis)
    shown.set_xlabel(of.x_label())
    shown.set_ylabel(of.unit())
    axes.legend(made, handles)
    return made


def _map(of: _Shown) -> Any:
    """A map as in the paper: places go from the lower left to the right, then upwards. Dark is much."""
    made = axes.figure(3.3 * len(of.rows) + 0.9, 3.5)
    values = [[read(row, column) for column in of.columns] for row in of.rows]
    most = max(value for each in values for value in each if not math.isnan(value))
    all_shown, image = [], None
    for n, (name, each) in enumerate(zip(of.series, values)):
        shown = made.add_subplot(1, len(of.rows), n + 1)
        side = int(len(each) ** 0.5)
        image = shown.imshow(
            [each[k : k + side] for k in range(0, side * side, side)], cmap="Greys", vmin=0, vmax=most, origin="lower"
        )
        shown.set_title(name)
        shown.set_xticks([])
        shown.set_yticks([])
        shown.grid(False)
        x_label = of.spec.get("x_label")
        shown.set_xlabel(x_label or "logical space: rightwards,")
        shown.set_ylabel("logical space: upwards" if x_label else "then upwards")
        for spine in shown.spines.values():
            spine.set_visible(True)
        all_shown.append(shown)
    made.colorbar(image, ax=all_shown, shrink=0.85, label=of.unit())
    return made
