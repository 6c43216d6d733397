"""A canvas for drawings: boxes, arrows and text as SVG, in one file for light and dark schemes.

Text stays text. How wide it is, is known well enough to complain where it leaves its box or meets other text.
"""

from __future__ import annotations

from html import escape

# Fill, line and text of each tone: light scheme, then dark.
TONES = {
    "plain": (("#ffffff", "#8c959f"), ("#22272e", "#768390")),
    "grey": (("#eef0f3", "#8c959f"), ("#2d333b", "#768390")),
    "blue": (("#dbeafe", "#2563eb"), ("#172a4a", "#6ea8fe")),
    "green": (("#dcfce7", "#15803d"), ("#12301f", "#4ade80")),
    "amber": (("#fef3c7", "#b45309"), ("#3a2a0b", "#fbbf24")),
    "red": (("#fee2e2", "#b91c1c"), ("#3f1717", "#f87171")),
    "violet": (("#ede9fe", "#6d28d9"), ("#281f48", "#a78bfa")),
}
INK = {
    "page": ("#ffffff", "#1c2128"),
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#57606a", "#a3b0bd"),
    "line": ("#57606a", "#9aa7b4"),
}
FONT = "'DejaVu Sans', Verdana, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"
MONO = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
NARROW, WIDE = set("iljtfrI.,:;|'!()[]/ -"), set("mwMW@%→←↑↓…")


def width_of(text: str, size: float, bold: bool = False, mono: bool = False) -> float:
    """About how wide a text is, in a wide font."""
    if mono:
        return 0.603 * size * len(text)
    share = sum(0.38 if c in NARROW else 0.93 if c in WIDE else 0.7 if c.isupper() else 0.61 for c in text)
    return share * size * (1.09 if bold else 1)


class Canvas:
    """A drawing that is being made."""

    def __init__(self, name: str, width: int, height: int, title: str, description: str) -> None:
        assert width <= 900, f"{name} is wider than a page"
        self.name, self.width, self.height = name, width, height
        self.title, self.description = title, description
        self.parts: list[str] = []
        self.texts: list[tuple[float, float, float, float, str]] = []
        self.complaints: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 12.5,
        anchor: str = "start",
        bold: bool = False,
        mono: bool = False,
        soft: bool = False,
        room: float | None = None,
        turned: bool = False,
    ) -> None:
        """A line of text whose baseline is at `y`; `room` is how wide it may be."""
        width = width_of(text, size, bold, mono)
        if room is not None and width > room:
            self.complaints.append(f"{self.name}: {text!r} is {width:.0f} wide in {room:.0f}")
        left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
        if not turned:
            self.texts.append((left, y - 0.76 * size, left + width, y + 0.22 * size, text))
        styles = " ".join(
            name for name, there in (("soft", soft), ("ink", not soft), ("b", bold), ("mono", mono)) if there
        )
        at = f'transform="translate({x:g} {y:g}) rotate(-90)"' if turned else f'x="{x:g}" y="{y:g}"'
        self.parts.append(
            f'<text class="{styles}" {at} font-size="{size:g}" text-anchor="{anchor}">{escape(text, quote=False)}</text>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        lines: list[str] | str = "",
        tone: str = "plain",
        size: float = 12.5,
        bold: bool = False,
        mono: bool = False,
        dashed: bool = False,
        round_by: float = 5,
        anchor: str = "middle",
        first_bold: bool = False,
        leading: float = 1.32,
    ) -> None:
        """A box with lines of text in its middle; `first_bold` makes a heading of the first."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<rect class="{tone}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_by:g}"{dash}/>'
        )
        if x < 0 or y < 0 or x + width > self.width or y + height > self.height:
            self.complaints.append(f"{self.name}: a box at {x:g}, {y:g} leaves the drawing")
        lines = [lines] if isinstance(lines, str) else lines
        step = size * leading
        if lines and step * len(lines) > height + 2:
            self.complaints.append(f"{self.name}: {lines[0]!r} is too high for its box")
        top = y + (height - step * len(lines)) / 2 + step / 2 + 0.36 * size
        for at, line in enumerate(lines):
            if line:
                left = x + width / 2 if anchor == "middle" else x + 9
                heads = bold or (first_bold and at == 0)
                self.text(left, top + at * step, line, size, anchor, heads, mono, room=width - 8)

    def rect(self, x: float, y: float, width: float, height: float, tone: str, round_by: float = 0) -> None:
        """A box without text."""
        self.box(x, y, width, height, [], tone, round_by=round_by)

    def line(self, *points: tuple[float, float], dashed: bool = False, tone: str = "line", width: float = 1.4) -> None:
        """A line through these points."""
        self._path(points, dashed, tone, width, "")

    def arrow(self, *points: tuple[float, float], dashed: bool = False, tone: str = "line", width: float = 1.4) -> None:
        """The same with a head at its end."""
        self._path(points, dashed, tone, width, f' marker-end="url(#head-{tone})"')

    def _path(self, points: tuple[tuple[float, float], ...], dashed: bool, tone: str, width: float, end: str) -> None:
        way = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<path class="way w-{tone}" d="{way}" stroke-width="{width:g}"{dash}{end}/>')

    def overlapping(self) -> list[str]:
        """Pairs of texts that meet, and texts that leave the drawing."""
        found = []
        for at, (left, top, right, bottom, text) in enumerate(self.texts):
            if left < 0 or right > self.width or top < 0 or bottom > self.height:
                found.append(f"{self.name}: {text!r} leaves the drawing")
            for other_left, other_top, other_right, other_bottom, other in self.texts[at + 1 :]:
                if left < other_right and other_left < right and top < other_bottom and other_top < bottom:
                    found.append(f"{self.name}: {text!r} meets {other!r}")
        return found

    def svg(self) -> str:
        """The drawing."""
        schemes = []
        for scheme in (0, 1):
            rules = [
                f".{name} {{ fill: {tone[scheme][0]}; stroke: {tone[scheme][1]}; }}" for name, tone in TONES.items()
            ]
            rules += [f".w-{name} {{ stroke: {tone[scheme][1]}; }}" for name, tone in TONES.items()]
            rules += [f".h-{name} {{ fill: {tone[scheme][1]}; }}" for name, tone in TONES.items()]
            rules += [f".{name} {{ fill: {INK[name][scheme]}; }}" for name in ("page", "ink", "soft")]
            rules += [f".w-line {{ stroke: {INK['line'][scheme]}; }}", f".h-line {{ fill: {INK['line'][scheme]}; }}"]
            schemes.append(rules)
        dark = "\n".join("    " + rule for rule in schemes[1])
        light = "\n".join("  " + rule for rule in schemes[0])
        heads = "\n".join(
            f'<marker id="head-{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path class="h-{name}" d="M0 0.5 L10 5 L0 9.5 z"/></marker>'
            for name in ["line", *TONES]
            if f"head-{name})" in "".join(self.parts)
        )
        body = "\n".join(self.parts)
        return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" \
height="{self.height}" role="img" aria-labelledby="title description">
<title id="title">{escape(self.title)}</title>
<desc id="description">{escape(self.description)}</desc>
<style>
  text {{ font-family: {FONT}; white-space: pre; }}
  .mono {{ font-family: {MONO}; }}
  .b {{ font-weight: bold; }}
  .way {{ fill: none; }}
{light}
  @media (prefers-color-scheme: dark) {{
{dark}
  }}
</style>
<defs>
{heads}
</defs>
<rect class="page" width="{self.width}" height="{self.height}" rx="8"/>
{body}
</svg>
"""
