"""Drawings are what their script draws, readable, and true to the code."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs"))
import drawings  # noqa: E402
from canvas import Canvas  # noqa: E402

DRAWN = [draw() for draw in drawings.DRAWINGS]
each = pytest.mark.parametrize("canvas", DRAWN, ids=[canvas.name for canvas in DRAWN])


@each
def test_the_file_is_what_the_script_draws(canvas: Canvas) -> None:
    path = drawings.FOLDER / f"{canvas.name}.svg"
    assert path.read_text(encoding="utf-8") == canvas.svg(), "make drawings writes it"


def test_there_are_no_others() -> None:
    assert sorted(path.stem for path in drawings.FOLDER.iterdir()) == sorted(canvas.name for canvas in DRAWN)


def test_each_is_on_the_page_of_drawings() -> None:
    page = (ROOT / "docs" / "DRAWINGS.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(drawings/([\w-]+)\.svg\)", page) == [canvas.name for canvas in DRAWN]


@each
def test_each_stands_in_a_chapter(canvas: Canvas) -> None:
    chapters = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs" / "design").glob("*.md"))]
    assert any(f"drawings/{canvas.name}.svg)" in path.read_text(encoding="utf-8") for path in chapters)


@each
def test_texts_stay_in_their_boxes_and_meet_no_others(canvas: Canvas) -> None:
    assert canvas.complaints + canvas.overlapping() == []


@each
def test_it_is_text_for_both_schemes_and_fetches_nothing(canvas: Canvas) -> None:
    root = ElementTree.fromstring(canvas.svg())
    namespace = "{http://www.w3.org/2000/svg}"
    assert int(root.attrib["width"]) <= 900
    assert root.find(f"{namespace}title") is not None and root.find(f"{namespace}desc") is not None
    assert len(list(root.iter(f"{namespace}text"))) >= 10
    assert not list(root.iter(f"{namespace}image")) and "href" not in canvas.svg()
    assert canvas.svg().count("prefers-color-scheme: dark") == 1
    # Whatever is drawn has a colour in each.
    styles = re.search(r"<style>(.*)@media[^{]*\{(.*)</style>", canvas.svg(), flags=re.S)
    assert styles
    used = {name for part in re.findall(r'class="([^"]+)"', canvas.svg()) for name in part.split()}
    for scheme in styles.groups():
        assert used - {"way", "b", "mono"} <= set(re.findall(r"\.([\w-]+) \{", scheme))


def test_what_is_wrong_with_a_drawing_is_seen() -> None:
    canvas = Canvas("wrong", 200, 100, "", "")
    canvas.box(80, 10, 40, 20, "much too long for it")
    canvas.text(10, 50, "one here")
    canvas.text(40, 52, "one there")
    canvas.text(150, 90, "out of the drawing")
    assert len(canvas.complaints) == 1
    assert [line.count("leaves") for line in canvas.overlapping()] == [0, 1]


@each
def test_what_it_says_stands_in_the_code(canvas: Canvas) -> None:
    if canvas.name == "crates":
        return
    stands_on = drawings.STANDS_ON[canvas.name]
    missing = [one for one in stands_on if one[1] not in (ROOT / "crates" / one[0]).read_text(encoding="utf-8")]
    assert missing == [], "the drawing may be wrong by now"


def imports_of(crate: str) -> set[str]:
    manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text()
    part = re.search(r"^\[dependencies\]$(.*?)(?=^\[|\Z)", manifest, flags=re.M | re.S)
    return set(re.findall(r"^phelsuma-(\w+)", part[1], flags=re.M)) if part else set()


def everything_below(crate: str, imports: dict[str, set[str]]) -> set[str]:
    return imports[crate].union(*(everything_below(one, imports) for one in imports[crate]))


def test_the_crates_are_those_that_there_are() -> None:
    crates = {path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")}
    assert set(drawings.CRATES) == crates
    real = {crate: imports_of(crate) for crate in crates}
    drawn = {crate: set(imported) for crate, imported in drawings.CRATES.items()}
    for crate in sorted(crates):
        assert everything_below(crate, drawn) == everything_below(crate, real), crate
        assert drawn[crate] <= real[crate], f"{crate} imports these only by way of others"
