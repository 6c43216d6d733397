"""Puts the page into one file that opens from disk: `python pack.py MODULE FILE`. `make web` runs it.

Style sheet and scripts go where the page names them. The module is compressed, and stands in the page as text: a page on
disk may load no other file.
"""

from __future__ import annotations

import base64
import gzip
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent / "page"
# What a module and its page may take, compressed: a page is loaded over a network too.
BYTES_MAX = 1_500_000


def packed(module: bytes) -> str:
    """The page with the module in it."""

    def inlined(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        text = (HERE / name).read_text(encoding="utf-8")
        assert "</script" not in text and "</style" not in text, name
        return f"<style>\n{text}</style>" if name.endswith(".css") else f"<script>\n{text}</script>"

    page = (HERE / "index.html").read_text(encoding="utf-8")
    page = re.sub(r'<link rel="stylesheet" href="([^"]+)">|<script src="([^"]+)"></script>', inlined, page)
    compressed = gzip.compress(module, 9, mtime=0)
    text = base64.b64encode(compressed).decode()
    page = page.replace("<noscript>", f'<script type="text/plain" id="module">{text}</script>\n<noscript>', 1)
    size = len(gzip.compress(page.encode(), 9))
    if size > BYTES_MAX:
        sys.exit(f"{size:,} bytes compressed, and {BYTES_MAX:,} are allowed")
    return page


def main() -> None:
    """Reads the module, and writes the page."""
    module, target = (Path(argument) for argument in sys.argv[1:])
    page = packed(module.read_bytes())
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")
    print(f"{target}: {len(page.encode()):,} bytes, {len(gzip.compress(page.encode(), 9)):,} compressed")


if __name__ == "__main__":
    main()
