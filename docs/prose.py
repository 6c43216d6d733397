"""Measures prose: words a sentence, and sizes, of what people read first. `make prose` runs it.

What is not a sentence is left out: front matter, code, tables, headings, HTML and what links lead to. A list's item
begins a sentence. Code between backticks is one word.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MEASURED = (
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "docs/TESTING.md",
    "docs/PERFORMANCE.md",
    "docs/JSON.md",
    "docs/guide/*.md",
    "docs/design/*.md",
)
MEAN_MAX = 20
P90_MAX = 32
SIZE_MAX = {"README.md": 9 * 1024, "ARCHITECTURE.md": 16 * 1024}

# A full stop ends no sentence after these; after the second and third kind only where a number or a small letter follows.
ABBREVIATIONS = {"e.g.", "i.e.", "cf.", "vs.", "al.", "approx."}
BEFORE_NUMBERS = {"fig.", "figs.", "sec.", "ch.", "eq.", "no.", "nos.", "p.", "pp.", "tab.", "vol."}
BEFORE_SMALL = {"etc.", "resp."}

FENCE = re.compile(r"^[ >]*(```+|~~~+)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
STOP = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?=\s|$)")


def paragraphs(text: str) -> list[str]:
    """The paragraphs and list items of a Markdown text, each in one line."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    found: list[str] = []
    lines: list[str] = []
    fence, blank, in_list = "", True, False

    def end() -> None:
        if lines:
            found.append(_plain(" ".join(lines)))
        lines.clear()

    for line in text.splitlines():
        opened = FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence):
                fence = ""
            continue
        if opened:
            end()
            fence = opened[1]
            continue
        line = re.sub(r"^\s*(?:>\s?)+", "", line)
        if re.match(r"^\s*(=+|-{2,})\s*$", line) and lines:  # the line under a heading
            lines.clear()
            continue
        item = ITEM.match(line)
        if item:
            end()
            in_list = True
            line = line[item.end() :]
        elif not line.strip() or re.match(r"^\s*(\||#{1,6}\s|\[[^\]]+\]:\s|([-*_]\s*){3,}$)", line):
            end()
            blank = not line.strip()
            continue
        elif blank and re.match(r"^( {4}|\t)", line) and not in_list:  # indented code
            continue
        elif blank and not line.startswith(" "):
            in_list = False
        blank = False
        lines.append(line.strip())
    end()
    return [paragraph for paragraph in found if paragraph]


def _plain(text: str) -> str:
    """A paragraph as it reads."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "Code", text)
    text = re.sub(r"!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])", "", text)
    text = re.sub(r"\[([^\[\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"<(https?://[^>]*)>", "Address", text)
    text = re.sub(r"</?[a-zA-Z][^>]*>", " ", text)
    return re.sub(r"\s+", " ", text).strip()


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph."""
    found, start = [], 0
    for stop in STOP.finditer(paragraph):
        word = paragraph[: stop.end()].rsplit(" ", 1)[-1].lstrip("([\"'“‘*_").rstrip(")]\"'”’*_").lower()
        after = paragraph[stop.end() :].lstrip()
        if after and (
            word in ABBREVIATIONS
            or (word in BEFORE_NUMBERS and after[0].isdigit())
            or (word in BEFORE_SMALL and not after[0].isupper())
        ):
            continue
        found.append(paragraph[start : stop.end()].strip())
        start = stop.end()
    found.append(paragraph[start:].strip())
    return [sentence for sentence in found if words(sentence)]


def words(sentence: str) -> int:
    """How many words a sentence has: what stands between spaces and has a letter or a digit."""
    return sum(any(character.isalnum() for character in word) for word in sentence.split())


def measure(text: str) -> dict[str, float]:
    """Sentences, mean and 90th percentile (nearest rank) of words, and the longest."""
    lengths = sorted(words(sentence) for paragraph in paragraphs(text) for sentence in sentences(paragraph))
    count = len(lengths)
    if not count:
        return {"sentences": 0, "mean": 0.0, "p90": 0, "longest": 0}
    return {
        "sentences": count,
        "mean": round(sum(lengths) / count, 2),
        "p90": lengths[math.ceil(0.9 * count) - 1],
        "longest": lengths[-1],
    }


def look_at(root: Path, names: list[str]) -> list[dict[str, Any]]:
    """A row for each file, with what is wrong with it."""
    rows = []
    for name in names:
        text = (root / name).read_text(encoding="utf-8")
        row: dict[str, Any] = {"file": name, "bytes": len(text.encode()), **measure(text)}
        wrong = []
        size_max = SIZE_MAX.get(name)
        if size_max and row["bytes"] > size_max:
            wrong.append(f"more than {size_max:,} bytes")
        if row["mean"] > MEAN_MAX:
            wrong.append(f"mean above {MEAN_MAX}")
        if row["p90"] > P90_MAX:
            wrong.append(f"90th percentile above {P90_MAX}")
        rows.append({**row, "wrong": wrong})
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; 1 where a file is above a limit, 2 for a file that is not there."""
    parser = argparse.ArgumentParser(description="Words a sentence, and sizes, of the documentation.")
    parser.add_argument("files", nargs="*", help="instead of " + ", ".join(MEASURED))
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--longest", type=int, default=0, metavar="N", help="show the N longest sentences of each file")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    root = given.root.resolve()
    names = given.files or [str(path.relative_to(root)) for pattern in MEASURED for path in sorted(root.glob(pattern))]
    for name in names:
        if not (root / name).is_file():
            print(f"prose: no file {name} in {root}", file=sys.stderr)
            return 2
    rows = look_at(root, names)
    if given.json:
        print(json.dumps({"mean_max": MEAN_MAX, "p90_max": P90_MAX, "size_max": SIZE_MAX, "files": rows}, indent=2))
    else:
        width = max([4, *(len(name) for name in names)])
        print(f"{'file':{width}}  {'bytes':>7}  {'sentences':>9}  {'mean':>5}  {'p90':>4}  {'longest':>7}")
        for row in rows:
            line = "{file:{width}}  {bytes:>7,}  {sentences:>9}  {mean:>5.1f}  {p90:>4}  {longest:>7}"
            print("  ".join([line.format(width=width, **row), *row["wrong"]]))
            text = (root / str(row["file"])).read_text(encoding="utf-8")
            each = [sentence for paragraph in paragraphs(text) for sentence in sentences(paragraph)]
            for sentence in sorted(each, key=words, reverse=True)[: given.longest]:
                print(f"    {words(sentence):>3}  {sentence}")
        print(f"limits: mean {MEAN_MAX}, 90th percentile {P90_MAX}, ", end="")
        print(", ".join(f"{name} {size:,} bytes" for name, size in SIZE_MAX.items()))
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
