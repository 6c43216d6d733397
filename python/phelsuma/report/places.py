"""Places in a paper, parsed from `at`: figures, tables, sections, the abstract."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List

_NUMBERS = {
    "figure": r"\d+",
    "table": r"\d+|[IVX]+\b",
    "section": r"\d+(?:\.\d+)*|[IVX]+\b(?:-[A-Z]\b)?",
    "appendix": r"[A-Z]\b",
}
_ROMAN = {"I": 1, "V": 5, "X": 10}


@dataclass(frozen=True)
class Place:
    """A figure, table or section."""

    kind: str
    number: str
    part: str = ""

    @property
    def key(self) -> str:
        """A key of the figure, table or section, the same for every spelling."""
        number = self.number
        if self.kind == "table" and not number.isdigit():
            values = [_ROMAN[digit] for digit in number]
            number = str(sum(-a if a < b else a for a, b in zip(values, values[1:] + [0])))
        return f"{self.kind} {number}".strip()

    @property
    def title(self) -> str:
        """The place as a heading."""
        return f"{self.kind.capitalize()} {self.number}".strip()


def places(at: str) -> List[Place]:
    """The places that `at` names before a colon, in its order. `Figures 26, 27, 29` are three."""
    at = at.split(":")[0]
    found = []
    for word in re.finditer(r"\b(figure|table|section|appendix|abstract)(?:s|ices)?\b", at, re.IGNORECASE):
        kind = word[1].lower()
        if kind == "abstract":
            found.append(Place(kind, ""))
            continue
        rest, number = at[word.end() :], rf"\s*({_NUMBERS[kind]})(?:\s*\((\w+)\))?"
        match = re.match(number, rest)
        while match:
            found.append(Place(kind, match[1], match[2] or ""))
            rest = rest[match.end() :]
            match = re.match(rf"(?:,\s*|\s+and\s+|,\s*and\s+)(?={_NUMBERS[kind]}){number}", rest)
    return found
