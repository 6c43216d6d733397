"""Draws the pictures of docs/GALLERY.md anew: what the last line of each of its blocks draws, under its function's name.

python3 docs/gallery.py [FOLDER]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, Tuple

PAGE = Path(__file__).resolve().parent / "GALLERY.md"


def pictures() -> Iterator[Tuple[str, Any]]:
    """Each picture's name with what was drawn."""
    names: Dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S):
        drawing = re.search(r"^plot\.(\w+)\(", block, flags=re.M)
        if drawing is None:
            exec(compile(block, PAGE.name, "exec"), names)
            continue
        exec(compile(block[: drawing.start()] + "axes = " + block[drawing.start() :], PAGE.name, "exec"), names)
        yield drawing[1], names["axes"]


def main() -> None:
    """Writes each into the folder."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else PAGE.parent / "gallery")
    folder.mkdir(parents=True, exist_ok=True)
    for name, axes in pictures():
        # Without what changes from version to version of matplotlib.
        axes.figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
        pyplot.close(axes.figure)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main()
