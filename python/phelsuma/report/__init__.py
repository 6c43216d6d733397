"""What papers state and what was found of it, as one page of HTML that needs no other file.

It is made of what `phelsuma claims run PAPER` stores in the paper's folder (`results-SCALE.json` and the series of the
figures, `figures-SCALE/*.csv`), and of `claims.toml`, which says what is asked for and how each figure is drawn. No
number is computed here but ratios of two of these. `python -m phelsuma.report papers -o report.html` writes it.
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
    """Writes the page of all papers below `folder`, or of those in `only`; how many claims are on it.

    Raises:
        InputError: there is no result of that scale.
    """
    there = [path.parent for path in sorted(Path(folder).glob("*/claims.toml"))]
    found = [path for path in there if (path / f"results-{scale}.json").is_file()]
    missing = [name for name in only if name not in [path.name for path in found]]
    if missing or not found:
        what = ", ".join(missing) or str(folder)
        raise InputError(f"{what}: no results-{scale}.json; phelsuma claims run --scale {scale} would be right")
    shown = [papers.read(path, scale) for path in there if not only or path.name in only]
    Path(to).write_text(page.of(shown, scale), encoding="utf-8")
    return sum(len(paper.claims) for paper in shown)


def main(words: Optional[Sequence[str]] = None) -> int:
    """The page, from the command line."""
    parser = argparse.ArgumentParser(prog="python -m phelsuma.report", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("papers", nargs="?", default="papers", help="the folder of papers [default: papers]")
    parser.add_argument("-o", "--to", default="report.html", help="the file [default: report.html]")
    parser.add_argument("--scale", default="quick", help="quick, large or full [default: quick]")
    parser.add_argument("--only", action="append", default=[], metavar="PAPER", help="this paper; may be repeated")
    args = parser.parse_args(words)
    try:
        claims = write(args.papers, args.to, scale=args.scale, only=args.only)
    except (PhelsumaError, OSError, ImportError) as error:
        sys.stderr.write(f"phelsuma: {error}\n")
        return 2
    print(f"{args.to}: {claims} claims")
    return 0
