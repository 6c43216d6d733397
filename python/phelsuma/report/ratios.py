"""The claims of a table or section in one picture: measured values divided by the paper's values."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from .. import plot
from . import axes
from .papers import Claim

VERDICTS = {"holds": plot.BLUE, "does not hold here": plot.RED, "cannot be run here": "#666666"}


def number(x: Optional[float], unit: str = "") -> str:
    """A number with four significant digits."""
    if x is None:
        return "-"
    digits = f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"
    return f"{digits} {unit}".rstrip()


def stated(claim: Dict[str, Any], *, short: bool = False) -> str:
    """The paper's number, with its operator."""
    value, unit = claim["value"], claim["unit"]
    if claim["operator"] == "between":
        return f"between {number(value)} and {number(claim['most'], unit)}"
    off = ""
    if claim["tolerance"] is not None:
        percent = f"{100 * claim['tolerance']:.3g} %"
        sign = {"about": "±", "<=": "+"}.get(claim["operator"], "−")
        off = f" {sign} {percent}" if short else f" (by up to {percent})"
    return f"{claim['operator']} {number(value, unit)}{off}"


def _ratio(found: Dict[str, Any]) -> Optional[float]:
    if found["measured"] is None or found["value"] == 0:
        return None
    return float(found["measured"] / found["value"])


def _allowed(found: Dict[str, Any], low: float, high: float) -> Tuple[float, float]:
    """The range of ratios in which the claim holds."""
    of = found["operator"]
    if of == "about":
        return 1 - found["tolerance"], 1 + found["tolerance"]
    if of == "between":
        return 1, found["most"] / found["value"]
    if of in ("<", "<=", ">", ">="):
        off = found["tolerance"] or 0
        return (low, 1 + off) if (of[0] == "<") == (found["value"] > 0) else (1 - off, high)
    return 1, 1


def drawable(claims: List[Claim]) -> List[Dict[str, Any]]:
    """The findings with two numbers that have a ratio."""
    return [claim.found for claim in claims if claim.found is not None and _ratio(claim.found) is not None]


def draw(claims: List[Claim]) -> Any:
    """One row for each claim: a point at the measured number, and a grey range in which the claim holds."""
    rows = drawable(claims)
    ratios = [_ratio(row) or 0.0 for row in rows]
    positive = [ratio for ratio in ratios if ratio > 0] + [0.8, 1.25]
    positive += [edge for row in rows if row["operator"] == "between" for edge in _allowed(row, 1, 1)]
    low, high = min(positive) / 1.25, max(positive) * 1.25
    with axes.style():
        figure = axes.figure(9.0, 1.15 + 0.27 * len(rows))
        shown = figure.add_subplot()
        for n, (row, ratio) in enumerate(zip(rows, ratios)):
            begin, end = _allowed(row, low, high)
            begin, end = max(begin, low), min(end, high)
            wide = max(end, begin * 1.004) - begin
            shown.broken_barh([(begin, wide)], (n - 0.37, 0.74), color="#d4d4d4", zorder=1)
            holds = row["verdict"] == "holds"
            # What has no place on the axis is at its edge.
            mark = ("o" if holds else "X") if ratio > 0 else "<"
            shown.plot(
                [ratio if ratio > 0 else low], [n], mark, color=VERDICTS[row["verdict"]], markersize=7, zorder=3,
                clip_on=False, markeredgecolor="white", markeredgewidth=0.6,
            )  # fmt: skip
        shown.axvline(1, color="black", linewidth=1, zorder=2)
        shown.set_xscale("log")
        axes.log_ticks(shown.xaxis, low, high)
        shown.set_xlim(low, high)
        shown.set_xlabel("measured over the paper's number (log)")
        shown.set_title("measured (the paper's)", loc="right", fontsize=8)
        shown.set_yticks(range(len(rows)), [row["id"].replace("-", " ") for row in rows])
        shown.set_ylim(len(rows) - 0.4, -0.6)
        shown.grid(False, axis="y")
        beside = shown.twinx()
        beside.set_ylim(shown.get_ylim())
        told = [f"{number(row['measured'], row['unit'])}  ({stated(row, short=True)})" for row in rows]
        beside.set_yticks(range(len(rows)), told)
        beside.tick_params(length=0)
        beside.grid(False)
        for spine in beside.spines.values():
            spine.set_visible(False)
        handles = [axes.patch("#d4d4d4", "where the paper's claim holds")]
        for verdict, mark in (("holds", "o"), ("does not hold here", "X")):
            if any(row["verdict"] == verdict for row in rows):
                handles.append(axes.marker(mark, VERDICTS[verdict], verdict))
        if min(ratios) <= 0:
            handles.append(axes.marker("<", VERDICTS["does not hold here"], "zero, or of the other sign"))
        axes.legend(figure, handles)
    return figure
