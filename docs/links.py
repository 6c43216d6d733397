"""Links of Markdown files: which there are, and which lead nowhere. Run as a script it prints those that are dead.

Anchors are those that GitHub makes of headings. What is in code is no link, and addresses of the web are not asked.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]

FENCE = re.compile(r"^[ >]*(?:(?:[-*+]|\d+[.)])\s+)?(```+|~~~+)")
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", flags=re.S)
TARGET = r"(?:<(?P<angle>[^<>\n]*)>|(?P<bare>(?:[^\s()]|\([^\s()]*\))*))"
INLINE = re.compile(r"(?<=\])\(\s*" + TARGET + r"(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*" + TARGET, flags=re.M)
HTML = re.compile(r"<[a-zA-Z][^>]*?\s(?:href|src|srcset)=(?P<quote>[\"'])(?P<bare>.*?)(?P=quote)", flags=re.S)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$", flags=re.M)
UNDERLINED = re.compile(r"^ {0,3}(\S.*?)[ \t]*\n {0,3}(?:=+|-{2,})[ \t]*$", flags=re.M)
NAMED = re.compile(r"<[a-zA-Z][^>]*?\s(?:id|name)=[\"']([^\"']+)[\"']")


def without_code(text: str, spans: bool = True) -> str:
    """A text with its code blanked out, each character in its place: blocks, and spans unless they are to stay."""
    lines, fence = [], ""
    for line in text.split("\n"):
        opened = FENCE.match(line)
        if fence or opened:
            lines.append(" " * len(line))
            if not fence and opened:
                fence = opened[1]
            elif opened and opened[1].startswith(fence):
                fence = ""
            continue
        lines.append(line)
    blanked = "\n".join(lines)
    blanked = re.sub(r"<!--.*?-->", lambda found: re.sub(r"[^\n]", " ", found[0]), blanked, flags=re.S)
    if not spans:
        return blanked
    # A span ends where its paragraph does.
    parts = re.split(r"(\n[ \t]*\n)", blanked)
    return "".join(CODE.sub(lambda found: re.sub(r"[^\n]", "x", found[0]), part) for part in parts)


def targets(text: str) -> list[tuple[int, int, str]]:
    """Where each link leads to, with the place in the text at which this stands."""
    looked_at = without_code(text)
    found = []
    for pattern in (INLINE, DEFINITION, HTML):
        for link in pattern.finditer(looked_at):
            group = "angle" if "angle" in pattern.groupindex and link["angle"] is not None else "bare"
            start, end = link.span(group)
            found.append((start, end, text[start:end]))
    return sorted(found)


def slug(heading: str) -> str:
    """What GitHub makes of a heading, before it counts those that are the same."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"<[^>]*>", "", heading).replace("`", "").replace("*", "").strip().lower()
    heading = re.sub(r"(?<!\w)_+|_+(?!\w)", "", heading)
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """The anchors of a Markdown text."""
    looked_at = without_code(text, spans=False)
    headings = [*HEADING.finditer(looked_at)]
    headings += [one for one in UNDERLINED.finditer(looked_at) if not re.match(r"[|>#\-*+]|\d+[.)]", one[1])]
    found, seen = set(NAMED.findall(looked_at)), {}
    for heading in sorted(headings, key=lambda one: one.start()):
        name = slug(heading[1])
        before = seen.get(name, 0)
        seen[name] = before + 1
        found.add(f"{name}-{before}" if before else name)
    return found


def files_of(root: Path) -> set[str]:
    """What a clone has: files that git knows or would take, or where there is no git, all."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
    )
    if listed.returncode == 0 and (root / ".git").exists():
        return {name for name in listed.stdout.split("\0") if name and (root / name).is_file()}
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def dead(root: Path) -> list[str]:
    """Every link of every Markdown file that leads nowhere, in a line: file, line, link, and why."""
    files = files_of(root)
    folders = {str(parent) for name in files for parent in Path(name).parents}
    texts = {name: (root / name).read_text(encoding="utf-8") for name in sorted(files) if name.endswith(".md")}
    known = {name: anchors(text) for name, text in texts.items()}
    found = []
    for name, text in texts.items():
        for start, _, link in targets(text):
            why = _why_dead(name, link, files, folders, known, root)
            if why:
                found.append(f"{name}:{text.count(chr(10), 0, start) + 1}: {link}: {why}")
    return found


def resolved(name: str, path: str) -> str:
    """The path from the root of what a file links to; one that begins with `..` leads out."""
    parts: list[str] = list(Path(name).parent.parts)
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "."


def _why_dead(
    name: str, link: str, files: set[str], folders: set[str], known: dict[str, set[str]], root: Path
) -> str | None:
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", link):
        return None
    path, _, anchor = link.partition("#")
    path, anchor = unquote(path.split("?")[0]), unquote(anchor)
    if path.startswith("/"):
        return "begins at a root"
    if not path and not anchor:
        return "is empty"
    target = resolved(name, path) if path else name
    if target not in files and target not in folders:
        return "no such file"
    if not anchor:
        return None
    if target in known:
        return None if anchor in known[target] else "no such heading"
    lines = re.fullmatch(r"L(\d+)(?:-L(\d+))?", anchor)
    if not lines or target not in files:
        return "no such anchor"
    count = len((root / target).read_text(encoding="utf-8").splitlines())
    return None if int(lines[2] or lines[1]) <= count else "no such line"


if __name__ == "__main__":
    nowhere = dead(ROOT)
    print("\n".join(nowhere) or "no dead links")
    sys.exit(1 if nowhere else 0)
