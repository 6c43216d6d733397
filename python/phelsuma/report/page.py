"""The page of HTML: for each paper its figures, the claims about each figure, and the commands."""

from __future__ import annotations

import base64
import html
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import axes, drawing, ratios
from .papers import Claim, Figure, Group, Paper
from .ratios import VERDICTS, number, stated

NOT_RUN = "not run at this scale"

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>What papers state, tried here</title><style>
html {{ font-size: 16px; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #111; }}
h2 {{ border-bottom: 2px solid #111; margin-top: 3rem; break-after: avoid; }}
h3 {{ margin: 2.2rem 0 .4rem; break-after: avoid; }}
.pictures {{ display: flex; flex-wrap: wrap; gap: 0 1.5rem; }}
article {{ border-left: 5px solid var(--verdict); padding: .2rem 1rem; margin: 1rem 0; break-inside: avoid; }}
article h4 {{ margin: 0; font-weight: 600; }} article p {{ margin: .3rem 0; }}
.verdict {{ color: var(--verdict); font-weight: 600; }}
.at, .why, .note, figcaption {{ color: #444; font-size: .92rem; }}
code, pre {{ font: .82rem/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }}
figure {{ margin: 1rem 0; break-inside: avoid; max-width: 100%; }} figure img {{ max-width: 100%; height: auto; }}
figcaption {{ max-width: 58rem; }}
.none {{ border: 1px dashed #666; padding: .6rem 1rem; }}
svg {{ max-width: 100%; }}
table {{ border-collapse: collapse; }} td, th {{ padding: .1rem .8rem .1rem 0; text-align: left; vertical-align: top; }}
td:first-child {{ white-space: nowrap; }} td.n, th.n {{ text-align: right; }}
@media print {{ html {{ font-size: 11px; }} body {{ margin: 0; max-width: none; }} a {{ color: inherit; }} }}
</style></head><body>
<h1>What papers state, tried here</h1>
<p>Every figure and table that is tried, with the claims about it: the paper's number, the one measured here, the verdict
and the commands that measure it again. Scale: {scale}.{traces}</p>
<p>A run is <em>not steady</em> where its figures were still changing when it ended: another length would give others.
Claims that stand on such runs say on how many.</p>
{summary}
{papers}
</body></html>
"""
_TRACES = (
    " <code>$PHELSUMA_TRACES</code> in commands is the folder that the public traces were fetched into:"
    " <code>traces/README.md</code> says which they are and where they come from."
)


def of(papers: Sequence[Paper], scale: str) -> str:
    """The page of these papers."""
    body = "\n".join(_paper(paper, scale) for paper in papers if paper.has_results)
    traces = _TRACES if "$PHELSUMA_TRACES" in body else ""
    return _PAGE.format(scale=_text(scale), traces=traces, summary=_summary(papers, scale), papers=body)


def _text(text: object) -> str:
    return html.escape(str(text))


def _summary(papers: Sequence[Paper], scale: str) -> str:
    rows = []
    for paper in papers:
        verdicts = [claim.found["verdict"] if claim.found else NOT_RUN for claim in paper.claims]
        drawn = sum(bool(figure.rows) for figure in paper.figures)
        counts = [*(verdicts.count(verdict) for verdict in (*VERDICTS, NOT_RUN)), drawn, len(paper.figures) - drawn]
        cells = "".join(f'<td class="n">{n}</td>' for n in counts)
        name = f'<a href="#{_text(paper.name)}">{_text(paper.name)}</a>' if paper.has_results else _text(paper.name)
        rows.append(f"<tr><td>{name}</td>{cells}</tr>")
    heads = "".join(
        f'<th class="n">{_text(head)}</th>' for head in (*VERDICTS, NOT_RUN, "figures drawn", f"figures {NOT_RUN}")
    )
    return f"<table><tr><th>paper</th>{heads}</tr>{''.join(rows)}</table>"


def _paper(paper: Paper, scale: str) -> str:
    again = f"phelsuma claims run {paper.name} --scale {scale}"
    shown = "\n".join(_group(group, again) for group in paper.groups())
    runs = {name: run for claim in paper.claims if claim.found for name, run in claim.found["runs"].items()}
    told = [run["steady"] for run in runs.values() if run.get("steady") is not None]
    steady = f" Not steady are {told.count(False)} of the {_many(len(told), 'run')} that tell." if told else ""
    return (
        f'<h2 id="{_text(paper.name)}">{_text(paper.title)}</h2>\n'
        f"<p>All of it again: <code>{_text(again)}</code>.{steady}</p>\n{shown}"
    )


def _group(group: Group, again: str) -> str:
    """Each part of a figure with its claims, then the claims without a part."""
    shown, left = [f"<h3>{_text(group.title)}</h3>"], list(group.claims)
    parts = list(dict.fromkeys(part for part, _ in group.figures))
    for part in parts:
        pictures = "\n".join(_figure(figure, again) for of, figure in group.figures if of == part)
        shown.append(f'<div class="pictures">{pictures}</div>')
        about = [claim for claim in left if part and claim[0] == part]
        left = [claim for claim in left if claim not in about]
        shown += [_claim(claim, again) for _, claim in about]
    claims = [claim for _, claim in group.claims]
    several = len(ratios.drawable(claims)) >= (1 if group.title.startswith("Table") else 2)
    if several and not any(figure.rows for _, figure in group.figures):
        what = f"{group.title}: what was measured over what the paper says"
        shown.append(f'<div class="pictures"><figure>{_picture(ratios.draw(claims), what)}</figure></div>')
    shown += [_claim(claim, again) for _, claim in left]
    return "\n".join(shown)


def _picture(made: Any, about: str) -> str:
    picture = base64.b64encode(axes.png(made)).decode()
    width = round(made.get_figwidth() * 96)
    return (
        f'<img alt="{_text(about)}" width="{width}" src="data:image/png;base64,{picture}">'
        f"<figcaption>{_text(about)}</figcaption>"
    )


def _figure(figure: Figure, again: str) -> str:
    columns = _details("what is drawn", "\n".join(_formulas(figure.spec["columns"])))
    command = _command(f"{again} --only {figure.id}")
    missing = [f"{run} cannot be run here: {of['why']}" for run, of in figure.runs.items() if "why" in of]
    columns += "".join(f'<p class="why">{_text(line)}</p>' for line in missing)
    if not figure.rows:
        return (
            f'<figure class="none" id="{_text(figure.id)}"><figcaption>{_text(figure.at)}: <strong>{NOT_RUN}</strong>'
            f"</figcaption>{command}{columns}</figure>"
        )
    commands = "\n".join(f"{run}: phelsuma {of['command']}" for run, of in figure.runs.items())
    return (
        f'<figure id="{_text(figure.id)}">{_picture(drawing.draw(figure), _first_up(figure.at))}'
        f"{command}{columns}{_details(_many(len(figure.runs), 'run'), commands)}</figure>"
    )


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _formulas(columns: Sequence[Sequence[str]]) -> List[str]:
    """Headings and their expressions. Of many that differ only in a number, the first two and the last."""
    lines = [f"{heading} = {formula}" for heading, formula in columns]
    return lines if len(lines) <= 12 else [*lines[:2], "… and so on, to", lines[-1]]


def _details(summary: str, content: str) -> str:
    return f"<details><summary>{_text(summary)}</summary><pre>{_text(content)}</pre></details>" if content else ""


def _command(command: str) -> str:
    return f'<p class="at"><code>{_text(command)}</code></p>'


def _claim(claim: Claim, again: str) -> str:
    found = claim.found
    colour = VERDICTS.get(found["verdict"] if found else "", "#666666")
    note = f'<p class="note">Note: {_text(claim.note)}</p>' if claim.note else ""
    formula = _details("how it is measured", claim.formula)
    # At the scale at which it can be.
    command = _command(f"{again.rpartition(' ')[0]} {claim.scale} --only {claim.id}")
    if found is None:
        told = f'<p><span class="verdict">{NOT_RUN}</span>.</p>{note}{command}{formula}'
    else:
        runs = [f"{name}: phelsuma {run['command']}" for name, run in found["runs"].items() if run["command"]]
        unsteady = sum(run.get("steady") is False for run in found["runs"].values())
        of_them = _many(len(runs), "run") + (f", {unsteady} of them not steady" if unsteady else "")
        why = f'<p class="why">{_text(found["why"])}</p>' if found["why"] else ""
        if claim.elsewhere:
            measured = number(claim.elsewhere["measured"], claim.elsewhere["unit"])
            why += f'<p class="why">At the {claim.scale} scale: {_text(measured)}, {_text(claim.elsewhere["verdict"])}.</p>'
        # Results of before kinds were told have none.
        kind = {"formula": " (a formula)", "constant": " (a constant of the drive)"}.get(found.get("kind") or "", "")
        told = (
            f"{_paired(found)}<p>Paper: {_text(stated(found))}. "
            f"Measured: {_text(number(found['measured'], found['unit']))}{kind}. "
            f'<span class="verdict">{_text(found["verdict"])}</span>.</p>{why}{note}'
            f"{command}{formula}{_details(of_them, chr(10).join(runs))}"
        )
    return (
        f'<article style="--verdict: {colour}" id="{_text(claim.id)}"><h4>{_text(claim.says)}</h4>'
        f'<p class="at">{_text(claim.id)}, {_text(claim.at)}</p>{told}</article>'
    )


def _paired(found: Dict[str, Any]) -> str:
    """The number or range of the paper, above the measured number. Negative numbers lie left of zero."""
    value, most, measured = found["value"], found["most"], found["measured"]
    shown = [x for x in (value, most, measured) if x is not None]
    low, high = min(0.0, *shown), max(0.0, *shown)
    if measured is None or low == high:
        return ""
    begin = 130 if low < 0 else 72

    def at(x: float) -> float:
        return float(begin + 340 * (x - low) / (high - low))

    rows: List[Tuple[str, Optional[float], float, str]] = [
        ("paper", None if most is None else value, value if most is None else most, "#999999"),
        ("measured", None, measured, VERDICTS.get(found["verdict"], "#666666")),
    ]
    marks = ""
    for n, (name, start, end, fill) in enumerate(rows):
        top, left, right = 3 + 20 * n, min(at(start or 0), at(end)), max(at(start or 0), at(end))
        beside = (left - 5, "end") if end < 0 else (right + 6, "start")
        marks += f'<text x="66" y="{top + 10}" text-anchor="end">{name}</text>'
        marks += f'<rect x="{left:.1f}" y="{top}" width="{max(right - left, 1):.1f}" height="13" fill="{fill}"/>'
        marks += f'<text x="{beside[0]:.1f}" y="{top + 10}" text-anchor="{beside[1]}">{number(end)}</text>'
    if low < 0:
        marks += f'<line x1="{at(0):.1f}" x2="{at(0):.1f}" y1="0" y2="40" stroke="black"/>'
    label = f"paper {number(value)}, measured {number(measured)}"
    font = 'font-family="system-ui, sans-serif" font-size="12"'
    return f'<svg width="560" height="40" {font} role="img" aria-label="{_text(label)}">{marks}</svg>'
