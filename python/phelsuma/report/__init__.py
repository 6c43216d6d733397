"""A report on the claims of papers and their verdicts, as one page of HTML without other files.

It reads what `phelsuma claims run PAPER` stores in the folder of a paper: `results-SCALE.json`, and the series of the
figures in `figures-SCALE/*.csv`. It also reads `claims.toml`, which has the claims and how each figure is drawn. The
only numbers that it computes are ratios of two stored ones. `python -m phelsuma.report papers -o report.html` writes
it.
"""

from __future__ import annotations

import argparse
import sys
from os import PathLike
from pathlib import Path
from typing import Optional, Sequence, Union

from ..errors import InputError, PhelsumaError
from . import page, papers

__all__ = ["main", "write"]


def write(
    folder: Union[str, PathLike[str]], to: Union[str, PathLike[str]], *, scale: str = "quick", only: Sequence[str] = ()
) -> int:
    """Writes the page of all papers below `folder`, or of those in `only`. Returns the number of claims on it.

    Raises:
        InputError: there are no results at this scale.
    """
    there = [path.parent for path in sorted(Path(folder).glob("*/claims.toml"))]
    found = [path for path in there if (path / f"results-{scale}.json").is_file()]
    missing = [name for name in only if name not in [path.name for path in found]]
    if missing or not found:
        what = ", ".join(missing) or str(folder)
        raise InputError(f"{what}: no results-{scale}.json; run phelsuma claims run PAPER --scale {scale}")
    shown = [papers.read(path, scale) for path in there if not only or path.name in only]
    Path(to).write_text(page.of(shown, scale), encoding="utf-8")
    return sum(len(paper.claims) for paper in shown)


def main(words: Optional[Sequence[str]] = None) -> int:
    """Writes the page, with options from the command line."""
    parser = argparse.ArgumentParser(prog="python -m phelsuma.report", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("papers", nargs="?", default="papers", help="folder with all papers [default: papers]")
    parser.add_argument("-o", "--to", default="report.html", help="the file to write [default: report.html]")
    parser.add_argument("--scale", default="quick", help="size of the drives: quick, large or full [default: quick]")
    parser.add_argument("--only", action="append", default=[], metavar="PAPER", help="only this paper; may be repeated")
    args = parser.parse_args(words)
    try:
        claims = write(args.papers, args.to, scale=args.scale, only=args.only)
    except (PhelsumaError, OSError, ImportError) as error:
        sys.stderr.write(f"phelsuma: {error}\n")
        return 2
    print(f"{args.to}: {claims} claims")
    return 0
