"""The folder of a paper: its `claims.toml` and the results at a scale, in groups by figure."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from .places import Place, places

Row = Dict[str, str]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and its result at a scale."""

    id: str
    at: str
    says: str
    note: str
    formula: str
    """The expression that computes the measured value; empty if the claim has no run at this scale."""
    found: Optional[Dict[str, Any]]
    scale: str
    """The requested scale, or another scale if the claim has runs only there."""
    elsewhere: Optional[Dict[str, Any]]
    """The result at the other scale."""


@dataclass(frozen=True)
class Figure:
    """A figure or table of the paper, as it is drawn."""

    id: str
    at: str
    spec: Dict[str, Any]
    """The entry in `claims.toml`."""
    rows: List[Row]
    """The series at this scale."""
    runs: Dict[str, Any]

    @property
    def columns(self) -> List[str]:
        """The headings of the series, without that of the run."""
        return [heading for heading, _ in self.spec["columns"]]


@dataclass
class Group:
    """A figure or table with the claims about it, or the claims of a section."""

    title: str
    figures: List[Tuple[str, Figure]] = field(default_factory=list)
    """Each figure with its part, such as `a` or `top`."""
    claims: List[Tuple[str, Claim]] = field(default_factory=list)


@dataclass(frozen=True)
class Paper:
    """A paper with its results at a scale."""

    name: str
    title: str
    has_results: bool
    claims: List[Claim]
    figures: List[Figure]

    def groups(self) -> List[Group]:
        """The groups in the order of the claims. Figures without a claim come last."""
        groups: Dict[str, Group] = {}
        of_figures: Dict[str, Group] = {}
        for figure in self.figures:
            there = _places_of_figure(figure.at)
            group = next((of_figures[place.key] for place in there if place.key in of_figures), None)
            group = group or Group(_title(there))
            group.figures.append((there[0].part if len(there) == 1 else "", figure))
            of_figures.update({place.key: group for place in there})
        for claim in self.claims:
            there = places(claim.at)
            shown = [place for place in there if place.kind in ("figure", "table")]
            place = next((place for place in shown + there if place.key in of_figures), None)
            place = place or (shown + there + [Place(claim.at, "")])[0]
            group = of_figures.get(place.key) or groups.get(place.key) or Group(place.title)
            groups.setdefault(place.key, group)
            group.claims.append((place.part, claim))
        ordered: List[Group] = []
        for group in [*groups.values(), *of_figures.values()]:
            if not any(group is other for other in ordered):
                ordered.append(group)
        return ordered


def _places_of_figure(at: str) -> List[Place]:
    there = places(at)
    shown = [place for place in there if place.kind in ("figure", "table")]
    return shown or there[:1] or [Place(at.split(":")[0], "")]


def _title(there: List[Place]) -> str:
    numbers = list(dict.fromkeys(place.number for place in there))
    return f"{there[0].title}" if len(numbers) == 1 else f"{there[0].kind.capitalize()}s {', '.join(numbers)}"


def _results(folder: Path, scale: str) -> Dict[str, Any]:
    path = folder / f"results-{scale}.json"
    results: Dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {"claims": [], "figures": {}}
    return results


def _found(results: Dict[str, Any]) -> Dict[str, Any]:
    return {claim["id"]: claim for claim in results["claims"]}


def read(folder: Path, scale: str) -> Paper:
    """Reads the folder of a paper."""
    document = _document(folder / "claims.toml")
    path = folder / f"results-{scale}.json"
    results = _results(folder, scale)
    found = _found(results)
    claims = []
    for claim in document.get("claims", []):
        formula = _formula(_at(claim["measure"], scale), document, scale)
        of = next((of for of in (scale, "quick", "full", "large") if _at(claim["measure"], of)), scale)
        other = _found(_results(folder, of)).get(claim["id"]) if of != scale else None
        told = (claim["id"], claim["at"], claim["says"], claim.get("note", ""))
        claims.append(Claim(*told, formula, found.get(claim["id"]), of, other))
    figures = []
    for spec in document.get("figures", []):
        runs = results.get("figures", {}).get(spec["id"])
        series = folder / f"figures-{scale}" / f"{spec['id']}.csv"
        done = any("why" not in run for run in (runs or {}).values())
        rows = _rows(series) if done and series.is_file() else []
        figures.append(Figure(spec["id"], spec["at"], spec, rows, runs or {}))
    return Paper(folder.name, document.get("title", folder.name), path.is_file(), claims, figures)


def _document(path: Path) -> Dict[str, Any]:
    try:
        import tomllib
    except ImportError:  # Python before 3.11
        try:
            import tomli as tomllib  # type: ignore[import-not-found,no-redef,unused-ignore]
        except ImportError as error:
            raise ImportError("the report reads TOML; run pip install 'phelsuma[report]'") from error
    with path.open("rb") as file:
        return dict(tomllib.load(file))


def _rows(path: Path) -> List[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _at(text: Any, scale: str) -> str:
    """The text for a scale. The large scale uses the full scale's text if it has none."""
    if not isinstance(text, dict):
        return str(text)
    return str(text.get(scale) or (text.get("full", "") if scale == "large" else ""))


def _formula(measure: str, document: Dict[str, Any], scale: str) -> str:
    """An expression, followed by the definitions of the names in it."""
    values, lists = document.get("values", {}), document.get("lists", {})
    lines, seen, todo = [measure], set(), [measure]
    while todo:
        text = todo.pop(0)
        for name in re.findall(r"(?<![\w.{])[A-Za-z_]\w*(?![\w.}])", text):
            if name in seen:
                continue
            seen.add(name)
            if name in values:
                meant = _at(values[name], scale)
                lines.append(f"{name} = {meant}")
                todo.append(meant)
            elif name in lists and re.search(rf"\b{name}\s*\|", text):
                lines.append(f"{name}: {', '.join(lists[name])}")
    return "\n".join(lines) if measure else ""
