"""What the documentation shows is run as it stands there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest
from conftest import ROOT

import phelsuma

pytest.importorskip("matplotlib")
GUIDE = (ROOT / "docs" / "guide" / "python.md").read_text()
REFERENCE = (ROOT / "docs" / "reference" / "python.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.S)


def test_the_package_has_the_version_of_its_engine() -> None:
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), flags=re.M)
    assert declared and declared[1] == phelsuma.__version__


def test_the_first_script_has_five_lines_and_saves_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = BLOCKS[0]
    # A line that is broken for its length counts once.
    assert len([line for line in script.splitlines() if line and not line.startswith(" ")]) <= 5
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    exec(compile(script, "docs/guide/python.md", "exec"), {})
    picture = tmp_path / "write-amplification.png"
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000


def test_everything_else_runs_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)
    names: Dict[str, Any] = {}
    exec("import phelsuma", names)
    for block in BLOCKS[1:]:
        # The default of 4 GiB is for people.
        exec(
            compile(block.replace('workload="uniform")', 'workload="uniform", capacity="64MiB")'), "docs", "exec"),
            names,
        )
    assert names["drive"].stats().host.write_pages == 0, "the last drive was cut"


def test_the_tutorial_runs_cell_by_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("pandas", "pyarrow"):
        pytest.importorskip(needed)
    notebook = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text())
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)
    names: Dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        assert cell["outputs"] == [] and cell["execution_count"] is None, "it is kept without what it printed"
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert names["results"]["geckoftl"].recovery.steps and not names["sweep"].failed
    assert len(names["sweep"].rows()) == len(names["configurations"]) == 8


def pictures() -> list[str]:
    """Names of the functions that draw."""
    from phelsuma import plot

    return sorted(
        name
        for name, value in vars(plot).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == plot.__name__
    )


def test_the_table_of_pictures_has_every_function() -> None:
    section = REFERENCE.split("## Pictures")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, flags=re.M)) == pictures()


def test_the_gallery_has_every_function_and_its_lines_draw_them() -> None:
    pytest.importorskip("matplotlib").use("agg")
    sys.path.insert(0, str(ROOT / "docs"))
    import gallery
    from test_plot import overlapping

    drawn = []
    for name, axes in gallery.pictures():
        drawn.append(name)
        assert axes.get_ylabel() and overlapping(axes) == [], name
        picture = ROOT / "docs" / "gallery" / f"{name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG"), "make gallery draws it"
    assert sorted(drawn) == pictures()
    assert re.findall(r"\(gallery/(\w+)\.png\)", gallery.PAGE.read_text()) == drawn
    assert sorted(path.stem for path in (ROOT / "docs" / "gallery").iterdir()) == sorted(drawn), "and no others"


def test_pages_of_the_package_have_what_it_gives(tmp_path: Path) -> None:
    pytest.importorskip("pdoc")
    made = subprocess.run(
        [sys.executable, "-m", "pdoc", "-d", "google", "-o", str(tmp_path), "phelsuma", "phelsuma.plot"],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    page = (tmp_path / "phelsuma.html").read_text()
    missing = [name for name in phelsuma.__all__ if f'id="{name}"' not in page]
    assert missing == []
    drawing = (tmp_path / "phelsuma" / "plot.html").read_text()
    assert all(f'id="{name}"' in drawing for name in pictures())
