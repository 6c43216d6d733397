"""Makes the documentation site of the Markdown files where they are. `make docs` runs it; MkDocs does the rest.

It writes each page into the build folder under the path that it has here, so that links between pages stay as they
are, with the few changes that Markdown as GitHub has it needs before MkDocs reads it, and MkDocs's configuration with
the navigation. What else pages link to is put beside them.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import links  # noqa: E402

ROOT = links.ROOT

# The design chapters in the order in which they are read.
CHAPTERS = [
    f"docs/design/{name}.md"
    for name in (
        "flash",
        "blocks",
        "mapping-and-validity",
        "mapping-caches",
        "recovery",
        "integrity",
        "policies",
        "phelsuma",
        "log-blocks",
        "superblock",
        "last",
        "mu-tree",
        "laboratory",
        "serving",
        "traces",
    )
]
# By reader: each page is in the first section that names it; what none names is reference.
SECTIONS = {
    "Start": ["README.md", "docs/ALTERNATIVES.md", "docs/guide/start*.md"],
    "Guides": ["docs/guide/*.md", "docs/tutorial.md", "docs/GALLERY.md", "traces/README.md"],
    "Design": ["ARCHITECTURE.md", "docs/DRAWINGS.md", *CHAPTERS, "docs/design/*.md"],
    "Reference": ["docs/reference/*.md", "docs/JSON.md", "docs/IMAGE.md"],
    "Results": ["docs/results/*.md", "docs/PERFORMANCE.md", "docs/BUGS_FOUND.md", "docs/MUTANTS.md"],
    "Contributing": ["CONTRIBUTING.md", "docs/TESTING.md", "docs/LIMITATIONS.md", "fuzz/README.md", "CHANGELOG.md"],
}
# What is made by other targets, and is linked where it is there: section, title, folder of the build, its first page.
MADE = [
    ("Guides", "FTLs in your browser", "browser", "index.html"),
    ("Results", "Report of the papers", "report", "report.html"),
    ("Reference", "Python package", "python-doc", "index.html"),
]
# Their own headings are too long for a sidebar, or say too little there.
TITLES = {"README.md": "Phelsuma", "docs/tutorial.md": "Notebook", "traces/README.md": "Traces"}
AS_THEY_ARE = (".svg", ".png", ".jpg", ".gif", ".html")
ITEM = re.compile(r" *([-*+]|\d+[.)]) +(?=\S)")
CONFIGURATION: dict[str, Any] = {
    "site_name": "Phelsuma",
    "site_description": "Flash translation layers that can be run, crashed and compared.",
    "theme": {
        "name": "material",
        "font": False,
        "icon": {"logo": "material/memory"},
        "features": [
            "navigation.tabs",
            "navigation.tabs.sticky",
            "navigation.sections",
            "navigation.top",
            "navigation.footer",
            "toc.follow",
            "search.highlight",
            "search.suggest",
            "content.code.copy",
        ],
        "palette": [
            {
                "media": f"(prefers-color-scheme: {name})" if name else "(prefers-color-scheme)",
                "scheme": scheme,
                "primary": "custom",
                "accent": "custom",
                "toggle": {"icon": f"material/{icon}", "name": title},
            }
            for name, scheme, icon, title in (
                ("", "default", "brightness-auto", "As the system has it; switch to light"),
                ("light", "default", "brightness-7", "Light; switch to dark"),
                ("dark", "slate", "brightness-4", "Dark; switch to the system's"),
            )
        ],
    },
    "extra_css": ["website/extra.css"],
    "extra": {"generator": False, "polyfills": ["website/iframe-worker.js"]},
    "plugins": ["search", "offline"],
    "hooks": [str(Path(__file__).resolve())],
    "markdown_extensions": [
        "admonition",
        "tables",
        "sane_lists",
        {"toc": {"permalink": True}},
        {"pymdownx.highlight": {"anchor_linenums": False}},
        "pymdownx.superfences",
        "pymdownx.magiclink",
        "pymdownx.tilde",
        {"pymdownx.tasklist": {"custom_checkbox": True}},
    ],
    "validation": {
        "nav": {"omitted_files": "warn", "not_found": "warn"},
        "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"},
    },
}


def on_config(config: Any) -> Any:
    """Has MkDocs make the anchors that GitHub makes."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = lambda heading, _: links.slug(heading)
    return config


def on_page_content(html: str, **_: Any) -> str:
    """Marks code that is short enough to stand in one line, so that no option is broken at its hyphens."""
    return re.sub(r"<code>(?=[^<]{1,26}</code>)", '<code class="short">', html)


