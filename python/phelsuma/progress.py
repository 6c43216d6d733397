"""Progress of long runs: a line in a terminal, a line of text in a notebook, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Dict, Optional, Tuple, Union

Callback = Callable[[str, Optional[str], int, Optional[int]], Any]
"""Called with a name, a phase (None at its end), how much of it is done, and the total, or None if that is unknown."""

Progress = Union[bool, Callback, None]
"""None shows progress in a terminal or a notebook, True anywhere, False nowhere; a function receives it instead."""

_AT_MOST_EVERY_SECONDS = 0.1


def _in_notebook() -> bool:
    # Whoever runs in a notebook has loaded it.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class Line:
    """One line for all runs in progress. It appears after a moment and disappears at the end."""

    def __init__(self, notebook: bool) -> None:
        self._notebook = notebook
        self._at_work: Dict[str, Tuple[str, int, Optional[int]]] = {}
        self._shown = 0
        self._last = time.monotonic()
        self._handle: Any = None

    def __call__(self, name: str, phase: Optional[str], done: int, of: Optional[int]) -> None:
        """Notes the progress of `name`, and shows the line now and then."""
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
        """Removes the line."""
        if self._notebook:
            if self._handle is not None:
                from IPython.display import HTML

                self._handle.update(HTML(""))
        elif self._shown:
            self._show("")


class Showing:
    """The receiver of progress, for as long as a run lasts."""

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
