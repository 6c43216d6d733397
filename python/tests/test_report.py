"""The page of what papers state has every claim, and no number of its own."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("matplotlib").use("agg")

from phelsuma import report  # noqa: E402

PAPERS = [path.parent.name for path in sorted((ROOT / "papers").glob("*/results-quick.json"))]


def test_every_claim_of_every_paper_is_on_the_page_with_its_verdict_and_commands(tmp_path: Path) -> None:
    written = report.write(ROOT / "papers", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    claims = 0
    for paper in PAPERS:
        found = json.loads((ROOT / "papers" / paper / "results-quick.json").read_text())
        for claim in found["claims"]:
            claims += 1
            article = re.search(rf'<article [^>]*id="{re.escape(claim["id"])}">.*?</article>', page, flags=re.S)
            assert article and f'<span class="verdict">{claim["verdict"]}</span>' in article[0]
            assert ("(a formula)" in article[0]) == (claim.get("kind") == "formula"), claim["id"]
            assert ("(a constant of the drive)" in article[0]) == (claim.get("kind") == "constant"), claim["id"]
            assert article[0].count("phelsuma run") + article[0].count("phelsuma limits") == len(claim["runs"])
        for figure in found["figures"]:
            assert f'<figure id="{figure}"><img alt="' in page
    assert written == claims > 100 and PAPERS
    # Nothing is fetched from anywhere.
    assert not re.search(r'(src|href)="(?!#|data:)', page) and "<script" not in page


def test_numbers_are_those_of_the_results(tmp_path: Path) -> None:
    folder = tmp_path / "papers" / "geckoftl"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "papers" / "geckoftl" / "claims.toml", folder)
    found = json.loads((ROOT / "papers" / "geckoftl" / "results-quick.json").read_text())
    claim = {**found["claims"][0], "measured": 0.12345, "verdict": "holds", "why": None, "says": "1 < 2 & so on"}
    (folder / "results-quick.json").write_text(json.dumps({**found, "claims": [claim], "figures": {}}))
    assert report.main([str(tmp_path / "papers"), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "Measured: 0.1235." in page or "Measured: 0.1234." in page
    assert "1 &lt; 2 &amp; so on" in page and page.count("<article") == 1


def test_where_there_are_no_results_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main([str(tmp_path), "--scale", "quick"]) == 2
    assert "phelsuma claims run --scale quick would be right" in capsys.readouterr().err
    assert report.main([str(ROOT / "papers"), "--only", "nosuch"]) == 2
    assert "nosuch: no results-quick.json" in capsys.readouterr().err
