"""Draws docs/drawings/*.svg. `make drawings` runs it; a test holds the files to what it draws.

What a drawing says of the code is named in `STANDS_ON`, and a test looks whether the code still says it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from canvas import Canvas, width_of  # noqa: E402

FOLDER = Path(__file__).resolve().parent / "drawings"

# Each crate, and what it imports that no other import of its brings along.
CRATES = {
    "cli": ["nbdkit", "limits", "options", "plugin", "claims", "torture"],
    "py": ["options", "claims"],
    "plugin": ["drive"],
    "nbdkit": ["page"],
    "page": ["serve"],
    "serve": ["drive"],
    "options": ["drive"],
    "web": ["drive"],
    "drive": ["ftl", "trace"],
    "ftl": ["nand"],
    "claims": [],
    "torture": [],
    "limits": [],
    "trace": [],
    "nand": ["state"],
    "state": [],
    # For tests and simulations alone.
    "mcu": [],
    "mcu-c": ["mcu"],
    "mcu-nand": ["drive", "mcu"],
    "mcu-storage": ["mcu"],
    "house": [],
}


def crates() -> Canvas:
    """The crates and their directions."""
    c = Canvas(
        "crates",
        900,
        590,
        "The crates and what they import",
        "cli imports nbdkit, limits, options, plugin, claims and torture; py imports options and claims; nbdkit imports page, page imports "
        "serve; serve, options, plugin and web import drive; drive imports ftl and trace; ftl imports nand, nand imports state.",
    )
    at = {
        "cli": (40, 24, 820, 50, "the phelsuma command"),
        "nbdkit": (40, 132, 168, 56, "plugin of a block server"),
        "limits": (238, 132, 124, 56, "analytic models"),
        "options": (392, 132, 152, 56, "runs in words"),
        "py": (582, 132, 132, 56, "Python's engine"),
        "plugin": (262, 232, 152, 56, "an FTL in a .so, tried"),
        "web": (424, 232, 84, 56, "in a browser"),
        "claims": (744, 132, 116, 56, "what papers state"),
        "page": (40, 232, 168, 56, "page of a served drive"),
        "serve": (40, 332, 168, 56, "drives in image files"),
        "drive": (392, 332, 152, 56, "drive, runs, lab"),
        "ftl": (262, 432, 152, 56, "every FTL"),
        "trace": (522, 432, 152, 56, "traces, workloads"),
        "nand": (262, 514, 152, 56, "flash, simulated"),
        "state": (522, 514, 152, 56, "saving, by derive"),
        "mcu-c": (752, 332, 108, 56, "C interface of it"),
        "mcu-nand": (764, 232, 108, 56, "mcu in the lab"),
        "mcu-storage": (608, 332, 124, 56, "under file systems"),
        "mcu": (752, 432, 108, 56, "FTL without heap"),
        "house": (752, 514, 108, 56, "counts sources"),
        "torture": (40, 412, 168, 56, "cuts below any program"),
    }
    c.box(238, 416, 200, 168, [], "plain", dashed=True)
    c.text(226, 496, "no_std:", 11.5, "end", soft=True)
    c.text(226, 511, "built for a micro-", 11.5, "end", soft=True)
    c.text(226, 526, "controller as well", 11.5, "end", soft=True)
    tones = {
        "cli": "violet",
        "py": "violet",
        "ftl": "green",
        "nand": "green",
        "drive": "blue",
        "house": "grey",
        "mcu": "green",
    }
    for name, (x, y, width, height, about) in at.items():
        tone = tones.get(name, "blue" if CRATES[name] else "grey")
        c.box(x, y, width, height, [], tone)
        c.text(x + width / 2, y + height / 2 - 3, name, 14, "middle", bold=True)
        c.text(x + width / 2, y + height / 2 + 15, about, 11, "middle", room=width - 6)
    for name in ("nbdkit", "limits", "options", "claims"):
        x = at[name][0] + at[name][2] / 2
        c.arrow((x, 74), (x, 131))
    c.arrow((582, 160), (545, 160))
    c.arrow((40, 49), (24, 49), (24, 440), (39, 440))
    c.arrow((714, 160), (743, 160))
    c.arrow((124, 188), (124, 231))
    c.arrow((124, 288), (124, 331))
    c.arrow((208, 360), (391, 360))
    c.arrow((522, 188), (522, 331))
    c.arrow((466, 288), (466, 331))
    c.arrow((378, 74), (378, 231))
    c.arrow((378, 288), (432, 331))
    c.arrow((430, 388), (338, 431))
    c.arrow((506, 388), (598, 431))
    c.arrow((338, 488), (338, 513))
    c.arrow((414, 542), (521, 542))
    c.arrow((806, 388), (806, 431))
    c.arrow((700, 388), (751, 440))
    c.arrow((790, 288), (790, 308), (536, 308), (536, 331))
    c.arrow((872, 260), (886, 260), (886, 460), (861, 460))
    c.text(545, 218, "A → B: A imports B, and may import", 12, soft=True)
    c.text(545, 235, "whatever B imports.", 12, soft=True)
    c.text(545, 258, "No import points upwards.", 12, soft=True)
    c.text(545, 281, "Grey imports no other crate.", 12, soft=True)
    return c


def host_write() -> Canvas:
    """The life of a host write."""
    c = Canvas(
        "host-write",
        900,
        640,
        "The life of a host write",
        "A sequence diagram: collect if blocks are short, prepare the mapping, report stale pages, program data and spare "
        "area together, enter the new place, report the old one, acknowledge.",
    )
    lanes = {"drive": 62, "requests": 212, "mapping": 372, "validity": 516, "blocks": 660, "nand": 820}
    heads = {
        "drive": ("drive", "the host's side"),
        "requests": ("requests", "one page at a time"),
        "mapping": ("mapping", "where pages are"),
        "validity": ("validity", "which are stale"),
        "blocks": ("blocks", "open, free"),
        "nand": ("Nand", "flash and time"),
    }
    for name, x in lanes.items():
        tone = {"drive": "violet", "nand": "green"}.get(name, "blue")
        c.line((x, 62), (x, 622), dashed=True, width=1)
        c.box(x - 58, 16, 116, 46, [], tone)
        c.text(x, 36, heads[name][0], 13, "middle", bold=True)
        c.text(x, 52, heads[name][1], 10.5, "middle", room=112)

    def say(y: float, one: str, other: str, text: str, number: str = "", dashed: bool = False) -> None:
        left, right = lanes[one], lanes[other]
        c.arrow((left, y), (right + (-2 if right > left else 2), y), dashed=dashed)
        label = f"{number}  {text}" if number else text
        # On the lines of other lanes, so on a ground of its own.
        width = width_of(label, 11.5) + 8
        middle = (left + right) / 2
        c.parts.append(f'<rect class="page" x="{middle - width / 2:g}" y="{y - 17:g}" width="{width:g}" height="14"/>')
        c.text(middle, y - 6, label, 11.5, "middle")

    def own(y: float, lane: str, lines: list[str], tone: str = "plain", width: float = 148) -> None:
        height = 15 * len(lines) + 10
        c.box(lanes[lane] - width / 2, y, width, height, lines, tone, size=11.5)

    say(92, "drive", "requests", "write", "1")
    own(104, "requests", ["2  free < reserve?", "make_space collects"], "amber")
    say(172, "requests", "mapping", "prepare", "3")
    say(200, "mapping", "nand", "a miss reads its translation page; an eviction synchronizes one", "")
    own(214, "requests", ["4  settle: report", "what became stale"])
    own(268, "requests", ["5  placement names", "the stream"])
    say(334, "requests", "blocks", "append: key, version, data CRC, stream", "6")
    say(362, "blocks", "nand", "erase, if none is open")
    say(390, "blocks", "nand", "program data + spare", "7")
    own(402, "nand", ["starts when what it", "waits for is done"], "green", 142)
    say(466, "nand", "blocks", "safe at t", "", dashed=True)
    say(494, "requests", "validity", "validate the new page", "8")
    say(522, "requests", "mapping", "written", "9")
    say(550, "mapping", "requests", "old page, if known", "", dashed=True)
    say(578, "requests", "validity", "invalidate the old page; the victim policy sees it", "10")
    say(610, "requests", "drive", "acknowledged at t", "11", dashed=True)
    return c


def collection() -> Canvas:
    """A collection."""
    c = Canvas(
        "collection",
        900,
        500,
        "A collection",
        "A victim is chosen by four rules in order; its pages are judged; live ones are read in batches of 16 and appended "
        "elsewhere; pending trims are written; the block goes to the free pool and is erased right before it is written.",
    )
    c.text(24, 34, "1  The victim: the first of these that applies", 13.5, bold=True)
    rules = [
        ("amber", ["a block that has", "failed a program"]),
        ("violet", ["metadata takes too much:", "its emptiest block"]),
        ("red", ["emergency:", "the emptiest block"]),
        ("blue", ["otherwise the", "victim policy's choice"]),
    ]
    for at, (tone, lines) in enumerate(rules):
        x = 24 + at * 217
        c.box(x, 48, 195, 46, lines, tone, size=12)
        if at:
            c.arrow((x - 22, 71), (x - 1, 71))

    def block(x: float, y: float, title: str, pages: str, note: str) -> None:
        c.text(x + 75, y - 10, title, 13, "middle", bold=True)
        tones = {"L": "green", "S": "grey", "N": "plain", "C": "green"}
        words = {"L": "live", "S": "stale", "N": "blank", "C": "copy"}
        for at, page in enumerate(pages):
            c.box(x, y + at * 25, 150, 25, words[page], tones[page], size=11.5, round_by=0)
        c.text(x + 75, y + len(pages) * 25 + 18, note, 11.5, "middle", soft=True)

    block(40, 152, "victim", "LSSLSSLS", "validity says what is live")
    c.box(292, 190, 190, 124, [], "blue")
    c.text(387, 212, "move buffer", 13, "middle", bold=True)
    for at, line in enumerate(
        ["up to 16 pages,", "read from dies in parallel", "same key, same version,", "same data CRC"]
    ):
        c.text(387, 236 + 18 * at, line, 11.5, "middle", room=182)
    block(584, 152, "open block of a stream", "CCCNNNNN", "new seq for each copy")
    c.text(212, 176, "2  judge,", 12)
    c.text(212, 192, "then read", 12)
    c.arrow((190, 164), (203, 164), (203, 222), (291, 222))
    c.arrow((190, 240), (291, 240))
    c.arrow((190, 314), (203, 314), (203, 258), (291, 258))
    c.text(519, 208, "3  append", 12, "middle")
    c.arrow((482, 222), (560, 222), (560, 164), (583, 164))
    c.arrow((482, 240), (560, 240), (560, 190), (583, 190))
    c.arrow((482, 258), (560, 258), (560, 216), (583, 216))
    c.text(752, 176, "a table in flash:", 11.5, soft=True)
    c.text(752, 192, "entries of moved", 11.5, soft=True)
    c.text(752, 208, "pages go to the", 11.5, soft=True)
    c.text(752, 224, "mapping cache", 11.5, soft=True)

    y = 424
    steps = [
        ("4  pending trims are written", 210, "violet"),
        ("5  free pool, not erased yet", 206, "grey"),
        ("6  barriers: copies are on flash", 226, "amber"),
        ("7  erase, then program", 166, "green"),
    ]
    x = 16.0
    for at, (text, width, tone) in enumerate(steps):
        c.box(x, y, width, 42, text, tone, size=12)
        if at:
            c.arrow((x - 19, y + 21), (x - 1, y + 21))
        x += width + 20
    c.line((115, 384), (115, 402))
    c.arrow((115, 402), (115, 423))
    c.text(128, 410, "nothing live is left in the victim", 11.5, soft=True)
    c.text(884, 488, "Step 7 is when the block is opened, not when it is collected.", 11.5, "end", soft=True)
    return c


def recoveries() -> Canvas:
    """The five recoveries side by side."""
    c = Canvas(
        "recoveries",
        900,
        640,
        "Five recoveries side by side",
        "For scan, battery, gecko-rec, synchronize and fast: which presets use it, what is kept while the drive serves, the "
        "steps after a power cut, and what a cut may take back.",
    )
    columns = [
        (
            "scan",
            ["tables in RAM (page …),", "mu-ftl"],
            ["nothing:", "every spare area says", "whose page it is;", "trims in tombstones"],
            [
                ("scan every spare area,", "read last pages"),
                ("apply tombstones", ""),
                ("enter suspect pages", ""),
                ("copy suspect pages", ""),
                ("mu-ftl: write its tree", "anew"),
            ],
            ["nothing that was", "acknowledged"],
        ),
        (
            "battery",
            ["dftl, mu-ftl-pvb"],
            ["blocks set aside;", "at the cut it saves", "dirty entries, tables,", "counters, then a seal"],
            [
                ("find what was saved:", "ends of user blocks"),
                ("seal is youngest?", "read what was saved"),
                ("no seal: read the", "translation table"),
            ],
            ["nothing, if the cut", "was announced"],
        ),
        (
            "gecko-rec",
            ["geckoftl"],
            ["checkpoints: a hand", "goes round the cache;", "blocks are held until", "Gecko is flushed"],
            [
                ("1 a spare area a block", ""),
                ("3 run directories", ""),
                ("2 mapping directory", ""),
                ("4 Gecko's buffer", ""),
                ("6 pages written last", ""),
                ("5 live counters", ""),
                ("copy suspect pages", ""),
            ],
            ["nothing that was", "acknowledged"],
        ),
        (
            "synchronize",
            ["dftl-noflush,", "lazyftl, ib-ftl"],
            ["a scan mark in each", "translation page; lazyftl", "and ib-ftl: a tenth of", "the cache may be dirty"],
            [
                ("a spare area a block", ""),
                ("mapping directory", ""),
                ("pages written last,", "from the mark on"),
                ("read the table, or", "the validity log"),
                ("copy suspect pages", ""),
                ("synchronize", ""),
            ],
            ["nothing that was", "acknowledged"],
        ),
        (
            "fast",
            ["dftl-page, dftl-req,", "dftl-timeout"],
            ["entries are flushed by", "page, request or time,", "and before a victim", "is released"],
            [
                ("a spare area a block", ""),
                ("mapping directory", ""),
                ("read the table", ""),
                ("copy suspect pages", "of the table"),
                ("synchronize", ""),
            ],
            ["page, req: nothing", "timeout: what was", "not flushed"],
        ),
    ]
    width, gap, left = 166, 10, 12
    for at, (name, presets, serving, steps, loses) in enumerate(columns):
        x = left + at * (width + gap)
        middle = x + width / 2
        c.text(middle, 30, name, 15, "middle", bold=True, mono=True)
        for line, preset in enumerate(presets):
            c.text(middle, 50 + 15 * line, preset, 11.5, "middle", soft=True, room=width)
        c.box(x, 78, width, 84, serving, "blue", size=11.5)
        y = 210
        for number, (one, two) in enumerate(steps):
            height = 46 if two else 32
            writes = one.lower().startswith(("copy", "synchronize", "mu-ftl"))
            c.box(x, y, width, height, [line for line in (one, two) if line], "amber" if writes else "green", size=11.5)
            if number + 1 < len(steps):
                c.arrow((middle, y + height), (middle, y + height + 15))
            y += height + 16
        c.box(x, 560, width, 56, loses, "plain", size=11.5)
    c.line((12, 186), (370, 186), tone="red", width=2)
    c.line((530, 186), (888, 186), tone="red", width=2)
    c.text(450, 190, "the power fails", 12.5, "middle", bold=True)
    c.text(12, 548, "What a cut takes back:", 12, bold=True)
    c.rect(636, 530, 14, 14, "green", 2)
    c.text(656, 541, "reads", 11.5, soft=True)
    c.rect(716, 530, 14, 14, "amber", 2)
    c.text(736, 541, "programs pages", 11.5, soft=True)
    return c


def gecko_merges() -> Canvas:
    """Runs of Logarithmic Gecko."""
    c = Canvas(
        "gecko-merges",
        900,
        560,
        "Logarithmic Gecko's runs and merges, size ratio T = 2",
        "Entries gather in a buffer of one page. Each flush makes a run; runs that meet in a level are merged. After eight "
        "flushes with nothing to drop there is one run of eight pages.",
    )
    c.text(20, 32, "Runs on flash after each flush (T = 2, multi-way, nothing dropped), newest first", 13.5, bold=True)
    runs: list[int] = []
    unit = 34.0
    tones = {0: "blue", 1: "green", 2: "amber", 3: "violet"}
    for flush in range(1, 9):
        # runs_that_will_merge: the buffer's page joins runs as long as what is merged so far is large enough for their level.
        pages, joining = 1, 0
        for run in runs:
            if pages.bit_length() < run.bit_length():
                break
            pages += run
            joining += 1
        merged = [*runs[:joining]]
        runs = [pages, *runs[joining:]]
        y = 50 + 34 * (flush - 1)
        c.text(20, y + 18, f"flush {flush}", 12)
        x = 84.0
        for run in runs:
            level = run.bit_length() - 1
            c.box(x, y, unit * run, 26, f"{run}", tones[level], size=12, bold=True, round_by=3)
            for cut in range(1, run):
                c.line((x + cut * unit, y), (x + cut * unit, y + 5), tone=tones[level], width=1)
            x += unit * run + 8
        said = "buffer alone" if not merged else "merges buffer + " + " + ".join(map(str, merged))
        c.text(420, y + 18, said, 12, soft=True)
    for level in range(4):
        y = 60 + 34 * level
        c.rect(648, y, 18, 18, tones[level], 3)
        most = 2 ** (level + 1) - 1
        c.text(676, y + 14, f"level {level}: " + (f"{2**level} to {most} pages" if level else "1 page"), 12)
    c.text(648, 216, "A run of Tⁱ to Tⁱ⁺¹ − 1 pages", 12, soft=True)
    c.text(648, 232, "is in level i. Multi-way: all runs that", 12, soft=True)
    c.text(648, 248, "a chain of merges would reach are", 12, soft=True)
    c.text(648, 264, "merged at once, each page read once.", 12, soft=True)
    c.line((20, 336), (880, 336), width=1)
    c.text(20, 362, "One query: which pages of block 7 are stale?", 13.5, bold=True)
    c.box(20, 380, 168, 92, ["buffer (RAM)", "block 7: 0010", "block 9: erased"], "blue", size=12, first_bold=True)
    c.box(258, 380, 168, 92, ["newest run", "block 7: 1000"], "green", size=12, first_bold=True)
    c.box(496, 380, 168, 92, ["older run", "block 7: erased, 0001"], "amber", size=12, first_bold=True)
    c.box(734, 380, 148, 92, ["oldest run", "not read"], "grey", size=12, first_bold=True, dashed=True)
    c.arrow((188, 426), (257, 426))
    c.arrow((426, 426), (495, 426))
    c.text(222, 416, "OR", 11.5, "middle", bold=True)
    c.text(460, 416, "OR", 11.5, "middle", bold=True)
    c.line((664, 426), (696, 426), tone="red", width=2)
    c.line((696, 412), (696, 440), tone="red", width=3)
    c.text(342, 490, "one page read", 11.5, "middle", soft=True)
    c.text(580, 490, "one page read", 11.5, "middle", soft=True)
    c.text(698, 460, "stops", 11.5, "middle", soft=True)
    c.text(20, 520, "Answer: 0010 | 1000 | 0001 = 1011.", 12.5, mono=True)
    c.text(300, 520, "An erase flag makes void everything older that is said of its block.", 12, soft=True)
    c.text(20, 542, "A run's directory in RAM (8 bytes a page) says which page has the block.", 12, soft=True)
    return c


def mu_tree_page() -> Canvas:
    """A page of a µ-Tree."""
    c = Canvas(
        "mu-tree-page",
        900,
        520,
        "A page of a µ-Tree of height 3, and an update",
        "A page of 4,096 bytes holds a header, a leaf of 254 entries, its parent of 127 and the root of 125. An update "
        "writes the whole path as one page; other leaves stay where they are.",
    )
    c.text(
        20, 32, "A page of 4,096 bytes: 24 bytes of header, 509 slots of 8 bytes; a tree of height 3", 13.5, bold=True
    )
    left, width = 20, 860
    slots, header = 509, 24
    scale = width / 4096

    def first(level: int) -> int:
        return header + (slots - (slots >> (level - 1))) * 8

    names = [(1, "leaf (level 1)", slots >> 1, "green"), (2, "level 2", slots >> 2, "blue"), (3, "root", 125, "violet")]
    c.rect(left, 48, header * scale, 56, "grey")
    for level, name, most, tone in names:
        x, wide = left + first(level) * scale, most * 8 * scale
        c.box(x, 48, wide, 56, [name, f"{most} entries"], tone, size=12, first_bold=True, round_by=0)
        c.text(x, 120, f"byte {first(level):,}", 11, soft=True)
    c.text(20, 140, "header: magic, height, levels in the page, entries of each level", 11.5, soft=True)
    c.text(480, 140, "entry: key (4 bytes), then record or child's page (4 bytes)", 11.5, soft=True)

    c.line((20, 160), (880, 160), width=1)
    c.text(20, 186, "An update of one key in leaf 2 programs one page", 13.5, bold=True)

    def page(x: float, y: float, title: str, parts: list[tuple[str, str]], note: str, stale: bool = False) -> None:
        c.text(x, y - 8, title, 12.5, bold=True)
        c.text(x + 236, y - 8, note, 11.5, "end", soft=True)
        wide = {0: 110, 1: 64, 2: 62}
        at = x
        for number, (name, tone) in enumerate(parts):
            c.box(at, y, wide[number], 46, name, "grey" if stale else tone, size=12, dashed=stale, round_by=0)
            at += wide[number]

    page(40, 226, "page A", [("leaf 1", "green"), ("node", "grey"), ("root", "grey")], "live: its leaf is")
    page(40, 318, "page B", [("leaf 2", "green"), ("node", "blue"), ("root", "violet")], "stale from now on", True)
    page(40, 410, "page C", [("leaf 3", "green"), ("node", "grey"), ("root", "grey")], "live: its leaf is")
    page(480, 318, "page D, new", [("leaf 2′", "green"), ("node′", "blue"), ("root′", "violet")], "the only program")
    c.arrow((276, 341), (479, 341), tone="amber")
    c.text(377, 333, "written anew", 11.5, "middle")
    # In D: the root names the node of its own page, that names the leaf of its own page and the two others.
    c.arrow((685, 364), (685, 382), (628, 382), (628, 365), tone="violet")
    c.text(628, 399, "HERE: same page", 11.5)
    c.arrow((606, 364), (606, 382), (545, 382), (545, 365), tone="blue")
    c.arrow((604, 318), (604, 272), (420, 272), (420, 249), (277, 249), tone="blue")
    c.text(436, 264, "child: page A", 11.5)
    c.arrow((617, 364), (617, 433), (277, 433), tone="blue")
    c.text(436, 425, "child: page C", 11.5)
    c.text(20, 484, "Grey nodes are old versions of ancestors: they are not read, and nothing is counted for them.", 12)
    c.text(
        20,
        504,
        "A page is live as long as its leaf is. A split takes one page more, which holds a path of its own.",
        12,
    )
    return c


def last_segments() -> Canvas:
    """LAST++ over the channels."""
    c = Canvas(
        "last-segments",
        900,
        610,
        "LAST++: segments, log blocks and partitions",
        "Logical pages go to the channels in turn; a logical block on each channel is a segment. Requests of 16 pages or more "
        "go to sequential log blocks, others to random log blocks of a cold and a hot partition.",
    )
    c.text(20, 32, "Segments: a logical block on each channel (here 4 channels, 4 pages a block)", 13.5, bold=True)
    for channel in range(4):
        x = 90 + channel * 96
        c.text(x + 41, 56, f"channel {channel}", 12, "middle")
    for segment in range(2):
        top = 66 + segment * 100
        c.text(20, top + 52, "segment", 11.5)
        c.text(20, top + 67, f"{segment}", 11.5)
        for channel in range(4):
            for offset in range(4):
                number = segment * 16 + offset * 4 + channel
                tone = "green" if segment == 0 else "blue"
                c.box(90 + channel * 96, top + offset * 22, 82, 22, f"{number}", tone, size=11.5, round_by=0)
    c.text(500, 84, "channel = page % channels", 12, mono=True)
    c.text(500, 104, "segment = page / (pages per block × channels)", 12, mono=True)
    c.text(500, 124, "offset  = page % (pages per block × channels)", 12, mono=True)
    c.text(500, 144, "          / channels", 12, mono=True)
    c.text(500, 176, "Adjacent pages are on adjacent channels, so a", 12, soft=True)
    c.text(500, 193, "sequential request and the merge of a segment", 12, soft=True)
    c.text(500, 210, "keep all channels at work.", 12, soft=True)

    c.line((20, 278), (880, 278), width=1)
    c.text(20, 304, "Where a request's pages go", 13.5, bold=True)
    c.box(20, 372, 128, 60, ["request", "of n pages"], "plain", size=12.5)
    c.arrow((148, 390), (184, 390), (184, 348), (243, 348))
    c.text(190, 340, "n ≥ 16", 12, bold=True)
    c.arrow((148, 416), (184, 416), (184, 456), (243, 456))
    c.text(190, 474, "n < 16", 12, bold=True)
    c.box(
        244,
        320,
        250,
        58,
        ["sequential log blocks", "one a logical block, in place;", "a quarter of all log blocks"],
        "green",
        size=11.5,
        first_bold=True,
        leading=1.36,
    )
    c.box(
        244,
        428,
        200,
        58,
        ["cold random log blocks", "the channel written", "least recently"],
        "blue",
        size=11.5,
        first_bold=True,
        leading=1.36,
    )
    c.box(
        580,
        428,
        200,
        58,
        ["hot random log blocks", "pages that were", "overwritten often"],
        "red",
        size=11.5,
        first_bold=True,
        leading=1.36,
    )
    c.arrow((444, 448), (579, 448))
    c.text(512, 440, "fourth update", 11.5, "middle")
    c.arrow((580, 472), (445, 472), dashed=True)
    c.text(512, 488, "merged: cold again", 11.5, "middle")
    c.box(
        580,
        320,
        300,
        58,
        ["complete and newest: switch merge", "begun in order and newest: partial merge", "otherwise: full merge"],
        "grey",
        size=11.5,
        leading=1.36,
    )
    c.arrow((494, 349), (579, 349))
    c.text(20, 528, "A partition needs a block. The first of these that applies:", 13, bold=True)
    c.box(20, 544, 230, 48, ["a dead hot block:", "erased, no merge"], "red", size=11.5)
    c.box(
        290,
        544,
        270,
        48,
        ["hot is as large as its share of valid", "pages: its block of least degree"],
        "red",
        size=11.5,
    )
    c.box(
        600,
        544,
        280,
        48,
        ["the cold block with the fewest data", "blocks to merge with (least degree)"],
        "blue",
        size=11.5,
    )
    c.arrow((250, 568), (289, 568))
    c.arrow((560, 568), (599, 568))
    return c


PROGRAM_FAULTS = [
    "not-started",
    "unacknowledged",
    "torn-seen",
    "torn-unseen",
    "torn-spare",
    "looks-erased",
    "unstable",
    "unstable-once",
]
ERASE_FAULTS = ["not-started", "unacknowledged", "partial-mixed", "partial-front", "unstable-erase"]


def crash_sweep() -> Canvas:
    """The branches of a crash sweep."""
    c = Canvas(
        "crash-sweep",
        900,
        640,
        "The branches of a crash sweep",
        "At each program and erase of the workload the flash is copied once for each fault; each branch is recovered and "
        "checked, its recovery cut in turn; branches with equal flash and expectation are checked once.",
    )
    c.text(20, 30, "The workload runs once to count its operations, then with a cut at each of them", 13.5, bold=True)
    c.line((20, 66), (880, 66), width=2)
    for at in range(29):
        x = 34 + at * 30
        program = at % 7 != 5
        c.rect(x - 7, 58, 14, 16, "green" if program else "grey", 2)
    c.text(20, 94, "program", 11.5, soft=True)
    c.rect(78, 84, 12, 12, "green", 2)
    c.text(108, 94, "erase", 11.5, soft=True)
    c.rect(150, 84, 12, 12, "grey", 2)
    c.text(480, 50, "operation 1234: the cut point", 12, "middle", bold=True)
    c.arrow((454, 74), (454, 112), tone="red", width=2)

    c.box(
        20,
        114,
        860,
        30,
        "copy the flash, once for each fault and for each fate of what is in flight on other dies",
        "plain",
        size=12,
    )
    c.text(20, 168, "What a program may have become", 12, bold=True)
    c.text(20, 232, "What an erase may have become", 12, bold=True)
    widths = {"unacknowledged": 116, "unstable-once": 108, "looks-erased": 98, "torn-unseen": 94, "unstable-erase": 110}
    x = chosen = 20.0
    for fault in PROGRAM_FAULTS:
        width = widths.get(fault, 84)
        one = fault == "torn-seen"
        c.box(x, 176, width, 26, fault, "red" if one else "amber", size=11, bold=one)
        if one:
            chosen = x + width / 2
        x += width + 8
    x = 20.0
    for fault in ERASE_FAULTS:
        width = widths.get(fault, 98)
        c.box(x, 240, width, 26, fault, "amber", size=11)
        x += width + 8
    c.arrow((chosen, 202), (chosen, 212), (640, 212), (640, 284), (450, 284), (450, 303), tone="red", width=2)

    c.box(330, 304, 240, 44, ["one branch: flash as the cut", "left it, power comes back"], "red", size=12)
    c.arrow((570, 326), (645, 326))
    c.box(
        646,
        300,
        234,
        52,
        ["equal flash and expectation", "seen before: covered, not", "checked again"],
        "grey",
        size=11.5,
    )
    c.arrow((450, 348), (450, 371))
    c.box(330, 372, 240, 40, "recovery of a fresh FTL", "blue", size=12.5, bold=True)
    for at in range(6):
        c.rect(346 + at * 38, 404, 14, 16, "green", 2)
    c.arrow((391, 420), (391, 452), (258, 452), tone="red", width=2)
    c.box(
        20,
        424,
        237,
        56,
        ["nested cut: operation 2 of the", "recovery, every fault again,", "up to three cuts deep"],
        "red",
        size=11.5,
    )
    c.arrow((138, 480), (138, 506))
    c.box(20, 507, 237, 30, "recovered and checked likewise", "blue", size=11.5)
    c.arrow((450, 412), (450, 451))
    checks = [
        "recovery is within the bound it states",
        "RAM and flash agree; every page reads as the host may expect",
        "a second, clean recovery shows the same (equal ones join here)",
        "three writes, a recovery: the same",
        "the drive is written over twice, recovered, and is right",
    ]
    c.box(400, 452, 480, 122, [], "green")
    for at, line in enumerate(checks):
        c.text(414, 474 + 22 * at, f"{at + 1}  {line}", 12, room=462)
    c.text(400, 604, "What can be wrong:", 12, bold=True)
    for at, kind in enumerate(["lost", "corrupt", "stuck", "panic"]):
        c.box(540 + at * 86, 590, 76, 24, kind, "red", size=12)
    c.text(20, 574, "The nested branch's id:", 12, bold=True)
    c.text(20, 598, "1234.torn-seen/2.not-started", 13, mono=True, bold=True)
    c.text(20, 622, "operation 1234 of the workload torn, then operation 2 of the recovery not started", 12, soft=True)
    return c


def spare_area() -> Canvas:
    """The spare area."""
    c = Canvas(
        "spare-area",
        900,
        560,
        "The spare area: 32 bytes, and who sets each field",
        "Layout, kind, stream, a zero, key, version, seq, data CRC, aux and CRC of the spare area. The four bytes of aux "
        "belong to wear levelling, GeckoRec, synchronize, or the page validity log.",
    )
    c.text(20, 32, "32 bytes, little-endian, programmed together with the page", 13.5, bold=True)
    fields = [
        ("layout", 1, "grey"),
        ("kind", 1, "blue"),
        ("stream", 1, "amber"),
        ("0", 1, "grey"),
        ("key", 4, "blue"),
        ("version", 6, "blue"),
        ("seq", 6, "amber"),
        ("data CRC-32", 4, "blue"),
        ("aux", 4, "violet"),
        ("CRC-32", 4, "grey"),
    ]
    unit, left, byte = 860 / 32, 20.0, 0
    aux = (0.0, 0.0)
    for name, size, tone in fields:
        x, width = left + byte * unit, size * unit
        short = size == 1
        c.box(x, 50, width, 58, [] if short else name, tone, size=12.5, bold=True, round_by=0)
        if short:
            c.text(x + width / 2 + 4.5, 102, name, 11.5, "start", turned=True)
        label = f"{byte}" if short else f"{byte}–{byte + size - 1}"
        c.text(x + width / 2, 124, label, 11, "middle", soft=True)
        if name == "aux":
            aux = (x, x + width)
        byte += size
    owners = [
        ("grey", "nand", "layout 0xf1 and the CRC of bytes 0 to 27: Spare::encode"),
        ("blue", "who writes the page", "what it is: kind, key, order of contents (version), CRC of the data"),
        ("amber", "Blocks::append (log blocks: Pool)", "where it goes: stream, order of programs (seq)"),
        ("violet", "the part of the FTL that owns the bits", "aux, declared in medium/marks.rs"),
    ]
    for at, (tone, who, what) in enumerate(owners):
        y = 146 + 24 * at
        c.rect(20, y, 16, 16, tone, 3)
        c.text(46, y + 13, who, 12, bold=True)
        c.text(330, y + 13, what, 12)
    c.line((20, 254), (880, 254), width=1)
    c.text(20, 280, "aux: which bits belong to whom", 13.5, bold=True)
    c.line((aux[0], 108), (aux[0], 132), tone="violet")
    c.line((aux[1], 108), (aux[1], 132), tone="violet")
    x, wide = 250.0, 16.0

    def bits(y: float, pages: list[str], parts: list[tuple[int, int, str, str]], who: list[str]) -> None:
        for at, line in enumerate(pages):
            c.text(20, y + (21 if len(pages) == 1 else 13) + 16 * at, line, 12)
        c.box(x, y, 32 * wide, 32, [], "plain", dashed=True, round_by=0)
        for high, low, text, tone in parts:
            c.box(x + (31 - high) * wide, y, (high - low + 1) * wide, 32, text, tone, size=12, round_by=0)
        for at, line in enumerate(who):
            c.text(776, y + (21 if len(who) == 1 else 13) + 16 * at, line, 12, room=118)

    for bit in (31, 23, 15, 7, 0):
        c.text(x + (31 - bit + 0.5) * wide, 306, f"{bit}", 11, "middle", soft=True)
    bits(314, ["a block's first page,", "of any kind"], [(23, 0, "erase count", "violet")], ["wear", "levelling"])
    bits(362, ["translation page"], [(31, 31, "", "red")], ["GeckoRec:", "damage"])
    c.text(x + wide / 2, 383, "D", 12, "middle")
    bits(
        410,
        ["translation page"],
        [(31, 16, "oldest open block", "violet"), (15, 0, "scan after", "violet")],
        ["synchronize:", "scan mark"],
    )
    bits(458, ["user page"], [(31, 0, "the page that it made stale", "violet")], ["synchronize by", "validity log"])
    c.text(
        20,
        520,
        "Owners that can be parts of one drive share no bit: the compiler checks it. Others are refused together.",
        12,
    )
    c.text(
        20,
        540,
        "A spare area proves nothing of the data of a block's last page: only the data's CRC does.",
        12,
        soft=True,
    )
    return c


DRAWINGS: list[Callable[[], Canvas]] = [
    crates,
    host_write,
    collection,
    recoveries,
    gecko_merges,
    mu_tree_page,
    last_segments,
    crash_sweep,
    spare_area,
]

# What is drawn stands on this in the code: file below crates/, and words in it.
RECOVERY = "ftl/src/page_mapped/durability"
STANDS_ON: dict[str, list[tuple[str, str]]] = {
    "host-write": [
        ("ftl/src/page_mapped/requests.rs", "if self.lacks_space() {"),
        ("ftl/src/page_mapped/requests.rs", "self.mapping.prepare(io, key, true, &mut self.before)?;"),
        ("ftl/src/page_mapped/requests.rs", "self.stream_for_host(nand, key, request.hint, at, fetched)"),
        ("ftl/src/page_mapped/requests.rs", "self.validity.validate(to);"),
        ("ftl/src/page_mapped/requests.rs", "if let Before::Known(Place::At(old)) = self.mapping.written(key, to) {"),
        ("ftl/src/blocks/open.rs", "match nand.program(to, page.content, &spare, Op::new(start, purpose)) {"),
    ],
    "collection": [
        ("ftl/src/page_mapped/collect.rs", "if let Some(failing) = self.blocks.failing() {"),
        ("ftl/src/page_mapped/collect.rs", "Why::TooMuchMetadata"),
        (
            "ftl/src/page_mapped/collect.rs",
            "self.blocks.emergency() && self.blocks.keeps(Barrier::EmptiestInEmergency)",
        ),
        ("ftl/src/page_mapped/collect.rs", "Barrier::JudgedBeforeMoved"),
        ("ftl/src/page_mapped/collect.rs", "done = self.write_trims(nand, at)?;"),
        ("ftl/src/page_mapped/move_buffer.rs", "PAGES: usize = 16;"),
    ],
    "recoveries": [
        (f"{RECOVERY}/scan/mod.rs", "scan spare areas and last pages"),
        (f"{RECOVERY}/scan/mod.rs", "apply tombstones"),
        (f"{RECOVERY}/battery/restore.rs", "find what the battery saved"),
        (f"{RECOVERY}/battery/restore.rs", "read what the battery saved"),
        (f"{RECOVERY}/gecko_rec/recover.rs", "3 run directories"),
        (f"{RECOVERY}/gecko_rec/recover.rs", "2 global mapping directory"),
        (f"{RECOVERY}/gecko_rec/recover.rs", "4 Gecko's buffer"),
        (f"{RECOVERY}/gecko_rec/recover.rs", "6 entries of the pages written last"),
        (f"{RECOVERY}/gecko_rec/recover.rs", "5 counters of live pages"),
        (f"{RECOVERY}/synchronize/recover.rs", "pages written last"),
        (f"{RECOVERY}/synchronize/by_table.rs", "read the translation table"),
        (f"{RECOVERY}/synchronize/by_log/mod.rs", "read the page validity log"),
        (f"{RECOVERY}/fast/recover.rs", "copies of what may have been in flight"),
        ("ftl/src/presets.rs", "DirtyLimit { percent: 10,"),
    ],
    "gecko-merges": [
        (
            "ftl/src/page_mapped/runs/mod.rs",
            "let joins = pages == 0 || level_of(pages, self.tuning.size_ratio) >= run.header.level;",
        ),
        ("ftl/src/config/parts.rs", '["gecko.size-ratio", number(2, 64, 2)'),
        ("ftl/src/page_mapped/validity/gecko/part.rs", "erased |= view.flags(index) & ERASED != 0;"),
    ],
    "mu-tree-page": [
        ("ftl/src/mu_tree/layout.rs", "const HEADER: usize = 24;"),
        ("ftl/src/mu_tree/layout.rs", "HEADER + (self.slots - (self.slots >> (level - 1))) * self.slot"),
        ("ftl/src/mu_tree/layout.rs", "(self.slots >> (level - 1)).min(2 * (self.slots >> level) - 1)"),
        ("ftl/src/mu_tree/layout.rs", "pub(super) const HERE: u64"),
    ],
    "last-segments": [
        ("ftl/src/log_block/layout.rs", "channel = page % channels"),
        ("ftl/src/config/log_parts.rs", '["last.threshold", number(1, 1_000_000, 16)'),
        ("ftl/src/config/log_parts.rs", '["last.sequential", number(1, 90, 25)'),
        ("ftl/src/log_block/last/page_table.rs", "UPDATES_MAX: u8 = 3;"),
        ("ftl/src/log_block/last/replacement.rs", "1. A dead block of the hot partition"),
        ("ftl/src/log_block/merge.rs", "fn can_become_data_block"),
    ],
    "crash-sweep": [
        *(("nand/src/sim/fault.rs", f'"{fault}"') for fault in [*PROGRAM_FAULTS, *ERASE_FAULTS]),
        ("drive/src/lab/branch.rs", "flash.power_cycle();"),
        ("drive/src/lab/verify.rs", "for page in [pages / 3, pages / 2, pages - 1] {"),
        ("drive/src/lab/verify.rs", "for round in 0..2 {"),
        *(("drive/src/lab/failure.rs", f'"{kind}"') for kind in ("lost", "corrupt", "stuck", "panic")),
    ],
    "spare-area": [
        ("nand/src/spare.rs", "out[8..14].copy_from_slice(&self.version.to_le_bytes()[..6]);"),
        ("nand/src/spare.rs", "out[14..20].copy_from_slice(&self.seq.to_le_bytes()[..6]);"),
        ("nand/src/spare.rs", "out[24..28].copy_from_slice(&self.aux.to_le_bytes());"),
        ("nand/src/spare.rs", "const LAYOUT: u8 = 0xf1;"),
        ("ftl/src/medium/marks.rs", "first_page_alone: true, bits: 0x00ff_ffff };"),
        (
            "ftl/src/medium/marks.rs",
            "const DAMAGE: Owner = Owner { kind: Some(Kind::Translation), first_page_alone: false, bits: 1 << 31 };",
        ),
        ("ftl/src/medium/marks.rs", "BACK_POINTER: Owner = Owner { kind: Some(Kind::User)"),
        ("ftl/src/page_mapped/mapping/paged/scan_mark.rs", "far(from.after) | far(from.oldest_open) << 16"),
    ],
}


def main() -> None:
    """Writes them all."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.svg"):
        old.unlink()
    for draw in DRAWINGS:
        canvas = draw()
        for complaint in canvas.complaints + canvas.overlapping():
            print(complaint, file=sys.stderr)
        (FOLDER / f"{canvas.name}.svg").write_text(canvas.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
