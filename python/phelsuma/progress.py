"""Progress of what takes long: a line in a terminal, a line of text in a notebook, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Dict, Optional, Tuple, Union

Callback = Callable[[str, Optional[str], int, Optional[int]], Any]
"""Called with a name, a phase (None once it has ended), how much of it is done, and of how much if that is known."""

Progress = Union[bool, Callback, None]
"""None shows it where somebody looks, True anywhere, False nowhere; or a function that is told."""

_AT_MOST_EVERY_SECONDS = 0.1


def _in_notebook() -> bool:
    # Whoever runs in a notebook has loaded it.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class Line:
    """One line for all that is at work; it appears after a moment, and is gone when all is done."""

    def __init__(self, notebook: bool) -> None:
        self._notebook = notebook
        self._at_work: Dict[str, Tuple[str, int, Optional[int]]] = {}
        self._shown = 0
        self._last = time.monotonic()
        self._handle: Any = None

    def __call__(self, name: str, phase: Optional[str], done: int, of: Optional[int]) -> None:
        """Notes how far `name` is, and shows it now and then."""
        if phase is None:
            self._at_work.pop(name, None)
        else:
            self._at_work[name] = (phase, done, of)
        now = time.monotonic()
        if now - self._last >= _AT_MOST_EVERY_SECONDS:
            self._last = now
            self._show(", ".join(self._text(name) for name in self._at_work))

    def _text(self, name: str) -> str:
        phase, done, of = self._at_work[name]
        return f"{name} {phase} {min(done / of, 1):4.0%}" if of else f"{name} {phase} {done:,}"

    def _show(self, text: str) -> None:
        if self._notebook:
            from IPython.display import HTML, display

            shown = HTML(f"<code>{text}</code>")
            if self._handle is None:
                self._handle = display(shown, display_id=True)
            else:
                self._handle.update(shown)
        else:
            text = text[:100]
            sys.stderr.write("\r" + text + " " * (self._shown - len(text)) + ("\r" if not text else ""))
            sys.stderr.flush()
            self._shown = len(text)

    def close(self) -> None:
        """Removes it."""
        if self._notebook:
            if self._handle is not None:
                from IPython.display import HTML

                self._handle.update(HTML(""))
        elif self._shown:
            self._show("")


class Showing:
    """Whoever is told of progress, while something is at work."""

    def __init__(self, progress: Progress) -> None:
        self._line: Optional[Line] = None
        self._callback = progress if callable(progress) else None
        if self._callback is None and progress is not False:
            notebook = _in_notebook()
            if progress is True or notebook or sys.stderr.isatty():
                self._line = Line(notebook)

    def __enter__(self) -> Optional[Callback]:
        return self._callback or self._line

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.close()
