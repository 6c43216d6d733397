"""Every link of the documentation leads somewhere, and one that does not would be found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs"))
import links  # noqa: E402


def test_no_link_is_dead() -> None:
    assert links.dead(ROOT) == []


def test_files_are_looked_at() -> None:
    files = links.files_of(ROOT)
    assert {"README.md", "docs/TESTING.md", "docs/reference/parameters.md"} <= files
    assert not any(name.startswith("target/") for name in files), "what is built is not in a clone"


OTHER = """# Title
## `code` and *more*: a [link](a.md), µ-Tree!
## Twice
## Twice
Idea → file
-----------
<a id="made"></a>
```
# No heading
```
| a | b |
| --- | --- |
"""


def test_anchors_are_those_of_github() -> None:
    assert links.anchors(OTHER) == {
        "title",
        "code-and-more-a-link-µ-tree",
        "twice",
        "twice-1",
        "idea--file",
        "made",
    }
    assert links.anchors("## `a_b` is _c_ in LAST++ #\n## 1.5 GB/s\n") == {"a_b-is-c-in-last", "15-gbs"}


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("[a](docs/other.md)", None),
        ("[a](docs/other.md#twice-1)", None),
        ("[a](docs/other.md#made 'title')", None),
        ("[a](docs/)", None),
        ("[a](<a file.txt>)", None),
        ("[a](a%20file.txt#L2)", None),
        ("[a](#here)", None),
        ("[a](https://example.org/none)", None),
        ("[a](mailto:a@example.org)", None),
        ("`[a](none.md)`", None),
        ("```\n[a](none.md)\n```", None),
        ("<!-- [a](none.md) -->", None),
        ("[a](none.md)", "no such file"),
        ("[a\nb](none.md)", "no such file"),
        ("[`a`](none.md)", "no such file"),
        ("[![a](none.png)](docs/other.md)", "no such file"),
        ("[a][b]\n\n[b]: none.md", "no such file"),
        ('<img alt="a" src="none.svg">', "no such file"),
        ("[a](../outside.md)", "no such file"),
        ("[a](docs/OTHER.md)", "no such file"),
        ("[a](docs/other.md#thrice)", "no such heading"),
        ("[a](docs/other.md#no-heading)", "no such heading"),
        ("[a](#there)", "no such heading"),
        ("[a](a%20file.txt#L3)", "no such line"),
        ("[a](a%20file.txt#part)", "no such anchor"),
        ("[a](/docs/other.md)", "begins at a root"),
        ("[a]()", "is empty"),
    ],
)
def test_a_made_up_link(link: str, why: str | None, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "other.md").write_text(OTHER.replace("(a.md)", "(../page.md)"))
    (tmp_path / "a file.txt").write_text("one\ntwo\n")
    (tmp_path / "page.md").write_text(f"# Here\n\n{link}\n")
    found = links.dead(tmp_path)
    assert [line.rsplit(": ", 1)[1] for line in found] == ([why] if why else [])
    assert all(line.startswith(("page.md:3: ", "page.md:4: ", "page.md:5: ")) for line in found)


def test_a_link_to_what_git_leaves_out_is_dead(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("/target\n")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "a.html").write_text("")
    (tmp_path / "page.md").write_text("[a](target/a.html) [b](.gitignore)\n")
    assert links.dead(tmp_path) == ["page.md:1: target/a.html: no such file"]


@pytest.mark.parametrize(("links_of", "path"), [("docs/a.md", "../b.md"), ("a.md", "b.md"), ("a/b/c.md", "../../b.md")])
def test_paths_are_resolved(links_of: str, path: str) -> None:
    assert links.resolved(links_of, path) == "b.md"


def test_where_links_stand_is_exact() -> None:
    text = "[a](one.md) `[x](two.md)` <img src='three.png'>"
    assert [text[start:end] for start, end, _ in links.targets(text)] == ["one.md", "three.png"]
