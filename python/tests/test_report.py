"""The page of what papers state has every claim and figure, and no number of its own; its pictures can be read."""

from __future__ import annotations

import html
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from conftest import ROOT

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from phelsuma import InputError, report  # noqa: E402
from phelsuma.report import drawing, page, papers, ratios  # noqa: E402
from phelsuma.report.places import Place, places  # noqa: E402

PAPERS = [path.parent for path in sorted((ROOT / "papers").glob("*/results-quick.json"))]
READ = {path.name: papers.read(path, "quick") for path in PAPERS}
FIGURES = [(name, figure) for name, paper in READ.items() for figure in paper.figures]
TABLES = [
    (name, group)
    for name, paper in READ.items()
    for group in paper.groups()
    if ratios.drawable([claim for _, claim in group.claims])
]


def texts(figure: Any) -> List[Tuple[str, Any, float]]:
    """What is written in a picture: the text, its place, and how much it is turned."""
    figure.canvas.draw()
    found = list(figure.texts) + [text for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        found += [axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        # Ticks that are not within the axis have labels as well, which are not drawn.
        ticks = [tick for axis in (axes.xaxis, axes.yaxis) if axis.get_visible() for tick in axis._update_ticks()]
        found += [label for tick in ticks for label in (tick.label1, tick.label2)]
    shown = [text for text in found if text.get_text().strip() and text.get_visible()]
    return [(text.get_text(), text.get_window_extent().padded(-1), text.get_rotation()) for text in shown]


def looks_wrong(figure: Any) -> List[str]:
    """Texts that are over each other or cut, axes without labels, bars on logarithmic axes."""
    seen, wrong = texts(figure), []
    for n, (text, box, turned) in enumerate(seen):
        if box.x0 < -1 or box.y0 < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1:
            wrong.append(f"{text!r} is cut")
        # Of two that are aslant the boxes overlap, and not what is written.
        others = [(other, place) for other, place, aslant in seen[:n] if not (turned == aslant == 30)]
        wrong += [f"{text!r} is over {other!r}" for other, place in others if box.overlaps(place)]
    for axes in figure.axes:
        if "log" in (axes.get_yscale(), axes.get_xscale()) and axes.xaxis.get_visible():
            bars = [bar for bars in axes.containers for bar in bars]
            wrong += ["bars on a logarithmic axis"] if bars else []
            labels = axes.get_xlabel() + axes.get_ylabel()
            wrong += [f"no word of the logarithmic axis in {labels!r}"] if "log" not in labels else []
    named = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    wrong += [] if any(axes.get_xlabel() for axes in named) else ["no label of the x axis"]
    for axes in named:
        wrong += [] if axes.get_ylabel() or axes.get_xlabel() or len(named) > 1 else ["no label of the values"]
    return wrong


@pytest.mark.parametrize(("paper", "figure"), [pytest.param(*of, id=f"{of[0]}-{of[1].id}") for of in FIGURES])
def test_figures_are_drawn_as_declared_and_can_be_read(paper: str, figure: papers.Figure) -> None:
    assert "draw" in figure.spec
    if not figure.rows:
        # What was not run at this scale would be drawn as well.
        runs = figure.spec["runs"]
        rows = [
            {"run": run, **{c: str(1 / (m + n + 2)) for m, c in enumerate(figure.columns)}}
            for n, run in enumerate(runs)
        ]
        figure = papers.Figure(figure.id, figure.at, figure.spec, rows, {})
    drawn = drawing.draw(figure)
    assert looks_wrong(drawn) == []
    # No run's name is left as it is.
    shown = " ".join(text for text, _, _ in texts(drawn))
    assert "_" not in shown, shown


@pytest.mark.parametrize(("paper", "group"), [pytest.param(*of, id=f"{of[0]}-{of[1].title}") for of in TABLES])
def test_tables_are_pictures_of_what_was_measured_over_the_papers_numbers(paper: str, group: papers.Group) -> None:
    claims = [claim for _, claim in group.claims]
    drawn = ratios.draw(claims)
    assert looks_wrong(drawn) == []
    rows = ratios.drawable(claims)
    marks = [line.get_xdata()[0] for line in drawn.axes[0].lines if line.get_marker() in ("o", "X")]
    assert sorted(marks) == pytest.approx(sorted(x for x in (r["measured"] / r["value"] for r in rows) if x > 0))


def test_every_claim_and_figure_of_every_paper_is_on_the_page(tmp_path: Path) -> None:
    written = report.write(ROOT / "papers", tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    for name, paper in READ.items():
        again = f"phelsuma claims run {name} --scale quick"
        body = text.split(f'<h2 id="{name}">')[1].split("<h2 ")[0]
        for claim in paper.claims:
            article = re.search(rf'<article [^>]*id="{re.escape(claim.id)}">.*?</article>', body, flags=re.S)
            assert article and f"<code>{again[:-5]}{claim.scale} --only {claim.id}</code>" in article[0]
            assert (claim.elsewhere is None) == (f"At the {claim.scale} scale:" not in article[0])
            assert html.escape(claim.note) in article[0] and html.escape(claim.formula) in article[0]
            if claim.found is None:
                assert page.NOT_RUN in article[0]
                continue
            assert f'<span class="verdict">{claim.found["verdict"]}</span>' in article[0]
            assert ("(a formula)" in article[0]) == (claim.found.get("kind") == "formula"), claim.id
            assert ("(a constant of the drive)" in article[0]) == (claim.found.get("kind") == "constant"), claim.id
            runs = [run["command"] for run in claim.found["runs"].values()]
            unsteady = sum(run.get("steady") is False for run in claim.found["runs"].values())
            assert (f", {unsteady} of them not steady</summary>" in article[0]) == bool(unsteady)
            assert all(html.escape(f"phelsuma {run}") in article[0] for run in runs)
        for figure in paper.figures:
            shown = re.search(rf'<figure [^>]*id="{figure.id}">.*?</figure>', body, flags=re.S)
            assert shown and f"<code>{again} --only {figure.id}</code>" in shown[0], figure.id
            assert ("<img " in shown[0]) == bool(figure.rows) != (page.NOT_RUN in shown[0])
            assert html.escape(figure.spec["columns"][0][1]) in shown[0]
    assert written == sum(len(paper.claims) for paper in READ.values()) > 100
    assert text.count("$PHELSUMA_TRACES</code>") == 1
    # Nothing is fetched from anywhere.
    assert not re.search(r'(src|href)="(?!#|data:)', text) and "<script" not in text


def test_numbers_are_those_of_the_results_and_what_is_missing_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "papers" / "geckoftl"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "papers" / "geckoftl" / "claims.toml", folder)
    found = json.loads((ROOT / "papers" / "geckoftl" / "results-quick.json").read_text())
    claim = {**found["claims"][0], "measured": 0.12345, "verdict": "holds", "why": None}
    (folder / "results-quick.json").write_text(json.dumps({**found, "claims": [claim], "figures": {}}))
    assert report.main([str(tmp_path / "papers"), "-o", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text()
    assert "Measured: 0.1235." in text or "Measured: 0.1234." in text
    paper = READ["geckoftl"]
    cells = [1, 0, 0, len(paper.claims) - 1, 0, len(paper.figures)]
    assert "".join(f'<td class="n">{n}</td>' for n in cells) in text
    missing = text.count(f'<span class="verdict">{page.NOT_RUN}</span>')
    assert missing == len(paper.claims) - 1 and text.count(f"<strong>{page.NOT_RUN}</strong>") == len(paper.figures)
    # A paper without any result is in the table at the top.
    (tmp_path / "papers" / "other").mkdir()
    (tmp_path / "papers" / "other" / "claims.toml").write_text('title = "of others"\n')
    assert report.main([str(tmp_path / "papers"), "-o", str(tmp_path / "page.html")]) == 0
    assert "<td>other</td>" in (tmp_path / "page.html").read_text()


def test_where_there_are_no_results_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main([str(tmp_path), "--scale", "quick"]) == 2
    assert "run phelsuma claims run PAPER --scale quick" in capsys.readouterr().err
    assert report.main([str(ROOT / "papers"), "--only", "nosuch"]) == 2
    assert "nosuch: no results-quick.json" in capsys.readouterr().err


def made(draw: str, rows: List[Dict[str, Any]], **fields: Any) -> papers.Figure:
    """A figure of these rows."""
    columns = [[name, f"run.{name}"] for name in rows[0] if name != "run"]
    spec = {"draw": draw, "columns": columns, "runs": [row["run"] for row in rows], **fields}
    return papers.Figure("f", "figure 1", spec, [{k: str(v) for k, v in row.items()} for row in rows], {})


def test_bars_of_negative_numbers_go_to_the_left_of_a_line_at_zero() -> None:
    axes = drawing.draw(made("bars", [{"run": "a", "us": -2}, {"run": "b", "us": 3}, {"run": "c", "us": ""}])).axes[0]
    assert sorted(bar.get_width() for bar in axes.patches) == [-2, 0, 3]
    assert axes.get_xlim()[0] < -2 and any(list(line.get_xdata()) == [0, 0] for line in axes.lines)
    assert [text.get_text() for text in axes.texts] == ["-2", "3", "none"]
    claim = {"value": 0.4, "most": None, "measured": -0.2, "verdict": "does not hold here"}
    bars = [tuple(map(float, of)) for of in re.findall(r'<rect x="(.*?)" y=".*?" width="(.*?)"', page._paired(claim))]
    (paper_left, paper_wide), (left, wide) = bars
    assert left + wide == pytest.approx(paper_left, abs=0.2) and paper_wide == pytest.approx(2 * wide, abs=0.2)
    assert '<line x1="' in page._paired(claim) and '<line x1="' not in page._paired({**claim, "measured": 0.2})


def test_zeros_and_what_has_no_value_are_marked_where_there_are_points() -> None:
    rows = [{"run": f"r_{s}_{g}", "n": n} for s, g, n in (("a", "x", 1), ("a", "y", 2), ("b", "x", 0), ("b", "y", ""))]
    drawn = drawing.draw(made("groups", rows, pattern=["r_{series}_{group}"], log_y=True))
    assert [of.get_text() for of in drawn.legends[0].get_texts()] == ["a", "b", "hollow: zero", "no value"]
    assert drawn.axes[0].get_yscale() == "log" and not drawn.axes[0].containers
    relative = drawing.draw(made("groups", rows, pattern=["r_{series}_{group}"], relative_to="a"))
    assert "ratio to a" in relative.axes[0].get_ylabel()
    assert [of.get_text() for of in relative.legends[0].get_texts()][0] == "a: 1"


def test_nothing_is_guessed() -> None:
    with pytest.raises(InputError, match="figure f: draw = 'pie'; use one of bars, "):
        drawing.draw(made("pie", [{"run": "a", "n": 1}]))


def test_an_interval_that_was_not_completed_is_left_out() -> None:
    rows = [{"run": run, "pages": pages, "n": pages / 100} for run in ("a", "b") for pages in (100, 200, 300, 340)]
    axes = drawing.draw(made("lines", rows, x="pages", points=True)).axes[0]
    assert [list(line.get_xdata()) for line in axes.lines] == [[100, 200, 300]] * 2
    # Told apart without colours.
    assert len({line.get_linestyle() for line in axes.lines}) == len({line.get_marker() for line in axes.lines}) == 2


def test_parts_on_top_of_each_other_add_up_and_what_is_empty_is_nothing() -> None:
    drawn = drawing.draw(made("stacked", [{"run": "a", "p": 1, "q": 2}, {"run": "b", "p": "", "q": 4}], unit="pages"))
    ends = [
        max(bar.get_x() + bar.get_width() for bars in drawn.axes[0].containers for bar in [bars[n]]) for n in (0, 1)
    ]
    assert ends == [3, 4] and not any(math.isnan(bar.get_x()) for bar in drawn.axes[0].patches)


def test_names_of_runs_are_split_as_patterns_say() -> None:
    assert drawing.split(["r_{series}_{group}"], "r_last_vm") == ("last", "vm")
    assert drawing.split(["pc_{series}_{n}"], "pc_dac_pc_125") == ("dac_pc", "")
    assert drawing.split(["seq_{series}_{n}", "seq_{series}"], "seq_superblock") == ("superblock", "")
    assert drawing.split(["{group}_size_{n}"], "gecko_size_1") == ("", "gecko")
    assert drawing.split(["r_{series}"], "other") == ("other", "")


def test_claims_are_beneath_the_figure_that_they_are_about() -> None:
    assert places("abstract, section 6, figure 23") == [
        Place("abstract", ""),
        Place("section", "6"),
        Place("figure", "23"),
    ]
    assert [place.number for place in places("Figures 26, 27, 29: the paper's, 1 and 2")] == ["26", "27", "29"]
    assert places("section V-B, figure 7 (a)")[1] == Place("figure", "7", "a")
    assert [place.number for place in places("sections I, III-C and VI")] == ["I", "III-C", "VI"]
    assert places("table IV")[0].key == places("Table 4: that")[0].key == "table 4"
    assert places("section 4, footnote 7")[0].title == "Section 4" and places("appendix C, step 6")[0].number == "C"
    for paper in READ.values():
        groups = paper.groups()
        assert sum(len(group.claims) for group in groups) == len(paper.claims)
        assert sum(len(group.figures) for group in groups) == len(paper.figures)
    groups = {group.title: group for group in READ["last"].groups()}
    assert [claim.id for _, claim in groups["Figures 26, 27, 29"].claims] == [
        "two-partitions",
        "reduced-merge-costs",
        "summary-pages-cost-little",
    ]
    assert [figure.id for _, figure in groups["Table V"].figures] == ["table-5"] and groups["Table V"].claims
