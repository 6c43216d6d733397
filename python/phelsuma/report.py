"""What papers state and what was found of it, as one page of HTML that needs no other file.

It is made of what `phelsuma claims run PAPER` stores in the paper's folder: `results-SCALE.json` and the series of the
figures, `figures-SCALE/*.csv`. No number is computed here. `python -m phelsuma.report papers -o report.html` writes it.
"""

from __future__ import annotations

import argparse
import base64
import csv
import html
import io
import json
import re
import sys
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from .errors import InputError, PhelsumaError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERDICTS = {"holds": "#0072B2", "does not hold here": "#D55E00", "cannot be run here": "#666666"}

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>What papers state, tried here</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #111; }}
h2 {{ border-bottom: 2px solid #111; margin-top: 3rem; }}
article {{ border-left: 5px solid var(--verdict); padding: .2rem 1rem; margin: 1.4rem 0; break-inside: avoid; }}
article h4 {{ margin: 0; font-weight: 600; }}
.verdict {{ color: var(--verdict); font-weight: 600; }}
.at, .why, figcaption {{ color: #444; font-size: .92rem; }}
code, pre {{ font: .82rem/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }}
figure {{ margin: 1.5rem 0; break-inside: avoid; }} figure img {{ max-width: 100%; }}
svg text {{ font: 12px system-ui, sans-serif; }}
table {{ border-collapse: collapse; }} td, th {{ padding: .1rem .8rem .1rem 0; text-align: left; }}
td.n {{ text-align: right; }}
</style></head><body>
<h1>What papers state, tried here</h1>
<p>Every claim with the paper's number, the one measured here, and the commands that measure it again. Scale:
{scale}.</p> {summary}
{papers}
</body></html>
"""


def write(
    papers: Union[str, PathLike[str]], to: Union[str, PathLike[str]], *, scale: str = "quick", only: Sequence[str] = ()
) -> int:
    """Writes the page of all papers below the folder `papers`, or of those in `only`; how many claims are on it.

    Raises:
        InputError: there is no result of that scale.
    """
    folders = [f for f in sorted(Path(papers).iterdir()) if (f / f"results-{scale}.json").is_file()]
    missing = [name for name in only if name not in [folder.name for folder in folders]]
    if missing or not folders:
        what = ", ".join(missing) or str(papers)
        raise InputError(f"{what}: no results-{scale}.json; phelsuma claims run --scale {scale} would be right")
    parts, rows, claims = [], [], 0
    for folder in folders:
        if only and folder.name not in only:
            continue
        found = json.loads((folder / f"results-{scale}.json").read_text())
        document = _document(folder / "claims.toml")
        parts.append(_paper(folder, found, document, scale))
        counts = [sum(claim["verdict"] == verdict for claim in found["claims"]) for verdict in VERDICTS]
        cells = "".join(f'<td class="n">{n}</td>' for n in counts)
        rows.append(f'<tr><td><a href="#{folder.name}">{_text(folder.name)}</a></td>{cells}</tr>')
        claims += len(found["claims"])
    heads = "".join(f"<th>{verdict}</th>" for verdict in VERDICTS)
    summary = f"<table><tr><th>paper</th>{heads}</tr>{''.join(rows)}</table>"
    Path(to).write_text(_PAGE.format(scale=_text(scale), summary=summary, papers="\n".join(parts)), encoding="utf-8")
    return claims


def _document(path: Path) -> Dict[str, Any]:
    """What is written by hand: the title, and what each figure is."""
    try:
        import tomllib
    except ImportError:  # Python before 3.11
        try:
            import tomli as tomllib  # type: ignore[import-not-found,no-redef,unused-ignore]
        except ImportError as error:
            raise ImportError("the report reads TOML: pip install 'phelsuma[report]' would be right") from error
    with path.open("rb") as file:
        return dict(tomllib.load(file))


def _text(text: object) -> str:
    return html.escape(str(text))


def _number(x: Optional[float], unit: str = "") -> str:
    """Four digits that count."""
    if x is None:
        return "-"
    digits = f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"
    return f"{digits} {unit}".rstrip()


def _stated(claim: Dict[str, Any]) -> str:
    value, unit = claim["value"], claim["unit"]
    if claim["operator"] == "between":
        return f"between {_number(value)} and {_number(claim['most'], unit)}"
    off = f" (by up to {100 * claim['tolerance']:.3g} %)" if claim["tolerance"] is not None else ""
    return f"{claim['operator']} {_number(value, unit)}{off}"


def _paper(folder: Path, found: Dict[str, Any], document: Dict[str, Any], scale: str) -> str:
    title = document.get("title", folder.name)
    claims = "\n".join(_claim(claim) for claim in found["claims"])
    about = {figure["id"]: figure.get("at", figure["id"]) for figure in document.get("figures", [])}
    figures = []
    for name, runs in found.get("figures", {}).items():
        path = folder / f"figures-{scale}" / f"{name}.csv"
        if path.is_file():
            figures.append(_figure(name, about.get(name, name), path, runs))
    return (
        f'<h2 id="{_text(folder.name)}">{_text(title)}</h2>\n<h3>Claims</h3>\n{claims}\n'
        f"<h3>Figures</h3>\n{''.join(figures) or '<p>None is complete.</p>'}"
    )


def _claim(claim: Dict[str, Any]) -> str:
    colour = VERDICTS.get(claim["verdict"], "#666666")
    commands = [run["command"] for run in claim["runs"].values()]
    shown = "\n".join(f"phelsuma {_text(command)}" for command in commands)
    word = "command" if len(commands) == 1 else f"{len(commands)} commands"
    why = f'<p class="why">{_text(claim["why"])}</p>' if claim["why"] else ""
    # Results of before kinds were told have none.
    kind = {"formula": " (a formula)", "constant": " (a constant of the drive)"}.get(claim.get("kind") or "", "")
    again = f"<details><summary>{word}</summary><pre>{shown}</pre></details>" if commands else ""
    return (
        f'<article style="--verdict: {colour}" id="{_text(claim["id"])}"><h4>{_text(claim["says"])}</h4>'
        f'<p class="at">{_text(claim["id"])}, {_text(claim["at"])}</p>{_bars(claim)}'
        f"<p>Paper: {_text(_stated(claim))}. Measured: {_text(_number(claim['measured'], claim['unit']))}{kind}. "
        f'<span class="verdict">{_text(claim["verdict"])}</span>.</p>{why}{again}</article>'
    )


def _bars(claim: Dict[str, Any]) -> str:
    """The paper's number, or what it is between, above the measured one."""
    value, most, measured = claim["value"], claim["most"], claim["measured"]
    shown = [x for x in (value, most, measured) if x is not None]
    longest = max((abs(x) for x in shown), default=0)
    if measured is None or longest == 0 or min(shown) < 0:
        return ""
    room = 360

    def at(x: float) -> float:
        return float(room * x / longest)

    rows = [("paper", 0 if most is None else value, value if most is None else most, "#999999")]
    rows.append(("measured", 0, measured, VERDICTS.get(claim["verdict"], "#666666")))
    marks = ""
    for n, (name, low, high, fill) in enumerate(rows):
        top, width = 3 + 20 * n, max(at(high) - at(low), 1)
        marks += f'<text x="66" y="{top + 10}" text-anchor="end">{name}</text>'
        marks += f'<rect x="{72 + at(low):.1f}" y="{top}" width="{width:.1f}" height="13" fill="{fill}"/>'
        marks += f'<text x="{78 + at(high):.1f}" y="{top + 10}">{_number(high)}</text>'
    label = f"paper {_number(value)}, measured {_number(measured)}"
    return f'<svg width="520" height="40" role="img" aria-label="{_text(label)}">{marks}</svg>'


def _figure(name: str, about: str, path: Path, runs: Dict[str, Any]) -> str:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    picture = base64.b64encode(_drawn(rows)).decode()
    commands = "\n".join(f"{_text(run)}: phelsuma {_text(of['command'])}" for run, of in runs.items())
    return (
        f'<figure id="{_text(name)}"><img alt="{_text(about)}" src="data:image/png;base64,{picture}">'
        f"<figcaption>{_text(about)}</figcaption>"
        f"<details><summary>commands</summary><pre>{commands}</pre></details></figure>"
    )


def _group(run: str) -> Tuple[str, str]:
    """A run's name without the number that it ends with, and that."""
    match = re.fullmatch(r"(.*?)_?(\d+)", run)
    return (match[1], match[2]) if match else (run, "")


def _read(row: Dict[str, str], name: str) -> float:
    return float(row[name]) if row[name] else float("nan")


def _png(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110, metadata={"Software": None})
    return out.getvalue()


def _grid(rows: List[Dict[str, str]]) -> Optional[Tuple[List[str], List[str]]]:
    """What runs `r_SERIES_GROUP` are of, if there is one of each series and group."""
    split = [row["run"].rsplit("_", 1) for row in rows]
    if any(len(name) != 2 for name in split):
        return None
    series = list(dict.fromkeys(name[0] for name in split))
    groups = list(dict.fromkeys(name[1] for name in split))
    whole = len(series) > 1 and len(groups) > 2 and len(rows) == len(series) * len(groups)
    whole = whole and len({row["run"] for row in rows}) == len(rows)
    return (series, groups) if whole and not all(group.isdigit() for group in groups) else None


def _swept(rows: List[Dict[str, str]]) -> bool:
    """Whether runs are `r_SERIES_NUMBER_GROUP`."""
    names = [row["run"].split("_") for row in rows]
    return all(len(name) == 4 and name[2].isdigit() for name in names)


def _without_common(names: List[str]) -> List[str]:
    """Without the words in front that all names begin with."""
    words = [name.split("_") for name in names]
    while all(len(name) > 1 for name in words) and len({name[0] for name in words}) == 1:
        words = [name[1:] for name in words]
    return [" ".join(name) for name in words]


def _drawn_grid(rows: List[Dict[str, str]], series: List[str], groups: List[str]) -> bytes:
    """Bars in groups: a panel for each column, a colour for each series."""
    from . import plot

    matplotlib = plot._matplotlib()
    columns = [name for name in rows[0] if name != "run"]
    of = {row["run"]: row for row in rows}
    labels = _without_common(series)
    with matplotlib.rc_context({**plot.STYLE, "font.size": 9, "figure.dpi": 100}):
        figure = matplotlib.pyplot.figure(figsize=(9.0, 2.6 * len(columns) + 0.6))
        axes = None
        for n, column in enumerate(columns):
            axes = figure.add_subplot(len(columns), 1, n + 1)
            width = 0.8 / len(series)
            values = [_read(row, column) for row in rows]
            positive = [value for value in values if value > 0]
            for m, name in enumerate(series):
                places = [k + (m - (len(series) - 1) / 2) * width for k in range(len(groups))]
                heights = [_read(of[f"{name}_{group}"], column) for group in groups]
                axes.bar(
                    places, heights, width * 0.92, color=plot.CYCLE[m % 8], hatch=plot.HATCHES[m % 8],
                    edgecolor="white", label=labels[m],
                )  # fmt: skip
            if positive and min(values) >= 0 and max(positive) > 50 * min(positive):
                axes.set_yscale("log")
            last = n == len(columns) - 1
            axes.set_xticks(range(len(groups)), groups if last else [""] * len(groups), rotation=30, ha="right")
            axes.grid(False, axis="x")
            axes.set_ylabel(column.replace("_", " "))
        assert axes is not None
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=6, frameon=False)
        png = _png(figure)
        matplotlib.pyplot.close(figure)
    return png


def _drawn_sweep(rows: List[Dict[str, str]]) -> bytes:
    """Lines over a number: a panel for each group, a line for each series."""
    from . import plot

    matplotlib = plot._matplotlib()
    x, y = [name for name in rows[0] if name != "run"][:2]
    names = [row["run"].split("_") for row in rows]
    groups = list(dict.fromkeys(name[3] for name in names))
    series = list(dict.fromkeys(name[1] for name in names))
    with matplotlib.rc_context({**plot.STYLE, "font.size": 9, "figure.dpi": 100}):
        figure = matplotlib.pyplot.figure(figsize=(3.3 * len(groups), 3.4))
        axes = None
        for n, group in enumerate(groups):
            axes = figure.add_subplot(1, len(groups), n + 1)
            for m, name in enumerate(series):
                points = [row for row, of in zip(rows, names) if of[1] == name and of[3] == group]
                xs, ys = [_read(row, x) for row in points], [_read(row, y) for row in points]
                dashes = ("-", "--", ":", "-.")[m % 4]
                axes.plot(xs, ys, dashes, marker=plot.MARKERS[m % 8], color=plot.CYCLE[m % 8], label=name)
            axes.set_xscale("log", base=2)
            ticks = sorted({_read(row, x) for row in rows})
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.set_title(group)
            axes.set_xlabel(x.replace("_", " "))
            axes.set_ylabel(y.replace("_", " ") if n == 0 else "")
            axes.set_ylim(bottom=0)
        assert axes is not None
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=6, frameon=False)
        png = _png(figure)
        matplotlib.pyplot.close(figure)
    return png


def _drawn(rows: List[Dict[str, str]]) -> bytes:
    """A figure's series, as a PNG: a panel for each of its columns."""
    from . import plot

    if _swept(rows):
        return _drawn_sweep(rows)
    grid = _grid(rows)
    if grid is not None:
        return _drawn_grid(rows, *grid)
    matplotlib = plot._matplotlib()
    columns = [name for name in rows[0] if name != "run"]
    read = _read

    with matplotlib.rc_context({**plot.STYLE, "font.size": 9, "figure.dpi": 100}):
        if all(re.fullmatch(r"k\d+", name) for name in columns):
            panels, draw = [""], "histogram"
        elif all(re.fullmatch(r"up_to_\d+", name) for name in columns):
            panels, draw = [""], "cumulative"
        elif all(re.fullmatch(r"place_\d+", name) for name in columns):
            panels, draw = [row["run"] for row in rows], "map"
        else:
            groups: Dict[str, List[Dict[str, str]]] = {}
            series = len({row["run"] for row in rows}) < len(rows)
            for row in rows:
                groups.setdefault(row["run"] if series else _group(row["run"])[0], []).append(row)
            lines = all(len({row[columns[0]] for row in group}) > 1 for group in groups.values()) and len(rows) > 2
            panels, draw = (columns[1:], "lines") if lines and len(columns) > 1 else (columns, "bars")
        width = 3.6 if len(panels) > 1 else 6.4
        across = min(len(panels), 3)
        down = -(-len(panels) // across)
        high = 3.0 if draw != "bars" else 0.7 + 0.24 * len(rows)
        figure = matplotlib.pyplot.figure(figsize=(width * across, high * down + 0.5))
        for n, panel in enumerate(panels):
            axes: Axes = figure.add_subplot(down, across, n + 1)
            if draw == "histogram":
                for row in rows:
                    counts = [read(row, name) for name in columns]
                    axes.stairs(counts, [2.0**k for k in range(len(counts) + 1)], label=row["run"], linewidth=1.8)
                axes.set_xscale("log", base=2)
                axes.set_xlabel("pages written by the host")
                axes.set_ylabel("how many")
            elif draw == "cumulative":
                for m, row in enumerate(rows):
                    ends = [int(name[len("up_to_") :]) for name in columns]
                    shares = [read(row, name) for name in columns]
                    axes.plot(ends, shares, marker=plot.MARKERS[m % 8], color=plot.CYCLE[m % 8], label=row["run"])
                axes.set_xscale("log", base=2)
                axes.set_xlabel("up to so many pages")
                axes.set_ylabel("share")
                axes.set_ylim(0, 1.02)
                axes.legend(frameon=False)
            elif draw == "map":
                # As the paper draws it: the first place at the bottom left, to the right and then upwards; dark is long.
                values = [read(rows[n], name) for name in columns]
                side = int(len(values) ** 0.5)
                image = axes.imshow(
                    [values[k : k + side] for k in range(0, side * side, side)], cmap="Greys", vmin=0, origin="lower"
                )
                figure.colorbar(image, ax=axes, shrink=0.8)
                axes.set_title(panel)
                axes.set_axis_off()
            elif draw == "bars":
                values = [read(row, panel) for row in rows]
                axes.barh(range(len(rows)), values, color=plot.BLUE)
                axes.set_yticks(range(len(rows)), [row["run"] for row in rows] if n % across == 0 else [""] * len(rows))
                axes.invert_yaxis()
                axes.locator_params(axis="x", nbins=4)
                axes.grid(False, axis="y")
                axes.set_xlabel(panel.replace("_", " "))
            else:
                for m, (label, group) in enumerate(groups.items()):
                    xs = [read(row, columns[0]) for row in group]
                    ys = [read(row, panel) for row in group]
                    mark = "" if len(xs) > 20 else plot.MARKERS[m % 8]
                    dashes = ("-", "--", ":", "-.")[m // 8 % 4]
                    axes.plot(
                        xs, ys, dashes, marker=mark, color=plot.CYCLE[m % 8], label=label, linewidth=1.5, markersize=5
                    )
                axes.locator_params(axis="x", nbins=4)
                axes.set_xlabel(columns[0].replace("_", " "))
                axes.set_ylabel(panel.replace("_", " "))
                positive = [read(row, panel) for row in rows if row[panel] and read(row, panel) > 0]
                if positive and max(positive) > 50 * min(positive):
                    axes.set_yscale("log")
        if draw == "lines" and len(groups) > 1:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=4, frameon=False)
        png = _png(figure)
        matplotlib.pyplot.close(figure)
    return png


def main(words: Optional[Sequence[str]] = None) -> int:
    """The page, from the command line."""
    parser = argparse.ArgumentParser(prog="python -m phelsuma.report", description=__doc__.split("\n")[0])
    parser.add_argument("papers", nargs="?", default="papers", help="the folder of papers [default: papers]")
    parser.add_argument("-o", "--to", default="report.html", help="the file [default: report.html]")
    parser.add_argument("--scale", default="quick", help="quick, large or full [default: quick]")
    parser.add_argument("--only", action="append", default=[], metavar="PAPER", help="this paper; may be repeated")
    args = parser.parse_args(words)
    try:
        claims = write(args.papers, args.to, scale=args.scale, only=args.only)
    except (PhelsumaError, OSError, ImportError) as error:
        sys.stderr.write(f"phelsuma: {error}\n")
        return 2
    print(f"{args.to}: {claims} claims")
    return 0


if __name__ == "__main__":
    sys.exit(main())