def pages(files: set[str]) -> dict[str, list[str]]:
    """The pages of each section, in order."""
    left = sorted(name for name in files if name.endswith(".md"))
    found: dict[str, list[str]] = {}
    for section, patterns in SECTIONS.items():
        found[section] = []
        for pattern in patterns:
            matching = [name for name in left if fnmatch.fnmatchcase(name, pattern)]
            found[section] += matching
            left = [name for name in left if name not in matching]
    found["Reference"] += left
    return found


def for_mkdocs(text: str) -> str:
    """Lists as MkDocs reads them: four spaces for each level, and a blank line in front of one that follows a paragraph."""
    made: list[str] = []
    levels: list[int] = []  # of the lists that are open: where the text of an item begins
    in_paragraph = in_code = is_loose = False

    def close(indent: int) -> None:
        while levels and indent < levels[-1]:
            levels.pop()

    for line, bare in zip(text.split("\n"), links.without_code(text, spans=False).split("\n")):
        if not line.strip():
            made.append("")
            in_paragraph, is_loose = False, True
            continue
        indent = len(line) - len(line.lstrip(" "))
        was_in_code, in_code = in_code, not bare.strip()
        item = ITEM.match(bare)
        if item and indent >= (levels[-1] if levels else 0) + 4:
            item = None  # indented code
        if item and in_paragraph and not levels:
            # Within a paragraph a list begins that begins with 1.
            if item[1] in ("-", "*", "+", "1.", "1)"):
                made.append("")
            else:
                item = None
        elif item and in_paragraph and is_loose:
            made.append("")
        if item or (in_code and not was_in_code) or (not in_code and not in_paragraph) or re.match(r"#{1,6} |\|", bare):
            close(indent)
        base = min(indent, levels[-1]) if levels else 0
        made.append(" " * (4 * len(levels)) + line[indent if item else base :])
        if item:
            levels.append(item.end())
            is_loose = False
        in_paragraph = not in_code
    return "\n".join(made)


def page(name: str, text: str, names: set[str], files: set[str]) -> tuple[str, set[str]]:
    """A page as MkDocs is to read it, and the other files that it links to."""
    linked: set[str] = set()
    for start, end, link in reversed(links.targets(text)):
        path, sharp, anchor = link.partition("#")
        if not path or re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", link):
            continue
        target = links.resolved(name, path)
        if target in names:
            continue
        if target in files:
            linked.add(target)
            if not target.endswith(AS_THEY_ARE):
                text = text[:start] + path + ".txt" + text[end:]
            continue
        # A folder has no page: what it is called stays.
        label = re.search(r"\[([^\[\]]*)\]\($", text[:start])
        closing = text.find(")", end)
        if label and closing >= 0:
            text = text[: label.start()] + label[1] + text[closing + 1 :]
    return for_mkdocs(text), linked


def notebook(text: str) -> str:
    """A notebook's cells as Markdown."""
    cells = json.loads(text)["cells"]
    sources = [(cell["cell_type"] == "code", "".join(cell["source"])) for cell in cells]
    return "\n\n".join(f"```python\n{source}\n```" if code else source for code, source in sources) + "\n"


def write(root: Path, source: Path, built: Path) -> Path:
    """Writes what MkDocs reads into `source`, and returns its configuration. `built` is where other targets build."""
    files = links.files_of(root)
    texts = {name: (root / name).read_text(encoding="utf-8") for name in files if name.endswith(".md")}
    for name in files:
        if name.startswith("docs/") and name.endswith(".ipynb"):
            texts[name[: -len("ipynb")] + "md"] = notebook((root / name).read_text(encoding="utf-8"))
    shutil.rmtree(source, ignore_errors=True)
    content = source / "content"
    for name, text in sorted(texts.items()):
        made, linked = page(name, text, set(texts), files)
        (content / name).parent.mkdir(parents=True, exist_ok=True)
        (content / name).write_text(made, encoding="utf-8")
        for other in linked:
            put = content / (other if other.endswith(AS_THEY_ARE) else other + ".txt")
            put.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / other, put)
    shutil.copytree(Path(__file__).resolve().parent / "website", content / "website")
    navigation: list[dict[str, Any]] = [
        {section: [{TITLES[name]: name} if name in TITLES else name for name in names]}
        for section, names in pages(set(texts)).items()
        if names
    ]
    for section, title, folder, first in MADE:
        if (built / folder / first).is_file():
            shutil.copytree(built / folder, content / folder, ignore=shutil.ignore_patterns("papers"))
            for part in navigation:
                for name in part.keys() & {section}:
                    part[name].append({title: f"{folder}/{first}"})
    configuration = {**CONFIGURATION, "docs_dir": "content", "nav": navigation}
    # MkDocs reads YAML, of which JSON is a part.
    (source / "mkdocs.yml").write_text(json.dumps(configuration, indent=2), encoding="utf-8")
    return source / "mkdocs.yml"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: website.py FOLDER-TO-WRITE FOLDER-OF-OTHER-BUILDS")
    print(write(ROOT, Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
