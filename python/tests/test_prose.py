"""The measure of prose counts what a person would count."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs"))
import prose  # noqa: E402


def lengths(text: str) -> list[int]:
    return [prose.words(sentence) for paragraph in prose.paragraphs(text) for sentence in prose.sentences(paragraph)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two three. Four five! Six?", [3, 2, 1]),
        ("One two\nthree four.\n\nFive", [4, 1]),
        ("Some of them, e.g. the first, i.e. that one, stay.", [10]),
        ("See Fig. 3 and Sec. 4.2 there. Next.", [7, 1]),
        ("It takes 3.5 pages of 4.0 at most. Next.", [8, 1]),
        ("The file a.rs and crates/ftl/src/lib.rs stay. Next.", [6, 1]),
        ("Ma et al. 2014 has it. Next.", [6, 1]),
        ("Maps, logs, etc. are written. Maps, logs, etc. Then more.", [5, 3, 2]),
        ("They say no. Then they go.", [3, 3]),
        ("They say (in a note.) Then they go.", [5, 3]),
        ("**Bold it is.** Then not.", [3, 2]),
        ("It ends. `page` begins; nbdkit goes on. nbdkit ends.", [2, 5, 2]),
        ("The option `--set a.b = c. D` is one word.", [6]),
        ("A [link of four words](to/some/file.md#and-an-anchor) ends.", [6]),
        ("A ![picture of many words](a.png) counts not.", [3]),
        ("A — dash → and an arrow count not.", [7]),
        ("An address <https://a.b/c> here.", [4]),
    ],
)
def test_sentences_of_known_length(text: str, expected: list[int]) -> None:
    assert lengths(text) == expected


def test_an_item_of_a_list_begins_a_sentence() -> None:
    text = "These are so:\n- one two\n- three four. Five\n  six\n\n1. seven\n2. eight nine\n   - ten\n\n     eleven.\n"
    assert lengths(text) == [3, 2, 2, 2, 1, 2, 1, 1]


def test_what_is_no_sentence_is_left_out() -> None:
    text = """---
title: Front matter of five words
---
# A heading that is not counted

Two words.
<!-- a comment
of two lines -->

```sh
some code. more code
~~~ no end
```

~~~
more
~~~

    indented code is code

| a table | of words |
| --- | --- |
| has | none |

> Quoted words count.

Underlined heading
------------------

<p align="center">Text <b>inside</b> HTML.</p>

[reference]: https://example.org/of/no/words
"""
    assert lengths(text) == [2, 3, 3]


def test_an_indented_paragraph_of_a_list_is_no_code() -> None:
    assert lengths("- one\n\n    two three\n\nfour\n\n    code\n") == [1, 2, 1]


def test_mean_and_percentile() -> None:
    text = " ".join(" ".join(["word"] * count) + "." for count in range(1, 11))
    assert prose.measure(text) == {"sentences": 10, "mean": 5.5, "p90": 9, "longest": 10}
    assert prose.measure("# Nothing\n") == {"sentences": 0, "mean": 0.0, "p90": 0, "longest": 0}


def of_words(*counts: int) -> str:
    return "\n\n".join(" ".join(["word"] * count) + "." for count in counts)


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("README.md", of_words(20, 20), []),
        ("README.md", of_words(20, 21), ["mean above 20"]),
        ("docs/guide/a.md", of_words(*[10] * 8, 32, 32), []),
        ("docs/design/a.md", of_words(*[10] * 8, 33, 33), ["90th percentile above 32"]),
        ("README.md", "| word |\n" * 1025, ["more than 9,216 bytes"]),
        ("ARCHITECTURE.md", "| word |\n" * 1025, []),
        ("ARCHITECTURE.md", "| word |\n" * 1825, ["more than 16,384 bytes"]),
    ],
)
def test_each_limit_is_held(
    name: str, text: str, wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (tmp_path / "docs" / "other.md").parent.mkdir(exist_ok=True)
    (tmp_path / "docs" / "other.md").write_text(of_words(100))
    assert prose.main(["--root", str(tmp_path), "--json"]) == (1 if wrong else 0)
    assert [(row["file"], row["wrong"]) for row in json.loads(capsys.readouterr().out)["files"]] == [(name, wrong)]
    assert prose.main(["--root", str(tmp_path)]) == (1 if wrong else 0)
    shown = capsys.readouterr().out
    assert name in shown and all(reason in shown for reason in wrong)


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prose.main(["--root", str(tmp_path), "none.md"]) == 2
    assert "none.md" in capsys.readouterr().err


def test_the_longest_sentences_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text("One two. One two three four. One.")
    assert prose.main(["--root", str(tmp_path), "a.md", "--longest", "1"]) == 0
    assert "      4  One two three four." in capsys.readouterr().out
