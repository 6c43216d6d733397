"""The site has every page, in the section of its reader, and its links lead somewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs"))
import links  # noqa: E402
import website  # noqa: E402


def test_every_page_is_in_one_section() -> None:
    names = {name for name in links.files_of(ROOT) if name.endswith(".md")}
    found = [name for section in website.pages(names).values() for name in section]
    assert sorted(found) == sorted(names)
    assert list(website.pages(names)) == ["Start", "Guides", "Design", "Reference", "Results", "Contributing"]


def test_a_page_that_no_section_names_is_reference() -> None:
    found = website.pages({"README.md", "docs/NEW.md", "docs/guide/compare.md", "docs/design/flash.md"})
    assert found["Reference"] == ["docs/NEW.md"]
    assert (found["Guides"], found["Design"]) == (["docs/guide/compare.md"], ["docs/design/flash.md"])


def test_what_is_written_has_no_dead_link_and_names_no_page_twice(tmp_path: Path) -> None:
    built = tmp_path / "built"
    (built / "report").mkdir(parents=True)
    (built / "report" / "report.html").write_text("<p>the report</p>")
    configuration = json.loads(website.write(ROOT, tmp_path / "source", built).read_text())
    content = tmp_path / "source" / "content"
    assert links.dead(content) == []
    listed = []
    for section in configuration["nav"]:
        for entry in next(iter(section.values())):
            listed.append(entry if isinstance(entry, str) else next(iter(entry.values())))
    assert all((content / name).is_file() for name in listed)
    assert len(set(listed)) == len(listed) and {"docs/tutorial.md", "report/report.html"} <= set(listed)


@pytest.mark.parametrize(
    ("text", "made", "linked"),
    [
        ("[a](docs/b.md#c)", "[a](docs/b.md#c)", set()),
        ("[a](src/lib.rs) and [b](LICENSE)", "[a](src/lib.rs.txt) and [b](LICENSE.txt)", {"src/lib.rs", "LICENSE"}),
        ("![a](docs/c.svg)", "![a](docs/c.svg)", {"docs/c.svg"}),
        ("see [the `src`](src/) there", "see the `src` there", set()),
        ("[a](https://example.org)", "[a](https://example.org)", set()),
        ("`[a](src/lib.rs)`", "`[a](src/lib.rs)`", set()),
        ("Said:\n- one\n- two", "Said:\n\n- one\n- two", set()),
        ("in the year\n2014. It", "in the year\n2014. It", set()),
        ("- one\n  more\n- two\nand lazy", "- one\n    more\n- two\n    and lazy", set()),
        ("- one\n\n| a |\n\n  more\n- two", "- one\n\n| a |\n\n  more\n\n- two", set()),
        ("- one\n\n  more\n- two", "- one\n\n    more\n\n- two", set()),
        ("1. one:\n   - two\n     more\n2. three", "1. one:\n    - two\n        more\n2. three", set()),
        ("- one\n  ```\n  - a\n\n    b\n  ```\n- two", "- one\n    ```\n    - a\n\n      b\n    ```\n- two", set()),
        ("- one\n\n## Two\n- three", "- one\n\n## Two\n\n- three", set()),
        ("text\n\n    - code", "text\n\n    - code", set()),
        ("```\na\n- one\n```", "```\na\n- one\n```", set()),
    ],
)
def test_a_page_as_mkdocs_reads_it(text: str, made: str, linked: set[str]) -> None:
    names = {"README.md", "docs/b.md"}
    assert website.page("README.md", text, names, names | {"src/lib.rs", "LICENSE", "docs/c.svg"}) == (made, linked)


def test_a_notebook_is_a_page() -> None:
    cells = [{"cell_type": "markdown", "source": ["# A\n", "b"]}, {"cell_type": "code", "source": ["c = 1"]}]
    assert website.notebook(json.dumps({"cells": cells})) == "# A\nb\n\n```python\nc = 1\n```\n"


def test_nothing_is_fetched_when_a_page_is_opened() -> None:
    made = [json.dumps(website.CONFIGURATION)]
    made += [path.read_text() for path in (ROOT / "docs" / "website").iterdir()]
    assert not any("http" in text for text in made)
